//! Limits of a client.

use std::time::Duration;

/// Limits of a client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Longest wait for a connection, and for each of its parts: the resolver, each address, the TLS handshake.
    pub connect_timeout: Duration,
    /// Longest wait for the next response to an operation. After that the operation is abandoned.
    pub operation_timeout: Duration,
    /// Longest message accepted from the server, in octets.
    pub max_message: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(10),
            operation_timeout: Duration::from_mins(1),
            max_message: 64 << 20,
        }
    }
}
