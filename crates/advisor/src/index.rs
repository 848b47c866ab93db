//! Which indexes would have saved work.
//!
//! One item of a conjunction serves the whole conjunction. A disjunction needs all its operands. Nothing serves a
//! negation. An index saves at most the entries that were read in vain.

use std::collections::{BTreeMap, BTreeSet};

use ironbark_model::Filter;

/// Average number of entries that a search must read in vain to be worth an index.
pub const THRESHOLD: u64 = 100;

/// The kind of an index. Earlier kinds are preferred for a conjunction.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum IndexType {
    /// `eq`. It serves order too.
    Equality,
    /// `sub`.
    Substring,
    /// `approx`.
    Approximate,
    /// `pres`.
    Presence,
}

/// An index, whether it exists or not.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Term {
    /// The attribute type's name.
    pub attribute: String,
    /// The kind of match that it serves.
    pub kind: IndexType,
}

/// A configured index, and how many searches have used it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Index {
    /// The index.
    pub term: Term,
    /// Searches that have used it.
    pub uses: u64,
}

/// Searches whose filters differ only in their values.
#[derive(Clone, Debug)]
pub struct SearchStatistics {
    /// The filter without values: `(sn=?)`.
    pub filter: String,
    /// The planner's look-ups, and whether an index served them.
    pub terms: Vec<(Term, bool)>,
    /// The number of searches.
    pub searches: u64,
    /// Entries that were read. `None`: they were not counted, and the searches were too slow.
    pub candidates: Option<u64>,
    /// Entries that were returned.
    pub entries: u64,
}

/// A database and its searches.
#[derive(Clone, Debug)]
pub struct DatabaseStatistics {
    /// Its suffix.
    pub suffix: String,
    /// The number, as in `olcDatabase={1}mdb`.
    pub number: String,
    /// Entries that it holds.
    pub entries: u64,
    /// Indexes that it has.
    pub indexes: Vec<Index>,
    /// The searches.
    pub searches: Vec<SearchStatistics>,
}

/// Indexes that belong together, and the work that they would have saved.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Proposal {
    /// The indexes.
    pub indexes: BTreeSet<Term>,
    /// Searches that they would serve.
    pub searches: u64,
    /// Entries that those searches read, where they were counted.
    pub candidates: u64,
    /// Entries that those searches returned.
    pub entries: u64,
    /// The filters of those searches, without values.
    pub filters: Vec<String>,
}

impl Proposal {
    /// Entries that were read in vain.
    pub fn gain(&self) -> u64 {
        self.candidates.saturating_sub(self.entries)
    }
}

impl IndexType {
    /// The kind of index for a kind of match, by its word in the log.
    pub fn of_match(word: &str) -> Option<Self> {
        Some(match word {
            // Ordered keys serve both.
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
            kind: IndexType::of_word(kind)?,
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
    /// The existing kinds. Empty: the line is new.
    pub before: BTreeSet<IndexType>,
    /// The existing kinds and those that would pay.
    pub after: BTreeSet<IndexType>,
}

impl IndexLine {
    /// `sn eq,pres`.
    pub fn text(&self) -> String {
        format!("{} {}", self.attribute, words(&self.after))
    }
}

/// `eq,pres`.
pub fn words(kinds: &BTreeSet<IndexType>) -> String {
    kinds.iter().map(|kind| kind.word()).collect::<Vec<_>>().join(",")
}

/// The lines of proposals. An attribute has one line, so an existing line is replaced.
pub fn lines(database: &DatabaseStatistics, proposals: &[Proposal]) -> Vec<IndexLine> {
    let mut wanted: BTreeMap<&str, BTreeSet<IndexType>> = BTreeMap::new();
    for term in proposals.iter().flat_map(|proposal| &proposal.indexes) {
        wanted.entry(&term.attribute).or_default().insert(term.kind);
    }
    let line = |(attribute, kinds): (&str, BTreeSet<IndexType>)| {
        let present = database
            .indexes
            .iter()
            .filter(|index| index.term.attribute.eq_ignore_ascii_case(attribute));
        let before: BTreeSet<IndexType> = present.map(|index| index.term.kind).collect();
        IndexLine {
            attribute: attribute.to_owned(),
            after: &before | &kinds,
            before,
        }
    };
    wanted.into_iter().map(line).collect()
}

/// The items of a filter, as indexes serve them.
pub(crate) fn terms(filter: &Filter<'_>) -> Vec<Term> {
    let mut found = Vec::new();
    collect_terms(filter, &mut found);
    found
}

/// The nesting is bounded by the parser.
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

/// The attribute and the kind of index that serve an item.
fn term_of<'f>(item: &'f Filter<'_>) -> Option<(&'f [u8], IndexType)> {
    Some(match item {
        Filter::Equality(item) | Filter::GreaterOrEqual(item) | Filter::LessOrEqual(item) => {
            (&*item.attribute, IndexType::Equality)
        }
        Filter::Approx(item) => (&*item.attribute, IndexType::Approximate),
        Filter::Substrings { attribute, .. } => (&**attribute, IndexType::Substring),
        Filter::Present(attribute) => (&**attribute, IndexType::Presence),
        Filter::Extensible {
            attribute: Some(attribute),
            ..
        } => (&**attribute, IndexType::Equality),
        Filter::And(_) | Filter::Or(_) | Filter::Not(_) | Filter::Extensible { attribute: None, .. } => return None,
    })
}

/// Proposals for each database. Those with the greatest gain come first.
pub fn advise(databases: &[DatabaseStatistics], threshold: u64) -> Vec<Vec<Proposal>> {
    databases
        .iter()
        .map(|database| proposals(database, threshold))
        .collect()
}

/// Proposals for one database, the greatest gain first.
///
/// `threshold`: entries that a search must read in vain, on average, to count.
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

/// The indexes that would serve a filter better than the existing ones.
fn wanted(asked: &SearchStatistics) -> Option<BTreeSet<Term>> {
    /// The server does not show deeper filters.
    const MOST_DEPTH: usize = 64;
    let lacking = match Filter::parse(asked.filter.as_bytes(), MOST_DEPTH) {
        Ok(filter) => lack(&filter, &asked.terms, true),
        // The filter was cut off. Each of its items may be the right one.
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

/// What indexes lack to serve a filter.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Lack {
    Nothing,
    Indexes(BTreeSet<Term>),
    /// No index is known to help.
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

/// `improves`: an index that serves better than an existing one is wanted too. The server shows 64 items at most, so
/// the recursion is bounded.
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

/// The operand of a conjunction that needs the fewest indexes.
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

/// The lack of an item. An item that the planner did not look up gives no information.
fn of_item(attribute: &[u8], kind: IndexType, terms: &[(Term, bool)]) -> Lack {
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

    fn asked(filter: &str, terms: &[(&str, IndexType, bool)]) -> SearchStatistics {
        let term = |&(attribute, kind, indexed): &(&str, IndexType, bool)| {
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

    fn wanted_of(filter: &str, terms: &[(&str, IndexType, bool)]) -> String {
        let words = |term: &Term| format!("{} {}", term.attribute, term.kind.word());
        let wanted = wanted(&asked(filter, terms)).unwrap_or_default();
        wanted.iter().map(words).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn the_structure_of_a_filter_decides() {
        use IndexType::{Equality, Presence, Substring};
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
            // The class has an index, but finds too many entries.
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
            // Items that the planner did not look up are unknown.
            ("(&(uid=?)(sn=?))", &[("uid", Equality, true)], ""),
            ("(sn;lang-en=?)", &[sn], "sn eq"),
            ("(&(sn=?)(cn=?)...", &[sn, ("cn", Equality, true)], "sn eq"),
        ] {
            assert_eq!(wanted_of(filter, terms), expected, "{filter}");
        }
    }

    #[test]
    fn filters_that_want_the_same_index_are_added_up_and_the_greatest_gain_comes_first() {
        let (sn, mail) = (("sn", IndexType::Equality, false), ("mail", IndexType::Equality, false));
        let mut small = asked("(mail=?)", &[mail]);
        small.candidates = Some(2_000);
        let mut cheap = asked("(mail=?)", &[("l", IndexType::Equality, false)]);
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
            ("uid", IndexType::Equality, 17)
        );
        assert_eq!(Index::parse("uid eq"), None);
        assert_eq!(Index::parse("uid other 1"), None);
    }
}
