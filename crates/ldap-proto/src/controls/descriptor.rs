//! What a row of the registry says of a control, and sets of controls.

use crate::{Fault, Operation, extended};

/// The controls of requests.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum ControlKind {
    /// RFC 4528.
    Assertion,
    /// RFC 4527.
    PreRead,
    /// RFC 4527.
    PostRead,
    /// RFC 3876.
    MatchedValues,
    /// RFC 2696.
    PagedResults,
    /// RFC 2891.
    ServerSideSort,
    /// Microsoft's domain scope.
    DomainScope,
    /// RFC 6171.
    DontUseCopy,
    /// Microsoft's permissive modify.
    PermissiveModify,
    /// Microsoft's tree delete.
    TreeDelete,
    /// Microsoft's search options.
    SearchOptions,
    /// RFC 3672.
    Subentries,
    /// draft-zeilenga-ldap-noop.
    NoOp,
    /// draft-zeilenga-ldap-relax.
    RelaxRules,
    /// RFC 3296.
    ManageDsaIt,
    /// RFC 4370.
    ProxiedAuthorization,
    /// draft-wahl-ldap-session.
    SessionTracking,
    /// Microsoft's lazy commit.
    LazyCommit,
    /// draft-masarati-ldap-deref.
    Dereference,
    /// draft-behera-ldap-password-policy.
    PasswordPolicy,
    /// Sun's account usability.
    AccountUsability,
}

/// A set of controls: there is room for 128 kinds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct ControlSet(u128);

impl ControlSet {
    /// No control.
    pub const NONE: Self = Self(0);
    /// All controls.
    pub const ALL: Self = Self(u128::MAX);
    /// Those that are there only if an overlay is.
    pub const OF_OVERLAYS: Self = Self::NONE
        .with(ControlKind::PasswordPolicy)
        .with(ControlKind::AccountUsability);

    /// This set and one more.
    #[must_use]
    pub const fn with(self, kind: ControlKind) -> Self {
        Self(self.0 | 1 << kind as u32)
    }

    /// This set without one.
    #[must_use]
    pub const fn without(self, kind: ControlKind) -> Self {
        Self(self.0 & !(1 << kind as u32))
    }

    /// This set without those of another.
    #[must_use]
    pub const fn minus(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// This set and another.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether some control is in both sets.
    pub const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether a control is in the set.
    pub const fn contains(self, kind: ControlKind) -> bool {
        self.0 & 1 << kind as u32 != 0
    }
}

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
    /// FALSE.
    MustBeFalse {
        /// Diagnostic for TRUE.
        refusal: &'static str,
    },
}

/// What a control's value must be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ValueRule {
    /// Absent.
    Absent,
    /// Absent or without octets: some clients send an empty one.
    AbsentOrEmpty,
    /// Present; no octets are a value too.
    Present,
    /// Present and not without octets.
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
pub(crate) use texts;

/// One row of the registry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Descriptor {
    /// Which control.
    pub kind: ControlKind,
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

    /// The fault of a value that cannot be decoded: it is answered, the connection goes on.
    pub(crate) const fn malformed(&self) -> Fault {
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
/// The same and bind.
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
