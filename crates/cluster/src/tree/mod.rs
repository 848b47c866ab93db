//! A tree in memory (cn=config) that all servers of a cluster have.
//!
//! It is small and changes rarely, so there is no log: etcd has the newest tree as a whole, at `/tree`, and its place
//! at `/tail`. A change replaces both, compared with the place from which it was made. A server takes the newest tree,
//! however long it was away, and needs no copy of another server.

mod begin;
mod log;
mod put;
mod session;

pub use self::begin::put_tree;
pub(crate) use self::session::TreeSession;
