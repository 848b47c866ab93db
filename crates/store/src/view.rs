//! Read operations on a snapshot or on an open write transaction.

mod answer;
mod append;
mod attribute;
mod chain;
mod derived;
pub(crate) mod equality;
mod name;
mod source;
mod subtrees;
mod unique;

use std::{
    hash::{BuildHasher as _, RandomState},
    sync::{Arc, LazyLock},
};

use heed::{RoTxn, WithoutTls};
use ironbark_model::{AttributeDescription, Budget, Dn, Entry, Schema};

use crate::{
    DerivedAttributes, DitScope, EntryId, StoreError, Version,
    ahead::SnapshotAhead,
    catalog::Catalog,
    external::SetKey,
    ground::Ground,
    numbering::Numbering,
    record::codec::{self, FLAG_ALIAS, FLAG_GLUE, FLAG_PLACEHOLDER, FLAG_REFERRAL, FLAG_SUBENTRY, Form, Header},
    sets::SharedSets,
    tables::{MetaRow, Tables},
    varint,
};

pub use answer::{AnswerCache, Kinds};
pub use attribute::RecordAttribute;
pub(crate) use chain::WalkedChains;
pub use source::{EntryGuards, Evaluation};
pub use subtrees::Subtrees;

/// Read access within one transaction.
#[derive(Clone, Copy)]
pub struct View<'t> {
    pub(crate) txn: &'t RoTxn<'t, WithoutTls>,
    pub(crate) ground: &'t Ground,
    pub(crate) catalog: &'t Arc<Catalog>,
    pub(crate) sets: &'t SharedSets,
    /// Whether it shows a commit, and not the changes of an open write transaction.
    pub(crate) is_snapshot: bool,
    /// The limit on the cost of reading for a request; `None`: no limit.
    pub(crate) budget: Option<&'t Budget>,
    /// What derives attributes; `None`: entries have what they hold.
    pub(crate) derived: Option<&'t dyn DerivedAttributes>,
    /// What is looked up ahead in the snapshot. `None`: nothing is.
    pub(crate) ahead: Option<&'t SnapshotAhead>,
}

/// Where a DN leads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Location {
    /// The entry exists.
    Entry(EntryId),
    /// The entry does not exist; the deepest existing ancestor, if any, and its number of RDNs (for matchedDN).
    Missing {
        /// Closest superior entry.
        ancestor: Option<(EntryId, usize)>,
    },
}

/// One stored entry, read in place. Values are borrowed from the LMDB page, attributes come in the order in which they
/// were added.
#[derive(Clone, Copy)]
pub struct Record<'t> {
    /// Its number.
    pub id: EntryId,
    header: Header<'t>,
    blocks: &'t [u8],
    pub(crate) view: View<'t>,
}

impl<'t> View<'t> {
    /// What a snapshot shows.
    pub(crate) fn of_snapshot(
        txn: &'t RoTxn<'t, WithoutTls>,
        ground: &'t Ground,
        Numbering { catalog, sets, .. }: &'t Numbering,
    ) -> Self {
        Self {
            is_snapshot: true,
            ..Self::of_writing(txn, ground, catalog, sets)
        }
    }
    /// What an open write transaction shows.
    pub(crate) fn of_writing(
        txn: &'t RoTxn<'t, WithoutTls>,
        ground: &'t Ground,
        catalog: &'t Arc<Catalog>,
        sets: &'t SharedSets,
    ) -> Self {
        Self {
            txn,
            ground,
            catalog,
            sets,
            is_snapshot: false,
            budget: None,
            derived: None,
            ahead: None,
        }
    }
    /// The same view, with a budget for every loop over values, links and lists. When the budget is exhausted, the
    /// results of planning, evaluating or walking are meaningless.
    #[must_use]
    pub fn under<'b>(self, budget: &'b Budget) -> View<'b>
    where
        't: 'b,
    {
        View {
            budget: Some(budget),
            ..self
        }
    }
    /// The same view without a budget.
    #[must_use]
    pub fn without_budget(self) -> Self {
        Self { budget: None, ..self }
    }
    /// The budget, if there is one.
    pub fn budget(&self) -> Option<&'t Budget> {
        self.budget
    }
    /// Whether there is a budget, and it is exhausted.
    #[inline]
    pub fn is_exhausted(&self) -> bool {
        self.budget.is_some_and(Budget::is_exhausted)
    }
    /// Takes steps from the budget. `false`: the work should end.
    #[inline]
    pub fn spend(&self, steps: u64) -> bool {
        self.budget.is_none_or(|budget| budget.spend(steps))
    }
    pub(crate) fn tables(&self) -> &'t Tables {
        &self.ground.tables
    }
    /// The schema that filters must be compiled against for [`View::plan`] and [`Record::evaluate`].
    pub fn schema(&self) -> &'t Arc<Schema> {
        &self.catalog.schema
    }
    /// The record of an entry.
    pub fn record(&self, id: EntryId) -> Result<Option<Record<'t>>, StoreError> {
        let Some(bytes) = self.record_bytes(id)? else {
            return Ok(None);
        };
        let record = Record::read(*self, id, bytes)?;
        Ok(Some(record).filter(|record| !record.is_placeholder()))
    }
    #[inline]
    pub(crate) fn record_bytes(&self, id: EntryId) -> Result<Option<&'t [u8]>, StoreError> {
        let ahead = self.ahead.and_then(SnapshotAhead::get);
        if let Some(found) = ahead.and_then(|ahead| ahead.record(self.txn, id)) {
            return Ok(Some(found));
        }
        Ok(self.tables().entries.get(self.txn, varint::Key::new(id).bytes())?)
    }
    /// A hash of everything that an entry holds, and of its own name: another one after each change. Only this process
    /// has its key, so nobody can choose entries that have the same.
    pub fn fingerprint(&self, id: EntryId) -> Result<Option<u64>, StoreError> {
        static KEY: LazyLock<RandomState> = LazyLock::new(RandomState::new);
        Ok(self.record_bytes(id)?.map(|bytes| KEY.hash_one(bytes)))
    }
    /// Parent of an entry, from the first bytes of its record.
    pub fn parent(&self, id: EntryId) -> Result<Option<EntryId>, StoreError> {
        Ok(self.record_bytes(id)?.and_then(codec::parent))
    }
    /// Number of entries.
    pub fn entry_count(&self) -> Result<u64, StoreError> {
        Ok(self.tables().entries.len(self.txn)?)
    }
    /// Number of entries that are referrals.
    pub fn referral_count(&self) -> Result<u64, StoreError> {
        self.tables().number(self.txn, MetaRow::Referrals)
    }
    /// The greatest entry ID in use; 0 when there are no entries.
    pub fn last_entry(&self) -> Result<EntryId, StoreError> {
        let last = self.tables().entries.last(self.txn)?;
        let id = |(key, _)| varint::read(key).ok_or_else(|| StoreError::damaged("a key of `entries`"));
        last.map_or(Ok(0), id)
    }
    /// The commit that is seen. `None` in a write transaction: nothing that is seen there may be remembered.
    #[inline]
    pub fn version(&self) -> Option<Version> {
        let of = || Version::new(self.ground.environment, self.txn.id());
        self.is_snapshot.then(of)
    }
    /// Changes whenever an entry is renamed: names that were cached under an older value are stale.
    pub fn structure_version(&self) -> Result<u64, StoreError> {
        self.tables().number(self.txn, MetaRow::StructureVersion)
    }
    /// Changes whenever an entry that derived attributes depend on has changed, by [`crate::Database::watch`], or an
    /// entry was renamed.
    pub fn derived_version(&self) -> Result<(u64, u64), StoreError> {
        let own = self.tables().number(self.txn, MetaRow::DerivedVersion)?;
        Ok((own, self.structure_version()?))
    }
    /// CSN and number of the last change record applied; `None` before the first.
    pub fn position(&self) -> Result<Option<(String, u64)>, StoreError> {
        let csn = self.tables().meta(self.txn, MetaRow::Position)?;
        let sequence = self.tables().number(self.txn, MetaRow::Sequence)?;
        Ok(csn.map(|csn| (String::from_utf8_lossy(csn).into_owned(), sequence)))
    }
    /// Sixteen random bytes, made with the file: they tell databases apart.
    pub fn identifier(&self) -> Result<[u8; 16], StoreError> {
        self.tables()
            .meta(self.txn, MetaRow::Identifier)?
            .and_then(|bytes| bytes.try_into().ok())
            .ok_or_else(|| StoreError::damaged("the identifier in `meta`"))
    }
    /// All entries in ID order, from the first above `after`.
    pub fn entries(
        &self,
        after: EntryId,
    ) -> Result<impl Iterator<Item = Result<Record<'t>, StoreError>> + use<'t>, StoreError> {
        let start = varint::Key::new(after);
        let range = (std::ops::Bound::Excluded(start.bytes()), std::ops::Bound::Unbounded);
        let view = *self;
        let rows = self.tables().entries.range(self.txn, &range)?;
        Ok(rows.filter_map(move |row| {
            let read = || {
                let (key, bytes) = row?;
                let id = varint::read(key).ok_or_else(|| StoreError::damaged("a key of `entries`"))?;
                Record::read(view, id, bytes)
            };
            let record = read();
            let shown = record.as_ref().map_or(true, |record| !record.is_placeholder());
            shown.then_some(record)
        }))
    }
}

impl<'t> Record<'t> {
    #[inline]
    pub(crate) fn read(view: View<'t>, id: EntryId, bytes: &'t [u8]) -> Result<Self, StoreError> {
        let mut blocks = bytes;
        let header = codec::take_header(&mut blocks).ok_or_else(|| StoreError::damaged("the header of a record"))?;
        Ok(Self {
            id,
            header,
            blocks,
            view,
        })
    }
    /// The same record, with a budget for evaluation.
    #[must_use]
    pub fn under<'b>(self, budget: &'b Budget) -> Record<'b>
    where
        't: 'b,
    {
        Record {
            view: self.view.under(budget),
            ..self
        }
    }
    /// Parent entry, 0 for the topmost.
    pub fn parent(&self) -> EntryId {
        self.header.parent
    }
    /// As [`View::in_scope`], one look-up cheaper.
    pub fn is_in_scope(&self, base: EntryId, scope: DitScope) -> Result<bool, StoreError> {
        match scope {
            DitScope::Subtree if self.id == base || self.header.parent == base && base != 0 => Ok(true),
            DitScope::Subtree if self.header.parent != 0 => self.view.in_scope(self.header.parent, base, scope),
            _ => self.view.in_scope(self.id, base, scope),
        }
    }
    /// Pretty RDN (for the topmost entry: the whole DN).
    pub fn rdn(&self) -> &'t str {
        self.header.rdn
    }
    /// Whether this is a placeholder, not an entry yet.
    pub(crate) fn is_placeholder(&self) -> bool {
        self.header.flags & FLAG_PLACEHOLDER != 0
    }
    /// objectClass contains alias.
    pub fn is_alias(&self) -> bool {
        self.header.flags & FLAG_ALIAS != 0
    }
    /// objectClass contains referral.
    pub fn is_referral(&self) -> bool {
        self.header.flags & FLAG_REFERRAL != 0
    }
    /// objectClass contains subentry.
    pub fn is_subentry(&self) -> bool {
        self.header.flags & FLAG_SUBENTRY != 0
    }
    /// objectClass contains glue: it stands for a superior that is missing.
    pub fn is_glue(&self) -> bool {
        self.header.flags & FLAG_GLUE != 0
    }
    /// The attributes in stored order: description and a value iterator each.
    pub fn attributes(&self) -> impl Iterator<Item = RecordAttribute<'t>> + use<'t> {
        let (view, id, header, mut blocks) = (self.view, self.id, self.header, self.blocks);
        std::iter::from_fn(move || {
            loop {
                let (number, form) = codec::take_block(&mut blocks, &header)?;
                if let Some(info) = view.catalog.attribute(number) {
                    return Some(RecordAttribute {
                        info,
                        number,
                        form,
                        id,
                        view,
                    });
                }
            }
        })
    }
    /// The attributes that answer a description, in stored order: its type or a subtype, with all its options (RFC 4512
    /// §2.5).
    #[inline]
    pub fn answering<'a>(
        &self,
        asked: &'a AttributeDescription,
    ) -> impl Iterator<Item = RecordAttribute<'t>> + use<'a, 't> {
        let (view, id, header, mut blocks) = (self.view, self.id, self.header, self.blocks);
        let numbers = view.catalog.numbers_of_type(asked.attribute_type);
        // An attribute occurs only once in an entry.
        let mut left = numbers.len();
        std::iter::from_fn(move || {
            while left > 0 {
                let (number, form) = match numbers {
                    [only] => codec::take_wanted(&mut blocks, &header, |number| number == *only)?,
                    _ => codec::take_wanted(&mut blocks, &header, |number| numbers.contains(&number))?,
                };
                left -= 1;
                if view.catalog.answers(number, asked) {
                    let info = view.catalog.attribute(number)?;
                    return Some(RecordAttribute {
                        info,
                        number,
                        form,
                        id,
                        view,
                    });
                }
            }
            None
        })
    }
    /// Calls `visit` with each attribute in stored order. Unlike [`Record::attributes`], it reports damage as an error
    /// and does not simply end.
    pub fn for_each_attribute(
        &self,
        visit: &mut dyn FnMut(RecordAttribute<'t>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.for_each_block(|number, form| {
            self.view.catalog.attribute(number).map_or(Ok(()), |info| {
                visit(RecordAttribute {
                    info,
                    number,
                    form,
                    id: self.id,
                    view: self.view,
                })
            })
        })
    }
    /// The same with the number and the form of each, also of those that the schema has no longer.
    #[inline]
    fn for_each_block(&self, mut visit: impl FnMut(u16, Form<'t>) -> Result<(), StoreError>) -> Result<(), StoreError> {
        let damaged = || StoreError::damaged("a record");
        let mut blocks = self.blocks;
        while !blocks.is_empty() {
            let (number, form) = codec::take_block(&mut blocks, &self.header).ok_or_else(damaged)?;
            if !self.view.catalog.is_number(number) {
                return Err(damaged());
            }
            visit(number, form)?;
        }
        Ok(())
    }
    /// The values of exactly this description.
    pub fn values(&self, description: &AttributeDescription) -> Option<RecordAttribute<'t>> {
        let wanted = self.view.catalog.number(description)?;
        let mut blocks = self.blocks;
        let (number, form) = codec::take_wanted(&mut blocks, &self.header, |number| number == wanted)?;
        Some(RecordAttribute {
            info: self.view.catalog.attribute(number)?,
            number,
            form,
            id: self.id,
            view: self.view,
        })
    }
    /// The transaction in which it was read.
    pub fn view(&self) -> View<'t> {
        self.view
    }
    /// Checks by checksum that the record and its big value sets are still what was written (there are no checksums
    /// before format 2).
    ///
    /// # Errors
    /// The record was damaged.
    pub fn verify(&self) -> Result<(), StoreError> {
        let damaged = || StoreError::damaged(&format!("the checksum of entry {} is wrong", self.id));
        let bytes = self.view.record_bytes(self.id)?.ok_or_else(damaged)?;
        if !codec::is_sound(self.id, self.view.tables().sealed, bytes) {
            return Err(damaged());
        }
        self.for_each_block(|attribute, form| {
            let Form::External(set) = form else {
                return Ok(());
            };
            let key = SetKey { id: self.id, attribute };
            if self.view.has_whole_set(key, set)? {
                Ok(())
            } else {
                Err(damaged())
            }
        })
    }
    /// A copy in memory. `dn` is the entry's name.
    pub fn to_entry(&self, dn: Dn) -> Result<Entry, StoreError> {
        let mut attributes = Vec::new();
        self.for_each_attribute(&mut |attribute| {
            attributes.push(attribute.to_attribute()?);
            Ok(())
        })?;
        Ok(Entry { dn, attributes })
    }
}
