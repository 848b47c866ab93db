//! A small asynchronous LDAP client on tokio, for tools, tests and replication.
//!
//! Requests leave when a method is called, not when its future is awaited; many may be under way on one connection, and
//! responses find their request by message ID. A [`Client`] is cheap to clone; the connection closes when the last
//! clone and the last [`Pending`] are gone.
//!
//! A result code is not an error: methods give the [`LdapResult`], and [`LdapResult::success`] turns what is not
//! success into an error.

mod client;
mod connection;
mod error;
mod operations;
mod pending;
mod reply;
mod search;

pub use client::{Client, Options};
pub use error::Error;
pub use ironbark_ldap_proto as proto;
pub use operations::Change;
pub use pending::Pending;
pub use reply::{BindReply, Control, ExtendedReply, LdapResult, SearchEntry};
pub use search::{Search, SearchItem, SearchOutcome, SearchStream};
