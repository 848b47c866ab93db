//! An asynchronous LDAP client on tokio, for tools, tests, replication, and databases and overlays that ask other
//! servers.
//!
//! [`Client::connect`] connects as [`ConnectSettings`] say: it tries the URLs, secures the connection by TLS, and
//! binds, also by SASL. [`Client::connect_raw`] gives such a connection away. A [`Dialer`] makes many connections one
//! after the other, without a bind.
//!
//! A request is sent when a method is called, not when its future is awaited. Many requests may be under way on one
//! connection; responses find their request by message ID. A [`Client`] is cheap to clone. The connection closes when
//! the last clone and the last [`Pending`] are dropped.
//!
//! A result code is not an error: methods return the [`ReceivedResult`]. [`ReceivedResult::success`] turns a failure
//! into an error. Only [`Client::connect`] makes an error of a refused bind itself.

mod client;
mod connect;
mod connection;
mod dialer;
mod error;
mod inbox;
mod incoming;
mod operations;
mod options;
mod pending;
mod raw;
mod reply;
mod sasl;
mod search;
pub mod stream;
mod tls;

pub use client::Client;
pub use dialer::{Dialer, SOURCES};
pub use error::ClientError;
pub use ironbark_config::connection::{
    BindMethod, BindSecurityProperties, BindSettings, ChannelBindingType, ConnectSettings, Keepalive,
    RequireCertificate, RequireSan, SecurityFlags, ServerCrlCheck, SocketSettings, StartTls, TlsSettings,
};
pub use ironbark_config::database::Secret;
pub use ironbark_ldap_proto as proto;
pub use ironbark_tls::Negotiated;
pub use operations::Change;
pub use options::Options;
pub use pending::Pending;
pub use raw::RawStream;
pub use reply::{BindReply, ExtendedReply, ReceivedControl, ReceivedResult, SearchEntry, SearchItem};
pub use search::{Search, SearchOutcome, SearchStream};
pub use tls::{NegotiatedTls, TlsSessions};
