//! `ironbark load session` against our server and Debian's slapd, with each way of securing its connections.
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "clippy knows test functions, but not what they call"
)]

use std::fs;

use crate::common::{ironbark, succeed};
use ironbark_load::result::RunResult;
use ironbark_testkit::{CertificateAuthority, Flavor, Listen, Server, repository_root};

const SESSIONS: u64 = 40;

/// A server with accounts, and a certificate.
fn server(flavor: Flavor) -> Server {
    let zimbra = repository_root().join("schema/zimbra.schema");
    let config = format!(
        "include {{schema}}/core.schema\ninclude {{schema}}/cosine.schema\ninclude {{schema}}/inetorgperson.schema\n\
         include {}\nTLSCACertificateFile {{dir}}/ca.crt\nTLSCertificateFile {{dir}}/server.crt\n\
         TLSCertificateKeyFile {{dir}}/server.key\ndatabase mdb\nsuffix o=x\ndirectory {{dir}}/db\n\
         index objectClass,uid eq\n",
        zimbra.display()
    );
    let mut server = Server::prepare(flavor, &config).unwrap().listening_on(Listen::Tls);
    let mut authority = CertificateAuthority::new("sessions").unwrap();
    server.layout().write("ca.crt", authority.certificate()).unwrap();
    authority.server().unwrap().write(server.layout(), "server").unwrap();
    let people = succeed(&["generate", "zimbra", "--count", "50", "--suffix", "o=x"]);
    server.slapadd(&people).unwrap();
    server.launch().unwrap();
    server
}

/// Runs sessions on the server.
fn run(server: &Server, url: &str, words: &[&str]) -> RunResult {
    let (json, ca) = (server.layout().join("result.json"), server.layout().join("ca.crt"));
    let sessions = SESSIONS.to_string();
    let all = [
        "load",
        "session",
        "-H",
        url,
        "--ca-file",
        ca.to_str().unwrap(),
        "--suffix",
        "o=x",
        "--entries",
        "50",
        "-n",
        &sessions,
        "-o",
        json.to_str().unwrap(),
    ];
    succeed(&[&all[..], words].concat());
    RunResult::read(&fs::read(json).unwrap()).unwrap()
}

fn every_protection(flavor: Flavor) {
    let server = server(flavor);
    let (plain, tls) = (server.url(), server.tls_url());
    for (url, words, name) in [
        (&plain, &[][..], "session"),
        (&plain, &["-c", "3"], "session"),
        (&plain, &["-Z"], "session, StartTLS"),
        (&tls, &[], "session, ldaps"),
        (&server.ldapi_url(), &[], "session"),
    ] {
        let result = run(&server, url, words);
        assert_eq!(result.workload, name);
        let point = &result.points[0];
        assert_eq!(point.problems(&[]), Vec::<String>::new(), "{name}");
        assert_eq!(point.answered_in_window(), SESSIONS, "{name}");
        assert_eq!(
            point.operations[0].entries, SESSIONS,
            "each session finds its person: {name}"
        );
    }
    for (url, words) in [
        (&plain, &["--resume", "-Z", "-c", "1"][..]),
        (&tls, &["--resume", "-c", "1"]),
    ] {
        let result = run(&server, url, words);
        let [full, resumed] = &result.points[0].operations[..] else {
            panic!("two kinds of sessions: {result:?}");
        };
        assert_eq!(full.count + resumed.count, SESSIONS);
        // slapd keeps no sessions.
        let expected = if flavor == Flavor::Ironbark { SESSIONS - 1 } else { 0 };
        assert_eq!(resumed.count, expected, "{words:?}");
    }
}

#[test]
fn sessions_run_against_our_server_with_every_protection() {
    every_protection(Flavor::Ironbark);
}

#[test]
fn sessions_run_against_slapd_with_every_protection() {
    every_protection(Flavor::OpenLdap);
}

#[test]
fn sessions_whose_password_is_wrong_are_told() {
    let server = server(Flavor::Ironbark);
    let url = server.url();
    // Names of other people: another seed.
    let words = [
        "load",
        "session",
        "-H",
        &url,
        "--suffix",
        "o=x",
        "--entries",
        "50",
        "--seed",
        "7",
        "-n",
        "5",
    ];
    let outcome = ironbark(&words);
    let said = String::from_utf8_lossy(&outcome.stderr).into_owned();
    assert_eq!(outcome.status.code(), Some(1), "{said}");
    assert!(said.contains("5 session answered with result code 49"), "{said}");
}
