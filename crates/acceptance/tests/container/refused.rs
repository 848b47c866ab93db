//! What is refused says so before anything is made.

use super::running::Container;

#[test]
fn every_mistake_is_named_and_nothing_is_made() {
    for (variables, said) in [
        (vec![("LDAP_REQIRE_TLS", "yes")], "LDAP_REQIRE_TLS is unknown"),
        (
            vec![("LDAP_DOMAIN", "x.y")],
            "LDAP_DOMAIN is a variable of osixia/openldap",
        ),
        (
            vec![("LDAP_SSL_HELPER_TOOL", "cfssl")],
            "LDAP_SSL_HELPER_TOOL is refused",
        ),
        (
            vec![("LDAP_ENABLE_TLS", "yes")],
            "LDAP_ENABLE_TLS=yes needs LDAP_TLS_CERT_FILE",
        ),
        (
            vec![("LDAP_REQUIRE_TLS", "yes")],
            "LDAP_REQUIRE_TLS needs LDAP_ENABLE_TLS=yes",
        ),
        (
            vec![
                ("LDAP_ENABLE_TLS", "yes"),
                ("LDAP_TLS_CERT_FILE", "/none/c"),
                ("LDAP_TLS_KEY_FILE", "/none/k"),
            ],
            "LDAP_TLS_CERT_FILE=/none/c: No such file",
        ),
        (
            vec![("LDAP_ADMIN_PASSWORD_FILE", "/none/password")],
            "LDAP_ADMIN_PASSWORD_FILE=/none/password: No such file",
        ),
        (
            vec![("LDAP_ROOT", "example.org")],
            "LDAP_ROOT=example.org: a name such as dc=example,dc=org is expected",
        ),
        (
            vec![("LDAP_LOGLEVEL", "chatty")],
            "LDAP_LOGLEVEL=chatty: unrecognized log level",
        ),
        (vec![("LDAP_PASSWORD_HASH", "{NONE}")], "NONE"),
        (
            vec![("LDAP_USERS", "a,b"), ("LDAP_PASSWORDS", "x")],
            "must have as many words",
        ),
        (vec![("LDAP_EXTRA_SCHEMAS", "cosine,nosuch")], "nosuch is none of"),
        (
            vec![("LDAP_ALLOW_ANON_BINDING", "never")],
            "LDAP_ALLOW_ANON_BINDING=never: yes or no is expected",
        ),
    ] {
        let mut container = Container::bitnami(&variables);
        let log = container.fails();
        assert!(log.contains(said), "{said}: {log}");
        assert!(!container.data(".ironbark-container.json").exists());
    }
}

#[test]
fn a_password_must_be_given_unless_the_known_ones_are_wanted() {
    let mut container = Container::bitnami(&[]);
    container.unset("LDAP_ADMIN_PASSWORD");
    assert!(container.fails().contains("there is no default password"));
    container.set("IRONBARK_DEFAULT_PASSWORDS", "yes");
    container.start();
    assert!(container.binds("cn=admin,dc=example,dc=org", "adminpassword"));
    assert!(container.binds("cn=user01,ou=users,dc=example,dc=org", "bitnami1"));
}
