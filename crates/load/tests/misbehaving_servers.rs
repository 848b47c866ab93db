//! Servers that stall, close or send nonsense: how they are measured and reported. When a measurement ends.
#![allow(clippy::unwrap_used, reason = "clippy knows test functions, but not what they call")]

use std::{
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    thread,
    time::Duration,
};

use ironbark_load::{
    engine::{self, Arrival, Measurement},
    result::Point,
    target::{ConnectFailure, Target},
    workload::{Replay, Scan, Workload},
};

/// Measures the server function `serve`, which is called once with the first connection. The connection that it returns
/// stays open until the measurement ends.
fn measured(plan: &Measurement, serve: impl FnOnce(TcpStream) -> Option<TcpStream> + Send) -> Point {
    measured_with(&Scan::new("dc=x", 0), plan, serve)
}

fn measured_with(
    workload: &dyn Workload,
    plan: &Measurement,
    serve: impl FnOnce(TcpStream) -> Option<TcpStream> + Send,
) -> Point {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::scope(|scope| {
        let server = scope.spawn(move || serve(listener.accept().unwrap().0));
        let target = Target::new("misbehaving", move || {
            let stream = TcpStream::connect(address).map_err(|error| ConnectFailure(error.to_string()))?;
            stream
                .set_nonblocking(true)
                .map_err(|error| ConnectFailure(error.to_string()))?;
            Ok(Box::new(stream))
        });
        let point = engine::run(workload, plan, &target, &mut |_| {}).unwrap();
        drop(server.join().unwrap());
        point
    })
}

fn plan(requests: u64) -> Measurement {
    Measurement {
        connections: 1,
        in_flight: 1,
        arrival: Arrival::Closed,
        warm_up: Duration::ZERO,
        duration: Duration::from_hours(1),
        requests: Some(requests),
        patience: Duration::from_mins(1),
        threads: 1,
        server: None,
    }
}

/// Reads one search and returns its message ID.
fn receive(stream: &mut TcpStream) -> [u8; 2] {
    let mut start = [0; 6];
    stream.read_exact(&mut start).unwrap();
    let [0x30, length, 2, 2, high, low] = start else {
        unreachable!("not the start of a message of ours: {start:x?}");
    };
    assert!(length < 0x80, "a short search");
    let mut rest = vec![0; usize::from(length) - 4];
    stream.read_exact(&mut rest).unwrap();
    [high, low]
}

/// A searchResultDone, successful.
fn done([high, low]: [u8; 2]) -> [u8; 15] {
    [0x30, 13, 2, 2, high, low, 0x65, 7, 10, 1, 0, 4, 0, 4, 0]
}

#[test]
fn an_open_loop_charges_a_stall_to_all_who_would_have_waited() {
    const STALL: Duration = Duration::from_millis(300);
    let plan = Measurement {
        // All requests are due within 50 ms, and only one at a time is under way.
        arrival: Arrival::Open { rate: 1_000.0 },
        ..plan(50)
    };
    let point = measured(&plan, |mut stream| {
        let first = receive(&mut stream);
        // No further request comes: the wait ends by its limit.
        stream.set_read_timeout(Some(STALL)).unwrap();
        assert!(stream.read(&mut [0]).is_err());
        stream.set_read_timeout(None).unwrap();
        stream.write_all(&done(first)).unwrap();
        for _ in 1..50 {
            let id = receive(&mut stream);
            stream.write_all(&done(id)).unwrap();
        }
        Some(stream)
    });
    assert_eq!(point.problems(&[]), Vec::<String>::new());
    assert_eq!(point.answered_in_window(), 50);
    // The last request was due 49 ms after the first, and could not be sent before the end of the stall.
    let least = point.latency.curve.first().unwrap().1;
    assert!(least >= 240_000.0, "{least} us");
}

#[test]
fn an_open_loop_ends_with_its_last_request() {
    let replay = Replay::new(
        "test",
        &b"dn: dc=x\nchangetype: delete\n\ndn: dc=y\nchangetype: delete\n"[..],
    )
    .unwrap();
    let plan = Measurement {
        // The answer to the last request comes long before another one would be due.
        arrival: Arrival::Open { rate: 10.0 },
        duration: Duration::from_secs(30),
        requests: None,
        ..plan(0)
    };
    let point = measured_with(&replay, &plan, |mut stream| {
        for _ in 0..2 {
            let mut answer = done(receive(&mut stream));
            answer[6] = 0x6b;
            stream.write_all(&answer).unwrap();
        }
        Some(stream)
    });
    assert_eq!(point.problems(&[]), Vec::<String>::new());
    assert_eq!(point.answered_in_window(), 2);
    assert!(point.seconds < 30.0, "{point:?}");
}

#[test]
fn a_server_that_falls_silent_is_given_up() {
    let plan = Measurement {
        patience: Duration::from_millis(100),
        ..plan(10)
    };
    let point = measured(&plan, |mut stream| {
        let id = receive(&mut stream);
        stream.write_all(&done(id)).unwrap();
        receive(&mut stream);
        // Ends when the client does.
        assert_eq!(stream.read(&mut [0]).unwrap(), 0);
        None
    });
    assert_eq!((point.answered_in_window(), point.unanswered), (1, 1));
    assert_eq!(point.problems(&[]), ["1 requests without an answer"]);
}

#[test]
fn answers_in_pieces_and_entries_of_any_size_are_counted() {
    let point = measured(&plan(3), |mut stream| {
        for _ in 0..3 {
            let [high, low] = receive(&mut stream);
            let length = 700_000_u32;
            let mut answer = vec![0x30, 0x84];
            answer.extend((length + 10).to_be_bytes());
            answer.extend([2, 2, high, low, 0x64, 0x84]);
            answer.extend(length.to_be_bytes());
            answer.resize(answer.len() + 700_000, 0x30);
            answer.extend(done([high, low]));
            let (most, end) = answer.split_at(answer.len() - 9);
            stream.write_all(most).unwrap();
            stream.write_all(end).unwrap();
        }
        Some(stream)
    });
    assert_eq!(point.problems(&[]), Vec::<String>::new());
    assert_eq!((point.answered_in_window(), point.operations[0].entries), (3, 3));
}

#[test]
fn a_lost_connection_is_told_with_its_reason() {
    let answers: [(&[u8], &str); 5] = [
        (b"", "closed by the server"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "no LDAP response"),
        (
            &[0x30, 12, 2, 1, 0, 0x78, 7, 10, 1, 52, 4, 0, 4, 0],
            "notice of disconnection with result code 52",
        ),
        (&done([0x03, 0x09]), "no request of ours"),
        (&done([0x00, 0x01]), "no request of ours"),
    ];
    for (answer, reason) in answers {
        let point = measured(&plan(10), |mut stream| {
            for _ in 0..3 {
                let id = receive(&mut stream);
                stream.write_all(&done(id)).unwrap();
            }
            receive(&mut stream);
            stream.write_all(answer).unwrap();
            None
        });
        assert_eq!(point.answered_in_window(), 3, "{reason}");
        assert_eq!(point.unanswered, 1, "{reason}");
        let told = point.problems(&[]).join("; ");
        assert!(told.contains("1 connections lost") && told.contains(reason), "{told}");
    }
}

#[test]
fn result_codes_that_are_not_expected_are_told() {
    let point = measured(&plan(5), |mut stream| {
        for number in 0..5 {
            let mut answer = done(receive(&mut stream));
            answer[10] = if number < 3 { 0 } else { 51 };
            stream.write_all(&answer).unwrap();
        }
        Some(stream)
    });
    assert_eq!(point.problems(&[]), ["2 scan answered with result code 51"]);
    assert!(point.problems(&[51]).is_empty());
}
