//! What entries show beside what they hold.

use ironbark_config::access::Privileges;
use ironbark_ldap_proto::{EncodeControl, controls::ControlSet};
use ironbark_model::{AttributeDescription, Entry};
use ironbark_runtime::WallTime;

use super::Entries;
use crate::OperationError;

/// Attributes of stored entries that do not hold them. The access rules are asked about each value, as of any other.
/// Compares see them, filters do not; under `ManageDsaIT` nobody does.
pub trait ComputedAttributes: Send + Sync {
    /// Which; asked for once, when the overlay is configured.
    fn attributes(&self) -> &[AttributeDescription];

    /// The values that an entry without this attribute shows.
    ///
    /// # Errors
    /// The storage failed.
    fn values(
        &self,
        entries: Entries<'_>,
        entry: &Entry,
        attribute: &AttributeDescription,
    ) -> Result<Vec<Vec<u8>>, OperationError>;
}

/// Controls that come with each entry of a search that asks for them.
pub trait EntryControls: Send + Sync {
    /// The controls of a request that it answers.
    fn asked_by(&self) -> ControlSet;

    /// The control that comes with an entry; none where nothing is said of it, or nothing may be said to this client.
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
