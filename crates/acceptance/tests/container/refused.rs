//! What is refused says so before anything is made.

use super::running::Container;

fn refuses(variables: &[(&str, &str)], said: &str) {
    let mut container = Container::bitnami(variables);
    let log = container.fails();
    assert!(log.contains(said), "{said}: {log}");
    assert!(!log.contains("geheim"), "{log}");
    assert!(!container.data(".ironbark-container.json").exists());
}

const CLUSTER: (&str, &str) = ("IRONBARK_CLUSTER", "http://127.0.0.1:1");
const FIRST: (&str, &str) = ("IRONBARK_CLUSTER_FIRST", "ldap-0");

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
        refuses(&variables, said);
    }
}

#[test]
fn every_mistake_about_a_cluster_is_named_and_nothing_is_made() {
    for (variables, said) in [
        (
            vec![("IRONBARK_CLUSTER", "http://a:2379")],
            "IRONBARK_CLUSTER needs IRONBARK_CLUSTER_FIRST",
        ),
        (
            vec![("IRONBARK_CLUSTER", "etcd:2379"), FIRST],
            "IRONBARK_CLUSTER: \"etcd:2379\" is not http://host:port",
        ),
        (
            vec![("IRONBARK_CLUSTER", "http://u:geheim@a:1"), FIRST],
            "IRONBARK_CLUSTER: a URL has no user",
        ),
        (
            vec![CLUSTER, FIRST, ("IRONBARK_CLUSTER_USER", "u")],
            "IRONBARK_CLUSTER_USER and IRONBARK_CLUSTER_PASSWORD",
        ),
        (
            vec![CLUSTER, FIRST, ("IRONBARK_CLUSTER_COPY", "4000")],
            "IRONBARK_CLUSTER_COPY: copy: \"4000\" is not host:port",
        ),
        (
            vec![CLUSTER, FIRST, ("IRONBARK_CLUSTER_OPTIONS", "room=much")],
            "IRONBARK_CLUSTER_OPTIONS: room: ",
        ),
        (
            vec![CLUSTER, FIRST, ("IRONBARK_CLUSTER_OPTIONS", "user=u password=geheim")],
            "IRONBARK_CLUSTER_OPTIONS: user is the variable IRONBARK_CLUSTER_USER",
        ),
        (
            vec![CLUSTER, FIRST, ("IRONBARK_CLUSTER_TLS_CA_FILE", "/none/ca")],
            "IRONBARK_CLUSTER_TLS_CA_FILE=/none/ca: No such file",
        ),
        (
            vec![CLUSTER, FIRST, ("IRONBARK_CLUSTER_TLS_KEY_FILE", "/none/k")],
            "IRONBARK_CLUSTER_TLS_CERT_FILE and IRONBARK_CLUSTER_TLS_KEY_FILE belong together",
        ),
        (
            vec![("IRONBARK_CLUSTER_PASSWORD", "geheim")],
            "IRONBARK_CLUSTER_PASSWORD needs IRONBARK_CLUSTER",
        ),
        (
            vec![CLUSTER, FIRST, ("IRONBARK_REPLICATION_HOSTS", "ldap://a")],
            "IRONBARK_CLUSTER contradicts the variables of replication",
        ),
    ] {
        refuses(&variables, said);
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
