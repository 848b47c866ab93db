//! The description of a control.

use crate::{Fault, Operation, extended};

/// What a control's criticality must be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Criticality {
    /// Anything.
    Any,
    /// TRUE in the specification; FALSE is accepted unless [`super::ControlPolicy::must_be_critical`] holds the control
    /// (`disallow proxy_authz_non_critical`, `dontusecopy_non_critical`).
    ShouldBeTrue {
        /// Diagnostic for FALSE.
        refusal: &'static str,
    },
    /// TRUE.
    MustBeTrue {
        /// Diagnostic for FALSE.
        refusal: &'static str,
    },
    /// FALSE.
    MustBeFalse {
        /// Diagnostic for TRUE.
        refusal: &'static str,
    },
}

/// What a control's value must be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ValueRule {
    /// Without value.
    Absent,
    /// Without value or with an empty one: some clients send an empty one.
    AbsentOrEmpty,
    /// With a value, which may be empty.
    Present,
    /// With a value that is not empty.
    NotEmpty,
}

/// Diagnostic messages, as slapd words them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Texts {
    /// The control came twice.
    pub duplicate: &'static str,
    /// A value is missing.
    pub absent: &'static str,
    /// A value is empty.
    pub empty: &'static str,
    /// A value is there.
    pub not_absent: &'static str,
    /// A value cannot be decoded.
    pub malformed: &'static str,
}

/// [`Texts`] that start with the same words.
#[macro_export]
macro_rules! texts {
    ($name:literal) => {
        $crate::controls::Texts {
            duplicate: concat!($name, " specified multiple times"),
            absent: concat!($name, " value is absent"),
            empty: concat!($name, " value is empty"),
            not_absent: concat!($name, " value not absent"),
            malformed: concat!($name, " decoding error"),
        }
    };
}
pub use texts;

/// The description of a control. Its row in the table adds its kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Descriptor {
    /// OID.
    pub oid: &'static str,
    /// Name for people.
    pub name: &'static str,
    /// Requests it may come with; extended requests are listed in `extended_operations`.
    pub operations: &'static [Operation],
    /// OIDs of the extended requests it may come with.
    pub extended_operations: &'static [&'static str],
    /// What its criticality must be.
    pub criticality: Criticality,
    /// What its value must be.
    pub value: ValueRule,
    /// Whether the root DSE lists it in `supportedControl` (slapd hides some).
    pub advertised: bool,
    /// Diagnostics.
    pub texts: Texts,
}

impl Descriptor {
    /// Whether the control may come with this request; `extended` is the OID of an extended request.
    pub fn applies_to(&self, operation: Operation, extended: Option<&[u8]>) -> bool {
        match extended {
            Some(oid) => self.extended_operations.iter().any(|name| name.as_bytes() == oid),
            None => self.operations.contains(&operation),
        }
    }

    /// Checks presence of the value and gives its octets.
    pub(crate) fn checked_value<'a>(&self, value: Option<&'a [u8]>) -> Result<&'a [u8], Fault> {
        let text = match (self.value, value) {
            (ValueRule::Absent | ValueRule::AbsentOrEmpty, None) => return Ok(&[]),
            (ValueRule::AbsentOrEmpty, Some([])) => return Ok(&[]),
            (ValueRule::Absent | ValueRule::AbsentOrEmpty, Some(_)) => self.texts.not_absent,
            (ValueRule::Present | ValueRule::NotEmpty, None) => self.texts.absent,
            (ValueRule::NotEmpty, Some([])) => self.texts.empty,
            (ValueRule::Present | ValueRule::NotEmpty, Some(value)) => return Ok(value),
        };
        Err(Fault::protocol(text))
    }

    /// The fault of a value that cannot be decoded. It gets an answer, and the connection stays open.
    pub const fn malformed(&self) -> Fault {
        Fault::protocol(self.texts.malformed)
    }
}

/// Add, delete, modify, modify DN.
pub(crate) const UPDATES: &[Operation] = &[
    Operation::Add,
    Operation::Delete,
    Operation::Modify,
    Operation::ModifyDn,
];
/// Compare and search.
pub(crate) const INTERROGATIONS: &[Operation] = &[Operation::Compare, Operation::Search];
/// All that read or write entries.
pub(crate) const ACCESSES: &[Operation] = &[
    Operation::Compare,
    Operation::Search,
    Operation::Add,
    Operation::Delete,
    Operation::Modify,
    Operation::ModifyDn,
];
/// The same, and bind.
pub(crate) const ACCESSES_AND_BIND: &[Operation] = &[
    Operation::Bind,
    Operation::Compare,
    Operation::Search,
    Operation::Add,
    Operation::Delete,
    Operation::Modify,
    Operation::ModifyDn,
];
/// Search alone.
pub(crate) const SEARCH: &[Operation] = &[Operation::Search];
/// Extended requests that act for an identity.
pub(crate) const IDENTITY_OPERATIONS: &[&str] = &[extended::password_modify::OID, extended::who_am_i::OID];
