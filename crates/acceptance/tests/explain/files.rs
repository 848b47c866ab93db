//! Secrets in the configuration, files, flushing, listeners.

use std::{fs, os::unix::fs::PermissionsExt};

use super::{LOCAL, RULES, database, explain, private, run};

#[test]
fn passwords_in_clear_text_and_weak_hashes_are_unsafe_and_not_shown() {
    for (stored, words) in [
        ("veryverysecret", "stands in clear text"),
        ("{CLEARTEXT}veryverysecret", "stands in clear text"),
        ("{MD5}veryverysecret", "{MD5}: there is no salt"),
        ("{SHA}veryverysecret", "{SHA}: there is no salt"),
        ("{CRYPT}veryverysecret", "{CRYPT}: DES"),
        ("{NOSUCH}veryverysecret", "no known scheme"),
    ] {
        let found = explain(&database(&format!(
            "rootdn cn=admin,dc=example,dc=com\nrootpw {stored}\n"
        )));
        found.assert_has("slapd.conf:11: unsafe: rootpw: ", words);
        assert!(!found.text.contains("veryverysecret"), "{}", found.text);
        assert_eq!(found.status, 2);
    }
    let good = "{SSHA}DkMTwBl+a/3DQTxCYEApdUtNXGgdUac3";
    assert_eq!(
        explain(&database(&format!(
            "rootdn cn=admin,dc=example,dc=com\nrootpw {good}\n"
        )))
        .status,
        0
    );
    for (schemes, expected) in [("{MD5}", 2), ("{CLEARTEXT}", 2), ("{CRYPT}", 2), ("{SSHA} {ARGON2}", 0)] {
        assert_eq!(
            explain(&format!("password-hash {schemes}\n{RULES}")).status,
            expected,
            "{schemes}"
        );
    }
    let salted = "password-hash {CRYPT}\npassword-crypt-salt-format $6$%.16s\n";
    assert_eq!(explain(&format!("{salted}{RULES}")).status, 0);
}

#[test]
fn a_file_with_a_password_that_everybody_reads_is_unsafe() {
    let layout = private();
    fs::set_permissions(layout.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let text = database("rootdn cn=admin,dc=example,dc=com\nrootpw {SSHA}DkMTwBl+a/3DQTxCYEApdUtNXGgdUac3\n");
    let file = layout.write("slapd.conf", text).unwrap();
    let explained = |mode| {
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        run(layout.path(), &["-f", "slapd.conf", "-h", LOCAL])
    };
    explained(0o644).assert_has("slapd.conf:11: unsafe: rootpw: ", "every user of the machine may read");
    assert_eq!(explained(0o640).status, 0);
    // Other users cannot enter the folder.
    fs::set_permissions(layout.path(), fs::Permissions::from_mode(0o750)).unwrap();
    assert_eq!(explained(0o644).status, 0);
}

#[test]
fn a_database_that_everybody_reads_or_replaces_is_unsafe() {
    let layout = private();
    fs::set_permissions(layout.path(), fs::Permissions::from_mode(0o755)).unwrap();
    layout.write("slapd.conf", database("")).unwrap();
    layout.write("mode.conf", database("mode 0644\n")).unwrap();
    let folder = layout.make_dir("db").unwrap();
    let explained = |file, mode| {
        fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
        run(layout.path(), &["-f", file, "-h", LOCAL])
    };
    assert_eq!(explained("slapd.conf", 0o755).status, 0);
    explained("mode.conf", 0o755).assert_has("mode.conf:10: unsafe: mode: ", "will read the files");
    assert_eq!(explained("mode.conf", 0o700).status, 0);
    explained("slapd.conf", 0o757).assert_has("slapd.conf:7: unsafe: directory: ", "may put files into");
    let file = layout.write("db/data.mdb", "").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o604)).unwrap();
    explained("slapd.conf", 0o755).assert_has("slapd.conf:7: unsafe: directory: ", "data.mdb, passwords included");
    assert_eq!(explained("slapd.conf", 0o750).status, 0);
}

#[test]
fn what_loses_writes_is_unsafe() {
    for (line, words) in [
        ("dbnosync\n", "beyond repair"),
        ("envflags nosync\n", "beyond repair"),
        ("envflags mapasync\n", "beyond repair"),
        ("envflags nometasync\n", "take back the last writes"),
    ] {
        let found = explain(&database(line));
        found.assert_has("slapd.conf:10: unsafe: ", words);
    }
    assert_eq!(explain(&database("dbnosync off\nenvflags nordahead\n")).status, 0);
    for line in [
        "dbnosync",
        "envflags nosync",
        "envflags nometasync",
        "checkpoint 1024 5",
    ] {
        let found = explain(&database(&format!("{line}\ncluster http://127.0.0.1:1\n")));
        found.assert_has("slapd.conf:10: ignored: ", "checkpoints of its own");
    }
}

#[test]
fn features_that_let_clients_in_are_unsafe() {
    for feature in [
        "bind_v2",
        "bind_anon_cred",
        "bind_anon_dn",
        "update_anon",
        "proxy_authz_anon",
    ] {
        let found = explain(&format!("allow {feature}\n{RULES}"));
        found.assert_has("slapd.conf:1: unsafe: allow: ", feature);
        assert_eq!(found.found("unsafe", "allow").len(), 1, "{}", found.text);
    }
}

#[test]
fn passwords_on_the_wire_are_unsafe_where_listeners_are_open() {
    let layout = private();
    layout.write("slapd.conf", database("")).unwrap();
    layout
        .write("none.conf", format!("disallow bind_simple\n{}", database("")))
        .unwrap();
    let explained = |file, urls: &[&str]| run(layout.path(), &[&["-f", file], urls].concat());
    let open = explained("slapd.conf", &["-h", "ldapi:/// ldap:///"]);
    open.assert_has(
        "slapd.conf: unsafe: security: ",
        "cross the network in clear to ldap:///",
    );
    assert_eq!(open.status, 2);
    assert_eq!(explained("slapd.conf", &["-h", LOCAL]).status, 0);
    // Without -h the listeners are unknown.
    let unknown = explained("slapd.conf", &[]);
    unknown.assert_has("slapd.conf: missing: TLSCertificateFile: ", "loopback alone");
    assert_eq!(unknown.status, 0);
    let none = explained("none.conf", &["-h", "ldap:///"]);
    assert_eq!(
        (none.text.as_str(), none.status),
        ("nothing found; the configuration loads\n", 0)
    );
}

#[test]
fn a_certificate_alone_does_not_keep_passwords_from_the_wire() {
    let layout = private();
    let certificate = "TLSCertificateFile /x/cert.pem\nTLSCertificateKeyFile /x/key.pem\n";
    let explained = |settings: &str| {
        layout
            .write("slapd.conf", format!("{certificate}{settings}{}", database("")))
            .unwrap();
        run(layout.path(), &["-f", "slapd.conf", "-h", "ldap:/// ldaps:///"])
    };
    explained("").assert_has("slapd.conf: unsafe: security: ", "Write security simple_bind=128");
    explained("TLSVerifyClient allow\n").assert_has("slapd.conf:3: unsafe: TLSVerifyClient: ", "is let in");
    let demanded = explained("security simple_bind=128\nTLSVerifyClient try\n");
    assert_eq!(
        (demanded.found("unsafe", "security").len(), demanded.status),
        (0, 0),
        "{}",
        demanded.text
    );
}
