//! Databases that are glued together, each with a log of its own, and their consumers.

use std::process::{Child, Command, Stdio};

use ironbark_testkit::{Credentials, Etcd, Flavor, Server, free_port, wait};

use crate::cluster::{TOP, assert_same_people, count, outside::consumer, person};

/// A way to an etcd that can be cut: etcd's own gateway.
struct Way {
    etcd: String,
    address: String,
    process: Option<Child>,
}

impl Way {
    fn to(etcd: &Etcd) -> Self {
        let mut way = Self {
            etcd: etcd.urls().replace("http://", ""),
            address: format!("127.0.0.1:{}", free_port().unwrap()),
            process: None,
        };
        way.mend();
        way
    }

    fn mend(&mut self) {
        let mut gateway = Command::new("etcd");
        gateway.args([
            "gateway",
            "start",
            "--endpoints",
            &self.etcd,
            "--listen-addr",
            &self.address,
        ]);
        self.process = Some(gateway.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    }

    fn cut(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().unwrap();
            process.wait().unwrap();
        }
    }
}

impl Drop for Way {
    fn drop(&mut self) {
        self.cut();
    }
}

/// A server with two databases, the lower one with `ou=people`.
fn glued(upper: &str, lower: &str) -> Server {
    let config = Server::people_config("", &format!("cluster {upper} timeout=3\noverlay syncprov\n"));
    let lower = format!(
        "database mdb\nsuffix ou=people,dc=example,dc=com\nsubordinate\ndirectory {{dir}}/people\n\
         rootdn cn=Manager,dc=example,dc=com\ncluster {lower} timeout=3\n"
    );
    let config = config.replacen("database mdb", &format!("{lower}database mdb"), 1);
    let mut server = Server::prepare(Flavor::Ironbark, &config).unwrap();
    server.layout().make_dir("people").unwrap();
    server.launch().unwrap();
    server
}

/// A change of one database may come after a later one of another, and all servers have one server ID.
#[test]
fn a_consumer_lacks_nothing_that_its_provider_has_got_late() {
    let etcds = [Etcd::start(1).unwrap(), Etcd::start(1).unwrap()];
    let mut way = Way::to(&etcds[1]);
    let provider = glued(&etcds[0].urls(), &format!("http://{}", way.address));
    let other = glued(&etcds[0].urls(), &etcds[1].urls());
    provider.ldapadd(TOP).unwrap().success().unwrap();
    provider.ldapadd(&person("ann")).unwrap().success().unwrap();
    let providers = [provider];
    let mut consumers = [
        consumer(Flavor::OpenLdap, &providers, ""),
        consumer(Flavor::Ironbark, &providers, ""),
    ];
    for copy in consumers.iter().chain([&other]) {
        assert_same_people(copy, &providers[0]);
    }
    way.cut();
    other.ldapadd(&person("late")).unwrap().success().unwrap();
    let later = "dn: ou=later,dc=example,dc=com\nobjectClass: organizationalUnit\n";
    providers[0].ldapadd(later).unwrap().success().unwrap();
    let has_later = |server: &Server| {
        let arguments = ["-b", "ou=later,dc=example,dc=com", "-s", "base"];
        let found = server.client("ldapsearch", &Credentials::ROOT, &arguments, "").unwrap();
        (found.code() == Some(0)).then_some(())
    };
    for consumer in &mut consumers {
        assert!(wait::until(|| has_later(consumer)).is_some());
        consumer.stop().unwrap();
    }
    assert_eq!(count(&providers[0], "late"), 0);
    way.mend();
    assert!(wait::until(|| (count(&providers[0], "late") == 1).then_some(())).is_some());
    for consumer in &mut consumers {
        consumer.launch().unwrap();
        assert_same_people(consumer, &providers[0]);
    }
}
