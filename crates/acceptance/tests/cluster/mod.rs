//! A cluster over etcd: several servers, one directory. The etcd is Debian's.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "clippy knows test functions, but not what they call"
)]

mod beginning;
use crate::common::{self, TOP};
mod config_tree;
mod copies;
mod faults;
mod glued;
mod history;
mod joining;
mod links;
mod no_etcd;
mod outside;
mod overlays;
mod overlays_together;
mod reads;
mod secure;
mod status;
mod trial;
mod writes;

use ironbark_testkit::{Credentials, Etcd, Flavor, NormalizedLdif, Server, wait};

/// The configuration of each node.
fn configuration(etcd: &Etcd, lines: &str) -> String {
    Server::people_config("", &format!("cluster {} timeout=3\n{lines}", etcd.urls()))
}

fn node(etcd: &Etcd, lines: &str) -> Server {
    Server::start(Flavor::Ironbark, &configuration(etcd, lines)).unwrap()
}

fn nodes(etcd: &Etcd, count: usize) -> Vec<Server> {
    (0..count).map(|_| node(etcd, "")).collect()
}

/// Everything that a node has, operational attributes included.
fn content(server: &Server) -> String {
    let arguments = ["-b", "dc=example,dc=com", "*", "+"];
    let found = server.client("ldapsearch", &Credentials::ROOT, &arguments, "").unwrap();
    NormalizedLdif::new(&found.stdout).sorted().to_string()
}

/// Waits until all nodes have the same, which is not nothing.
fn assert_equal(servers: &[Server]) {
    let same = || {
        let all: Vec<_> = servers.iter().map(content).collect();
        (!all[0].is_empty() && all.windows(2).all(|pair| pair[0] == pair[1])).then_some(())
    };
    if wait::until(same).is_none() {
        let all: Vec<_> = servers.iter().map(content).collect();
        panic!("{}", all.join("\n========\n"));
    }
}

fn person(uid: &str) -> String {
    format!("dn: uid={uid},ou=people,dc=example,dc=com\nobjectClass: inetOrgPerson\nuid: {uid}\ncn: {uid}\nsn: x\n\n")
}

/// Number of people whose uid begins so.
fn count(server: &Server, uid: &str) -> usize {
    let filter = format!("(uid={uid}*)");
    let arguments = ["-b", "dc=example,dc=com", &filter, "1.1"];
    let found = server.client("ldapsearch", &Credentials::ROOT, &arguments, "").unwrap();
    found.stdout.matches("dn: ").count()
}

/// Letters that no compression makes much shorter.
fn random_letters(count: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        b'a' + u8::try_from((state >> 40) % 26).unwrap()
    };
    (0..count).map(|_| next()).collect()
}

/// Waits until a copy has the entries of a node.
fn assert_same_people(copy: &Server, node: &Server) {
    let people = |server: &Server| {
        let arguments = [
            "-b",
            "dc=example,dc=com",
            "(objectClass=*)",
            "*",
            "entryUUID",
            "entryCSN",
        ];
        let found = server.client("ldapsearch", &Credentials::ROOT, &arguments, "").unwrap();
        NormalizedLdif::new(&found.stdout).sorted().to_string()
    };
    let same = wait::until(|| (people(copy) == people(node)).then_some(()));
    assert!(same.is_some(), "{}\n========\n{}", people(copy), people(node));
}
