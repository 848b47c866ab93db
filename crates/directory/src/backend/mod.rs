//! Databases with the parts that serve them, and the state that all operations share.

pub(crate) mod bind_failures;
pub(crate) mod call;
pub(crate) mod complete;
pub(crate) mod configuration;
pub(crate) mod conflicts;
pub(crate) mod directory;
pub(crate) mod external;
pub(crate) mod feed;
pub(crate) mod fence;
pub(crate) mod hashing_pool;
pub(crate) mod in_memory;
pub mod ldif;
pub(crate) mod naming_context;
pub mod open;
pub(crate) mod peer_clocks;
pub(crate) mod queue;
pub(crate) mod received;
pub(crate) mod referral;
pub(crate) mod root_dse;
pub(crate) mod sync_sessions;
pub(crate) mod tree_attributes;
pub(crate) mod tree_change;
pub(crate) mod tree_replica;
pub(crate) mod well_known;
pub(crate) mod written;
