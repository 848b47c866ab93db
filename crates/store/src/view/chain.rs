//! LDAP_MATCHING_RULE_IN_CHAIN: from an entry along a DN-valued attribute, and from a target back through its equality index.

use std::{collections::VecDeque, ops::ControlFlow};

use ironbark_model::{AttributeDescription, Dn, Truth};
use rustc_hash::FxHashSet;

use super::{Location, Record, View};
use crate::{EntryId, StoreError, catalog::Index, keys::KeySet, posting::IdSet, posting::list};

/// Entries that one chain may pass through; beyond, the answer is Undefined (forward) or the index is not used (backward).
const MAX_STEPS: usize = 100_000;

impl<'t> View<'t> {
    /// Whether `target` (a normalized DN) is reached from `record`.
    pub(crate) fn chain_from(
        &self,
        record: &Record<'t>,
        asked: &AttributeDescription,
        target: &[u8],
    ) -> Result<Truth, StoreError> {
        let mut seen: FxHashSet<EntryId> = FxHashSet::default();
        let mut queue = VecDeque::from([*record]);
        seen.insert(record.id);
        let (mut dn, mut found, mut steps) = (Dn::root(), false, 0usize);
        while let Some(record) = queue.pop_front() {
            let mut failure = None;
            for attribute in record.answering(asked) {
                if attribute.is_external() && attribute.holds_normalized(target)? {
                    return Ok(Truth::True);
                }
                attribute.for_each(&mut |value| {
                    steps += 1;
                    if steps > MAX_STEPS {
                        return ControlFlow::Break(());
                    }
                    match self.chain_step(value, target, &mut dn) {
                        Ok(Step::Target) => {
                            found = true;
                            return ControlFlow::Break(());
                        }
                        Ok(Step::Entry(next)) if seen.insert(next.id) => queue.push_back(next),
                        Ok(_) => {}
                        Err(error) => failure = Some(error),
                    }
                    ControlFlow::Continue(())
                })?;
            }
            if let Some(error) = failure {
                return Err(error);
            }
            if found {
                return Ok(Truth::True);
            }
            if steps > MAX_STEPS {
                return Ok(Truth::Undefined);
            }
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

    /// All entries from which `target` is reached, through the equality index of the attribute. `None`: more than can be followed.
    pub(crate) fn chain_to(
        &self,
        index: &Index,
        asked: &AttributeDescription,
        target: &[u8],
    ) -> Result<Option<IdSet>, StoreError> {
        let numbers: Vec<u16> = self.catalog.numbers_of(asked).collect();
        let mut found = IdSet::Nothing;
        let mut queue = VecDeque::from([target.to_vec()]);
        let mut keys = KeySet::default();
        let mut steps = 0usize;
        while let Some(name) = queue.pop_front() {
            keys.clear();
            keys.add_normal(index, &name);
            let mut hits = IdSet::Nothing;
            for key in keys.iter() {
                list::read_into(self.txn, &self.tables().index, key, &mut hits)?;
            }
            for id in hits.ids_after(0) {
                steps += 1;
                if steps > MAX_STEPS {
                    return Ok(None);
                }
                if found.contains(id) || !self.holds(id, &numbers, &name)? {
                    continue;
                }
                found.insert(id);
                queue.push_back(self.dn(id)?.normalized().to_vec());
            }
        }
        Ok(Some(found))
    }

    /// Whether an entry has a value with this normal form in one of the attributes.
    fn holds(&self, id: EntryId, numbers: &[u16], normal: &[u8]) -> Result<bool, StoreError> {
        let Some(record) = self.record(id)? else {
            return Ok(false);
        };
        for attribute in record.attributes().filter(|a| numbers.contains(&a.number)) {
            if attribute.holds_normalized(normal)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Where a value leads.
enum Step<'t> {
    Target,
    Entry(Record<'t>),
    Elsewhere,
}
