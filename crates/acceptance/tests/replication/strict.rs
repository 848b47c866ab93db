//! `strictrefresh`: no clients while a consumer that has lost the provider's log refreshes its content.

use std::{
    io::{ErrorKind, Read as _, Write as _},
    net::TcpStream,
    time::Duration,
};

use ironbark_testkit::{Flavor, Server};
use nix::sys::signal::Signal;

use crate::replication::{PEOPLE, accesslog::logging_config, assert_follows, change};

const REPLICA: &str = "dn: cn=replica,dc=example,dc=com\nobjectClass: person\nsn: r\nuserPassword: secret\n";
const LIMITED: &str = "limits dn.exact=\"cn=replica,dc=example,dc=com\" size=1";
/// An anonymous bind.
const BIND: [u8; 14] = [0x30, 12, 2, 1, 1, 0x60, 7, 2, 1, 3, 4, 0, 0x80, 0];

fn connect(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stream
}

/// Sends a bind and reads the answer's first octets; 0: the connection was closed.
fn bind(mut stream: &TcpStream) -> std::io::Result<usize> {
    stream.write_all(&BIND)?;
    stream.read(&mut [0; 64])
}

/// Starts the provider with a log that begins anew.
fn start_without_log(provider: &mut Server) {
    for file in ["data.mdb", "lock.mdb"] {
        let _ = std::fs::remove_file(provider.layout().join(file));
    }
    provider.launch().unwrap();
}

#[test]
fn clients_wait_until_the_content_is_whole() {
    let config = logging_config(1, "#limits").replace("read by * none", "read by * read");
    let mut provider = Server::prepare(Flavor::Ironbark, &config).unwrap();
    provider.launch().unwrap();
    provider.ldapadd(PEOPLE).unwrap().success().unwrap();
    provider.ldapadd(REPLICA).unwrap().success().unwrap();
    let line = format!(
        "syncrepl rid=001 provider={} bindmethod=simple binddn=cn=replica,dc=example,dc=com credentials=secret \
         searchbase=dc=example,dc=com retry=\"1 +\" type=refreshAndPersist syncdata=accesslog logbase=cn=accesslog \
         strictrefresh\n",
        provider.url()
    );
    let mut consumer = Server::prepare(Flavor::Ironbark, &Server::people_config("", &line)).unwrap();
    consumer.launch().unwrap();
    assert_follows(&consumer, &provider);
    let idle = connect(&consumer);
    assert!(bind(&idle).unwrap() > 0);
    // It misses a change, and then the log and the right to more than one entry are gone.
    consumer.signal(Signal::SIGSTOP).unwrap();
    provider.stop().unwrap();
    provider.launch().unwrap();
    change(&provider, 1);
    provider.stop().unwrap();
    let config = std::fs::read_to_string(provider.config_path()).unwrap();
    std::fs::write(provider.config_path(), config.replace("#limits", LIMITED)).unwrap();
    start_without_log(&mut provider);
    change(&provider, 2);
    consumer.signal(Signal::SIGCONT).unwrap();
    assert_eq!((&idle).read(&mut [0; 64]).unwrap(), 0, "closed");
    let waiting = connect(&consumer);
    waiting.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    let answer = bind(&waiting);
    assert!(answer.is_err(), "{}\n\n{}", consumer.log(), provider.log());
    let nothing = answer.unwrap_err();
    assert!(
        matches!(nothing.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
        "{nothing}"
    );
    provider.stop().unwrap();
    std::fs::write(provider.config_path(), config).unwrap();
    provider.launch().unwrap();
    waiting.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    assert!((&waiting).read(&mut [0; 64]).unwrap() > 0, "{}", consumer.log());
    assert_follows(&consumer, &provider);
}
