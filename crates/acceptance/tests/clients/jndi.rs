//! JNDI, the LDAP client of Java: binds, SASL, searches, controls, writes, names, referrals, schema, StartTLS.

use ironbark_testkit::{Flavor, Server};

use super::{assert_same_lines, program, started, succeed};

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients/Jndi.java");
const PACKAGE: &str = "default-jdk-headless";

#[test]
fn jndi() {
    let servers = [
        started(Flavor::Ironbark, ("", "")),
        // Sorting is a module there.
        started(Flavor::OpenLdap, ("moduleload sssvlv\n", "overlay sssvlv\n")),
    ];
    let classes = servers[0].layout().make_dir("classes").unwrap();
    let lines = |server: &Server| {
        let file = |name: &str| server.layout().join(name).display().to_string();
        let mut java = program("/usr/bin/java", PACKAGE);
        java.args(["-XX:TieredStopAtLevel=1", "-cp"]).arg(&classes).arg("Jndi");
        java.args([server.url(), server.tls_url(), file("ca.crt"), file("ann")]);
        succeed(&mut java)
    };
    succeed(program("/usr/bin/javac", PACKAGE).arg("-d").arg(&classes).arg(SOURCE));
    let expected = [
        "bind: dn:uid=ann,ou=people,dc=example,dc=com",
        "DIGEST-MD5: dn:uid=ann,ou=people,dc=example,dc=com",
        "CRAM-MD5: dn:uid=ann,ou=people,dc=example,dc=com",
        "pages: [10, 10, 5]",
        "StartTLS and PLAIN: dn:uid=ann,ou=people,dc=example,dc=com",
        "StartTLS and EXTERNAL: dn:uid=ann,ou=people,dc=example,dc=com",
        "delete: deleted",
    ];
    assert_same_lines([lines(&servers[0]), lines(&servers[1])], &expected);
}
