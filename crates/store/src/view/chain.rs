//! LDAP_MATCHING_RULE_IN_CHAIN: forward from an entry along a DN-valued attribute, and backward from a target through
//! the equality index of the attribute.

use std::{
    collections::{HashMap, VecDeque},
    ops::ControlFlow,
};

use ironbark_model::{
    AttributeDescription, Dn, Truth,
    filter::{Answering, AnsweringValue, Guard},
    number_map::NumberSet,
};

use super::{EntryGuards, Location, Record, View};
use crate::{
    EntryId, Plan, Purpose, StoreError, Version,
    catalog::{Index, IndexKind},
    keys::KeySet,
    posting::{IdSet, list},
};

/// Entries that one chain may pass through. Beyond it, the answer is Undefined (forward), or the index is not used
/// (backward).
const MAX_STEPS: usize = 100_000;
/// Entries that are remembered for one target.
const MOST_WALKED: usize = 1_000_000;
/// Targets that are remembered.
const MOST_TARGETS: usize = 16;
/// Steps of a budget for following one value.
const LINK_STEPS: u64 = 30;

impl<'t> View<'t> {
    /// Whether `target` (a normalized DN) is reached from `record` through values that the guards allow to follow.
    pub(crate) fn chain_from(
        &self,
        record: &Record<'t>,
        asked: &AttributeDescription,
        target: &[u8],
        guards: Option<&dyn EntryGuards>,
        plan: Option<&Plan>,
    ) -> Result<Truth, StoreError> {
        let mut walked = plan.map(Plan::walked);
        let mut none = WalkedChains::default();
        let walked = walked.as_deref_mut().unwrap_or(&mut none);
        let walked = walked.of(self.version(), asked, target);
        if walked.vain.contains(&record.id) {
            return Ok(Truth::False);
        }
        let mut chain = Chain {
            asked,
            target,
            walked,
            seen: NumberSet::from_iter([record.id]),
            queue: VecDeque::from([*record]),
            steps: 0,
            name: Dn::root(),
        };
        let start = record.id;
        while let Some(record) = chain.queue.pop_front() {
            let mut reached = Ok(false);
            match guards {
                None => reached = chain.go_through(*self, &record, None),
                Some(guards) => guards.at(&record, &mut |guard| {
                    reached = chain.go_through(*self, &record, Some(guard));
                }),
            }
            if reached? {
                chain.walked.reaching.insert(start);
                return Ok(Truth::True);
            }
            if chain.steps > MAX_STEPS || self.is_exhausted() {
                return Ok(Truth::Undefined);
            }
        }
        let Chain { walked, seen, .. } = chain;
        if walked.vain.len() + seen.len() <= MOST_WALKED {
            walked.vain.extend(seen);
        }
        Ok(Truth::False)
    }

    fn chain_step(&self, value: &[u8], target: &[u8], dn: &mut Dn) -> Result<Step<'t>, StoreError> {
        if dn.parse_into(&self.catalog.schema, value).is_err() {
            return Ok(Step::Elsewhere);
        }
        if dn.normalized() == target {
            return Ok(Step::Target);
        }
        let Location::Entry(id) = self.locate(dn)? else {
            return Ok(Step::Elsewhere);
        };
        Ok(self.record(id)?.map_or(Step::Elsewhere, Step::Entry))
    }

    /// All entries from which `target` is reached through values that the guards allow to follow, by the equality index
    /// of the attribute. `None`: there are too many to follow.
    pub(crate) fn chain_to(
        &self,
        index: &Index,
        asked: &AttributeDescription,
        target: &[u8],
        guards: Option<&dyn EntryGuards>,
    ) -> Result<Option<IdSet>, StoreError> {
        let numbers: Vec<u16> = self.catalog.numbers_of(asked).collect();
        let mut found = IdSet::Nothing;
        let mut queue = VecDeque::from([target.to_vec()]);
        let mut steps = 0usize;
        while let Some(name) = queue.pop_front() {
            let hits = self.with_key(index, &name)?;
            for id in hits.ids_after(0) {
                steps += 1;
                if steps > MAX_STEPS || !self.spend(LINK_STEPS) {
                    return Ok(None);
                }
                if found.contains(id) || !self.holds(id, &numbers, &name, guards)? {
                    continue;
                }
                found.insert(id);
                queue.push_back(self.dn(id)?.normalized().to_vec());
            }
        }
        Ok(Some(found))
    }

    /// The entries that an equality index has for a normal form.
    fn with_key(&self, index: &Index, normal: &[u8]) -> Result<IdSet, StoreError> {
        let mut keys = KeySet::default();
        keys.add_normal(index, normal);
        let mut hits = IdSet::Nothing;
        for key in keys.iter() {
            list::read_into(self.txn, &self.tables().index, key, &mut hits)?;
        }
        Ok(hits)
    }

    /// The entries that hold a value with this normal form in an attribute, or in a subtype of it, ascending. `None`:
    /// no equality index can tell.
    ///
    /// # Errors
    /// The storage failed.
    pub fn holders(&self, asked: &AttributeDescription, normal: &[u8]) -> Result<Option<Vec<EntryId>>, StoreError> {
        let numbers: Vec<u16> = self.catalog.numbers_of(asked).collect();
        if numbers.is_empty() {
            return Ok(Some(Vec::new()));
        }
        let kinds = [IndexKind::EqualityHash, IndexKind::EqualityOrdered];
        let Some(index) = self.serving_index(asked, &kinds) else {
            return Ok(None);
        };
        let mut found = Vec::new();
        for id in self.with_key(index, normal)?.ids_after(0) {
            if !self.spend(LINK_STEPS) {
                break;
            }
            if self.holds(id, &numbers, normal, None)? {
                found.push(id);
            }
        }
        Ok(Some(found))
    }

    /// Whether an entry has a value with this normal form in one of the attributes, and the value may be followed.
    fn holds(
        &self,
        id: EntryId,
        numbers: &[u16],
        normal: &[u8],
        guards: Option<&dyn EntryGuards>,
    ) -> Result<bool, StoreError> {
        let Some(record) = self.record(id)? else {
            return Ok(false);
        };
        let value = AnsweringValue::Normalized(normal);
        let look = |guard: Option<&dyn Guard>| {
            for attribute in record.attributes().filter(|a| numbers.contains(&a.number)) {
                if attribute.holds_normalized(normal)? && may_follow(guard, attribute.description(), value) {
                    return Ok(true);
                }
            }
            Ok(false)
        };
        let mut held = Ok(false);
        match guards {
            None => held = look(None),
            Some(guards) => guards.at(&record, &mut |guard| held = look(Some(guard))),
        }
        held
    }
}

/// The results of following chains forwards in one search, so that no link is followed twice.
#[derive(Debug, Default)]
pub(crate) struct WalkedChains {
    /// [`View::version`] of these results.
    version: Option<Version>,
    by_target: HashMap<(AttributeDescription, Box<[u8]>), WalkedChain>,
}

#[derive(Debug, Default)]
struct WalkedChain {
    /// Entries that do not reach the target.
    vain: NumberSet,
    /// Entries that reach it.
    reaching: NumberSet,
}

impl WalkedChains {
    /// What is known of a target in a snapshot.
    fn of(&mut self, version: Option<Version>, asked: &AttributeDescription, target: &[u8]) -> &mut WalkedChain {
        if self.version != version || self.by_target.len() >= MOST_TARGETS {
            self.by_target.clear();
            self.version = version;
        }
        self.by_target.entry((asked.clone(), target.into())).or_default()
    }
}

/// A chain that is followed forwards.
struct Chain<'c, 't> {
    asked: &'c AttributeDescription,
    target: &'c [u8],
    walked: &'c mut WalkedChain,
    seen: NumberSet,
    queue: VecDeque<Record<'t>>,
    /// Values that were looked at.
    steps: usize,
    name: Dn,
}

impl<'t> Chain<'_, 't> {
    /// Follows the chain on from an entry. Returns whether that has reached the target.
    fn go_through(
        &mut self,
        view: View<'t>,
        record: &Record<'t>,
        guard: Option<&dyn Guard>,
    ) -> Result<bool, StoreError> {
        let derived = record.derived(self.asked, Purpose::Match)?;
        for attribute in record.answering(self.asked) {
            let stored = attribute.description();
            // Not even the amount of work reveals such an attribute.
            let is_hidden = guard.is_some_and(|guard| guard.answering(stored) == Answering::None);
            if is_hidden || !derived.keeps_stored(stored) {
                continue;
            }
            if attribute.is_external()
                && attribute.holds_normalized(self.target)?
                && may_follow(guard, stored, AnsweringValue::Normalized(self.target))
            {
                return Ok(true);
            }
            let mut reached = Ok(false);
            attribute.for_each(&mut |value| self.follow(view, guard, stored, value, &mut reached))?;
            if reached? {
                return Ok(true);
            }
        }
        for attribute in derived.attributes() {
            let mut reached = Ok(false);
            let _ = attribute
                .values
                .iter()
                .try_for_each(|value| self.follow(view, guard, &attribute.description, value, &mut reached));
            if reached? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Goes to the entry that a value names. Breaks when the target is reached, or the work is too much.
    fn follow(
        &mut self,
        view: View<'t>,
        guard: Option<&dyn Guard>,
        held: &AttributeDescription,
        value: &[u8],
        reached: &mut Result<bool, StoreError>,
    ) -> ControlFlow<()> {
        self.steps += 1;
        if self.steps > MAX_STEPS || !view.spend(LINK_STEPS) {
            return ControlFlow::Break(());
        }
        if !may_follow(guard, held, AnsweringValue::Plain(value)) {
            return ControlFlow::Continue(());
        }
        match view.chain_step(value, self.target, &mut self.name) {
            Ok(Step::Target) => *reached = Ok(true),
            Ok(Step::Entry(next)) if self.walked.reaching.contains(&next.id) => *reached = Ok(true),
            Ok(Step::Entry(next)) if self.walked.vain.contains(&next.id) => {}
            Ok(Step::Entry(next)) if self.seen.insert(next.id) => self.queue.push_back(next),
            Ok(_) => {}
            Err(error) => *reached = Err(error),
        }
        match reached {
            Ok(false) => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        }
    }
}

/// Whether a chain may follow a value.
fn may_follow(guard: Option<&dyn Guard>, stored: &AttributeDescription, value: AnsweringValue<'_>) -> bool {
    guard.is_none_or(|guard| match guard.answering(stored) {
        Answering::All => true,
        Answering::None => false,
        Answering::Each => guard.may_answer(stored, value),
    })
}

/// Where a value leads.
enum Step<'t> {
    Target,
    Entry(Record<'t>),
    Elsewhere,
}
