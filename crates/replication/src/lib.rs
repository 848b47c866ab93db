//! Consumers: how a database follows another server (RFC 4533, as OpenLDAP's syncrepl uses it).
//!
//! Invariant: protocol state machines do no I/O and read no clock. What a provider sends goes in, what is to be done
//! comes out. So a simulation can run them in any order of events.

mod changelog;
mod comparison;
mod consumer;
mod consumers;
mod dir_sync;
mod line;
mod lines;
mod log_entry;
mod machine;
mod message;
mod retry;
mod session;
mod status;
mod strict;
mod told;
mod tree;

pub use changelog::Changelog;
pub use consumer::{Consumer, ConsumerStop, Counts};
pub use consumers::Consumers;
pub use dir_sync::DirSync;
pub use line::{SyncSearch, SyncreplLine};
pub use lines::lines;
pub use log_entry::LogEntry;
pub use machine::{Again, Begin, ConsumerAction, Machine, Violation};
pub use message::{Info, SyncMessage};
pub use retry::Retries;
pub use status::{ConsumerStatus, Phase};
pub use strict::StrictRefreshes;
