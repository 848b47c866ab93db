//! The planner: looks at the filter's items in the indexes, cheapest first, and stops as soon as more looking costs more than
//! verifying what is left.

use std::sync::Arc;

use ironbark_model::{CompiledFilter, Truth, filter::compiled::Node};
use smallvec::SmallVec;

use super::{
    Chain, Outcome, Plan, Scope, Source, Term, TermKind, Way,
    leaf::{Leaf, Lists},
    range, scope,
};
use crate::{
    EntryId, StoreError, View,
    posting::{IdSet, list},
};

/// Index look-ups that planning one search may take; what lies beyond is left to verification.
const MAX_PROBES: usize = 4096;
/// Nesting to which a filter is planned: planning recurses, and a hostile filter nests as deeply as it may.
const MAX_DEPTH: usize = 32;
/// A set of at most this many candidates is verified at once.
const FEW: u64 = 8;
/// Reading an ID of a posting list costs about this part of verifying a candidate.
const READ_FACTOR: u64 = 40;

/// What the indexes say of one filter node.
pub(super) enum Answer {
    /// At most these entries; `true`: all of them match.
    Set(IdSet, bool),
    /// A set of about this many entries, to be fetched when wanted.
    Large(u64),
    /// Any entry, by the nature of the item.
    Everything,
    /// No index.
    Unknown,
}

pub(super) struct Planner<'p, 't> {
    pub(super) view: View<'t>,
    pub(super) filter: &'p CompiledFilter,
    pub(super) terms: SmallVec<[Term; 4]>,
    pub(super) chains: Vec<Chain>,
    probes: usize,
    /// Nodes that are being looked into, one inside the other.
    depth: usize,
}

/// See [`View::plan`].
pub(crate) fn plan(view: View<'_>, base: EntryId, scope: Scope, filter: &CompiledFilter) -> Result<Plan, StoreError> {
    let mut planner = Planner {
        view,
        filter,
        terms: SmallVec::new(),
        chains: Vec::new(),
        probes: 0,
        depth: 0,
    };
    let has_chain = filter.nodes.iter().any(|node| matches!(node, Node::InChain { .. }));
    let answer = if scope == Scope::Base && !has_chain {
        Answer::Everything
    } else {
        planner.fetch(0)?
    };
    let (terms, chains) = (planner.terms, planner.chains);
    let finish = |indexed, candidate_estimate, source, way| Plan {
        indexed,
        candidate_estimate,
        source,
        way,
        terms,
        chains,
        catalog: Arc::clone(view.catalog),
    };
    if scope == Scope::Base {
        return Ok(finish(true, 1, Source::One(base), Way::Base));
    }
    let (set, everything) = match answer {
        Answer::Set(set, _) => (Some(set), false),
        Answer::Everything => (None, true),
        Answer::Large(_) | Answer::Unknown => (None, false),
    };
    let narrowed = scope::narrow(view, base, scope, set)?;
    let indexed = everything || narrowed.way != Way::Scan;
    Ok(finish(indexed, narrowed.estimate, narrowed.source, narrowed.way))
}

impl Planner<'_, '_> {
    fn node(&self, at: usize) -> Option<&Node> {
        self.filter.nodes.get(at)
    }
    /// Index one past the last descendant.
    fn end(&self, at: usize) -> usize {
        match self.node(at) {
            Some(Node::And { end } | Node::Or { end } | Node::Not { end }) => (*end as usize).max(at + 1),
            _ => at + 1,
        }
    }
    fn children(&self, at: usize) -> impl Iterator<Item = usize> + '_ {
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
    /// Equality by one look-up; not of objectClass, whose lists are long.
    fn is_plain_equality(&self, at: usize) -> bool {
        let Some(Node::Equality {
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
    /// A cheap look: the answer itself if it is small or costs nothing, an estimate otherwise.
    fn probe(&mut self, at: usize) -> Result<Answer, StoreError> {
        match self.node(at) {
            None | Some(Node::Constant(Truth::True)) => Ok(Answer::Everything),
            Some(Node::Constant(_)) => Ok(Answer::Set(IdSet::Nothing, true)),
            Some(Node::And { .. }) => self.descend(|planner| planner.probe_and(at)),
            Some(Node::Or { .. }) => self.descend(|planner| planner.probe_or(at)),
            Some(Node::Not { .. }) => self.descend(|planner| planner.probe_not(at)),
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
    /// The answer, whatever it costs.
    pub(super) fn fetch(&mut self, at: usize) -> Result<Answer, StoreError> {
        match self.probe(at)? {
            Answer::Large(_) => self.fetch_large(at),
            answer => Ok(answer),
        }
    }
    fn fetch_large(&mut self, at: usize) -> Result<Answer, StoreError> {
        match self.node(at) {
            Some(Node::And { .. }) => self.descend(|planner| planner.fetch_and(at)),
            Some(Node::Or { .. }) => self.descend(|planner| planner.fetch_or(at)),
            _ => match self.leaf(at)? {
                Leaf::Union(lists, exact) => Ok(Answer::Set(self.union(&lists)?, exact)),
                Leaf::Intersection(lists) => Ok(Answer::Set(self.intersection(&lists)?, false)),
                Leaf::Range(range) => Ok(Answer::Set(range::fetch(self.view, &range)?, false)),
                Leaf::Set(set, exact) => Ok(Answer::Set(set, exact)),
                Leaf::Everything => Ok(Answer::Everything),
                Leaf::Unknown => Ok(Answer::Unknown),
            },
        }
    }

    fn probe_leaf(&mut self, at: usize) -> Result<Answer, StoreError> {
        self.probes += 1;
        if self.probes > MAX_PROBES {
            return Ok(Answer::Unknown);
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
        match &answer {
            Answer::Unknown => self.note(at, Outcome::NotIndexed),
            Answer::Set(set, _) => self.note(at, Outcome::Counted(set.len(), true)),
            Answer::Large(count) => self.note(at, Outcome::Counted(*count, false)),
            Answer::Everything => {}
        }
        Ok(answer)
    }
    fn probe_union(&mut self, lists: &Lists, exact: bool) -> Result<Answer, StoreError> {
        let table = &self.view.tables().index;
        if let [only] = lists.as_slice() {
            // The usual equality: one look gives the answer.
            if only.tail == 0
                && let Some(id) = list::sole(self.view.txn, table, &only.key)?
            {
                return Ok(Answer::Set(id, exact));
            }
        }
        let (mut count, mut complete) = (0u64, true);
        for one in lists {
            let estimate = list::estimate(self.view.txn, table, &one.key, one.tail)?;
            count = count.saturating_add(estimate.count);
            complete &= estimate.complete;
        }
        if complete && count <= 4096 {
            return Ok(Answer::Set(self.union(lists)?, exact));
        }
        Ok(Answer::Large(count))
    }
    fn probe_intersection(&mut self, lists: &Lists) -> Result<Answer, StoreError> {
        let table = &self.view.tables().index;
        let mut smallest = u64::MAX;
        for one in lists {
            let estimate = list::estimate(self.view.txn, table, &one.key, one.tail)?;
            smallest = smallest.min(estimate.count);
            if smallest <= FEW {
                break;
            }
        }
        if smallest <= 4096 {
            return Ok(Answer::Set(self.intersection(lists)?, false));
        }
        Ok(Answer::Large(smallest))
    }
    fn union(&self, lists: &Lists) -> Result<IdSet, StoreError> {
        let mut set = IdSet::Nothing;
        for one in lists {
            list::read_prefix(self.view.txn, &self.view.tables().index, &one.key, one.tail, &mut set)?;
        }
        Ok(set)
    }
    /// The smallest list, intersected with others while that pays.
    fn intersection(&self, lists: &Lists) -> Result<IdSet, StoreError> {
        let table = &self.view.tables().index;
        let mut order: SmallVec<[(u64, usize); 8]> = SmallVec::new();
        for (at, one) in lists.iter().enumerate() {
            order.push((list::estimate(self.view.txn, table, &one.key, one.tail)?.count, at));
        }
        order.sort_unstable();
        let mut result: Option<IdSet> = None;
        for (count, at) in order {
            let Some(one) = lists.get(at) else { continue };
            let read = |set: &mut IdSet| list::read_prefix(self.view.txn, table, &one.key, one.tail, set);
            match &mut result {
                None => {
                    let mut set = IdSet::Nothing;
                    read(&mut set)?;
                    result = Some(set);
                }
                Some(result) if pays(result.len(), count) => {
                    let mut set = IdSet::Nothing;
                    read(&mut set)?;
                    result.intersect(&set);
                }
                Some(_) => break,
            }
        }
        Ok(result.unwrap_or_default())
    }

    /// Probes all children of an AND; a small set ends it at once.
    fn probe_and(&mut self, at: usize) -> Result<Answer, StoreError> {
        match self.look_at_and(at)? {
            Looked::Done(answer) => Ok(answer),
            Looked::Children(children) => {
                let smallest = children.iter().map(|child| child.0).min();
                match smallest {
                    Some(count) if count <= 4096 => self.combine_and(children),
                    Some(count) => Ok(Answer::Large(count)),
                    None => Ok(Answer::Unknown),
                }
            }
        }
    }
    fn fetch_and(&mut self, at: usize) -> Result<Answer, StoreError> {
        match self.look_at_and(at)? {
            Looked::Done(answer) => Ok(answer),
            Looked::Children(children) => self.combine_and(children),
        }
    }
    fn look_at_and(&mut self, at: usize) -> Result<Looked, StoreError> {
        let mut found: Vec<Operand> = Vec::new();
        let mut everything = true;
        let mut children: SmallVec<[usize; 8]> = self.children(at).collect();
        // What costs one look and often decides alone comes first: `(&(objectClass=person)(uid=x))` looks at uid only.
        children.sort_by_key(|&child| !self.is_plain_equality(child));
        for child in children {
            match self.probe(child)? {
                Answer::Set(set, _) if set.len() <= FEW => return Ok(Looked::Done(Answer::Set(set, false))),
                Answer::Set(set, exact) => found.push((set.len(), child, Some((set, exact)))),
                Answer::Large(count) => found.push((count, child, None)),
                Answer::Everything => continue,
                Answer::Unknown => {}
            }
            everything = false;
        }
        if everything {
            return Ok(Looked::Done(Answer::Everything));
        }
        found.sort_by_key(|child| child.0);
        Ok(Looked::Children(found))
    }
    fn combine_and(&mut self, children: Vec<Operand>) -> Result<Answer, StoreError> {
        let mut result: Option<IdSet> = None;
        for (count, child, set) in children {
            if let Some(result) = &result
                && set.is_none()
                && !pays(result.len(), count)
            {
                break;
            }
            let set = match set {
                Some((set, _)) => set,
                None => match self.fetch_large(child)? {
                    Answer::Set(set, _) => set,
                    _ => continue,
                },
            };
            match &mut result {
                None => result = Some(set),
                Some(result) => result.intersect(&set),
            }
        }
        Ok(result.map_or(Answer::Unknown, |set| Answer::Set(set, false)))
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
                Answer::Large(count) => large = large.saturating_add(count.max(1)),
                Answer::Everything => everything = true,
                Answer::Unknown => unknown = true,
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
            match self.fetch(child)? {
                Answer::Set(set, exact) => {
                    all_exact &= exact;
                    union.unite(set);
                }
                other => return Ok(other),
            }
        }
        Ok(Answer::Set(union, all_exact))
    }
    /// A complement pays when nearly all entries are in the set, and is right when all of the set match.
    fn probe_not(&mut self, at: usize) -> Result<Answer, StoreError> {
        let terms = self.terms.len();
        let answer = self.probe(at + 1)?;
        let total = self.view.entry_count()?;
        let large = match &answer {
            Answer::Set(set, true) => set.len() > total / 2,
            Answer::Large(count) => *count > total / 2,
            _ => false,
        };
        if large && let Answer::Set(set, true) = self.fetch(at + 1)? {
            let mut rest = IdSet::Nothing;
            rest.insert_run(1, self.view.last_entry()?);
            rest.subtract(&set);
            return Ok(Answer::Set(rest, false));
        }
        // Below a negation an index cannot help: its absence is not worth a line in the log.
        self.terms.truncate(terms);
        Ok(Answer::Unknown)
    }

    fn note(&mut self, at: usize, outcome: Outcome) {
        let (kind, slot) = match self.node(at) {
            Some(Node::Present(slot)) => (TermKind::Presence, *slot),
            Some(Node::Equality { slot, .. } | Node::AnyOf { slot, .. } | Node::InChain { slot, .. }) => {
                (TermKind::Equality, *slot)
            }
            Some(Node::GreaterOrEqual { slot, .. } | Node::LessOrEqual { slot, .. } | Node::Less { slot, .. }) => {
                (TermKind::Inequality, *slot)
            }
            Some(Node::Approx { slot, .. }) => (TermKind::Approximate, *slot),
            Some(Node::Substrings { slot, .. }) => (TermKind::Substring, *slot),
            _ => return,
        };
        let Some(description) = self.filter.slots.get(usize::from(slot.0)) else {
            return;
        };
        let term = Term {
            kind,
            attribute: description.attribute_type,
            outcome,
        };
        let same = |old: &&mut Term| old.kind == kind && old.attribute == term.attribute && old.outcome == outcome;
        if self.terms.iter_mut().find(same).is_none() && self.terms.len() < super::MAX_TERMS {
            self.terms.push(term);
        }
    }
}

/// An operand of an AND: its size, its node, and its answer if that is there already.
type Operand = (u64, usize, Option<(IdSet, bool)>);

enum Looked {
    Done(Answer),
    Children(Vec<Operand>),
}

/// Whether reading `count` IDs costs less than verifying `candidates`.
fn pays(candidates: u64, count: u64) -> bool {
    candidates > FEW && count / READ_FACTOR < candidates
}
