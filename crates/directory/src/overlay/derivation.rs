//! Attributes that overlays derive: entries have them without holding them.

use std::{ops::ControlFlow, sync::Arc};

use ironbark_model::{AttributeDescription, Dn, schema::ClassNumber};
use ironbark_store::{Derived, DerivedCandidates, FilterItem, Purpose, Record, StoreError, Wanted};

use super::{DerivingLook, Entries, Reads};

/// Derives attributes of the entries of one database. They act like stored ones: searches show them, filters, compares,
/// sorting and assertions see them, and access rules are asked for each value. What the server itself looks up (other
/// overlays, access rules, replication) sees stored attributes alone.
pub trait Derivation: Send + Sync {
    /// The attributes that make an entry one that [`Derivation::facts`] depends on.
    fn depends_on(&self) -> &[AttributeDescription] {
        &[]
    }

    /// The object classes that do so.
    fn depends_on_classes(&self) -> &[ClassNumber] {
        &[]
    }

    /// By whose rights it reads what it gives.
    fn reads(&self) -> Reads;

    /// Derivations of a higher level see what those of lower levels derive. 4 is the highest: groups of groups. 3:
    /// groups by search. 2: what definitions give (Class of Service). 1: roles. 0: what follows from stored values.
    fn level(&self) -> u8 {
        0
    }

    /// Reads what is derived from the entries of the database. Called again after a change of an entry with one of the
    /// attributes of [`Derivation::depends_on`], or of one of its classes, and after entries were renamed.
    ///
    /// # Errors
    /// The storage failed.
    fn facts(&self, entries: Entries<'_>) -> Result<Arc<dyn Derive>, StoreError>;
}

/// The highest [`Derivation::level`].
pub(super) const TOP_LEVEL: u8 = 4;

/// Derives attributes, by the definitions that a database has.
pub trait Derive: Send + Sync {
    /// The attributes.
    fn attributes(&self) -> &[AttributeDescription];

    /// What answers and compares may have of it beside these attributes. Filters do not see it.
    fn shown(&self) -> Shown<'_> {
        Shown::These(&[])
    }

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

    /// Where an entry has an attribute from, for people. Empty: from the overlay, and there is nothing more to say.
    ///
    /// # Errors
    /// The storage failed.
    fn origins(
        &self,
        _entry: &DerivingEntry<'_>,
        _attribute: &AttributeDescription,
    ) -> Result<Vec<Origin>, StoreError> {
        Ok(Vec::new())
    }

    /// The entries that may satisfy an item by a value of these attributes.
    ///
    /// # Errors
    /// The storage failed.
    fn candidates(&self, look: &DerivingLook<'_>, item: &FilterItem<'_>) -> Result<DerivedCandidates, StoreError>;
}

/// Where an entry has a derived attribute from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Origin {
    /// Name of the definition.
    pub definition: String,
    /// Name of the entry that holds the values, if it is another one.
    pub holder: Option<String>,
}

/// Attributes that are derived for answers and compares, not for filters.
pub enum Shown<'a> {
    /// These.
    These(&'a [AttributeDescription]),
    /// Any user attribute: each entry is asked.
    Everything,
}

/// Whether one of the attributes that are derived for a purpose is wanted.
pub(super) fn gives(one: &dyn Derive, purpose: Purpose, wanted: impl Fn(&AttributeDescription) -> bool) -> bool {
    one.attributes().iter().any(&wanted)
        || purpose != Purpose::Match
            && match one.shown() {
                Shown::These(more) => more.iter().any(wanted),
                Shown::Everything => true,
            }
}

/// An entry whose attributes are derived.
pub struct DerivingEntry<'a> {
    /// The entry, with what lower levels derive.
    pub record: Record<'a>,
    /// For looking at other entries.
    pub look: DerivingLook<'a>,
}

impl DerivingEntry<'_> {
    /// The values of exactly this description: those that it holds and those that lower levels derive.
    ///
    /// # Errors
    /// The storage failed.
    pub fn values(&self, attribute: &AttributeDescription, purpose: Purpose) -> Result<Vec<Vec<u8>>, StoreError> {
        self.record.derived(attribute, purpose)?.merged(&self.record, attribute)
    }

    /// Calls `visit` with each of them.
    ///
    /// # Errors
    /// The storage failed.
    pub fn for_each(
        &self,
        attribute: &AttributeDescription,
        purpose: Purpose,
        visit: &mut dyn FnMut(&[u8]),
    ) -> Result<(), StoreError> {
        if self.record.view().deriving_of(attribute, purpose).is_some() {
            for value in self.values(attribute, purpose)? {
                visit(&value);
            }
            return Ok(());
        }
        match self.record.values(attribute) {
            Some(held) => held.for_each(&mut |value| {
                visit(value);
                ControlFlow::Continue(())
            }),
            None => Ok(()),
        }
    }

    /// The name.
    ///
    /// # Errors
    /// The storage failed.
    pub fn dn(&self) -> Result<Dn, StoreError> {
        self.record.view().dn(self.record.id)
    }
}
