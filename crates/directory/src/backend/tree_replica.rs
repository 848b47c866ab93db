//! What a provider has sent of a tree in memory: a whole refresh, or one change.

use std::collections::BTreeSet;

use ironbark_model::{Dn, Entry};
use ironbark_store::{ContextVector, Csn};

use super::tree_change::TreeChange;

/// What a provider has sent of a tree in memory, with names and values as they are here. All of it is put into force at
/// once, or nothing.
pub struct TreeReplica<'a> {
    /// Entries with their `entryUUID` and `entryCSN`, superiors first.
    pub entries: Vec<(String, Option<Csn>, Entry)>,
    /// Changes that the provider's log tells of, in their order. Then there are no entries.
    pub logged: Vec<TreeLogged>,
    /// `entryUUID` of entries that are gone.
    pub gone: Vec<String>,
    /// After a refresh that named everything: `entryUUID` of the other entries that the provider has. What it knows of
    /// and did not name is gone.
    pub present: Option<BTreeSet<String>>,
    /// What the provider knows of, after a refresh.
    pub covered: &'a ContextVector,
    /// CSNs that the context vector takes in with it.
    pub cookie: &'a [Csn],
    /// Whether a name is in base and scope of the consumer.
    pub holds: &'a dyn Fn(&Dn) -> bool,
}

/// A change of a tree that a provider's log tells of.
pub struct TreeLogged {
    /// `entryUUID`, if the log tells it.
    pub uuid: Option<String>,
    /// Its CSN.
    pub csn: Csn,
    /// `modifiersName`, if the log tells it.
    pub author: Option<String>,
    /// `modifyTimestamp`, if the log tells it.
    pub time: Option<String>,
    /// What was done, without timestamps. The entry of an add has its operational attributes.
    pub change: TreeChange,
}
