//! Databases of a cluster: their changes are in a log in etcd, which all servers of the cluster append to and apply.
//!
//! Keys in etcd, below `<prefix>/<normalized suffix>`:
//!
//! | key | value |
//! |---|---|
//! | `/tail` | the place behind the last batch: generation, number, chain, in hexadecimal |
//! | `/log/<number of the first change, 16 digits>` | a batch ([`entry`]) |
//! | `/part/<the same>/<mark>/<n>` | a part of a batch that is too long for one value |
//! | `/want/<server>/<n>` | this server waits for its turn, for the nth time |
//! | `/node/<server>` | what a server tells of itself ([`announce`]) |
//! | `/copy/<server>` | where this server waits for a copy of the database ([`copy`]), for a minute |
//! | `/format` | the version of what is in the log; a server that does not know it does not join |
//! | `/cut` | how many changes were deleted from the log, in decimal |
//! | `/lost` | a server with changes of a log has found none here ([`known`]): the place of its database |
//! | `/tree` | instead of a log: the newest state of cn=config ([`tree`]) |
//!
//! Invariants: a batch is appended only if `/tail` is the place for which it was made. Whether a server may append is
//! decided by that comparison alone; turns are for speed.

mod announce;
mod append;
mod begin;
mod copy;
mod deliver;
mod entry;
mod error;
mod etcd;
mod freshness;
mod keys;
mod known;
mod log;
mod membership;
mod nodes;
mod overview;
mod place;
mod session;
mod status;
mod tree;
mod trim;

pub use begin::begin;
pub use copy::Host;
pub use error::{ClusterError, RenewalError};
pub use nodes::Nodes;
pub use overview::{ClusterNode, Member, Overview};
pub use place::{chain_text, read as read_place, text as place_text};
pub use status::Status;
pub use tree::put_tree;
