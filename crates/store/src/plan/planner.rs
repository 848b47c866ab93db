//! The planner. It looks up the filter's items in the indexes, cheapest first, and stops as soon as another look-up
//! costs more than verifying the remaining candidates.

use std::sync::{Arc, OnceLock};

use ironbark_model::{AttributeDescription, CompiledFilter, Truth, filter::compiled::FilterNode};
use smallvec::SmallVec;

use super::{
    Chain, Outcome, Plan, Source, Term, TermKind, Way,
    conjunction::Conjunction,
    leaf::{Leaf, Lists},
    operands::{Operand, Operands},
    range, scope,
};
use crate::{
    DerivedCandidates, EntryGuards, EntryId, Purpose, StoreError, View,
    posting::{IdSet, list},
    scope::DitScope,
};

/// Index look-ups for planning one search; filter items beyond them are left to verification.
const MAX_PROBES: usize = 4096;
/// Steps for looking at a list.
const LOOK_STEPS: u64 = 5;
/// IDs that are put into a set in about one step.
const IDS_PER_STEP: u64 = 256;
/// Filter nesting that is planned: planning recurses, and a hostile filter may be nested very deeply.
const MAX_DEPTH: usize = 32;
/// A set of at most this many candidates is verified at once.
pub(super) const FEW: u64 = 8;
/// A list of at most this many is read at once.
pub(super) const SHORT: u64 = 16;
/// A set that is made from other sets is also read at once up to this size.
pub(super) const READ_AT_ONCE: u64 = 4096;
/// Reading an ID of a posting list costs about this part of verifying a candidate.
pub(super) const READ_FACTOR: u64 = 40;

/// What the indexes say of one filter node.
pub(super) enum Answer {
    /// At most these entries; `true`: all of them match.
    Set(IdSet, bool),
    /// At most the common IDs of lists, read when needed; `true`: all of them match.
    Lists(Conjunction, bool),
    /// A set of about this many entries, fetched when needed.
    Large(u64),
    /// Any entry, because of what the item asks.
    Everything,
    /// No index.
    Unknown,
    /// It depends on an item about a derived attribute, which is looked up when the others have been.
    Later,
}

pub(super) struct Planner<'p, 't> {
    pub(super) view: View<'t>,
    pub(super) filter: &'p CompiledFilter,
    /// Present if the requester may not see everything.
    pub(super) guards: Option<&'p dyn EntryGuards>,
    pub(super) terms: SmallVec<[Term; 4]>,
    pub(super) chains: Vec<Chain>,
    probes: usize,
    /// Depth of the node that is being planned.
    depth: usize,
    /// Candidates by derived values that are worth looking up; `None`: later.
    pub(super) derived_worth: Option<u64>,
}

/// See [`View::plan`].
pub(crate) fn plan(
    view: View<'_>,
    base: EntryId,
    scope: DitScope,
    filter: &CompiledFilter,
    guards: Option<&dyn EntryGuards>,
) -> Result<Plan, StoreError> {
    let mut planner = Planner::new(view, filter, guards);
    let has_chain = filter
        .nodes
        .iter()
        .any(|node| matches!(node, FilterNode::InChain { .. }));
    let answer = if scope == DitScope::Base && !has_chain {
        Answer::Everything
    } else {
        planner.fetch(0)?
    };
    let (terms, chains) = (planner.terms, planner.chains);
    let version = if chains.is_empty() { None } else { view.version() };
    let finish = |indexed, candidate_estimate, source, way| Plan {
        indexed,
        candidate_estimate,
        source,
        way,
        terms,
        chains,
        walked: OnceLock::new(),
        catalog: Arc::clone(view.catalog),
        version,
    };
    if scope == DitScope::Base {
        return Ok(finish(true, 1, Source::One(base), Way::Base));
    }
    let everything = matches!(answer, Answer::Everything);
    let narrowed = scope::narrow(view, base, scope, answer)?;
    let indexed = everything || narrowed.way != Way::Scan;
    Ok(finish(indexed, narrowed.estimate, narrowed.source, narrowed.way))
}

/// The entries that may match a filter, in any scope. `Unknown` if they seem to be more than `most`.
pub(crate) fn candidates(view: View<'_>, filter: &CompiledFilter, most: u64) -> Result<DerivedCandidates, StoreError> {
    let mut planner = Planner::new(view, filter, None);
    planner.derived_worth = Some(most);
    let is_too_much = match planner.probe(0)? {
        Answer::Lists(lists, _) => lists.estimate() > most,
        Answer::Large(count) => count > most,
        Answer::Everything => return Ok(DerivedCandidates::Everything),
        Answer::Set(set, _) => return Ok(DerivedCandidates::Ids(set.into_treemap())),
        Answer::Unknown | Answer::Later => true,
    };
    if is_too_much {
        return Ok(DerivedCandidates::Unknown);
    }
    Ok(match planner.fetch_set(0)? {
        Answer::Set(set, _) => DerivedCandidates::Ids(set.into_treemap()),
        Answer::Everything => DerivedCandidates::Everything,
        _ => DerivedCandidates::Unknown,
    })
}

impl<'p, 't> Planner<'p, 't> {
    fn new(view: View<'t>, filter: &'p CompiledFilter, guards: Option<&'p dyn EntryGuards>) -> Self {
        Self {
            view,
            filter,
            guards,
            terms: SmallVec::new(),
            chains: Vec::new(),
            probes: 0,
            depth: 0,
            derived_worth: Some(u64::MAX),
        }
    }
}

impl Planner<'_, '_> {
    #[inline]
    pub(super) fn node(&self, at: usize) -> Option<&FilterNode> {
        self.filter.nodes.get(at)
    }
    /// Index one past the last descendant.
    fn end(&self, at: usize) -> usize {
        match self.node(at) {
            Some(FilterNode::And { end } | FilterNode::Or { end } | FilterNode::Not { end }) => {
                (*end as usize).max(at + 1)
            }
            _ => at + 1,
        }
    }
    #[inline]
    pub(super) fn children(&self, at: usize) -> impl Iterator<Item = usize> + '_ {
        let end = self.end(at);
        let mut next = at + 1;
        std::iter::from_fn(move || {
            let child = next;
            (child < end).then(|| {
                next = self.end(child);
                child
            })
        })
    }
    /// Equality with one look-up; not objectClass, whose lists are long.
    #[inline]
    pub(super) fn is_plain_equality(&self, at: usize) -> bool {
        let Some(FilterNode::Equality {
            slot,
            rule,
            dn_attributes: false,
            ..
        }) = self.node(at)
        else {
            return false;
        };
        let asked = self.filter.slot(*slot).map(|description| description.attribute_type);
        rule.evaluate.is_none() && asked != self.view.catalog.special.object_class
    }
    /// A cheap look: returns the answer itself if it is small or costs nothing, otherwise an estimate.
    pub(super) fn probe(&mut self, at: usize) -> Result<Answer, StoreError> {
        match self.node(at) {
            None | Some(FilterNode::Constant(Truth::True)) => Ok(Answer::Everything),
            Some(FilterNode::Constant(_)) => Ok(Answer::Set(IdSet::Nothing, true)),
            Some(FilterNode::And { .. }) => self.descend(|planner| planner.probe_and(at)),
            Some(FilterNode::Or { .. }) => self.descend(|planner| planner.probe_or(at)),
            Some(FilterNode::Not { .. }) => self.descend(|planner| planner.probe_not(at)),
            Some(_) => self.probe_leaf(at),
        }
    }
    /// Looks at the operands of a node, unless it is nested so deeply that an index would hardly help.
    fn descend(&mut self, look: impl FnOnce(&mut Self) -> Result<Answer, StoreError>) -> Result<Answer, StoreError> {
        if self.depth == MAX_DEPTH {
            return Ok(Answer::Unknown);
        }
        self.depth += 1;
        let answer = look(self);
        self.depth -= 1;
        answer
    }
    /// The answer, at any cost.
    pub(super) fn fetch(&mut self, at: usize) -> Result<Answer, StoreError> {
        match self.probe(at)? {
            Answer::Large(_) => self.fetch_large(at),
            answer => Ok(answer),
        }
    }
    /// As [`Self::fetch`], with lists read to a set.
    fn fetch_set(&mut self, at: usize) -> Result<Answer, StoreError> {
        Ok(match self.fetch(at)? {
            Answer::Lists(lists, exact) => Answer::Set(lists.read(self.view)?, exact),
            answer => answer,
        })
    }
    pub(super) fn fetch_large(&mut self, at: usize) -> Result<Answer, StoreError> {
        match self.node(at) {
            Some(FilterNode::And { .. }) => self.descend(|planner| planner.fetch_and(at)),
            Some(FilterNode::Or { .. }) => self.descend(|planner| planner.fetch_or(at)),
            _ => self.fetch_leaf(at),
        }
    }
    /// The entries that an item's index has.
    pub(super) fn fetch_leaf(&mut self, at: usize) -> Result<Answer, StoreError> {
        match self.leaf(at)? {
            Leaf::Union(lists, exact) => Ok(Answer::Set(self.union(&lists)?, exact)),
            Leaf::Intersection(lists) => {
                let operands = self.look_at_lists(&lists)?;
                self.combine(operands)
            }
            Leaf::Range(range) => Ok(Answer::Set(range::fetch(self.view, &range)?, false)),
            Leaf::Set(set, exact) => Ok(Answer::Set(set, exact)),
            Leaf::Everything => Ok(Answer::Everything),
            Leaf::Unknown => Ok(Answer::Unknown),
        }
    }

    fn probe_leaf(&mut self, at: usize) -> Result<Answer, StoreError> {
        self.probes += 1;
        if self.probes > MAX_PROBES || !self.view.spend(LOOK_STEPS) {
            return Ok(Answer::Unknown);
        }
        if let Some((derived, item)) = self.derived_item(at) {
            let answer = self.derived_answer(at, derived, &item)?;
            if item.most == u64::MAX || !matches!(answer, Answer::Unknown) {
                self.note_answer(at, &answer);
            }
            return Ok(answer);
        }
        let leaf = self.leaf(at)?;
        let answer = match leaf {
            Leaf::Set(set, exact) => Answer::Set(set, exact),
            Leaf::Everything => Answer::Everything,
            Leaf::Unknown => Answer::Unknown,
            Leaf::Range(range) => match range::probe(self.view, &range)? {
                (count, true) => {
                    self.note(at, Outcome::Counted(count, true));
                    return Ok(Answer::Set(range::fetch(self.view, &range)?, false));
                }
                (count, false) => Answer::Large(count),
            },
            Leaf::Union(lists, exact) => self.probe_union(&lists, exact)?,
            Leaf::Intersection(lists) => self.probe_intersection(&lists)?,
        };
        self.note_answer(at, &answer);
        Ok(answer)
    }
    fn note_answer(&mut self, at: usize, answer: &Answer) {
        match answer {
            Answer::Unknown => self.note(at, Outcome::NotIndexed),
            Answer::Set(set, _) => self.note(at, Outcome::Counted(set.len(), true)),
            Answer::Lists(lists, _) => self.note(at, Outcome::Counted(lists.estimate(), lists.is_counted())),
            Answer::Large(count) => self.note(at, Outcome::Counted(*count, false)),
            Answer::Everything | Answer::Later => {}
        }
    }
    fn probe_union(&mut self, lists: &Lists, exact: bool) -> Result<Answer, StoreError> {
        let table = &self.view.tables().index;
        if let [only] = lists.as_slice() {
            // The usual equality: one look-up gives the answer.
            if only.tail == 0
                && let Some(id) = self.view.sole(&only.key)?
            {
                return Ok(Answer::Set(id, exact));
            }
        }
        let (mut count, mut complete) = (0u64, true);
        let mut filled: SmallVec<[_; 1]> = SmallVec::new();
        for one in lists {
            if !self.view.spend(LOOK_STEPS) {
                return Ok(Answer::Unknown);
            }
            let estimate = list::estimate(self.view.txn, table, &one.key, one.tail)?;
            count = count.saturating_add(estimate.count);
            complete &= estimate.complete;
            if estimate.count > 0 {
                filled.push((one, estimate));
            }
        }
        if let [(one, estimate)] = filled.as_slice()
            && one.tail == 0
            && count > SHORT
        {
            return Ok(Answer::Lists(Conjunction::one(one.key.clone(), *estimate), exact));
        }
        if complete && count <= READ_AT_ONCE {
            return Ok(Answer::Set(self.union(lists)?, exact));
        }
        Ok(Answer::Large(count))
    }
    fn probe_intersection(&mut self, lists: &Lists) -> Result<Answer, StoreError> {
        let operands = self.look_at_lists(lists)?;
        self.combine_if_cheap(operands)
    }
    fn look_at_lists(&self, lists: &Lists) -> Result<Operands, StoreError> {
        let mut operands = Operands::default();
        for one in lists {
            let estimate = list::estimate(self.view.txn, &self.view.tables().index, &one.key, one.tail)?;
            if one.tail == 0 {
                operands.add_lists(Conjunction::one(one.key.clone(), estimate));
            } else {
                operands.others.push((estimate.count, Operand::Lists(one.clone())));
            }
            if estimate.count <= FEW {
                break;
            }
        }
        Ok(operands)
    }
    pub(super) fn union(&self, lists: &Lists) -> Result<IdSet, StoreError> {
        let mut set = IdSet::Nothing;
        for one in lists {
            let before = set.len();
            list::read_prefix(self.view.txn, &self.view.tables().index, &one.key, one.tail, &mut set)?;
            if !self.view.spend(LOOK_STEPS + set.len().abs_diff(before) / IDS_PER_STEP) {
                break;
            }
        }
        Ok(set)
    }

    fn probe_or(&mut self, at: usize) -> Result<Answer, StoreError> {
        let mut union = IdSet::Nothing;
        let (mut all_exact, mut large, mut everything, mut unknown) = (true, 0u64, false, false);
        let children: SmallVec<[usize; 8]> = self.children(at).collect();
        for child in children {
            match self.probe(child)? {
                Answer::Set(set, exact) => {
                    all_exact &= exact;
                    union.unite(set);
                }
                Answer::Lists(lists, exact) if lists.estimate() <= READ_AT_ONCE => {
                    all_exact &= exact;
                    union.unite(lists.read(self.view)?);
                }
                Answer::Lists(lists, _) => large = large.saturating_add(lists.estimate()),
                Answer::Large(count) => large = large.saturating_add(count.max(1)),
                Answer::Everything => everything = true,
                Answer::Unknown => unknown = true,
                Answer::Later => return Ok(Answer::Later),
            }
        }
        Ok(if unknown {
            Answer::Unknown
        } else if everything {
            Answer::Everything
        } else if large > 0 {
            Answer::Large(large.saturating_add(union.len()))
        } else {
            Answer::Set(union, all_exact)
        })
    }
    fn fetch_or(&mut self, at: usize) -> Result<Answer, StoreError> {
        let mut union = IdSet::Nothing;
        let mut all_exact = true;
        let children: SmallVec<[usize; 8]> = self.children(at).collect();
        for child in children {
            match self.fetch_set(child)? {
                Answer::Set(set, exact) => {
                    all_exact &= exact;
                    union.unite(set);
                }
                other => return Ok(other),
            }
        }
        Ok(Answer::Set(union, all_exact))
    }
    /// A complement pays if nearly all entries are in the set. It is right if all entries of the set match.
    fn probe_not(&mut self, at: usize) -> Result<Answer, StoreError> {
        let terms = self.terms.len();
        let answer = self.probe(at + 1)?;
        let total = self.view.entry_count()?;
        let large = match &answer {
            Answer::Set(set, true) => set.len() > total / 2,
            Answer::Lists(lists, true) => lists.estimate() > total / 2,
            Answer::Large(count) => *count > total / 2,
            _ => false,
        };
        if large
            && self.is_guarded_alike(at)
            && let Answer::Set(set, true) = self.fetch_set(at + 1)?
        {
            let mut rest = IdSet::Nothing;
            rest.insert_run(1, self.view.last_entry()?);
            rest.subtract(&set);
            return Ok(Answer::Set(rest, false));
        }
        // An index cannot help below a negation: the log need not mention that it is missing.
        self.terms.truncate(terms);
        Ok(Answer::Unknown)
    }

    /// Whether the indexes and the access rules agree on every node below this one. They disagree if a node is True by
    /// the indexes but False for the requester: then a negation leaves out other entries than those that an index
    /// gives. This happens where a stored attribute answers that is not exactly the attribute asked for, or where rules
    /// distinguish between values. (If the requester may not ask for an attribute at all, the item is Undefined, and so
    /// is its negation.)
    fn is_guarded_alike(&self, at: usize) -> bool {
        let Some(guards) = self.guards else { return true };
        let catalog = self.view.catalog;
        let nodes = self.filter.nodes.get(at..self.end(at)).unwrap_or_default();
        !guards.tells_values_apart()
            && nodes.iter().filter_map(FilterNode::slot).all(|slot| {
                let is_asked = |asked: &AttributeDescription| {
                    catalog
                        .numbers_of(asked)
                        .all(|number| catalog.attribute(number).is_some_and(|info| info.description == *asked))
                };
                self.filter.slot(slot).is_some_and(is_asked)
            })
    }

    fn note(&mut self, at: usize, outcome: Outcome) {
        let (kind, slot) = match self.node(at) {
            Some(FilterNode::Present(slot)) => (TermKind::Presence, *slot),
            Some(
                FilterNode::Equality { slot, .. } | FilterNode::AnyOf { slot, .. } | FilterNode::InChain { slot, .. },
            ) => (TermKind::Equality, *slot),
            Some(
                FilterNode::GreaterOrEqual { slot, .. }
                | FilterNode::LessOrEqual { slot, .. }
                | FilterNode::Less { slot, .. },
            ) => (TermKind::Inequality, *slot),
            Some(FilterNode::Approx { slot, .. }) => (TermKind::Approximate, *slot),
            Some(FilterNode::Substrings { slot, .. }) => (TermKind::Substring, *slot),
            _ => return,
        };
        let Some(description) = self.filter.slots.get(usize::from(slot.0)) else {
            return;
        };
        let term = Term {
            kind,
            attribute: description.attribute_type,
            outcome,
            is_derived: self.view.deriving_of(description, Purpose::Match).is_some(),
        };
        let same = |old: &&mut Term| old.kind == kind && old.attribute == term.attribute && old.outcome == outcome;
        if self.terms.iter_mut().find(same).is_none() && self.terms.len() < super::MAX_TERMS {
            self.terms.push(term);
        }
    }
}
