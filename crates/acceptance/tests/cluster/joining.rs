//! Which databases may be part of a cluster.

use std::fs;

use ironbark_testkit::{Etcd, Flavor, Server, wait};

use crate::{TOP, assert_equal, configuration, content, count, node, nodes, person};

/// A node whose database was filled by slapadd.
fn filled(etcd: &Etcd, uid: &str) -> Server {
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
fn an_empty_database_is_told_that_it_needs_a_copy_of_a_filled_one() {
    let etcd = Etcd::start(1).unwrap();
    let mut first = filled(&etcd, "ann");
    first.launch().unwrap();
    let begun = wait::until(|| first.log().contains("the log is read").then_some(()));
    assert!(begun.is_some(), "{}", first.log());
    let empty = node(&etcd, "");
    empty.wait_for_log("needs a copy").unwrap();
    assert!(refusal(&empty).contains("older than the log"));
    first.ldapadd(&person("bob")).unwrap().success().unwrap();
}

#[test]
fn a_database_with_other_entries_is_refused_and_serves_what_it_has() {
    let etcd = Etcd::start(1).unwrap();
    let mut first = filled(&etcd, "ann");
    first.launch().unwrap();
    first.ldapadd(&person("bob")).unwrap().success().unwrap();
    let mut other = filled(&etcd, "eve");
    other.launch().unwrap();
    let said = wait::until(|| other.log().contains("other changes").then_some(()));
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
    let tail = "/ironbark/dc=example,dc=com/tail";
    let saved = etcd.etcdctl(&["get", "--print-value-only", tail]).unwrap().stdout;
    all[0].ldapadd(&person("ann")).unwrap().success().unwrap();
    let before = content(&all[0]);
    all[0].stop().unwrap();
    // An etcd that was restored from an old backup.
    etcd.etcdctl(&["put", tail, saved.trim_end()])
        .unwrap()
        .success()
        .unwrap();
    all[0].launch().unwrap();
    all[0].wait_for_log("shorter than the database").unwrap();
    assert!(refusal(&all[0]).contains("differ"));
    assert_eq!(content(&all[0]), before);
}
