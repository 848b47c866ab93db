//! Persistent searches (draft-ietf-ldapext-psearch-03) of real clients, beside a 389 Directory Server.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

use std::process::Command;

use ironbark_testkit::{Credentials, Ds389, Flavor, Server};

const CONTENT: &str = "dn: dc=example,dc=com\nobjectClass: domain\ndc: example\n\n\
    dn: ou=people,dc=example,dc=com\nobjectClass: organizationalUnit\nou: people\n";
const WATCH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/watching/watch.py");
const LISTENER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/watching/Watch.java");

fn ours() -> Server {
    let config = Server::people_config("", "overlay psearch");
    let mut server = Server::prepare(Flavor::Ironbark, &config).unwrap();
    server.launch().unwrap();
    server.ldapadd(CONTENT).unwrap().success().unwrap();
    server
}

fn of_389() -> Ds389 {
    let server = Ds389::start().unwrap();
    server.client("ldapadd", &[], CONTENT).unwrap().success().unwrap();
    server
}

fn root() -> (&'static str, &'static str) {
    match Credentials::ROOT {
        Credentials::Simple { dn, password } => (dn, password),
        _ => panic!("the rootdn has a password"),
    }
}

/// What a program prints that has to succeed.
fn printed(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let text = |octets: &[u8]| String::from_utf8_lossy(octets).into_owned();
    assert!(
        output.status.success(),
        "{}{}",
        text(&output.stdout),
        text(&output.stderr)
    );
    text(&output.stdout)
}

#[test]
fn python_ldap_is_told_the_same_as_by_389() {
    let (other, ours) = (of_389(), ours());
    for kinds in ["add,delete,modify,modDN", "add,delete", "modify,modDN"] {
        // 389 tells changes that follow each other quickly in any order.
        let told = |url: &str, who: &str, password: &str| {
            let lines = printed(Command::new("/usr/bin/python3").args([WATCH, url, who, password, kinds]));
            let mut lines: Vec<String> = lines.lines().map(str::to_owned).collect();
            lines.sort_unstable();
            lines
        };
        let (who, password) = root();
        let here = told(&ours.url(), who, password);
        assert_eq!(here, told(&other.url(), Ds389::ROOT, "secret"));
        assert!(!here.is_empty());
    }
}

#[test]
fn listeners_of_java_are_told_of_each_event() {
    let server = ours();
    let classes = server.layout().make_dir("classes").unwrap();
    printed(Command::new("/usr/bin/javac").arg("-d").arg(&classes).arg(LISTENER));
    let (who, password) = root();
    let mut java = Command::new("/usr/bin/java");
    java.args(["-XX:TieredStopAtLevel=1", "-cp"]).arg(&classes);
    java.args(["Watch", &server.url(), who, password]);
    let expected = "added \"cn=x\"\nchanged \"cn=x\"\nrenamed \"cn=x\" \"cn=y\"\nremoved \"cn=y\"\n";
    assert_eq!(printed(&mut java), expected);
}
