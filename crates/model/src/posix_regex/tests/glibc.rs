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
        assert!(tally.faults <= 10 + tally.doubtful / 100, "{tally:?}");
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
    /// Texts about which glibc may be wrong, and how often it differs there.
    doubtful: usize,
    faults: usize,
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
    let may_be = (0..=text.len()).all(|end| regex.may_match_after(&text[..end]));
    if ours.is_some() != regex.is_match(text) || (ours.is_some() && !may_be) {
        return Err("find, is_match and may_match_after differ".to_owned());
    }
    let is_equal = ours.is_some() == found.is_match
        && match (&ours, &found.spans) {
            (Some(ours), Some(theirs)) if reach.may_groups_differ => ours.first() == theirs.first(),
            (ours, theirs) => ours == theirs,
        };
    if reach.may_glibc_be_wrong(text) {
        tally.doubtful += 1;
        tally.faults += usize::from(!is_equal);
        return Ok(());
    }
    tally.texts += 1;
    tally.matches += usize::from(ours.is_some());
    tally.groups += usize::from(ours.is_some() && !reach.may_groups_differ);
    if is_equal { Ok(()) } else { Err(format!("{ours:?}")) }
}

/// What the documentation of [`crate::posix_regex`] says of an expression.
struct Reach {
    /// There is an assertion other than `^` at the beginning and `$` at the end.
    has_inner_assertion: bool,
    /// Something is repeated, or a group is always empty.
    has_repetition: bool,
    may_groups_differ: bool,
}

impl Reach {
    fn of(regex: &PosixRegex) -> Self {
        let hir = parse(&regex.text, regex.case).unwrap().hir;
        let has_inner_assertion = inner(&hir).iter().any(|item| !item.properties().look_set().is_empty());
        Self {
            has_inner_assertion,
            has_repetition: any(&hir, &|hir| {
                matches!(hir.kind(), HirKind::Repetition(_)) || is_empty_group(hir)
            }),
            may_groups_differ: has_inner_assertion || any(&hir, &|hir| is_in_doubt(hir, &regex.text)),
        }
    }

    fn may_glibc_be_wrong(&self, text: &[u8]) -> bool {
        self.has_inner_assertion && (self.has_repetition || text.contains(&b'\n'))
    }
}

/// Whether glibc may repeat something more or less often than it is repeated here.
fn is_in_doubt(hir: &Hir, text: &str) -> bool {
    let HirKind::Repetition(repetition) = hir.kind() else {
        // A repetition of what is always empty is not kept.
        return is_empty_group(hir) && [")*", ")+", ")?", "){"].iter().any(|end| text.contains(end));
    };
    let has_two_bounds = repetition.max.is_some_and(|max| max > 1 && max > repetition.min);
    lengths(&repetition.sub).is_some_and(|(least, most)| least == 0 || has_two_bounds && most != Some(least))
}

fn is_empty_group(hir: &Hir) -> bool {
    matches!(hir.kind(), HirKind::Capture(capture) if capture.sub.properties().maximum_len() == Some(0))
}

/// The least and the greatest length of what is matched; `None`: it never matches. A length that has no bound is `None`
/// too. A branch that never matches, which properties of [`Hir`] count in, does not count.
fn lengths(hir: &Hir) -> Option<(usize, Option<usize>)> {
    let subs = || hir.kind().subs().iter().map(lengths);
    let sum = |all: (usize, Option<usize>), one: (usize, Option<usize>)| {
        let most = all.1.zip(one.1).map(|(all, one)| all + one);
        (all.0 + one.0, most)
    };
    match hir.kind() {
        HirKind::Alternation(_) => subs().flatten().reduce(|all, one| {
            let most = all.1.zip(one.1).map(|(all, one)| all.max(one));
            (all.0.min(one.0), most)
        }),
        HirKind::Concat(_) => subs().try_fold((0, Some(0)), |all, one| Some(sum(all, one?))),
        HirKind::Capture(capture) => lengths(&capture.sub),
        HirKind::Repetition(repetition) => {
            let Some((least, most)) = lengths(&repetition.sub) else {
                return (repetition.min == 0).then_some((0, Some(0)));
            };
            let most = most.zip(repetition.max).map(|(most, max)| most * max as usize);
            Some((least * repetition.min as usize, most))
        }
        _ => hir
            .properties()
            .minimum_len()
            .map(|least| (least, hir.properties().maximum_len())),
    }
}

/// The expression without `^` at its beginning and `$` at its end.
fn inner(hir: &Hir) -> &[Hir] {
    let mut items = match hir.kind() {
        HirKind::Concat(items) => items,
        _ => std::slice::from_ref(hir),
    };
    let is_look = |hir: &Hir, look: Look| matches!(hir.kind(), HirKind::Look(own) if *own == look);
    while let [first, rest @ ..] = items
        && is_look(first, Look::Start)
    {
        items = rest;
    }
    while let [rest @ .., last] = items
        && is_look(last, Look::End)
    {
        items = rest;
    }
    items
}

fn any(hir: &Hir, is: &dyn Fn(&Hir) -> bool) -> bool {
    is(hir) || hir.kind().subs().iter().any(|sub| any(sub, is))
}
