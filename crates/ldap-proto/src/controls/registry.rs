//! Which controls there are, with which requests they may come, and what is demanded of them.

use super::{
    account_usability, assertion, dereference, domain_scope, dont_use_copy, lazy_commit, manage_dsa_it, matched_values,
    no_op, paged_results, password_policy, permissive_modify, proxied_authorization, read_entry, relax_rules,
    search_options, server_side_sort, session_tracking, subentries, tree_delete,
};
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

/// A set of controls.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct ControlSet(u32);

impl ControlSet {
    /// No control.
    pub const NONE: Self = Self(0);
    /// All controls of the registry.
    pub const ALL: Self = Self((1 << REGISTRY.len()) - 1);

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

/// The row of a control.
pub fn lookup(oid: &[u8]) -> Option<&'static Descriptor> {
    REGISTRY.iter().copied().find(|row| row.oid.as_bytes() == oid)
}

/// All controls of requests, in the order of [`ControlKind`].
pub static REGISTRY: [&Descriptor; 21] = [
    &assertion::DESCRIPTOR,
    &read_entry::PRE_READ,
    &read_entry::POST_READ,
    &matched_values::DESCRIPTOR,
    &paged_results::DESCRIPTOR,
    &server_side_sort::DESCRIPTOR,
    &domain_scope::DESCRIPTOR,
    &dont_use_copy::DESCRIPTOR,
    &permissive_modify::DESCRIPTOR,
    &tree_delete::DESCRIPTOR,
    &search_options::DESCRIPTOR,
    &subentries::DESCRIPTOR,
    &no_op::DESCRIPTOR,
    &relax_rules::DESCRIPTOR,
    &manage_dsa_it::DESCRIPTOR,
    &proxied_authorization::DESCRIPTOR,
    &session_tracking::DESCRIPTOR,
    &lazy_commit::DESCRIPTOR,
    &dereference::DESCRIPTOR,
    &password_policy::DESCRIPTOR,
    &account_usability::DESCRIPTOR,
];

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_in_the_order_of_the_kinds_and_oids_are_unique() {
        for (index, row) in REGISTRY.iter().enumerate() {
            assert_eq!(row.kind as usize, index, "{}", row.name);
            assert_eq!(lookup(row.oid.as_bytes()), Some(*row));
        }
    }

    #[test]
    fn the_root_dse_lists_what_slapd_lists() {
        let advertised: Vec<_> = REGISTRY
            .iter()
            .filter(|row| row.advertised)
            .map(|row| row.oid)
            .collect();
        // What slapd 2.5 answers without overlays, then sssvlv, deref and ppolicy.
        let mut expected = vec![
            "2.16.840.1.113730.3.4.18",
            "2.16.840.1.113730.3.4.2",
            "1.3.6.1.4.1.4203.1.10.1",
            "1.3.6.1.1.22",
            "1.2.840.113556.1.4.319",
            "1.2.826.0.1.3344810.2.3",
            "1.3.6.1.1.13.2",
            "1.3.6.1.1.13.1",
            "1.3.6.1.1.12",
            "1.2.840.113556.1.4.473",
            "1.3.6.1.4.1.4203.666.5.16",
            "1.3.6.1.4.1.42.2.27.8.5.1",
            "1.3.6.1.4.1.42.2.27.9.5.8",
        ];
        assert_eq!(advertised.len(), expected.len());
        expected.retain(|oid| !advertised.contains(oid));
        assert!(expected.is_empty(), "{expected:?}");
    }
}
