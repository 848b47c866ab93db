//! Certificates that strangers have: a server with one starts, and a client with one is treated as slapd treats it.

use ironbark_testkit::{Flavor, Listen, Server, Stranger, Strangers, TestCertificate};

use crate::tls::{FILES, client, template, whoami};

const USUAL: Stranger<'static> = Stranger::USUAL;
const CA: &str = "basicConstraints=critical,CA:TRUE\nsubjectAltName=DNS:localhost,IP:127.0.0.1\n";

fn like(extensions: &'static str) -> Stranger<'static> {
    Stranger { extensions, ..USUAL }
}

fn keyed(key: &'static [&'static str]) -> Stranger<'static> {
    Stranger { key, ..USUAL }
}

/// Certificates that work with slapd, each for a reason of its own.
const KINDS: [(&str, Stranger<'static>); 10] = [
    (
        "version1",
        Stranger {
            extensions: "",
            ..USUAL
        },
    ),
    (
        "unknown",
        Stranger {
            extensions: "1.2.3.4.5=critical,ASN1:NULL\n",
            ..USUAL
        },
    ),
    (
        "policy",
        Stranger {
            extensions: "certificatePolicies=critical,1.2.3.4\n",
            ..USUAL
        },
    ),
    (
        "short",
        Stranger {
            key: &["-newkey", "rsa:1024"],
            ..USUAL
        },
    ),
    (
        "pss",
        Stranger {
            key: &["-newkey", "rsa-pss"],
            ..USUAL
        },
    ),
    (
        "sha224",
        Stranger {
            hash: "sha224",
            ..USUAL
        },
    ),
    ("sha1", Stranger { hash: "sha1", ..USUAL }),
    (
        "self",
        Stranger {
            issuer: "self",
            extensions: CA,
            ..USUAL
        },
    ),
    (
        "authority",
        Stranger {
            extensions: CA,
            ..USUAL
        },
    ),
    ("gone", Stranger { days: -1, ..USUAL }),
];

/// A server whose certificate has this name; it is not started.
fn prepared(flavor: Flavor, global: &str) -> (Server, Strangers) {
    let server = Server::prepare(flavor, &template(&format!("{FILES}{global}"))).unwrap();
    let server = server.listening_on(Listen::Tls);
    let strangers = Strangers::new(server.layout()).unwrap();
    std::fs::copy(strangers.file("root", "crt"), strangers.file("ca", "crt")).unwrap();
    (server, strangers)
}

/// What a client that checks nothing gets.
fn answers(server: &Server) -> Vec<(Option<i32>, String)> {
    [["-x", "-H", &server.tls_url()], ["-ZZx", "-H", &server.url()]]
        .map(|arguments| {
            let environment = [("LDAPTLS_REQCERT", "never")];
            let outcome = server.client_with("ldapwhoami", &environment, &arguments, "").unwrap();
            (outcome.code(), outcome.stdout)
        })
        .into()
}

#[test]
fn a_server_starts_with_each_certificate_that_slapd_starts_with() {
    let anonymous = (Some(0), "anonymous\n".to_owned());
    for (name, kind) in KINDS {
        for flavor in Flavor::ALL {
            let (mut server, strangers) = prepared(flavor, "");
            strangers
                .make(
                    "server",
                    Stranger {
                        issuer: if name == "self" { "server" } else { "root" },
                        ..kind
                    },
                )
                .unwrap();
            server.launch().unwrap();
            assert_eq!(
                answers(&server),
                [anonymous.clone(), anonymous.clone()],
                "{name} {flavor:?}"
            );
        }
    }
}

/// Writes a certificate's text anew.
type Edit = fn(String) -> String;

#[test]
fn files_are_read_as_openssl_reads_them() {
    let edits: [(&str, Edit); 6] = [
        ("another label", |text| {
            text.replace(" CERTIFICATE", " X509 CERTIFICATE")
        }),
        ("a mark of its encoding", |text| format!("\u{feff}{text}")),
        ("lines as in DOS", |text| text.replace('\n', "\r\n")),
        ("text around it", |text| {
            format!("Bag Attributes\n    friendlyName: x\n{text}and behind\n")
        }),
        ("blanks behind lines", |text| text.replace('\n', "  \n")),
        ("no line end", |text| text.trim_end().to_owned()),
    ];
    for (name, edit) in edits {
        let (mut server, strangers) = prepared(Flavor::Ironbark, "");
        strangers.make("server", USUAL).unwrap();
        for end in ["crt", "key"] {
            strangers
                .edit("server", end, |text| {
                    edit(String::from_utf8(text).unwrap()).into_bytes()
                })
                .unwrap();
        }
        server.launch().unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(
            whoami(&server, None, &["-x"]).map(|(code, _)| code),
            [Some(0); 2],
            "{name}"
        );
    }
    let (mut server, strangers) = prepared(Flavor::Ironbark, "");
    strangers.make("server", USUAL).unwrap();
    let trust = [
        "x509",
        "-in",
        "server.crt",
        "-trustout",
        "-addtrust",
        "serverAuth",
        "-out",
        "trusted.crt",
    ];
    strangers.openssl(&trust).unwrap();
    std::fs::rename(strangers.file("trusted", "crt"), strangers.file("server", "crt")).unwrap();
    server.launch().unwrap();
    assert_eq!(
        whoami(&server, None, &["-x"]).map(|(code, _)| code),
        [Some(0); 2],
        "a trusted certificate"
    );
}

/// Whether somebody with this certificate gets an answer, and which.
fn tries(server: &Server, who: &str) -> [(bool, String); 2] {
    [&["-Q", "-Y", "EXTERNAL"][..], &["-x"]].map(|how| {
        let url = server.tls_url();
        let outcome = client(server, Some(who), "ldapwhoami", &[how, &["-H", &url]].concat());
        (outcome.code() == Some(0), outcome.stdout)
    })
}

/// GnuTLS, which Debian's slapd has, takes these; OpenSSL does not.
const NOT_IN_OPENSSL: [&str; 3] = ["unknown", "sha1", "gone"];

#[test]
fn clients_with_odd_certificates_are_treated_as_slapd_treats_them() {
    let client_named = |kind| Stranger {
        subject: "/O=Example/CN=Ann",
        ..kind
    };
    for level in ["allow", "demand"] {
        let [theirs, ours] = [Flavor::OpenLdap, Flavor::Ironbark].map(|flavor| {
            let (mut server, strangers) = prepared(flavor, &format!("TLSVerifyClient {level}\n"));
            strangers.make("server", USUAL).unwrap();
            for (name, kind) in KINDS {
                strangers.make(name, client_named(kind)).unwrap();
            }
            // It is trusted as an authority.
            let both = ["root", "self"].map(|name| std::fs::read_to_string(strangers.file(name, "crt")).unwrap());
            std::fs::write(strangers.file("ca", "crt"), both.concat()).unwrap();
            server.launch().unwrap();
            KINDS.map(|(name, _)| (name, tries(&server, name)))
        });
        let known = |(name, tries): &(&str, [(bool, String); 2])| tries[0].0 && !NOT_IN_OPENSSL.contains(name);
        assert_eq!(theirs.iter().filter(|one| known(one)).count(), 7, "{level}: {theirs:?}");
        for (ours, theirs) in ours.iter().zip(&theirs) {
            if NOT_IN_OPENSSL.contains(&ours.0) {
                assert!(!ours.1[0].0, "{level}: {ours:?}");
            } else {
                assert_eq!(ours, theirs, "{level}");
            }
        }
    }
}

#[test]
fn a_key_that_has_no_scheme_is_refused_with_the_way_to_a_better_one() {
    for (key, is_used) in [(&["-newkey", "ed448"][..], false), (&["-newkey", "ed25519"], true)] {
        let (mut server, strangers) = prepared(Flavor::Ironbark, "");
        strangers.make("server", Stranger { key, ..USUAL }).unwrap();
        let launched = server.launch().map_err(|error| error.to_string());
        match launched {
            Ok(()) => assert!(is_used),
            Err(error) => assert!(!is_used && error.contains("openssl req -x509"), "{error}"),
        }
    }
}

#[test]
fn the_strict_form_refuses_what_is_weak() {
    let (mut server, strangers) = prepared(Flavor::Ironbark, "tls-strict on\nTLSVerifyClient try\n");
    strangers.make("server", like("")).unwrap();
    let error = server.launch().unwrap_err().to_string();
    assert!(error.contains("tls-strict") && error.contains("version 1"), "{error}");
    let (mut server, strangers) = prepared(Flavor::Ironbark, "tls-strict on\nTLSVerifyClient try\n");
    for (name, kind) in [
        ("server", USUAL),
        ("good", USUAL),
        ("version1", like("")),
        ("short", keyed(&["-newkey", "rsa:1024"])),
    ] {
        strangers.make(name, kind).unwrap();
    }
    server.launch().unwrap();
    let is_in = ["good", "version1", "short"].map(|name| {
        let arguments = ["-Q", "-Y", "EXTERNAL", "-H", &server.tls_url()];
        client(&server, Some(name), "ldapwhoami", &arguments).code() == Some(0)
    });
    assert_eq!(is_in, [true, false, false]);
    assert!(
        TestCertificate::environment(server.layout(), "good")[0]
            .1
            .ends_with("good.crt")
    );
}
