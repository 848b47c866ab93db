//! SASL with real clients: mechanisms, names, acting for others, hostile messages; beside Debian's slapd.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "clippy knows test functions, but not what they call"
)]

use ironbark_testkit::{Authority, Flavor, Listen, Server};

/// Names become people; `mapped-<user>` is searched for.
const MAPPING: &str = "authz-policy any\nsasl-host localhost\nsasl-cbinding tls-endpoint\n\
    authz-regexp \"^uid=mapped-([^,]+),.*\" \"ldap:///dc=example,dc=com??sub?(uid=$1)\"\n\
    authz-regexp \"^uid=([^,]+)(,cn=[^,]+)?,cn=auth$\" \"uid=$1,ou=people,dc=example,dc=com\"\n";
const FILES: &str =
    "TLSCACertificateFile {dir}/ca.crt\nTLSCertificateFile {dir}/server.crt\nTLSCertificateKeyFile {dir}/server.key\n";

const DATA: &str = "dn: dc=example,dc=com\nobjectClass: organization\nobjectClass: dcObject\no: x\ndc: example\n\n\
    dn: ou=people,dc=example,dc=com\nobjectClass: organizationalUnit\nou: people\n\n\
    dn: uid=ann,ou=people,dc=example,dc=com\nobjectClass: inetOrgPerson\nuid: ann\ncn: Ann\nsn: A\nuserPassword: pencil\n\
    authzTo: dn.exact:uid=bob,ou=people,dc=example,dc=com\n\n\
    dn: uid=bob,ou=people,dc=example,dc=com\nobjectClass: inetOrgPerson\nuid: bob\ncn: Bob\nsn: B\n\
    userPassword: {SSHA}gVK8WC9YyFT1gMsQHTGCgT3sSv5zYWx0\nauthzFrom: u:dan\n\n\
    dn: uid=dan,ou=people,dc=example,dc=com\nobjectClass: inetOrgPerson\nuid: dan\ncn: Dan\nsn: D\nuserPassword: pen\n\n";

fn started(flavor: Flavor, global: &str) -> Server {
    let template = format!("{FILES}{MAPPING}{global}{}", Server::PEOPLE_CONFIG);
    let server = Server::prepare(flavor, &template).unwrap();
    let mut server = server.listening_on(Listen::Tls).debug_level("stats");
    let mut authority = Authority::new("Test CA").unwrap();
    let layout = server.layout();
    layout.write("ca.crt", authority.certificate()).unwrap();
    authority.server().unwrap().write(layout, "server").unwrap();
    server.slapadd(DATA).unwrap();
    server.launch().unwrap();
    server
}

/// Exit status and identity of a client that binds by a mechanism.
fn whoami(server: &Server, url: &str, how: &[&str]) -> (Option<i32>, String) {
    let authority = server.layout().join("ca.crt").display().to_string();
    let environment = [("LDAPTLS_CACERT", authority.as_str()), ("LDAPTLS_REQCERT", "demand")];
    let mut arguments = vec!["-Q", "-H", url];
    arguments.extend_from_slice(how);
    let outcome = server.client_with("ldapwhoami", &environment, &arguments, "").unwrap();
    (outcome.code(), outcome.stdout.trim().to_owned())
}

const ANN: &str = "dn:uid=ann,ou=people,dc=example,dc=com";
const BOB: &str = "dn:uid=bob,ou=people,dc=example,dc=com";

#[test]
fn clients_are_known_by_every_mechanism() {
    let server = started(Flavor::Ironbark, "");
    let (plain, tls) = (server.url(), server.tls_url());
    let as_ann = ["-U", "ann", "-w", "pencil"];
    for name in [
        "SCRAM-SHA-1",
        "SCRAM-SHA-256",
        "SCRAM-SHA-512",
        "DIGEST-MD5",
        "CRAM-MD5",
        "PLAIN",
        "LOGIN",
    ] {
        let right = [&["-Y", name][..], &as_ann].concat();
        let known = (Some(0), ANN.to_owned());
        assert_eq!(whoami(&server, &tls, &right), known, "{name}");
        let in_the_clear = ["PLAIN", "LOGIN"].contains(&name);
        assert_eq!(
            whoami(&server, &plain, &right) == known,
            !in_the_clear,
            "{name} without TLS"
        );
        for wrong in [
            ["-U", "ann", "-w", "pencils"],
            ["-U", "nobody", "-w", "pencil"],
            ["-U", "ann,ou=x", "-w", "pencil"],
        ] {
            let refused = whoami(&server, &tls, &[&["-Y", name][..], &wrong].concat());
            assert_eq!(refused, (Some(49), String::new()), "{name} {wrong:?}");
        }
    }
    for name in ["SCRAM-SHA-1-PLUS", "SCRAM-SHA-256-PLUS", "SCRAM-SHA-512-PLUS"] {
        let bound = [&["-Y", name, "-o", "SASL_CBINDING=tls-endpoint"][..], &as_ann].concat();
        assert_eq!(whoami(&server, &tls, &bound), (Some(0), ANN.to_owned()), "{name}");
    }
    // Stored hashed, a password serves only where the client sends it.
    let as_bob = ["-U", "bob", "-w", "x"];
    assert_eq!(
        whoami(&server, &tls, &[&["-Y", "SCRAM-SHA-256"][..], &as_bob].concat()).0,
        Some(49)
    );
}

#[test]
fn slapd_knows_the_same_clients_and_lets_them_act_for_the_same_others() {
    let servers = [started(Flavor::Ironbark, ""), started(Flavor::Slapd, "")];
    for how in [
        &["-Y", "SCRAM-SHA-256", "-U", "ann", "-w", "pencil"][..],
        &["-Y", "SCRAM-SHA-512", "-U", "mapped-ann", "-w", "pencil"],
        &["-Y", "SCRAM-SHA-256", "-U", "ann", "-w", "pencil", "-X", "u:bob"],
        &["-Y", "SCRAM-SHA-256", "-U", "ann", "-w", "pencil", "-X", "ann"],
        &["-Y", "SCRAM-SHA-256", "-U", "ann", "-w", "pencil", "-X", "bob"],
        &[
            "-Y",
            "SCRAM-SHA-256",
            "-U",
            "ann",
            "-w",
            "pencil",
            "-X",
            "dn:uid=dan,ou=people,dc=example,dc=com",
        ],
        &["-Y", "CRAM-MD5", "-U", "dan", "-w", "pen"],
        &[
            "-Y",
            "DIGEST-MD5",
            "-U",
            "dan",
            "-w",
            "pen",
            "-X",
            "dn:uid=bob,ou=people,dc=example,dc=com",
        ],
        &["-Y", "DIGEST-MD5", "-U", "dan", "-w", "pen", "-X", "u:ann"],
        &["-Y", "CRAM-MD5", "-U", "dan", "-w", "pencil"],
        &["-Y", "PLAIN", "-U", "ann", "-w", "pencil"],
    ] {
        let [ours, slapds] = [&servers[0], &servers[1]].map(|server| whoami(server, &server.url(), how));
        assert_eq!(ours, slapds, "{how:?}");
    }
    // The same by the control, for somebody who has bound by name and password.
    let as_ann = ["-x", "-D", "uid=ann,ou=people,dc=example,dc=com", "-w", "pencil", "-e"];
    for other in [
        "!authzid=u:bob",
        "!authzid=u:dan",
        "!authzid=dn:uid=bob,ou=people,dc=example,dc=com",
        "!authzid=",
    ] {
        let [ours, slapds] = [&servers[0], &servers[1]].map(|server| {
            let mut arguments = vec!["-H".to_owned(), server.url()];
            arguments.extend(as_ann.iter().chain([&other]).map(|word| (*word).to_owned()));
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            let outcome = server.client_with("ldapwhoami", &[], &arguments, "").unwrap();
            (outcome.code(), outcome.stdout)
        });
        assert_eq!(ours, slapds, "{other}");
    }
}

#[test]
fn the_log_names_who_has_authenticated_and_never_how() {
    let mut server = started(Flavor::Ironbark, "");
    let how = ["-Y", "SCRAM-SHA-256", "-U", "ann", "-w", "pencil", "-X", "u:bob"];
    assert_eq!(whoami(&server, &server.url(), &how), (Some(0), BOB.to_owned()));
    let how = ["-Y", "PLAIN", "-U", "ann", "-w", "pencil"];
    assert_eq!(whoami(&server, &server.tls_url(), &how).1, ANN);
    server.stop().unwrap();
    let log = server.log();
    for line in [
        "BIND dn=\"\" method=163",
        "BIND authcid=\"ann\" authzid=\"u:bob\"",
        "BIND dn=\"uid=ann,ou=people,dc=example,dc=com\" mech=SCRAM-SHA-256 bind_ssf=0 ssf=0",
        "BIND authcid=\"ann\" authzid=\"ann\"",
        "mech=PLAIN bind_ssf=0 ssf=256",
    ] {
        assert!(log.contains(line), "{line}\n{log}");
    }
    assert!(!log.contains("pencil"), "{log}");
}
