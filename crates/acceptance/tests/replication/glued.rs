//! Databases that are glued together, provided as one.

use ironbark_testkit::{Flavor, Server, wait};

use crate::replication::{PEOPLE, content, following, line, providing};

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

/// A server whose lower database follows another server, and that provides both.
fn relay(source: &Server) -> Server {
    let config = Server::people_config("serverID 2", "overlay syncprov\n");
    let at = config.find("database mdb").unwrap();
    let (global, superior) = config.split_at(at);
    let line = line(source, "type=refreshAndPersist")
        .replace("searchbase=dc=example,dc=com", "searchbase=ou=people,dc=example,dc=com");
    let lower = format!(
        "database mdb\nsuffix ou=people,dc=example,dc=com\nsubordinate\ndirectory {{dir}}/people\n\
         rootdn cn=Manager,dc=example,dc=com\n{line}"
    );
    let mut server = Server::prepare(Flavor::Ironbark, &format!("{global}{lower}{superior}")).unwrap();
    server.layout().make_dir("people").unwrap();
    server.launch().unwrap();
    server
}

#[test]
fn what_a_lower_database_gets_from_another_server_is_passed_on() {
    for (first, last) in [
        (Flavor::Ironbark, Flavor::Ironbark),
        (Flavor::OpenLdap, Flavor::Ironbark),
        (Flavor::Ironbark, Flavor::OpenLdap),
    ] {
        let source = providing(first, "");
        source.ldapadd(PEOPLE).unwrap().success().unwrap();
        let relay = relay(&source);
        let own = PEOPLE.replace(
            "dn: ou=people,dc=example,dc=com\nobjectClass: organizationalUnit\nou: people\n\n",
            "",
        );
        relay.ldapadd(&own).unwrap().success().unwrap();
        let consumer = following(last, &relay, "type=refreshAndPersist");
        for number in 0..3 {
            let there = format!(
                "dn: ou=people,dc=example,dc=com\nchangetype: modify\nreplace: description\ndescription: {number}\n\n\
                 dn: cn=p{number},ou=people,dc=example,dc=com\nchangetype: add\nobjectClass: person\nsn: s\n"
            );
            let here =
                format!("dn: dc=example,dc=com\nchangetype: modify\nreplace: description\ndescription: {number}\n");
            source.ldapmodify(&there).unwrap().success().unwrap();
            relay.ldapmodify(&here).unwrap().success().unwrap();
            let has_all = |server: &Server| {
                let text = content(server);
                let comes = text.matches(&format!("description: {number}\n")).count();
                comes == 2 && text.contains(&format!("cn=p{number},"))
            };
            let come = wait::until(|| (has_all(&relay) && has_all(&consumer)).then_some(()));
            assert!(come.is_some(), "{}\n{}", content(&consumer), relay.log());
        }
        same(&consumer, &relay);
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
    let found = wait::until(|| (entries(consumer) == wanted).then_some(()));
    assert!(
        found.is_some(),
        "held:\n{}\nwanted:\n{wanted}\n{}",
        entries(consumer),
        consumer.log()
    );
}
