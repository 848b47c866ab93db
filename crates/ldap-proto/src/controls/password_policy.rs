//! Password policy (draft-behera-ldap-password-policy-10 §6): asks for the state of the password, and returns it.

use ironbark_ber::{Reader, Writer, tags};

use super::{
    ControlValue, Criticality, Descriptor, RequestControl, ValueRule,
    descriptor::{self, texts},
};
use crate::{DecodeLimits, Fault, Operation, extended};

/// The request: return the password's state.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PasswordPolicyRequest;

/// What the client should know before its password stops working.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PasswordPolicyWarning {
    /// Seconds until the password expires.
    TimeBeforeExpiration(i64),
    /// How often an expired password may still be used.
    GraceAuthenticationsRemaining(i64),
}

/// What is wrong with the password, or with its change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum PasswordPolicyError {
    /// It has expired.
    PasswordExpired = 0,
    /// The account is locked.
    AccountLocked = 1,
    /// It was reset, and must be changed first.
    ChangeAfterReset = 2,
    /// Its user may not change it.
    PasswordModNotAllowed = 3,
    /// The old password is missing or wrong.
    MustSupplyOldPassword = 4,
    /// The quality of the new password is too low.
    InsufficientPasswordQuality = 5,
    /// The new password is too short.
    PasswordTooShort = 6,
    /// The last change was too recent.
    PasswordTooYoung = 7,
    /// The new password was used before.
    PasswordInHistory = 8,
    /// The new password is too long.
    PasswordTooLong = 9,
}

impl PasswordPolicyError {
    const ALL: [Self; 10] = [
        Self::PasswordExpired,
        Self::AccountLocked,
        Self::ChangeAfterReset,
        Self::PasswordModNotAllowed,
        Self::MustSupplyOldPassword,
        Self::InsufficientPasswordQuality,
        Self::PasswordTooShort,
        Self::PasswordTooYoung,
        Self::PasswordInHistory,
        Self::PasswordTooLong,
    ];
}

/// The response.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PasswordPolicyResponse {
    /// A warning.
    pub warning: Option<PasswordPolicyWarning>,
    /// An error.
    pub error: Option<PasswordPolicyError>,
}

impl PasswordPolicyResponse {
    /// Decodes the value's content octets.
    ///
    /// # Errors
    /// `protocolError`.
    pub fn decode(value: &[u8]) -> Result<Self, Fault> {
        let mut content = Reader::new(value).sequence()?;
        let mut decoded = Self::default();
        if content.peek() == Some(WARNING) {
            let mut warning = content.nested(WARNING)?;
            decoded.warning = Some(if warning.peek() == Some(GRACE) {
                PasswordPolicyWarning::GraceAuthenticationsRemaining(warning.integer_i64(GRACE)?)
            } else {
                PasswordPolicyWarning::TimeBeforeExpiration(warning.integer_i64(EXPIRATION)?)
            });
        }
        if content.peek() == Some(ERROR) {
            let code = content.integer_i64(ERROR)?;
            let known = PasswordPolicyError::ALL.into_iter();
            decoded.error = known.into_iter().find(|error| *error as i64 == code);
        }
        Ok(decoded)
    }
}

impl ControlValue for PasswordPolicyRequest {
    const OID: &'static str = DESCRIPTOR.oid;
    const HAS_VALUE: bool = false;

    fn write_value(&self, _: &mut Writer<'_>) {}
}

impl RequestControl<'_> for PasswordPolicyRequest {
    const DESCRIPTOR: &'static Descriptor = &DESCRIPTOR;

    fn decode(_: &[u8], _: &DecodeLimits) -> Result<Self, Fault> {
        Ok(Self)
    }
}

impl ControlValue for PasswordPolicyResponse {
    const OID: &'static str = DESCRIPTOR.oid;

    fn write_value(&self, writer: &mut Writer<'_>) {
        writer.constructed(tags::SEQUENCE, |writer| {
            if let Some(warning) = self.warning {
                writer.constructed(WARNING, |writer| match warning {
                    PasswordPolicyWarning::TimeBeforeExpiration(seconds) => writer.integer_of(EXPIRATION, seconds),
                    PasswordPolicyWarning::GraceAuthenticationsRemaining(count) => writer.integer_of(GRACE, count),
                });
            }
            if let Some(error) = self.error {
                writer.integer_of(ERROR, error as i64);
            }
        });
    }
}

/// Row of the registry.
pub const DESCRIPTOR: Descriptor = Descriptor {
    oid: "1.3.6.1.4.1.42.2.27.8.5.1",
    name: "password policy",
    operations: &[Operation::Add, Operation::Bind, Operation::Modify],
    extended_operations: &[extended::password_modify::OID],
    criticality: Criticality::Any,
    value: ValueRule::Absent,
    advertised: true,
    texts: descriptor::Texts {
        not_absent: "passwordPolicyRequest control value not absent",
        ..texts!("passwordPolicyRequest control")
    },
};

const WARNING: u8 = tags::context_constructed(0);
const ERROR: u8 = tags::context(1);
const EXPIRATION: u8 = tags::context(0);
const GRACE: u8 = tags::context(1);
