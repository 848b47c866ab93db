//! Tests of POSIX expressions.

use std::process::Command;

use super::*;

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

#[test]
fn what_perl_means_otherwise_is_meant_as_posix_says() {
    // Backslashes and brackets inside brackets stand for themselves.
    assert!(is_match("^[\\w]+$", "w\\"));
    assert!(!is_match("^[\\w]$", "a"));
    assert!(is_match("^[]a]+$", "a]"));
    assert!(is_match("^[^]a]$", "b"));
    assert!(is_match("^[a&&b~~-]+$", "a&b~-"));
    assert!(is_match("^[[a]+$", "[a"));
    assert!(is_match("^[[:digit:]x]+$", "1x2"));
    // An escape stands for its character, except glibc's own escapes.
    assert!(is_match("^\\d$", "d"));
    assert!(is_match("^a\\.b$", "a.b") && !is_match("^a\\.b$", "axb"));
    assert!(is_match("\\<ann\\>", "uid=ann,dc=x"));
    // Braces that are no interval, and repetitions of nothing.
    assert!(is_match("^a{x}$", "a{x}"));
    assert!(is_match("^a{2}$", "aa") && is_match("^a{,2}$", "aa"));
    assert!(is_match("^(*a)$", "*a"));
    assert!(is_match("^a*?$", "aaa"));
    assert!(is_match("^(ab+){2}+$", "abbabababb") && !is_match("^(ab+){2}+$", "abbabab"));
    assert!(is_match("^ab*+$", "abb") && !is_match("^ab*+$", "abab"));
    assert!(is_match("a)b", "a)b"));
    // Case, and line ends.
    assert!(is_match("^UID=.*$", "uid=a\nb"));
}

#[test]
fn groups_of_what_is_held_at_both_ends_are_those_of_glibc() {
    // sed uses glibc's matching.
    let patterns: Vec<String> = (0..1000).map(random_groups).collect();
    let texts = ["ab", "abc", "aab", "abab", "bcab", "aabbc", "abcbc", "cabab"];
    // Each expression is tried on a copy of each line.
    let each = patterns.iter().map(|pattern| format!("h;s/{pattern}/\\1,\\2,\\3/p;g;"));
    let output = Command::new("sh")
        .args([
            "-c",
            "printf '%s\\n' $2 | sed -nE \"$1\"",
            "sh",
            &each.collect::<String>(),
            &texts.join(" "),
        ])
        .output()
        .unwrap();
    let theirs = String::from_utf8(output.stdout).unwrap();
    let regexes: Vec<PosixRegex> = patterns
        .iter()
        .map(|pattern| PosixRegex::new(pattern).unwrap())
        .collect();
    let mut ours = Vec::new();
    for text in texts {
        for (regex, found) in regexes
            .iter()
            .filter_map(|regex| Some((regex, regex.find(text.as_bytes())?)))
        {
            let group = |number: usize| found[number].map_or("", |(start, end)| &text[start..end]);
            ours.push((format!("{},{},{}", group(1), group(2), group(3)), regex, text));
        }
    }
    assert!(ours.len() > 500, "{}", ours.len());
    assert_eq!(ours.len(), theirs.lines().count());
    let others = ours
        .iter()
        .zip(theirs.lines())
        .filter(|((one, ..), other)| one != other);
    assert_eq!(others.collect::<Vec<_>>(), []);
}

/// An expression with three groups of alternatives.
fn random_groups(seed: u64) -> String {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut below = |limit: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((state >> 33) % limit).unwrap()
    };
    let mut pattern = String::from("^");
    for _ in 0..3 {
        let mut alternatives: Vec<String> = Vec::new();
        for _ in 0..=below(3) {
            let length = 1 + below(3);
            alternatives.push((0..length).map(|_| ["a", "b", "c", "."][below(4)]).collect());
        }
        write!(pattern, "({}){}", alternatives.join("|"), ["", "?", ""][below(3)]).unwrap();
    }
    pattern + "$"
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
    proptest::proptest!(|(pattern in "\\^?[a-cA(|)*+?{1,2}=.\\[^\\]-]{0,10}", text in "[a-cA-C=,]{0,6}", length in 0_usize..6)| {
        if let Ok(regex) = PosixRegex::new(&pattern) && regex.is_match(text.as_bytes()) {
            proptest::prop_assert!(regex.may_match_after(&text.as_bytes()[..length.min(text.len())]), "{} {}", pattern, text);
        }
    });
}

#[test]
fn what_cannot_be_is_refused() {
    let refused = |pattern| PosixRegex::new(pattern).unwrap_err();
    assert_eq!(refused("(a)\\1"), RegexError::BackReference);
    for pattern in ["(a", "[a", "a\\", "[[:nonsense:]]", "[[.a.]]", "a{3,2}"] {
        assert!(matches!(refused(pattern), RegexError::Malformed(_)), "{pattern}");
    }
    assert_eq!(refused("((((a{100}){100}){100}){100})"), RegexError::TooBig);
}

#[test]
fn anything_compiles_or_is_refused() {
    proptest::proptest!(|(text in "[\\\\(){}\\[\\]*+?|^$.,:=a-c0-9é-]{0,12}")| {
        let _ = PosixRegex::new(&text).map(|regex| regex.is_match(b"abc"));
    });
}
