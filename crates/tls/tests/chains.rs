//! Chains of certificates of many kinds: whom openssl(1) takes, we take, and nobody else.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use ironbark_testkit::{Layout, Stranger, Strangers};
use ironbark_tls::{
    PeerRole, Revocation, Trust, alternative_names, certificates, is_for, revocation_lists, weaknesses,
};
use rustls::pki_types::{ServerName, UnixTime};

const CA: &str = "basicConstraints=critical,CA:TRUE\n";
const USUAL: Stranger<'static> = Stranger::USUAL;

fn made(strangers: &Strangers, all: &[(&'static str, Stranger<'_>)]) {
    for (name, like) in all {
        strangers.make(name, *like).unwrap();
    }
}

/// Our answer.
fn takes(
    strangers: &Strangers,
    name: &str,
    peer: PeerRole,
    authority: &str,
    between: &[&str],
    is_strict: bool,
) -> bool {
    let read = |name: &str| certificates(&strangers.file(name, "crt")).unwrap();
    let trust = Trust::new(peer, &read(authority), Revocation::IfListed, &[], is_strict).unwrap();
    let between: Vec<_> = between.iter().flat_map(|name| read(name)).collect();
    let own = read(name);
    trust.verify(own.first().unwrap(), &between, UnixTime::now()).is_ok()
}

/// Asks openssl(1) and us about a certificate in both roles; gives the answers as client and as server.
fn both(strangers: &Strangers, name: &str, authority: &str, between: &[&str]) -> [bool; 2] {
    [(PeerRole::Client, "sslclient"), (PeerRole::Server, "sslserver")].map(|(peer, purpose)| {
        let ours = takes(strangers, name, peer, authority, between, false);
        let theirs = strangers.openssl_takes(name, purpose, authority, between);
        assert_eq!(ours, theirs, "{name} as {peer:?}");
        ours
    })
}

#[test]
fn own_certificates_of_every_kind_are_taken_as_openssl_takes_them() {
    let layout = Layout::new().unwrap();
    let strangers = Strangers::new(&layout).unwrap();
    let with = |extensions| Stranger { extensions, ..USUAL };
    let keys = |key| Stranger { key, ..USUAL };
    let hash = |hash| Stranger { hash, ..USUAL };
    let kinds: &[(&str, Stranger<'_>, [bool; 2])] = &[
        (
            "rsa-root",
            Stranger {
                key: &["-newkey", "rsa:2048"],
                issuer: "rsa-root",
                ..with(CA)
            },
            [false; 2],
        ),
        ("usual", USUAL, [true; 2]),
        ("version1", with(""), [true; 2]),
        ("unknown", with("1.2.3.4.5=critical,ASN1:NULL\n"), [false; 2]),
        ("policy", with("certificatePolicies=critical,1.2.3.4\n"), [true; 2]),
        ("authority", with(CA), [true; 2]),
        ("for-clients", with("extendedKeyUsage=clientAuth\n"), [true, false]),
        ("for-servers", with("extendedKeyUsage=serverAuth\n"), [false, true]),
        ("for-mail", with("extendedKeyUsage=emailProtection\n"), [false; 2]),
        ("for-lists", with("keyUsage=critical,cRLSign\n"), [false; 2]),
        ("signs", with("keyUsage=digitalSignature\n"), [true; 2]),
        ("short", keys(&["-newkey", "rsa:1024"]), [true; 2]),
        ("shorter", keys(&["-newkey", "rsa:768"]), [false; 2]),
        ("pss", keys(&["-newkey", "rsa-pss"]), [true; 2]),
        ("rsa", keys(&["-newkey", "rsa:2048"]), [true; 2]),
        ("ed25519", keys(&["-newkey", "ed25519"]), [true; 2]),
        ("sha224", hash("sha224"), [true; 2]),
        ("sha512", hash("sha512"), [true; 2]),
        ("sha1", hash("sha1"), [false; 2]),
        (
            "md5",
            Stranger {
                hash: "md5",
                issuer: "rsa-root",
                ..USUAL
            },
            [false; 2],
        ),
        (
            "self",
            Stranger {
                issuer: "self",
                ..with(CA)
            },
            [false; 2],
        ),
        ("gone", Stranger { days: -1, ..USUAL }, [false; 2]),
    ];
    for (name, like, expected) in kinds {
        strangers.make(name, *like).unwrap();
        let authority = if like.issuer == *name { "root" } else { like.issuer };
        assert_eq!(both(&strangers, name, authority, &[]), *expected, "{name}");
    }
    assert_eq!(both(&strangers, "self", "self", &[]), [true; 2]);
    assert_eq!(both(&strangers, "usual", "usual", &[]), [true; 2], "trusted by name");
    assert_eq!(both(&strangers, "gone", "gone", &[]), [false; 2]);
    let strict = ["usual", "version1", "authority", "short", "sha224", "pss", "self"].map(|name| {
        let authority = if name == "self" { name } else { "root" };
        takes(&strangers, name, PeerRole::Server, authority, &[], true)
    });
    assert_eq!(strict, [true, false, false, false, false, true, false]);
}

/// Authorities that are well, and others, each with a certificate that it has signed.
fn make_authorities(strangers: &Strangers) {
    let authority = |subject, extensions, issuer| Stranger {
        subject,
        extensions,
        issuer,
        ..USUAL
    };
    let by = |issuer| Stranger { issuer, ..USUAL };
    made(
        strangers,
        &[
            ("between", authority("/CN=Between", CA, "root")),
            ("leaf", by("between")),
            ("version1", authority("/CN=Version 1", "", "root")),
            ("below1", by("version1")),
            ("none", authority("/CN=None", "basicConstraints=CA:FALSE\n", "root")),
            ("below-none", by("none")),
            (
                "signs-nothing",
                authority("/CN=S", "basicConstraints=CA:TRUE\nkeyUsage=digitalSignature\n", "root"),
            ),
            ("below-signs-nothing", by("signs-nothing")),
            (
                "last",
                authority("/CN=Last", "basicConstraints=CA:TRUE,pathlen:0\n", "root"),
            ),
            ("beyond", authority("/CN=Beyond", CA, "last")),
            ("below-beyond", by("beyond")),
            ("below-last", by("last")),
            (
                "for-com",
                authority(
                    "/CN=Com",
                    "basicConstraints=CA:TRUE\nnameConstraints=critical,permitted;DNS:com\n",
                    "root",
                ),
            ),
            ("below-com", by("for-com")),
            (
                "unknown",
                authority(
                    "/CN=U",
                    "basicConstraints=CA:TRUE\n1.2.3.4=critical,ASN1:NULL\n",
                    "root",
                ),
            ),
            ("below-unknown", by("unknown")),
            (
                "sha1",
                Stranger {
                    hash: "sha1",
                    ..authority("/CN=Old", CA, "root")
                },
            ),
            ("below-sha1", by("sha1")),
            (
                "old-root",
                Stranger {
                    hash: "sha1",
                    ..authority("/CN=Old Root", CA, "old-root")
                },
            ),
            ("below-old-root", by("old-root")),
            ("root1", authority("/CN=Root 1", "", "root1")),
            ("below-root1", by("root1")),
        ],
    );
}

#[test]
fn authorities_between_count_as_in_openssl() {
    let layout = Layout::new().unwrap();
    let strangers = Strangers::new(&layout).unwrap();
    make_authorities(&strangers);
    for (name, authority, between, expected) in [
        ("leaf", "root", &["between"][..], true),
        ("leaf", "root", &[], false),
        ("leaf", "between", &[], true),
        ("leaf", "root", &["leaf", "between", "between", "root"], true),
        ("below1", "root", &["version1"], false),
        ("below-none", "root", &["none"], false),
        ("below-none", "none", &[], false),
        ("below-signs-nothing", "root", &["signs-nothing"], false),
        ("below-last", "root", &["last"], true),
        ("below-beyond", "root", &["beyond", "last"], false),
        ("below-com", "root", &["for-com"], false),
        ("below-unknown", "root", &["unknown"], false),
        ("below-sha1", "root", &["sha1"], false),
        ("below-sha1", "sha1", &[], true),
        ("below-old-root", "old-root", &[], true),
        ("below-root1", "root1", &[], true),
    ] {
        let found = both(&strangers, name, authority, between);
        assert_eq!(found, [expected; 2], "{name} by {authority} through {between:?}");
    }
}

#[test]
fn names_are_those_of_the_subject_alternative_name() {
    let layout = Layout::new().unwrap();
    let strangers = Strangers::new(&layout).unwrap();
    let extensions = "subjectAltName=DNS:ldap.example.com,DNS:*.wild.example.com,IP:192.0.2.7,IP:2001:db8::7\n";
    strangers.make("named", Stranger { extensions, ..USUAL }).unwrap();
    strangers
        .make(
            "unnamed",
            Stranger {
                extensions: "",
                ..USUAL
            },
        )
        .unwrap();
    let read = |name| certificates(&strangers.file(name, "crt")).unwrap().remove(0);
    let (named, unnamed) = (read("named"), read("unnamed"));
    for (name, expected) in [
        ("LDAP.example.com", true),
        ("a.wild.example.com", true),
        ("b.a.wild.example.com", false),
        ("wild.example.com", false),
        ("example.com", false),
        ("192.0.2.7", true),
        ("192.0.2.8", false),
        ("2001:db8::7", true),
        ("localhost", false),
    ] {
        assert_eq!(is_for(&named, &ServerName::try_from(name).unwrap()), expected, "{name}");
    }
    assert!(
        !is_for(&unnamed, &ServerName::try_from("localhost").unwrap()),
        "the subject does not count"
    );
    let hosts = ["ldap.example.com", "*.wild.example.com", "192.0.2.7", "2001:db8::7"];
    assert_eq!(alternative_names(&named).unwrap(), hosts);
    assert_eq!(alternative_names(&unnamed), None);
    let weak = weaknesses(&unnamed).iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(weak, ["it is of version 1 and has no names of hosts"]);
    assert!(weaknesses(&named).is_empty() && weaknesses(b"nonsense").is_empty());
}

const LISTS: &str = "[ca]\ndefault_ca = here\n[here]\ndatabase = index.txt\ncertificate = root.crt\nprivate_key = root.key\n\
    default_md = sha256\ndefault_crl_days = 30\n";

#[test]
fn a_list_of_version_1_revokes_what_it_names() {
    let layout = Layout::new().unwrap();
    let strangers = Strangers::new(&layout).unwrap();
    layout.write("lists.conf", LISTS).unwrap();
    layout.write("index.txt", "").unwrap();
    let other = Stranger {
        subject: "/CN=Other",
        extensions: CA,
        issuer: "other",
        ..USUAL
    };
    let unlisted = Stranger {
        issuer: "other",
        ..USUAL
    };
    made(
        &strangers,
        &[
            ("good", USUAL),
            ("bad", USUAL),
            ("other", other),
            ("unlisted", unlisted),
        ],
    );
    let lists = ["ca", "-config", "lists.conf"];
    strangers
        .openssl(&[&lists[..], &["-revoke", "bad.crt"]].concat())
        .unwrap();
    strangers
        .openssl(&[&lists[..], &["-gencrl", "-out", "list.crt"]].concat())
        .unwrap();
    let read = |name: &str| certificates(&strangers.file(name, "crt")).unwrap().remove(0);
    let lists = revocation_lists(&strangers.file("list", "crt")).unwrap();
    for (revocation, expected) in [
        (Revocation::IfListed, [true, false, true]),
        (Revocation::Own, [true, false, false]),
        (Revocation::All, [true, false, false]),
    ] {
        let authorities = [read("root"), read("other")];
        let trust = Trust::new(PeerRole::Client, &authorities, revocation, &lists, false).unwrap();
        let taken = ["good", "bad", "unlisted"].map(|name| trust.verify(&read(name), &[], UnixTime::now()).is_ok());
        assert_eq!(taken, expected, "{revocation:?}");
    }
}

#[test]
fn what_is_no_certificate_is_refused_without_harm() {
    let layout = Layout::new().unwrap();
    let strangers = Strangers::new(&layout).unwrap();
    strangers.make("leaf", USUAL).unwrap();
    let read = |name| certificates(&strangers.file(name, "crt")).unwrap().remove(0);
    let (root, leaf) = (read("root"), read("leaf"));
    let trust = Trust::new(PeerRole::Server, &[root], Revocation::IfListed, &[], false).unwrap();
    assert!(trust.verify(&leaf, &[], UnixTime::now()).is_ok());
    for at in 0..leaf.len() {
        for octet in [0x00, 0x7f, 0x80, 0xff] {
            let mut broken = leaf.to_vec();
            broken[at] = octet;
            let is_same = broken == leaf.as_ref();
            let is_taken = trust
                .verify(&broken.clone().into(), &[broken.into()], UnixTime::now())
                .is_ok();
            assert_eq!(is_taken, is_same, "octet {at} as {octet:02x}");
        }
        let cut = leaf.get(..at).unwrap().to_vec();
        assert!(trust.verify(&cut.into(), &[], UnixTime::now()).is_err(), "cut at {at}");
    }
}
