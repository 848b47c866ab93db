//! `slapdtest`, which projects use for tests with python-ldap: `slapadd -n0` into an empty directory, a configuration
//! with names that no schema knows yet, then the schema, then the server.

use std::os::unix::fs::symlink;

use ironbark_testkit::{Flavor, Layout};

use super::{program, succeed};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients/slapd_object.py");

fn lines(flavor: Flavor) -> String {
    let layout = Layout::new().unwrap();
    let programs = layout.make_dir("sbin").unwrap();
    for name in ["slapd", "slapadd"] {
        let own = match flavor {
            Flavor::Ironbark => flavor.program().unwrap(),
            Flavor::OpenLdap => format!("/usr/sbin/{name}").into(),
        };
        symlink(own, programs.join(name)).unwrap();
    }
    let mut python = program("/usr/bin/python3", "python3-ldap");
    python.env("SBIN", &programs).env("TMP", layout.path());
    python.env("SCHEMA", flavor.schema_dir()).args(["-B", SCRIPT]);
    succeed(&mut python)
}

#[test]
fn a_server_is_made_by_slapdtest_as_of_slapd() {
    let ours = lines(Flavor::Ironbark);
    assert_eq!(ours, lines(Flavor::OpenLdap));
    for root in ["dn:cn=Manager,dc=slapd-test", "dn:cn=manager,dc=slapd-test"] {
        assert_eq!(
            ours.matches(root).count(),
            3,
            "by password, and by the user's number: {ours}"
        );
    }
    assert!(
        ours.contains("cn=Foo2,dc=slapd-test,dc=python-ldap,dc=org [('sn', [b'One'])]"),
        "{ours}"
    );
}
