//! The directory: operations of RFC 4511 on naming contexts, access control, passwords, overlays, the change stream.
//!
//! Invariants: no sockets here; a write is executed and applied in one transaction on its database's writer thread; only a
//! `VisibleEntry` is ever encoded to a client.

pub mod access;
mod authorization;
mod bare;
mod bind_failures;
mod change;
mod computed;
mod configuration;
pub mod context;
mod directory;
mod disclosure;
mod dn_cache;
mod dse;
mod ended;
mod error;
pub mod fuzz;
mod hashing_pool;
pub mod ldif;
mod log;
mod long_searches;
pub mod open;
pub mod operation;
pub mod overlay;
pub mod password;
mod proxied;
mod reconfigure;
mod referral;
mod respond;
mod room;
mod sasl;
mod schema_use;
mod search;
mod security;
mod session;
pub mod stamp;
mod statistics;
mod tree;
mod well_known;
mod worker;
mod write_request;
mod writer;

pub use bind_failures::{BindFailures, Patience, SourceAddress};
pub use configuration::Configuration;
pub use context::{Backend, Context};
pub use directory::{
    Directory, Factories, IndexBuild, OpenOptions, OverlayFactory, RootDseFactory, ServerIdFactory, TreeFactory,
};
pub use dse::RootDseAddition;
pub use error::{OpenError, OperationError, ResponseControl};
pub use long_searches::{HandedOver, Stepped};
pub use sasl::{LayerError, SecurityLayer};
pub use search::{Progress, SearchRun};
pub use session::{Identity, Peer, Session, Source, Strength, TlsChannel};
pub use statistics::{
    FilterCost, FilterReport, FilterShape, FilterTerm, IndexUses, LatencySummary, Shard, Statistics,
    filter_without_values,
};
pub use tree::{ChangeAuthor, VirtualChange, VirtualContext, complete_entries};
pub use well_known::WellKnown;
pub use worker::{Batch, Completion, Started, Submitted, Worker};
