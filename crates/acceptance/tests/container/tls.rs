//! TLS from mounted files, which an orchestrator replaces by moving a link.

use std::{fs, os::unix::fs::symlink};

use ironbark_testkit::{CertificateAuthority, wait::until};

use super::running::{Container, PASSWORD, run};

/// A version of the mounted files.
fn version(container: &Container, name: &str) -> String {
    let layout = &container.layout;
    layout.make_dir(&format!("tls/{name}")).unwrap();
    let mut authority = CertificateAuthority::new(name).unwrap();
    let path = layout
        .write(&format!("tls/{name}/ca.crt"), authority.certificate())
        .unwrap();
    authority
        .server()
        .unwrap()
        .write(layout, &format!("tls/{name}/tls"))
        .unwrap();
    path.display().to_string()
}

fn point(container: &Container, name: &str) {
    let new = container.layout.join("tls/..new");
    symlink(name, &new).unwrap();
    fs::rename(&new, container.layout.join("tls/..data")).unwrap();
}

#[test]
fn replaced_files_are_served_without_a_restart() {
    let mut container = Container::bitnami(&[("LDAP_ENABLE_TLS", "yes"), ("LDAP_REQUIRE_TLS", "yes")]);
    let (one, two) = (version(&container, "one"), version(&container, "two"));
    point(&container, "one");
    for (variable, file) in [
        ("LDAP_TLS_CERT_FILE", "tls.crt"),
        ("LDAP_TLS_KEY_FILE", "tls.key"),
        ("LDAP_TLS_CA_FILE", "ca.crt"),
    ] {
        let path = container.layout.join("tls").join(file);
        symlink(format!("..data/{file}"), &path).unwrap();
        container.set(variable, path.to_str().unwrap());
    }
    container.start();
    let url = format!("ldap://127.0.0.1:{}/", container.port);
    let admin = ["-x", "-D", "cn=admin,dc=example,dc=org", "-w", PASSWORD, "-H", &url];
    let trusts = |authority: &str| {
        let words = [&admin[..], &["-ZZ"]].concat();
        run("ldapwhoami", &words, &[("LDAPTLS_CACERT", authority)], "").0 == 0
    };
    assert!(trusts(&one) && !trusts(&two), "{}", container.log());
    assert_eq!(run("ldapwhoami", &admin, &[], "").0, 13, "without TLS");
    point(&container, "two");
    assert!(until(|| trusts(&two).then_some(())).is_some(), "{}", container.log());
    assert!(!trusts(&one));
    container.stop();
    // Other files at a later start.
    let path = container.layout.join("tls/one");
    container.set("LDAP_TLS_CERT_FILE", path.join("tls.crt").to_str().unwrap());
    container.set("LDAP_TLS_KEY_FILE", path.join("tls.key").to_str().unwrap());
    container.start();
    assert!(trusts(&one), "{}", container.log());
}
