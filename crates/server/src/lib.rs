//! The server: listeners, connections, reactors, the log, cn=Monitor, and the life of the daemon.
//!
//! Invariant: nothing here knows what an operation does. A connection hands complete messages to a `Worker` and sends
//! the worker's responses.

mod acceptor;
mod arrival;
mod configuration;
mod connection;
mod failed_parts;
pub mod fuzz;
mod held;
mod limits;
pub mod listener;
pub mod log;
mod metrics;
mod monitor;
mod options;
mod pool;
mod reactor;
mod repeated_notice;
mod replication;
mod roll_call;
mod root_dse;
mod round;
mod serve;
mod server_id;
mod sources;
mod tls;
mod tools;

pub use configuration::{
    Loaded, RehearsalError, SourceError, load_configuration, missing_folder, new_stamps, rehearse, stamp, usual_file,
    usual_folder,
};
pub use metrics::{ReadinessError, ask_whether_ready};
pub use monitor::BACKENDS;
pub use options::ServeOptions;
pub use serve::{built_in_overlays, serve};

/// The text that `-V` and cn=Monitor show.
pub const VERSION: &str = concat!("Ironbark: slapd ", env!("CARGO_PKG_VERSION"));
