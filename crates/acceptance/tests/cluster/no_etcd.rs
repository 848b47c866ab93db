//! What answers instead of etcd: a proxy, or a member that is broken.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpListener,
};

use ironbark_testkit::{Flavor, Server};

use crate::cluster::TOP;

/// Answers each request with the same body, until the test ends. Returns its address.
fn always(body: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let answer_all = move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let (mut line, mut length) = (String::new(), 0);
            while stream.read_line(&mut line).is_ok_and(|octets| octets > 2) {
                let header = line.to_ascii_lowercase();
                if let Some(octets) = header.strip_prefix("content-length:") {
                    length = octets.trim().parse().unwrap();
                }
                line.clear();
            }
            let _ = stream.read_exact(&mut vec![0; length]);
            let octets = body.len();
            let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {octets}\r\nConnection: close\r\n\r\n{body}");
            // A server that ends does not wait for it.
            let _ = stream.get_mut().write_all(answer.as_bytes());
        }
    };
    ironbark_runtime::spawn_named("no-etcd", answer_all).unwrap();
    address.to_string()
}

/// A server goes on with answers that no etcd gives, and says what it makes of them.
fn goes_on(body: &'static str, says: &str) {
    let template = Server::people_config("", &format!("cluster http://{} timeout=1", always(body)));
    let mut server = Server::prepare(Flavor::Ironbark, &template).unwrap();
    server.slapadd(TOP).unwrap();
    server.launch().unwrap();
    server.wait_for_log(says).unwrap();
    let found = server
        .search(&["-b", "dc=example,dc=com", "-s", "base", "1.1"])
        .unwrap();
    assert!(found.success().unwrap().stdout.contains("dn: dc=example,dc=com"));
    assert!(!server.log().contains("internal error"), "{}", server.log());
}

#[test]
fn empty_answers_are_malformed_and_end_nothing() {
    goes_on("{}", "malformed answer of etcd: it has no revision");
}

#[test]
fn an_answer_of_endless_lists_is_malformed_and_takes_no_memory() {
    let elements = vec!["{}"; 100_000].join(",");
    let body = format!(r#"{{"header":{{"revision":"5"}},"kvs":[{elements}]}}"#);
    goes_on(body.leak(), "expected a list of 65536 elements at most");
}

#[test]
fn a_log_that_is_never_there_after_its_beginning_ends_nothing() {
    let body = r#"{"header":{"cluster_id":"1","member_id":"1","revision":"1"},"succeeded":true}"#;
    goes_on(body, "and does not have it then");
}
