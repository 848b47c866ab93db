//! Controls that come with the entries of a search.

use ironbark_config::access::Privileges;
use ironbark_ldap_proto::{EncodeControl, controls::ControlSet};
use ironbark_model::{AttributeDescription, Entry};
use ironbark_runtime::WallTime;

use super::Entries;
use crate::OperationError;

/// Controls that come with each entry of a search that asks for them.
pub trait EntryControls: Send + Sync {
    /// The request controls that it answers.
    fn asked_by(&self) -> ControlSet;

    /// The control for an entry; `None` if there is nothing to report, or nothing that this client may know.
    ///
    /// # Errors
    /// The storage failed.
    fn control(&self, found: &FoundEntry<'_>) -> Result<Option<Box<dyn EncodeControl>>, OperationError>;
}

/// An entry that a search has found, and may show.
pub struct FoundEntry<'a> {
    /// All entries.
    pub entries: Entries<'a>,
    /// The whole entry.
    pub entry: &'a Entry,
    /// When the search began.
    pub now: WallTime,
    pub(crate) permits: &'a dyn Fn(&AttributeDescription, Privileges) -> bool,
}

impl FoundEntry<'_> {
    /// Whether the access rules give the client these privileges on an attribute of the entry.
    pub fn permits(&self, attribute: &AttributeDescription, privileges: Privileges) -> bool {
        (self.permits)(attribute, privileges)
    }
}
