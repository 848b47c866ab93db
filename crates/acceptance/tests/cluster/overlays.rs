//! Overlays act where a write is made; those that follow a database follow it everywhere.

use std::fs;

use ironbark_testkit::{Credentials, Etcd, Flavor, Server, wait};

use crate::cluster::{TOP, assert_equal, configuration, copies::forget_the_log, count, node, person};

/// Writes are logged in a database of the server's own.
const LOGGED: &str = "overlay accesslog\nlogdb cn=log\nlogops writes\n\ndatabase mdb\nsuffix cn=log\n\
    rootdn cn=Manager,dc=example,dc=com\ndirectory {dir}/log\n";

/// Two servers that log writes.
fn logging(etcd: &Etcd) -> Vec<Server> {
    let one = || {
        let mut server = Server::prepare(Flavor::Ironbark, &configuration(etcd, LOGGED)).unwrap();
        server.layout().make_dir("log").unwrap();
        server.launch().unwrap();
        server
    };
    vec![one(), one()]
}

/// The entries whose adds are in a server's log.
fn logged(server: &Server) -> Vec<String> {
    let arguments = ["-b", "cn=log", "(objectClass=auditAdd)", "reqDN"];
    let found = server.client("ldapsearch", &Credentials::ROOT, &arguments, "").unwrap();
    let names = found.stdout.lines().filter(|line| line.starts_with("reqDN: "));
    names.map(str::to_owned).collect()
}

fn assert_logged(servers: &[Server], count: usize) {
    for server in servers {
        let all = wait::until(|| (logged(server).len() == count).then_some(()));
        assert!(all.is_some(), "{:?}\n{}", logged(server), server.log());
        assert_eq!(logged(server), logged(&servers[0]));
    }
}

#[test]
fn every_node_logs_the_changes_of_all() {
    let etcd = Etcd::start(1).unwrap();
    let all = logging(&etcd);
    all[0].ldapadd(TOP).unwrap().success().unwrap();
    all[0].ldapadd(&person("ann")).unwrap().success().unwrap();
    all[1].ldapadd(&person("bob")).unwrap().success().unwrap();
    assert_equal(&all);
    assert_logged(&all, 4);
}

#[test]
fn a_log_of_changes_that_all_servers_would_write_to_is_refused() {
    let etcd = Etcd::start(1).unwrap();
    let config = configuration(&etcd, &format!("{LOGGED}cluster {}\n", etcd.urls()));
    let mut server = Server::prepare(Flavor::Ironbark, &config).unwrap();
    server.layout().make_dir("log").unwrap();
    let refused = server.launch().unwrap_err().to_string();
    assert!(refused.contains("each server would log each change"), "{refused}");
}

/// How far the followers of a database are is each server's own: those of the copy's server have taken more.
#[test]
fn what_was_missed_before_a_copy_is_logged_after_it() {
    let etcd = Etcd::start(1).unwrap();
    let mut all = logging(&etcd);
    all[0].ldapadd(TOP).unwrap().success().unwrap();
    all[0].ldapadd(&person("ann")).unwrap().success().unwrap();
    assert_equal(&all);
    assert_logged(&all, 3);
    for (number, name) in ["bob", "cid"].into_iter().enumerate() {
        all[1].stop().unwrap();
        if name == "cid" {
            // A database that was damaged.
            fs::remove_file(all[1].layout().join("db/data.mdb")).unwrap();
        }
        all[0].ldapadd(&person(name)).unwrap().success().unwrap();
        assert_logged(&all[..1], 4 + number);
        forget_the_log(&etcd);
        all[1].launch().unwrap();
        assert_equal(&all);
        assert_logged(&all, 4 + number);
        all[1].wait_for_log("is in place").unwrap();
    }
}

/// The number after the last one is no attribute of an entry, and must be known at all servers.
#[test]
fn numbers_are_given_once() {
    let etcd = Etcd::start(1).unwrap();
    let lines = "overlay usn\noverlay dna\ndna-type uidNumber\ndna-filter (objectClass=posixAccount)\n\
        dna-scope ou=people,dc=example,dc=com\ndna-next-value 1000\ndna-max-value 1999\n";
    let config = configuration(&etcd, lines).replacen("pidfile", "include {schema}/nis.schema\npidfile", 1);
    let all = [(); 2].map(|()| Server::start(Flavor::Ironbark, &config).unwrap());
    all[0].ldapadd(TOP).unwrap().success().unwrap();
    let mut numbers = Vec::new();
    for (round, server) in all.iter().chain(&all).enumerate() {
        let account = "objectClass: posixAccount\ngidNumber: 1\nhomeDirectory: /\n";
        let name = format!("p{round}");
        let added = person(&name).trim_end().to_owned() + "\n" + account;
        server.ldapadd(&added).unwrap().success().unwrap();
        let dn = format!("uid={name},ou=people,dc=example,dc=com");
        let arguments = ["-LLL", "-b", &dn, "uidNumber", "uSNChanged"];
        let found = server.client("ldapsearch", &Credentials::ROOT, &arguments, "").unwrap();
        let given = found
            .stdout
            .lines()
            .filter_map(|line| line.rsplit_once(": ")?.1.parse::<u32>().ok());
        numbers.push(given.collect::<Vec<_>>());
        let gone = format!("dn: {dn}\nchangetype: delete\n");
        server.ldapmodify(&gone).unwrap().success().unwrap();
    }
    assert!(numbers.iter().all(|two| two.len() == 2), "{numbers:?}");
    let grow = |pair: &[Vec<u32>]| pair[0][0] < pair[1][0] && pair[0][1] < pair[1][1];
    assert!(numbers.windows(2).all(grow), "{numbers:?}");
    assert_equal(&all);
}

#[test]
fn what_expires_is_deleted_once_and_everywhere() {
    let etcd = Etcd::start(1).unwrap();
    let lines = "overlay dds\ndds-max-ttl 86400\ndds-min-ttl 1\ndds-default-ttl 1\ndds-interval 1\n";
    let all = [node(&etcd, lines), node(&etcd, lines)];
    all[0].ldapadd(TOP).unwrap().success().unwrap();
    let dynamic = person("short").replace("inetOrgPerson\n", "inetOrgPerson\nobjectClass: dynamicObject\n");
    all[1].ldapadd(&dynamic).unwrap().success().unwrap();
    for server in &all {
        let is_gone = wait::until(|| (count(server, "short") == 0).then_some(()));
        assert!(is_gone.is_some());
    }
    assert_equal(&all);
}
