//! What clients may do with a copy.

use ironbark_testkit::{Credentials, Flavor, Server, wait};

use crate::replication::{PEOPLE, assert_follows, content, following, line, providing};

/// A consumer with further lines, and its provider.
fn copy(lines: &str) -> (Server, Server) {
    let provider = providing(Flavor::Ironbark, "");
    provider.ldapadd(PEOPLE).unwrap().success().unwrap();
    let account = "dn: cn=ann,ou=people,dc=example,dc=com\nobjectClass: person\nsn: a\nuserPassword: pencil\n";
    provider.ldapadd(account).unwrap().success().unwrap();
    let lines = format!("{}{lines}", line(&provider, "type=refreshAndPersist"));
    let mut copy = Server::prepare(Flavor::Ironbark, &Server::people_config("", &lines)).unwrap();
    copy.launch().unwrap();
    assert_follows(&copy, &provider);
    (provider, copy)
}

const ANN: &str = "cn=ann,ou=people,dc=example,dc=com";

/// Every kind of change of a client.
fn attempts(server: &Server) -> Vec<String> {
    let changes = [
        "dn: cn=new,ou=people,dc=example,dc=com\nchangetype: add\nobjectClass: person\nsn: n\n",
        "dn: cn=ann,ou=people,dc=example,dc=com\nchangetype: modify\nreplace: sn\nsn: b\n",
        "dn: cn=ann,ou=people,dc=example,dc=com\nchangetype: modrdn\nnewrdn: cn=anne\ndeleteoldrdn: 1\n",
        "dn: cn=ann,ou=people,dc=example,dc=com\nchangetype: delete\n",
    ];
    let mut outcomes: Vec<_> = changes
        .iter()
        .map(|change| server.ldapmodify(change).unwrap())
        .collect();
    outcomes.push(
        server
            .client("ldappasswd", &Credentials::ROOT, &["-s", "new", ANN], "")
            .unwrap(),
    );
    outcomes
        .into_iter()
        .map(|outcome| outcome.stderr + &outcome.stdout)
        .collect()
}

#[test]
fn a_copy_sends_writers_where_updateref_says() {
    let (provider, copy) = copy("updateref ldap://provider.example\n");
    let before = content(&copy);
    for text in attempts(&copy) {
        assert!(text.contains("eferral (10)"), "{text}");
        assert!(text.contains("ldap://provider.example/cn="), "{text}");
    }
    assert_eq!(content(&copy), before);
    assert_follows(&copy, &provider);
}

#[test]
fn a_copy_without_updateref_refuses_writers() {
    let (_provider, copy) = copy("");
    for text in attempts(&copy) {
        assert!(text.contains("unwilling to perform (53)"), "{text}");
        assert!(text.contains("shadow context; no update referral"), "{text}");
    }
}

#[test]
fn what_a_bind_records_stays_in_the_copy_and_changes_still_come() {
    let (provider, copy) = copy("lastbind on\noverlay syncprov\n");
    let ann = Credentials::Simple {
        dn: ANN,
        password: "pencil",
    };
    copy.client("ldapwhoami", &ann, &[], "").unwrap().success().unwrap();
    assert!(content(&copy).contains("pwdLastSuccess"), "{}", content(&copy));
    let without = |server: &Server| {
        let lines = content(server);
        let kept: Vec<&str> = lines
            .lines()
            .filter(|line| !line.starts_with("pwdLastSuccess"))
            .collect();
        kept.join("\n") + "\n"
    };
    assert_eq!(
        without(&copy),
        content(&provider),
        "neither stamps nor the vector moved"
    );
    let third = following(Flavor::OpenLdap, &copy, "type=refreshAndPersist");
    let change = "dn: cn=ann,ou=people,dc=example,dc=com\nchangetype: modify\nreplace: sn\nsn: b\n";
    provider.ldapmodify(change).unwrap().success().unwrap();
    let came = wait::until(|| (without(&copy) == content(&provider)).then_some(()));
    assert!(came.is_some(), "{}", copy.log());
    let came = wait::until(|| (without(&third) == content(&provider)).then_some(()));
    assert!(came.is_some(), "{}\n{}", content(&third), third.log());
}

#[test]
fn the_name_of_updatedn_may_write() {
    let lines = "updatedn cn=Manager,dc=example,dc=com\nupdateref ldap://provider.example\n";
    let mut server = Server::prepare(Flavor::Ironbark, &Server::people_config("", lines)).unwrap();
    server.launch().unwrap();
    server.ldapadd(PEOPLE).unwrap().success().unwrap();
    let account = "dn: cn=ann,ou=people,dc=example,dc=com\nobjectClass: person\nsn: a\nuserPassword: pencil\n";
    server.ldapadd(account).unwrap().success().unwrap();
    let ann = Credentials::Simple {
        dn: ANN,
        password: "pencil",
    };
    let outcome = server.client("ldappasswd", &ann, &["-s", "new"], "").unwrap();
    assert!(outcome.stdout.contains("Referral (10)"), "{outcome:?}");
}
