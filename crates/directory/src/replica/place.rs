//! The place of an entry among several writing servers: which entry it is below, by UUID, as the provider tells.
//!
//! A version of an entry (entryUUID and entryCSN) has one place: the closest entry above it that is not glue, and the
//! RDNs below that. Whatever changes the place here without being a newer version makes a revision of it.

use ironbark_model::Dn;
use ironbark_store::{ContextVector, Csn, EntryId};

use super::find::find;
use crate::{
    OperationError,
    edit::{
        adoption::{closest_below, revise, stamp},
        checks,
    },
    overlay::Execution,
    place::{closest, uuid_of},
};

/// A place as a provider has told it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Told {
    /// RDNs of the entry below its closest superior that is no glue.
    depth: usize,
    /// That superior; `None`: there is none.
    pub(super) superior: Option<[u8; 16]>,
    /// What the provider has; `None`: more than it can tell.
    knows: Option<ContextVector>,
    /// The CSNs in the text, also where it does not tell all that the provider has.
    named: ContextVector,
}

impl Told {
    /// Reads it.
    pub(super) fn parse(value: &[u8]) -> Option<Self> {
        let mut words = std::str::from_utf8(value).ok()?.split(' ');
        let depth = words.next()?.parse().ok()?;
        let superior = match words.next()? {
            "-" => None,
            text => Some(uuid_of(text.as_bytes())?),
        };
        let (mut named, mut is_all) = (ContextVector::default(), true);
        for word in words {
            match Csn::parse(word.as_bytes()) {
                Some(csn) => _ = named.merge(csn),
                None => is_all = false,
            }
        }
        let knows = is_all.then(|| named.clone());
        Some(Self {
            depth,
            superior,
            knows,
            named,
        })
    }

    /// The name here of an entry with this name at the provider. Without its superior here, the name is all that is
    /// known.
    pub(super) fn name_here(&self, execution: &Execution<'_, '_>, name: &Dn) -> Result<Dn, OperationError> {
        let Some(superior) = self.superior else {
            return Ok(name.clone());
        };
        let Some(id) = find(execution, superior)? else {
            return Ok(name.clone());
        };
        let here = execution.view().dn(id)?;
        let there = name.ancestor(name.depth().saturating_sub(self.depth));
        Ok(name.rebase(&there, &here).unwrap_or_else(|| name.clone()))
    }

    /// Whether an entry with this name would move below itself: each of two entries has moved below the other one.
    pub(super) fn is_cycle(&self, execution: &Execution<'_, '_>, name: &Dn, to: &Dn) -> Result<bool, OperationError> {
        let Some(superior) = self.superior.filter(|_| to != name && to.is_within(name)) else {
            return Ok(false);
        };
        Ok(find(execution, superior)?.is_some())
    }

    /// Whether the provider has had this version of an entry; `None`: it cannot tell.
    pub(super) fn knew(&self, csn: Option<Csn>) -> Option<bool> {
        let (knows, Some(csn)) = (self.knows.as_ref()?, csn) else {
            return Some(true);
        };
        // It may have the version without this revision.
        let is_certain = !csn.is_revision() || !knows.covers(csn);
        is_certain.then(|| knows.covers(csn))
    }

    /// The greatest CSN that the provider knew of the server that made this revision. `None`: the CSN is not that of a
    /// revision, or the provider knew none.
    pub(super) fn revised_by(&self, csn: Csn) -> Option<Csn> {
        self.named.of_server(csn.reviser()?)
    }

    /// Whether an entry is where the provider has it.
    pub(super) fn is_place_of(&self, execution: &Execution<'_, '_>, id: EntryId) -> Result<bool, OperationError> {
        let view = execution.view();
        let record = checks::record_of(view, id)?;
        let (depth, above) = closest(view, &record)?;
        let superior = match above {
            Some(above) => above.entry_uuid()?,
            None => None,
        };
        Ok(superior == self.superior && (superior.is_none() || depth == self.depth))
    }
}

/// What this server has to tell of its own after a message.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Aftermath {
    /// Entries that have lost their name, or are told to be there although they are gone: their end is told (again).
    pub(super) buried: Vec<[u8; 16]>,
    /// Entries whose place is not that of their version any more.
    pub(super) moved: Vec<[u8; 16]>,
    /// Entries that get a new version, whatever others have made of them.
    pub(super) made: Vec<[u8; 16]>,
}

impl Aftermath {
    /// Takes up what there is to tell of another part of the same message.
    pub(super) fn append(&mut self, further: Self) {
        self.buried.extend(further.buried);
        self.moved.extend(further.moved);
        self.made.extend(further.made);
    }

    /// Whether entries get other CSNs.
    pub(super) fn stamps(&self) -> bool {
        !self.moved.is_empty() || !self.made.is_empty()
    }

    /// Takes up the entries whose closest superior this one is, or would be.
    pub(super) fn take_up_below(&mut self, execution: &Execution<'_, '_>, id: EntryId) -> Result<(), OperationError> {
        for below in closest_below(execution, id)? {
            let record = checks::record_of(execution.view(), below)?;
            self.moved.extend(record.entry_uuid()?);
        }
        Ok(())
    }

    /// Gives the entries their revisions and versions that are still here.
    pub(super) fn stamp_moved(&self, execution: &mut Execution<'_, '_>) -> Result<(), OperationError> {
        let mut moved = Vec::with_capacity(self.moved.len());
        for uuid in &self.moved {
            moved.extend(find(execution, *uuid)?);
        }
        moved.sort_unstable();
        moved.dedup();
        revise(execution, &moved)?;
        for uuid in &self.made {
            if let Some(id) = find(execution, *uuid)? {
                stamp(execution, id)?;
            }
        }
        Ok(())
    }
}
