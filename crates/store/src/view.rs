//! Read operations on a snapshot or on an open write transaction.

use std::marker::PhantomData;

use ironbark_model::{Attribute, AttributeDescription, CompiledFilter, Dn, Entry, Truth};

use crate::{Candidates, EntryId, Plan, Scope, StoreError};

/// Read access within one transaction.
#[derive(Clone, Copy)]
pub struct View<'t> {
    _private: PhantomData<&'t ()>,
}

/// Where a DN leads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Location {
    /// The entry exists.
    Entry(EntryId),
    /// It does not; the deepest existing ancestor, if any, and its number of RDNs (for matchedDN).
    Missing {
        /// Closest superior entry.
        ancestor: Option<(EntryId, usize)>,
    },
}

/// One stored entry, read in place. Values are borrowed from the LMDB page, attributes come in the order in which they were added.
#[derive(Clone, Copy)]
pub struct Record<'t> {
    /// Its number.
    pub id: EntryId,
    bytes: &'t [u8],
    view: View<'t>,
}

impl<'t> View<'t> {
    /// Resolves a DN that is within one of the suffixes, one RDN at a time.
    pub fn locate(&self, dn: &Dn) -> Result<Location, StoreError> {
        let _ = dn;
        todo!()
    }
    /// The record of an entry.
    pub fn record(&self, id: EntryId) -> Result<Option<Record<'t>>, StoreError> {
        let _ = id;
        todo!()
    }
    /// Whether the entry has subordinates.
    pub fn has_subordinates(&self, id: EntryId) -> Result<bool, StoreError> {
        let _ = id;
        todo!()
    }
    /// The DN of an entry, rebuilt from `names` upwards.
    pub fn dn(&self, id: EntryId) -> Result<Dn, StoreError> {
        let _ = id;
        todo!()
    }
    /// Number of entries.
    pub fn entry_count(&self) -> Result<u64, StoreError> {
        todo!()
    }
    /// Chooses how to answer a search. `base` is the ID of the base entry. The plan prints as `ironbark explain` shows it.
    pub fn plan(&self, base: EntryId, scope: Scope, filter: &CompiledFilter) -> Result<Plan, StoreError> {
        let _ = (base, scope, filter);
        todo!()
    }
    /// The candidates of a plan with IDs above `after`, ascending.
    pub fn candidates(&self, plan: &Plan, after: EntryId) -> Result<Candidates<'t>, StoreError> {
        let _ = (plan, after);
        todo!()
    }
    /// Whether `id` lies within the scope of `base`.
    pub fn in_scope(&self, id: EntryId, base: EntryId, scope: Scope) -> Result<bool, StoreError> {
        let _ = (id, base, scope);
        todo!()
    }
    /// Changes whenever an entry with subordinates is renamed: cached DNs of older values are stale.
    pub fn structure_version(&self) -> Result<u64, StoreError> {
        todo!()
    }
}

impl<'t> Record<'t> {
    /// Parent entry, 0 for the topmost.
    pub fn parent(&self) -> EntryId {
        todo!()
    }
    /// Pretty RDN (for the topmost entry: the whole DN).
    pub fn rdn(&self) -> &'t str {
        todo!()
    }
    /// objectClass contains alias.
    pub fn is_alias(&self) -> bool {
        todo!()
    }
    /// objectClass contains referral.
    pub fn is_referral(&self) -> bool {
        todo!()
    }
    /// objectClass contains subentry.
    pub fn is_subentry(&self) -> bool {
        todo!()
    }
    /// The attributes in stored order: description and a value iterator each.
    pub fn attributes(&self) -> impl Iterator<Item = RecordAttribute<'t>> + use<'t> {
        let _ = (self.bytes, self.view);
        std::iter::empty()
    }
    /// The values of exactly this description.
    pub fn values(&self, description: &AttributeDescription) -> Option<RecordAttribute<'t>> {
        let _ = description;
        todo!()
    }
    /// Three-valued evaluation, in place.
    pub fn evaluate(&self, filter: &CompiledFilter, scratch: &mut Vec<u8>) -> Truth {
        let _ = (filter, scratch);
        todo!()
    }
    /// A copy in memory. `dn` is the entry's name.
    pub fn to_entry(&self, dn: Dn) -> Result<Entry, StoreError> {
        let _ = dn;
        todo!()
    }
}

/// One attribute of a record.
#[derive(Clone, Copy)]
pub struct RecordAttribute<'t> {
    _private: PhantomData<&'t ()>,
}

impl<'t> RecordAttribute<'t> {
    /// The description.
    pub fn description(&self) -> &'t AttributeDescription {
        todo!()
    }
    /// The description as printed (`cn;lang-en`), ready for the wire.
    pub fn name(&self) -> &'t [u8] {
        todo!()
    }
    /// The concatenated `04 len value` TLVs when the set is held in one piece (inline or shared): an answer copies them.
    /// `None` for external and packed sets: iterate [`RecordAttribute::values`].
    pub fn encoded_values(&self) -> Option<&'t [u8]> {
        todo!()
    }
    /// The values, in the order in which they were added.
    pub fn for_each(&self, visit: &mut dyn FnMut(&[u8]) -> std::ops::ControlFlow<()>) -> Result<(), StoreError> {
        let _ = visit;
        todo!()
    }
    /// Number of values.
    pub fn len(&self) -> usize {
        todo!()
    }
    /// Whether a value with this normal form is there; does not read the others when the set is external.
    pub fn holds_normalized(&self, normalized: &[u8]) -> Result<bool, StoreError> {
        let _ = normalized;
        todo!()
    }
    /// A copy in memory.
    pub fn to_attribute(&self) -> Result<Attribute, StoreError> {
        todo!()
    }
}
