//! The outcome of a write: what its response carries, what followers get, or the refusal.

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
    /// The end of a bind that overlays have judged.
    pub(crate) bind: Option<Box<BindEnd>>,
    /// The result of a comparison that an overlay has made.
    pub(crate) compared: Option<bool>,
}

/// What the response to an extended request says.
#[derive(Debug, Default)]
pub(crate) struct ExtendedAnswer {
    /// `responseName`.
    pub(crate) name: Option<&'static str>,
    /// `responseValue`, encoded.
    pub(crate) value: Option<Vec<u8>>,
    /// The reason, if the operation was refused all the same.
    pub(crate) refusal: Option<Box<OperationError>>,
}

/// The end of a bind that the writer of a database has recorded.
#[derive(Debug)]
pub(crate) struct BindEnd {
    /// Whether the bind succeeded.
    pub(crate) verdict: Result<(), OperationError>,
    /// Controls of the response.
    pub(crate) controls: Vec<ResponseControl>,
    /// The new identity of the connection.
    pub(crate) identity: Option<Arc<Identity>>,
    /// The mechanism's name in the log.
    pub(crate) mechanism: &'static str,
    /// The mechanism's data for the client, on success.
    pub(crate) server_credentials: Option<Vec<u8>>,
}

/// What a successful write leaves for the followers of the database; by default nothing.
#[derive(Debug, Default)]
pub(crate) struct Executed {
    /// The change record. When the write is concluded, only the position may be left: followers take the rest.
    pub(crate) record: ChangeRecord,
    /// Whether the connection may do everything again, because its password was changed.
    pub(crate) lifts_restriction: bool,
    /// Whether there is something to commit even if there is no change.
    pub(crate) has_notes: bool,
}

impl Executed {
    /// Of several writes in one task: what they leave together. One that has changed nothing does not hide those before
    /// it, which would be taken for nothing to commit.
    pub(crate) fn and(self, later: Self) -> Self {
        let has_notes = self.has_notes || later.has_notes;
        let lifts_restriction = self.lifts_restriction || later.lifts_restriction;
        let last = if later.is_change() { later } else { self };
        Self {
            record: last.record,
            lifts_restriction,
            has_notes,
        }
    }

    /// Whether it has changed something.
    pub(crate) fn is_change(&self) -> bool {
        self.record.position.sequence != 0
    }

    /// Whether there is something to commit.
    pub(crate) fn has_news(&self) -> bool {
        self.is_change() || self.has_notes
    }
}

/// The reason why a write was not made.
pub(crate) struct Refusal {
    /// The answer to the client.
    pub(crate) error: OperationError,
    /// Whether the transaction contains a part of its effects.
    pub(crate) dirty: bool,
    /// Set if the write is not refused: it is executed again after this has been computed.
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

/// A result that the writer needs and does not compute itself.
#[derive(Clone)]
pub(crate) enum Wanted {
    /// Whether a stored value (first) belongs to a password (second).
    Verification(Vec<u8>, Vec<u8>),
    /// Whether one of some stored values (first) belongs to a password (second).
    AnyVerification(Vec<Vec<u8>>, Vec<u8>),
    /// The hash of a password by a scheme.
    Hash(Scheme, Vec<u8>),
}
