//! Postfix's ldap: maps, asked by `postmap -q`.

use std::{fs::File, path::PathBuf, time::UNIX_EPOCH};

use ironbark_testkit::{Flavor, Server};

use super::{program, run, started};

/// A map of addresses to users; `lines` override the defaults.
fn map(server: &Server, name: &str, lines: &str) -> String {
    let host = format!("server_host = {}", server.url().trim_end_matches('/'));
    let usual = [
        &host,
        "search_base = dc=example,dc=com",
        "query_filter = (mail=%s)",
        "result_attribute = uid",
    ];
    let key = |line: &str| line.split(" =").next().map(str::to_owned);
    let kept = usual
        .iter()
        .filter(|usual| !lines.lines().any(|line| key(line) == key(usual)));
    let text = kept.fold(String::from("version = 3\n"), |text, line| text + line + "\n") + lines;
    format!("ldap:{}", file(server, name, &text).display())
}

/// Gives the file an old date: Postfix waits after a recent change.
fn file(server: &Server, name: &str, text: &str) -> PathBuf {
    let path = server.layout().write(name, text).unwrap();
    let file = File::options().write(true).open(&path).unwrap();
    file.set_modified(UNIX_EPOCH).unwrap();
    path
}

/// Exit status, answer, and complaint of a query.
fn ask(server: &Server, map: &str, key: &str) -> (Option<i32>, String, String) {
    let mut postmap = program("/usr/sbin/postmap", "postfix-ldap");
    let folder = server.layout().make_dir("postfix").unwrap();
    file(server, "postfix/main.cf", "compatibility_level = 3.6\n");
    run(postmap.arg("-c").arg(folder).args(["-q", key, map]))
}

/// Addresses and the expected results.
type Answers = &'static [(&'static str, &'static str)];

const BIND: &str = "bind = yes\nbind_dn = uid=ann,ou=people,dc=example,dc=com\nbind_pw = pencil\n";

#[test]
fn postfix_finds_users_aliases_and_lists() {
    let servers = [Flavor::Ironbark, Flavor::OpenLdap].map(|flavor| started(flavor, ("", "")));
    let authority = |server: &Server| server.layout().join("ca.crt").display().to_string();
    let cases: [(&str, &str, Answers); 6] = [
        (
            "users",
            "",
            &[
                ("ann@example.com", "ann\n"),
                ("nobody@example.com", ""),
                ("a*@example.com", ""),
                ("x)(uid=*", ""),
            ],
        ),
        (
            "bound",
            BIND,
            &[
                ("ann@example.com", "ann\n"),
                ("bob@example.com", "bob\n"),
                ("nobody@example.com", ""),
            ],
        ),
        (
            "addresses",
            "query_filter = (uid=%u)\nresult_attribute = mail\ndomain = example.com\n",
            &[
                ("ann@example.com", "ann@example.com,ann.lee@example.com\n"),
                ("eve@example.org", ""),
            ],
        ),
        (
            "lists",
            "query_filter = (&(objectClass=groupOfNames)(mail=%s))\nresult_attribute =\nspecial_result_attribute = member, labeledURI\n\
             leaf_result_attribute = mail\n",
            &[(
                "writers@example.com",
                "ann@example.com,ann.lee@example.com,bob@example.com,eve@example.org\n",
            )],
        ),
        (
            "starttls",
            "start_tls = yes\ntls_require_cert = yes\n",
            &[("ann@example.com", "ann\n")],
        ),
        (
            "form",
            "result_format = %s@home\nsize_limit = 1\nscope = sub\n",
            &[("eve@example.org", "eve@home\n")],
        ),
    ];
    for server in &servers {
        for (name, lines, keys) in cases {
            let map = map(
                server,
                name,
                &format!("{lines}tls_ca_cert_file = {}\n", authority(server)),
            );
            for (key, found) in keys {
                let code = Some(i32::from(found.is_empty()));
                let expected = (code, (*found).to_owned(), String::new());
                assert_eq!(ask(server, &map, key), expected, "{} {name} {key}", server.flavor());
            }
        }
    }
}

/// A mail server must not take an error for an unknown address: it would return mail.
#[test]
fn postfix_tells_errors_from_unknown_addresses() {
    let mut server = started(Flavor::Ironbark, ("", ""));
    let wrong = map(&server, "wrong", &BIND.replace("pencil", "wrong"));
    let strange = map(
        &server,
        "strange",
        "start_tls = yes\ntls_require_cert = yes\ntls_ca_cert_file = /dev/null\n",
    );
    let elsewhere = map(&server, "elsewhere", "search_base = dc=example,dc=org\n");
    for (map, complaint) in [
        (&wrong, "49 (Invalid credentials)"),
        (&strange, "Unable to set STARTTLS"),
        (&elsewhere, "query error"),
    ] {
        let (code, stdout, stderr) = ask(&server, map, "ann@example.com");
        assert_eq!((code, stdout.as_str()), (Some(1), ""), "{map}");
        assert!(stderr.contains(complaint), "{map} {stderr}");
    }
    let users = map(&server, "users", "timeout = 2\n");
    server.stop().unwrap();
    let (code, _, stderr) = ask(&server, &users, "ann@example.com");
    assert!(
        code == Some(1) && stderr.contains("Can't contact LDAP server"),
        "{stderr}"
    );
}
