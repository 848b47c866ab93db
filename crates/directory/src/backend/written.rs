//! What comes of a write that was executed: what its response carries, what it leaves behind, or why it was not made.

use std::sync::Arc;

use ironbark_store::ChangeRecord;

use crate::{OperationError, ResponseControl, password::Scheme, request::identity::Identity};

/// A write that succeeded, and what its response carries.
#[derive(Debug, Default)]
pub(crate) struct Success {
    /// Encoded entry of the pre-read control.
    pub(crate) pre_read: Option<Vec<u8>>,
    /// Encoded entry of the post-read control.
    pub(crate) post_read: Option<Vec<u8>>,
    /// What the response to an extended request says.
    pub(crate) extended: ExtendedAnswer,
    /// How a bind ended that overlays have judged.
    pub(crate) bind: Option<Box<BindEnd>>,
}

/// What the response to an extended request says.
#[derive(Debug, Default)]
pub(crate) struct ExtendedAnswer {
    /// `responseName`.
    pub(crate) name: Option<&'static str>,
    /// `responseValue`, encoded.
    pub(crate) value: Option<Vec<u8>>,
}

/// The end of a bind that the writer of a database has recorded.
#[derive(Debug)]
pub(crate) struct BindEnd {
    /// Whether it succeeded.
    pub(crate) verdict: Result<(), OperationError>,
    /// Controls of the response.
    pub(crate) controls: Vec<ResponseControl>,
    /// Who the connection speaks for from here on.
    pub(crate) identity: Option<Arc<Identity>>,
    /// As the log calls it.
    pub(crate) mechanism: &'static str,
    /// What the mechanism has for the client, with a success.
    pub(crate) server_credentials: Option<Vec<u8>>,
}

/// What a successful write leaves behind for those who follow the database.
#[derive(Debug)]
pub(crate) struct Executed {
    /// The change record.
    pub(crate) record: ChangeRecord,
    /// Whether the connection may do everything again: its password has been changed.
    pub(crate) lifts_restriction: bool,
}

/// Why a write was not made.
pub(crate) struct Refusal {
    /// What the client is told.
    pub(crate) error: OperationError,
    /// Whether the transaction holds some of its effects.
    pub(crate) dirty: bool,
    /// It was not refused: it is to be executed again when this has been computed.
    pub(crate) wanted: Option<Box<Wanted>>,
}

impl Refusal {
    pub(crate) fn dirty(error: OperationError) -> Self {
        Self {
            dirty: true,
            ..Self::from(error)
        }
    }
}

impl From<OperationError> for Refusal {
    fn from(error: OperationError) -> Self {
        Self {
            error,
            dirty: false,
            wanted: None,
        }
    }
}

/// What the writer lacks.
#[derive(Clone)]
pub(crate) enum Wanted {
    /// Whether a stored value is of a password.
    Verification(Vec<u8>, Vec<u8>),
    /// A password by a scheme.
    Hash(Scheme, Vec<u8>),
}
