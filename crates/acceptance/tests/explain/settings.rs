//! Wrong, unknown, ignored or old statements, one by one.

use super::{database, explain, private, run};
#[test]
fn every_error_is_listed_in_the_order_of_the_file() {
    let found = explain(
        "nonsense 1\nsizelimit many\nmoduleload nosuch\nmoduleload pw-radius\ninclude /no/such/file\nTLSCertificateFile\n\"open\n\
         attributetype ( 1.2.3 NAME 'broken\ndatabase nosuch\nits-own 1\nindex cn eq\ndatabase mdb\nsuffix bad\nindex nosuch eq\n\
         overlay nosuch\nits-own 1\naccess to nothing=x by * read\naccess to * by * read\n",
    );
    assert_eq!(found.status, 1);
    for (start, words) in [
        ("slapd.conf:1: unknown: nonsense: ", "the server does not start with it"),
        ("slapd.conf:2: wrong: sizelimit: ", "unable to parse limit"),
        ("slapd.conf:3: unknown: moduleload: ", "\"nosuch\" is not known"),
        ("slapd.conf:4: unknown: moduleload: ", "pw-radius"),
        ("slapd.conf:5: wrong: include: ", "/no/such/file"),
        ("slapd.conf:7: wrong: ", "unterminated quoted string"),
        ("slapd.conf:8: wrong: schema: ", "closing quote"),
        ("slapd.conf:9: unknown: database: ", "was not checked"),
        ("slapd.conf:12: wrong: database: ", "needs a suffix"),
        ("slapd.conf:13: wrong: suffix: ", "\"bad\""),
        ("slapd.conf:14: wrong: index: ", "\"nosuch\" undefined"),
        ("slapd.conf:15: unknown: overlay: ", "nosuch"),
        ("slapd.conf:16: unknown: its-own: ", "may belong to overlay nosuch"),
        ("slapd.conf:17: wrong: access: ", "nothing=x"),
    ] {
        found.assert_has(start, words);
    }
    assert!(
        !found.text.contains("slapd.conf:10:") && !found.text.contains("slapd.conf:11:"),
        "{}",
        found.text
    );
    let lines: Vec<u32> = found
        .text
        .lines()
        .filter_map(|line| line.strip_prefix("slapd.conf:")?.split(':').next()?.parse().ok())
        .collect();
    assert!(lines.is_sorted() && lines.len() >= 14, "{lines:?}");
    found.assert_has("", "; the configuration does not load");
}

#[test]
fn a_part_that_is_not_built_is_unknown_and_named() {
    let found = explain(&database("overlay rwm\nrwm-rewriteEngine on\ncryptkey x\n"));
    found.assert_has("slapd.conf:10: unknown: overlay: ", "rwm");
    found.assert_has(
        "slapd.conf:11: unknown: rwm-rewriteEngine: ",
        "may belong to overlay rwm",
    );
    found.assert_has("slapd.conf:12: unknown: cryptkey: ", "database encryption");
    assert_eq!(found.status, 1);
}

#[test]
fn what_has_no_meaning_is_ignored_with_its_reason() {
    let found = explain(&database(
        "cachesize 1000\nidlcachesize 3\ncheckpoint 1024 5\nenvflags writemap\n",
    ));
    for (line, setting, words) in [
        (10, "cachesize", "there is no cache to tune"),
        (11, "idlcachesize", "there is no cache to tune"),
        (12, "checkpoint", "without dbnosync"),
        (13, "envflags", "full disk"),
    ] {
        found.assert_has(&format!("slapd.conf:{line}: ignored: {setting}: "), words);
    }
    found.assert_has("4 ignored; the configuration loads", "");
    assert_eq!(found.status, 0);
    // Default values give no findings, and a checkpoint is for dbnosync.
    let found = explain(&database(
        "reverse-lookup off\nrtxnsize 10000\ndbnosync\ncheckpoint 1024 5\n",
    ));
    assert!(!found.text.contains("ignored"), "{}", found.text);
}

#[test]
fn old_directives_and_forms_come_with_the_modern_one() {
    let old = "schemacheck on\ndefaultaccess read\nmoduleload back_bdb\nreplogfile /x\nTLSCipherSuite HIGH:+SSLv3:!RC4\n\
        TLSProtocolMin 3.1\ndatabase hdb\nsuffix o=x\ndirectory x\naccess to attr=userPassword by self =xw by * auth\n\
        access to dn=\".*,o=x\" by * read\naccess to * by dn.regex=.+ read\noverlay unique\nunique_attributes cn\nindex cn eq\n";
    let found = explain(old);
    for (line, setting, words) in [
        (1, "schemacheck", "the server does not start with it. Leave it out"),
        (2, "defaultaccess", "access to * by * <access>"),
        (3, "moduleload", "back_mdb"),
        (4, "replogfile", "syncrepl"),
        (5, "TLSCipherSuite", "asks for SSLv3, which"),
        (6, "TLSProtocolMin", "TLSProtocolMin 3.3"),
        (7, "database", "database mdb"),
        (10, "access", "\"attr\" is an old name of \"attrs\""),
        (11, "access", "regular expression before"),
        (12, "access", "Write users"),
        (14, "unique_attributes", "unique_uri"),
    ] {
        found.assert_has(&format!("slapd.conf:{line}: old: {setting}: "), words);
    }
}

#[test]
fn json_has_the_same_findings_under_stable_keys() {
    let layout = private();
    layout.write("slapd.conf", "nonsense 1\nallow bind_anon_dn\n").unwrap();
    let found = run(
        layout.path(),
        &["--explain=json", "-f", "slapd.conf", "-h", super::LOCAL],
    );
    let value: serde_json::Value = serde_json::from_str(&found.text).unwrap();
    assert_eq!(found.status, 1);
    assert_eq!(value["loads"], false);
    assert_eq!(value["summary"]["unknown"], 1);
    assert_eq!(value["summary"]["unsafe"], 1);
    assert_eq!(value["summary"]["old"], 0);
    let first = &value["findings"][0];
    assert_eq!(first["class"], "unknown");
    assert_eq!((&first["file"], &first["line"]), (&"slapd.conf".into(), &1.into()));
    assert_eq!(
        (&first["setting"], &first["blocks"]),
        (&"nonsense".into(), &true.into())
    );
    assert!(first["dn"].is_null() && first["reason"].is_string() && first["advice"].is_string());
}

#[test]
fn the_command_line_is_checked() {
    let layout = private();
    layout.write("slapd.conf", super::RULES).unwrap();
    for arguments in [
        &["--explain=xml", "-f", "slapd.conf"][..],
        &["-f", "slapd.conf", "-F", "."],
        &["-f", "slapd.conf", "-n", "1"],
        &["-f", "slapd.conf", "--log"],
        &["-f", "slapd.conf", "--log", "/no/such/log"],
        &["-f", "/no/such/file"],
        &["-F", "/no/such/directory"],
        &["-f", "slapd.conf", "operand"],
    ] {
        assert_eq!(run(layout.path(), arguments).status, 1, "{arguments:?}");
    }
    let quiet = run(layout.path(), &["-Q", "-f", "slapd.conf"]);
    assert_eq!((quiet.text.as_str(), quiet.status), ("", 0));
}
