//! Overlays act where a write is made; those that follow a database follow it everywhere.

use ironbark_testkit::{Credentials, Etcd, Flavor, Server, wait};

use crate::{TOP, assert_equal, configuration, count, node, person};

#[test]
fn every_node_logs_the_changes_of_all() {
    let etcd = Etcd::start(1).unwrap();
    let log = "overlay accesslog\nlogdb cn=log\nlogops writes\n\ndatabase mdb\nsuffix cn=log\n\
        rootdn cn=Manager,dc=example,dc=com\ndirectory {dir}/log\n";
    let all: Vec<_> = (0..2)
        .map(|_| {
            let mut server = Server::prepare(Flavor::Ironbark, &configuration(&etcd, log)).unwrap();
            server.layout().make_dir("log").unwrap();
            server.launch().unwrap();
            server
        })
        .collect();
    all[0].ldapadd(TOP).unwrap().success().unwrap();
    all[0].ldapadd(&person("ann")).unwrap().success().unwrap();
    all[1].ldapadd(&person("bob")).unwrap().success().unwrap();
    assert_equal(&all);
    let logged = |server: &Server| {
        let arguments = ["-b", "cn=log", "(objectClass=auditAdd)", "reqDN"];
        let found = server.client("ldapsearch", &Credentials::ROOT, &arguments, "").unwrap();
        let names = found.stdout.lines().filter(|line| line.starts_with("reqDN: "));
        names.map(str::to_owned).collect::<Vec<_>>()
    };
    for server in &all {
        let all_four = wait::until(|| (logged(server).len() == 4).then_some(()));
        assert!(all_four.is_some(), "{:?}", logged(server));
    }
    assert_eq!(logged(&all[0]), logged(&all[1]));
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
