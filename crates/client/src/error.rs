//! Errors, by who is at fault.

use std::{io, time::Duration};

use crate::LdapResult;

/// A failed call.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// No connection to the server.
    #[error("cannot connect to {address}: {reason}")]
    Connect {
        /// Host and port, or path of the socket.
        address: String,
        /// What the system said.
        reason: String,
    },
    /// The connection is closed.
    #[error("connection closed: {reason}")]
    Closed {
        /// Who closed it and why.
        reason: String,
    },
    /// No answer in time; the operation has been abandoned.
    #[error("no answer within {0:?}")]
    Timeout(Duration),
    /// The server sent a message that does not answer the request.
    #[error("protocol violation by the server: {0}")]
    Protocol(String),
    /// The server refused the operation.
    #[error("{0}")]
    Refused(Box<LdapResult>),
}

impl Error {
    pub(crate) fn closed(reason: &io::Error) -> Self {
        Self::Closed {
            reason: reason.to_string(),
        }
    }
}
