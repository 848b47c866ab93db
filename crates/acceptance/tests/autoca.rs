//! Overlay autoca: certificates and keys that are made when they are asked for, and who gets to see the keys.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "clippy knows test functions, but not what they call"
)]

use std::{path::PathBuf, process::Command, thread};

use ironbark_testkit::{Credentials, Flavor, ProgramOutput, Server};

const ANN: &str = "uid=ann,ou=People,dc=example,dc=com";
const BOB: &str = "uid=bob,ou=People,dc=example,dc=com";
const JACK: &str = "cn=Smith\\, John \\\"Jack\\\"+sn=Smith,ou=People,dc=example,dc=com";
const HOST: &str = "cn=localhost,ou=People,dc=example,dc=com";
const BOTH: [&str; 2] = ["userCertificate;binary", "userPrivateKey;binary"];

const DATA: &str = "\
dn: dc=example,dc=com
objectClass: dcObject
objectClass: organization
dc: example
o: Example

dn: ou=People,dc=example,dc=com
objectClass: organizationalUnit

dn: uid=ann,ou=People,dc=example,dc=com
objectClass: inetOrgPerson
cn: Ann
sn: Lee
mail: ann@example.com
mail: a,b@example.com
userPassword: annspass

dn: uid=bob,ou=People,dc=example,dc=com
objectClass: inetOrgPerson
cn: Bob
sn: Ray
userPassword: bobspass

dn: cn=Smith\\, John \\\"Jack\\\"+sn=Smith,ou=People,dc=example,dc=com
objectClass: inetOrgPerson

dn: cn=localhost,ou=People,dc=example,dc=com
objectClass: device
objectClass: ipHost
ipHostNumber: 127.0.0.1
ipHostNumber: ::1
ipHostNumber: nowhere
";

/// The usual configuration; `lines` follow the overlay's.
fn started(lines: &str) -> Server {
    let overlay = format!("overlay autoca\nuserKeybits 512\n{lines}");
    let configuration = Server::people_config("include {schema}/nis.schema\nmoduleload autoca", &overlay);
    let server = Server::start(Flavor::Ironbark, &configuration).unwrap();
    server.ldapadd(DATA).unwrap().success().unwrap();
    server
}

fn ask(server: &Server, who: &Credentials<'_>, base: &str, more: &[&str]) -> ProgramOutput {
    let mut arguments = vec!["-b", base];
    arguments.extend(more);
    server.client("ldapsearch", who, &arguments, "").unwrap()
}

fn ann() -> Credentials<'static> {
    Credentials::Simple {
        dn: ANN,
        password: "annspass",
    }
}

fn bob() -> Credentials<'static> {
    Credentials::Simple {
        dn: BOB,
        password: "bobspass",
    }
}

/// The base64 of an attribute.
fn value<'o>(outcome: &'o ProgramOutput, name: &str) -> Option<&'o str> {
    let start = format!("{name}:: ");
    outcome.stdout.lines().find_map(|line| line.strip_prefix(&start))
}

/// Asks as the rootdn, and writes the value to a file in PEM.
fn pem(server: &Server, base: &str, name: &str, kind: &str) -> PathBuf {
    let outcome = ask(
        server,
        &Credentials::ROOT,
        base,
        &["-s", "base", "(objectClass=*)", name],
    );
    let base64 = value(&outcome, name).unwrap();
    let lines: Vec<_> = base64
        .as_bytes()
        .chunks(64)
        .map(|line| String::from_utf8_lossy(line))
        .collect();
    let text = format!("-----BEGIN {kind}-----\n{}\n-----END {kind}-----\n", lines.join("\n"));
    server
        .layout()
        .write(&format!("{}.pem", name.replace(';', "-")), text)
        .unwrap()
}

fn openssl(arguments: &[&str]) -> String {
    let done = Command::new("openssl").args(arguments).output().unwrap();
    assert!(
        done.status.success(),
        "{arguments:?}: {}",
        String::from_utf8_lossy(&done.stderr)
    );
    String::from_utf8(done.stdout).unwrap()
}

/// Checks the certificate of an entry: its subject, further names, whether it is still valid in 31 days.
fn check(server: &Server, authority: &str, (base, subject, names, is_long): (&str, &str, &str, bool)) {
    let all = ["-s", "base", "(objectClass=*)", BOTH[0], BOTH[1]];
    let made = ask(server, &Credentials::ROOT, base, &all);
    assert!(
        value(&made, BOTH[0]).is_some() && value(&made, BOTH[1]).is_some(),
        "{made:?}"
    );
    let other_order = ["-s", "base", "(objectClass=*)", BOTH[1], BOTH[0]];
    let again = ask(server, &Credentials::ROOT, base, &other_order);
    assert_eq!(value(&made, BOTH[1]), value(&again, BOTH[1]), "it is made once");
    let certificate = pem(server, base, BOTH[0], "CERTIFICATE");
    let certificate = certificate.to_str().unwrap();
    openssl(&["verify", "-x509_strict", "-CAfile", authority, certificate]);
    let shown = openssl(&["x509", "-in", certificate, "-noout", "-subject", "-nameopt", "RFC2253"]);
    assert_eq!(shown.trim(), format!("subject={subject}"));
    let text = openssl(&["x509", "-in", certificate, "-noout", "-text"]);
    assert!(text.contains("Public-Key: (2048 bit)"), "{text}");
    assert!(
        names.is_empty() != text.contains("Subject Alternative Name") && text.contains(names),
        "{text}"
    );
    let key = pem(server, base, BOTH[1], "PRIVATE KEY");
    let public = openssl(&["pkey", "-in", key.to_str().unwrap(), "-pubout"]);
    assert_eq!(public, openssl(&["x509", "-in", certificate, "-noout", "-pubkey"]));
    for (days, is_valid) in [(29_u32, true), (31, is_long)] {
        let seconds = (days * 86_400).to_string();
        let arguments = ["x509", "-in", certificate, "-noout", "-checkend", &seconds];
        let checked = Command::new("openssl").args(arguments).output().unwrap();
        assert_eq!(checked.status.success(), is_valid, "{days} days");
    }
}

#[test]
fn certificates_are_for_the_entries_and_by_the_authority() {
    let mut server = started("userDays 30");
    let authority = pem(&server, "dc=example,dc=com", "cACertificate;binary", "CERTIFICATE");
    let authority = authority.to_str().unwrap();
    let mails = "email:ann@example.com, email:a,b@example.com";
    let addresses = "IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1";
    let jack = "CN=Smith\\, John \\\"Jack\\\"+SN=Smith,OU=People,DC=example,DC=com";
    for expected in [
        (ANN, "UID=ann,OU=People,DC=example,DC=com", mails, false),
        (JACK, jack, "", false),
        (HOST, "CN=localhost,OU=People,DC=example,DC=com", addresses, true),
    ] {
        check(&server, authority, expected);
    }
    let text = openssl(&["x509", "-in", authority, "-noout", "-text"]);
    assert!(
        text.contains("CA:TRUE") && text.contains("Certificate Sign, CRL Sign"),
        "{text}"
    );
    // The authority of before goes on after a restart.
    server.stop().unwrap();
    server.launch().unwrap();
    check(
        &server,
        authority,
        (BOB, "UID=bob,OU=People,DC=example,DC=com", "", false),
    );
}

#[test]
fn nothing_is_made_for_who_is_not_asked_about() {
    let server = started("");
    let all = ["-s", "base", "(objectClass=*)", BOTH[0], BOTH[1]];
    let is_made = |dn: &str| value(&ask(&server, &Credentials::ROOT, dn, &[BOTH[1]]), BOTH[1]).is_some();
    ask(&server, &bob(), ANN, &all);
    ask(&server, &Credentials::Anonymous, ANN, &all);
    ask(&server, &Credentials::ROOT, "ou=People,dc=example,dc=com", &all);
    ask(
        &server,
        &Credentials::ROOT,
        "ou=People,dc=example,dc=com",
        &["(objectClass=*)", BOTH[0], BOTH[1]],
    );
    ask(&server, &ann(), ANN, &["-s", "base", "(objectClass=*)", BOTH[1]]);
    ask(
        &server,
        &ann(),
        ANN,
        &["-s", "base", "(objectClass=*)", BOTH[0], BOTH[1], "cn"],
    );
    ask(&server, &ann(), ANN, &["-s", "base", "(cn=Bob)", BOTH[0], BOTH[1]]);
    assert!(![ANN, BOB, HOST, "ou=People,dc=example,dc=com"].into_iter().any(is_made));
    // Within a larger search the entry that asks, and no other.
    ask(
        &server,
        &ann(),
        "dc=example,dc=com",
        &["(objectClass=*)", BOTH[0], BOTH[1]],
    );
    assert!(is_made(ANN) && !is_made(BOB));
}

#[test]
fn private_keys_are_kept_from_others_unless_a_rule_names_them() {
    let rules = "access to attrs=userPassword by self write by anonymous auth\naccess to * by users write by * read\n";
    for (rules, others_may) in [
        ("", false),
        (rules, false),
        (&format!("access to attrs=cn by users write\n{rules}"), false),
        (&format!("access to attrs=pKCS8PrivateKey by users read\n{rules}"), true),
    ] {
        let server = started(rules);
        let all = ["-s", "base", "(objectClass=*)", BOTH[0], BOTH[1]];
        let own = ask(&server, &ann(), ANN, &all);
        assert!(value(&own, BOTH[1]).is_some(), "{rules}: {own:?}");
        for who in [bob(), Credentials::Anonymous] {
            let may = others_may && !matches!(who, Credentials::Anonymous);
            for names in [
                &["userPrivateKey"][..],
                &[BOTH[1]],
                &["pKCS8PrivateKey"],
                &["*", "+"],
                &BOTH,
            ] {
                let mut more = vec!["-s", "base", "(objectClass=*)"];
                more.extend(names);
                let seen = ask(&server, &who, ANN, &more);
                assert_eq!(
                    seen.stdout.contains("userPrivateKey"),
                    may,
                    "{rules}: {names:?}: {seen:?}"
                );
            }
            for filter in ["(userPrivateKey=*)", "(pKCS8PrivateKey=*)", "(userPrivateKey;binary=*)"] {
                let found = ask(&server, &who, "dc=example,dc=com", &[filter, "1.1"]);
                assert_eq!(found.stdout.contains("dn: "), may, "{rules}: {filter}: {found:?}");
            }
            let seen = ask(
                &server,
                &who,
                "dc=example,dc=com",
                &["-s", "base", "(objectClass=*)", "cAPrivateKey;binary"],
            );
            assert_eq!(seen.stdout.contains("cAPrivateKey"), may, "{rules}: {seen:?}");
        }
        ask(&server, &bob(), BOB, &all);
        let seen = ask(&server, &ann(), "dc=example,dc=com", &["(objectClass=*)", BOTH[1]]);
        let count = seen.stdout.matches("userPrivateKey").count();
        assert_eq!(count, if others_may { 2 } else { 1 }, "{rules}: {seen:?}");
        // Nobody puts another key there.
        let change = format!("dn: {ANN}\nchangetype: modify\ndelete: userPrivateKey;binary\n");
        for who in [ann(), bob()] {
            let changed = server.client("ldapmodify", &who, &[], &change).unwrap();
            assert_eq!(changed.code(), Some(50), "{rules}: {changed:?}");
        }
    }
}

#[test]
fn who_asks_many_times_at_once_gets_one_key() {
    let server = started("");
    let all = ["-s", "base", "(objectClass=*)", BOTH[0], BOTH[1]];
    let outcomes: Vec<ProgramOutput> = thread::scope(|scope| {
        let threads: Vec<_> = (0..12)
            .map(|_| scope.spawn(|| ask(&server, &ann(), ANN, &all)))
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let keys: Vec<_> = outcomes.iter().filter_map(|outcome| value(outcome, BOTH[1])).collect();
    assert!(!keys.is_empty() && keys.iter().all(|key| *key == keys[0]));
    for outcome in &outcomes {
        let is_busy = outcome.code() == Some(51);
        assert!(is_busy != value(outcome, BOTH[1]).is_some(), "{outcome:?}");
    }
    let stored = ask(&server, &ann(), ANN, &all);
    assert_eq!(stored.stdout.matches("userPrivateKey").count(), 1);
    assert_eq!(stored.stdout.matches("userCertificate").count(), 1);
}

#[test]
fn the_servers_own_certificate_is_used_at_once() {
    let overlay = format!("overlay autoca\nlocaldn {HOST}\ndatabase config\nrootpw secret");
    let configuration = Server::people_config("include {schema}/nis.schema\nmoduleload autoca", &overlay);
    let server = Server::start(Flavor::Ironbark, &configuration).unwrap();
    server.ldapadd(DATA).unwrap().success().unwrap();
    let authority = pem(&server, "dc=example,dc=com", "cACertificate;binary", "CERTIFICATE");
    let start = |authority: &str| {
        let arguments = [
            "-x",
            "-ZZ",
            "-H",
            &server.url(),
            "-b",
            "dc=example,dc=com",
            "-s",
            "base",
        ];
        let done = server.client_with("ldapsearch", &[("LDAPTLS_CACERT", authority)], &arguments, "");
        done.unwrap().code() == Some(0)
    };
    assert!(!start(authority.to_str().unwrap()));
    ask(
        &server,
        &Credentials::ROOT,
        HOST,
        &["-s", "base", "(objectClass=*)", BOTH[0], BOTH[1]],
    );
    assert!(start(authority.to_str().unwrap()));
}
