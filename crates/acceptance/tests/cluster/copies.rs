//! A server whose database cannot follow the log gets a copy of another server's by itself.

use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
};

use ironbark_testkit::{Etcd, Flavor, Server, wait};

use crate::cluster::{TOP, assert_equal, configuration, content, count, joining::filled, node, person};

const BASE: &str = "/ironbark/dc=example,dc=com";

/// A cluster whose log does not reach back to an empty database.
pub(crate) fn begun(etcd: &Etcd) -> Server {
    let mut first = filled(etcd, "ann");
    first.launch().unwrap();
    first.ldapadd(&person("bob")).unwrap().success().unwrap();
    first
}

pub(crate) fn forget_the_log(etcd: &Etcd) {
    let log = format!("{BASE}/log/");
    etcd.etcdctl(&["del", "--prefix", &log]).unwrap().success().unwrap();
}

/// The second server misses a change that the log no longer has. The first one is stopped.
fn miss_a_change(etcd: &Etcd, all: &mut [Server]) {
    all[1].stop().unwrap();
    all[0].ldapadd(&person("cid")).unwrap().success().unwrap();
    forget_the_log(etcd);
    all[0].stop().unwrap();
    all[1].launch().unwrap();
    all[1].wait_for_log("needs a copy").unwrap();
}

/// Where a server waits for a copy.
fn waiting_at(etcd: &Etcd) -> (String, u16) {
    let key = format!("{BASE}/copy/");
    let found = wait::until(|| {
        let text = etcd
            .etcdctl(&["get", "--prefix", "--print-value-only", &key])
            .unwrap()
            .stdout;
        let value: serde_json::Value = serde_json::from_str(text.trim()).ok()?;
        let port = value["port"].as_u64()?;
        Some((value["host"].as_str()?.to_owned(), u16::try_from(port).ok()?))
    });
    found.unwrap()
}

/// Folders of copies that are not finished.
fn staged(server: &Server) -> usize {
    let files = fs::read_dir(server.layout().join("db")).unwrap();
    files
        .filter(|file| file.as_ref().unwrap().file_name().to_string_lossy().ends_with(".tmp"))
        .count()
}

#[test]
fn an_empty_server_gets_a_copy_by_itself_and_takes_writes() {
    let etcd = Etcd::start(1).unwrap();
    let mut all = vec![begun(&etcd)];
    // Nobody's request, and one to which nobody answers.
    for (name, value) in [("x", "{"), ("y", r#"{"host":"127.0.0.1","port":1,"secret":"AAAA"}"#)] {
        etcd.etcdctl(&["put", &format!("{BASE}/copy/{name}"), value])
            .unwrap()
            .success()
            .unwrap();
    }
    all.push(node(&etcd, ""));
    all[1].wait_for_log("is in place").unwrap();
    assert_equal(&all);
    all[1].ldapadd(&person("cid")).unwrap().success().unwrap();
    all[0].ldapadd(&person("dan")).unwrap().success().unwrap();
    assert_equal(&all);
    assert_eq!(staged(&all[1]), 0);
    // It is the database from now on, and the log is enough.
    all[1].stop().unwrap();
    all[0].ldapadd(&person("eve")).unwrap().success().unwrap();
    all[1].launch().unwrap();
    assert_equal(&all);
}

#[test]
fn a_server_that_was_away_too_long_serves_what_it_has_until_it_has_a_copy() {
    let etcd = Etcd::start(1).unwrap();
    let mut all = vec![begun(&etcd), node(&etcd, "")];
    assert_equal(&all);
    miss_a_change(&etcd, &mut all);
    assert_eq!((count(&all[1], "bob"), count(&all[1], "cid")), (1, 0));
    let outcome = all[1].ldapadd(&person("refused")).unwrap();
    assert!(outcome.stderr.contains("older than the log"), "{}", outcome.stderr);
    all[0].launch().unwrap();
    assert_equal(&all);
    all[1].ldapadd(&person("dan")).unwrap().success().unwrap();
    assert_equal(&all);
}

#[test]
fn entries_of_another_history_are_never_replaced() {
    let etcd = Etcd::start(1).unwrap();
    let first = begun(&etcd);
    forget_the_log(&etcd);
    let mut other = filled(&etcd, "eve");
    other.launch().unwrap();
    other.wait_for_log("is not replaced").unwrap();
    first.ldapadd(&person("cid")).unwrap().success().unwrap();
    assert_eq!((count(&other, "eve"), count(&other, "cid")), (1, 0));
    assert_eq!(staged(&other), 0);
}

/// Who cannot read etcd gets nothing in, and keeps nobody out.
#[test]
fn a_stranger_at_the_place_of_a_copy_is_refused_and_does_not_hinder_it() {
    let etcd = Etcd::start(1).unwrap();
    let mut all = vec![begun(&etcd)];
    let before = content(&all[0]);
    all[0].stop().unwrap();
    all.push(node(&etcd, ""));
    let (host, port) = waiting_at(&etcd);
    assert_eq!(host, "127.0.0.1");
    let connect = || TcpStream::connect((&*host, port)).unwrap();
    let mut talker = connect();
    talker.write_all(&[0x16, 3, 1, 255, 255]).unwrap();
    talker.write_all(&vec![0; 70_000]).ok();
    // Its connection ends.
    let mut answer = Vec::new();
    talker.read_to_end(&mut answer).ok();
    assert!(answer.len() < 100, "{answer:?}");
    let silent: Vec<_> = (0..50).map(|_| connect()).collect();
    all[0].launch().unwrap();
    assert_equal(&all);
    assert_eq!(content(&all[1]), before);
    drop(silent);
}

#[test]
fn a_server_does_not_join_a_log_of_a_later_version() {
    let etcd = Etcd::start(1).unwrap();
    let first = begun(&etcd);
    etcd.etcdctl(&["put", &format!("{BASE}/format"), "2"])
        .unwrap()
        .success()
        .unwrap();
    let other = node(&etcd, "");
    other.wait_for_log("the log has version 2").unwrap();
    let outcome = other.ldapadd(TOP).unwrap();
    assert!(outcome.stderr.contains("must be upgraded"), "{}", outcome.stderr);
    first.ldapadd(&person("cid")).unwrap().success().unwrap();
}

#[test]
fn a_copy_comes_to_the_place_that_the_settings_name() {
    let etcd = Etcd::start(1).unwrap();
    let first = begun(&etcd);
    let port = ironbark_testkit::free_port().unwrap();
    let config = configuration(&etcd, "").replacen("timeout=3", &format!("timeout=3 copy=127.0.0.1:{port}"), 1);
    let other = Server::start(Flavor::Ironbark, &config).unwrap();
    other.wait_for_log(&format!("waits at 127.0.0.1 port {port}")).unwrap();
    assert_equal(&[first, other]);
}

#[test]
fn a_server_that_waits_for_a_copy_goes_on_when_the_log_is_mended() {
    let etcd = Etcd::start(1).unwrap();
    let server = node(&etcd, "");
    server.ldapadd(TOP).unwrap().success().unwrap();
    let tail = etcd
        .etcdctl(&["get", "--print-value-only", &format!("{BASE}/tail")])
        .unwrap()
        .stdout;
    let words: Vec<_> = tail.trim_end().split(' ').collect();
    let put_tail = |value: &str| {
        etcd.etcdctl(&["put", &format!("{BASE}/tail"), value])
            .unwrap()
            .success()
            .unwrap()
    };
    let mut server = server;
    server.stop().unwrap();
    put_tail(&format!("{} 9 {}", words[0], words[2]));
    server.launch().unwrap();
    server.wait_for_log("for a copy of another server's database").unwrap();
    put_tail(tail.trim_end());
    let goes_on = wait::until(|| (server.ldapadd(&person("bob")).ok()?.code() == Some(0)).then_some(()));
    assert!(goes_on.is_some(), "{}", server.log());
    assert_eq!(staged(&server), 0);
}

/// A BER element of less than 128 octets.
pub(super) fn element(tag: u8, content: &[&[u8]]) -> Vec<u8> {
    let content = content.concat();
    [&[tag, u8::try_from(content.len()).unwrap()][..], &content].concat()
}

/// A connection as the rootdn, on which these requests were sent and nothing was read.
pub(super) fn sent(server: &Server, requests: &[Vec<u8>]) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    let (name, password) = (
        element(4, &[b"cn=Manager,dc=example,dc=com"]),
        element(0x80, &[b"secret"]),
    );
    let bind = element(0x60, &[b"\x02\x01\x03", &name, &password]);
    for (id, request) in [bind].iter().chain(requests).enumerate() {
        let id = [2, 1, u8::try_from(id + 1).unwrap()];
        stream.write_all(&element(0x30, &[&id, request])).unwrap();
    }
    stream
}

/// Clients that do nothing more keep the former database open: by a paged search, by answers that they do not read, and
/// by a transaction.
#[test]
fn clients_that_leave_things_open_keep_no_copy_away() {
    let etcd = Etcd::start(1).unwrap();
    let mut all = vec![begun(&etcd), node(&etcd, "")];
    let long = String::from_utf8(crate::cluster::random_letters(1 << 20)).unwrap();
    all[0]
        .ldapadd(&(person("long").trim_end().to_owned() + "\ndescription: " + &long + "\n"))
        .unwrap()
        .success()
        .unwrap();
    assert_equal(&all);
    miss_a_change(&etcd, &mut all);
    let base = element(4, &[b"dc=example,dc=com"]);
    let rest = b"\x0a\x01\x02\x0a\x01\x00\x02\x01\x00\x02\x01\x00\x01\x01\x00\x87\x0bobjectClass\x30\x00";
    let search = element(0x63, &[&base, rest]);
    let control = |oid: &[u8], value: &[u8]| {
        let control = element(0x30, &[&element(4, &[oid]), b"\x01\x01\xff", &element(4, &[value])]);
        element(0xa0, &[&control])
    };
    let page = control(b"1.2.840.113556.1.4.319", b"\x30\x05\x02\x01\x01\x04\x00");
    let paged = sent(&all[1], &[[search.clone(), page].concat()]);
    let unread = sent(&all[1], &vec![search; 20]);
    let begin = element(0x77, &[&element(0x80, &[b"1.3.6.1.1.21.1"])]);
    let delete = element(0x4a, &[b"uid=bob,ou=people,dc=example,dc=com"]);
    let delete = [delete, control(b"1.3.6.1.1.21.2", b"")].concat();
    let changing = sent(&all[1], &[begin, delete]);
    for done in ["nentries=1 ", "op=2 DEL", "op=2 SRCH"] {
        all[1].wait_for_log(done).unwrap();
    }
    all[0].launch().unwrap();
    all[1].wait_for_log("is in place").unwrap();
    assert_equal(&all);
    assert_eq!(count(&all[1], "bob"), 1);
    drop((paged, unread, changing));
}
