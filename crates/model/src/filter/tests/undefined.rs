//! Three-valued logic over all syntaxes and rules: an assertion value that the assertion syntax forbids decides
//! nothing.

use std::fmt::Write as _;
use std::sync::{Arc, LazyLock};

use super::*;
use crate::{
    Schema,
    matching::{self, MatchingRule, RuleKind},
    schema::{SchemaBuilder, Source},
    stringprep::{self, Case, Insignificant, Prohibited},
    syntax,
};

/// The rules of one attribute type, which is called `t` and its place in the table.
struct Rules {
    syntax: &'static syntax::Syntax,
    equality: &'static MatchingRule,
    ordering: Option<&'static MatchingRule>,
    substrings: Option<&'static MatchingRule>,
}

/// A type for each equality rule and each syntax that it is made for, with the other rules for the syntax.
static TYPES: LazyLock<Vec<Rules>> = LazyLock::new(|| {
    let of_kind = |kind| matching::all().filter(move |rule: &&MatchingRule| rule.kind == kind);
    let mut types = Vec::new();
    for equality in of_kind(RuleKind::Equality) {
        for syntax in syntax::all().filter(|syntax| equality.is_for(syntax)) {
            let fitting = |kind| of_kind(kind).find(|rule| rule.is_for(syntax));
            types.push(Rules {
                syntax,
                equality,
                ordering: fitting(RuleKind::Ordering),
                substrings: fitting(RuleKind::Substrings),
            });
        }
    }
    types
});

static SCHEMA: LazyLock<Arc<Schema>> = LazyLock::new(|| {
    let source = Source {
        file: "test".into(),
        line: 0,
    };
    let mut builder = SchemaBuilder::new();
    for (number, rules) in TYPES.iter().enumerate() {
        let mut text = format!("( 1.1.{number} NAME 't{number}' EQUALITY {}", rules.equality.name);
        if let Some(rule) = rules.ordering {
            write!(text, " ORDERING {}", rule.name).unwrap();
        }
        if let Some(rule) = rules.substrings {
            write!(text, " SUBSTR {}", rule.name).unwrap();
        }
        write!(text, " SYNTAX {} )", rules.syntax.oid).unwrap();
        builder.attributetype(&text, &source).unwrap();
    }
    builder.build().unwrap()
});

/// Values that some syntax accepts and others refuse, and values that are nearly valid.
const VALUES: &[&[u8]] = &[
    b"",
    b" ",
    b"-",
    b"x",
    b"x0",
    b"0",
    b"01",
    b"-0",
    b"+1",
    b"42",
    b"\xff",
    b"a\xffb",
    b"\xc3\xa4",
    b"\xef\xbf\xbf",
    b"\0",
    b"a$b",
    b"a$$b",
    b"$",
    b"\\",
    b"a\\24b",
    b"a\\25b",
    b"'01'B",
    b"'2'B",
    b"TRUE",
    b"true",
    b"20240101000000Z",
    b"2024010100Z",
    b"20241301000000Z",
    b"20240131120000.123456Z#000000#001#000000",
    b"00a",
    b"12345678-1234-1234-1234-123456789abc",
    b"12345678123412341234123456789abc",
    b"cn",
    b"nope",
    b"1.2.3",
    b"1.2.",
    b"cn=a",
    b"cn=a,cn=b",
    b"cn=a#'01'B",
    b"cn=",
    b"=x",
    b"de",
    b"d_",
    b"Foo Bar",
    b"+49 123",
    b"12 34",
    b"1$cn=a",
    b"{ serialNumber 1, issuer rdnSequence:\"cn=a\" }",
    b"{ serialNumber 1 }",
    b"dn:cn=a",
    b"u:a",
    b"a*b",
];

fn value() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        proptest::sample::select(VALUES).prop_map(<[u8]>::to_vec),
        "[0-9a-cA-CZB=,#$' .+-]{0,6}".prop_map(String::into_bytes),
        proptest::collection::vec(any::<u8>(), 0..6),
    ]
}

/// A filter item about a value, and the rule to whose assertion syntax the value must conform.
fn items(number: usize, value: &[u8]) -> Vec<(Filter<'_>, &'static MatchingRule)> {
    let Rules {
        equality,
        ordering,
        substrings,
        ..
    } = TYPES[number];
    let attribute = || Cow::Owned(format!("t{number}").into_bytes());
    let assertion = || Assertion {
        attribute: attribute(),
        value: value.into(),
    };
    let extensible = |rule: Option<&MatchingRule>, typed: bool| Filter::Extensible {
        rule: rule.map(|rule| rule.name.as_bytes().into()),
        attribute: typed.then(attribute),
        value: value.into(),
        dn_attributes: false,
    };
    let mut items = vec![
        (Filter::Equality(assertion()), equality),
        (
            Filter::Approx(assertion()),
            matching::approx::rule_of(equality).unwrap_or(equality),
        ),
        (extensible(None, true), equality),
    ];
    if let Some(rule) = ordering {
        items.push((Filter::GreaterOrEqual(assertion()), rule));
        items.push((Filter::LessOrEqual(assertion()), rule));
    }
    for rule in matching::all().filter(|rule| rule.kind != RuleKind::Substrings) {
        items.push((extensible(Some(rule), true), rule));
        items.push((extensible(Some(rule), false), rule));
    }
    if substrings.is_some() {
        for place in 0..3 {
            let at = |wanted| (place == wanted).then(|| value.into());
            let substrings = Filter::Substrings {
                attribute: attribute(),
                initial: at(0),
                any: at(1).into_iter().collect(),
                r#final: at(2),
            };
            items.push((substrings, equality));
        }
    }
    items
}

fn conforms(rule: &MatchingRule, value: &[u8]) -> bool {
    let syntax = syntax::find(rule.assertion_syntax).unwrap();
    (syntax.validate)(&SCHEMA, value).is_ok()
}

fn compiled(filter: &Filter<'_>) -> CompiledFilter {
    let mut compiled = CompiledFilter::default();
    compiled.compile(&SCHEMA, filter);
    compiled
}

fn holds(filter: &Filter<'_>, entry: &Entry) -> Truth {
    let (schema, filter) = (&*SCHEMA, &compiled(filter));
    filter.evaluate(schema, &EntrySource::new(schema, filter, entry), &mut Vec::new())
}

/// Whether string preparation takes the value.
fn is_preparable(value: &[u8]) -> bool {
    let (spaces, refused) = (Insignificant::Spaces, Prohibited::Refused);
    stringprep::prepare(value, Case::Exact, spaces, refused, &mut Vec::new()).is_ok()
}

/// An entry with the values, whether or not they conform: a tool may have stored them.
fn entry(number: usize, values: &[Vec<u8>]) -> Entry {
    let mut entry = Entry::new(Dn::parse(&SCHEMA, b"cn=a").unwrap());
    let description = SCHEMA.attribute_description(format!("t{number}").as_bytes()).unwrap();
    entry.set_values(&description, values.to_vec());
    entry
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// RFC 4511 §4.5.1.7.
    #[test]
    fn no_filter_matches_by_an_invalid_assertion_value(
        number in 0..TYPES.len(),
        asserted in value(),
        stored in proptest::collection::vec(value(), 0..4),
    ) {
        let entry = entry(number, &stored);
        let description = entry.attributes.first().map(|attribute| attribute.description.clone());
        for (item, rule) in items(number, &asserted) {
            let negated = Filter::Not(Box::new(item.clone()));
            let twice = Filter::Not(Box::new(negated.clone()));
            let with_others = Filter::Or(vec![item.clone(), Filter::Not(Box::new(item.clone())), Filter::Or(Vec::new())]);
            let (is_part, is_empty) = (matches!(item, Filter::Substrings { .. }), asserted.is_empty());
            let der = rule.name.contains("ertificate") && asserted.first() == Some(&0x30);
            if !(conforms(rule, &asserted) || der) || (is_part && is_empty) {
                for filter in [&item, &negated, &twice, &with_others] {
                    prop_assert_eq!(holds(filter, &entry), Truth::Undefined, "{:?} by {:?}", filter, rule);
                }
                for value in &stored {
                    let found = compiled(&item).matches_value(&SCHEMA, description.as_ref().unwrap(), value, None, &mut Vec::new());
                    prop_assert!(!found, "{:?} matches the value {:?}", item, value);
                }
                if !is_part {
                    prop_assert!(rule.assertion(&SCHEMA, &asserted, &mut Vec::new()).is_err(), "{:?}", rule);
                }
            }
        }
    }

    #[test]
    fn an_assertion_value_that_conforms_decides(number in 0..TYPES.len(), asserted in value()) {
        let Rules { equality, ordering, .. } = TYPES[number];
        // Code points that string preparation prohibits make an assertion Undefined.
        let prohibited = std::str::from_utf8(&asserted).is_ok() && !is_preparable(&asserted);
        let mut rules = vec![(Filter::Equality as fn(_) -> _, equality)];
        rules.extend(ordering.map(|rule| (Filter::GreaterOrEqual as fn(_) -> _, rule)));
        for (item, rule) in rules {
            let attribute = Cow::Owned(format!("t{number}").into_bytes());
            let filter = item(Assertion { attribute, value: asserted.as_slice().into() });
            let truth = holds(&filter, &entry(number, &[]));
            prop_assert!(
                truth == Truth::False || prohibited || rule.name.contains("ertificate") || !conforms(rule, &asserted),
                "{} is {:?}", filter, truth
            );
        }
    }
}

#[test]
fn every_syntax_has_values_of_both_kinds() {
    for Rules { syntax, .. } in TYPES.iter() {
        let taken = VALUES
            .iter()
            .filter(|value| (syntax.validate)(&SCHEMA, value).is_ok())
            .count();
        let any = [syntax::oid::OCTET_STRING].contains(&syntax.oid);
        // Certificates, keys and definitions of schema are not among the values.
        assert!(any || taken < VALUES.len(), "{syntax:?} takes everything");
    }
}
