//! The error of an operation: the parts of an LDAPResult. Most are made from refusals, see [`crate::refusal`].

use std::borrow::Cow;

use ironbark_config::{ConfigError, SettingError};
use ironbark_ldap_proto::{DecodeError, EncodeControl, Fault, controls::ControlValue};
use ironbark_model::{ResultCode, schema::entry_check::EntryError};
use ironbark_store::StoreError;

/// An operation's negative outcome (RFC 4511 §4.1.9). Diagnostic texts are slapd's where slapd has one; they hold no
/// secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperationError {
    /// The result code.
    pub result_code: ResultCode,
    /// Deepest existing ancestor, for noSuchObject and similar codes; may be empty.
    pub matched_dn: String,
    /// Text for people; may be empty.
    pub diagnostic_message: Cow<'static, str>,
    /// URIs, when the result code is referral.
    pub referrals: Vec<String>,
    /// Controls of the response.
    pub controls: Vec<ResponseControl>,
}

/// A control of a response, encoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResponseControl {
    oid: &'static str,
    value: Vec<u8>,
}

impl ResponseControl {
    /// Encodes a control.
    pub fn new<T: ControlValue>(control: &T) -> Self {
        let mut value = Vec::new();
        control.write_value(&mut ironbark_ber::Writer::new(&mut value));
        Self { oid: T::OID, value }
    }
}

impl EncodeControl for ResponseControl {
    fn oid(&self) -> &[u8] {
        self.oid.as_bytes()
    }
    fn critical(&self) -> bool {
        false
    }
    fn has_value(&self) -> bool {
        true
    }
    fn write_value(&self, writer: &mut ironbark_ber::Writer<'_>) {
        writer.raw(&self.value);
    }
}

impl OperationError {
    /// A result code and a text.
    pub fn new(result_code: ResultCode, diagnostic_message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            result_code,
            matched_dn: String::new(),
            diagnostic_message: diagnostic_message.into(),
            referrals: Vec::new(),
            controls: Vec::new(),
        }
    }

    /// The same with a control of the response.
    #[must_use]
    pub fn with_control<T: ControlValue>(mut self, control: &T) -> Self {
        self.controls.push(ResponseControl::new(control));
        self
    }

    /// A bare result code.
    pub fn code(result_code: ResultCode) -> Self {
        Self::new(result_code, "")
    }

    /// `noSuchObject` below the given entry.
    pub fn no_such_object(matched_dn: String) -> Self {
        Self {
            matched_dn,
            ..Self::code(ResultCode::NO_SUCH_OBJECT)
        }
    }

    /// A referral result; without URIs it becomes noSuchObject, as a referral needs at least one.
    pub fn referral(matched_dn: String, referrals: Vec<String>) -> Self {
        if referrals.is_empty() {
            return Self::no_such_object(matched_dn);
        }
        Self {
            result_code: ResultCode::REFERRAL,
            matched_dn,
            diagnostic_message: Cow::Borrowed(""),
            referrals,
            controls: Vec::new(),
        }
    }
}

impl From<StoreError> for OperationError {
    fn from(error: StoreError) -> Self {
        Self::of_store(&error)
    }
}

impl OperationError {
    /// The error of a storage failure for the client. The details go to the log.
    pub(crate) fn of_store(error: &StoreError) -> Self {
        match error {
            StoreError::Full(reason) => {
                Self::new(ResultCode::UNWILLING_TO_PERFORM, format!("database is full: {reason}"))
            }
            StoreError::Lmdb(_)
            | StoreError::File { .. }
            | StoreError::InUse(_)
            | StoreError::Format(_)
            | StoreError::Inapplicable(_) => {
                tracing::error!(target: "any", "storage failure: {error}");
                Self::new(ResultCode::OTHER, "internal error")
            }
        }
    }
}

impl From<Fault> for OperationError {
    fn from(fault: Fault) -> Self {
        Self::new(fault.code, fault.diagnostic)
    }
}

impl From<DecodeError> for OperationError {
    fn from(error: DecodeError) -> Self {
        (*error.fault()).into()
    }
}

impl From<EntryError> for OperationError {
    fn from(error: EntryError) -> Self {
        Self::new(error.result_code, error.diagnostic_message)
    }
}

/// The text for requests that come while the server ends.
pub(crate) const SHUTTING_DOWN: &str = "server is shutting down";

/// Why a directory cannot be opened, or a configuration cannot be put into force. The text names the database or the
/// setting, and the reason.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The store refused.
    #[error("database {suffix}: {source}")]
    Store {
        /// The first suffix.
        suffix: String,
        /// Why.
        source: StoreError,
    },
    /// A statement, or an overlay or a database with its settings, cannot be put into force.
    #[error(transparent)]
    Statement(#[from] ConfigError),
    /// The configuration as a whole cannot be put into force.
    #[error(transparent)]
    Configuration(#[from] SettingError),
    /// The service ends.
    #[error("{SHUTTING_DOWN}")]
    ShuttingDown,
}
