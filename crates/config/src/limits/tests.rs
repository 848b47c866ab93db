//! `limits` selectors and words, read and printed.

use std::cell::RefCell;

use ironbark_model::schema::Source;

use super::{HardLimit, LimitsRule, LimitsSelector, PageSize, PageTotal, SearchLimits, UncheckedLimit};
use crate::{Statement, test_overlay, test_schema};

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
        escapes: &[],
        grammar: "<selector> <limit>",
        schema: &schema,
        parts: test_overlay::registry().parts(),
        location: &location,
        value: crate::statement::ValueAge::New,
        notices: &notices,
    };
    let rule = LimitsRule::parse(&statement, &SearchLimits::default()).map_err(|error| error.to_string())?;
    let text = rule.text(&schema, &SearchLimits::default(), &SearchLimits::default());
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
        ("cn=a,dc=b", "dn.base=\"cn=a,dc=b\""),
        ("dn=cn=a,dc=b", "dn.base=\"cn=a,dc=b\""),
        ("dn.self.base=dc=b", "dn.base=\"dc=b\""),
        ("dn.this.subtree=dc=b", "dn.this.subtree=\"dc=b\""),
        ("dn.this=dc=b", "dn.this.base=\"dc=b\""),
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
        assert_eq!(text, format!("{printed} size=7"), "{selector}");
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
        "users size.soft=4  size.hard=8  size.unchecked=100  size.pr=noEstimate  size.prtotal=disabled  time=unlimited"
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
        PageSize::At(5)
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
        (
            &["dn.regex=(", "size=1"],
            "invalid regular expression \"(\": unmatched ( or \\(",
        ),
        (&["dn.users=x", "size=1"], "unknown DN modifier \"users\""),
        (
            &["dn.this.anonymous", "size=1"],
            "unknown DN modifier \"this.anonymous\"",
        ),
        (&["dn.base", "size=1"], "missing '='"),
        (&["users", "size=0x10"], "unknown limit values \"size=0x10\""),
        (
            &["groups=cn=g", "size=1"],
            "missing '=' in \"group[/objectClass[/attributeType]]=<pattern>\"",
        ),
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

#[test]
fn what_a_line_takes_from_its_database_is_said_where_it_would_be_lost() {
    let schema = test_schema::schema();
    let inherited = SearchLimits {
        size_soft: Some(100),
        size_hard: HardLimit::At(200),
        unchecked: UncheckedLimit::At(50),
        ..SearchLimits::default()
    };
    let rule = |limits| LimitsRule {
        selector: LimitsSelector::Users,
        limits,
    };
    let text = |limits: SearchLimits| rule(limits).text(&schema, &inherited, &inherited);
    assert_eq!(text(inherited.clone()), "users size.hard=200  size.unchecked=50");
    let soft = SearchLimits {
        size_hard: HardLimit::Soft,
        unchecked: UncheckedLimit::Unlimited,
        ..inherited.clone()
    };
    assert_eq!(text(soft.clone()), "users size=100  size.unchecked=unlimited");
    assert_eq!(soft.size_text(&inherited), "100 size.unchecked=unlimited");
    let default = SearchLimits::default();
    assert_eq!(default.size_text(&inherited), "size=500 size.unchecked=unlimited");
    assert_eq!(default.size_text(&default), "500");
    assert_eq!(
        inherited.size_text(&default),
        "size.soft=100 size.hard=200 size.unchecked=50"
    );
}
