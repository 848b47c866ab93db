//! Sessions with servers that answer by rule.

use std::{
    io::{self, Read, Write},
    net::{TcpListener, TcpStream},
    os::fd::{AsRawFd, RawFd},
    thread,
    time::Duration,
};

use crate::{
    engine::{self, Arrival, Measurement},
    generate::{DataSet, DataSetKind, PasswordStorage},
    result::Point,
    target::{ConnectFailure, SessionProtection, SessionStream, Target},
    workload::{Population, SessionWorkload, TlsReuse},
};

const SESSIONS: u64 = 3;
const BIND: u8 = 0x60;
const SEARCH: u8 = 0x63;
const UNBIND: u8 = 0x42;
const EXTENDED: u8 = 0x77;

struct Dialed(TcpStream);

impl SessionStream for Dialed {
    fn begin_tls(&mut self) -> Result<(), ConnectFailure> {
        Err(ConnectFailure("TLS is not tested here".to_owned()))
    }

    fn has_resumed_tls(&self) -> bool {
        false
    }
}

impl Read for Dialed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Write for Dialed {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        self.0.write(octets)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AsRawFd for Dialed {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

/// Runs sessions against a server that sends what `answer` returns for the tag of a request. Returns the measurement,
/// and the tags of the requests of each connection.
fn measured(
    protection: SessionProtection,
    sessions: u64,
    answer: impl Fn(u8) -> Vec<u8> + Send,
) -> (Point, Vec<Vec<u8>>) {
    let set = DataSet::new(DataSetKind::Zimbra, 1, "o=x", PasswordStorage::Plain).unwrap();
    let population = Population::new(set, 10, 10, 1, 100).unwrap();
    let workload = SessionWorkload::new(population, protection, TlsReuse::None).unwrap();
    let plan = Measurement {
        connections: 1,
        in_flight: 1,
        arrival: Arrival::Closed,
        warm_up: Duration::ZERO,
        duration: Duration::from_hours(1),
        requests: Some(sessions),
        patience: Duration::from_mins(1),
        threads: 1,
        server: None,
    };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::scope(|scope| {
        let server = scope.spawn(move || {
            let connections = (0..sessions).map(|_| listener.accept().unwrap().0);
            connections.map(|stream| served(stream, &answer)).collect()
        });
        let target = Target::of_sessions("by rule", protection, move || {
            let stream = TcpStream::connect(address).map_err(|error| ConnectFailure(error.to_string()))?;
            stream.set_nonblocking(true).unwrap();
            Ok(Box::new(Dialed(stream)))
        });
        let point = engine::run(&workload, &plan, &target, &mut |_| {}).unwrap();
        (point, server.join().unwrap())
    })
}

/// Serves a connection to its end.
fn served(mut stream: TcpStream, answer: &impl Fn(u8) -> Vec<u8>) -> Vec<u8> {
    let mut tags = Vec::new();
    loop {
        let mut start = [0; 2];
        if stream.read_exact(&mut start).is_err() {
            return tags;
        }
        let mut rest = vec![0; usize::from(start[1])];
        stream.read_exact(&mut rest).unwrap();
        tags.push(rest[4]);
        // The client may have gone.
        let _ = stream.write_all(&answer(rest[4]));
    }
}

/// A result with this tag and code.
fn result(tag: u8, code: u8) -> Vec<u8> {
    vec![0x30, 13, 2, 2, 0, 128, tag, 7, 10, 1, code, 4, 0, 4, 0]
}

/// An entry, and the end of the search.
fn found() -> Vec<u8> {
    let entry = [0x30, 10, 2, 2, 0, 128, 0x64, 4, 4, 0, 0x30, 0];
    [&entry[..], &result(0x65, 0)].concat()
}

fn friendly(tag: u8) -> Vec<u8> {
    match tag {
        BIND => result(0x61, 0),
        SEARCH => found(),
        _ => Vec::new(),
    }
}

#[test]
fn each_session_connects_binds_searches_and_unbinds() {
    let (point, connections) = measured(SessionProtection::None, SESSIONS, friendly);
    assert_eq!(point.problems(&[]), Vec::<String>::new());
    assert_eq!((point.answered_in_window(), point.operations[0].entries), (3, 3));
    assert_eq!(connections, [[BIND, SEARCH, UNBIND]; 3]);
}

#[test]
fn a_refusal_ends_the_session_and_is_told() {
    for (refused, tag, code, requests) in [
        (BIND, 0x61, 49, &[BIND, UNBIND][..]),
        (SEARCH, 0x65, 50, &[BIND, SEARCH, UNBIND]),
    ] {
        let answer = |asked| {
            if asked == refused {
                result(tag, code)
            } else {
                friendly(asked)
            }
        };
        let (point, connections) = measured(SessionProtection::None, SESSIONS, answer);
        assert_eq!(
            point.problems(&[]),
            [format!("3 session answered with result code {code}")]
        );
        assert_eq!(connections, [requests; 3]);
    }
}

#[test]
fn a_session_that_does_not_find_its_person_is_told() {
    let answer = |asked| {
        if asked == SEARCH {
            result(0x65, 0)
        } else {
            friendly(asked)
        }
    };
    let (point, _) = measured(SessionProtection::None, SESSIONS, answer);
    assert_eq!(point.problems(&[]).len(), 1, "{point:?}");
}

#[test]
fn a_server_that_refuses_start_tls_gets_no_password() {
    let answer = |asked| {
        if asked == EXTENDED {
            result(0x78, 53)
        } else {
            friendly(asked)
        }
    };
    let (point, connections) = measured(SessionProtection::StartTls, SESSIONS, answer);
    assert_eq!(point.problems(&[]), ["3 session answered with result code 53"]);
    assert_eq!(connections, [[EXTENDED, UNBIND]; 3]);
}

#[test]
fn octets_that_come_with_the_answer_to_start_tls_end_the_client() {
    let answer = |asked| {
        if asked == EXTENDED {
            [result(0x78, 0), vec![0x30]].concat()
        } else {
            friendly(asked)
        }
    };
    let (point, connections) = measured(SessionProtection::StartTls, 1, answer);
    let told = point.problems(&[]).join("; ");
    assert!(told.contains("between StartTLS and the handshake"), "{told}");
    assert_eq!(connections, [[EXTENDED]]);
}
