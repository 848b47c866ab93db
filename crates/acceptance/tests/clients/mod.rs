//! Real clients beyond ldap-utils: programs that people use with a directory, configured in the usual way.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "clippy knows test functions, but not what they call"
)]

#[cfg(feature = "gssapi")]
mod gssapi;
mod jndi;
mod postfix;
mod python;
mod slapdtest;
mod sssd;

use std::{path::Path, process::Command};

use ironbark_testkit::{CertificateAuthority, Flavor, Listen, Server};

/// The people of the directory are the users of SASL, and so are certificates of `ou=People,o=Example`.
const GLOBAL: &str = "\
TLSCACertificateFile {dir}/ca.crt
TLSCertificateFile {dir}/server.crt
TLSCertificateKeyFile {dir}/server.key
TLSVerifyClient try
sasl-host localhost
authz-policy any
authz-regexp \"^uid=([^,]+)(,cn=[^,]+)?,cn=auth$\" \"uid=$1,ou=people,dc=example,dc=com\"
authz-regexp \"^cn=([^,]+),ou=people,o=example$\" \"uid=$1,ou=people,dc=example,dc=com\"
";

/// People and groups.
const DATA: &str = include_str!("data.ldif");

/// A server with [`DATA`], these global lines and those of its database, and certificates: its own, and ann's
/// (`ann.crt`).
fn started(flavor: Flavor, lines: (&str, &str)) -> Server {
    let mut server = prepared(flavor, lines);
    server.launch().unwrap();
    server
}

fn prepared(flavor: Flavor, (global, of_database): (&str, &str)) -> Server {
    let global = format!("include {{schema}}/nis.schema\n{GLOBAL}{global}");
    let template = Server::people_config(&global, of_database);
    let server = Server::prepare(flavor, &template).unwrap().listening_on(Listen::Tls);
    let layout = server.layout();
    let mut authority = CertificateAuthority::new("Test CA").unwrap();
    layout.write("ca.crt", authority.certificate()).unwrap();
    authority.server().unwrap().write(layout, "server").unwrap();
    authority.client("ann").unwrap().write(layout, "ann").unwrap();
    server.slapadd(DATA).unwrap();
    server
}

/// A program of a package, with nothing of the user's environment.
fn program(path: &str, package: &str) -> Command {
    assert!(
        Path::new(path).exists(),
        "{path} is missing: install the package {package}, or all that tests need by `make deps`"
    );
    let mut command = Command::new(path);
    command
        .env_clear()
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .env("LC_ALL", "C.UTF-8");
    command
}

/// Exit status, stdout, stderr.
fn run(command: &mut Command) -> (Option<i32>, String, String) {
    let output = command.output().unwrap();
    let text = |octets: &[u8]| String::from_utf8_lossy(octets).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// stdout of a command that must succeed.
fn succeed(command: &mut Command) -> String {
    let (code, stdout, stderr) = run(command);
    assert_eq!(code, Some(0), "{command:?}\n{stdout}\n{stderr}");
    stdout
}

/// The same client must get the same lines from both servers. The expected lines must be among them, so that both do
/// not just fail alike. Cyrus SASL reports why a password is wrong; this server never does.
fn assert_same_lines(answers: [String; 2], expected: &[&str]) {
    const FAILURE: &str = "SASL(-13): authentication failure";
    let [ours, slapds] = answers.map(|text| {
        let line = |line: &str| match line.split_once(FAILURE) {
            Some((before, _)) => format!("{before}{FAILURE}\n"),
            None => format!("{line}\n"),
        };
        text.lines().map(line).collect::<String>()
    });
    let differences: Vec<_> = ours
        .lines()
        .zip(slapds.lines())
        .filter(|(one, other)| one != other)
        .collect();
    assert!(differences.is_empty(), "ours, slapd's: {differences:#?}");
    assert_eq!(ours.lines().count(), slapds.lines().count(), "{ours}\n{slapds}");
    for line in expected {
        assert!(ours.lines().any(|one| one == *line), "{line}\n{ours}");
    }
}
