//! Errors, by who is at fault.

use std::{io, time::Duration};

use crate::ReceivedResult;

/// A failed call.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ClientError {
    /// A setting cannot be obeyed: it is wrong, it contradicts another one, or a file that it names is.
    #[error("{setting}: {reason}")]
    Setting {
        /// Its keyword, as in slapd.conf.
        setting: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// The server cannot be reached.
    #[error("cannot connect to {address}: {reason}")]
    Connect {
        /// Host and port, or path of the socket.
        address: String,
        /// What the system said.
        reason: String,
    },
    /// The server cannot be reached in time, or does not finish the TLS handshake in time.
    #[error("cannot connect to {address}: no answer within {timeout:?}")]
    ConnectTimeout {
        /// Host and port, or path of the socket.
        address: String,
        /// The limit.
        timeout: Duration,
    },
    /// The TLS handshake failed; the server's certificate may be wrong.
    #[error("TLS with {address}: {reason}")]
    Tls {
        /// Host and port, or path of the socket.
        address: String,
        /// Why, in the words of the TLS library.
        reason: String,
    },
    /// The server refused StartTLS, which the settings demand.
    #[error("{address} refuses StartTLS: {result}")]
    StartTlsRefused {
        /// Host and port, or path of the socket.
        address: String,
        /// The server's answer.
        result: Box<ReceivedResult>,
    },
    /// The server refused the bind.
    #[error("bind refused: {0}")]
    BindRefused(Box<ReceivedResult>),
    /// A SASL mechanism cannot be used, or the server did not obey it. A server that does not know the password is one
    /// of these cases.
    #[error("SASL {mechanism}: {reason}")]
    Sasl {
        /// Its name.
        mechanism: String,
        /// What went wrong.
        reason: String,
    },
    /// None of several servers can be used. The reasons are in the order of the servers.
    #[error("{}", joined(.0))]
    NoServer(Vec<ClientError>),
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
    /// The answer to a search is longer than what is collected in memory; the search has been abandoned.
    #[error("the answer to a search has more than {0} octets")]
    TooLong(usize),
    /// The server refused the operation.
    #[error("{0}")]
    Refused(Box<ReceivedResult>),
}

impl ClientError {
    pub(crate) fn closed(reason: &io::Error) -> Self {
        Self::Closed {
            reason: reason.to_string(),
        }
    }

    pub(crate) fn setting(setting: &'static str, reason: impl Into<String>) -> Self {
        Self::Setting {
            setting,
            reason: reason.into(),
        }
    }
}

fn joined(errors: &[ClientError]) -> String {
    let texts: Vec<String> = errors.iter().map(ClientError::to_string).collect();
    texts.join("; ")
}
