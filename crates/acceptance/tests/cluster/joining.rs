//! Which databases may be part of a cluster.

use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
};

use ironbark_testkit::{Etcd, Flavor, Server, Tool, wait};

use crate::cluster::{TOP, assert_equal, common::succeed, configuration, content, count, nodes, person};

const TAIL: &str = "/ironbark/dc=example,dc=com/tail";

/// A node whose database was filled by slapadd.
pub(crate) fn filled(etcd: &Etcd, uid: &str) -> Server {
    let server = Server::prepare(Flavor::Ironbark, &configuration(etcd, "")).unwrap();
    server.slapadd(&format!("{TOP}\n{}", person(uid))).unwrap();
    server
}

fn refusal(server: &Server) -> String {
    let outcome = server.ldapadd(&person("refused")).unwrap();
    assert_eq!(outcome.code(), Some(52), "{}", outcome.stderr);
    outcome.stderr
}

#[test]
fn a_cluster_begins_with_a_filled_database_and_a_copy_of_its_file_joins() {
    let etcd = Etcd::start(1).unwrap();
    let mut first = filled(&etcd, "ann");
    let copy = Server::prepare(Flavor::Ironbark, &configuration(&etcd, "")).unwrap();
    fs::copy(first.layout().join("db/data.mdb"), copy.layout().join("db/data.mdb")).unwrap();
    first.launch().unwrap();
    first.ldapadd(&person("bob")).unwrap().success().unwrap();
    let mut all = vec![first, copy];
    all[1].launch().unwrap();
    assert_equal(&all);
    all[1].ldapadd(&person("cid")).unwrap().success().unwrap();
    assert_equal(&all);
}

#[test]
fn a_copy_that_was_made_while_a_node_runs_joins_and_takes_the_rest_from_the_log() {
    let etcd = Etcd::start(1).unwrap();
    let mut first = filled(&etcd, "ann");
    first.launch().unwrap();
    first.ldapadd(&person("bob")).unwrap().success().unwrap();
    let copy = first.layout().join("copy.mdb");
    let tool = |server: &Server, command: &str| {
        let (config, copy) = (server.config_path().display().to_string(), copy.display().to_string());
        succeed(&[command, "-f", &config, &copy]);
    };
    tool(&first, "backup");
    first.ldapadd(&person("cid")).unwrap().success().unwrap();
    let mut all = vec![
        first,
        Server::prepare(Flavor::Ironbark, &configuration(&etcd, "")).unwrap(),
    ];
    tool(&all[1], "restore");
    all[1].launch().unwrap();
    assert_equal(&all);
    all[1].ldapadd(&person("dan")).unwrap().success().unwrap();
    assert_equal(&all);
}

#[test]
fn a_database_with_other_entries_is_refused_and_serves_what_it_has() {
    let etcd = Etcd::start(1).unwrap();
    let mut first = filled(&etcd, "ann");
    first.launch().unwrap();
    first.ldapadd(&person("bob")).unwrap().success().unwrap();
    let mut other = filled(&etcd, "eve");
    other.launch().unwrap();
    let said = wait::until(|| other.log().contains("different changes").then_some(()));
    assert!(said.is_some(), "{}", other.log());
    assert!(refusal(&other).contains("differ"));
    assert_eq!((count(&other, "eve"), count(&other, "bob")), (1, 0));
    assert_eq!(count(&first, "eve"), 0);
}

#[test]
fn a_log_that_is_shorter_than_the_database_stops_writes() {
    let etcd = Etcd::start(1).unwrap();
    let mut all = nodes(&etcd, 1);
    all[0].ldapadd(TOP).unwrap().success().unwrap();
    let saved = etcd.etcdctl(&["get", "--print-value-only", TAIL]).unwrap().stdout;
    all[0].ldapadd(&person("ann")).unwrap().success().unwrap();
    let before = content(&all[0]);
    all[0].stop().unwrap();
    // An etcd that was restored from an old backup.
    etcd.etcdctl(&["put", TAIL, saved.trim_end()])
        .unwrap()
        .success()
        .unwrap();
    all[0].launch().unwrap();
    all[0].wait_for_log("shorter than the database").unwrap();
    assert!(refusal(&all[0]).contains("differ"));
    assert_eq!(content(&all[0]), before);
}

/// Puts what is no batch behind the change 2, at the end of the log. Returns the key, and the former end.
pub(crate) fn spoil(etcd: &Etcd) -> (&'static str, String) {
    let key = "/ironbark/dc=example,dc=com/log/0000000000000003";
    let tail = etcd.etcdctl(&["get", "--print-value-only", TAIL]).unwrap().stdout;
    let words: Vec<_> = tail.trim_end().split(' ').collect();
    etcd.etcdctl(&["put", TAIL, &format!("{} 3 {}", words[0], words[2])])
        .unwrap()
        .success()
        .unwrap();
    etcd.etcdctl(&["put", key, "not a batch"]).unwrap().success().unwrap();
    (key, tail.trim_end().to_owned())
}

#[test]
fn a_value_that_cannot_be_read_stops_the_copy_there_and_is_named() {
    let etcd = Etcd::start(1).unwrap();
    let all = nodes(&etcd, 2);
    all[0].ldapadd(TOP).unwrap().success().unwrap();
    assert_equal(&all);
    let (key, tail) = spoil(&etcd);
    for server in &all {
        server.wait_for_log(&format!("{key}: malformed")).unwrap();
        assert!(refusal(server).contains("differ"));
        assert_eq!(count(server, "p"), 0);
    }
    etcd.etcdctl(&["del", key]).unwrap().success().unwrap();
    etcd.etcdctl(&["put", TAIL, &tail]).unwrap().success().unwrap();
    let goes_on = wait::until(|| (all[0].ldapadd(&person("later")).ok()?.code() == Some(0)).then_some(()));
    assert!(goes_on.is_some(), "{}", all[0].log());
    assert_equal(&all);
}

#[test]
fn a_node_is_ready_when_it_has_what_its_cluster_has() {
    let etcd = Etcd::start(1).unwrap();
    let mut first = filled(&etcd, "ann");
    let port = ironbark_testkit::free_port().unwrap();
    let config =
        configuration(&etcd, "").replacen("pidfile", &format!("metrics-listener 127.0.0.1:{port}\npidfile"), 1);
    let mut copy = Server::prepare(Flavor::Ironbark, &config).unwrap();
    fs::copy(first.layout().join("db/data.mdb"), copy.layout().join("db/data.mdb")).unwrap();
    first.launch().unwrap();
    first.ldapadd(&person("bob")).unwrap().success().unwrap();
    copy.launch().unwrap();
    let is_ready = || get(port, "/readyz").starts_with("HTTP/1.1 200 ").then_some(());
    assert!(wait::until(is_ready).is_some(), "{}", get(port, "/readyz"));
    let page = get(port, "/metrics");
    let expected = "ironbark_cluster_position{suffix=\"dc=example,dc=com\"} 1\n";
    assert!(page.contains(expected), "{page}");
    copy.stop().unwrap();
    // An etcd that was restored from an old backup.
    let tail = etcd.etcdctl(&["get", "--print-value-only", TAIL]).unwrap().stdout;
    let generation = tail.split(' ').next().unwrap();
    etcd.etcdctl(&["put", TAIL, &format!("{generation} 0 0")])
        .unwrap()
        .success()
        .unwrap();
    copy.launch().unwrap();
    copy.wait_for_log("shorter than the database").unwrap();
    let page = get(port, "/readyz");
    assert!(page.starts_with("HTTP/1.1 503 "), "{page}");
    assert!(
        page.ends_with("not ok: dc=example,dc=com does not have what its cluster has\n"),
        "{page}"
    );
}

fn get(port: u16, path: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream
        .write_all(format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").as_bytes())
        .unwrap();
    let mut page = String::new();
    stream.read_to_string(&mut page).unwrap();
    page
}

/// The log would not have their changes. Before a database joins they are as for any other.
#[test]
fn tools_change_no_database_that_has_joined() {
    let etcd = Etcd::start(1).unwrap();
    let mut server = filled(&etcd, "ann");
    let change = "dn: uid=ann,ou=people,dc=example,dc=com\nchangetype: modify\nreplace: sn\nsn: Lee\n";
    let modified = server.tool(Tool::Modify, &[], change).unwrap();
    modified.success().unwrap();
    server.launch().unwrap();
    server.ldapadd(&person("bob")).unwrap().success().unwrap();
    server.stop().unwrap();
    let before = server.tool(Tool::Cat, &[], "").unwrap().stdout;
    assert!(before.contains("sn: Lee"), "{before}");
    for (tool, input) in [(Tool::Modify, change), (Tool::Add, person("cid").as_str())] {
        let refused = server.tool(tool, &[], input).unwrap();
        assert_eq!(refused.code(), Some(1), "{}", refused.stderr);
        assert!(refused.stderr.contains("part of a cluster"), "{}", refused.stderr);
    }
    assert_eq!(server.tool(Tool::Cat, &[], "").unwrap().stdout, before);
    server.launch().unwrap();
    server.ldapadd(&person("dan")).unwrap().success().unwrap();
}
