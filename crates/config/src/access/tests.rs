//! Access rules of slapd.access(5): those that are built, and those that are refused.

use std::cell::RefCell;

use ironbark_model::{Dn, schema::Source};
use proptest::prelude::*;

use super::{AccessLevel, AccessRule, AttributeTarget, Control, Grant, GrantKind, NameScope, Privileges, Who};
use crate::{
    Statement,
    reader::{Memory, read},
    test_schema,
};

fn parse(text: &str) -> Result<(AccessRule, String), String> {
    let schema = test_schema::schema();
    let lines = read("f", &Memory::file("f", format!("access {text}"))).map_err(|error| error.to_string())?;
    let location = Source {
        file: "f".into(),
        line: 1,
    };
    let notices = RefCell::default();
    let arguments = lines.first().map(|line| line.arguments.clone()).unwrap_or_default();
    let statement = Statement {
        keyword: "access",
        arguments: &arguments,
        grammar: "",
        schema: &schema,
        location: &location,
        notices: &notices,
    };
    let rule = AccessRule::parse(&statement)?;
    let text = rule.text(&schema);
    Ok((rule, text))
}

#[test]
fn rules_are_read_and_printed_and_read_again() {
    let cases = [
        ("to * by * read", "to * by * read"),
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
        ("to * by * -azi", "to * by * -w"),
        ("to dn.regex=.* by dn.regex=.+ read", "to * by users read"),
        ("to dn.regex=^.*$ by dn.regex=.*$$ read", "to * by * read"),
        (
            "to dn.regex=\"\" by dn.regex=\"\" read",
            "to dn.base=\"\" by anonymous read",
        ),
        (
            "to dn.subtree=\"\" by dn.regex=* read",
            "to dn.subtree=\"\" by users read",
        ),
        ("to *", "to *"),
        ("to * by self", "to * by self +0"),
    ];
    for (text, printed) in cases {
        let (rule, text_again) = parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(text_again, printed.replace(" by ", "  by "), "{text}");
        assert_eq!(parse(&text_again).unwrap().0, rule, "{text}");
    }
}

#[test]
fn a_rule_has_the_parts_that_were_written() {
    let (rule, _) = parse("to dn.subtree=dc=c attrs=@person by self write by dn.children=ou=p,dc=c =w break").unwrap();
    assert_eq!(rule.what.dn.as_ref().unwrap().scope, NameScope::Subtree);
    assert!(matches!(rule.what.attributes[..], [AttributeTarget::Class(_)]));
    assert_eq!(rule.by[0].who, [Who::SelfEntry]);
    assert_eq!(
        rule.by[0].grant,
        Grant {
            self_only: false,
            kind: GrantKind::Level(AccessLevel::Write)
        }
    );
    assert_eq!(rule.by[0].control, Control::Stop);
    assert_eq!(rule.by[1].grant.kind, GrantKind::Set(Privileges::WRITE));
    assert_eq!(rule.by[1].control, Control::Break);
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
        ("to * by read", "expecting <who> after \"by\" got \"read\""),
        ("to * by", "expecting <who> after \"by\" got \"\""),
        ("to * dn=dc=a by * read", "dn pattern already specified in to clause"),
        ("to * by users dn=dc=a read", "dn pattern already specified"),
        ("to * by dn=* read", "invalid DN \"*\""),
        ("to * by dn=\"\" read", "missing value after \"dn=\" in by clause"),
        ("to * by * reed", "expecting <access> got \"reed\""),
        ("to * by * =q", "expecting <access> got \"=q\""),
        ("to * by * +", "expecting <access> got \"+\""),
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

#[test]
fn forms_that_are_not_built_are_refused_by_name() {
    let whats = [
        "dn.regex=^dc=.*$",
        "val=x",
        "val.regex=x",
        "val/caseExactMatch=x",
        "op=search",
        "control=1.2.3",
    ];
    let whos = [
        "dn.regex=^dc=.*$",
        "dn.exact,expand=dc=$1",
        "dn.level{1}=dc=c",
        "self.level{1}",
        "group.expand=cn=$1",
        "realself",
        "realdn.exact=dc=c",
        "peername.ip=127.0.0.1",
        "sockname=x",
        "sockurl=ldap:///",
        "domain.subtree=example.com",
        "set=this/member",
        "ssf=128",
        "tls_ssf=56",
        "dynacl/aci",
        "aci",
    ];
    for what in whats {
        let expected = format!("\"{what}\" belongs to the access-control part that is not built yet");
        assert_eq!(parse(&format!("to {what} by * read")).unwrap_err(), expected);
    }
    for who in whos {
        let expected = format!("\"{who}\" belongs to the access-control part that is not built yet");
        assert_eq!(parse(&format!("to * by {who} read")).unwrap_err(), expected);
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
