//! Tests of the settings that variables ask for.

use super::*;

fn of(image: Image, pairs: &[(&str, &str)]) -> Result<Settings, String> {
    let values = pairs
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let mut given = Given {
        values: values.collect(),
    };
    complete(image, &mut given)?;
    Settings::new(image, &given, &Facts::default())
}

const ADMIN: (&str, &str) = ("LDAP_ADMIN_PASSWORD", "x");

#[test]
fn no_password_is_made_up() {
    assert!(of(Image::Bitnami, &[]).unwrap_err().contains("LDAP_ADMIN_PASSWORD"));
    assert!(
        of(Image::Osixia, &[ADMIN])
            .unwrap_err()
            .contains("LDAP_CONFIG_PASSWORD")
    );
    let config = [ADMIN, ("LDAP_CONFIG_ADMIN_ENABLED", "yes")];
    assert!(
        of(Image::Bitnami, &config)
            .unwrap_err()
            .contains("LDAP_CONFIG_ADMIN_PASSWORD")
    );
    let known = of(Image::Bitnami, &[("IRONBARK_DEFAULT_PASSWORDS", "yes")]).unwrap();
    assert!(matches!(known.entries, Entries::Users(users) if users.names == ["user01", "user02"]));
}

#[test]
fn protection_cannot_be_required_without_tls() {
    let required = [ADMIN, ("LDAP_REQUIRE_TLS", "yes")];
    assert!(of(Image::Bitnami, &required).unwrap_err().contains("LDAP_ENABLE_TLS"));
    let half = [ADMIN, ("LDAP_ENABLE_TLS", "yes"), ("LDAP_TLS_CERT_FILE", "/c")];
    assert!(of(Image::Bitnami, &half).unwrap_err().contains("LDAP_TLS_KEY_FILE"));
}

#[test]
fn ports_are_distinct_and_a_proxy_takes_the_place_of_a_plain_one() {
    let same = [ADMIN, ("LDAP_ENABLE_PROXYPROTO", "yes")];
    let ports = of(Image::Bitnami, &same).unwrap().ports;
    assert_eq!((ports.plain, ports.proxied), (None, Some(1389)));
    let other = [
        ADMIN,
        ("LDAP_ENABLE_PROXYPROTO", "yes"),
        ("LDAP_PROXYPROTO_PORT_NUMBER", "2389"),
    ];
    let ports = of(Image::Bitnami, &other).unwrap().ports;
    assert_eq!((ports.plain, ports.proxied), (Some(1389), Some(2389)));
    let tls = [
        ADMIN,
        ("LDAP_ENABLE_TLS", "yes"),
        ("LDAP_TLS_CERT_FILE", "/c"),
        ("LDAP_TLS_KEY_FILE", "/k"),
        ("LDAP_LDAPS_PORT_NUMBER", "1389"),
    ];
    assert_eq!(of(Image::Bitnami, &tls).unwrap_err(), "two listeners have port 1389");
}

#[test]
fn a_base_lies_within_its_domain() {
    let osixia = |pairs: &[(&str, &str)]| {
        let mut all = vec![ADMIN, ("LDAP_CONFIG_PASSWORD", "y")];
        all.extend(pairs);
        of(Image::Osixia, &all)
    };
    assert_eq!(osixia(&[]).unwrap().suffix, "dc=example,dc=org");
    let below = osixia(&[("LDAP_DOMAIN", "a.b"), ("LDAP_BASE_DN", "ou=x,dc=a,dc=b")]).unwrap();
    assert_eq!(
        (below.suffix.as_str(), below.admin.dn.as_str()),
        ("dc=a,dc=b", "cn=admin,ou=x,dc=a,dc=b")
    );
    assert!(osixia(&[("LDAP_DOMAIN", "a.b"), ("LDAP_BASE_DN", "dc=xa,dc=c")]).is_err());
    assert_eq!(osixia(&[("LDAP_BASE_DN", "o=acme")]).unwrap().suffix, "o=acme");
    assert!(osixia(&[("LDAP_BACKEND", "hdb")]).is_err());
}

#[test]
fn hosts_may_be_written_as_python_does() {
    let pairs = [
        ADMIN,
        ("LDAP_CONFIG_PASSWORD", "y"),
        ("LDAP_REPLICATION", "true"),
        ("LDAP_REPLICATION_HOSTS", "#PYTHON2BASH:['ldap://a','ldap://b']"),
    ];
    let replication = of(Image::Osixia, &pairs).unwrap().replication.unwrap();
    assert_eq!(replication.hosts, ["ldap://a", "ldap://b"]);
    assert!(replication.options.contains("searchbase=\"dc=example,dc=org\""));
}
