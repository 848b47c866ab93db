//! Random expressions beside the C library's own matching, which slapd uses.

use std::hash::{BuildHasher as _, RandomState};

use regex_syntax::hir::{Hir, HirKind, Look};

use super::{
    oracle::{Answer, Case, Found, Oracle},
    random::Random,
    *,
};

#[test]
fn all_is_as_in_glibc() {
    let cases = std::env::var("IRONBARK_CASES").map_or(5_000, |cases| cases.parse().unwrap());
    let seed = std::env::var("IRONBARK_SEED").ok().map(|seed| seed.parse().unwrap());
    let fresh = RandomState::new().hash_one(());
    let oracle = Oracle::new();
    for seed in seed.map_or_else(|| vec![1, fresh], |seed| vec![seed]) {
        let tally = compared(&oracle, seed, cases);
        println!("IRONBARK_SEED={seed} IRONBARK_CASES={cases}: {tally:?}");
        assert!(
            tally.matches > cases / 2 && tally.groups * 3 > tally.matches,
            "{tally:?}"
        );
        assert!(tally.stuck <= 5 + cases / 5_000, "{tally:?}");
    }
}

#[test]
fn what_is_in_doubt_is_as_in_glibc() {
    let texts = [
        "", "a", "b", "ab", "ba", "aa", "aaa", "*a", "a^b", "a$b", "{1}", "-", "+,-.9", "_", "]", "\\d", "d", "-a-",
        "a\n",
    ];
    let cases = DOUBTS.iter().flat_map(|expression| {
        [false, true].map(|is_case_ignored| Case {
            is_case_ignored,
            expression: (*expression).to_owned(),
            texts: texts.map(|text| text.as_bytes().to_vec()).to_vec(),
        })
    });
    let cases: Vec<Case> = cases.collect();
    for (case, answer) in cases.iter().zip(Oracle::new().ask(&cases)) {
        if let Err(difference) = compare(case, answer, &mut Tally::default()) {
            panic!("{case:?}: {difference}");
        }
    }
}

/// Each is a question that the texts about POSIX leave open, or answer otherwise than glibc.
#[rustfmt::skip]
const DOUBTS: &[&str] = &[
    "*a", "a|*b", "^*a", "(*a)", "+", "?", "{1}", "{", "{a", "({1})", "a|{1}", "()", "()*", "a||b", "|a", "a|", "(|a)",
    "", "|", "a{1,2", "a{", "a{,", "a{,}", "a{x}", "a{1x}", "a{2,1}", "a{1,2,3}", "a{}", "a{ 1}", "a{,3}", "a{0}",
    "(a){0}(b)", "a{256}", "a{32768}", "a{99999999999}", "a{0,32768}", "a{00001}", "a{1}{2}", "a**", "a*?", "a+?",
    "a{2}+", "a{1\\,2}", "a{\\0}", "a{1\\}", "[b-a]", "[a", "[", "[]", "[^", "[]a]", "[^]a]", "[]-a]", "[[:alpha:]]",
    "[[:foo:]]", "[[:ALPHA:]]", "[[:alpha]", "[:alpha:]", "[[.a.]]", "[[.hyphen.]]", "[[.-.]]", "[[=a=]]", "[[=ab=]]",
    "[a-[.z.]]", "[[=a=]-z]", "[a-[=z=]]", "[[:alpha:]-z]", "[--a]", "[a--]", "[+--]", "[+--9]", "[%--]", "[a-c-e]",
    "[a-c-]", "[-a]", "[^-a]", "[a-]", "[---]", "[-]", "[--]", "[--", "[+---9]", "[----]", "[----a]", "[%---]",
    "[[:alpha:]--a]", "[a\\]]", "[\\]]", "[\\d]", "[a-\\]", "[[a]", "[a[]", "[a&&b]", "[a~~b]", "[Z-a]", "[_-a]",
    "[A-z]", "[a-~]", "[[:lower:]]", "[^[:upper:]]", "[^a]", "[[.].]]", "[[...]]", "[[..]]", "[[::]]", "[[===]]", "[é]",
    "[à-é]", "é*", "[^é]", "[\u{1}-é]", "a^b", "a$b", "(^a)", "a|^b", "(a|^)b", "^*", "^+", "^{2}", "$*", "(^)*a",
    "($)*a", "^^a", "a$$", "x*^a", "()^a", "^{", "\\<*a", "\\<a", "a\\>", "\\ba\\b", "a\\Bb", "\\B", "\\b", "\\`a",
    "a\\'", "\\w", "\\W", "\\s", "\\S", "\\d", "\\D", "\\n", "\\Qa", "\\x41", "\\pL", "\\A", "\\z", "\\0", "\\{", "\\|",
    "\\", "a\\", "(a", "a)", "())", ")*", "(?i)a", "(?:a)", "a]", "a}", "}", "]",
];

/// How much has been compared.
#[derive(Default, Debug)]
struct Tally {
    refused: usize,
    back_references: usize,
    texts: usize,
    matches: usize,
    /// Matches whose submatches are compared.
    groups: usize,
    /// Texts that glibc's own faults are about.
    passed_over: usize,
    /// Cases that glibc does not end.
    stuck: usize,
}

fn compared(oracle: &Oracle, seed: u64, cases: usize) -> Tally {
    let (mut random, mut tally, mut left) = (Random::new(seed), Tally::default(), cases);
    while left > 0 {
        let some: Vec<Case> = (0..left.min(10_000)).map(|_| random.case()).collect();
        left -= some.len();
        for (case, answer) in some.iter().zip(oracle.ask(&some)) {
            if let Err(difference) = compare(case, answer, &mut tally) {
                panic!("IRONBARK_SEED={seed}: {case:?}: {difference}");
            }
        }
    }
    tally
}

fn compare(case: &Case, answer: Answer, tally: &mut Tally) -> Result<(), String> {
    let regex = if case.is_case_ignored {
        PosixRegex::new(&case.expression)
    } else {
        PosixRegex::case_sensitive(&case.expression)
    };
    match (regex, answer) {
        (Err(RegexError::BackReference), _) => tally.back_references += 1,
        (Err(_), Answer::Refused) => tally.refused += 1,
        (Err(error), Answer::Found(_) | Answer::Stuck) => return Err(format!("{error}, but glibc accepts it")),
        (Ok(_), Answer::Refused) => return Err("glibc refuses it".to_owned()),
        (Ok(_), Answer::Stuck) => tally.stuck += 1,
        (Ok(regex), Answer::Found(all)) => {
            let reach = Reach::of(&regex);
            for (text, found) in case.texts.iter().zip(all) {
                compare_text(&regex, &reach, text, &found, tally).map_err(|ours| {
                    format!("in {:?}: {ours}, but glibc: {found:?}", text.escape_ascii().to_string())
                })?;
            }
        }
    }
    Ok(())
}

fn compare_text(
    regex: &PosixRegex,
    reach: &Reach,
    text: &[u8],
    found: &Found,
    tally: &mut Tally,
) -> Result<(), String> {
    let ours = regex.find(text);
    let difference = Err(format!("{ours:?}"));
    if ours.is_some() != regex.is_match(text) {
        return Err("find and is_match differ".to_owned());
    }
    if reach.is_glibc_in_doubt(text) {
        tally.passed_over += 1;
        return Ok(());
    }
    tally.texts += 1;
    if ours.is_some() != found.is_match || ours.is_some() != found.spans.is_some() {
        return difference;
    }
    let (Some(ours), Some(theirs)) = (&ours, &found.spans) else {
        return Ok(());
    };
    tally.matches += 1;
    tally.groups += usize::from(!reach.may_groups_differ);
    let are_equal = if reach.may_groups_differ {
        ours.first() == theirs.first()
    } else {
        ours == theirs
    };
    let may_be = (0..=text.len()).all(|end| regex.may_match_after(&text[..end]));
    if are_equal && may_be { Ok(()) } else { difference }
}

/// What the documentation of [`crate::posix_regex`] says of an expression.
struct Reach {
    /// Something is repeated that has an assertion.
    is_assertion_repeated: bool,
    /// There is an assertion that is not at the beginning or end.
    has_inner_assertion: bool,
    may_groups_differ: bool,
}

impl Reach {
    fn of(regex: &PosixRegex) -> Self {
        let hir = parse(&regex.text, regex.case).unwrap().hir;
        let is_assertion_repeated = any(&hir, &|hir| {
            matches!(hir.kind(), HirKind::Repetition(_)) && !hir.properties().look_set().is_empty()
        });
        let has_inner_assertion = inner(&hir).iter().any(|item| !item.properties().look_set().is_empty());
        let may_be_empty = hir.properties().minimum_len().is_none_or(|length| length == 0);
        Self {
            is_assertion_repeated,
            has_inner_assertion,
            may_groups_differ: is_assertion_repeated
                || (has_inner_assertion && may_be_empty)
                || any(&hir, &|hir| is_in_doubt(hir, &regex.text)),
        }
    }

    /// Whether glibc may be wrong about a text.
    fn is_glibc_in_doubt(&self, text: &[u8]) -> bool {
        self.is_assertion_repeated || (self.has_inner_assertion && text.contains(&b'\n'))
    }
}

/// Whether glibc may repeat something more or less often than it is repeated here.
fn is_in_doubt(hir: &Hir, text: &str) -> bool {
    match hir.kind() {
        HirKind::Repetition(repetition) => {
            let sub = repetition.sub.properties();
            let is_counted = repetition.max.is_some_and(|max| max > 1 && max > repetition.min);
            // Without a least length it never matches, or has a branch that never does.
            sub.minimum_len().is_none_or(|length| length == 0) || is_counted && sub.minimum_len() != sub.maximum_len()
        }
        // Of what is always empty, a repetition is not kept.
        HirKind::Capture(capture) => {
            let is_repeated = [")*", ")+", ")?", "){"].iter().any(|end| text.contains(end));
            capture.sub.properties().maximum_len() == Some(0) && is_repeated
        }
        _ => false,
    }
}

/// The expression without assertions at its beginning and end.
fn inner(hir: &Hir) -> &[Hir] {
    let mut items = match hir.kind() {
        HirKind::Concat(items) => items,
        _ => std::slice::from_ref(hir),
    };
    let is_look = |hir: &Hir, but: Look| matches!(hir.kind(), HirKind::Look(look) if *look != but);
    while let [first, rest @ ..] = items
        && is_look(first, Look::End)
    {
        items = rest;
    }
    while let [rest @ .., last] = items
        && is_look(last, Look::Start)
    {
        items = rest;
    }
    items
}

fn any(hir: &Hir, is: &dyn Fn(&Hir) -> bool) -> bool {
    is(hir) || hir.kind().subs().iter().any(|sub| any(sub, is))
}
