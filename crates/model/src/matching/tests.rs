//! Pairs for each rule (RFC 4517 §4.2), and the order of normal forms.

mod names;

use std::cmp::Ordering;

use proptest::prelude::*;

use super::{MatchingRule, RuleKind, SubstringPart, all, find};
use crate::{Schema, syntax};

fn rule(name: &str) -> &'static MatchingRule {
    find(name.as_bytes()).unwrap_or_else(|| panic!("no rule {name}"))
}

fn value(rule: &MatchingRule, text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    (rule.normalize_value)(&Schema::system(), text.as_bytes(), &mut out).ok()?;
    Some(out)
}

fn assertion(rule: &MatchingRule, text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    rule.assertion(&Schema::system(), text.as_bytes(), &mut out).ok()?;
    Some(out)
}

/// `None`: Undefined.
fn decide(rule: &MatchingRule, stored: &str, asserted: &str) -> Option<bool> {
    let stored = value(rule, stored)?;
    let asserted = assertion(rule, asserted)?;
    Some(rule.matches(&Schema::system(), &stored, &asserted))
}

const PAIRS: &[(&str, &str, &str, Option<bool>)] = &[
    ("bitStringMatch", "'0101'B", "'0101'B", Some(true)),
    ("bitStringMatch", "'0101'B", "'01010'B", Some(false)),
    ("booleanMatch", "TRUE", "true", None),
    ("booleanMatch", "TRUE", "FALSE", Some(false)),
    ("booleanMatch", "TRUE", "yes", None),
    ("caseExactIA5Match", "a B", "a  B", Some(true)),
    ("caseExactIA5Match", "a B", "A B", Some(false)),
    ("caseIgnoreIA5Match", "a B", " A b", Some(true)),
    ("caseIgnoreIA5Match", "a", "é", None),
    ("caseExactMatch", "Ärger", "ärger", Some(false)),
    ("caseIgnoreMatch", "Ärger", "äRGER ", Some(true)),
    ("caseIgnoreMatch", "foo bar", "foobar", Some(false)),
    ("caseIgnoreMatch", "x", "\u{fffd}", None),
    ("caseIgnoreListMatch", "1 Main St$Town", "1 MAIN  ST$town", Some(true)),
    ("caseIgnoreListMatch", "a$b", "a b", Some(false)),
    ("caseIgnoreListMatch", "\\24 5", "\\24 5", Some(true)),
    ("generalizedTimeMatch", "199412161032Z", "199412160532-0500", Some(true)),
    (
        "generalizedTimeMatch",
        "20200101000000.50Z",
        "202001010000.00833333333333Z",
        Some(false),
    ),
    ("generalizedTimeMatch", "20200101003000Z", "2020010100.5Z", Some(true)),
    (
        "generalizedTimeMatch",
        "20191231233000Z",
        "20200101003000+0100",
        Some(true),
    ),
    (
        "generalizedTimeMatch",
        "20200301003000Z",
        "20200229233000-0100",
        Some(true),
    ),
    ("generalizedTimeMatch", "20200101000000Z", "2020", None),
    ("integerMatch", "10", "10", Some(true)),
    ("integerMatch", "10", "-10", Some(false)),
    ("integerMatch", "10", "ten", None),
    ("integerFirstComponentMatch", "( 2 FORM x )", "2", Some(true)),
    ("integerFirstComponentMatch", "7", "8", Some(false)),
    ("integerBitAndMatch", "514", "2", Some(true)),
    ("integerBitAndMatch", "512", "514", Some(false)),
    ("integerBitOrMatch", "512", "514", Some(true)),
    ("integerBitOrMatch", "512", "2", Some(false)),
    ("integerBitAndMatch", "-1", "4294967296", Some(true)),
    ("keywordMatch", "red, green blue", "GREEN", Some(true)),
    ("keywordMatch", "red-green", "green", Some(false)),
    ("wordMatch", "red-green", "green", Some(true)),
    ("wordMatch", "redgreen", "green", Some(false)),
    ("numericStringMatch", "12 34", "1234", Some(true)),
    ("numericStringMatch", "12 34", "123", Some(false)),
    ("objectIdentifierMatch", "cn", "2.5.4.3", Some(true)),
    ("objectIdentifierMatch", "COMMONNAME", "cn", Some(true)),
    ("objectIdentifierMatch", "cn", "sn-no-such", None),
    (
        "objectIdentifierFirstComponentMatch",
        "( 2.5.4.3 NAME 'cn' )",
        "cn",
        Some(true),
    ),
    (
        "objectIdentifierFirstComponentMatch",
        "( 2.5.4.3 NAME 'cn' )",
        "2.5.4.4",
        Some(false),
    ),
    ("directoryStringFirstComponentMatch", "( 'Foo' x )", "foo", Some(true)),
    ("octetStringMatch", "a ", "a", Some(false)),
    ("telephoneNumberMatch", "+1 408-555 1234", "+14085551234", Some(true)),
    ("telephoneNumberMatch", "+1", "+2", Some(false)),
    ("presentationAddressMatch", "NS+49", "ns+49", Some(true)),
    ("protocolInformationMatch", "NS+49 # 1.2", "ns+49#1.2", Some(true)),
    (
        "UUIDMatch",
        "597AE2F6-16A6-1027-98F4-D28B5365DC14",
        "597ae2f6-16a6-1027-98f4-d28b5365dc14",
        Some(true),
    ),
    (
        "CSNMatch",
        "20080801120000Z#000000#01#000000",
        "20080801120000.000000Z#000000#001#000000",
        Some(true),
    ),
    (
        "CSNSIDMatch",
        "20080801120000.000000Z#000000#0aB#000000",
        "0Ab",
        Some(true),
    ),
    (
        "CSNSIDMatch",
        "20080801120000.000000Z#000000#001#000000",
        "002",
        Some(false),
    ),
    ("authzMatch", "U:joe", "u:joe", Some(true)),
];

#[test]
fn equality_and_extensible_rules() {
    for &(name, stored, asserted, expected) in PAIRS {
        assert_eq!(
            decide(rule(name), stored, asserted),
            expected,
            "{name}: {stored:?} and {asserted:?}"
        );
    }
}

#[test]
fn an_entry_of_a_class_is_one_of_its_superclasses() {
    let schema = Schema::system();
    let object_class = schema.find_attribute_type(b"objectClass").expect("built in");
    let rule = object_class.equality.expect("has EQUALITY");
    assert_eq!(decide(rule, "monitorServer", "monitor"), Some(true));
    assert_eq!(decide(rule, "monitor", "monitorServer"), Some(false));
    assert_eq!(decide(rule, "monitor", "2.5.6.9999"), None, "no class");
}

#[test]
fn substring_parts_keep_the_spaces_that_count() {
    let schema = Schema::system();
    for (name, text, part, expected) in [
        ("caseIgnoreSubstringsMatch", " Foo ", SubstringPart::Initial, "foo "),
        ("caseIgnoreSubstringsMatch", "  Foo  ", SubstringPart::Any, " foo "),
        ("caseIgnoreSubstringsMatch", " Foo ", SubstringPart::Final, " foo"),
        ("caseExactSubstringsMatch", "Foo", SubstringPart::Any, "Foo"),
        ("caseIgnoreIA5SubstringsMatch", "A ", SubstringPart::Any, "a "),
        ("caseExactIA5SubstringsMatch", "A ", SubstringPart::Final, "A"),
        ("numericStringSubstringsMatch", " 1 2", SubstringPart::Any, "12"),
        ("telephoneNumberSubstringsMatch", "55-5 1", SubstringPart::Any, "5551"),
        ("octetStringSubstringsMatch", " A", SubstringPart::Initial, " A"),
        ("caseIgnoreListSubstringsMatch", "Main ", SubstringPart::Any, "main "),
    ] {
        let mut out = Vec::new();
        let normalize = rule(name).normalize_part.expect("a substrings rule");
        normalize(&schema, text.as_bytes(), part, &mut out).expect("valid");
        assert_eq!(String::from_utf8_lossy(&out), expected, "{name} {text:?} {part:?}");
    }
}

#[test]
fn malformed_certificate_assertions_are_undefined() {
    let certificate = rule("certificateExactMatch");
    let list = rule("certificateListExactMatch");
    for text in [
        "{ serialNumber 3, issuer rdnSequence:\"cn\" }",
        "{ serialNumber x, issuer rdnSequence:\"\" }",
        "3",
        "{",
    ] {
        assert_eq!(assertion(certificate, text), None, "{text}");
    }
    assert_eq!(value(certificate, "no DER"), None);
    assert_eq!(assertion(list, "{ issuer rdnSequence:\"\" }"), None);
}

#[test]
fn each_rule_has_one_row_and_known_syntaxes() {
    let mut names: Vec<String> = all()
        .flat_map(|rule| [rule.name.to_lowercase(), rule.oid.to_owned()])
        .collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
    for rule in all() {
        assert!(syntax::find(rule.assertion_syntax).is_some(), "{}", rule.name);
        assert!(
            !rule.applies_to.is_empty() && rule.applies_to.iter().all(|oid| syntax::find(oid).is_some()),
            "{}",
            rule.name
        );
        assert_eq!(
            rule.kind == RuleKind::Substrings,
            rule.normalize_part.is_some(),
            "{}",
            rule.name
        );
        assert_eq!(find(rule.oid.as_bytes()), Some(rule));
        assert_eq!(find(rule.name.to_uppercase().as_bytes()), Some(rule));
    }
    assert_eq!(find(&[b'x'; 1000]), None);
}

#[test]
fn an_error_leaves_the_buffer_as_it_was() {
    let schema = Schema::system();
    for rule in all() {
        for text in [
            &b"\xff\xfe"[..],
            b"a$\xff",
            b"",
            b"20201301000000Z",
            b"--1",
            b"cn=a,nosuch=b",
            b"cn=a,cn=b",
            b"1$cn",
        ] {
            for is_assertion in [false, true] {
                let mut out = b"kept".to_vec();
                let result = if is_assertion {
                    rule.assertion(&schema, text, &mut out)
                } else {
                    (rule.normalize_value)(&schema, text, &mut out)
                };
                if result.is_err() {
                    assert_eq!(out, b"kept", "{} {}", rule.name, text.escape_ascii());
                }
            }
        }
    }
}

#[test]
fn stored_integers_with_leading_zeros_match_by_their_number() {
    for (stored, plain) in [
        ("007", "7"),
        ("00", "0"),
        ("-0", "0"),
        ("-010", "-10"),
        ("01234", "1234"),
    ] {
        for rule in [rule("integerMatch"), rule("integerOrderingMatch")] {
            assert_eq!(value(rule, stored), value(rule, plain), "{stored}");
            // As in slapd, an assertion with leading zeros is no integer.
            assert!(
                rule.assertion(&Schema::system(), stored.as_bytes(), &mut Vec::new())
                    .is_err()
            );
        }
    }
    for wrong in ["+7", "0x7", "00-7", "--0", "-", "", "07a"] {
        assert_eq!(value(rule("integerMatch"), wrong), None, "{wrong}");
    }
}

#[test]
fn normal_forms_are_written_as_people_write_them() {
    let schema = Schema::system();
    for (name, text, written) in [
        ("integerMatch", "-120", "-120"),
        ("integerMatch", "0", "0"),
        ("generalizedTimeMatch", "20260101120000+0100", "20260101110000Z"),
        ("generalizedTimeMatch", "20260101120000,50Z", "20260101120000.5Z"),
        ("objectIdentifierMatch", "2.5.6.1", "alias"),
        ("caseIgnoreMatch", " A  B ", "a b"),
    ] {
        let rule = rule(name);
        let normal = value(rule, text).expect("valid");
        assert_eq!(
            rule.written(&schema, normal).escape_ascii().to_string(),
            written,
            "{text}"
        );
    }
}

proptest! {
    #[test]
    fn integers_order_as_numbers(a in any::<i128>(), b in any::<i128>(), shift in 0_u32..127) {
        let (a, b) = (a >> shift, b >> (shift / 2));
        let rule = rule("integerOrderingMatch");
        let (left, right) = (value(rule, &a.to_string()).expect("valid"), value(rule, &b.to_string()).expect("valid"));
        prop_assert_eq!(left.cmp(&right), a.cmp(&b));
        if a != b {
            prop_assert!(!left.starts_with(&right) && !right.starts_with(&left));
        }
        prop_assert_eq!(super::integers::decode(&left), Some(a));
        prop_assert_eq!(super::integers::written(&left), Some(a.to_string().into_bytes()));
    }

    #[test]
    fn long_integers_order_by_length(a in "[1-9][0-9]{120,140}", b in "[1-9][0-9]{120,140}") {
        let rule = rule("integerMatch");
        let expected = a.len().cmp(&b.len()).then_with(|| a.cmp(&b));
        let normal = |text: &str| value(rule, text).expect("valid");
        prop_assert_eq!(normal(&a).cmp(&normal(&b)), expected);
        prop_assert_eq!(normal(&format!("-{a}")).cmp(&normal(&format!("-{b}"))), expected.reverse());
        prop_assert_eq!(super::integers::written(&normal(&a)), Some(a.clone().into_bytes()));
        prop_assert_eq!(super::integers::written(&normal(&format!("-{a}"))), Some(format!("-{a}").into_bytes()));
    }

    #[test]
    fn times_order_as_instants(a in 0_u64..3_000_000_000_000, b in 0_u64..3_000_000_000_000, zone in -1439_i64..1440) {
        let rule = rule("generalizedTimeOrderingMatch");
        let left = value(rule, &written(a, 0)).expect("valid");
        let right = value(rule, &written(b, zone)).expect("valid");
        prop_assert_eq!(left.cmp(&right), a.cmp(&b));
        prop_assert_eq!(value(rule, &written(b, 0)).map(|normal| normal.cmp(&right)), Some(Ordering::Equal));
    }

    #[test]
    fn string_rules_are_idempotent(text in "\\PC{0,20}") {
        for name in ["caseIgnoreMatch", "caseExactMatch", "numericStringMatch", "telephoneNumberMatch", "octetStringMatch"] {
            let once = value(rule(name), &text).expect("text");
            let once = String::from_utf8(once).expect("text");
            prop_assert_eq!(value(rule(name), &once), Some(once.into_bytes()), "{}", name);
        }
    }
}

/// This many milliseconds after 2000-01-01, written in a zone of this many minutes.
fn written(milliseconds: u64, zone: i64) -> String {
    let local = i64::try_from(milliseconds).expect("small") + (zone + 1440) * 60_000;
    let (mut days, of_day) = (local / 86_400_000 - 1, local % 86_400_000);
    let mut year = 2000;
    if days < 0 {
        (year, days) = (1999, 364);
    }
    loop {
        let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let length = if leap { 366 } else { 365 };
        if days < length {
            break;
        }
        days -= length;
        year += 1;
    }
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let mut month = 1;
    for length in [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    let (hour, minute) = (of_day / 3_600_000, of_day / 60_000 % 60);
    let (second, fraction) = (of_day / 1000 % 60, of_day % 1000);
    let sign = if zone < 0 { '-' } else { '+' };
    let zone = zone.abs();
    format!(
        "{year:04}{month:02}{:02}{hour:02}{minute:02}{second:02}.{fraction:03}{sign}{:02}{:02}",
        days + 1,
        zone / 60,
        zone % 60
    )
}
