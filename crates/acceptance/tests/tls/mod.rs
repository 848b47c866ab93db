//! TLS: ldaps://, StartTLS, clients' certificates, changes on a running server, and attacks; compared with Debian's
//! slapd.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "clippy knows test functions, but not what they call"
)]

mod strangers;

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    time::Duration,
};

use ironbark_testkit::{
    CertificateAuthority, Credentials, Flavor, Listen, ProgramOutput, Server, TestCertificate, Tool, wait,
};

const FILES: &str =
    "TLSCACertificateFile {dir}/ca.crt\nTLSCertificateFile {dir}/server.crt\nTLSCertificateKeyFile {dir}/server.key\n";
const DATA: &str = include_str!("../data/example.ldif");

/// The usual configuration behind these global lines.
fn template(global: &str) -> String {
    format!("{global}{}", Server::PEOPLE_CONFIG)
}

/// A server with a certificate of a new authority, and two clients' certificates: ann's and a stranger's.
fn prepared(flavor: Flavor, global: &str) -> (Server, CertificateAuthority) {
    let server = Server::prepare(flavor, &template(&format!("{FILES}{global}"))).unwrap();
    let server = server.listening_on(Listen::Tls).debug_level("stats");
    let mut authority = CertificateAuthority::new("Test CA").unwrap();
    let layout = server.layout();
    layout.write("ca.crt", authority.certificate()).unwrap();
    authority.server().unwrap().write(layout, "server").unwrap();
    authority.client("Ann").unwrap().write(layout, "ann").unwrap();
    let mut other = CertificateAuthority::new("Another CA").unwrap();
    other.client("Ann").unwrap().write(layout, "stranger").unwrap();
    (server, authority)
}

fn started(flavor: Flavor, global: &str) -> Server {
    let (mut server, _) = prepared(flavor, global);
    server.slapadd(DATA).unwrap();
    server.launch().unwrap();
    server
}

#[test]
fn a_certificate_without_a_name_or_with_nul_in_it_identifies_nobody() {
    let external = ["-Q", "-Y", "EXTERNAL"];
    for flavor in Flavor::ALL {
        let (mut server, mut authority) = prepared(flavor, "TLSVerifyClient demand\n");
        let layout = server.layout();
        authority.nameless_client().unwrap().write(layout, "nameless").unwrap();
        authority.client("An\0n").unwrap().write(layout, "nul").unwrap();
        server.launch().unwrap();
        for (code, answer) in whoami(&server, Some("nameless"), &external) {
            assert!(code != Some(0), "{flavor}: {answer}");
        }
        // In slapd the name has it.
        for (_, answer) in whoami(&server, Some("nul"), &external) {
            assert!(!answer.contains("cn=ann"), "{flavor}: {answer}");
        }
    }
}

/// Runs a client that trusts our authority and shows the certificate of `who`, if any.
fn client(server: &Server, who: Option<&str>, program: &str, arguments: &[&str]) -> ProgramOutput {
    let authority = server.layout().join("ca.crt").display().to_string();
    let own = who.map(|who| TestCertificate::environment(server.layout(), who));
    let mut environment = vec![("LDAPTLS_CACERT", authority.as_str()), ("LDAPTLS_REQCERT", "demand")];
    if let Some(own) = &own {
        environment.extend(own.iter().map(|(name, value)| (*name, value.as_str())));
    }
    server.client_with(program, &environment, arguments, "").unwrap()
}

/// whoami over ldaps and over StartTLS; exit status and answer of each.
fn whoami(server: &Server, who: Option<&str>, how: &[&str]) -> [(Option<i32>, String); 2] {
    let (tls, plain) = (server.tls_url(), server.url());
    [vec!["-H", tls.as_str()], vec!["-ZZ", "-H", plain.as_str()]].map(|mut arguments| {
        arguments.extend_from_slice(how);
        let outcome = client(server, who, "ldapwhoami", &arguments);
        (outcome.code(), outcome.stdout)
    })
}

/// RFC 4511 §4.14.2.
#[test]
fn both_ways_protect_a_connection_and_the_log_says_how() {
    let mut server = started(Flavor::Ironbark, "");
    for (code, answer) in whoami(&server, None, &["-x"]) {
        assert_eq!((code, answer.as_str()), (Some(0), "anonymous\n"));
    }
    let ann = ["-x", "-D", "uid=ann,ou=People,dc=example,dc=com", "-w", "annspass"];
    for (code, answer) in whoami(&server, None, &ann) {
        assert_eq!(
            (code, answer.as_str()),
            (Some(0), "dn:uid=ann,ou=People,dc=example,dc=com\n")
        );
    }
    let log = server.log();
    let line = "TLS established tls_ssf=256 ssf=256 tls_proto=TLSv1.3 tls_cipher=TLS_AES_256_GCM_SHA384";
    assert_eq!(log.matches(line).count(), 4, "{log}");
    assert!(log.contains(" STARTTLS\n"), "{log}");
    assert!(log.contains("mech=SIMPLE bind_ssf=0 ssf=256"), "{log}");
    // A client that does not trust the server, or does not speak TLS, is disconnected.
    let stranger = server.client_with(
        "ldapwhoami",
        &[("LDAPTLS_CACERT", "/dev/null")],
        &["-x", "-H", &server.tls_url()],
        "",
    );
    assert_ne!(stranger.unwrap().code(), Some(0));
    let port = url_port(&server.tls_url());
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.write_all(BIND).unwrap();
    server.wait_for_log("closed (TLS negotiation failure)").unwrap();
    server.stop().unwrap();
}

fn url_port(url: &str) -> u16 {
    let digits = url.trim_end_matches('/').rsplit(':').next().unwrap();
    digits.parse().unwrap()
}

#[test]
fn big_answers_arrive_whole() {
    let (mut server, _) = prepared(Flavor::Ironbark, "sizelimit unlimited\n");
    let mut data = DATA.to_owned();
    for number in 0..400 {
        let text = "x".repeat(10_000);
        let name = format!("cn=big{number},ou=People,dc=example,dc=com");
        let rest = format!("objectClass: person\ncn: big{number}\nsn: b\ndescription: {text}\n");
        data.extend(["\ndn: ", &name, "\n", &rest]);
    }
    server.slapadd(&data).unwrap();
    server.launch().unwrap();
    let url = server.tls_url();
    let search = ["-x", "-b", "dc=example,dc=com", "-H"];
    let secured = client(&server, None, "ldapsearch", &[&search[..], &[&url]].concat())
        .success()
        .unwrap();
    let plain = client(&server, None, "ldapsearch", &[&search[..], &[&server.url()]].concat())
        .success()
        .unwrap();
    assert!(plain.stdout.len() > 4_000_000);
    assert!(
        secured.stdout == plain.stdout,
        "{} octets of {}",
        secured.stdout.len(),
        plain.stdout.len()
    );
}

/// RFC 4513 §5.2.3.
#[test]
fn clients_are_verified_as_the_level_says_and_external_takes_the_subject() {
    let external = ["-Q", "-Y", "EXTERNAL"];
    for level in ["never", "allow", "try", "demand"] {
        let global = format!("TLSVerifyClient {level}\n");
        let [theirs, ours] = [Flavor::OpenLdap, Flavor::Ironbark].map(|flavor| {
            let server = started(flavor, &global);
            let mut answers = Vec::new();
            for who in [None, Some("ann"), Some("stranger")] {
                for how in [&external[..], &["-x"]] {
                    for (code, answer) in whoami(&server, who, how) {
                        // The error that a client sees when it is disconnected during a handshake varies.
                        answers.push((who, how.len(), code == Some(0), answer));
                    }
                }
            }
            answers
        });
        assert_eq!(ours, theirs, "{level}");
    }
}

#[test]
fn who_is_revoked_stays_out() {
    let (mut server, mut authority) = prepared(
        Flavor::Ironbark,
        "TLSVerifyClient demand\nTLSCRLCheck peer\nTLSCRLFile {dir}/crl.pem\n",
    );
    let bob = authority.client("Bob").unwrap();
    bob.write(server.layout(), "bob").unwrap();
    server
        .layout()
        .write("crl.pem", authority.revocation_list(&[&bob]).unwrap())
        .unwrap();
    server.launch().unwrap();
    let external = ["-Q", "-Y", "EXTERNAL"];
    for (code, answer) in whoami(&server, Some("ann"), &external) {
        assert_eq!((code, answer.as_str()), (Some(0), "dn:cn=ann,ou=people,o=example\n"));
    }
    for (code, _) in whoami(&server, Some("bob"), &external) {
        assert_ne!(code, Some(0));
    }
}

#[test]
fn issuers_that_the_certificates_file_lacks_are_sent_along() {
    let (mut server, mut root) = prepared(Flavor::Ironbark, "TLSCACertificatePath {dir}/authorities\n");
    let mut middle = root.subordinate("Middle CA").unwrap();
    middle.server().unwrap().write(server.layout(), "server").unwrap();
    let directory = server.layout().make_dir("authorities").unwrap();
    std::fs::write(directory.join("middle.pem"), middle.certificate()).unwrap();
    server.launch().unwrap();
    // The client knows only the root.
    for (code, _) in whoami(&server, None, &["-x"]) {
        assert_eq!(code, Some(0));
    }
}

/// Replaces files while a connection lives on, until new connections need the new authority.
const RENEWAL: &str = r#"
import ldap, os, signal, time
def connect(authority):
    connection = ldap.initialize(os.environ["TLS_URL"])
    connection.set_option(ldap.OPT_X_TLS_CACERTFILE, authority)
    connection.set_option(ldap.OPT_X_TLS_REQUIRE_CERT, ldap.OPT_X_TLS_DEMAND)
    connection.set_option(ldap.OPT_X_TLS_NEWCTX, 0)
    connection.simple_bind_s()
    return connection
directory = os.environ["DIRECTORY"]
old = connect(directory + "/ca.crt")
# First half of a replacement: what does not fit together is not taken.
os.rename(directory + "/new.crt", directory + "/server.crt")
deadline = time.monotonic() + 60
while "stays in use" not in open(directory + "/slapd.log").read():
    assert time.monotonic() < deadline
    time.sleep(0.05)
connect(directory + "/ca.crt")
os.rename(directory + "/new.key", directory + "/server.key")
while True:
    try:
        connect(directory + "/new-ca.crt")
        break
    except ldap.LDAPError:
        assert time.monotonic() < deadline
        time.sleep(0.05)
def readings():
    return open(directory + "/slapd.log").read().count("TLS: certificates and keys have been read again")
# Nothing has changed since: only who is told to reads them again.
before = readings()
os.kill(int(os.environ["PID"]), signal.SIGHUP)
while readings() == before:
    assert time.monotonic() < deadline
    time.sleep(0.05)
connect(directory + "/new-ca.crt")
print(old.whoami_s() or "anonymous")
"#;

#[test]
fn replaced_certificates_are_taken_up_and_connections_live_on() {
    let (mut server, _) = prepared(Flavor::Ironbark, "sighup reload\n");
    let mut other = CertificateAuthority::new("New CA").unwrap();
    server.layout().write("new-ca.crt", other.certificate()).unwrap();
    other.server().unwrap().write(server.layout(), "new").unwrap();
    server.launch().unwrap();
    let (url, directory) = (server.tls_url(), server.layout().path().display().to_string());
    let pid = server.pid().unwrap();
    let script =
        format!("import os\nos.environ.update(TLS_URL='{url}', DIRECTORY='{directory}', PID='{pid}')\n{RENEWAL}");
    let outcome = server.python(&script).unwrap();
    assert_eq!(outcome.code(), Some(0), "{}\n{}", outcome.stderr, server.log());
    assert_eq!(outcome.stdout, "anonymous\n");
}

#[test]
fn tls_is_configured_changed_and_taken_away_while_the_server_runs() {
    let config = Server::PEOPLE_CONFIG.replace("database mdb", "database config\nrootpw secret\ndatabase mdb");
    let mut server = Server::prepare(Flavor::Ironbark, &config)
        .unwrap()
        .listening_on(Listen::Tls);
    let mut authority = CertificateAuthority::new("Test CA").unwrap();
    let layout = server.layout();
    layout.write("ca.crt", authority.certificate()).unwrap();
    let identity = authority.server().unwrap();
    identity.write(layout, "server").unwrap();
    authority.server().unwrap().write(layout, "other").unwrap();
    let [crt, key, other] =
        ["server.crt", "server.key", "other.key"].map(|name| layout.join(name).display().to_string());
    let der = layout
        .write("server.der", &identity.certificate_der)
        .unwrap()
        .display()
        .to_string();
    let key_der = layout
        .write("key.der", &identity.key_der)
        .unwrap()
        .display()
        .to_string();
    server.launch().unwrap();
    let admin = Credentials::Simple {
        dn: "cn=config",
        password: "secret",
    };
    let modify = |change: &str| {
        let change = format!("dn: cn=config\nchangetype: modify\n{change}");
        server.client("ldapmodify", &admin, &[], &change).unwrap()
    };
    let works = || whoami(&server, None, &["-x"]).map(|(code, _)| code == Some(0));
    let refused = client(&server, None, "ldapwhoami", &["-x", "-ZZ", "-H", &server.url()]);
    assert!(
        refused.stderr.contains("unsupported extended operation"),
        "{}",
        refused.stderr
    );
    assert_eq!(works(), [false, false]);
    // A certificate without its key waits for it. A pair that does not match is refused. Nothing has changed.
    modify(&format!("add: olcTLSCertificateFile\nolcTLSCertificateFile: {crt}\n"))
        .success()
        .unwrap();
    assert_eq!(works(), [false, false]);
    assert!(server.log().contains("TLSCertificateKeyFile is missing"));
    modify("delete: olcTLSCertificateFile\n").success().unwrap();
    let pair = |crt: &str, key: &str| {
        format!(
            "add: olcTLSCertificateFile\nolcTLSCertificateFile: {crt}\n-\nadd: olcTLSCertificateKeyFile\nolcTLSCertificateKeyFile: {key}\n"
        )
    };
    let outcome = modify(&pair(&crt, &other));
    assert_eq!(outcome.code(), Some(80), "{}", outcome.stderr);
    assert_eq!(works(), [false, false]);
    modify(&pair(&crt, &key)).success().unwrap();
    assert_eq!(works(), [true, true]);
    let outcome = modify("replace: olcTLSCipherSuite\nolcTLSCipherSuite: AES256-SHA\n");
    assert!(outcome.stderr.contains("leaves no cipher"), "{}", outcome.stderr);
    // The certificate and the key themselves.
    modify(&format!(
        "delete: olcTLSCertificateFile\n-\ndelete: olcTLSCertificateKeyFile\n-\nadd: olcTLSCertificate;binary\nolcTLSCertificate;binary:< file://{der}\n-\n\
         add: olcTLSCertificateKey;binary\nolcTLSCertificateKey;binary:< file://{key_der}\n"
    ))
    .success()
    .unwrap();
    assert_eq!(works(), [true, true]);
    modify("delete: olcTLSCertificate;binary\n-\ndelete: olcTLSCertificateKey;binary\n")
        .success()
        .unwrap();
    assert_eq!(works(), [false, false]);
}

#[test]
fn security_factors_ask_for_protection_as_in_slapd() {
    let settings = [
        "security tls=1\n",
        "security ssf=512\n",
        "security simple_bind=64\n",
        "security update_ssf=72\n",
    ];
    for global in settings {
        let [theirs, ours] = [Flavor::OpenLdap, Flavor::Ironbark].map(|flavor| {
            let server = started(flavor, global);
            let change = server
                .layout()
                .write("change.ldif", CHANGE)
                .unwrap()
                .display()
                .to_string();
            let root = ["-x", "-D", "cn=Manager,dc=example,dc=com", "-w", "secret"];
            let (tls, local) = (server.tls_url(), server.ldapi_url());
            let mut answers = Vec::new();
            for url in [&server.url(), &tls, &local] {
                for (program, rest) in [("ldapwhoami", vec![]), ("ldapmodify", vec!["-f", change.as_str()])] {
                    let arguments = [&root[..], &["-H", url], &rest].concat();
                    let outcome = client(&server, None, program, &arguments);
                    let why = outcome
                        .stderr
                        .lines()
                        .filter(|line| line.contains("info:"))
                        .collect::<String>();
                    answers.push((outcome.code(), why));
                }
            }
            answers
        });
        assert_eq!(ours, theirs, "{global}");
    }
}

/// The cipher suite setting uses GnuTLS's syntax, in which a client's curves can be set.
#[test]
fn keys_are_exchanged_over_the_curves_of_the_configuration_and_no_others() {
    let curves = [
        ("X25519", "X25519"),
        ("P-256", "SECP256R1"),
        ("secp384r1", "SECP384R1"),
        ("secp521r1", "SECP521R1"),
    ];
    for (chosen, _) in curves {
        let server = started(Flavor::Ironbark, &format!("TLSECName {chosen}\n"));
        let authority = server.layout().join("ca.crt").display().to_string();
        for (name, offered) in curves {
            for version in ["", ":-VERS-TLS-ALL:+VERS-TLS1.2"] {
                let suite = format!("NORMAL:-GROUP-ALL:+GROUP-{offered}{version}");
                let environment = [("LDAPTLS_CACERT", authority.as_str()), ("LDAPTLS_CIPHER_SUITE", &suite)];
                let outcome = server.client_with("ldapwhoami", &environment, &["-x", "-H", &server.tls_url()], "");
                assert_eq!(outcome.unwrap().code() == Some(0), name == chosen, "{chosen}, {suite}");
            }
        }
    }
}

const CHANGE: &str = "dn: dc=example,dc=com\nchangetype: modify\nreplace: description\ndescription: changed\n";

/// StartTLS with message ID 1, and an anonymous bind with message ID 2.
const START_TLS: &[u8] = b"\x30\x1d\x02\x01\x01\x77\x18\x80\x161.3.6.1.4.1.1466.20037";
const BIND: &[u8] = b"\x30\x0c\x02\x01\x02\x60\x07\x02\x01\x03\x04\x00\x80\x00";

/// RFC 4513 §6.1.
#[test]
fn nothing_that_came_in_the_clear_is_taken_for_protected() {
    let server = started(Flavor::Ironbark, "");
    let mut stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    // An attacker appends a request to the client's StartTLS.
    stream.write_all(&[START_TLS, BIND].concat()).unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    assert_eq!(
        answer.get(..2),
        Some(&[0x30, 0x0c][..]),
        "StartTLS is answered, the rest is not: {answer:x?}"
    );
    assert_eq!(answer.len(), 14);
    server.wait_for_log("closed (TLS negotiation failure)").unwrap();
    // A handshake that never comes does not delay others.
    let mut silent = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    silent.write_all(START_TLS).unwrap();
    silent.read_exact(&mut [0; 14]).unwrap();
    assert_eq!(whoami(&server, None, &["-x"]).map(|(code, _)| code), [Some(0), Some(0)]);
    drop(silent);
    let lost = || server.log().matches("closed (TLS negotiation failure)").count() == 2;
    wait::until(|| lost().then_some(())).unwrap();
}

#[test]
fn a_server_that_cannot_speak_tls_as_it_should_does_not_start() {
    for (global, why) in [
        (
            "TLSCertificateFile {dir}/none.crt\nTLSCertificateKeyFile {dir}/server.key\n",
            "none.crt: No such file",
        ),
        (
            "TLSCertificateFile {dir}/server.key\nTLSCertificateKeyFile {dir}/server.key\n",
            "server.key: no certificate",
        ),
        (
            "TLSCertificateFile {dir}/server.crt\nTLSCertificateKeyFile {dir}/server.crt\n",
            "server.crt: no private key",
        ),
        (
            "TLSCertificateFile {dir}/server.crt\n",
            "TLSCertificateKeyFile is missing",
        ),
        (
            "TLSCertificateFile {dir}/server.crt\nTLSCertificateKeyFile {dir}/ann.key\n",
            "certificate and private key",
        ),
        (
            "TLSCertificateFile {dir}/server.crt\nTLSCertificateKeyFile {dir}/server.key\nTLSVerifyClient demand\n",
            "TLSCACertificateFile",
        ),
        (
            "TLSCertificateFile {dir}/server.crt\nTLSCertificateKeyFile {dir}/server.key\nTLSCipherSuite HIGH:ODDITIES\n",
            "ODDITIES",
        ),
        (
            "TLSCertificateFile {dir}/server.crt\nTLSCertificateKeyFile {dir}/server.key\nTLSECName curve\n",
            "TLSECName",
        ),
    ] {
        let (mut server, _) = prepared(Flavor::Ironbark, "");
        let config = template(global).replace("{dir}", &server.layout().path().display().to_string());
        let config = config.replace("{schema}", "/etc/ldap/schema");
        server.layout().write("slapd.conf", config).unwrap();
        let error = server.launch().unwrap_err().to_string();
        assert!(error.contains(why), "{why}: {error}");
        let tested = server.tool(Tool::Test, &[], "").unwrap();
        assert!(
            tested.code() == Some(1) && tested.stderr.contains(why),
            "{why}: {tested:?}"
        );
    }
}
