//! Lines that are read, shown and refused.

use std::time::Duration;

use ironbark_model::ldap_url::UrlScope;

use super::{LogKind, RetryStep, Syncrepl};
use crate::{
    LoadedConfiguration, connection::BindMethod, load, reader::MemoryFiles, test_overlay::registry,
    test_schema::with_schema,
};

const LEAST: &str = "rid=1 provider=ldap://a searchbase=dc=example,dc=com";

fn configuration(database: &str) -> Result<LoadedConfiguration, String> {
    let text = format!(
        "database mdb\nsuffix dc=example,dc=com\nrootdn cn=root,dc=example,dc=com\ndirectory /srv/d\n{database}\n"
    );
    let files: MemoryFiles = with_schema("slapd.conf", &text);
    load("slapd.conf", &files, registry()).map_err(|error| error.to_string())
}

fn line(words: &str) -> Result<Syncrepl, String> {
    let configuration = configuration(&format!("syncrepl {words}"))?;
    Ok(configuration.databases[0].syncrepl[0].clone())
}

#[test]
fn a_line_says_what_slapd_reads_in_it() {
    let line = line(
        "RID=010 provider=\"ldap://a ldaps://b\" bindmethod=simple binddn=\"cn=r,dc=example,dc=com\" credentials=\"a b\" \
         searchbase=\"ou=x,dc=other\" suffixmassage=ou=y,dc=example,dc=com scope=subord filter=(sn=a) attrs=\"cn, sn,@person\" \
         exattrs=description type=refreshAndPersist interval=01:02:03:04 retry=\"60 10 300 +\" sizelimit=unlimited \
         timelimit=5 schemachecking=on starttls=critical manageDSAit=1 lazycommit",
    )
    .unwrap();
    assert_eq!((line.rid, line.scope, line.persists), (10, UrlScope::Children, true));
    assert_eq!(line.connection.urls.len(), 2);
    assert_eq!(line.connection.bind.credentials.0, b"a b");
    assert_eq!(line.base.pretty(), "ou=x,dc=other");
    assert_eq!(line.local_base().pretty(), "ou=y,dc=example,dc=com");
    assert_eq!((&*line.filter, line.time_limit, line.size_limit), ("(sn=a)", 5, 0));
    assert_eq!(line.attributes, ["cn".into(), "sn".into(), "@person".into()]);
    assert_eq!(line.excluded, ["description".into()]);
    assert_eq!(line.interval, Duration::from_secs(93_784));
    let step = |seconds, count| RetryStep { seconds, count };
    assert_eq!(line.retry, [step(60, Some(10)), step(300, None)]);
    assert!(line.schema_checking);
    assert!(!format!("{line:?}").contains("a b"), "no password in logs");
}

#[test]
fn what_is_not_said_is_as_in_slapd() {
    let line = line(LEAST).unwrap();
    assert_eq!((line.scope, line.persists), (UrlScope::Subtree, false));
    assert_eq!(line.interval, Duration::from_hours(24));
    assert_eq!(line.filter, "(objectclass=*)");
    assert_eq!(line.connection.bind.method, BindMethod::Simple);
    assert!(line.attributes.is_empty() && line.retry.is_empty() && !line.schema_checking);
}

#[test]
fn a_log_is_followed_if_the_line_says_so() {
    let with = |words: &str| line(&format!("{LEAST} {words}")).unwrap().log;
    let log = with("syncdata=accesslog logbase=cn=log logfilter=(reqResult=0)").unwrap();
    assert_eq!((log.base.pretty(), &*log.filter), ("cn=log", "(reqResult=0)"));
    assert!(!log.strict_refresh);
    assert!(
        with("syncdata=accesslog logbase=cn=log StrictRefresh")
            .unwrap()
            .strict_refresh
    );
    let usual = with("logbase=cn=log syncdata=AccessLog").unwrap();
    assert_eq!(usual.filter, "(&(objectClass=auditWriteObject)(reqResult=0))");
    let changelog = with("syncdata=changelog logfilter=(a=b)").unwrap();
    assert_eq!(
        (changelog.kind, changelog.base.pretty()),
        (LogKind::Changelog, "cn=changelog")
    );
    assert_eq!(with("syncdata=default"), None);
    assert_eq!(with("logbase=cn=log"), None);
}

#[test]
fn types_without_values_are_no_entries() {
    let refused = line(&format!("{LEAST} attrsonly")).unwrap_err();
    assert!(
        refused.contains("attrsonly: an entry without values cannot be stored"),
        "{refused}"
    );
}

#[test]
fn the_text_of_a_line_is_the_line() {
    for words in [
        LEAST.to_owned(),
        format!("{LEAST} credentials=\"a b\" filter=\"(cn=a \\\"b)\" interval=1d2h"),
        format!("{LEAST} retry=\"5 5 300 +\" attrs=*,+ binddn=\"\""),
        format!("{LEAST} type=dirSync interval=00:00:00:03"),
    ] {
        let first = line(&words).unwrap();
        let configuration = configuration(&format!("syncrepl {words}")).unwrap();
        let tree = crate::olc::render(&configuration);
        let again = crate::olc::load(&tree).unwrap();
        assert_eq!(again.databases[0].syncrepl, [first], "{words}");
    }
}

#[test]
fn wrong_lines_are_refused_with_the_reason() {
    for (words, reason) in [
        ("rid=1", "missing provider searchbase"),
        (
            "rid=1000 provider=ldap://a searchbase=dc=a",
            "syncrepl id 1000 is out of range [0..999]",
        ),
        (
            "rid=-1 provider=ldap://a searchbase=dc=a",
            "unable to parse syncrepl id \"-1\"",
        ),
        (
            "rid=1 provider=ldap://a searchbase=nothing",
            "Invalid base DN \"nothing\"",
        ),
        (
            "rid=1 provider=ldap://a searchbase=dc=other",
            "Base DN \"dc=other\" is not within the database",
        ),
        (
            &format!("{LEAST} suffixmassage=dc=other"),
            "Massage DN \"dc=other\" is not within the database",
        ),
        (&format!("{LEAST} scope=all"), "unknown scope \"all\""),
        (&format!("{LEAST} filter=(cn"), "filter: unable to parse filter=\"(cn\""),
        (&format!("{LEAST} type=sometimes"), "unknown sync type \"sometimes\""),
        (
            &format!("{LEAST} interval=1:2:3"),
            "interval: invalid interval \"1:2:3\"",
        ),
        (&format!("{LEAST} interval=00:25:00:00"), "unable to parse hours"),
        (&format!("{LEAST} interval=soon"), "invalid interval \"soon\""),
        (&format!("{LEAST} retry=60"), "incomplete syncrepl retry list"),
        (&format!("{LEAST} retry=\"0 +\""), "invalid retry interval \"0\""),
        (&format!("{LEAST} retry=\"5 x\""), "invalid initial retry number \"x\""),
        (&format!("{LEAST} sizelimit=many"), "sizelimit: invalid limit \"many\""),
        (&format!("{LEAST} attrs=nothing"), "attrs: \"nothing\" is not known"),
        (&format!("{LEAST} manageDSAit=2"), "invalid manageDSAit value \"2\""),
        (&format!("{LEAST} bindmethod=strong"), "bindmethod: "),
        (&format!("{LEAST} color=red"), "unable to parse \"color\""),
        (
            &format!("{LEAST} syncdata=accesslog"),
            "syncdata=accesslog needs a logbase",
        ),
        (&format!("{LEAST} syncdata=some"), "unknown sync data type \"some\""),
        (
            &format!("{LEAST} syncdata=accesslog logbase=cn=log logfilter=(a"),
            "logfilter: unable to parse filter=\"(a\"",
        ),
        (&format!("{LEAST} logbase=log"), "Invalid logbase DN \"log\""),
        (&format!("{LEAST}\nupdatedn cn=a"), "cannot be used with syncrepl"),
    ] {
        let error = line(words).unwrap_err();
        assert!(error.contains(reason), "{words}: {error}");
        assert!(error.starts_with("slapd.conf: line "), "{error}");
    }
}

#[test]
fn active_directory_is_followed_by_its_own_control() {
    let line = line(&format!(
        "{LEAST} filter=(cn=a) TYPE=dirsync interval=00:00:00:03 schemachecking=off"
    ))
    .unwrap();
    assert!(line.dir_sync && !line.persists && line.log.is_none());
    assert_eq!((line.interval, &*line.filter), (Duration::from_secs(3), "(cn=a)"));
    assert_eq!(line.other_kind(), Some("type=dirSync"));
}

#[test]
fn a_provider_of_another_kind_is_followed_whole_and_alone() {
    for (words, reason) in [
        (
            &format!("{LEAST} type=dirSync scope=one"),
            "type=dirSync takes no scope",
        ),
        (
            &format!("{LEAST} type=dirSync syncdata=changelog"),
            "type=dirSync takes no syncdata",
        ),
        (
            &format!("{LEAST} type=dirSync\nmultiprovider on"),
            "type=dirSync cannot be used with multiprovider",
        ),
        (
            &format!("{LEAST} type=dirSync\nsyncrepl rid=2 provider=ldap://a searchbase=dc=example,dc=com"),
            "type=dirSync must be the only syncrepl of its database",
        ),
        (
            &format!("{LEAST} syncdata=changelog filter=(sn=a)"),
            "syncdata=changelog takes neither scope nor filter",
        ),
        (
            &format!("{LEAST} syncdata=changelog scope=one"),
            "syncdata=changelog takes neither scope nor filter",
        ),
        (
            &format!("{LEAST} syncdata=changelog\nmultiprovider on"),
            "syncdata=changelog cannot be used with multiprovider",
        ),
        (
            &format!("{LEAST} syncdata=changelog\nsyncrepl rid=2 provider=ldap://a searchbase=dc=example,dc=com"),
            "syncdata=changelog must be the only syncrepl of its database",
        ),
    ] {
        let error = line(words).unwrap_err();
        assert!(error.contains(reason), "{words}: {error}");
    }
}

#[test]
fn a_consumer_needs_a_rootdn() {
    let database = |rootdn: &str, name: &str| {
        format!(
            "database mdb\nsuffix dc={name}\ndirectory /srv/{name}\n{rootdn}\n\
             syncrepl rid=1 provider=ldap://a searchbase=dc={name}\n"
        )
    };
    let loaded = |text: &str| {
        let loaded = load("slapd.conf", &with_schema("slapd.conf", text), registry());
        loaded.map(|_| ()).map_err(|error| error.to_string())
    };
    let error = loaded(&database("", "a")).unwrap_err();
    assert!(error.contains("rootDN must be defined"), "{error}");
    loaded(&(database("rootdn cn=r", "a") + &database("rootdn cn=r", "b"))).unwrap();
}

/// slapd follows both lines, in one database as in two.
#[test]
fn lines_with_one_rid_have_numbers_of_their_own() {
    let read = configuration(&format!(
        "syncrepl {LEAST}\nsyncrepl rid=2 provider=ldap://b searchbase=dc=example,dc=com\nsyncrepl {LEAST}"
    ))
    .unwrap();
    let numbers: Vec<u16> = read.databases[0].syncrepl.iter().map(Syncrepl::number).collect();
    assert_eq!(numbers, [1, 2, 1001]);
    let notices: Vec<String> = read.notices.iter().map(ToString::to_string).collect();
    assert!(
        notices[..]
            .iter()
            .any(|notice| notice.contains("an earlier line has rid=001 too")),
        "{notices:?}"
    );
    let many = vec![format!("syncrepl {LEAST}"); 65].join("\n");
    assert!(
        configuration(&many)
            .unwrap_err()
            .contains("too many lines have rid=001")
    );
}

/// With such a word each attempt of slapd to connect fails.
#[test]
fn a_word_for_tls_without_a_meaning_is_told() {
    let read = configuration(&format!("syncrepl {LEAST} tls_reqcert=maybe")).unwrap();
    assert!(read.databases[0].syncrepl[0].connection.unusable.is_some());
    let notices: Vec<String> = read.notices.iter().map(ToString::to_string).collect();
    assert!(
        notices
            .iter()
            .any(|notice| notice.contains("tls_reqcert: \"maybe\" is none of never")),
        "{notices:?}"
    );
}

#[test]
fn only_a_copy_without_writers_of_its_own_is_a_shadow() {
    let is_shadow = |lines: &str| configuration(lines).unwrap().databases[0].is_shadow();
    assert!(!is_shadow(""));
    assert!(is_shadow(&format!("syncrepl {LEAST}")));
    assert!(!is_shadow(&format!("mirrormode on\nsyncrepl {LEAST}")));
    assert!(!is_shadow(&format!("syncrepl {LEAST}\nmultiprovider on")));
    assert!(is_shadow("updatedn cn=a"));
}
