//! slapacl: its output equals Debian's, followed by the deciding rule, with file, line and clause.

use ironbark_testkit::{Flavor, ProgramOutput, Server, Tool};

/// Behind the seven lines of a line of the schema each, two of files, and `database mdb` with its settings.
const GLOBAL: &str = "\
access to dn.base=\"\" by * read
access to attrs=cn
  by * read
authz-regexp ^uid=([^,]+),cn=auth$ uid=$1,dc=example,dc=com
";
const OWN: &str = "\
access to attrs=userPassword
  by self write
  by anonymous auth
access to attrs=title val.regex=\"^B\"
  by users read
  by * search
access to attrs=title,mail
  by self =wrs
  by dn.exact=\"uid=bob,dc=example,dc=com\" read
  by peername.ip=10.0.0.1 search
  by ssf=128 compare
access to attrs=entry,children
  by * read
access to attrs=cn
  by * break
access to attrs=description by domain.subtree=example.com read
";
const DATA: &str = "\
dn: dc=example,dc=com
objectClass: domain
dc: example

dn: uid=ann,dc=example,dc=com
objectClass: inetOrgPerson
uid: ann
cn: Ann
sn: Able
title: Boss
title: Clerk
userPassword: ann
";
const ANN: &str = "uid=ann,dc=example,dc=com";
const BOB: &str = "uid=bob,dc=example,dc=com";

fn server(flavor: Flavor) -> Server {
    let config = Server::PEOPLE_CONFIG.replace("database mdb", &format!("{GLOBAL}database mdb")) + OWN;
    let server = Server::prepare(flavor, &config).unwrap();
    server.slapadd(DATA).unwrap();
    server
}

fn acl(server: &Server, arguments: &[&str]) -> ProgramOutput {
    server.tool(Tool::Acl, arguments, "").unwrap()
}

/// Questions, and for each answer the line on which the rule begins (counted from the first of [`OWN`]; negative: from
/// the first of [`GLOBAL`]) and the clause, or the reason.
const QUESTIONS: &[(&[&str], &[&str])] = &[
    (
        &["-D", ANN, "-b", ANN, "title:Boss", "title:Clerk"],
        &["4 by clause 1", "7 by clause 1"],
    ),
    (
        &[
            "-D",
            BOB,
            "-b",
            ANN,
            "title",
            "title/read",
            "title/write",
            "title:Boss",
            "title/read:Boss",
        ],
        &[
            "7 by clause 2",
            "7 by clause 2",
            "7 by clause 2",
            "4 by clause 1",
            "4 by clause 1",
        ],
    ),
    (
        &[
            "-D",
            BOB,
            "-b",
            ANN,
            "mail/search",
            "entry",
            "children",
            "sn",
            "cn/read",
            "cn/write",
        ],
        &[
            "7 by clause 2",
            "12 by clause 1",
            "12 by clause 1",
            NONE,
            "-2 by clause 1",
            "-2 by clause 1",
        ],
    ),
    (
        &["-b", ANN, "userPassword/auth", "userPassword/read", "uid", "title/see"],
        &["1 by clause 2", "1 by clause 2", NONE],
    ),
    (
        &["-b", ANN, "-o", "peername=IP=10.0.0.1:99", "title", "mail"],
        &["7 by clause 3"; 2],
    ),
    (&["-b", ANN, "-o", "ssf=128", "mail", "mail/none"], &["7 by clause 4"]),
    (&["-b", ANN, "mail"], &["7 no clause matches (by * none)"]),
    (&["-b", ANN, "title", "nosuch"], &["7 no clause matches (by * none)"]),
    (&["-b", "uid=nobody,dc=example,dc=com", "title"], &[]),
    (
        &[
            "-u",
            "-D",
            BOB,
            "-b",
            "uid=nobody,dc=example,dc=com",
            "title",
            "userPassword",
        ],
        &["7 by clause 2", "1 no clause matches (by * none)"],
    ),
    (
        &[
            "-D",
            "cn=Manager,dc=example,dc=com",
            "-b",
            ANN,
            "title/manage",
            "userPassword",
        ],
        &["the rootdn"; 2],
    ),
    (
        &[
            "-D",
            BOB,
            "-o",
            "authzDN=uid=ann,dc=example,dc=com",
            "-b",
            ANN,
            "userPassword/write",
        ],
        &["1 by clause 1"],
    ),
    (
        &["-b", ANN, "-o", "domain=a.example.com", "description"],
        &["16 by clause 1"],
    ),
    (
        &["-b", ANN, "-o", "domain=aexample.com", "description"],
        &["16 no clause matches (by * none)"],
    ),
    (&["-b", ANN, "description"], &["16 no clause matches (by * none)"]),
    (&["-U", "bob", "-b", ANN, "title"], &["7 by clause 2"]),
    (
        &["-U", "bob", "-X", "u:ann", "-b", ANN, "userPassword/write"],
        &["1 by clause 1"],
    ),
    (
        &["-X", "dn:uid=bob,dc=example,dc=com", "-b", ANN, "mail/search"],
        &["7 by clause 2"],
    ),
    (&["-X", "ann", "-b", ANN, "mail"], &[]),
    (
        &["-X", "u:ann", "-o", "authzDN=uid=ann,dc=example,dc=com", "-b", ANN],
        &[],
    ),
];

const NONE: &str = "no rule applies (to * by * none)";

#[test]
fn the_deciding_rule_is_shown_behind_what_slapd_says() {
    let (theirs, ours) = (server(Flavor::OpenLdap), server(Flavor::Ironbark));
    let text = std::fs::read_to_string(ours.config_path()).unwrap();
    let line_of = |first: &str| {
        let first = first.lines().next().unwrap();
        i64::try_from(text.lines().position(|line| line == first).unwrap()).unwrap()
    };
    let (global, own) = (line_of(GLOBAL), line_of(OWN));
    let file = ours.config_path();
    for (arguments, reasons) in QUESTIONS {
        let (theirs, ours) = (acl(&theirs, arguments), acl(&ours, arguments));
        let answers: Vec<&str> = ours.stderr.lines().filter(|line| !line.starts_with('\t')).collect();
        assert_eq!(answers, theirs.stderr.lines().collect::<Vec<_>>(), "{arguments:?}");
        let expected = reasons.iter().map(|reason| match reason.split_once(' ') {
            Some((place, rest)) if place.parse::<i64>().is_ok() => {
                let place: i64 = place.parse().unwrap();
                let line = if place > 0 { own + place } else { global - place };
                format!("\t{}: line {line}: {rest}", file.display())
            }
            _ => format!("\t{reason}"),
        });
        let found: Vec<&str> = ours.stderr.lines().filter(|line| line.starts_with('\t')).collect();
        assert_eq!(found, expected.collect::<Vec<_>>(), "{arguments:?}");
    }
}

#[test]
fn every_value_of_an_entry_is_shown_but_for_passwords() {
    let (theirs, ours) = (server(Flavor::OpenLdap), server(Flavor::Ironbark));
    let lines = |outcome: &ProgramOutput| {
        let answers = outcome.stderr.lines().filter(|line| !line.starts_with('\t'));
        // Each server makes these for itself.
        let own = ["entryUUID=", "entryCSN=", "createTimestamp=", "modifyTimestamp="];
        let answers = answers.filter(|line| !own.iter().any(|name| line.starts_with(name)));
        answers.map(str::to_owned).collect::<Vec<_>>()
    };
    for who in [ANN, BOB] {
        let (theirs, ours) = (
            acl(&theirs, &["-D", who, "-b", ANN]),
            acl(&ours, &["-D", who, "-b", ANN]),
        );
        assert_eq!(lines(&ours), lines(&theirs));
        assert!(ours.stderr.contains("userPassword=****: "), "{}", ours.stderr);
    }
}

#[test]
fn rules_of_cn_config_are_shown_by_their_file() {
    let server = server(Flavor::Ironbark);
    let folder = server.layout().path().join("slapd.d");
    std::fs::create_dir(&folder).unwrap();
    let folder = folder.to_str().unwrap();
    let converted = server.tool(Tool::Test, &["-F", folder], "").unwrap();
    assert!(converted.status.success(), "{converted:?}");
    let arguments = ["-F", folder, "-D", BOB, "-b", ANN, "title", "cn", "sn"];
    let outcome = Tool::Acl.run(Flavor::Ironbark, &arguments, "").unwrap();
    let reasons: Vec<&str> = outcome.stderr.lines().filter(|line| line.starts_with('\t')).collect();
    assert_eq!(reasons.len(), 3, "{outcome:?}");
    let (own, global) = (
        "olcDatabase={1}mdb.ldif: line 3: olcAccess {2}: by clause 2",
        "olcDatabase={-1}frontend.ldif: line 3: olcAccess {1}: by clause 1",
    );
    assert!(
        reasons[0].contains(own) && reasons[0].ends_with(": by clause 2"),
        "{reasons:?}"
    );
    assert!(
        reasons[1].contains(global) && reasons[1].ends_with(": by clause 1"),
        "{reasons:?}"
    );
    assert!(reasons[2].contains("no rule applies"), "{reasons:?}");
}

#[test]
fn wrong_input_is_refused() {
    let server = server(Flavor::Ironbark);
    for (arguments, reason) in [
        (&["title"][..], "-b is missing"),
        (&["-b", "rubbish", "title"], "Invalid DN syntax"),
        (&["-D", "rubbish", "-b", ANN, "title"], "Invalid DN syntax"),
        (&["-b", "dc=other", "title"], "no target database"),
        (&["-b", "uid=nobody,dc=example,dc=com", "title"], "unable to fetch"),
        (&["-b", ANN, "nosuch"], "Undefined attribute type"),
        (&["-b", ANN, "title/see"], "unknown access \"see\""),
        (&["-b", ANN, "title/none"], "\"none\" not allowed"),
        (&["-b", ANN, "-o", "ssf=x", "title"], "unable to parse ssf=\"x\""),
        (&["-b", ANN, "-o", "nosuch=x", "title"], "unknown option -o nosuch"),
        (&["-n", "1", "-b", ANN], "invalid option"),
        (
            &["-U", "ann", "-D", ANN, "-b", ANN],
            "both authcID=\"ann\" and authcDN=",
        ),
    ] {
        let outcome = acl(&server, arguments);
        assert!(!outcome.status.success(), "{arguments:?}");
        assert!(outcome.stderr.contains(reason), "{arguments:?}: {}", outcome.stderr);
    }
}
