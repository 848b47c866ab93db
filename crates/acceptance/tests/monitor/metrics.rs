//! The endpoint for Prometheus.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    process::{Command, Stdio},
};

use ironbark_testkit::{Flavor, Server, wait};

use super::{configuration, populated};

/// An address that nobody listens on.
pub(super) fn free_address() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], ironbark_testkit::free_port().unwrap()))
}

/// Status line, headers and body.
fn request(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(wait::DEADLINE)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

pub(super) fn get(address: SocketAddr, path: &str) -> String {
    request(address, &format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n"))
}

/// The page as parsed by Prometheus' own Python client: a line for each sample.
fn parsed(page: &str) -> String {
    const PROGRAM: &str = "
import sys
from prometheus_client.parser import text_string_to_metric_families
for family in text_string_to_metric_families(sys.stdin.read()):
    assert family.documentation and family.type in ('counter', 'gauge', 'histogram'), family
    assert family.samples or family.name.startswith('ironbark_index_build'), family
    for sample in family.samples:
        labels = ','.join('%s=%s' % item for item in sorted(sample.labels.items()))
        print(family.type, sample.name, labels, sample.value)
";
    let mut python = Command::new("/usr/bin/python3")
        .args(["-c", PROGRAM])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    python.stdin.take().unwrap().write_all(page.as_bytes()).unwrap();
    let output = python.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_page_is_what_prometheus_reads() {
    let address = free_address();
    let server = populated(&format!("metrics-listener {address}"), 10);
    let search = ["-b", "dc=example,dc=com", "(uid=u1)"];
    server.search(&search).unwrap().success().unwrap();
    let change = "dn: uid=u1,dc=example,dc=com\nchangetype: modify\nreplace: sn\nsn: x\n";
    server.ldapmodify(change).unwrap().success().unwrap();
    let answer = get(address, "/metrics");
    let (head, page) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    assert!(head.contains("content-type: text/plain; version=0.0.4"), "{head}");
    let samples = parsed(page);
    for expected in [
        "counter ironbark_operations_initiated_total operation=search 1.0\n",
        "counter ironbark_operations_completed_total operation=modify 1.0\n",
        "counter ironbark_operation_results_total code=0,operation=modify,result=success 1.0\n",
        "histogram ironbark_operation_duration_seconds_count operation=search 1.0\n",
        "histogram ironbark_operation_duration_seconds_bucket le=+Inf,operation=search 1.0\n",
        "histogram ironbark_commit_writes_bucket le=1 1.0\n",
        "gauge ironbark_database_entries suffix=dc=example,dc=com 11.0\n",
        "counter ironbark_unindexed_searches_total  0.0\n",
        "counter process_cpu_seconds_total  ",
        "gauge process_resident_memory_bytes  ",
        "gauge process_start_time_seconds  ",
    ] {
        assert!(samples.contains(expected), "{expected}\n{samples}");
    }
}

#[test]
fn probes_are_answered_and_nothing_else_is() {
    let address = free_address();
    let mut server = Server::start(Flavor::Ironbark, &configuration(&format!("metrics-listener {address}"))).unwrap();
    for path in ["/livez", "/readyz", "/readyz?verbose"] {
        let answer = get(address, path);
        assert!(
            answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("\r\n\r\nok\n"),
            "{answer}"
        );
    }
    assert!(get(address, "/").starts_with("HTTP/1.1 404 "));
    assert!(
        request(
            address,
            "POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n"
        )
        .starts_with("HTTP/1.1 405 ")
    );
    let head = request(address, "HEAD /livez HTTP/1.0\r\n\r\n");
    assert!(
        head.starts_with("HTTP/1.0 200 ") && head.ends_with("\r\n\r\n"),
        "{head}"
    );
    server.stop().unwrap();
    assert!(TcpStream::connect(address).is_err());
}

#[test]
fn hostile_clients_hurt_nobody() {
    let address = free_address();
    let server = Server::start(Flavor::Ironbark, &configuration(&format!("metrics-listener {address}"))).unwrap();
    assert!(request(address, "\0\u{1}nonsense\r\n\r\n").starts_with("HTTP/1.1 400 "));
    let long = format!("GET /metrics HTTP/1.1\r\nx: {}\r\n\r\n", "y".repeat(100_000));
    let mut stream = TcpStream::connect(address).unwrap();
    // It may close before everything is sent.
    let _ = stream.write_all(long.as_bytes());
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    assert!(
        !answer.starts_with(b"HTTP/1.1 200"),
        "{}",
        String::from_utf8_lossy(&answer)
    );
    // Many more half requests than may be served at once: a client that asks is answered without waiting for their end.
    let half = |_| {
        let mut stream = TcpStream::connect(address).unwrap();
        // The server may have closed it for the next one.
        let _ = stream.write_all(b"GET /livez HTTP/1.1\r\nHost:");
        stream
    };
    let silent: Vec<_> = (0..137).map(half).collect();
    server.search(&["-s", "base", "-b", ""]).unwrap().success().unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(wait::DEADLINE)).unwrap();
    stream.write_all(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    drop(silent);
}

#[test]
fn an_address_that_cannot_be_had_is_a_reason_not_to_start() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let mut server = Server::prepare(Flavor::Ironbark, &configuration(&format!("metrics-listener {address}"))).unwrap();
    let error = server.launch().unwrap_err().to_string();
    assert!(error.contains("metrics-listener: "), "{error}");
}
