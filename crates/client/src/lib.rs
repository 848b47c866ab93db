//! A small asynchronous LDAP client on tokio, for tools, tests and replication.
//!
//! A request is sent when a method is called, not when its future is awaited. Many requests may be under way on one
//! connection; responses find their request by message ID. A [`Client`] is cheap to clone. The connection closes when
//! the last clone and the last [`Pending`] are dropped.
//!
//! A result code is not an error: methods return the [`LdapResult`]. [`LdapResult::success`] turns a failure into an
//! error.

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
