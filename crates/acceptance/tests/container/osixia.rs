//! The variables of osixia/openldap.

use super::running::{Container, NOBODY, PASSWORD, Who, run};

#[test]
fn the_directory_is_that_of_the_image() {
    let mut container = Container::osixia(&[
        ("LDAP_ORGANISATION", "Acme & Sons"),
        ("LDAP_DOMAIN", "acme.test"),
        ("LDAP_READONLY_USER", "true"),
        ("LDAP_READONLY_USER_USERNAME", "reader"),
        ("LDAP_READONLY_USER_PASSWORD", "reader-secret"),
        ("LDAP_RFC2307BIS_SCHEMA", "true"),
        ("LDAP_TLS_VERIFY_CLIENT", "never"),
        ("LDAP_REMOVE_CONFIG_AFTER_SETUP", "true"),
    ]);
    let folder = container.layout.make_dir("ldif").unwrap();
    container.set("LDAP_SEED_INTERNAL_LDIF_PATH", folder.to_str().unwrap());
    // As the image's users write them: placeholders, and changes of both trees in one file.
    container
        .layout
        .write(
            "ldif/10-people.ldif",
            "dn: ou=people,{{ LDAP_BASE_DN }}\nchangetype: add\nobjectClass: organizationalUnit\nou: people\n\n\
             dn: olcDatabase={1}{{ LDAP_BACKEND }},cn=config\nadd: olcDbIndex\nolcDbIndex: sn eq\n\n\
             dn: cn=p,ou=people,{{ LDAP_BASE_DN }}\nchangetype: add\nobjectClass: person\ncn: p\nsn: p\n",
        )
        .unwrap();
    container
        .layout
        .write(
            "ldif/20-group.ldif",
            "dn: cn=g,{{ LDAP_BASE_DN }}\nobjectClass: groupOfUniqueNames\ncn: g\nuniqueMember: cn=p,ou=people,{{ LDAP_BASE_DN }}\n",
        )
        .unwrap();
    container.start();
    let admin = Who(Some(("cn=admin,dc=acme,dc=test", PASSWORD)));
    let (_, text) = container.client("ldapsearch", admin, &["-b", "dc=acme,dc=test"], "");
    assert!(text.contains("o: Acme & Sons") && text.contains("dc: acme"), "{text}");
    let (_, text) = container.client(
        "ldapsearch",
        admin,
        &["-b", "cn=p,ou=people,dc=acme,dc=test", "memberOf"],
        "",
    );
    assert!(text.contains("memberOf: cn=g,dc=acme,dc=test"), "{text}");
    let reader = Who(Some(("cn=reader,dc=acme,dc=test", "reader-secret")));
    let (code, text) = container.client("ldapsearch", reader, &["-b", "dc=acme,dc=test", "(cn=p)", "1.1"], "");
    assert!(code == 0 && text.contains("cn=p,ou=people"), "{text}");
    // Others see nothing.
    assert_eq!(
        container.client("ldapsearch", NOBODY, &["-b", "dc=acme,dc=test"], "").0,
        32
    );
    let config = Who(Some(("cn=admin,cn=config", "config-password")));
    let (_, text) = container.client(
        "ldapsearch",
        config,
        &["-b", "olcDatabase={1}mdb,cn=config", "-s", "base"],
        "",
    );
    assert!(
        text.contains("olcDbIndex: sn eq") && text.contains("olcSuffix: dc=acme,dc=test"),
        "{text}"
    );
    assert!(
        container.log().contains("LDAP_REMOVE_CONFIG_AFTER_SETUP has no effect"),
        "{}",
        container.log()
    );
}

#[test]
fn tls_is_there_without_certificates_and_can_be_enforced() {
    let mut container = Container::osixia(&[("LDAP_TLS_VERIFY_CLIENT", "never"), ("HOSTNAME", "ldap.example.org")]);
    container.start();
    let authority = container.data("tls/ca.crt").display().to_string();
    let url = format!("ldap://127.0.0.1:{}/", container.port);
    let secure = format!("ldaps://127.0.0.1:{}/", container.tls_port);
    let admin = ["-x", "-D", "cn=admin,dc=example,dc=org", "-w", PASSWORD];
    let whoami = |more: &[&str]| {
        run(
            "ldapwhoami",
            &[&admin, more].concat(),
            &[("LDAPTLS_CACERT", &authority)],
            "",
        )
        .0
    };
    assert_eq!(whoami(&["-ZZ", "-H", &url]), 0, "{}", container.log());
    assert_eq!(whoami(&["-H", &secure]), 0);
    assert_eq!(whoami(&["-H", &url]), 0);
    container.stop();
    container.set("LDAP_TLS_ENFORCE", "true");
    container.start();
    assert_eq!(whoami(&["-H", &url]), 13);
    assert_eq!(whoami(&["-ZZ", "-H", &url]), 0);
    // The local socket counts as protected.
    let change = "dn: cn=config\nchangetype: modify\nreplace: olcIdleTimeout\nolcIdleTimeout: 600\n";
    assert_eq!(container.local_modify(change).0, 0);
}
