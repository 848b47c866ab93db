//! Whole configurations: typical files of operators, and the text of refusals.

use std::path::PathBuf;

use proptest::prelude::*;

use super::{LoadedConfiguration, load};
use crate::{
    Allow, ConfigError, EnvironmentFlags, IndexKinds, LogLevel, MemoryFiles, Require, ServerId, SettingError,
    Subordinate,
    access::{AccessLevel, GrantKind, NameCondition, Who},
    kinds::{LDIF, MDB, MONITOR, NULL, NullConfig},
    limits::{HardLimit, LimitsSelector, UncheckedLimit},
    test_overlay::{Sample, Single, registry},
    test_schema::with_schema,
};

fn loaded(text: &str) -> LoadedConfiguration {
    load("slapd.conf", &with_schema("slapd.conf", text), registry()).unwrap_or_else(|error| panic!("{error}"))
}

fn refusal(text: &str) -> String {
    load("slapd.conf", &with_schema("slapd.conf", text), registry())
        .unwrap_err()
        .to_string()
}

/// The error of a whole file with one line in a database.
fn in_database(line: &str) -> String {
    let text = format!("database mdb\nsuffix dc=example,dc=com\nrootdn cn=Manager,dc=example,dc=com\n{line}\n");
    refusal(&text)
        .strip_prefix("slapd.conf: line 4: ")
        .unwrap_or("another line")
        .to_owned()
}

const SCHEMA: &str = "objectidentifier exRoot 1.3.6.1.4.1.32473\n\
    attributetype ( 1.3.6.1.4.1.32473.1.1\n  NAME 'shoeSize'\n  EQUALITY integerMatch\n  SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 )\n\
    objectclass ( 1.3.6.1.4.1.32473.1.2 NAME 'walker' SUP top AUXILIARY MAY shoeSize )\n";

/// A provider of the kind that OpenLDAP's tests start most often.
#[test]
fn a_plain_server_loads() {
    let text = "# a plain server\n\
        include ./schema/example.schema\n\
        pidfile ./run/slapd.1.pid\nargsfile ./run/slapd.1.args\n\
        sockbuf_max_incoming 4194303\n\
        loglevel stats sync\nmodulepath /usr/lib/ldap\nmoduleload back_mdb.la\n\
        database mdb\n\
        suffix \"dc=example,dc=com\"\nrootdn \"cn=Manager,dc=example,dc=com\"\nrootpw secret\n\
        directory ./db.1.a\nindex objectClass eq\nindex cn,sn,uid pres,eq,sub\nindex shoeSize eq\nmaxsize 33554432\n\
        \n\
        database monitor\n";
    let files = with_schema("slapd.conf", text).and("./schema/example.schema", SCHEMA);
    let configuration = load("slapd.conf", &files, registry()).unwrap();
    let global = &configuration.global;
    assert_eq!(global.pid_file, Some(PathBuf::from("./run/slapd.1.pid")));
    assert_eq!(global.max_incoming, 4_194_303);
    assert_eq!(global.log_level, Some(LogLevel::STATS.with(LogLevel::SYNC)));
    assert_eq!(global.modules, ["back_mdb.la"]);
    let [mdb, monitor] = &configuration.databases[..] else {
        panic!("two databases")
    };
    assert_eq!((mdb.kind, monitor.kind), (&MDB, &MONITOR));
    assert_eq!(mdb.suffixes[0].pretty(), "dc=example,dc=com");
    assert_eq!(mdb.root_password.as_ref().unwrap().0, b"secret");
    assert_eq!(format!("{:?}", mdb.root_password), "Some(Secret(***))");
    assert_eq!(mdb.directory, PathBuf::from("./db.1.a"));
    assert_eq!(mdb.mdb.max_size, Some(33_554_432));
    let names: Vec<&str> = mdb.mdb.indexes.iter().map(|index| &*index.attribute).collect();
    assert_eq!(names, ["objectClass", "cn", "sn", "uid", "shoeSize"]);
    let kinds = IndexKinds::PRESENCE
        .with(IndexKinds::EQUALITY)
        .with(IndexKinds::SUBSTRINGS);
    assert_eq!(mdb.mdb.indexes[1].kinds, kinds);
    assert_eq!(monitor.suffixes[0].pretty().to_ascii_lowercase(), "cn=monitor");
    assert!(configuration.schema_definitions.len() >= 3);
    let notices: Vec<String> = configuration.notices.iter().map(ToString::to_string).collect();
    assert_eq!(
        notices,
        ["slapd.conf: line 7: <modulepath> has no meaning here: modules are part of the program"]
    );
}

/// An OpenLDAP 2.4 file with Berkeley DB tuning, slurpd leftovers and SASL mapping.
#[test]
fn an_old_file_loads_and_says_what_it_ignores() {
    let text = "allow bind_v2\nucdata-path ./ucdata\nconcurrency 10\nsasl-regexp uid=([^,]*) uid=$1\nthreads 8\nidletimeout 60\n\
        index_substr_any_len 3\n\
        database hdb\nsuffix dc=example,dc=com\ndirectory /var/lib/ldap\ncachesize 20000\nidlcachesize 60000\n\
        checkpoint 1024 5\ndbconfig set_cachesize 0 1048576 0\nshm_key 42\ndirtyread\nlinearindex\nmode 0640\n\
        replogfile /var/lib/ldap/replog\nindex default pres,eq\nindex uid\ndbnosync\nsearchstack 8\n";
    let configuration = loaded(text);
    assert_eq!(configuration.global.allow, Allow::BIND_V2);
    assert_eq!(configuration.global.threads, Some(8));
    let mdb = &configuration.databases[0].mdb;
    assert_eq!(mdb.mode, 0o640);
    assert_eq!(mdb.flags, EnvironmentFlags::NO_SYNC);
    assert_eq!(mdb.checkpoint.unwrap().minutes, 5);
    assert_eq!(mdb.indexes[0].kinds, IndexKinds::PRESENCE.with(IndexKinds::EQUALITY));
    let lines: Vec<u32> = configuration
        .notices
        .iter()
        .map(|notice| notice.location.line)
        .collect();
    assert_eq!(lines, [2, 3, 7, 11, 12, 14, 15, 16, 17, 19, 23]);
}

/// slapd's `int` has a sign.
#[test]
fn negative_numbers_are_taken_as_slapd_takes_them() {
    let text = "idletimeout -1\nwritetimeout -1\nconn_max_pending -1\nconn_max_pending_auth -2\nlocalSSF -1\n\
        tool-threads -1\nconcurrency -1\nsizelimit -1\ntimelimit -1\ntcp-buffer -1\n\
        database mdb\nsuffix dc=a\ndirectory a\nmaxderefdepth -1\n";
    let configuration = loaded(text);
    let global = &configuration.global;
    assert_eq!((global.idle_timeout_s, global.write_timeout_s), (-1, -1));
    assert_eq!((global.max_pending, global.max_pending_authenticated), (-1, -2));
    assert_eq!((global.local_ssf, global.tool_threads), (-1, Some(-1)));
    assert_eq!(configuration.databases[0].max_dereference_depth, -1);
    for line in ["sockbuf_max_incoming -1", "maxfilterdepth -1", "idletimeout 2147483648"] {
        assert!(refusal(line).contains("unable to parse"), "{line}");
    }
}

#[test]
fn the_index_of_object_class_is_shown_as_it_was_set() {
    let configuration = loaded("database mdb\nsuffix dc=a\ndirectory a\nindex objectClass pres,eq\n");
    let index = &configuration.databases[0].mdb.indexes[0];
    assert_eq!(index.kinds, IndexKinds::PRESENCE.with(IndexKinds::EQUALITY));
    assert_eq!(index.built(), IndexKinds::EQUALITY);
}

/// slapd says them to its frontend, and no database inherits them.
#[test]
fn some_settings_have_no_effect_before_the_databases() {
    let configuration = loaded("monitoring off\nmaxDerefDepth 1\ndatabase mdb\nsuffix dc=a\ndirectory a\n");
    let database = &configuration.databases[0];
    assert_eq!((database.monitoring, database.max_dereference_depth), (true, 15));
    let notices: Vec<String> = configuration.notices.iter().map(ToString::to_string).collect();
    assert_eq!(
        notices,
        [
            "slapd.conf: line 1: <monitoring> has no effect before the first database: each database says it for itself",
            "slapd.conf: line 2: <maxDerefDepth> has no effect before the first database: each database says it for itself",
        ]
    );
}

#[test]
fn the_first_condition_of_a_rule_is_told_of_once() {
    let configuration = loaded("access to * by domain=a.example read by dn.expand=cn=$1 read\n");
    assert_eq!(configuration.notices.len(), 2, "{:?}", configuration.notices);
}

/// Glued databases, the subordinate ones first.
#[test]
fn subordinate_databases_load() {
    let text = "database mdb\nsuffix ou=People,dc=example,dc=com\nsubordinate\ndirectory a\n\
        rootdn \"cn=Manager, dc=example,dc=com\"\n\
        database mdb\nsuffix ou=Groups,dc=example,dc=com\nsubordinate advertise\ndirectory b\n\
        database mdb\nsuffix dc=example,dc=com\nrootdn cn=Manager,dc=example,dc=com\nrootpw secret\ndirectory c\noverlay glue\n";
    let databases = loaded(text).databases;
    assert_eq!(databases[0].subordinate, Some(Subordinate { advertise: false }));
    assert_eq!(databases[1].subordinate, Some(Subordinate { advertise: true }));
    assert_eq!(databases[0].root_dn, databases[2].root_dn);
}

/// A `limits` line changes the limits that the database has when the line is read; databases inherit the global limits
/// of that moment.
#[test]
fn limits_follow_the_order_of_lines() {
    let text = "sizelimit 100\ntimelimit time.soft=10 time.hard=unlimited\n\
        database mdb\nsuffix dc=example,dc=com\n\
        limits dn.exact=\"cn=Unlimited User,dc=example,dc=com\" size=unlimited time=unlimited\n\
        sizelimit size.unchecked=40\n\
        limits users size.soft=2\nlimits anonymous size.soft=1 size.hard=3\n\
        sizelimit 7\n";
    let configuration = loaded(text);
    assert_eq!(configuration.frontend.search_limits.size_soft, Some(100));
    let database = &configuration.databases[0];
    assert_eq!(database.search_limits.time_hard_s, HardLimit::Unlimited);
    assert_eq!(database.search_limits.size_soft, Some(7));
    assert_eq!(database.limits[0].limits.size_soft, None);
    assert_eq!(database.limits[0].limits.unchecked, UncheckedLimit::Unlimited);
    assert_eq!(database.limits[1].selector, LimitsSelector::Users);
    assert_eq!(database.limits[1].limits.unchecked, UncheckedLimit::At(40));
    assert_eq!(database.limits[2].limits.size_hard, HardLimit::At(3));
}

#[test]
fn settings_of_both_levels_go_where_they_stand() {
    let text = "readonly on\nrequire bind\nrestrict compare\naccess to * by * read\n\
        database mdb\nsuffix dc=a\ndirectory a\nrequire authc\nrestrict rename\naccess to * by users write\nreadonly off\n\
        database mdb\nsuffix dc=b\ndirectory b\nrequire none\n\
        database frontend\naccess to dn.base=\"\" by * read\n\
        serverID 1 ldap://one.example.com\nserverID 0x2 ldap://two.example.com\n";
    let configuration = loaded(text);
    assert!(configuration.frontend.read_only);
    assert!(configuration.databases.iter().all(|database| database.read_only));
    assert_eq!(configuration.frontend.access.len(), 2);
    let [a, b] = &configuration.databases[..] else {
        panic!("two databases")
    };
    assert_eq!(a.require, Require::BIND.with(Require::AUTHENTICATION));
    // As in slapd, `none` does not lift global requirements.
    assert_eq!(b.require, Require::BIND);
    assert_eq!(a.restrict.operations.words(), ["rename", "compare"]);
    assert!(matches!(
        a.access[0].by[0].who[..],
        [Who::Name {
            is_real: false,
            is: NameCondition::Users
        }]
    ));
    assert_eq!(a.access[0].by[0].grant.kind, GrantKind::Level(AccessLevel::Write));
    assert!(b.access.is_empty());
    let ids = &configuration.global.server_ids;
    assert_eq!(
        ids[1],
        ServerId {
            id: 2,
            url: Some("ldap://two.example.com".to_owned())
        }
    );
}

#[test]
fn overlays_take_their_own_lines() {
    let text = "database mdb\nsuffix dc=example,dc=com\nrootdn cn=m,dc=example,dc=com\n\
        overlay sample\nsample-switch true\noverlay sample\nsample-words a b\nsample-words c\n\
        overlay single\nsingle-file ./single\nsample-name cn=Sample\noverlay {2}deref\n";
    let configuration = loaded(text);
    let overlays = &configuration.databases[0].overlays;
    let [first, second, single] = &overlays[..] else {
        panic!("three overlays")
    };
    let sample = first.settings::<Sample>().unwrap();
    assert_eq!((sample.switch, &sample.name, sample.words.len()), (true, &None, 0));
    let sample = second.settings::<Sample>().unwrap();
    assert_eq!(sample.words, ["a b", "c"]);
    assert_eq!(
        sample.name.as_ref().unwrap().pretty(),
        "cn=Sample",
        "the last one has it"
    );
    assert_eq!(
        single.settings::<Single>().unwrap().file,
        Some(PathBuf::from("./single"))
    );
    assert_eq!(configuration.notices.len(), 1);
    assert!(
        refusal(&format!("{text}overlay single\n")).ends_with("<overlay> overlay \"single\" already in list"),
        "it is there once"
    );
}

#[test]
fn other_plug_ins_for_sasl_secrets_are_taken_and_told() {
    for (line, told) in [
        ("sasl-auxprops sasldb", 1),
        ("sasl-auxprops slapd sasldb", 1),
        ("sasl-auxprops slapd", 0),
    ] {
        let configuration = loaded(&format!("{line}\n"));
        let notices = configuration.notices.iter().map(ToString::to_string);
        let notices: Vec<_> = notices
            .filter(|text| text.ends_with("secrets are looked up only in the directory"))
            .collect();
        assert_eq!(notices.len(), told, "{line}");
        assert!(configuration.global.sasl.auxprops.is_some());
    }
}

#[test]
fn what_of_a_definition_has_no_effect_is_told() {
    let configuration = loaded(
        "attributetype ( 1.3.6.1.4.1.32473.1 NAME 'behind' SUP name ) X-ORIGIN 'here'\n\
         ldapsyntax ( 1.3.6.1.4.1.32473.2 DESC 'no values' )\n\
         ldapsyntax ( 1.3.6.1.4.1.32473.3 X-SUBST '1.3.6.1.4.1.1466.115.121.1.15' )\n\
         ldapsyntax ( 1.3.6.1.4.1.1466.115.121.1.15 DESC 'built in' )\n",
    );
    let notices: Vec<_> = configuration.notices.iter().map(ToString::to_string).collect();
    assert_eq!(
        notices,
        [
            "slapd.conf: line 1: <attributetype> the text behind the closing parenthesis is ignored",
            "slapd.conf: line 2: <ldapsyntax> no value conforms to the syntax 1.3.6.1.4.1.32473.2, which has no \
             X-SUBST",
        ]
    );
}

#[test]
fn what_slapd_takes_for_a_url_or_an_address_is_taken_and_told() {
    for (line, told) in [
        ("referral ldap://x/", 0),
        ("referral http://x/", 1),
        ("referral ldap.example.com", 1),
        ("access to * by peername.ip=10.0.0.0%255.0.0.0 read", 0),
        ("access to * by peername.ip=10.0.0.0/8 read", 1),
        ("access to * by peername.ip=300.0.0.0%x read", 2),
    ] {
        let configuration = loaded(&format!("{line}\n"));
        // Rules before the databases are read for each of them.
        let texts: std::collections::BTreeSet<String> = configuration.notices.iter().map(ToString::to_string).collect();
        assert_eq!(texts.len(), told, "{line}: {texts:?}");
    }
}

#[test]
fn the_empty_suffix_and_the_config_database_load() {
    let text =
        "database config\nrootpw secret\naccess to * by * none\ndatabase mdb\nsuffix \"\"\nrootdn cn=root\nrootpw x\n";
    let configuration = loaded(text);
    assert_eq!(configuration.config.root_dn.as_ref().unwrap().pretty(), "cn=config");
    assert_eq!(configuration.databases[0].suffixes[0].depth(), 0);
    assert_eq!(configuration.notices, []);
    assert_eq!(configuration.config.access.len(), 1);
    assert_eq!(
        loaded("").config.access.len(),
        1,
        "there is a cn=config that nobody may read"
    );
}

#[test]
fn an_error_has_the_kind_of_its_fault() {
    let fault = |text: &str| match load("slapd.conf", &with_schema("slapd.conf", text), registry()) {
        Err(ConfigError::Refused { error, .. }) => error,
        other => panic!("{text}: {other:?}"),
    };
    for text in ["overlay nonsense", "moduleload nonsense", "database nonsense"] {
        assert!(matches!(fault(text), SettingError::UnknownPart(_)), "{text}");
    }
    for text in [
        "overlay rwm",
        "moduleload pw-radius",
        "backend ldap",
        "access to * by dynacl/aci read",
    ] {
        assert!(matches!(fault(text), SettingError::MissingPart(_)), "{text}");
    }
    for text in ["directory /x", "suffix dc=a", "database config\nbackend mdb"] {
        assert!(matches!(fault(text), SettingError::Misplaced(_)), "{text}");
    }
    assert!(matches!(
        fault("sizelimit \"module is not known\""),
        SettingError::Wrong(_)
    ));
    let unknown = load("slapd.conf", &MemoryFiles::file("slapd.conf", "xyzzy"), registry());
    assert!(matches!(unknown, Err(ConfigError::UnknownSetting { keyword, .. }) if keyword == "xyzzy"));
}

/// slapd compares only the beginning of some keywords; one of its own schema files depends on this.
#[test]
fn some_keywords_are_known_by_their_beginning() {
    let text = "allows bind_v2\nattributeype ( 1.3.6.1.4.1.32473.1.3 NAME 'hatSize' SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 )\n\
        attributeoptions x-a\nrequires bind\n";
    let configuration = loaded(text);
    assert!(configuration.schema.find_attribute_type(b"hatSize").is_some());
    assert_eq!(configuration.frontend.require, Require::BIND);
    assert!(configuration.notices.is_empty());
}

#[test]
fn definitions_may_stand_anywhere() {
    let text =
        format!("database mdb\nsuffix shoeSize=1\n{SCHEMA}attributeoptions x-hidden lang-\nindex cn;x-hidden eq\n");
    assert_eq!(loaded(&text).databases[0].mdb.indexes[0].attribute, "cn;x-hidden");
}

#[test]
#[allow(clippy::too_many_lines, reason = "a table")]
fn wrong_statements_are_refused_by_file_line_and_reason() {
    let cases = [
        (
            "sufix dc=a",
            "unknown directive <sufix> outside backend info and database definitions; did you mean <suffix>?",
        ),
        (
            "xyzzy",
            "unknown directive <xyzzy> outside backend info and database definitions",
        ),
        (
            "directory /x",
            "<directory> only allowed within mdb or ldif database declaration",
        ),
        ("idlexp 18", "<idlexp> only allowed within mdb backend declaration"),
        ("sample-name cn=x", "<sample-name> only allowed after overlay sample"),
        ("suffix dc=a", "<suffix> only allowed within database declaration"),
        ("database ldap", "<database> \"ldap\" is not built yet"),
        (
            "database nonsense",
            "<database> database type \"nonsense\" is not known",
        ),
        ("database", "<database> takes one <type> argument"),
        (
            "backend sql",
            "<backend> \"sql\" will not be built: `database sock` lets a program answer from tables",
        ),
        (
            "overlay rbac",
            "<overlay> \"rbac\" will not be built: roles (overlay roles) and groups in groups (overlay nestgroup) serve \
             for this",
        ),
        (
            "overlay nssov",
            "<overlay> \"nssov\" will not be built: sssd, or nslcd, does this on each client",
        ),
        (
            "moduleload pw-radius.la",
            "<moduleload> module \"pw-radius.la\" (pw-radius) is not built yet",
        ),
        ("overlay rwm", "<overlay> \"rwm\" is not built yet"),
        ("overlay nonsense", "<overlay> overlay \"nonsense\" is not known"),
        ("moduleload nonsense", "<moduleload> module \"nonsense\" is not known"),
        ("moduleload", "<moduleload> missing <file> [<argument> ...] argument"),
        (
            "TLSVerifyClient perhaps",
            "<TLSVerifyClient> invalid value \"perhaps\": never, allow, try, demand, hard, true, on or yes expected",
        ),
        ("TLSCertificate ?", "<TLSCertificate> not base64"),
        (
            "TLSProtocolMin new",
            "<TLSProtocolMin> invalid value \"new\": <major>[.<minor>] expected",
        ),
        ("security strong=1", "<security> unknown factor \"strong=1\""),
        ("security ssf=x", "<security> unable to parse factor \"ssf=x\""),
        (
            "sasl-mechanisms PLAIN NONSENSE",
            "<sasl-mechanisms> there is no SASL mechanism \"NONSENSE\"",
        ),
        ("sasl-secprops nonsense", "<sasl-secprops> Invalid security properties"),
        ("idletimeout", "<idletimeout> missing <seconds> argument"),
        ("idletimeout 1 2", "<idletimeout> extra cruft after <seconds>"),
        ("idletimeout soon", "<idletimeout> unable to parse \"soon\" as int"),
        ("slowlog -1", "<slowlog> unable to parse \"-1\" as unsigned int"),
        (
            "idletimeout 4294967296",
            "<idletimeout> unable to parse \"4294967296\" as int",
        ),
        (
            "gentlehup maybe",
            "<gentlehup> invalid value \"maybe\": on or off expected",
        ),
        ("allow everything", "<allow> unknown feature \"everything\""),
        ("disallow nothing", "<disallow> unknown feature \"nothing\""),
        ("require bind none", "<require> \"none\" must be listed first"),
        (
            "authz-policy sometimes",
            "<authz-policy> unable to parse value \"sometimes\"",
        ),
        ("authz-regexp a(b c", "<authz-regexp> \"a(b\": unmatched ( or \\("),
        (
            "sasl-cbinding tls-unique",
            "<sasl-cbinding> tls-unique is not supported; tls-endpoint is",
        ),
        (
            "maxfilterdepth 4097",
            "<maxfilterdepth> 4097 is too deep: the maximum is 4096",
        ),
        ("restrict extended=x", "<restrict> unknown operation \"extended=x\""),
        ("loglevel stats noise", "<loglevel> unknown level \"noise\""),
        (
            "password-hash {ROT13}",
            "<password-hash> scheme \"{ROT13}\" is not available",
        ),
        (
            "password-crypt-salt-format salt",
            "<password-crypt-salt-format> \"salt\" must hold one %s and no other conversion",
        ),
        (
            "password-crypt-salt-format %s%n",
            "<password-crypt-salt-format> \"%s%n\" must hold one %s and no other conversion",
        ),
        ("serverID 4096", "<serverID> illegal server ID \"4096\""),
        ("threads 0", "<threads> invalid value \"0\""),
        ("sizelimit many", "<sizelimit> unable to parse limit \"many\""),
        (
            "sizelimit size.foo=1",
            "<sizelimit> unable to parse value \"size.foo=1\"",
        ),
        (
            "defaultsearchbase nonsense",
            "<defaultsearchbase> invalid DN \"nonsense\"",
        ),
        (
            "limits users size=1",
            "<limits> only allowed within database declaration",
        ),
        ("access to * by * reed", "<access> expecting <access> got \"reed\""),
        (
            "attributeoptions 1x",
            "<attributeoptions> \"1x\" is no attribute option name or prefix",
        ),
    ];
    for (line, expected) in cases {
        assert_eq!(
            refusal(&format!("# comment\n\n{line}\n")),
            format!("slapd.conf: line 3: {expected}"),
            "{line}"
        );
    }
}

#[test]
fn wrong_lines_of_a_database_are_refused() {
    let cases = [
        ("allow bind_v2", "<allow> must occur before any database declaration"),
        ("backend mdb", "<backend> must occur before any database declaration"),
        ("suffix cn=Monitor", "<suffix> DN is reserved for monitoring slapd"),
        (
            "suffix dc=other",
            "<suffix> Only one suffix is allowed on this mdb backend",
        ),
        ("rootdn nonsense", "<rootdn> invalid DN \"nonsense\""),
        (
            "syncrepl rid=1 searchbase=dc=a",
            "<syncrepl> the line is malformed, missing provider",
        ),
        ("multiprovider maybe", "<multiprovider> invalid value \"maybe\""),
        ("subordinate maybe", "<subordinate> unknown argument \"maybe\""),
        ("mode 0999", "<mode> unable to parse mode \"0999\""),
        ("mode -rwxrwx", "<mode> unable to parse mode \"-rwxrwx\""),
        ("checkpoint 1", "<checkpoint> takes <kilobytes> <minutes>"),
        ("envflags fast", "<envflags> unknown flag \"fast\""),
        ("passphrase x", "<passphrase> database encryption is not built yet"),
        ("index nothing eq", "<index> index attribute \"nothing\" undefined"),
        ("index cn fast", "<index> index type \"fast\" undefined"),
        ("index cn", "<index> no indexes selected"),
        ("index cn,cn eq", "<index> duplicate index definition for attr \"cn\""),
        (
            "index member sub",
            "<index> substr index of attribute \"member\" disallowed",
        ),
        (
            "index jpegPhoto eq",
            "<index> equality index of attribute \"jpegPhoto\" disallowed",
        ),
        (
            "sizelimt 5",
            "unknown directive <sizelimt> inside backend database definition; did you mean <sizelimit>?",
        ),
        ("single-file x", "<single-file> only allowed after overlay single"),
    ];
    for (line, expected) in cases {
        assert_eq!(in_database(line), expected, "{line}");
    }
}

#[test]
fn what_only_the_whole_shows_is_refused_at_the_database() {
    let cases = [
        ("database mdb\n", "slapd.conf: line 1: <database> needs a suffix"),
        (
            "database mdb\nsuffix dc=a\nrootdn cn=x\nrootpw y\n",
            "slapd.conf: line 4: <rootpw> can only be set when rootdn is under suffix",
        ),
        (
            "database mdb\nsuffix dc=a\ndirectory x\ndatabase mdb\nsuffix dc=b\ndirectory x\n",
            "slapd.conf: line 4: <database> another database already has the directory \"x\" (line 1)",
        ),
        (
            "database mdb\nsuffix dc=a\ndirectory x\ndatabase mdb\nsuffix ou=b,dc=a\ndirectory y\n",
            "slapd.conf: line 4: <database> namingContext \"ou=b,dc=a\" already served by a preceding mdb database",
        ),
        (
            "database monitor\nsuffix dc=a\n",
            "slapd.conf: line 2: <suffix> not allowed in monitor database",
        ),
        (
            "database monitor\ndirectory x\n",
            "slapd.conf: line 2: <directory> only allowed within mdb or ldif database declaration",
        ),
        (
            "database monitor\ndatabase monitor\n",
            "slapd.conf: line 2: <database> only one monitor database is allowed",
        ),
        (
            "database ldif\nsuffix dc=a\n",
            "slapd.conf: line 1: <database> needs a directory",
        ),
        (
            "database ldif\nsuffix dc=a\nsuffix dc=b\n",
            "slapd.conf: line 3: <suffix> Only one suffix is allowed on this ldif backend",
        ),
        (
            "database ldif\nsuffix dc=a\ndirectory x\ndatabase ldif\nhidden on\nsuffix dc=a\ndirectory x\n",
            "slapd.conf: line 4: <database> another database already has the directory \"x\" (line 1)",
        ),
        (
            "database null\nsuffix dc=a\ndosearch on\nsubordinate\n",
            "slapd.conf: line 1: <database> a subordinate database cannot have dosearch",
        ),
        (
            "database mdb\nsuffix dc=a\nbind on\n",
            "slapd.conf: line 3: <bind> only allowed within null database declaration",
        ),
        (
            "serverID 1\nserverID 2\n",
            "slapd.conf: line 2: <serverID> a server ID without URL must be the only one",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(refusal(text), expected, "{text}");
    }
}

#[test]
fn databases_without_a_store_load() {
    let read = loaded(
        "database null\nsuffix dc=a\nsuffix dc=b\nbind on\noverlay sample\nsample-switch on\noverlay single\n\
         database ldif\nsuffix dc=c\ndirectory x\ndatabase ldif\nsuffix dc=d\ndirectory x\n",
    );
    let kinds: Vec<_> = read.databases.iter().map(|database| database.kind).collect();
    assert_eq!(kinds, [&NULL, &LDIF, &LDIF]);
    assert_eq!(read.databases[0].suffixes.len(), 2);
    let null: &NullConfig = read.databases[0].settings().unwrap();
    assert!(null.bind && !null.do_search);
    assert_eq!(read.databases[2].directory, PathBuf::from("x"));
    let notices: Vec<_> = read.notices.iter().map(ToString::to_string).collect();
    assert_eq!(
        notices,
        ["slapd.conf: line 5: overlay sample: a null database has no entries to act on"]
    );
}

#[test]
fn an_error_in_an_included_file_names_that_file() {
    let files = MemoryFiles::file("slapd.conf", "include more.conf\n").and("more.conf", "\nloglevel\n  noise\n");
    assert_eq!(
        load("slapd.conf", &files, registry()).unwrap_err().to_string(),
        "more.conf: line 2: <loglevel> unknown level \"noise\""
    );
}

#[test]
fn module_names_come_in_many_forms() {
    for name in [
        "back_mdb",
        "back-mdb.la",
        "{0}back_hdb",
        "/usr/lib/ldap/back_bdb.so",
        "back_monitor.so.2",
    ] {
        loaded(&format!("moduleload {name}"));
    }
    for name in [
        "sample",
        "single.la",
        "old_sample",
        "deref",
        "pw-sha2.so",
        "pw-pbkdf2",
        "argon2.so",
        "pw-argon2",
        "pw-apr1",
        "pw-netscape.la",
    ] {
        loaded(&format!("moduleload {name}"));
    }
}

#[test]
fn what_is_loaded_and_not_used_is_told_and_does_no_harm() {
    for (name, line) in [
        ("back_ldap", "database ldap"),
        ("rwm.la", "overlay rwm"),
        ("nssov", "overlay nssov"),
        ("gssacl", "by dynacl/gss"),
        ("posixgroup.so", "by dynacl/posixGroup"),
        ("now", "by dynacl/now"),
    ] {
        let files = with_schema("slapd.conf", format!("moduleload {name}\n"));
        let told = load("slapd.conf", &files, registry()).unwrap().notices;
        let expected = format!("`{line}` would be refused");
        assert!(
            told.iter().any(|notice| notice.to_string().ends_with(&expected)),
            "{told:?}"
        );
    }
}

proptest! {
    #[test]
    fn random_files_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = load("slapd.conf", &MemoryFiles::file("slapd.conf", bytes), registry());
    }

    #[test]
    fn random_arguments_never_panic(
        index in any::<proptest::sample::Index>(),
        arguments in "([ -~é]| |=|\\.|,|\\{|dc=a|users|on){0,12}",
    ) {
        let keywords: Vec<&str> = registry().settings().flat_map(|row| row.keywords.iter().copied()).collect();
        let keyword = keywords[index.index(keywords.len())];
        for before in ["", "database mdb\nsuffix dc=x\nrootdn dc=x\noverlay sample\noverlay single\n"] {
            let files = with_schema("slapd.conf", format!("{before}{keyword} {arguments}\n"));
            let _ = load("slapd.conf", &files, registry());
        }
    }
}
