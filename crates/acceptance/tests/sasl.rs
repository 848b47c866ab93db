//! SASL with real clients: mechanisms, names, acting for others, hostile messages; compared with Debian's slapd.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "clippy knows test functions, but not what they call"
)]

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
};

use ironbark_testkit::{CertificateAuthority, Flavor, Listen, Server};

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
    started_with(flavor, global, "")
}

fn started_with(flavor: Flavor, global: &str, of_database: &str) -> Server {
    let template = format!("{FILES}{MAPPING}{global}{}{of_database}", Server::PEOPLE_CONFIG);
    let server = Server::prepare(flavor, &template).unwrap();
    let mut server = server.listening_on(Listen::Tls).debug_level("stats");
    let mut authority = CertificateAuthority::new("Test CA").unwrap();
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
/// The mechanisms by which a password is proven.
const BY_PASSWORD: [&str; 7] = [
    "SCRAM-SHA-1",
    "SCRAM-SHA-256",
    "SCRAM-SHA-512",
    "DIGEST-MD5",
    "CRAM-MD5",
    "PLAIN",
    "LOGIN",
];

#[test]
fn a_stored_value_of_an_unknown_scheme_is_no_password() {
    let server = started(Flavor::Ironbark, "sasl-secprops none\n");
    let store = |value: &str| {
        let script = format!(
            "import ldap, os\nc = ldap.initialize(os.environ['LDAP_URL'])\nc.simple_bind_s(os.environ['ROOT_DN'], 'secret')\n\
             c.modify_s('{}', [(ldap.MOD_REPLACE, 'userPassword', [b'{value}'])])\n",
            &ANN[3..]
        );
        server.python(&script).unwrap().success().unwrap();
    };
    // An account elsewhere, whose name anybody knows; a hash that is not known here.
    for (value, is_password) in [("{SASL}ann@EXAMPLE.COM", false), ("{NEW-HASH}x", false), ("{}x", true)] {
        store(value);
        for name in BY_PASSWORD {
            let (code, who) = whoami(&server, &server.tls_url(), &["-Y", name, "-U", "ann", "-w", value]);
            assert_eq!(
                (code == Some(0), who == ANN),
                (is_password, is_password),
                "{name} {value}"
            );
        }
        let simple = ["-x", "-D", &ANN[3..], "-w", value];
        let outcome = server.client_with("ldapwhoami", &[], &[&["-H", &server.url()][..], &simple].concat(), "");
        assert_eq!(outcome.unwrap().code() == Some(0), is_password, "{value}");
    }
}

#[test]
fn clients_are_known_by_every_mechanism() {
    let server = started(Flavor::Ironbark, "");
    let (plain, tls) = (server.url(), server.tls_url());
    let as_ann = ["-U", "ann", "-w", "pencil"];
    for name in BY_PASSWORD {
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
    // A hashed password can be used only if the client sends the password.
    let as_bob = ["-U", "bob", "-w", "x"];
    assert_eq!(
        whoami(&server, &tls, &[&["-Y", "SCRAM-SHA-256"][..], &as_bob].concat()).0,
        Some(49)
    );
}

/// slapd applies its password policy only to simple binds.
#[test]
fn an_account_that_is_locked_is_locked_for_every_mechanism() {
    let overlay = "overlay ppolicy\nppolicy_default cn=policy,dc=example,dc=com\nlastbind on\n";
    let server = started_with(Flavor::Ironbark, "", overlay);
    let policy = "dn: cn=policy,dc=example,dc=com\nobjectClass: device\nobjectClass: pwdPolicy\n\
        pwdAttribute: userPassword\npwdLockout: TRUE\npwdMaxFailure: 2\n";
    server.ldapadd(policy).unwrap().success().unwrap();
    let unlock =
        "dn: uid=ann,ou=people,dc=example,dc=com\nchangetype: modify\nreplace: userPassword\nuserPassword: pencil\n";
    let state = || {
        let arguments = [
            "-b",
            "dc=example,dc=com",
            "(uid=ann)",
            "pwdLastSuccess",
            "pwdFailureTime",
        ];
        let found = server.search(&arguments).unwrap().success().unwrap().stdout;
        let count = |name: &str| found.lines().filter(|line| line.starts_with(name)).count();
        (count("pwdLastSuccess:"), count("pwdFailureTime:"))
    };
    let tls = server.tls_url();
    for name in ["PLAIN", "LOGIN", "SCRAM-SHA-256", "DIGEST-MD5", "CRAM-MD5"] {
        let bind = |password: &str| whoami(&server, &tls, &["-Y", name, "-U", "ann", "-w", password]).0;
        assert_eq!(bind("pencil"), Some(0), "{name}");
        assert_eq!(state(), (1, 0), "{name}: a bind that succeeds");
        assert_eq!(bind("wrong"), Some(49), "{name}");
        assert_eq!(state(), (1, 1), "{name}: a bind that fails");
        assert_eq!(bind("wrong"), Some(49), "{name}");
        assert_eq!(bind("pencil"), Some(49), "{name}, when the account is locked");
        server.ldapmodify(unlock).unwrap().success().unwrap();
    }
}

#[test]
fn slapd_knows_the_same_clients_and_lets_them_act_for_the_same_others() {
    let servers = [started(Flavor::Ironbark, ""), started(Flavor::OpenLdap, "")];
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
    // The same with the control, for a client that has bound by name and password.
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

/// A connection for messages that no real client sends.
struct Raw(TcpStream);

fn tlv(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = u32::try_from(content.len()).unwrap().to_be_bytes();
    [&[tag, 0x84][..], &length, content].concat()
}

/// The next element: its tag, its content, the rest.
fn element(octets: &[u8]) -> (u8, &[u8], &[u8]) {
    let (header, length) = match octets[1] {
        short @ 0..=127 => (2, usize::from(short)),
        long => {
            let digits = usize::from(long & 127);
            (
                2 + digits,
                octets[2..2 + digits]
                    .iter()
                    .fold(0, |sum, octet| sum * 256 + usize::from(*octet)),
            )
        }
    };
    (octets[0], &octets[header..header + length], &octets[header + length..])
}

impl Raw {
    fn open(server: &Server) -> Self {
        let url = server.url();
        let address = url.trim_start_matches("ldap://").trim_end_matches('/');
        Self(TcpStream::connect(address).unwrap())
    }

    fn send(&mut self, operation: &[u8]) {
        let message = tlv(0x30, &[&[2, 1, 1][..], operation].concat());
        self.0.write_all(&message).unwrap();
    }

    /// The result code and the server's credentials.
    fn receive(&mut self) -> (u8, Vec<u8>) {
        let mut octets = vec![0; 2];
        self.0.read_exact(&mut octets).unwrap();
        let mut rest = vec![0; usize::from(octets[1] & 127)];
        self.0.read_exact(&mut rest).unwrap();
        if octets[1] > 127 {
            let length = rest.iter().fold(0, |sum, octet| sum * 256 + usize::from(*octet));
            rest = vec![0; length];
            self.0.read_exact(&mut rest).unwrap();
        }
        let (_, _, operation) = element(&rest);
        let (_, mut content, _) = element(operation);
        let code = element(content).1[0];
        let mut credentials = Vec::new();
        while !content.is_empty() {
            let (tag, value, after) = element(content);
            if tag == 0x87 {
                credentials = value.to_vec();
            }
            content = after;
        }
        (code, credentials)
    }

    fn bind(&mut self, mechanism: &str, message: Option<&[u8]>) -> (u8, Vec<u8>) {
        let mut sasl = tlv(4, mechanism.as_bytes());
        if let Some(message) = message {
            sasl.extend(tlv(4, message));
        }
        let content = [&[2, 1, 3, 4, 0][..], &tlv(0xa3, &sasl)].concat();
        self.send(&tlv(0x60, &content));
        self.receive()
    }

    /// A base search of the root DSE.
    fn search(&mut self) -> u8 {
        let filter = tlv(0x87, b"objectClass");
        let content = [
            &[4, 0, 10, 1, 0, 10, 1, 0, 2, 1, 0, 2, 1, 0, 1, 1, 0][..],
            &filter,
            &tlv(0x30, &tlv(4, b"1.1")),
        ]
        .concat();
        self.send(&tlv(0x63, &content));
        self.receive().0
    }
}

const SUCCESS: u8 = 0;
const OPERATIONS_ERROR: u8 = 1;
const NOT_SUPPORTED: u8 = 7;
const IN_PROGRESS: u8 = 14;
const INVALID: u8 = 49;
const OTHER: u8 = 80;

/// RFC 4513 §5.2.1.
#[test]
fn malformed_messages_fail_and_the_server_lives() {
    let server = started(Flavor::Ironbark, "sasl-secprops none\n");
    let mut raw = Raw::open(&server);
    let long = vec![b'a'; 70_000];
    let names = [
        "SCRAM-SHA-1",
        "SCRAM-SHA-256",
        "DIGEST-MD5",
        "CRAM-MD5",
        "PLAIN",
        "LOGIN",
        "ANONYMOUS",
    ];
    let messages: [&[u8]; 12] = [
        b"",
        b"\0",
        b"\0\0",
        b"\0\0\0\0",
        b",",
        b"n,,",
        b"n,,n==,r=x",
        b"p=,,n=a,r=b",
        b"username=\"",
        b"a 00",
        b"\xff\xfe",
        &long,
    ];
    for name in names {
        for first in messages {
            for second in messages {
                let (code, _) = raw.bind(name, Some(first));
                assert!(
                    [SUCCESS, IN_PROGRESS, INVALID, OTHER].contains(&code),
                    "{name} {first:?}: {code}"
                );
                assert!(code != SUCCESS || name == "ANONYMOUS", "{name} {first:?}");
                if code == IN_PROGRESS {
                    let (code, _) = raw.bind(name, Some(second));
                    assert!(
                        [IN_PROGRESS, INVALID, OTHER].contains(&code),
                        "{name} {first:?} {second:?}: {code}"
                    );
                }
            }
        }
    }
    assert_eq!(raw.bind("", None).0, NOT_SUPPORTED);
    assert_eq!(raw.bind("GSSAPI", None).0 == NOT_SUPPORTED, !cfg!(feature = "gssapi"));
    assert_eq!(raw.bind("EXTERNAL", None).0, NOT_SUPPORTED);
    assert_eq!(raw.bind("PLAIN", Some(b"\0ann\0pencil")).0, SUCCESS);
}

/// RFC 4511 §4.2.1.
#[test]
fn a_negotiation_is_ended_by_another_bind_and_by_nothing_else() {
    let server = started(Flavor::Ironbark, "sasl-secprops none\n");
    let mut raw = Raw::open(&server);
    // During a negotiation, only binds are allowed.
    assert_eq!(raw.bind("LOGIN", None), (IN_PROGRESS, b"Username:".to_vec()));
    assert_eq!(raw.search(), OPERATIONS_ERROR);
    assert_eq!(raw.bind("LOGIN", Some(b"ann")), (IN_PROGRESS, b"Password:".to_vec()));
    // Another mechanism begins a new negotiation, and so does this one afterwards.
    assert_eq!(raw.bind("CRAM-MD5", None).0, IN_PROGRESS);
    assert_eq!(raw.bind("LOGIN", Some(b"ann")), (IN_PROGRESS, b"Password:".to_vec()));
    assert_eq!(raw.bind("", None).0, NOT_SUPPORTED);
    assert_eq!(raw.bind("LOGIN", None), (IN_PROGRESS, b"Username:".to_vec()));
    // A simple bind.
    raw.send(&tlv(0x60, &[2, 1, 3, 4, 0, 0x80, 0]));
    assert_eq!(raw.receive().0, SUCCESS);
    assert_eq!(raw.bind("LOGIN", None), (IN_PROGRESS, b"Username:".to_vec()));
    // An end in the middle does not affect others.
    raw.send(&[0x42, 0]);
    drop(raw);
    let mut raw = Raw::open(&server);
    assert_eq!(raw.bind("PLAIN", None).0, IN_PROGRESS);
    assert_eq!(raw.bind("PLAIN", Some(b"\0ann\0pencil")).0, SUCCESS);
}

#[test]
fn nobody_learns_which_users_there_are() {
    let server = started(Flavor::Ironbark, "");
    let begin = |user: &str| {
        let mut raw = Raw::open(&server);
        let (code, challenge) = raw.bind("SCRAM-SHA-256", Some(format!("n,,n={user},r=abc").as_bytes()));
        let text = String::from_utf8(challenge).unwrap();
        let (_, salt) = text.split_once(",s=").unwrap();
        (code, salt.to_owned())
    };
    let (known, unknown) = (begin("ann"), begin("nobody"));
    assert_eq!(known.0, unknown.0);
    assert_eq!(known.1.len(), unknown.1.len());
    assert_ne!(known.1, unknown.1);
    assert_eq!((known, unknown), (begin("ann"), begin("nobody")), "each time the same");
    let last = |user: &str| {
        let mut raw = Raw::open(&server);
        let (_, challenge) = raw.bind("SCRAM-SHA-256", Some(format!("n,,n={user},r=abc").as_bytes()));
        let challenge = String::from_utf8(challenge).unwrap();
        let nonce = challenge.split(',').next().unwrap();
        raw.bind("SCRAM-SHA-256", Some(format!("c=biws,{nonce},p=AAAA").as_bytes()))
    };
    assert_eq!(last("ann"), last("nobody"));
}

#[test]
fn conditions_are_met_by_those_who_have_used_sasl() {
    let server = started(Flavor::Ironbark, "require SASL\n");
    let url = server.url();
    let simple = [
        "-x",
        "-H",
        &url,
        "-D",
        "uid=ann,ou=people,dc=example,dc=com",
        "-w",
        "pencil",
    ];
    assert_eq!(
        server.client_with("ldapwhoami", &[], &simple, "").unwrap().code(),
        Some(1)
    );
    let how = ["-Y", "SCRAM-SHA-256", "-U", "ann", "-w", "pencil"];
    assert_eq!(whoami(&server, &url, &how), (Some(0), ANN.to_owned()));
}

/// The names of a negotiation are kept until its last step, for anybody.
#[test]
fn a_negotiation_is_begun_with_short_names_and_known_extensions_only() {
    let server = started(Flavor::Ironbark, "sasl-secprops none\n");
    let mut raw = Raw::open(&server);
    for (length, expected) in [(4_000, IN_PROGRESS), (60_000, OTHER)] {
        let name = "a".repeat(length);
        assert_eq!(raw.bind("LOGIN", Some(name.as_bytes())).0, expected, "{length}");
        // Ends the negotiation.
        assert_eq!(raw.bind("", None).0, NOT_SUPPORTED);
        for first in [format!("n,,n={name},r=abc"), format!("n,a=u:{name},n=ann,r=abc")] {
            assert_eq!(
                raw.bind("SCRAM-SHA-256", Some(first.as_bytes())).0,
                expected,
                "{length}"
            );
            assert_eq!(raw.bind("", None).0, NOT_SUPPORTED);
        }
    }
    for first in ["n,,m=1,n=ann,r=abc", "n,,n=ann,r=abc,m=1"] {
        assert_eq!(raw.bind("SCRAM-SHA-256", Some(first.as_bytes())).0, OTHER, "{first}");
    }
    // A name with a zero is not the name without it.
    assert_eq!(raw.bind("LOGIN", Some(b"an\0n")).0, INVALID);
}
