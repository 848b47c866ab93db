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
