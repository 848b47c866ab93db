//! Limits of a client.

use std::time::Duration;

use crate::ConnectSettings;

/// Limits of a client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Longest wait for a connection, and for each of its parts: the resolver, each address, the TLS handshake.
    pub connect_timeout: Duration,
    /// Longest wait for the next response to an operation. After that the operation is abandoned.
    pub operation_timeout: Duration,
    /// Longest message accepted from the server, in octets.
    pub max_message: usize,
    /// Most octets of an answer that is collected ([`crate::SearchStream::collect`]), about what it takes in memory.
    pub max_collected: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(10),
            operation_timeout: Duration::from_mins(1),
            max_message: 64 << 20,
            max_collected: 64 << 20,
        }
    }
}

impl Options {
    /// The limits that settings of a connection have, and the usual ones beside.
    pub(crate) fn of(settings: &ConnectSettings) -> Self {
        let usual = Self::default();
        Self {
            connect_timeout: settings.connect_timeout.unwrap_or(usual.connect_timeout),
            operation_timeout: settings.operation_timeout.unwrap_or(usual.operation_timeout),
            ..usual
        }
    }
}
