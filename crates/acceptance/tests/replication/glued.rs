//! Databases that are glued together, provided as one.

use ironbark_testkit::{Flavor, Server};

use crate::{PEOPLE, content, following};

/// Two databases, the lower one with `ou=people`.
fn provider() -> Server {
    let config = Server::people_config("serverID 1", "overlay syncprov\n");
    let at = config.find("database mdb").unwrap();
    let (global, superior) = config.split_at(at);
    let lower = "database mdb\nsuffix ou=people,dc=example,dc=com\nsubordinate\ndirectory {dir}/people\n\
                 rootdn cn=Manager,dc=example,dc=com\n";
    let mut server = Server::prepare(Flavor::Ironbark, &format!("{global}{lower}{superior}")).unwrap();
    std::fs::create_dir_all(server.layout().join("people")).unwrap();
    server.launch().unwrap();
    server
}

fn with_number(text: &str, number: usize) -> String {
    text.replace('#', &number.to_string())
}

#[test]
fn a_consumer_gets_the_content_and_the_changes_of_all() {
    for flavor in [Flavor::Ironbark, Flavor::OpenLdap] {
        let mut provider = provider();
        provider.ldapadd(PEOPLE).unwrap().success().unwrap();
        let mut consumer = following(flavor, &provider, "type=refreshAndPersist");
        let changes = "dn: cn=p#,ou=people,dc=example,dc=com\nchangetype: add\nobjectClass: person\nsn: s\n\n\
                       dn: cn=o#,ou=others,dc=example,dc=com\nchangetype: add\nobjectClass: person\nsn: s\n\n\
                       dn: cn=p#,ou=people,dc=example,dc=com\nchangetype: modify\nreplace: sn\nsn: t\n\n\
                       dn: cn=q#,ou=people,dc=example,dc=com\nchangetype: add\nobjectClass: person\nsn: s\n\n\
                       dn: cn=q#,ou=people,dc=example,dc=com\nchangetype: delete\n";
        for number in 0..3 {
            provider
                .ldapmodify(&with_number(changes, number))
                .unwrap()
                .success()
                .unwrap();
            same(&consumer, &provider);
        }
        consumer.stop().unwrap();
        provider
            .ldapmodify(&with_number(changes, 7))
            .unwrap()
            .success()
            .unwrap();
        let gone = "dn: cn=p1,ou=people,dc=example,dc=com\nchangetype: delete\n";
        provider.ldapmodify(gone).unwrap().success().unwrap();
        consumer.launch().unwrap();
        same(&consumer, &provider);
        provider.stop().unwrap();
        provider.launch().unwrap();
        provider
            .ldapmodify(&with_number(changes, 8))
            .unwrap()
            .success()
            .unwrap();
        same(&consumer, &provider);
    }
}

#[track_caller]
fn same(consumer: &Server, provider: &Server) {
    let entries = |server: &Server| {
        let text = content(server);
        let lines = text.lines().filter(|line| !line.starts_with("contextCSN: "));
        lines.collect::<Vec<_>>().join("\n")
    };
    let wanted = entries(provider);
    let found = ironbark_testkit::wait::until(|| (entries(consumer) == wanted).then_some(()));
    assert!(
        found.is_some(),
        "held:\n{}\nwanted:\n{wanted}\n{}",
        entries(consumer),
        consumer.log()
    );
}
