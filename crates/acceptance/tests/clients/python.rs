//! python-ldap: binds by every mechanism, acting for others, changes of passwords by SASL identities, searches, writes.

use ironbark_testkit::{Flavor, Server};

use super::{assert_same_lines, program, started, succeed};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients/client.py");

fn lines(server: &Server) -> String {
    let file = |name: &str| server.layout().join(name).display().to_string();
    let mut python = program("/usr/bin/python3", "python3-ldap");
    python.env("LDAPNOINIT", "1").args(["-B", SCRIPT]);
    python.args([
        server.url(),
        server.tls_url(),
        server.ldapi_url(),
        file("ca.crt"),
        file("ann"),
    ]);
    succeed(&mut python)
}

#[test]
fn python_ldap() {
    // Mechanisms that do not send the password need it in the clear.
    let global = "password-hash {CLEARTEXT}\n";
    let access = "access to attrs=userPassword by self write by anonymous auth\naccess to * by self write by * read\n";
    let answers = [
        lines(&started(Flavor::Ironbark, (global, access))),
        // The dereference control is a module there.
        lines(&started(
            Flavor::OpenLdap,
            (
                &format!("moduleload deref\n{global}"),
                &format!("{access}overlay deref\n"),
            ),
        )),
    ];
    let expected = [
        "SCRAM-SHA-512: dn:uid=ann,ou=people,dc=example,dc=com",
        "DIGEST-MD5 over TLS: dn:uid=ann,ou=people,dc=example,dc=com",
        "CRAM-MD5: dn:uid=ann,ou=people,dc=example,dc=com",
        "PLAIN over TLS: dn:uid=ann,ou=people,dc=example,dc=com",
        "PLAIN: AUTH_UNKNOWN |  | SASL(-4): no mechanism available: No worthy mechs found",
        "socket: True",
        "StartTLS and certificate: dn:uid=ann,ou=people,dc=example,dc=com",
        "pages: [10, 10, 5]",
        "DIGEST-MD5 for u:bob: dn:uid=bob,ou=people,dc=example,dc=com",
        "certificate for bob: dn:uid=bob,ou=people,dc=example,dc=com",
        "whoami for b'u:bob': b'dn:uid=bob,ou=people,dc=example,dc=com'",
        "modify for b'u:eve': PROXIED_AUTHORIZATION_DENIED |  | not authorized to assume identity",
        "SCRAM-SHA-256: what is valid: [False, True]",
        "CRAM-MD5: what is valid: [False, True]",
        "what was generated: dn:uid=eve,ou=people,dc=example,dc=com",
    ];
    assert_same_lines(answers, &expected);
}
