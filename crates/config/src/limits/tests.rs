//! `limits` selectors and words, read and printed.

use std::cell::RefCell;

use ironbark_model::schema::Source;

use super::{HardLimit, LimitsRule, LimitsSelector, PageTotal, SearchLimits, UncheckedLimit};
use crate::{Statement, test_schema};

fn parse(words: &[&str]) -> Result<(LimitsRule, String), String> {
    let schema = test_schema::schema();
    let arguments: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let location = Source {
        file: "f".into(),
        line: 1,
    };
    let notices = RefCell::default();
    let statement = Statement {
        keyword: "limits",
        arguments: &arguments,
        grammar: "<selector> <limit>",
        schema: &schema,
        location: &location,
        notices: &notices,
    };
    let rule = LimitsRule::parse(&statement, &SearchLimits::default())?;
    let text = rule.text(&schema, &SearchLimits::default());
    Ok((rule, text))
}

#[test]
fn selectors_are_read_and_printed() {
    let cases = [
        ("*", "*"),
        ("ANONYMOUS", "anonymous"),
        ("users", "users"),
        ("dn=*", "*"),
        ("dn.regex=.*", "*"),
        ("dn.anonymous=x", "anonymous"),
        ("cn=a,dc=b", "dn.exact=\"cn=a,dc=b\""),
        ("dn=cn=a,dc=b", "dn.exact=\"cn=a,dc=b\""),
        ("dn.self.base=dc=b", "dn.exact=\"dc=b\""),
        ("dn.this.subtree=dc=b", "dn.this.subtree=\"dc=b\""),
        ("dn.this=dc=b", "dn.this.exact=\"dc=b\""),
        ("dn.one=dc=b", "dn.onelevel=\"dc=b\""),
        ("dn.children=dc=b", "dn.children=\"dc=b\""),
        ("dn.regex=^cn=[^,]+,dc=b$", "dn.regex=\"^cn=[^,]+,dc=b$\""),
        ("group=cn=g", "group/groupOfNames/member=\"cn=g\""),
        (
            "group/groupOfUniqueNames/uniqueMember=cn=g",
            "group/groupOfUniqueNames/uniqueMember=\"cn=g\"",
        ),
    ];
    for (selector, printed) in cases {
        let (_, text) = parse(&[selector, "size=7"]).unwrap_or_else(|error| panic!("{selector}: {error}"));
        assert_eq!(text, format!("{printed} size.soft=7"), "{selector}");
    }
}

#[test]
fn limit_words_change_what_the_database_has() {
    let words = [
        "users",
        "size.soft=4",
        "size.hard=8",
        "size.unchecked=100",
        "size.pr=noEstimate",
        "size.prtotal=disabled",
        "time=none",
    ];
    let (rule, text) = parse(&words).unwrap();
    assert_eq!(rule.selector, LimitsSelector::Users);
    let expected = SearchLimits {
        size_soft: Some(4),
        size_hard: HardLimit::At(8),
        unchecked: UncheckedLimit::At(100),
        hide_page_estimate: true,
        page_total: PageTotal::Disabled,
        time_soft_s: None,
        ..SearchLimits::default()
    };
    assert_eq!(rule.limits, expected);
    assert_eq!(
        text,
        "users size.soft=4  size.hard=8  size.unchecked=100  size.pr=noEstimate  size.prtotal=disabled  time.soft=unlimited"
    );
}

#[test]
fn a_hard_limit_is_never_below_the_soft_one() {
    assert_eq!(
        parse(&["*", "size.soft=10", "size.hard=5"]).unwrap().0.limits.size_hard,
        HardLimit::At(10)
    );
    assert_eq!(
        parse(&["*", "time.soft=-1", "time.hard=5"])
            .unwrap()
            .0
            .limits
            .time_hard_s,
        HardLimit::Unlimited
    );
    assert_eq!(
        parse(&["*", "size.prtotal=5", "size.pr=9"]).unwrap().0.limits.page_size,
        Some(5)
    );
}

#[test]
fn malformed_lines_are_refused_with_the_word() {
    let cases: &[(&[&str], &str)] = &[
        (&[], "missing <selector> <limit> argument"),
        (&["users"], "missing <selector> <limit> argument"),
        (&["users", "size"], "unknown limit values \"size\""),
        (&["users", "size.medium=3"], "unknown limit values \"size.medium=3\""),
        (&["users", "size=-2"], "unknown limit values \"size=-2\""),
        (
            &["users", "time.unchecked=3"],
            "unknown limit values \"time.unchecked=3\"",
        ),
        (
            &["users", "size=4294967295"],
            "unknown limit values \"size=4294967295\"",
        ),
        (&["dn.expand=x", "size=1"], "unknown DN modifier \"expand\""),
        (&["dn.selfish=x", "size=1"], "unknown DN modifier \"selfish\""),
        (&["dn.regex=(", "size=1"], "invalid regular expression \"(\""),
        (&["dn=nonsense", "size=1"], "invalid DN \"nonsense\""),
        (
            &["group/nothing=cn=g", "size=1"],
            "group objectClass \"nothing\" undefined",
        ),
    ];
    for (words, expected) in cases {
        assert_eq!(parse(words).unwrap_err(), *expected, "{words:?}");
    }
}
