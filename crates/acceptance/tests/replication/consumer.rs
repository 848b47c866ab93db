//! Our databases as consumers: of Debian's slapd, and of ours.

use ironbark_testkit::{Credentials, Flavor, Server, wait};

use crate::replication::{PEOPLE, assert_follows, change, content, following, line, providing};

const PERSIST: &str = "type=refreshAndPersist";

fn consumer(provider: &Server, words: &str) -> Server {
    following(Flavor::Ironbark, provider, words)
}

fn remove(server: &Server, name: &str) {
    let outcome = server.client("ldapdelete", &Credentials::ROOT, &[name], "");
    outcome.unwrap().success().unwrap();
}

fn follows_over_restarts_and_crashes(flavor: Flavor) {
    let mut provider = providing(flavor, "");
    provider.ldapadd(PEOPLE).unwrap().success().unwrap();
    let mut consumer = consumer(&provider, PERSIST);
    assert_follows(&consumer, &provider);
    change(&provider, 1);
    assert_follows(&consumer, &provider);
    consumer.stop().unwrap();
    change(&provider, 2);
    provider.kill().unwrap();
    provider.launch().unwrap();
    consumer.launch().unwrap();
    assert_follows(&consumer, &provider);
    consumer.kill().unwrap();
    change(&provider, 3);
    remove(&provider, "cn=a1,ou=people,dc=example,dc=com");
    consumer.launch().unwrap();
    change(&provider, 4);
    assert_follows(&consumer, &provider);
    provider.stop().unwrap();
    provider.launch().unwrap();
    change(&provider, 5);
    assert_follows(&consumer, &provider);
}

#[test]
fn we_follow_slapd_over_restarts_and_crashes_of_both() {
    follows_over_restarts_and_crashes(Flavor::OpenLdap);
}

#[test]
fn we_follow_ours_over_restarts_and_crashes_of_both() {
    follows_over_restarts_and_crashes(Flavor::Ironbark);
}

#[test]
fn a_consumer_that_asks_now_and_then_finds_out_what_is_gone() {
    for flavor in [Flavor::OpenLdap, Flavor::Ironbark] {
        let provider = providing(flavor, "");
        provider.ldapadd(PEOPLE).unwrap().success().unwrap();
        let consumer = consumer(&provider, "type=refreshOnly interval=00:00:00:01");
        for number in 1..4 {
            change(&provider, number);
            assert_follows(&consumer, &provider);
            remove(&provider, &format!("cn=a{number},ou=people,dc=example,dc=com"));
            assert_follows(&consumer, &provider);
        }
    }
}

#[test]
fn a_cascade_of_different_servers_ends_equal() {
    let first = providing(Flavor::OpenLdap, "");
    first.ldapadd(PEOPLE).unwrap().success().unwrap();
    let lines = format!("{}overlay syncprov\n", line(&first, PERSIST));
    let mut second = Server::prepare(Flavor::Ironbark, &Server::people_config("", &lines)).unwrap();
    second.launch().unwrap();
    let third = following(Flavor::OpenLdap, &second, PERSIST);
    for number in 1..4 {
        change(&first, number);
        assert_follows(&third, &first);
    }
    second.kill().unwrap();
    change(&first, 4);
    remove(&first, "cn=a1,ou=people,dc=example,dc=com");
    second.launch().unwrap();
    assert_follows(&third, &first);
    assert_follows(&second, &first);
}

#[test]
fn subtrees_that_move_and_names_that_are_used_again_come_over() {
    for flavor in [Flavor::OpenLdap, Flavor::Ironbark] {
        let provider = providing(flavor, "");
        provider.ldapadd(PEOPLE).unwrap().success().unwrap();
        change(&provider, 1);
        let mut consumer = consumer(&provider, PERSIST);
        assert_follows(&consumer, &provider);
        let moves = "dn: ou=people,dc=example,dc=com\nchangetype: modrdn\nnewrdn: ou=folk\ndeleteoldrdn: 0\n\
                     newsuperior: ou=others,dc=example,dc=com\n\n\
                     dn: ou=people,dc=example,dc=com\nchangetype: add\nobjectClass: organizationalUnit\n\n\
                     dn: cn=x+sn=y,ou=people,dc=example,dc=com\nchangetype: add\nobjectClass: person\n\n\
                     dn: cn=x+sn=y,ou=people,dc=example,dc=com\nchangetype: modrdn\nnewrdn: cn=z+sn=y\n\
                     deleteoldrdn: 1\nnewsuperior: ou=folk,ou=others,dc=example,dc=com\n\n";
        provider.ldapmodify(moves).unwrap().success().unwrap();
        assert_follows(&consumer, &provider);
        consumer.stop().unwrap();
        let back = "dn: ou=people,dc=example,dc=com\nchangetype: delete\n\n\
                    dn: ou=folk,ou=others,dc=example,dc=com\nchangetype: modrdn\nnewrdn: ou=people\ndeleteoldrdn: 1\n\
                    newsuperior: dc=example,dc=com\n\n\
                    dn: ou=folk,ou=others,dc=example,dc=com\nchangetype: add\nobjectClass: organizationalUnit\n\n";
        provider.ldapmodify(back).unwrap().success().unwrap();
        consumer.launch().unwrap();
        assert_follows(&consumer, &provider);
    }
}

#[test]
fn a_consumer_that_is_refused_tries_again() {
    let config = Server::people_config("serverID 1", "overlay syncprov\n");
    let mut provider = Server::prepare(Flavor::Ironbark, &config).unwrap();
    provider.launch().unwrap();
    provider.ldapadd(PEOPLE).unwrap().success().unwrap();
    let account = "dn: cn=replicator,dc=example,dc=com\nobjectClass: person\nsn: r\nuserPassword: wrong\n";
    provider.ldapadd(account).unwrap().success().unwrap();
    let words = format!(
        "syncrepl rid=001 provider={} bindmethod=simple binddn=cn=replicator,dc=example,dc=com credentials=right \
         searchbase=dc=example,dc=com retry=\"1 +\" {PERSIST}\n",
        provider.url()
    );
    let mut consumer = Server::prepare(Flavor::Ironbark, &Server::people_config("", &words)).unwrap();
    consumer.launch().unwrap();
    let told = wait::until(|| consumer.log().contains("invalidCredentials").then_some(()));
    assert!(told.is_some(), "{}", consumer.log());
    assert!(!consumer.log().contains("right"), "the password is not told");
    let mended =
        "dn: cn=replicator,dc=example,dc=com\nchangetype: modify\nreplace: userPassword\nuserPassword: right\n";
    provider.ldapmodify(mended).unwrap().success().unwrap();
    let same = wait::until(|| content(&consumer).contains("cn=replicator").then_some(()));
    assert!(same.is_some(), "{}", consumer.log());
}

#[test]
fn a_part_of_the_content_may_have_another_name_here() {
    for flavor in [Flavor::OpenLdap, Flavor::Ironbark] {
        let provider = providing(flavor, "");
        provider.ldapadd(PEOPLE).unwrap().success().unwrap();
        change(&provider, 1);
        let group = "dn: cn=group,ou=people,dc=example,dc=com\nobjectClass: groupOfNames\n\
                     member: cn=a1,ou=people,dc=example,dc=com\nmember: cn=else\ndescription: hidden\n";
        provider.ldapadd(group).unwrap().success().unwrap();
        let words = format!(
            "syncrepl rid=001 provider={} bindmethod=simple binddn=cn=Manager,dc=example,dc=com credentials=secret \
             searchbase=ou=people,dc=example,dc=com suffixmassage=ou=copy,dc=example,dc=com retry=\"1 +\" \
             exattrs=description filter=\"(!(sn=hidden))\" {PERSIST}\n",
            provider.url()
        );
        let mut consumer = Server::prepare(Flavor::Ironbark, &Server::people_config("", &words)).unwrap();
        consumer.launch().unwrap();
        let arguments = ["-LLL", "-b", "dc=example,dc=com", "member", "description"];
        let found = || {
            let found = consumer.client("ldapsearch", &Credentials::ROOT, &arguments, "");
            found.unwrap().stdout
        };
        let here = wait::until(|| found().contains("cn=group").then_some(()));
        assert!(here.is_some(), "{}\n{}", found(), consumer.log());
        let found = found();
        assert!(found.contains("member: cn=a1,ou=copy,dc=example,dc=com"), "{found}");
        assert!(found.contains("member: cn=else"), "{found}");
        assert!(!found.contains("description"), "{found}");
        assert!(!found.contains("ou=people"), "{found}");
    }
}

#[test]
fn what_is_below_a_name_that_was_used_again_comes_to_the_right_entry() {
    for flavor in Flavor::ALL {
        let provider = providing(Flavor::Ironbark, "");
        provider.ldapadd(PEOPLE).unwrap().success().unwrap();
        // The entry that moves is older than those that change their names.
        let entries = ["below", "old", "new"]
            .map(|name| format!("dn: cn={name},ou=people,dc=example,dc=com\nobjectClass: person\nsn: {name}\n"));
        provider.ldapadd(&entries.join("\n")).unwrap().success().unwrap();
        let mut consumer = following(flavor, &provider, "type=refreshAndPersist");
        assert_follows(&consumer, &provider);
        consumer.stop().unwrap();
        let moves = [
            ("cn=old", "cn=former", "ou=others"),
            ("cn=new", "cn=old", "ou=people"),
            ("cn=below", "cn=below", "cn=old,ou=people"),
        ];
        let moves = moves.map(|(name, rdn, place)| {
            format!(
                "dn: {name},ou=people,dc=example,dc=com\nchangetype: modrdn\nnewrdn: {rdn}\ndeleteoldrdn: 1\n\
                 newsuperior: {place},dc=example,dc=com\n"
            )
        });
        provider.ldapmodify(&moves.join("\n")).unwrap().success().unwrap();
        consumer.launch().unwrap();
        assert_follows(&consumer, &provider);
    }
}
