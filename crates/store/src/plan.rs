//! How a search is answered: the planner's choice and the resulting candidates.

mod candidates;
mod conjunction;
mod derived;
mod leaf;
mod operands;
pub(crate) mod planner;
mod range;
mod read_ahead;
mod scope;
mod ways;

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use ironbark_model::{AttributeDescription, schema::TypeNumber};
use roaring::RoaringTreemap;
use smallvec::SmallVec;

pub use candidates::Candidates;
use conjunction::{Ahead, Conjunction};
pub(crate) use scope::candidates as scope_candidates;

use crate::{
    EntryId, StoreError, Version, View,
    catalog::Catalog,
    posting::{FewIds, IdSet},
    view::WalkedChains,
};

/// The kind of a filter item, as slapd's candidate functions are divided.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum TermKind {
    /// `=`.
    Equality,
    /// `=*`.
    Presence,
    /// `=a*b`.
    Substring,
    /// `>=` and `<=`.
    Inequality,
    /// `~=`.
    Approximate,
}

/// A filter item that no index served; slapd logs `<= mdb_equality_candidates: (cn) not indexed`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnindexedTerm<'p> {
    /// Kind.
    pub kind: TermKind,
    /// First name of the attribute type.
    pub attribute: &'p str,
}

/// A filter item that the planner looked up, and whether an index had an answer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PlannedTerm {
    /// Kind.
    pub kind: TermKind,
    /// The attribute type that was asked for.
    pub attribute: TypeNumber,
    /// Whether an index served it.
    pub indexed: bool,
}

/// The chosen way to answer. `Display` explains it.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Whether some index (or the scope alone) served; false: entries were scanned (`not indexed` in the log).
    pub indexed: bool,
    /// About how many candidates there are.
    pub candidate_estimate: u64,
    pub(crate) source: Source,
    way: Way,
    terms: SmallVec<[Term; 4]>,
    chains: Vec<Chain>,
    /// Chains that are followed from candidates, one after the other.
    walked: OnceLock<Arc<Mutex<WalkedChains>>>,
    catalog: Arc<Catalog>,
    /// The version in which `chains` were followed.
    version: Option<Version>,
}

/// Where candidates come from.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// None.
    Nothing,
    /// One entry.
    One(EntryId),
    /// A few.
    Short(FewIds),
    /// Many.
    Many(Arc<RoaringTreemap>),
    /// The common IDs of lists, read only when needed, except for a batch that was read ahead.
    Lists(Conjunction, Ahead),
    /// All rows of `entries`.
    All,
}

/// The word for the explanation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    Base,
    Index,
    IndexAndScope,
    Children,
    Subtree,
    Scan,
}

/// What became of one filter item.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Term {
    pub(crate) kind: TermKind,
    pub(crate) attribute: TypeNumber,
    pub(crate) outcome: Outcome,
    /// Whether computed values count.
    pub(crate) is_derived: bool,
}

/// See [`Term`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    NotIndexed,
    /// Number of IDs, and whether it is exact.
    Counted(u64, bool),
}

/// Result of a chain: entries from which the target is reached.
#[derive(Clone, Debug)]
pub(crate) struct Chain {
    pub(crate) asked: AttributeDescription,
    pub(crate) target: Box<[u8]>,
    pub(crate) found: Arc<IdSet>,
}

/// Filter items that a plan remembers for its explanation.
const MAX_TERMS: usize = 64;

impl Plan {
    /// The filter items that were looked up, in that order. An item is left out if another one decided the search
    /// before it.
    pub fn terms(&self) -> impl Iterator<Item = PlannedTerm> + '_ {
        self.terms.iter().map(|term| PlannedTerm {
            kind: term.kind,
            attribute: term.attribute,
            indexed: term.outcome != Outcome::NotIndexed,
        })
    }
    /// The filter items that had no index, in the order of the filter; each attribute and kind once.
    pub fn unindexed_terms(&self) -> impl Iterator<Item = UnindexedTerm<'_>> {
        let unindexed = |term: &Term| term.outcome == Outcome::NotIndexed;
        self.terms.iter().enumerate().filter_map(move |(at, term)| {
            let first = !self.terms.iter().take(at).any(|earlier| earlier == term);
            (unindexed(term) && first).then(|| UnindexedTerm {
                kind: term.kind,
                attribute: self.attribute_name(term),
            })
        })
    }
    /// Whether there are more candidates than the look-through limit (`size.unchecked`) allows. `view` is that of the
    /// plan.
    pub fn exceeds(&self, view: View<'_>, limit: u64) -> Result<bool, StoreError> {
        match &self.source {
            Source::Lists(lists, _) => lists.exceeds(view, limit),
            _ => Ok(self.candidate_estimate > limit),
        }
    }
    /// Whether the indexes are still the same as when the plan was made.
    fn indexes_are_those_of(&self, view: View<'_>) -> bool {
        let (then, now) = (&self.catalog.indexes, &view.catalog.indexes);
        let both = || then.iter().zip(now);
        Arc::ptr_eq(&self.catalog, view.catalog)
            || then.len() == now.len() && both().all(|(then, now)| then.stored == now.stored)
    }
    /// The results of following chains from candidates.
    pub(crate) fn walked(&self) -> MutexGuard<'_, WalkedChains> {
        let walked = self.walked.get_or_init(Arc::default);
        walked.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Forgets which entries chains lead to: the requester may follow other values now. Candidates stay as they are.
    pub fn forget_chains(&mut self) {
        self.chains.clear();
        self.walked.take();
    }
    /// The entries from which a chain reaches its target, if the plan has followed it in the version that `view` shows.
    pub(crate) fn chain(&self, view: View<'_>, asked: &AttributeDescription, target: &[u8]) -> Option<&IdSet> {
        if self.version != view.version() {
            return None;
        }
        let chain = self
            .chains
            .iter()
            .find(|chain| chain.asked == *asked && *chain.target == *target)?;
        Some(&chain.found)
    }
    fn attribute_name(&self, term: &Term) -> &str {
        let found = self.catalog.schema.attribute_type(term.attribute);
        found.names.first().unwrap_or(&found.oid)
    }
}

impl View<'_> {
    /// A plan whose candidates are these entries. The whole filter is evaluated on each.
    pub fn plan_of(&self, entries: RoaringTreemap) -> Plan {
        Plan {
            indexed: true,
            candidate_estimate: entries.len(),
            source: Source::Many(Arc::new(entries)),
            way: Way::Index,
            terms: SmallVec::new(),
            chains: Vec::new(),
            walked: OnceLock::new(),
            catalog: Arc::clone(self.catalog),
            version: None,
        }
    }
}

impl Source {
    fn of(set: IdSet) -> Self {
        match set {
            IdSet::Nothing => Self::Nothing,
            IdSet::One(id) => Self::One(id),
            IdSet::Short(ids) => Self::Short(ids),
            IdSet::Many(ids) => Self::Many(Arc::new(ids)),
        }
    }
}

impl TermKind {
    /// The word in slapd's log lines, as in `mdb_equality_candidates`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Equality => "equality",
            Self::Presence => "presence",
            Self::Substring => "substring",
            Self::Inequality => "inequality",
            Self::Approximate => "approximate",
        }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let way = match self.way {
            Way::Base => "the base entry alone",
            Way::Index => "index",
            Way::IndexAndScope => "index, intersected with the scope",
            Way::Children => "walk of the immediate subordinates",
            Way::Subtree => "walk of the subtree",
            Way::Scan => "scan of all entries",
        };
        writeln!(f, "way: {way}")?;
        let about = match &self.source {
            Source::Lists(lists, _) if !lists.is_counted() => "about ",
            _ => "",
        };
        write!(f, "candidates: {about}{}", self.candidate_estimate)?;
        for term in &self.terms {
            write!(f, "\n  {} {}: ", self.attribute_name(term), term.kind.word())?;
            match term.outcome {
                Outcome::NotIndexed => f.write_str("not indexed")?,
                Outcome::Counted(count, true) => write!(f, "{count}")?,
                Outcome::Counted(count, false) => write!(f, "about {count}")?,
            }
            if term.is_derived {
                f.write_str(", computed values among them")?;
            }
        }
        Ok(())
    }
}
