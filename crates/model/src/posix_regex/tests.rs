//! Tests of POSIX expressions.

mod glibc;
mod oracle;
mod random;

use super::*;

/// The place of a match and of its groups.
type Spans = Vec<Option<(usize, usize)>>;

fn spans(pattern: &str, text: &str) -> Option<Vec<Option<(usize, usize)>>> {
    PosixRegex::new(pattern).unwrap().find(text.as_bytes())
}

fn is_match(pattern: &str, text: &str) -> bool {
    PosixRegex::new(pattern).unwrap().is_match(text.as_bytes())
}

#[test]
fn names_are_matched_with_their_submatches() {
    let pattern = "^(.+,)?uid=([^,]+),dc=[^,]+,dc=com$";
    let found = spans(pattern, "ou=Mail,UID=ann,dc=example,dc=com").unwrap();
    assert_eq!(found, [Some((0, 33)), Some((0, 8)), Some((12, 15))]);
    let found = spans(pattern, "uid=ann,dc=example,dc=com").unwrap();
    assert_eq!(found, [Some((0, 25)), None, Some((4, 7))]);
    assert_eq!(spans(pattern, "uid=ann,dc=example,dc=org"), None);
}

/// The octets of ASCII that a bracket expression has.
fn members(bracket: &str) -> String {
    let regex = PosixRegex::case_sensitive(&format!("^{bracket}$")).unwrap();
    let octets = (0..128_u8).filter(|octet| regex.is_match(&[*octet]));
    octets.map(char::from).collect()
}

#[test]
fn a_hyphen_is_an_end_of_a_range_or_stands_for_itself() {
    for (bracket, expected) in [
        ("[+--9]", "+,-9"),
        ("[+--]", "+,-"),
        ("[!--/]", "!\"#$%&'()*+,-/"),
        ("[--/]", "-./"),
        ("[---9]", "-9"),
        ("[%---]", "%&'()*+,-"),
        ("[-a]", "-a"),
        ("[a-]", "-a"),
        ("[--]", "-"),
        ("[a-c-]", "-abc"),
        ("[]-]", "-]"),
        ("[[.-.]-/]", "-./"),
        ("[+-[.-.]]", "+,-"),
    ] {
        assert_eq!(members(bracket), expected, "{bracket}");
    }
}

#[test]
fn a_bracket_has_no_operators_and_no_escapes() {
    for (bracket, expected) in [
        ("[a-f&&b-c]", "&abcdef"),
        ("[a-c~~b]", "abc~"),
        ("[a[b]", "[ab"),
        ("[\\w]", "\\w"),
        ("[\\d-f]", "\\def"),
        ("[]a]", "]a"),
        ("[a^]", "^a"),
        ("[(?i)]", "()?i"),
        ("[[:digit:]x[=y=]]", "0123456789xy"),
    ] {
        let mut expected: Vec<char> = expected.chars().collect();
        expected.sort_unstable();
        assert_eq!(members(bracket), expected.into_iter().collect::<String>(), "{bracket}");
    }
    assert!(is_match("^[a\\]]$", "\\]"));
    // What is not in ASCII is each of its octets.
    assert!(is_match("^[é]{2}$", "é") && !is_match("^[é]$", "é"));
}

#[test]
fn without_case_everything_is_in_upper_case() {
    let refused = |pattern| PosixRegex::new(pattern).is_err() && PosixRegex::case_sensitive(pattern).is_ok();
    assert!(refused("[_-a]") && refused("[Z-a]") && refused("[\\-a]"));
    assert!(is_match("^[a-~]$", "_") && !is_match("^[A-z]$", "_"));
    assert!(is_match("^[b-d]$", "C") && is_match("^[B-D]$", "c"));
    assert!(!is_match("[^a]", "aA") && is_match("^[^a]$", "b"));
    assert!(is_match("^[[:lower:]][[:upper:]]$", "Aa") && !is_match("[^[:lower:]]", "aA"));
    assert!(is_match("^UID=.*$", "uid=a\nb"));
    // Only the letters of ASCII have case.
    assert!(!is_match("^é$", "É"));
}

#[test]
fn an_escape_stands_for_its_character_if_it_is_none_of_glibcs_own() {
    assert!(is_match("^a\\.b$", "a.b") && !is_match("^a\\.b$", "axb"));
    assert!(is_match("\\<ann\\>", "uid=ann,dc=x") && !is_match("\\<nn", "uid=ann"));
    assert!(is_match("^\\w+\\W\\s\\S$", "a_1- x"));
    assert!(is_match("^\\D$", "d") && !is_match("\\D", "1"));
    let sensitive = |pattern, text: &str| PosixRegex::case_sensitive(pattern).unwrap().is_match(text.as_bytes());
    assert!(sensitive("^\\d$", "d") && sensitive("^\\Qa\\E\\x41\\pL$", "QaEx41pL"));
    // glibc looks for the small letter in a text in upper case.
    assert!(!is_match("\\d", "dD1"));
}

#[test]
fn repetitions_are_of_the_last_item_alone() {
    assert!(is_match("^a{2}$", "aa") && is_match("^a{,2}$", "aa") && is_match("^a{,}$", "aaa"));
    assert!(is_match("^a{1}{2}$", "aa") && !is_match("^a{1}{2}$", "a"));
    assert!(is_match("^a*?$", "aaa") && is_match("^a+?$", "aaa"));
    assert!(is_match("^(ab+){2}+$", "abbabababb") && !is_match("^(ab+){2}+$", "abbabab"));
    assert!(is_match("^ab*+$", "abb") && !is_match("^ab*+$", "abab"));
    // The last item is an octet.
    let repeated = PosixRegex::new("^é*$").unwrap();
    assert!(repeated.is_match(b"\xc3") && repeated.is_match(b"\xc3\xa9\xa9"));
    assert!(!repeated.is_match("éé".as_bytes()));
    assert_eq!(spans("(a){0}(b)", "ab").unwrap(), [Some((1, 2)), None, Some((1, 2))]);
}

#[test]
fn what_is_no_operator_where_it_stands_is_itself() {
    assert!(is_match("^a)b}]$", "a)b}]"));
    assert!(is_match("a^b|a$b|x", "x") && !is_match("a^b|a$b", "a^b a$b ab"));
    assert!(is_match("^^a$$", "a") && !is_match("^^a$$", "^a$"));
}

#[test]
fn what_lacks_the_last_part_of_an_expression_does_not_match() {
    for expression in ["([^,]+),(.*),", "(a+)(.*)b", "[^=]+=(.*)="] {
        let regex = PosixRegex::case_sensitive(expression).unwrap();
        for text in ["a, b", "xa, hb", "aa", "a=b"] {
            let is_there = expression.ends_with('b') && text.contains('b') && text.contains('a');
            assert_eq!(regex.is_match(text.as_bytes()), is_there, "{expression} {text}");
            assert_eq!(regex.find(text.as_bytes()).is_some(), is_there, "{expression} {text}");
        }
    }
}

#[test]
fn the_longest_of_the_leftmost_matches_counts() {
    assert_eq!(spans("a|ab", "xab").unwrap(), [Some((1, 3))]);
    assert_eq!(spans("uid=(a|ann)", "uid=ann").unwrap(), [Some((0, 7)), Some((4, 7))]);
    assert_eq!(
        spans("(a|ab)(c|bcd)", "abcd").unwrap(),
        [Some((0, 4)), Some((0, 1)), Some((1, 4))]
    );
    assert_eq!(spans("b|ab+|a", "abb").unwrap(), [Some((0, 3))]);
}

#[test]
fn branches_that_begin_alike_are_tried_in_their_order() {
    let found = spans("^(a*(ab)?x|a*(b)?x)$", "aabx").unwrap();
    assert_eq!(found, [Some((0, 4)), Some((0, 4)), Some((1, 3)), None]);
}

#[test]
fn a_nul_in_a_text_is_an_octet_as_any_other() {
    assert!(is_match("^a.b[^x]$", "a\0b\0") && !is_match("^a$", "a\0b"));
}

#[test]
fn beginnings_rule_out_what_cannot_match() {
    let may = |pattern: &str, beginning: &str| PosixRegex::new(pattern).unwrap().may_match_after(beginning.as_bytes());
    for (pattern, yes, no) in [
        ("^ou=admins,dc=(d[0-9]+),dc=ex$", "ou=", "uid="),
        ("^UID=([^,]+),ou=people,dc=ex$", "uid=", "ou="),
        ("^(cn|ou)=x", "cn=", "o="),
        ("^o(u=|=)x", "o=", "uid="),
        ("^(ou=a|ou=b)", "OU=", "o="),
        ("^u[a-i]d=", "uid=", "und="),
        ("^c?n=", "n=", "uid="),
        ("^(uid=a,)+ou=x", "uid=", "ou="),
    ] {
        assert!(may(pattern, yes), "{pattern} {yes}");
        assert!(!may(pattern, no), "{pattern} {no}");
    }
    for pattern in [
        "ou=admins",
        "^(.+,)?ou=x$",
        "^ou=x|cn=y",
        "^[^,]+,ou=x$",
        "^",
        "^(ou=x)?",
        "^(ou=)*cn=x|",
        "(^ou=)|,",
        ".*ou=x$",
    ] {
        assert!(may(pattern, "uid="), "{pattern}");
    }
}

#[test]
fn groups_begin_with_what_all_of_their_matches_begin_with() {
    for (pattern, number, beginning) in [
        ("^(/homes/[a-z]+)$", 1, "/homes/"),
        ("^(/homes/[a-z]+)$", 0, "/homes/"),
        ("x(ab|ac)(d)", 1, "a"),
        ("x(ab|ac)(d)", 2, "d"),
        ("(ab?)c", 1, "a"),
        ("(ab*)c", 1, "a"),
        ("(ab+)c", 1, "ab"),
        ("(a{2}b)*", 1, "aab"),
        ("(a|b)", 1, ""),
        ("(^/homes/.*)", 1, "/homes/"),
        ("([a-z])", 1, ""),
        ("(a)", 2, ""),
        ("()", 1, ""),
    ] {
        let regex = PosixRegex::case_sensitive(pattern).unwrap();
        assert_eq!(
            regex.beginning_of_group(number),
            beginning.as_bytes(),
            "{pattern} {number}"
        );
    }
    assert_eq!(PosixRegex::new("(ab)").unwrap().beginning_of_group(1), b"");
}

#[test]
fn what_a_group_matches_begins_as_is_said() {
    proptest::proptest!(|(pattern in "\\^?[a-c(|)*+?{1,2}=.\\[^\\]-]{0,12}", text in "[a-c=,]{0,8}")| {
        if let Ok(regex) = PosixRegex::case_sensitive(&pattern) && let Some(found) = regex.find(text.as_bytes()) {
            for (number, group) in found.iter().enumerate() {
                if let Some((start, end)) = group {
                    let held = &text.as_bytes()[*start..*end];
                    proptest::prop_assert!(held.starts_with(&regex.beginning_of_group(number)), "{} {}", pattern, text);
                }
            }
        }
    });
}

#[test]
fn what_matches_is_never_ruled_out() {
    let patterns = "\\^?[a-cA(|)*+?{1,2}=.\\[^\\]-]{0,10}";
    proptest::proptest!(|(pattern in patterns, text in "[a-cA-C=,]{0,6}", length in 0_usize..6)| {
        if let Ok(regex) = PosixRegex::new(&pattern) && regex.is_match(text.as_bytes()) {
            let begin = &text.as_bytes()[..length.min(text.len())];
            proptest::prop_assert!(regex.may_match_after(begin), "{} {}", pattern, text);
        }
    });
}

#[test]
fn what_glibc_refuses_is_refused() {
    let refused = |pattern| PosixRegex::new(pattern).unwrap_err();
    for pattern in [
        "(a",
        "[a",
        "[",
        "a\\",
        "[[:nonsense:]]",
        "[[:ALPHA:]]",
        "[[.hyphen.]]",
        "[[=ab=]]",
        "[[=a=]-z]",
        "[a-[:alpha:]]",
        "[a-c-e]",
        "[+---9]",
        "[b-a]",
        "a{3,2}",
        "a{",
        "a{1",
        "a{}",
        "a{x}",
        "a{1,2,3}",
        "*a",
        "+a",
        "?a",
        "{1}",
        "a|*b",
        "^*a",
        "(*a)",
        "(?i)a",
        "(?:a)",
        "$*",
        "\\<+",
    ] {
        assert!(matches!(refused(pattern), RegexError::Malformed(_)), "{pattern}");
    }
    assert_eq!(refused("a{32768}"), RegexError::TooBig);
}

#[test]
fn what_would_change_its_meaning_or_grow_is_refused() {
    let refused = |pattern: &str| PosixRegex::new(pattern).unwrap_err();
    assert_eq!(refused("(a)\\1"), RegexError::BackReference);
    assert!(matches!(refused("^a\0$"), RegexError::Malformed(_)));
    for pattern in [
        "((((a{100}){100}){100}){100})",
        "a{32767}",
        &"a".repeat(MAX_COMPILED_BYTES),
    ] {
        assert_eq!(refused(pattern), RegexError::TooBig);
    }
    let nested = |levels: usize| "(a|b".repeat(levels) + &")".repeat(levels);
    assert!(PosixRegex::new(&nested(MAX_LEVELS)).is_ok());
    assert_eq!(refused(&nested(MAX_LEVELS + 1)), RegexError::TooBig);
    assert_eq!(refused(&format!("a{}", "*".repeat(MAX_LEVELS + 1))), RegexError::TooBig);
}

#[test]
fn groups_beyond_the_last_one_that_tells_are_counted() {
    let regex = PosixRegex::new(&format!("{}(b)", "(a)".repeat(MAX_GROUPS))).unwrap();
    assert_eq!(regex.groups(), MAX_GROUPS + 1);
    let found = regex.find(&[&[b'a'; MAX_GROUPS], &b"b"[..]].concat()).unwrap();
    assert_eq!(
        (found.len(), found.last()),
        (MAX_GROUPS + 1, Some(&Some((MAX_GROUPS - 1, MAX_GROUPS))))
    );
}

#[test]
fn anything_compiles_or_is_refused() {
    proptest::proptest!(|(text in "[\\\\(){}\\[\\]*+?|^$.,:=a-c0-9é-]{0,12}")| {
        let _ = PosixRegex::new(&text).map(|regex| regex.is_match(b"abc"));
    });
}
