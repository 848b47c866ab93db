//! The directory: operations of RFC 4511 on naming contexts, access control, passwords, overlays, the change stream.
//!
//! Invariants: no sockets here; a write is executed and applied in one transaction on its database's writer thread;
//! only a `VisibleEntry` is ever encoded to a client.

pub mod access;
mod admission;
mod appraisal;
mod authorization;
mod backend;
mod cookie;
pub mod edit;
mod error;
mod frontend;
pub mod fuzz;
mod identity;
mod operation;
mod outcome;
pub mod overlay;
pub mod password;
mod place;
mod reactor;
mod recent;
mod reconfigure;
mod refusal;
mod replica;
mod request;
mod result;
mod room;
mod rules;
mod sasl;
mod scratch;
mod search;
mod service;
pub mod stamp;
mod statistics;
mod told;
mod write;

pub use access::SetExpression;
pub use admission::database::restricted;
pub use appraisal::{
    access::{Appraisal, Asker, Granted},
    derived::GivenByOverlays,
};
pub use backend::{
    bind_failures::{BindFailures, Patience},
    commit_log::{Append, Closed, CommitLog, Received, Turn},
    complete::complete_entries,
    configuration::Configuration,
    conflicts::{Conflict, ConflictKind, ConflictSide, DatabaseConflicts, KeptConflict},
    directory::Directory,
    external::{
        AnswerStream, Answers, ExternalAsker, ExternalDatabase, ExternalOperation, ExternalRequest, ExternalSearch,
    },
    in_memory::{ChangeAuthor, Governor, InMemoryTree, PreparedConfiguration},
    ldif,
    naming_context::{Backend, NamingContext},
    open,
    received::{ReceivedEntryError, received_entry},
    root_dse::RootDseAddition,
    seat::Seat,
    sync_sessions::{SyncConsumer, SyncPlace, SyncSession},
    tree_change::TreeChange,
    tree_log::{CommonTree, TreeLog},
    tree_replica::{TreeLogged, TreeReplica},
    well_known::WellKnown,
};
pub use cookie::SyncCookie;
pub use error::{OpenError, OperationError, ResponseControl};
pub use identity::session::Session;
pub use operation::change_settings;
pub use outcome::completion::{Completion, Submitted};
pub use place::{
    LOGGED_BASE as LOGGED_BASE_ATTRIBUTE, LOGGED_PLACE as LOGGED_PLACE_ATTRIBUTE,
    LOGGED_REVISION as LOGGED_REVISION_ATTRIBUTE, PLACE as PLACE_ATTRIBUTE, revision_of,
};
pub use reactor::{
    held::{Held, HeldUntil},
    long_searches::{HandedOver, Stepped},
    worker::{RequestBatch, Started, Worker},
};
pub use recent::RECENT as RECENT_ATTRIBUTE;
pub use reconfigure::{
    ExternalFactory, Factories, OverlayFactory, OwnUrl, Prepared, Renewal, RootDseFactory, ServerIdFactory, TreeFactory,
};
pub use replica::{
    Absent, AbsentSlice, AttributeChoice, ChangeLogPlace, CookiePlace, Incoming, InitialLoad, LogStep, LoggedChange,
    LoggedOperation, OutcomeKind, ReplicaMapping, ReplicaOutcome, ReplicaSession, Replicated, ReplicatedEntry,
    ReplicatedTree, begin_initial_load, replicate, replicate_absent, replicate_tree, room_for_absent, room_for_replica,
};
pub use request::{
    context::{RequestContext, RequestKind},
    identity::{ConnectionSource, Identity, Peer, SourceAddress, Strength, TlsChannel},
    modification::{Authority, Modification, ModificationKind},
};
pub use result::OperationResult;
pub use sasl::{LayerError, SecurityLayer};
pub use search::{
    LOGGED_UNORDERED_ATTRIBUTE, Progress, SearchRun, log_first_note, told_tree_vector, written_tree_vector,
};
pub use service::{IndexBuild, OpenOptions, Service};
pub use statistics::{
    FilterCost, FilterReport, FilterShape, FilterTerm, IndexUses, LatencySummary, Shard, Statistics,
    filter_without_values,
};
pub use told::{SyncContent, SyncPlaces};
pub use write::{Replayed, replay, run_errand};
