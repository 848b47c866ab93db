//! To the outside a cluster is one server.

use ironbark_testkit::{Etcd, Flavor, Server};

use crate::cluster::{
    TOP, assert_equal, common::succeed, configuration, content, copies::forget_the_log, node, person,
};

/// The access log of a server, and words of who follows it.
const LOG: &str = "database mdb\nsuffix cn=accesslog\nrootdn cn=Manager,dc=example,dc=com\ndirectory {dir}/log\n\
                   overlay syncprov\nsyncprov-nopresent TRUE\nsyncprov-reloadhint TRUE\n";
const BY_LOG: &str =
    "syncdata=accesslog logbase=cn=accesslog logfilter=\"(&(objectClass=auditWriteObject)(reqResult=0))\"";

/// A server with an access log.
fn logging(flavor: Flavor, config: &str) -> Server {
    let config =
        format!("{config}overlay syncprov\noverlay accesslog\nlogdb cn=accesslog\nlogops writes\nlogsuccess TRUE\n");
    let config = config.replacen("pidfile", "moduleload syncprov\nmoduleload accesslog\npidfile", 1);
    let config = config.replacen("database mdb", &format!("{LOG}database mdb"), 1);
    let mut server = Server::prepare(flavor, &config).unwrap();
    server.layout().make_dir("log").unwrap();
    server.launch().unwrap();
    server
}

pub(crate) fn consumer(flavor: Flavor, providers: &[Server], words: &str) -> Server {
    let urls: Vec<_> = providers.iter().map(Server::url).collect();
    let line = format!(
        "syncrepl rid=001 provider=\"{}\" bindmethod=simple binddn=cn=Manager,dc=example,dc=com credentials=secret \
         searchbase=dc=example,dc=com type=refreshAndPersist retry=\"1 +\" {words}\n",
        urls.join(" ")
    );
    Server::start(flavor, &Server::people_config("", &line)).unwrap()
}

/// Consumers follow the first of two nodes, which ends.
fn assert_go_on_with_another(all: &mut [Server], words: &str) {
    all[0].ldapadd(TOP).unwrap().success().unwrap();
    let consumers = [Flavor::OpenLdap, Flavor::Ironbark].map(|flavor| consumer(flavor, all, words));
    all[1].ldapadd(&person("ann")).unwrap().success().unwrap();
    assert_equal(all);
    for consumer in &consumers {
        crate::cluster::assert_same_people(consumer, &all[1]);
    }
    all[0].kill().unwrap();
    let delete = "dn: uid=ann,ou=people,dc=example,dc=com\nchangetype: delete\n";
    all[1].ldapadd(&person("bob")).unwrap().success().unwrap();
    all[1].ldapmodify(delete).unwrap().success().unwrap();
    for consumer in &consumers {
        crate::cluster::assert_same_people(consumer, &all[1]);
    }
}

#[test]
fn consumers_of_one_node_go_on_with_another() {
    let etcd = Etcd::start(1).unwrap();
    let mut all: Vec<_> = (0..2).map(|_| node(&etcd, "overlay syncprov\n")).collect();
    assert_go_on_with_another(&mut all, "");
}

/// A server that was there before the cluster, such as a slapd.
#[test]
fn a_server_that_is_no_more_is_forgotten_at_all_nodes() {
    let etcd = Etcd::start(1).unwrap();
    let config = configuration(&etcd, "overlay syncprov\n");
    let mut first = Server::prepare(Flavor::Ironbark, &config).unwrap();
    let obsolete = "o: Example\ncontextCSN: 20200101000000.000000Z#000000#00a#000000";
    first.slapadd(&TOP.replacen("o: Example", obsolete, 1)).unwrap();
    first.launch().unwrap();
    first.ldapadd(&person("ann")).unwrap().success().unwrap();
    let all = [first, node(&etcd, "overlay syncprov\n")];
    assert_equal(&all);
    assert!(content(&all[1]).contains("#00a#"), "{}", content(&all[1]));
    let options = ["-D", "cn=Manager,dc=example,dc=com", "-w", "secret"];
    let forget = ["replica", "forget-sid", "10", &all[1].url()];
    succeed(&[&forget[..], &options].concat());
    assert_equal(&all);
    assert!(!content(&all[0]).contains("#00a#"), "{}", content(&all[0]));
    all[0].ldapadd(&person("bob")).unwrap().success().unwrap();
    assert_equal(&all);
}

/// They are connected while the database is replaced, and follow the new one.
#[test]
fn consumers_of_a_node_that_gets_a_copy_hear_of_what_it_brings() {
    let etcd = Etcd::start(1).unwrap();
    let mut all: Vec<_> = (0..2).map(|_| node(&etcd, "overlay syncprov\n")).collect();
    all[0].ldapadd(TOP).unwrap().success().unwrap();
    all[0].ldapadd(&person("ann")).unwrap().success().unwrap();
    assert_equal(&all);
    all[1].stop().unwrap();
    let delete = "dn: uid=ann,ou=people,dc=example,dc=com\nchangetype: delete\n";
    all[0].ldapadd(&person("bob")).unwrap().success().unwrap();
    all[0].ldapmodify(delete).unwrap().success().unwrap();
    forget_the_log(&etcd);
    all[0].stop().unwrap();
    all[1].launch().unwrap();
    all[1].wait_for_log("needs a copy").unwrap();
    let consumers = [Flavor::OpenLdap, Flavor::Ironbark].map(|flavor| consumer(flavor, &all[1..], ""));
    for consumer in &consumers {
        crate::cluster::assert_same_people(consumer, &all[1]);
    }
    all[0].launch().unwrap();
    assert_equal(&all);
    for consumer in &consumers {
        crate::cluster::assert_same_people(consumer, &all[1]);
    }
    all[0].ldapadd(&person("cid")).unwrap().success().unwrap();
    for consumer in &consumers {
        crate::cluster::assert_same_people(consumer, &all[0]);
    }
}

#[test]
fn consumers_of_the_access_log_of_one_node_go_on_with_that_of_another() {
    let etcd = Etcd::start(1).unwrap();
    let mut all: Vec<_> = (0..2)
        .map(|_| logging(Flavor::Ironbark, &configuration(&etcd, "")))
        .collect();
    assert_go_on_with_another(&mut all, BY_LOG);
    let log = all[1].log();
    assert!(log.contains("SRCH base=\"cn=accesslog\""), "{log}");
}

/// Every node follows the provider with these words, and one is away for a while.
fn assert_has_what_a_provider_has(provider: &Server, words: &str) {
    let etcd = Etcd::start(1).unwrap();
    provider.ldapadd(TOP).unwrap().success().unwrap();
    let line = format!(
        "syncrepl rid=001 provider={} bindmethod=simple binddn=cn=Manager,dc=example,dc=com credentials=secret \
         searchbase=dc=example,dc=com type=refreshAndPersist retry=\"1 +\" {words}\n",
        provider.url()
    );
    let mut all: Vec<_> = (0..2).map(|_| node(&etcd, &line)).collect();
    provider.ldapadd(&person("ann")).unwrap().success().unwrap();
    for node in &all {
        crate::cluster::assert_same_people(node, provider);
    }
    all[0].kill().unwrap();
    let changes = "dn: uid=ann,ou=people,dc=example,dc=com\nchangetype: modify\nreplace: sn\nsn: Lee\n\n\
        dn: uid=ann,ou=people,dc=example,dc=com\nchangetype: modrdn\nnewrdn: uid=anna\ndeleteoldrdn: 1\n";
    provider.ldapmodify(changes).unwrap().success().unwrap();
    provider.ldapadd(&person("bob")).unwrap().success().unwrap();
    crate::cluster::assert_same_people(&all[1], provider);
    all[0].launch().unwrap();
    let delete = "dn: uid=bob,ou=people,dc=example,dc=com\nchangetype: delete\n";
    provider.ldapadd(&person("cid")).unwrap().success().unwrap();
    provider.ldapmodify(delete).unwrap().success().unwrap();
    for node in &all {
        crate::cluster::assert_same_people(node, provider);
    }
    assert_equal(&all);
}

#[test]
fn a_cluster_that_follows_a_slapd_has_what_it_has() {
    let config = Server::people_config("serverID 1\nmoduleload syncprov", "overlay syncprov\n");
    let provider = Server::start(Flavor::OpenLdap, &config).unwrap();
    assert_has_what_a_provider_has(&provider, "");
}

#[test]
fn a_cluster_that_follows_the_log_of_a_slapd_has_what_it_has() {
    let provider = logging(Flavor::OpenLdap, &Server::people_config("serverID 1", ""));
    assert_has_what_a_provider_has(&provider, BY_LOG);
    let log = provider.log();
    assert!(log.contains("SRCH base=\"cn=accesslog\""), "{log}");
}
