//! Access rules of slapd.access(5): those that are supported, and those that are refused.

use std::cell::RefCell;

use ironbark_model::{Dn, schema::Source};
use proptest::prelude::*;

use super::{
    AccessLevel, AccessRule, AttributeTarget, ClauseControl, DnPattern, Grant, GrantKind, NameCondition, NameScope,
    Privileges, SelfOnly, Who,
};
use crate::{
    Statement,
    reader::{MemoryFiles, read},
    test_overlay, test_schema,
};

fn parse(text: &str) -> Result<(AccessRule, String), String> {
    let schema = test_schema::schema();
    let lines = read("f", &MemoryFiles::file("f", format!("access {text}"))).map_err(|error| error.to_string())?;
    let location = Source {
        file: "f".into(),
        line: 1,
    };
    let notices = RefCell::default();
    let arguments = lines.first().map(|line| line.arguments.clone()).unwrap_or_default();
    let statement = Statement {
        keyword: "access",
        arguments: &arguments,
        escapes: &[],
        grammar: "",
        schema: &schema,
        parts: test_overlay::registry().parts(),
        location: &location,
        value: crate::statement::ValueAge::New,
        notices: &notices,
    };
    let rule = AccessRule::parse(&statement).map_err(|error| error.to_string())?;
    let text = rule.text(&schema);
    Ok((rule, text))
}

const FORMS: &[(&str, &str)] = &[
    ("to * by * read", "to * by * read"),
    ("to * by read by ssf=1 write", "to * by * read by ssf=1 write"),
    ("to * by break", "to * by * +0 break"),
    ("to * by +0 break by =r stop", "to * by * +0 break by * =r"),
    ("to attrs=cn,,sn, by * read", "to attrs=cn,sn by * read"),
    ("TO * BY Users READ", "to * by users read"),
    ("to dn=* by * none", "to * by * none"),
    ("to dn=\"\" by * read", "to dn.base=\"\" by * read"),
    (
        "to dn.exact=\"ou=a b,dc=c\" by * read",
        "to dn.base=\"ou=a b,dc=c\" by * read",
    ),
    ("to dn.sub=dc=c by * read", "to dn.subtree=\"dc=c\" by * read"),
    ("to dn.onelevel=dc=c by * read", "to dn.one=\"dc=c\" by * read"),
    (
        "to dn.children=dc=c attrs=cn,entry by self write",
        "to dn.children=\"dc=c\" attrs=cn,entry by self write",
    ),
    (
        "to attrs=@person,!top,children by * read",
        "to attrs=@person,!top,children by * read",
    ),
    ("to attr=cn;lang-en by * read", "to attrs=cn;lang-en by * read"),
    ("to filter=(cn=a*) by * auth stop", "to filter=\"(cn=a*)\" by * auth"),
    (
        "to * by anonymous auth by users +r continue by * break",
        "to * by anonymous auth by users +r continue by * +0 break",
    ),
    ("to * by dn.one=dc=c selfwrite", "to * by dn.one=\"dc=c\" selfwrite"),
    (
        "to * by users dnattr=member self+a",
        "to * by users dnattr=member self+a",
    ),
    (
        "to * by group=cn=g write",
        "to * by group/groupOfNames/member.exact=\"cn=g\" write",
    ),
    (
        "to * by group/groupOfUniqueNames/uniqueMember.exact=\"cn=g\" =rscxd",
        "to * by group/groupOfUniqueNames/uniqueMember.exact=\"cn=g\" =rscxd",
    ),
    ("to * by * =0", "to * by * =0"),
    ("to * by * =", "to * by * =0"),
    ("to * by * -azi", "to * by * -w"),
    ("to dn.regex=.* by dn.regex=.+ read", "to * by users read"),
    ("to dn.regex=^.*$ by dn.regex=.*$$ read", "to * by * read"),
    (
        "to dn.regex=\"\" by dn.regex=\"\" read",
        "to dn.base=\"\" by anonymous read",
    ),
    ("to dn.subtree=\"\" by dn.regex=* read", "to * by users read"),
    (
        "to dn.regex=\"^(.+, )?uid=([^,]+),dc=c$\" by dn.regex=\"^uid=$2,dc=[^,]+$$\" write",
        "to dn.regex=\"^(.+,)?uid=([^,]+),dc=c$\" by dn.regex=\"^uid=$2,dc=[^,]+$$\" write",
    ),
    (
        "to dn.regex=^uid=(.+)$ by dn.exact,expand=uid=$1,dc=c read by dn.level{2}=dc=c auth",
        "to dn.regex=\"^uid=(.+)$\" by dn.base,expand=\"uid=$1,dc=c\" read by dn.level{2}=\"dc=c\" auth",
    ),
    (
        "to * by dn.expand=cn=$1,dc=c read",
        "to * by dn.subtree=\"cn=$1,dc=c\" read",
    ),
    (
        "to * by realdn.expand,expand=cn=$1,dc=c read",
        "to * by realdn.subtree=\"cn=$1,dc=c\" read",
    ),
    (
        "to * by self.level{-1} write by realself read by realdn.sub=dc=c none",
        "to * by self.level{-1} write by realself read by realdn.subtree=\"dc=c\" none",
    ),
    ("to attrs=cn val=x by * read", "to attrs=cn val.exact=\"x\" by * read"),
    (
        "to attrs=cn val/caseExactMatch=X by * read",
        "to attrs=cn val/caseexactmatch.exact=\"X\" by * read",
    ),
    (
        "to attrs=member val.children=dc=c by * read",
        "to attrs=member val.children=\"dc=c\" by * read",
    ),
    (
        "to attrs=cn val.regex=^a.*$ by set.expand=\"user & [${v0}]\" read",
        "to attrs=cn val.regex=\"^a.*$\" by set.expand=\"user & [${v0}]\" read",
    ),
    (
        "to op=search control=1.2.840.113556.1.4.319 by ssf=128 tls_ssf=56 users read",
        "to op=search control=1.2.840.113556.1.4.319 by users ssf=128 tls_ssf=56 read",
    ),
    (
        "to op=1.3.6.1.4.1.4203.1.11.3 by * read",
        "to op=1.3.6.1.4.1.4203.1.11.3 by * read",
    ),
    (
        "to * by peername.ip=192.168.1.0%255.255.255.0{389} read by peername.ipv6=::1 read by peername.path=/run/x read",
        "to * by peername.ip=\"192.168.1.0%255.255.255.0{389}\" read by peername.ipv6=\"::1\" read by peername.path=\"/run/x\" read",
    ),
    (
        "to * by peername.ip=10.0.0.0/8 none by peername.ip=10.1%x read",
        "to * by peername.ip=\"10.0.0.0/8\" none by peername.ip=\"10.1%x\" read",
    ),
    (
        "to * by sockname=IP=0.0.0.0:389 sockurl.regex=^ldapi: domain.subtree=example.com read",
        "to * by sockname.exact=\"IP=0.0.0.0:389\" domain.subtree=example.com sockurl.regex=\"^ldapi:\" read",
    ),
    (
        "to dn.regex=^ou=(.+)$ by group.expand=cn=$1,dc=c write by set=this/member&user realselfwrite",
        "to dn.regex=\"^ou=(.+)$\" by group/groupOfNames/member.expand=\"cn=$1,dc=c\" write by set.exact=\"this/member&user\" realselfwrite",
    ),
    ("to *", "to *"),
    ("to * by self", "to * by self +0"),
];

#[test]
fn rules_are_read_and_printed_and_read_again() {
    for (text, printed) in FORMS {
        let (rule, text_again) = parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        // Clauses are two blanks apart.
        let clauses = [" by ", " attrs=", " filter=", " val", " control="];
        let apart = clauses.iter().fold(printed.to_string(), |text, word| {
            text.replace(word, &format!(" {word}"))
        });
        assert_eq!(text_again, apart.replace("to  ", "to "), "{text}");
        assert_eq!(parse(&text_again).unwrap().0, rule, "{text}");
    }
}

#[test]
fn a_rule_has_the_parts_that_were_written() {
    let (rule, _) = parse("to dn.subtree=dc=c attrs=@person by self write by dn.children=ou=p,dc=c =w break").unwrap();
    assert!(matches!(&rule.what.dn, Some(DnPattern::Name(name)) if name.scope == NameScope::Subtree));
    assert!(matches!(rule.what.attributes[..], [AttributeTarget::Class(_)]));
    let own = Who::Name {
        is_real: false,
        is: NameCondition::SelfEntry(0),
    };
    assert_eq!(rule.by[0].who, [own]);
    assert_eq!(
        rule.by[0].grant,
        Grant {
            self_only: SelfOnly::No,
            kind: GrantKind::Level(AccessLevel::Write)
        }
    );
    assert_eq!(rule.by[0].control, ClauseControl::Stop);
    assert_eq!(rule.by[1].grant.kind, GrantKind::Set(Privileges::WRITE));
    assert_eq!(rule.by[1].control, ClauseControl::Break);
}

#[test]
fn malformed_rules_are_refused() {
    let cases = [
        ("", "expected \"to\": access "),
        ("from *", "expected \"to\": access "),
        ("to", "expecting <what> after \"to\""),
        ("to by * read", "expecting <what> after \"to\""),
        ("to everything by * read", "expecting <what> got \"everything\""),
        ("to dn=a dn=b by * read", "invalid DN \"a\""),
        (
            "to dn=dc=a dn=dc=b by * read",
            "dn pattern already specified in to clause",
        ),
        (
            "to attrs=cn attrs=sn by * read",
            "only one attrs qualifier can be specified",
        ),
        ("to attrs=nothing by * read", "unknown attr \"nothing\" in to clause"),
        ("to attrs= by * read", "unknown attr \"\" in to clause"),
        ("to filter=((( by * read", "bad filter \"(((\" in to clause"),
        ("to dn.near=dc=a by * read", "unknown dn style \"near\""),
        ("to * for * read", "expecting <what> got \"for\""),
        ("to * by reed", "expecting <who> after \"by\" got \"reed\""),
        ("to attrs=,, by * read", "unknown attr \",,\" in to clause"),
        ("to * by", "expecting <who> after \"by\" got \"\""),
        ("to * dn=dc=a by * read", "dn pattern already specified in to clause"),
        ("to * by users dn=dc=a read", "dn pattern already specified"),
        ("to * by dn=* read", "invalid DN \"*\""),
        ("to * by dn.expand=* read", "invalid DN \"*\""),
        ("to dn.expand=dc=a by * read", "unknown dn style \"expand\""),
        (
            "to * by dn=\"\" read",
            "missing \"=\" in (or value after) \"dn=\" in by clause",
        ),
        ("to * by * reed", "expecting <access> got \"reed\""),
        ("to * by * =q", "expecting <access> got \"=q\""),
        ("to * by * read halt", "expecting <control> got \"halt\""),
        ("to * by * read stop stop", "expecting \"by\" got \"stop\""),
        (
            "to * by group/nothing=cn=g read",
            "group objectclass \"nothing\" unknown",
        ),
        (
            "to * by dnattr=nothing read",
            "dnattr \"nothing\": attribute type undefined",
        ),
        (
            "to * by self.exact read",
            "inappropriate style \"exact\" in \"self.exact\"",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(parse(text).unwrap_err(), expected, "{text}");
    }
}

const REFUSED: &[(&str, &str)] = &[
    ("to val=x by * read", "attr val requires a single attribute"),
    ("to attrs=cn,sn val=x by * read", "attr val requires a single attribute"),
    (
        "to attrs=cn val/nothing=x by * read",
        "invalid matching rule \"nothing\"",
    ),
    (
        "to attrs=cn val.subtree=dc=c by * read",
        "unknown val.<style> \"subtree\" for attributeType \"cn\"",
    ),
    (
        "to dn.regex=( by * read",
        "regular expression \"(\" bad because of unmatched ( or \\(",
    ),
    (
        "to dn.regex=^(a)\\\\1 by * read",
        "regular expression \"^(a)\\1\" bad because of back-references are not supported",
    ),
    (
        "to op=nothing by * read",
        "unsupported operation type \"nothing\" in to clause",
    ),
    (
        "to control=nothing by * read",
        "bad control OID \"nothing\" in to clause",
    ),
    (
        "to * by dn.base,expand=dc=c read",
        "\"expand\" used with no expansions in \"pattern\"",
    ),
    (
        "to * by dn.regex,expand=dc=$1 read",
        "\"regex\" style implies \"expand\" modifier",
    ),
    (
        "to * by dn.level{-1}=dc=c read",
        "bad negative level \"-1\" in by DN clause",
    ),
    ("to * by self.level{x} read", "unable to parse level in \"level{n}\""),
    (
        "to * by peername.ipv6=::1/64 read",
        "illegal peername address \"::1/64\"",
    ),
    (
        "to * by peername.ipv6=::1%64 read",
        "illegal peername address mask \"64\"",
    ),
    (
        "to * by peername.ip=1.1.1.1{x} read",
        "illegal peername port specification \"{x}\"",
    ),
    ("to * by ssf=0 read", "invalid ssf value (0)"),
    ("to * by ssf=1 ssf=2 read", "ssf attribute already specified"),
    ("to * by set= read", "no set is defined"),
    (
        "to * by dnattr=cn read",
        "dnattr \"cn\": inappropriate syntax: 1.3.6.1.4.1.1466.115.121.1.15",
    ),
    (
        "to * by group/person=cn=g read",
        "group: \"member\" not allowed by \"2.5.6.6\"",
    ),
    (
        "to * by dynacl/aci read",
        "\"dynacl/aci\", slapd's experiment with dynamic access rules, is not built yet",
    ),
];

#[test]
fn what_cannot_be_meant_is_refused_with_slapds_words() {
    for (text, expected) in REFUSED {
        assert_eq!(parse(text).unwrap_err(), *expected, "{text}");
    }
}

#[test]
fn grants_change_privileges_as_slapd_access_says() {
    let read = AccessLevel::Read.privileges();
    assert_eq!(
        GrantKind::Add(Privileges::WRITE).apply(read),
        AccessLevel::Write.privileges()
    );
    assert_eq!(
        GrantKind::Remove(Privileges::READ).apply(read),
        AccessLevel::Search.privileges()
    );
    assert_eq!(GrantKind::Set(Privileges::AUTH).apply(read), Privileges::AUTH);
    assert!(
        AccessLevel::Manage
            .privileges()
            .contains(AccessLevel::Write.privileges())
    );
    assert!(!AccessLevel::Add.privileges().contains(Privileges::DELETE));
    assert_eq!(Grant::NOTHING.kind.apply(read), read);
}

#[test]
fn a_scope_holds_names_as_in_a_search() {
    let schema = test_schema::schema();
    let dn = |text: &str| Dn::parse(&schema, text.as_bytes()).unwrap();
    let base = dn("dc=c");
    let cases = [
        ("dc=c", [true, false, true, false]),
        ("ou=a,dc=c", [false, true, true, true]),
        ("ou=b,ou=a,dc=c", [false, false, true, true]),
        ("dc=d", [false, false, false, false]),
    ];
    for (name, expected) in cases {
        let scopes = [
            NameScope::Base,
            NameScope::OneLevel,
            NameScope::Subtree,
            NameScope::Children,
        ];
        assert_eq!(scopes.map(|scope| scope.holds(&base, &dn(name))), expected, "{name}");
    }
}

proptest! {
    #[test]
    fn random_rules_never_panic(text in "(to |by |dn|\\.|=|\\*|self|é|[a-z0+,{}/@!]| ){0,40}") {
        let _ = parse(&text);
    }
}
