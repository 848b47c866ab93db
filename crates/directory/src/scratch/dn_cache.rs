//! A cache of the DNs and superiors of recent parents, of their entries by name, and of the last base object. So the DN
//! of an answer, its place and the entry of a name are not looked up from the root each time. One per reactor and
//! database.

use std::collections::hash_map::Entry;

use ironbark_model::{Dn, number_map::NumberMap};
use ironbark_store::{DitScope, EntryId, Location, Record, StoreError, Version, View};
use smallvec::SmallVec;

use crate::access::EntryPlace;

/// Parents that are cached; beyond this number the cache starts over. About 300 bytes each.
const LIMIT: usize = 4_096;

/// Pretty DNs by entry ID. Entry IDs are never reused, so only a rename of an entry with subordinates makes it stale.
#[derive(Debug, Default)]
pub(crate) struct DnCache {
    structure_version: u64,
    parents: NumberMap<Parent>,
    base: Base,
    /// Entries with subordinates, by the numbers of their normalized names. A deleted entry has no subordinates: names
    /// below it are looked up again.
    by_name: NumberMap<Named>,
    /// The superior of topmost entries.
    root: Dn,
}

/// A normalized name and its entry.
#[derive(Debug)]
struct Named {
    normalized: Box<[u8]>,
    id: EntryId,
}

/// An entry looked up by its name.
pub(crate) enum Found<'t> {
    Entry(Record<'t>),
    /// The closest superior entry, if any, and its number of RDNs.
    Missing(Option<(EntryId, usize)>),
}

/// The base of the last search: the next one usually has the same.
#[derive(Debug, Default)]
struct Base {
    /// [`View::version`] of the snapshot.
    version: Option<Version>,
    normalized: Vec<u8>,
    id: EntryId,
    is_referral: bool,
}

/// An entry with subordinates.
#[derive(Debug)]
struct Parent {
    dn: Dn,
    /// The entry and its superiors.
    line: SmallVec<[EntryId; 8]>,
}

impl DnCache {
    /// Removes entries that a rename has made stale. Call once per snapshot.
    pub(crate) fn refresh(&mut self, view: View<'_>) -> Result<(), StoreError> {
        let version = view.structure_version()?;
        if version != self.structure_version {
            self.parents.clear();
            self.by_name.clear();
            self.structure_version = version;
        }
        Ok(())
    }

    /// As [`View::locate`], and whether the entry is a referral. For the same base object as in the last call, nothing
    /// is looked up unless there was a write.
    pub(crate) fn locate_base(&mut self, view: View<'_>, base: &Dn) -> Result<(Location, bool), StoreError> {
        let (known, version) = (&self.base, view.version());
        if version.is_some() && known.version == version && known.normalized == base.normalized() {
            return Ok((Location::Entry(known.id), known.is_referral));
        }
        let record = match self.find(view, base)? {
            Found::Entry(record) => record,
            Found::Missing(ancestor) => return Ok((Location::Missing { ancestor }, false)),
        };
        let known = &mut self.base;
        known.normalized.clear();
        known.normalized.extend_from_slice(base.normalized());
        (known.version, known.id, known.is_referral) = (version, record.id, record.is_referral());
        Ok((Location::Entry(record.id), record.is_referral()))
    }

    /// The entry of a name. Takes two look-ups for an entry below a known superior.
    pub(crate) fn find<'t>(&mut self, view: View<'t>, dn: &Dn) -> Result<Found<'t>, StoreError> {
        let above = dn.ancestor_forms(dn.depth().saturating_sub(1)).1;
        if let Some(superior) = self.superior(above)
            && let Some((_, rdn)) = dn.rdn(0)
            && let Some(id) = view.subordinate(superior, rdn)?
            && let Some(record) = view.record(id)?
        {
            return Ok(Found::Entry(record));
        }
        let id = match view.locate(dn)? {
            Location::Entry(id) => id,
            Location::Missing { ancestor } => return Ok(Found::Missing(ancestor)),
        };
        let Some(record) = view.record(id)? else {
            return Ok(Found::Missing(None));
        };
        // A topmost entry is stored under its whole name, not under an RDN.
        if record.parent() != 0 {
            if self.by_name.len() >= LIMIT {
                self.by_name.clear();
            }
            let named = Named {
                normalized: above.into(),
                id: record.parent(),
            };
            self.by_name.insert(self.by_name.hasher().number_of(above), named);
        }
        Ok(Found::Entry(record))
    }

    /// The entry of a name, if it is known to have subordinates.
    fn superior(&self, normalized: &[u8]) -> Option<EntryId> {
        let known = self.by_name.get(&self.by_name.hasher().number_of(normalized))?;
        (*known.normalized == *normalized).then_some(known.id)
    }

    /// Writes the pretty DN of a record into `out`, which is cleared first.
    pub(crate) fn write_dn(&mut self, view: View<'_>, record: &Record<'_>, out: &mut String) -> Result<(), StoreError> {
        out.clear();
        out.push_str(record.rdn());
        let parent = record.parent();
        if parent == 0 {
            return Ok(());
        }
        let parent = self.parent(view, parent)?;
        if !parent.dn.is_root() {
            out.push(',');
            out.push_str(parent.dn.pretty());
        }
        Ok(())
    }

    /// The parts of a record's DN.
    pub(crate) fn place<'a>(
        &'a mut self,
        view: View<'_>,
        record: &'a Record<'_>,
    ) -> Result<EntryPlace<'a>, StoreError> {
        let parent = match record.parent() {
            0 => &self.root,
            parent => &self.parent(view, parent)?.dn,
        };
        Ok(EntryPlace {
            parent,
            rdn: record.rdn(),
        })
    }

    /// As [`Record::is_in_scope`], but without a look-up for entries below `base` with a known parent.
    pub(crate) fn is_in_scope(
        &mut self,
        view: View<'_>,
        record: &Record<'_>,
        base: EntryId,
        scope: DitScope,
    ) -> Result<bool, StoreError> {
        let parent = record.parent();
        if matches!(scope, DitScope::Subtree | DitScope::Children)
            && parent != 0
            && self.parent(view, parent)?.line.contains(&base)
        {
            return Ok(true);
        }
        record.is_in_scope(base, scope)
    }

    fn parent(&mut self, view: View<'_>, id: EntryId) -> Result<&Parent, StoreError> {
        if self.parents.len() >= LIMIT && !self.parents.contains_key(&id) {
            self.parents.clear();
        }
        match self.parents.entry(id) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(place) => {
                let mut line = SmallVec::new();
                let mut at = id;
                // If damage has made a chain a loop, it ends at the latest when the name is built.
                while at != 0 && !line.contains(&at) {
                    line.push(at);
                    at = view.parent(at)?.unwrap_or(0);
                }
                let dn = view.dn(id)?;
                Ok(place.insert(Parent { dn, line }))
            }
        }
    }
}
