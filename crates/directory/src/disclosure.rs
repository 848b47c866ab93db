//! Names of entries that a subject may not know of: they are answered for like names of entries that are not there, with what is said of
//! the deepest entry above that the subject may know of. Changes of such entries, referrals aside, are refused by the access rules instead.

use ironbark_config::access::Privileges;
use ironbark_model::{Dn, Entry, ResultCode};
use ironbark_store::{EntryId, Location, Record, Scope, View};

use crate::{
    Configuration, Context, OperationError,
    access::{Subject, Target, WriteCheck},
    referral,
};

/// What one subject may know of the names of one database.
#[derive(Clone, Copy)]
pub(crate) struct Disclosure<'a> {
    pub(crate) context: &'a Context,
    pub(crate) configuration: &'a Configuration,
    pub(crate) subject: Subject<'a>,
    pub(crate) view: View<'a>,
}

/// The deepest entry on the way to a name, and its number of RDNs.
pub(crate) type Ancestor = Option<(EntryId, usize)>;

impl Disclosure<'_> {
    /// Whether the subject may know of an entry.
    pub(crate) fn discloses(&self, record: &Record<'_>) -> bool {
        WriteCheck::on_record(self.context, self.configuration, self.subject, record, self.view)
            .permits(Target::Entry, Privileges::DISCLOSE)
    }

    /// As [`Self::discloses`]; an entry that is gone is disclosed to nobody.
    pub(crate) fn discloses_entry(&self, id: EntryId) -> Result<bool, OperationError> {
        Ok(self.view.record(id)?.is_some_and(|record| self.discloses(&record)))
    }

    /// Where a name leads without the referral entries that the subject may not know of; `location` is what [`View::locate`] says. With
    /// `manages_dsa` (the `ManageDsaIT` control) the named entry counts as an ordinary one, which operations protect in their own way.
    pub(crate) fn seen(&self, dn: &Dn, location: Location, manages_dsa: bool) -> Result<Location, OperationError> {
        let mut ancestor = match location {
            Location::Entry(id) if manages_dsa || !self.hides_referral(id)? => return Ok(Location::Entry(id)),
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
            // Places that are kept for entries to come are passed over.
            if self.view.record(id)?.is_some() {
                return Ok(Some((id, depth)));
            }
        }
    }

    /// The deepest of the entry `ancestor` and those above it that the subject may know of.
    fn deepest_disclosed(&self, mut ancestor: Ancestor) -> Result<Ancestor, OperationError> {
        while let Some((id, depth)) = ancestor {
            if self.discloses_entry(id)? {
                return Ok(ancestor);
            }
            ancestor = self.above(id, depth)?;
        }
        Ok(None)
    }

    /// The error for a name that is not there: a referral if the deepest entry on the way to it that the subject may know of is one,
    /// otherwise noSuchObject with that entry's name. `scope` is that of a search. (slapd names no entry where the deepest of all is hidden,
    /// which tells that there is one.)
    pub(crate) fn missing(&self, dn: &Dn, ancestor: Ancestor, scope: Option<Scope>) -> OperationError {
        if ancestor.is_none() {
            return referral::default_referral(self.configuration, dn, scope);
        }
        self.missing_below(dn, ancestor, scope).unwrap_or_else(|failed| failed)
    }

    fn missing_below(
        &self,
        dn: &Dn,
        ancestor: Ancestor,
        scope: Option<Scope>,
    ) -> Result<OperationError, OperationError> {
        let Some((id, depth)) = self.deepest_disclosed(ancestor)? else {
            return Ok(OperationError::code(ResultCode::NO_SUCH_OBJECT));
        };
        let name = self.view.dn(id)?.pretty().to_owned();
        Ok(match self.view.record(id)?.filter(Record::is_referral) {
            Some(record) => {
                let urls = referral::urls_below(self.configuration, &record, (dn, &dn.ancestor(depth)), scope);
                OperationError::referral(name, urls)
            }
            None => OperationError::no_such_object(name),
        })
    }

    /// The error for the name of an entry that the subject may not know of: that for a name that is not there.
    pub(crate) fn hidden(&self, dn: &Dn, record: &Record<'_>, scope: Option<Scope>) -> OperationError {
        match self.above(record.id, dn.depth()) {
            Ok(above) => self.missing(dn, above, scope),
            Err(failed) => failed,
        }
    }
}

/// The error for a name that is not there in a tree in memory, or whose entry the subject may not know of.
pub(crate) fn missing_in_memory(
    (context, configuration, subject): (&Context, &Configuration, Subject<'_>),
    entries: &[Entry],
    dn: &Dn,
) -> OperationError {
    let above = |entry: &&Entry| dn.depth() > entry.dn.depth() && dn.is_within(&entry.dn);
    let is_disclosed = |entry: &&Entry| {
        WriteCheck::on_entry(context, configuration, subject, entry).permits(Target::Entry, Privileges::DISCLOSE)
    };
    let disclosed = entries.iter().filter(above).filter(is_disclosed);
    let matched = disclosed.max_by_key(|entry| entry.dn.depth());
    OperationError::no_such_object(matched.map(|entry| entry.dn.pretty().to_owned()).unwrap_or_default())
}
