//! Invalid settings of overlays, and log lines about unwise ones.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use ironbark_config::{ConfigError, LoadedConfiguration, MemoryFiles, load};
use ironbark_overlays::registry;

/// Reads a file, with the schema that operators include first.
fn read(text: &str) -> Result<LoadedConfiguration, ConfigError> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schema/");
    let mut files = MemoryFiles::file("slapd.conf", format!("{text}\ninclude core\ninclude cosine\n"));
    for name in ["core", "cosine"] {
        files = files.and(name, std::fs::read_to_string(format!("{folder}{name}.schema")).unwrap());
    }
    load("slapd.conf", &files, &registry())
}

fn loaded(lines: &str) -> Result<Vec<String>, String> {
    let text = format!("database mdb\nsuffix dc=x\ndirectory /tmp/x\n{lines}\n");
    let configuration = read(&text).map_err(|error| error.to_string())?;
    let notices = configuration.notices.iter();
    Ok(notices
        .map(|notice| format!("{}{}", notice.subject, notice.text))
        .collect())
}

#[track_caller]
fn refused(lines: &str, reason: &str) {
    let error = loaded(lines).unwrap_err();
    assert!(error.ends_with(reason), "{lines}: {error}");
}

#[test]
fn domains_that_cannot_be_are_refused_in_the_words_of_slapd() {
    for (value, reason) in [
        (
            "ldap:///?mail?base",
            "unique: uri with base scope will always be unique",
        ),
        ("ldap:///?mail", "unique: uri with base scope will always be unique"),
        ("ldap://host/?mail?sub", "host <host> not allowed in URI"),
        (
            "ldap:///dc=y?mail?sub",
            "dn <dc=y> is not a suffix of backend base dn <dc=x>",
        ),
        (
            "ldap:///?nosuch?sub",
            "unique: attribute: nosuch: attribute type undefined",
        ),
        ("ldap:///?sn?sub?((cn=e*))", "unique: bad filter"),
        ("nonsense", "<nonsense> invalid ldap urilist"),
        ("\"strict \"", "<> invalid ldap urilist"),
    ] {
        refused(&format!("overlay unique\nunique_uri {value}"), reason);
    }
    refused("overlay unique\nunique_base dc=y", "dn is not a suffix of backend base");
}

#[test]
fn old_and_new_forms_do_not_mix() {
    let uri = "unique_uri ldap:///?mail?sub";
    for old in [
        "unique_base dc=x",
        "unique_attributes mail",
        "unique_ignore mail",
        "unique_strict TRUE",
    ] {
        refused(
            &format!("overlay unique\n{uri}\n{old}"),
            "cannot set legacy attrs when URIs are present",
        );
        refused(
            &format!("overlay unique\n{old}\n{uri}"),
            "cannot set Uri when legacy attrs are present",
        );
    }
    refused(
        "overlay unique\nunique_attributes mail\nunique_ignore sn",
        "cannot set both attrs and ignore-attrs",
    );
}

#[test]
fn a_frontend_has_no_base() {
    let text = "overlay unique\nunique_base dc=x\ndatabase mdb\nsuffix dc=x\ndirectory /tmp/x\n";
    let error = read(text).unwrap_err().to_string();
    assert!(error.ends_with("suffix must be set"), "{error}");
}

#[test]
fn an_attribute_without_an_index_is_spoken_of() {
    let missing = |overlay: &str, name: &str| {
        format!("overlay {overlay}: \"{name}\" has no eq index: many writes will read all entries")
    };
    assert_eq!(
        loaded(
            "index sn,member pres\nindex mail eq\noverlay unique\nunique_uri ldap:///?mail,sn,objectClass?sub\noverlay refint\nrefint_attributes member"
        ),
        Ok(vec![missing("unique", "sn"), missing("refint", "member")])
    );
    assert_eq!(
        loaded("index name eq\noverlay unique\nunique_uri ldap:///?cn?sub\nunique_uri \"ignore ldap:///?mail?sub\""),
        Ok(vec![]),
        "an index of a supertype serves"
    );
    assert_eq!(
        loaded("index name eq,nosubtypes\noverlay unique\nunique_attributes cn"),
        Ok(vec![missing("unique", "cn")])
    );
}

#[test]
fn attributes_that_refint_cannot_follow_are_spoken_of_or_refused() {
    refused(
        "overlay refint\nrefint_attributes member nosuch",
        "refint_attributes <nosuch>: attribute type undefined",
    );
    let notices = loaded("index member,mail eq\noverlay refint\nrefint_attributes member mail").unwrap();
    assert_eq!(
        notices,
        ["<refint_attributes> values of \"mail\" are no names: nothing will follow them"]
    );
}

#[test]
fn forwarding_of_a_binds_changes_is_taken_and_told() {
    let told = "the changes of a bind are not sent to a provider: each server counts its own";
    for (line, expected) in [
        ("ppolicy_forward_updates", true),
        ("ppolicy_forward_updates off", false),
    ] {
        let notices = loaded(&format!("overlay ppolicy\n{line}")).unwrap();
        assert_eq!(
            notices.iter().any(|text| text.ends_with(told)),
            expected,
            "{line}: {notices:?}"
        );
    }
}

const AUTOMEMBER: &str = "overlay automember\nautomember-scope dc=x\nautomember-filter (objectClass=person)\n";

#[test]
fn an_expression_of_automember_is_not_one_of_perl_and_keeps_its_backslashes() {
    let lines = |expression: &str| format!("{AUTOMEMBER}automember-inclusive-regex cn=g,dc=x {expression}");
    for (expression, reason) in [
        (r"uid=^\d+$", r#""^d+$": slapd.conf makes "d" of "\d": write [0-9]"#),
        (r#""uid=^\d+$""#, r#""^d+$": slapd.conf makes "d" of "\d": write [0-9]"#),
        (
            r"uid=^[a-z]+\.x$",
            r#""^[a-z]+.x$": slapd.conf makes "." of "\.": write [.], or two backslashes"#,
        ),
        (
            r"uid=\bx",
            r#"slapd.conf makes "b" of "\b": POSIX extended expressions have no "\b""#,
        ),
        (
            r"uid=^\\d+$",
            r#""^\d+$": "\d" is not in POSIX extended expressions: write [0-9]"#,
        ),
        (
            r"uid=^\\W$",
            r#""^\W$": "\W" is not in POSIX extended expressions: write [^[:alnum:]_]"#,
        ),
        ("uid=(?i)x", r#""(?i)x": "(?" is not in POSIX extended expressions"#),
    ] {
        refused(&lines(expression), reason);
    }
    for expression in [r"uid=^[0-9]+$", r#""uid=^[a-z]+\\.x$""#, r"uid=^a\,b", r"uid=a\ b"] {
        assert_eq!(loaded(&lines(expression)), Ok(Vec::new()), "{expression}");
    }
    // The name of the group is no expression.
    let named = lines("uid=^a").replace("cn=g,", r"cn=\g,");
    assert_eq!(loaded(&named), Ok(Vec::new()));
}

#[test]
fn a_backslash_that_slapd_takes_away_too_is_told() {
    let told = r#"in slapd.conf "\d" is "d": write [0-9]"#;
    for lines in [
        r"overlay constraint
constraint_attribute cn regex ^\d+$",
        r"overlay homedir
homedir-regexp ^(/home/\d+)$ /export$1",
        r"overlay sock
socketpath /tmp/x
sockops delete
sockdnpat ^uid=\d+,",
        r"limits dn.regex=^uid=\d+,dc=x$ size=1",
        r#"access to dn.regex="^uid=\d+,dc=x$" by * read"#,
        r#"access to * by dn.regex="^uid=\d+,dc=x$" read"#,
        r"authz-regexp ^uid=\d+,cn=auth$ cn=a,dc=x",
    ] {
        let notices = loaded(lines).unwrap();
        assert!(
            notices.iter().any(|notice| notice.ends_with(told)),
            "{lines}: {notices:?}"
        );
        let clean = loaded(&lines.replace(r"\d", "[0-9]")).unwrap();
        assert!(
            clean.iter().all(|notice| !notice.contains("slapd.conf \"")),
            "{clean:?}"
        );
    }
}

#[test]
fn a_negative_constraint_is_no_limit() {
    let configuration = |value: &str| loaded(&format!("overlay constraint\nconstraint_attribute cn,sn {value}"));
    for value in ["count -1", "size -1"] {
        let notices = configuration(value).unwrap();
        assert!(
            notices[0].ends_with("\"-1\" sets no limit: as in slapd it is read as 18446744073709551615"),
            "{notices:?}"
        );
    }
    for value in ["count 0", "count -0", "size +5", "size 99999999999999999999"] {
        assert_eq!(configuration(value), Ok(Vec::new()), "{value}");
    }
    for value in ["count x", "count -", "count 5x", "size \"\""] {
        assert!(configuration(value).unwrap_err().ends_with("is no number"), "{value}");
    }
}

#[test]
fn a_default_policy_may_be_none() {
    assert_eq!(loaded("overlay ppolicy\nppolicy_default"), Ok(Vec::new()));
    assert_eq!(loaded("overlay ppolicy\nppolicy_default \"\""), Ok(Vec::new()));
}
