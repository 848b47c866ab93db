//! Later starts: variables that changed are applied, and what others have changed stays.

use super::running::{ADMIN, Container};

#[test]
fn new_values_are_applied_and_foreign_changes_stay() {
    let mut container = Container::bitnami(&[]);
    container.start();
    let change = "dn: cn=config\nchangetype: modify\nreplace: olcIdleTimeout\nolcIdleTimeout: 600\n\n\
        dn: olcDatabase={2}mdb,cn=config\nchangetype: modify\nadd: olcAccess\n\
        olcAccess: {0}to dn.base=\"cn=none\" by * none\n";
    let (code, text) = container.local_modify(change);
    assert_eq!(code, 0, "{text}");
    container.stop();
    let former = container.port;
    container.port = container.tls_port;
    container.set("LDAP_PORT_NUMBER", &container.port.to_string());
    container.set("LDAP_LDAPS_PORT_NUMBER", &former.to_string());
    container.set("LDAP_ADMIN_PASSWORD", "another");
    container.set("LDAP_CONFIGURE_PPOLICY", "yes");
    container.start();
    let admin = "cn=admin,dc=example,dc=org";
    assert!(container.binds(admin, "another") && !container.binds(admin, super::running::PASSWORD));
    let config = std::fs::read_to_string(container.data("slapd.d/cn=config.ldif")).unwrap();
    assert!(config.contains("olcIdleTimeout: 600"), "{config}");
    let database = std::fs::read_to_string(container.data("slapd.d/cn=config/olcDatabase={2}mdb.ldif")).unwrap();
    assert!(database.contains("olcAccess: {0}to dn.base=\"cn=none\""), "{database}");
    assert!(database.contains("olcAccess: {1}to attrs=userPassword"), "{database}");
    let overlay = container.data("slapd.d/cn=config/olcDatabase={2}mdb/olcOverlay={0}ppolicy.ldif");
    assert!(overlay.exists());
    // A password that is changed in cn=config, and not by the variable, stays.
    let change = "dn: olcDatabase={2}mdb,cn=config\nchangetype: modify\nreplace: olcRootPW\nolcRootPW: third\n";
    assert_eq!(container.local_modify(change).0, 0);
    container.stop();
    container.set("LDAP_CONFIGURE_PPOLICY", "no");
    container.start();
    assert!(container.binds(admin, "third"), "{}", container.log());
    assert!(!overlay.exists(), "{}", container.log());
}

#[test]
fn what_is_for_a_first_start_is_named_and_what_is_fixed_is_refused() {
    let mut container = Container::bitnami(&[]);
    container.start();
    container.stop();
    container.set("LDAP_GROUP", "others");
    container.start();
    assert!(
        container
            .log()
            .contains("LDAP_GROUP has another value, which only a first start obeys")
    );
    container.stop();
    container.set("LDAP_ROOT", "dc=other");
    let log = container.fails();
    assert!(
        log.contains("LDAP_ROOT was not set when the directory was made, and is \"dc=other\" now"),
        "{log}"
    );
    container.unset("LDAP_ROOT");
    container.start();
    assert!(
        container
            .search(&["-b", "dc=example,dc=org", "-s", "base", "1.1"])
            .contains("dc=example")
    );
    container.stop();
    // The other image's names.
    container.unset("LDAP_GROUP");
    for name in ["LDAP_PORT_NUMBER", "LDAP_LDAPS_PORT_NUMBER"] {
        container.unset(name);
    }
    container.set("LDAP_DOMAIN", "example.org");
    container.set("LDAP_CONFIG_PASSWORD", "x");
    let log = container.fails();
    assert!(log.contains("was made with the variables of bitnami/openldap"), "{log}");
}

#[test]
fn an_existing_configuration_can_be_kept_whatever_variables_say() {
    let mut container = Container::bitnami(&[]);
    container.start();
    container.stop();
    std::fs::remove_file(container.data(".ironbark-container.json")).unwrap();
    let log = container.fails();
    assert!(
        log.contains("hold a directory that no container of ours has made"),
        "{log}"
    );
    container.set("KEEP_EXISTING_CONFIG", "true");
    container.unset("LDAP_ADMIN_PASSWORD");
    container.start();
    let (code, _) = container.client("ldapsearch", ADMIN, &["-b", "dc=example,dc=org", "-s", "base"], "");
    assert_eq!(code, 0);
}
