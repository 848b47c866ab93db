//! The configuration, from its files to its parts in force.
//!
//! Read the files in the order in which a configuration passes through them: `source` reads it from slapd.conf or
//! slapd.d; `settings` puts the parts of it into force that the server itself has (log, TLS, metrics, consumers);
//! `rehearsal` does as a start would, without effect. Then the server runs: `tree` takes the changes of cn=config,
//! `vector` notes their CSNs in it, and `cluster` agrees on them with the other servers of a cluster.

mod cluster;
mod rehearsal;
mod settings;
mod source;
mod tree;
mod vector;

pub(crate) use settings::ServerSettings;
pub(crate) use source::claim_configuration;
pub(crate) use tree::ConfigTree;

pub use rehearsal::{RehearsalError, missing_folder, rehearse};
pub use source::{Loaded, SourceError, load_configuration, new_stamps, stamp, usual_file, usual_folder};
