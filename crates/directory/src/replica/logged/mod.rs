//! Changes as a provider's log has them (delta synchronization: accesslog of slapd and of this server): what was done,
//! not what the entry is now. They are found by UUID, or by name if the log does not tell it.

mod age;
mod apply;
mod history;
mod merge;
mod read;
mod structural;

use ironbark_store::{Csn, change::RequestedModification};

pub(super) use self::{
    age::Standing,
    apply::run,
    history::modifications,
    read::{ReadLogged, ReadOperation, read},
};

/// A change from a provider's log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoggedChange {
    /// The entry's name at the provider before the change; after it with [`LoggedOperation::Revise`] and
    /// [`LoggedOperation::Settle`].
    pub dn: Box<str>,
    /// Its `entryUUID`, if the log tells it.
    pub uuid: Option<[u8; 16]>,
    /// What was done.
    pub operation: LoggedOperation,
    /// What the provider's provider had of the entry, if it is what was taken over when the entry came as a whole
    /// ([`LOGGED_BASE_ATTRIBUTE`](crate::LOGGED_BASE_ATTRIBUTE)).
    pub base: Option<Vec<u8>>,
}

/// What was done with an entry that was there. An add is [`Incoming::Entry`](super::Incoming::Entry).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LoggedOperation {
    /// Delete.
    Delete,
    /// Modify, timestamps included.
    Modify(Vec<RequestedModification>),
    /// Modify DN.
    ModifyDn {
        /// `newrdn`.
        new_rdn: Box<str>,
        /// `deleteoldrdn`.
        delete_old_rdn: bool,
        /// `newSuperior`.
        new_superior: Option<Box<str>>,
        /// Changes of attributes besides the values of RDNs: timestamps.
        modifications: Vec<RequestedModification>,
        /// The name and the place that it gave to the entry, as a provider of our kind tells it; see
        /// [`PLACE_ATTRIBUTE`](crate::PLACE_ATTRIBUTE).
        place: Option<(Box<str>, Box<[u8]>)>,
    },
    /// The entry has the name of the change now, and this place, without a change of its own: a revision.
    Settle {
        /// The CSN of the revision.
        revision: Csn,
        /// Its place.
        place: Box<[u8]>,
    },
    /// The entry has the name of the change now, whatever its name was before, and these attributes have changed. The
    /// values of the RDN are among them. What is so already is not changed again.
    Revise(Vec<RequestedModification>),
}

impl LoggedChange {
    /// Octets of its names and values.
    pub fn octets(&self) -> usize {
        let of_all = |modifications: &[RequestedModification]| {
            let of_one = |change: &RequestedModification| {
                change.attribute.len() + change.values.iter().map(Vec::len).sum::<usize>()
            };
            modifications.iter().map(of_one).sum()
        };
        let changes = match &self.operation {
            LoggedOperation::Delete => 0,
            LoggedOperation::Settle { place, .. } => place.len(),
            LoggedOperation::Modify(modifications) | LoggedOperation::Revise(modifications) => of_all(modifications),
            LoggedOperation::ModifyDn {
                new_rdn,
                new_superior,
                modifications,
                place,
                ..
            } => {
                let names = new_rdn.len() + new_superior.as_ref().map_or(0, |name| name.len());
                names + place.as_ref().map_or(0, |(name, place)| name.len() + place.len()) + of_all(modifications)
            }
        };
        self.dn.len() + changes
    }
}
