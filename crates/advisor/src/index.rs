//! Which indexes would have spared which work.
//!
//! An item of a conjunction serves the whole, all operands of a disjunction together do, and a negation is served by
//! nothing. What an index would have spared is at most what was looked at in vain.

use std::collections::{BTreeMap, BTreeSet};

use ironbark_model::Filter;

/// Entries that a search must look at in vain, on average, to be worth an index.
pub const THRESHOLD: u64 = 100;

/// A kind of index, in the order in which one is preferred for a conjunction.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// `eq`, for order too.
    Equality,
    /// `sub`.
    Substring,
    /// `approx`.
    Approximate,
    /// `pres`.
    Presence,
}

/// An index that is there or not.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Term {
    /// The attribute type's name.
    pub attribute: String,
    /// What it serves.
    pub kind: Kind,
}

/// An index that is configured, and how many searches have used it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Index {
    /// Which it is.
    pub term: Term,
    /// Searches that have used it.
    pub uses: u64,
}

/// Searches with the same filter but for values.
#[derive(Clone, Debug)]
pub struct SearchStatistics {
    /// The filter without values: `(sn=?)`.
    pub filter: String,
    /// What the planner looked up, and whether an index had it.
    pub terms: Vec<(Term, bool)>,
    /// How many there were.
    pub searches: u64,
    /// Entries that were looked at; `None`: nobody counted, and a search that is here was too slow.
    pub candidates: Option<u64>,
    /// Entries that were returned.
    pub entries: u64,
}

/// A database, and what was asked of it.
#[derive(Clone, Debug)]
pub struct DatabaseStatistics {
    /// Its suffix.
    pub suffix: String,
    /// As in `olcDatabase={1}mdb`.
    pub number: String,
    /// Entries that it holds.
    pub entries: u64,
    /// Indexes that it has.
    pub indexes: Vec<Index>,
    /// The searches.
    pub searches: Vec<SearchStatistics>,
}

/// Indexes that belong together, and what they would have spared.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Proposal {
    /// The indexes.
    pub indexes: BTreeSet<Term>,
    /// Searches that they would serve.
    pub searches: u64,
    /// Entries that those searches looked at, where they were counted.
    pub candidates: u64,
    /// Entries that those searches returned.
    pub entries: u64,
    /// The filters of those searches, without values.
    pub filters: Vec<String>,
}

impl Proposal {
    /// Entries that were looked at in vain.
    pub fn gain(&self) -> u64 {
        self.candidates.saturating_sub(self.entries)
    }
}

impl Kind {
    /// The kind that serves a kind of match, as the log names it.
    pub fn of_match(word: &str) -> Option<Self> {
        Some(match word {
            // Keys in order serve both.
            "equality" | "inequality" => Self::Equality,
            "substring" => Self::Substring,
            "approximate" => Self::Approximate,
            "presence" => Self::Presence,
            _ => return None,
        })
    }

    /// The word of `index`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Equality => "eq",
            Self::Substring => "sub",
            Self::Approximate => "approx",
            Self::Presence => "pres",
        }
    }

    fn of_word(word: &str) -> Option<Self> {
        [Self::Equality, Self::Substring, Self::Approximate, Self::Presence]
            .into_iter()
            .find(|kind| kind.word() == word)
    }
}

impl Index {
    /// `uid eq 17`.
    pub fn parse(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        let (attribute, kind, uses) = (words.next()?, words.next()?, words.next()?);
        let term = Term {
            attribute: attribute.to_owned(),
            kind: Kind::of_word(kind)?,
        };
        Some(Self {
            term,
            uses: uses.parse().ok()?,
        })
    }
}

/// The `index` line of an attribute.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IndexLine {
    /// The attribute type's name.
    pub attribute: String,
    /// What is there; nothing: the line is new.
    pub before: BTreeSet<Kind>,
    /// What is there and what would pay.
    pub after: BTreeSet<Kind>,
}

impl IndexLine {
    /// `sn eq,pres`.
    pub fn text(&self) -> String {
        format!("{} {}", self.attribute, words(&self.after))
    }
}

/// `eq,pres`.
pub fn words(kinds: &BTreeSet<Kind>) -> String {
    kinds.iter().map(|kind| kind.word()).collect::<Vec<_>>().join(",")
}

/// The lines that proposals make. An attribute has one, so that one that is there is replaced.
pub fn lines(database: &DatabaseStatistics, proposals: &[Proposal]) -> Vec<IndexLine> {
    let mut wanted: BTreeMap<&str, BTreeSet<Kind>> = BTreeMap::new();
    for term in proposals.iter().flat_map(|proposal| &proposal.indexes) {
        wanted.entry(&term.attribute).or_default().insert(term.kind);
    }
    let line = |(attribute, kinds): (&str, BTreeSet<Kind>)| {
        let present = database
            .indexes
            .iter()
            .filter(|index| index.term.attribute.eq_ignore_ascii_case(attribute));
        let before: BTreeSet<Kind> = present.map(|index| index.term.kind).collect();
        IndexLine {
            attribute: attribute.to_owned(),
            after: &before | &kinds,
            before,
        }
    };
    wanted.into_iter().map(line).collect()
}

/// The items of a filter, as an index would serve them.
pub(crate) fn terms(filter: &Filter<'_>) -> Vec<Term> {
    let mut found = Vec::new();
    collect_terms(filter, &mut found);
    found
}

/// Filters nest as deep as their parser lets them.
fn collect_terms(filter: &Filter<'_>, found: &mut Vec<Term>) {
    match filter {
        Filter::And(operands) | Filter::Or(operands) => {
            for operand in operands {
                collect_terms(operand, found);
            }
        }
        Filter::Not(operand) => collect_terms(operand, found),
        item => found.extend(term_of(item).map(|(attribute, kind)| Term {
            attribute: String::from_utf8_lossy(type_of(attribute)).into_owned(),
            kind,
        })),
    }
}

/// An attribute description without its options.
fn type_of(attribute: &[u8]) -> &[u8] {
    attribute.split(|&byte| byte == b';').next().unwrap_or_default()
}

/// What an item asks of an index.
fn term_of<'f>(item: &'f Filter<'_>) -> Option<(&'f [u8], Kind)> {
    Some(match item {
        Filter::Equality(item) | Filter::GreaterOrEqual(item) | Filter::LessOrEqual(item) => {
            (&*item.attribute, Kind::Equality)
        }
        Filter::Approx(item) => (&*item.attribute, Kind::Approximate),
        Filter::Substrings { attribute, .. } => (&**attribute, Kind::Substring),
        Filter::Present(attribute) => (&**attribute, Kind::Presence),
        Filter::Extensible {
            attribute: Some(attribute),
            ..
        } => (&**attribute, Kind::Equality),
        Filter::And(_) | Filter::Or(_) | Filter::Not(_) | Filter::Extensible { attribute: None, .. } => return None,
    })
}

/// Proposals for each database, those first that would have spared most.
pub fn advise(databases: &[DatabaseStatistics], threshold: u64) -> Vec<Vec<Proposal>> {
    databases
        .iter()
        .map(|database| proposals(database, threshold))
        .collect()
}

/// What would pay for one database, the greatest gain first.
///
/// `threshold`: entries that a search must look at in vain, on average, to count.
pub fn proposals(database: &DatabaseStatistics, threshold: u64) -> Vec<Proposal> {
    let mut found: BTreeMap<BTreeSet<Term>, Proposal> = BTreeMap::new();
    for asked in &database.searches {
        let is_cheap = |candidates: u64| {
            let vain = candidates.saturating_sub(asked.entries);
            vain.checked_div(asked.searches)
                .is_none_or(|each| each < threshold.max(1))
        };
        if asked.searches == 0 || asked.candidates.is_some_and(is_cheap) {
            continue;
        }
        let Some(indexes) = wanted(asked) else { continue };
        let proposal = found.entry(indexes.clone()).or_insert_with(|| Proposal {
            indexes,
            ..Proposal::default()
        });
        proposal.searches = proposal.searches.saturating_add(asked.searches);
        proposal.candidates = proposal.candidates.saturating_add(asked.candidates.unwrap_or_default());
        proposal.entries = proposal.entries.saturating_add(asked.entries);
        if !proposal.filters.contains(&asked.filter) {
            proposal.filters.push(asked.filter.clone());
        }
    }
    let mut proposals: Vec<_> = found.into_values().collect();
    proposals.sort_by_key(|proposal| std::cmp::Reverse(proposal.gain()));
    proposals
}

/// The indexes that would serve a filter better than those that are there.
fn wanted(asked: &SearchStatistics) -> Option<BTreeSet<Term>> {
    /// More are not shown by the server.
    const MOST_DEPTH: usize = 64;
    let lacking = match Filter::parse(asked.filter.as_bytes(), MOST_DEPTH) {
        Ok(filter) => lack(&filter, &asked.terms, true),
        // Cut off: any of its items may be the one.
        Err(_) => best(
            asked.terms.iter().map(|(term, indexed)| Lack::of_item(term, *indexed)),
            true,
        ),
    };
    match lacking {
        Lack::Indexes(indexes) => Some(indexes),
        Lack::Nothing | Lack::Hope => None,
    }
}

/// What a filter lacks to be served by indexes.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Lack {
    Nothing,
    Indexes(BTreeSet<Term>),
    /// No index helps, as far as is known.
    Hope,
}

impl Lack {
    fn of_item(term: &Term, indexed: bool) -> Self {
        if indexed {
            Self::Nothing
        } else {
            Self::Indexes(BTreeSet::from([term.clone()]))
        }
    }
}

/// `improves`: an index that serves better than one that is there is wanted too. The server shows 64 items at most, so
/// that the recursion has an end.
fn lack(filter: &Filter<'_>, terms: &[(Term, bool)], improves: bool) -> Lack {
    match filter {
        Filter::And(operands) => best(operands.iter().map(|operand| lack(operand, terms, improves)), improves),
        Filter::Or(operands) => {
            let mut all = BTreeSet::new();
            for operand in operands {
                match lack(operand, terms, false) {
                    Lack::Nothing => {}
                    Lack::Indexes(indexes) => all.extend(indexes),
                    Lack::Hope => return Lack::Hope,
                }
            }
            if all.is_empty() {
                Lack::Nothing
            } else {
                Lack::Indexes(all)
            }
        }
        Filter::Not(_) => Lack::Hope,
        item => match term_of(item) {
            Some((attribute, kind)) => of_item(attribute, kind, terms),
            None => Lack::Hope,
        },
    }
}

/// The operand of a conjunction that needs least.
fn best(operands: impl Iterator<Item = Lack>, improves: bool) -> Lack {
    let mut best: Option<BTreeSet<Term>> = None;
    let mut is_served = false;
    let rank = |indexes: &BTreeSet<Term>| (indexes.len(), indexes.iter().map(|term| term.kind).max());
    for operand in operands {
        match operand {
            Lack::Nothing => is_served = true,
            Lack::Hope => {}
            Lack::Indexes(indexes) => {
                if best.as_ref().is_none_or(|known| rank(&indexes) < rank(known)) {
                    best = Some(indexes);
                }
            }
        }
    }
    match best {
        Some(_) if is_served && !improves => Lack::Nothing,
        Some(indexes) => Lack::Indexes(indexes),
        None if is_served => Lack::Nothing,
        None => Lack::Hope,
    }
}

/// What was found for an item; one that the planner did not look up tells nothing.
fn of_item(attribute: &[u8], kind: Kind, terms: &[(Term, bool)]) -> Lack {
    let name = type_of(attribute);
    let same = |term: &Term| term.kind == kind && term.attribute.as_bytes().eq_ignore_ascii_case(name);
    match terms.iter().find(|(term, _)| same(term)) {
        Some((term, indexed)) => Lack::of_item(term, *indexed),
        None => Lack::Hope,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(filter: &str, terms: &[(&str, Kind, bool)]) -> SearchStatistics {
        let term = |&(attribute, kind, indexed): &(&str, Kind, bool)| {
            let attribute = attribute.to_owned();
            (Term { attribute, kind }, indexed)
        };
        SearchStatistics {
            filter: filter.to_owned(),
            terms: terms.iter().map(term).collect(),
            searches: 10,
            candidates: Some(10_000),
            entries: 10,
        }
    }

    fn wanted_of(filter: &str, terms: &[(&str, Kind, bool)]) -> String {
        let words = |term: &Term| format!("{} {}", term.attribute, term.kind.word());
        let wanted = wanted(&asked(filter, terms)).unwrap_or_default();
        wanted.iter().map(words).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn the_structure_of_a_filter_decides() {
        use Kind::{Equality, Presence, Substring};
        let (sn, mail, class) = (
            ("sn", Equality, false),
            ("mail", Substring, false),
            ("objectClass", Equality, true),
        );
        for (filter, terms, expected) in [
            ("(sn=?)", &[sn][..], "sn eq"),
            ("(sn=?)", &[("sn", Equality, true)], ""),
            ("(sn>=?)", &[sn], "sn eq"),
            ("(mail=*?*)", &[mail], "mail sub"),
            ("(sn=*)", &[("sn", Presence, false)], "sn pres"),
            ("(!(sn=?))", &[sn], ""),
            // A class is served and yet leads to too many.
            ("(&(objectClass=?)(sn=?))", &[class, sn], "sn eq"),
            ("(&(mail=?*)(sn=?))", &[mail, sn], "sn eq"),
            ("(|(mail=?*)(sn=?))", &[mail, sn], "mail sub, sn eq"),
            ("(|(objectClass=?)(sn=?))", &[class, sn], "sn eq"),
            ("(|(sn=?)(!(mail=*?*)))", &[mail, sn], ""),
            (
                "(&(objectClass=?)(|(sn=?)(mail=?*)))",
                &[class, sn, mail],
                "mail sub, sn eq",
            ),
            // What the planner did not look at is unknown.
            ("(&(uid=?)(sn=?))", &[("uid", Equality, true)], ""),
            ("(sn;lang-en=?)", &[sn], "sn eq"),
            ("(&(sn=?)(cn=?)...", &[sn, ("cn", Equality, true)], "sn eq"),
        ] {
            assert_eq!(wanted_of(filter, terms), expected, "{filter}");
        }
    }

    #[test]
    fn filters_that_want_the_same_index_are_added_up_and_the_greatest_gain_comes_first() {
        let (sn, mail) = (("sn", Kind::Equality, false), ("mail", Kind::Equality, false));
        let mut small = asked("(mail=?)", &[mail]);
        small.candidates = Some(2_000);
        let mut cheap = asked("(mail=?)", &[("l", Kind::Equality, false)]);
        cheap.candidates = Some(200);
        let database = DatabaseStatistics {
            suffix: "dc=a".to_owned(),
            number: "1".to_owned(),
            entries: 1_000,
            indexes: Vec::new(),
            searches: vec![small, asked("(sn=?)", &[sn]), asked("(&(sn=?)(!(l=?)))", &[sn]), cheap],
        };
        let advice = proposals(&database, 100);
        let shown: Vec<_> = advice
            .iter()
            .map(|proposal| (proposal.searches, proposal.gain(), proposal.filters.len()))
            .collect();
        assert_eq!(shown, [(20, 19_980, 2), (10, 1_990, 1)]);
    }

    #[test]
    fn indexes_are_read_as_the_server_shows_them() {
        let index = Index::parse("uid eq 17").unwrap();
        assert_eq!(
            (index.term.attribute.as_str(), index.term.kind, index.uses),
            ("uid", Kind::Equality, 17)
        );
        assert_eq!(Index::parse("uid eq"), None);
        assert_eq!(Index::parse("uid other 1"), None);
    }
}
