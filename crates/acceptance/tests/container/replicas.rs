//! Containers that replicate each other, and a copy.

use ironbark_testkit::wait::until;

use super::running::{ADMIN, Container, PASSWORD};

fn add(container: &Container, name: &str) {
    let entry = format!("dn: cn={name},dc=example,dc=org\nobjectClass: device\ncn: {name}\n");
    let (code, text) = container.client("ldapadd", ADMIN, &[], &entry);
    assert_eq!(code, 0, "{text}");
}

fn comes(container: &Container, name: &str) {
    let dn = format!("cn={name},dc=example,dc=org");
    let found = until(|| {
        let (code, _) = container.client("ldapsearch", ADMIN, &["-b", &dn, "-s", "base", "1.1"], "");
        (code == 0).then_some(())
    });
    assert!(found.is_some(), "{name}: {}", container.log());
}

#[test]
fn hosts_take_writes_everywhere_and_the_first_one_makes_the_entries() {
    let mut one = Container::bitnami(&[("LDAP_USERS", "ann"), ("LDAP_PASSWORDS", "anns-secret")]);
    let mut two = Container::bitnami(&[("LDAP_USERS", "ann"), ("LDAP_PASSWORDS", "anns-secret")]);
    // The names of the hosts tell them apart; all are on loopback here.
    let hosts = format!("ldap://127.0.0.1:{} ldap://localhost:{}", one.port, two.port);
    for (container, name) in [(&mut one, "127.0.0.1"), (&mut two, "localhost")] {
        container.set("IRONBARK_REPLICATION_HOSTS", &hosts);
        container.set("HOSTNAME", name);
    }
    two.start();
    one.start();
    for name in ["ann,ou=users", "readers,ou=groups"] {
        comes(&two, name);
    }
    let uuid =
        |container: &Container| container.search(&["-b", "ou=users,dc=example,dc=org", "-s", "base", "entryUUID"]);
    assert_eq!(uuid(&one), uuid(&two));
    add(&two, "of-two");
    comes(&one, "of-two");
    add(&one, "of-one");
    comes(&two, "of-one");
    // A new password on all, one after the other.
    for container in [&mut one, &mut two] {
        container.stop();
        container.set("LDAP_ADMIN_PASSWORD", PASSWORD);
        container.set("LDAP_ALLOW_ANON_BINDING", "no");
        container.start();
    }
    add(&one, "last");
    comes(&two, "last");
}

#[test]
fn a_copy_follows_and_names_its_provider_to_writers() {
    let mut provider = Container::bitnami(&[("LDAP_ENABLE_SYNCPROV", "yes")]);
    provider.start();
    add(&provider, "x");
    let url = format!("ldap://127.0.0.1:{}", provider.port);
    let mut copy = Container::bitnami(&[
        ("IRONBARK_REPLICATION", "consumer"),
        ("IRONBARK_REPLICATION_HOSTS", &url),
    ]);
    // Ready means that it has the provider's content.
    copy.start();
    comes(&copy, "x");
    let (code, text) = copy.client(
        "ldapadd",
        ADMIN,
        &[],
        "dn: cn=y,dc=example,dc=org\nobjectClass: device\ncn: y\n",
    );
    assert!(code == 10 && text.contains(&url), "{code} {text}");
}
