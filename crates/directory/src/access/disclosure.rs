//! Names of entries that a subject may not know about: the answer is noSuchObject.
//!
//! A hidden referral entry gets exactly the same answer as a missing entry. For any other hidden entry, as in slapd,
//! the answer names no superior; changes of it are refused by the access rules instead.

use ironbark_config::access::Privileges;
use ironbark_model::{Dn, Entry};
use ironbark_store::{DitScope, EntryId, Location, Record, View};

use super::{requester::Requester, target::Target, write_check::WriteCheck};
use crate::{OperationError, backend::referral};

/// The names of one database that one subject may know.
#[derive(Clone, Copy)]
pub(crate) struct Disclosure<'a> {
    pub(crate) requester: Requester<'a>,
    pub(crate) view: View<'a>,
}

/// The deepest entry on the way to a name, and its number of RDNs.
pub(crate) type Ancestor = Option<(EntryId, usize)>;

impl Disclosure<'_> {
    /// Whether the subject may know of an entry.
    pub(crate) fn discloses(&self, record: &Record<'_>) -> bool {
        WriteCheck::on_record(self.requester, record, self.view).permits(Target::Entry, Privileges::DISCLOSE)
    }

    /// As [`Self::discloses`]; a deleted entry is disclosed to nobody.
    pub(crate) fn discloses_entry(&self, id: EntryId) -> Result<bool, OperationError> {
        Ok(self.view.record(id)?.is_some_and(|record| self.discloses(&record)))
    }

    /// The location of a name without glue, and without the referral entries that the subject may not know about;
    /// `location` is the result of [`View::locate`]. With `manages_dsa` (the `ManageDsaIT` control) the named entry
    /// counts as an ordinary one: operations protect it in their own way.
    pub(crate) fn seen(&self, dn: &Dn, location: Location, manages_dsa: bool) -> Result<Location, OperationError> {
        let mut ancestor = match location {
            Location::Entry(id) if manages_dsa || !self.is_hidden(id)? => return Ok(Location::Entry(id)),
            Location::Entry(id) => self.above(id, dn.depth())?,
            Location::Missing { ancestor } => ancestor,
        };
        while let Some((id, depth)) = ancestor
            && self.hides_referral(id)?
        {
            ancestor = self.above(id, depth)?;
        }
        Ok(Location::Missing { ancestor })
    }

    fn is_hidden(&self, id: EntryId) -> Result<bool, OperationError> {
        let record = self.view.record(id)?;
        let hides_glue = self.requester.context.hides_glue();
        Ok(record
            .is_some_and(|record| record.is_glue() && hides_glue || record.is_referral() && !self.discloses(&record)))
    }

    fn hides_referral(&self, id: EntryId) -> Result<bool, OperationError> {
        let record = self.view.record(id)?;
        Ok(record.is_some_and(|record| record.is_referral() && !self.discloses(&record)))
    }

    /// The closest entry above another one.
    pub(crate) fn above(&self, mut id: EntryId, mut depth: usize) -> Result<Ancestor, OperationError> {
        loop {
            id = self.view.parent(id)?.unwrap_or(0);
            depth = depth.saturating_sub(1);
            if id == 0 {
                return Ok(None);
            }
            // Placeholders for future entries are skipped.
            if self.view.record(id)?.is_some() {
                return Ok(Some((id, depth)));
            }
        }
    }

    /// The entry `ancestor`, or the closest one above it that is not a hidden referral. `None` if the subject may not
    /// know about that entry.
    fn disclosed(&self, mut ancestor: Ancestor) -> Result<Ancestor, OperationError> {
        while let Some((id, depth)) = ancestor {
            let record = self.view.record(id)?;
            if record.as_ref().is_some_and(|record| self.discloses(record)) {
                return Ok(ancestor);
            }
            if !record.is_some_and(|record| record.is_referral()) {
                return Ok(None);
            }
            ancestor = self.above(id, depth)?;
        }
        Ok(None)
    }

    /// The error for a missing name. If the deepest existing entry above the name is a referral, a referral; otherwise
    /// noSuchObject with that entry's name. The error has no name if the subject may not know about the entry. `scope`
    /// is the scope of a search.
    pub(crate) fn missing(&self, dn: &Dn, ancestor: Ancestor, scope: Option<DitScope>) -> OperationError {
        if ancestor.is_none() {
            return referral::default_referral(self.requester.configuration, dn, scope);
        }
        self.missing_below(dn, ancestor, scope).unwrap_or_else(|failed| failed)
    }

    fn missing_below(
        &self,
        dn: &Dn,
        ancestor: Ancestor,
        scope: Option<DitScope>,
    ) -> Result<OperationError, OperationError> {
        let Some((id, depth)) = self.disclosed(ancestor)? else {
            return Ok(OperationError::no_such_object(String::new()));
        };
        let name = self.view.dn(id)?.pretty().to_owned();
        Ok(match self.view.record(id)?.filter(Record::is_referral) {
            Some(record) => {
                let urls = referral::urls_below(self.requester.configuration, &record, dn, &dn.ancestor(depth), scope);
                OperationError::referral(name, urls)
            }
            None => OperationError::no_such_object(name),
        })
    }

    /// The error for the name of an entry that the subject may not know about.
    pub(crate) fn hidden(&self, dn: &Dn, record: &Record<'_>, scope: Option<DitScope>) -> OperationError {
        if !record.is_referral() {
            return OperationError::no_such_object(String::new());
        }
        match self.above(record.id, dn.depth()) {
            Ok(above) => self.missing(dn, above, scope),
            Err(failed) => failed,
        }
    }
}

/// The error for a missing name in a tree in memory: noSuchObject, with the closest superior if the subject may know
/// about it.
pub(crate) fn missing_in_memory(requester: Requester<'_>, entries: &[Entry], dn: &Dn) -> OperationError {
    let superiors = entries.iter().filter(|entry| dn.is_within(&entry.dn));
    let closest = superiors.max_by_key(|entry| entry.dn.depth());
    let disclosed =
        closest.filter(|entry| WriteCheck::on_entry(requester, entry).permits(Target::Entry, Privileges::DISCLOSE));
    OperationError::no_such_object(disclosed.map(|entry| entry.dn.pretty().to_owned()).unwrap_or_default())
}
