//! The variables of bitnami/openldap.

use super::running::{ADMIN, Container, NOBODY, Who};

const USERS: [(&str, &str); 2] = [("LDAP_USERS", "ann,bob"), ("LDAP_PASSWORDS", "ann-secret;bob-secret")];

#[test]
fn the_tree_is_that_of_the_image_without_its_holes() {
    let mut container = Container::bitnami(&USERS);
    container.set("LDAP_USER_OU", "people");
    container.set("LDAP_GROUP", "staff");
    container.start();
    let names = container.search(&["-b", "dc=example,dc=org", "1.1"]);
    let expected = [
        "dn: dc=example,dc=org",
        "dn: ou=people,dc=example,dc=org",
        "dn: ou=groups,dc=example,dc=org",
        "dn: cn=ann,ou=people,dc=example,dc=org",
        "dn: cn=bob,ou=people,dc=example,dc=org",
        "dn: cn=staff,ou=groups,dc=example,dc=org",
    ];
    assert_eq!(
        names.lines().filter(|line| !line.is_empty()).collect::<Vec<_>>(),
        expected
    );
    let bob = container.search(&["-b", "cn=bob,ou=people,dc=example,dc=org"]);
    for line in [
        "uid: bob",
        "sn: Bar2",
        "uidNumber: 1001",
        "homeDirectory: /home/bob",
        "objectClass: posixAccount",
    ] {
        assert!(bob.contains(line), "{bob}");
    }
    assert!(container.binds("cn=bob,ou=people,dc=example,dc=org", "bob-secret"));
    let group = container.search(&["-b", "cn=staff,ou=groups,dc=example,dc=org", "member"]);
    assert_eq!(group.matches("member: ").count(), 2);
    // The image shows the hashes of passwords to everyone.
    for who in [NOBODY, Who(Some(("cn=ann,ou=people,dc=example,dc=org", "ann-secret")))] {
        let (code, text) = container.client(
            "ldapsearch",
            who,
            &["-b", "dc=example,dc=org", "userPassword", "uid"],
            "",
        );
        assert!(
            code == 0 && text.contains("uid: ann") && !text.contains("userPassword"),
            "{text}"
        );
    }
}

#[test]
fn overlays_and_databases_follow_from_variables() {
    let mut container = Container::bitnami(&[
        ("LDAP_ROOT", "o=acme"),
        ("LDAP_ADMIN_USERNAME", "root"),
        ("LDAP_CONFIG_ADMIN_ENABLED", "yes"),
        ("LDAP_CONFIG_ADMIN_USERNAME", "chief"),
        ("LDAP_CONFIG_ADMIN_PASSWORD", "chief-secret"),
        ("LDAP_CONFIGURE_PPOLICY", "yes"),
        ("LDAP_PPOLICY_USE_LOCKOUT", "yes"),
        ("LDAP_PPOLICY_HASH_CLEARTEXT", "yes"),
        ("LDAP_ENABLE_ACCESSLOG", "yes"),
        ("LDAP_ACCESSLOG_PASSWORD", "log-secret"),
        ("LDAP_ENABLE_SYNCPROV", "yes"),
        ("LDAP_ALLOW_ANON_BINDING", "no"),
        ("LDAP_PASSWORD_HASH", "{SSHA512}"),
        ("LDAP_EXTRA_SCHEMAS", "cosine, inetorgperson,nis,sudo"),
    ]);
    container.start();
    let chief = Who(Some(("cn=chief,cn=config", "chief-secret")));
    let (code, text) = container.client(
        "ldapsearch",
        chief,
        &["-b", "cn=config", "(olcSuffix=*)", "olcSuffix"],
        "",
    );
    assert_eq!(code, 0, "{text}");
    assert!(
        text.contains("dn: olcDatabase={2}mdb,cn=config\nolcSuffix: o=acme"),
        "{text}"
    );
    assert!(
        text.contains("dn: olcDatabase={3}mdb,cn=config\nolcSuffix: cn=accesslog"),
        "{text}"
    );
    let (_, text) = container.client(
        "ldapsearch",
        chief,
        &["-b", "cn=config", "(objectClass=olcOverlayConfig)"],
        "",
    );
    for line in ["ppolicy", "accesslog", "syncprov"] {
        assert!(text.contains(&format!("}}{line},olcDatabase={{2}}mdb")), "{text}");
    }
    for line in ["olcPPolicyUseLockout: TRUE", "olcPPolicyHashCleartext: TRUE"] {
        assert!(text.contains(line), "{text}");
    }
    let (_, text) = container.client("ldapsearch", chief, &["-b", "cn=schema,cn=config", "cn"], "");
    assert!(text.contains("cn: {4}sudo"), "{text}");
    // Who has not authenticated reads nothing, and nobody but administrators reads the log.
    let (code, _) = container.client("ldapsearch", NOBODY, &["-b", "o=acme"], "");
    assert_ne!(code, 0);
    let root = Who(Some(("cn=root,o=acme", super::running::PASSWORD)));
    let change = "dn: o=acme\nchangetype: modify\nreplace: description\ndescription: x\n";
    assert_eq!(container.client("ldapmodify", root, &[], change).0, 0);
    let (_, text) = container.client(
        "ldapsearch",
        root,
        &["-b", "cn=accesslog", "(reqDN=o=acme)", "reqMod"],
        "",
    );
    assert!(text.contains("reqMod: description:= x"), "{text}");
    assert!(container.binds("cn=admin,cn=accesslog", "log-secret"));
    assert!(!container.binds("cn=admin,dc=example,dc=org", super::running::PASSWORD));
}

#[test]
fn it_ends_gently_with_sigterm_and_serves_again_what_it_held() {
    let mut container = Container::bitnami(&USERS);
    container.start();
    let entry = "dn: cn=x,dc=example,dc=org\nobjectClass: device\ncn: x\n";
    assert_eq!(container.client("ldapadd", ADMIN, &[], entry).0, 0);
    container.stop();
    assert!(container.log().contains("slapd stopped."), "{}", container.log());
    assert!(!container.health());
    container.start();
    assert!(
        container
            .search(&["-b", "cn=x,dc=example,dc=org", "1.1"])
            .contains("cn=x")
    );
    assert!(!container.log().contains("changed"), "{}", container.log());
}
