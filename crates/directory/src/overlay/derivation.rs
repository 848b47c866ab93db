//! Attributes that overlays derive: entries have them without holding them.

use std::{borrow::Cow, sync::Arc};

use ironbark_config::access::Privileges;
use ironbark_model::{
    AttributeDescription, CompiledFilter, Dn, Filter, Truth,
    filter::{Assertion, Guard},
};
use ironbark_store::{
    Derived, DerivedCandidates, EntryGuards, EntryId, Evaluation, FilterItem, Location, Purpose, Record, StoreError,
    View, Wanted,
};

use super::Entries;
use crate::{
    Configuration, NamingContext,
    access::{AnswerableEntries, Requester, Target, WriteCheck},
};

/// Derives attributes of the entries of one database. They act like stored ones: searches show them, filters, compares,
/// sorting and assertions see them, and access rules are asked for each value. What the server itself looks up (other
/// overlays, access rules, replication) sees stored attributes alone.
pub trait Derivation: Send + Sync {
    /// The attributes that make an entry one that [`Derivation::facts`] depends on.
    fn depends_on(&self) -> &[AttributeDescription] {
        &[]
    }

    /// Derivations of a higher level see what those of lower levels derive. 3 is the highest.
    fn level(&self) -> u8 {
        0
    }

    /// Reads what is derived from the entries of the database. Called again after a change of an entry with one of the
    /// attributes of [`Derivation::depends_on`], and after entries were renamed.
    ///
    /// # Errors
    /// The storage failed.
    fn facts(&self, entries: Entries<'_>) -> Result<Arc<dyn Derive>, StoreError>;
}

/// The highest [`Derivation::level`].
pub(super) const TOP_LEVEL: u8 = 3;

/// Derives attributes, by the definitions that a database has.
pub trait Derive: Send + Sync {
    /// The attributes.
    fn attributes(&self) -> &[AttributeDescription];

    /// Whether entries do not have them under `ManageDsaIT`.
    fn is_off_under_manage_dsa_it(&self) -> bool {
        false
    }

    /// Adds the wanted attributes of an entry, each value once.
    ///
    /// # Errors
    /// The storage failed.
    fn derive(&self, entry: &DerivingEntry<'_>, wanted: &Wanted<'_>, found: &mut Derived) -> Result<(), StoreError>;

    /// Whether an entry has a value with this normal form of exactly one of these attributes, held or derived, to a
    /// filter or a compare. `None`: that costs no less than deriving all.
    ///
    /// # Errors
    /// The storage failed.
    fn holds(
        &self,
        _entry: &DerivingEntry<'_>,
        _attribute: &AttributeDescription,
        _normal: &[u8],
        _purpose: Purpose,
    ) -> Result<Option<bool>, StoreError> {
        Ok(None)
    }

    /// The entries that may satisfy an item by a value of these attributes.
    ///
    /// # Errors
    /// The storage failed.
    fn candidates(&self, look: &DerivingLook<'_>, item: &FilterItem<'_>) -> Result<DerivedCandidates, StoreError>;
}

/// An entry whose attributes are derived.
pub struct DerivingEntry<'a> {
    /// The entry, with what lower levels derive.
    pub record: Record<'a>,
    /// For looking at other entries.
    pub look: DerivingLook<'a>,
}

/// How a derivation looks at entries.
#[derive(Clone, Copy)]
pub struct DerivingLook<'a> {
    /// The entries of the database, with what lower levels derive.
    pub view: View<'a>,
    pub(crate) configuration: &'a Configuration,
    pub(crate) context: &'a NamingContext,
    pub(crate) asker: Option<Requester<'a>>,
}

impl<'a> DerivingLook<'a> {
    /// The configuration.
    pub fn configuration(&self) -> &'a Configuration {
        self.configuration
    }

    /// Entries of all databases, with the server's rights.
    pub fn entries(&self) -> Entries<'a> {
        Entries::new(self.configuration, self.context, self.view)
    }

    /// The entries that hold a value with this normal form in an attribute. Without an equality index all entries are
    /// looked at.
    ///
    /// # Errors
    /// The storage failed.
    pub fn holders(&self, attribute: &AttributeDescription, normal: &[u8]) -> Result<Vec<EntryId>, StoreError> {
        if let Some(found) = self.view.holders(attribute, normal)? {
            return Ok(found);
        }
        let mut found = Vec::new();
        for record in self.view.entries(0)? {
            let record = record?;
            if !self.view.spend(SCAN_STEPS) {
                break;
            }
            for held in record.answering(attribute) {
                if held.holds_normalized(normal)? {
                    found.push(record.id);
                    break;
                }
            }
        }
        Ok(found)
    }

    /// The entry with a name, if there is one.
    ///
    /// # Errors
    /// The storage failed.
    pub fn find(&self, dn: &Dn) -> Result<Option<Record<'a>>, StoreError> {
        match self.view.locate(dn)? {
            Location::Entry(id) => self.view.record(id),
            Location::Missing { .. } => Ok(None),
        }
    }

    /// Whether an entry matches a filter for who asks: parts of it that the client may not search are Undefined, and so
    /// is an entry that it may not search. Values that lower levels derive count.
    pub fn matches(&self, record: &Record<'_>, filter: &CompiledFilter) -> bool {
        let mut scratch = Vec::new();
        let Some(requester) = self.asker.filter(|asker| !asker.reads_everything()) else {
            return record.evaluate(filter, &mut scratch) == Truth::True;
        };
        let check = WriteCheck::on_record(requester, record, self.view);
        let guard = check.answerable(Privileges::SEARCH);
        let guards = AnswerableEntries::new(requester, None, Privileges::SEARCH);
        let with = Evaluation {
            guard: guard.as_ref().map(|guard| guard as &dyn Guard),
            guards: guards.as_ref().map(|guards| guards as &dyn EntryGuards),
            ..Evaluation::default()
        };
        record.evaluate_with(with, filter, &mut scratch) == Truth::True
            && check.permits(Target::Entry, Privileges::SEARCH)
    }

    /// Whether who asks may read an attribute of an entry, or one value of it.
    pub fn may_read(&self, record: &Record<'_>, attribute: &AttributeDescription, value: Option<&[u8]>) -> bool {
        let Some(requester) = self.asker.filter(|asker| !asker.reads_everything()) else {
            return true;
        };
        let check = WriteCheck::on_record(requester, record, self.view);
        check.permits(Target::Entry, Privileges::READ)
            && check.permits(Target::Attribute(attribute, value), Privileges::READ)
    }

    /// The entries that may hold or derive one of some names as a value of an attribute.
    ///
    /// # Errors
    /// The storage failed.
    pub fn may_have(
        &self,
        attribute: &AttributeDescription,
        names: impl IntoIterator<Item = Vec<u8>>,
    ) -> Result<DerivedCandidates, StoreError> {
        let text = self.view.schema().description_text(attribute);
        let equal = |name| {
            Filter::Equality(Assertion {
                attribute: text.as_bytes().into(),
                value: Cow::Owned(name),
            })
        };
        let mut filter = CompiledFilter::default();
        filter.compile(self.view.schema(), &Filter::Or(names.into_iter().map(equal).collect()));
        self.view.may_match(&filter)
    }
}

/// Steps for looking at an entry.
const SCAN_STEPS: u64 = 10;

impl DerivingEntry<'_> {
    /// The values of exactly this description: those that it holds and those that lower levels derive.
    ///
    /// # Errors
    /// The storage failed.
    pub fn values(&self, attribute: &AttributeDescription, purpose: Purpose) -> Result<Vec<Vec<u8>>, StoreError> {
        self.record.derived(attribute, purpose)?.merged(&self.record, attribute)
    }

    /// The name.
    ///
    /// # Errors
    /// The storage failed.
    pub fn dn(&self) -> Result<Dn, StoreError> {
        self.record.view().dn(self.record.id)
    }
}
