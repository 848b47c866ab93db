//! What a provider has sent, executed by the writer of the database: the apply side of a consumer (RFC 4533).
//!
//! Invariants: entry, conflict, row of the log and context vector change in one transaction. Nothing is applied outside
//! of base and scope of the consumer. `docs/internals/replica.md` has the rules.

mod absent;
mod apply;
mod conflict;
mod cookie_place;
mod delete;
mod difference;
mod find;
mod incoming;
mod initial;
mod job;
mod log_place;
mod logged;
mod made_since;
mod mapping;
mod own;
mod parts;
mod place;
mod placing;
mod read;
mod recent;
mod tree;
mod tree_logged;
mod whole;

pub use self::{
    absent::{Absent, AbsentSlice},
    absent::{replicate_absent, room_for_absent},
    cookie_place::CookiePlace,
    incoming::{Incoming, OutcomeKind, ReplicaOutcome, ReplicaSession, Replicated, ReplicatedEntry},
    initial::InitialLoad,
    initial::begin_initial_load,
    job::{replicate, room_for_replica},
    log_place::{ChangeLogPlace, LogStep},
    logged::{LoggedChange, LoggedOperation},
    mapping::{AttributeChoice, ReplicaMapping},
    tree::ReplicatedTree,
    tree::replicate_tree,
};
