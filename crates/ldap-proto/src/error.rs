//! Why a message cannot be decoded, and how the server answers.

use ironbark_model::ResultCode;

use crate::{MessageId, Operation};

/// A message that cannot be decoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DecodeError {
    /// Not an `LDAPMessage`, or an unknown operation. There is no request to answer. The server sends a notice of
    /// disconnection (RFC 4511 §4.1.1) and closes the connection.
    #[error("{}", fault.diagnostic)]
    Envelope {
        /// What is wrong.
        fault: Fault,
    },
    /// The message ID and the operation are known; the request is malformed or refused.
    #[error("{}", fault.diagnostic)]
    Operation {
        /// Message ID of the answer.
        id: MessageId,
        /// The kind of request. [`Operation::response_tag`] says whether it has a response.
        operation: Operation,
        /// What is wrong.
        fault: Fault,
    },
}

/// What is wrong with a message, in terms of the answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{diagnostic}")]
pub struct Fault {
    /// Result code; nearly always `protocolError`.
    pub code: ResultCode,
    /// Diagnostic message, as slapd words it.
    pub diagnostic: &'static str,
    /// Whether slapd sends a notice of disconnection instead of an answer, because the encoding is broken.
    pub disconnect: bool,
    /// Offset of the fault in the message, where it is known.
    pub position: Option<usize>,
}

impl DecodeError {
    /// What is wrong.
    pub const fn fault(&self) -> &Fault {
        match self {
            Self::Envelope { fault } | Self::Operation { fault, .. } => fault,
        }
    }

    /// The message to answer, if it is known.
    pub const fn message_id(&self) -> Option<MessageId> {
        match self {
            Self::Envelope { .. } => None,
            Self::Operation { id, .. } => Some(*id),
        }
    }
}

impl Fault {
    /// A broken encoding.
    pub const fn malformed(diagnostic: &'static str) -> Self {
        Self {
            code: ResultCode::PROTOCOL_ERROR,
            diagnostic,
            disconnect: true,
            position: None,
        }
    }

    /// A fault in a well encoded request. It gets an answer, and the connection stays open.
    pub const fn refused(code: ResultCode, diagnostic: &'static str) -> Self {
        Self {
            code,
            diagnostic,
            disconnect: false,
            position: None,
        }
    }

    pub(crate) const fn protocol(diagnostic: &'static str) -> Self {
        Self::refused(ResultCode::PROTOCOL_ERROR, diagnostic)
    }

    /// The same fault with another text.
    pub(crate) const fn worded(self, diagnostic: &'static str) -> Self {
        Self { diagnostic, ..self }
    }

    /// A filter over the depth limit.
    pub const FILTER_TOO_DEEP: Self = Self::malformed("filter nested too deeply");
    /// A filter with more elements than [`crate::DecodeLimits::filter_elements`].
    pub const FILTER_TOO_BIG: Self = Self::malformed("filter has too many elements");
    /// A list that is longer than its limit.
    pub const TOO_MANY: Self = Self::refused(ResultCode::ADMIN_LIMIT_EXCEEDED, "too many elements in request");
}

impl From<ironbark_ber::BerError> for Fault {
    fn from(error: ironbark_ber::BerError) -> Self {
        Self {
            position: Some(error.position),
            ..Self::malformed("decoding error")
        }
    }
}
