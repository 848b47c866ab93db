//! To the outside a cluster is one server.

use ironbark_testkit::{Etcd, Flavor, Server};

use crate::{TOP, assert_equal, node, person};

fn consumer(flavor: Flavor, providers: &[Server]) -> Server {
    let urls: Vec<_> = providers.iter().map(Server::url).collect();
    let line = format!(
        "syncrepl rid=001 provider=\"{}\" bindmethod=simple binddn=cn=Manager,dc=example,dc=com credentials=secret \
         searchbase=dc=example,dc=com type=refreshAndPersist retry=\"1 +\"\n",
        urls.join(" ")
    );
    Server::start(flavor, &Server::people_config("", &line)).unwrap()
}

#[test]
fn a_slapd_that_follows_one_node_goes_on_with_another() {
    let etcd = Etcd::start(1).unwrap();
    let mut all: Vec<_> = (0..2).map(|_| node(&etcd, "overlay syncprov\n")).collect();
    all[0].ldapadd(TOP).unwrap().success().unwrap();
    let consumers = [consumer(Flavor::OpenLdap, &all), consumer(Flavor::Ironbark, &all)];
    all[1].ldapadd(&person("ann")).unwrap().success().unwrap();
    assert_equal(&all);
    for consumer in &consumers {
        crate::assert_same_people(consumer, &all[1]);
    }
    all[0].kill().unwrap();
    let delete = "dn: uid=ann,ou=people,dc=example,dc=com\nchangetype: delete\n";
    all[1].ldapadd(&person("bob")).unwrap().success().unwrap();
    all[1].ldapmodify(delete).unwrap().success().unwrap();
    for consumer in &consumers {
        crate::assert_same_people(consumer, &all[1]);
    }
}
