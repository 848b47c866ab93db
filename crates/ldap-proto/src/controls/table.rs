//! The table of controls of requests, with one row for each. All code that handles every control is made from this
//! table. Controls that only an overlay knows have no row here (`of_overlay.rs`).

use super::{
    AccountUsabilityRequest, AssertionControl, Control, ControlSet, DereferenceRequest, Descriptor, DomainScope,
    DontUseCopy, LazyCommit, ManageDsaIt, MatchedValues, NoOp, OverlayNumber, PagedResults, PasswordPolicyRequest,
    PermissiveModify, PostRead, PreRead, ProxiedAuthorization, RealAttributesOnly, RelaxRules, SearchOptions,
    SentControl, SessionTracking, SortKeys, Subentries, SyncRequest, TransactionSpecification, TreeDelete, ValueSort,
    VirtualAttributesOnly, VirtualListView, account_usability, assertion, attribute_origins, dereference, domain_scope,
    dont_use_copy, lazy_commit, manage_dsa_it, matched_values, no_op, paged_results, password_policy,
    permissive_modify, proxied_authorization, read_entry, relax_rules, request::put, search_options, server_side_sort,
    session_tracking, subentries, sync, transaction, tree_delete, value_sort, virtual_list_view,
};
use crate::{DecodeLimits, Fault, RawControl};

/// A control of requests: its kind and its description.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ControlRow {
    /// The kind.
    pub kind: ControlKind,
    /// The description.
    pub descriptor: &'static Descriptor,
}

/// The row of a control.
pub fn lookup(oid: &[u8]) -> Option<&'static ControlRow> {
    REGISTRY.iter().find(|row| row.descriptor.oid.as_bytes() == oid)
}

/// A row: the control's documentation, kind, field and type, descriptor.
macro_rules! table {
    (
        always { $($(#[$doc:meta])* $kind:ident, $field:ident: $type:ty, $row:path;)* }
        of_overlays { $($(#[$its_doc:meta])* $its_kind:ident, $its_field:ident: $its_type:ty, $its_row:path;)* }
    ) => {
        /// The controls of requests.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum ControlKind {
            $($(#[$doc])* $kind,)*
            $($(#[$its_doc])* $its_kind,)*
            /// One that only an overlay knows.
            OfOverlay(OverlayNumber),
        }

        impl ControlKind {
            /// Its bit in a [`ControlSet`].
            pub(super) const fn bit(self) -> u128 {
                /// The kinds of the table, as numbers.
                enum Number {
                    $($kind,)*
                    $($its_kind,)*
                    End,
                }
                const _: () = assert!(Number::End as u32 + OverlayNumber::END as u32 <= u128::BITS);
                let number = match self {
                    $(Self::$kind => Number::$kind as u32,)*
                    $(Self::$its_kind => Number::$its_kind as u32,)*
                    Self::OfOverlay(number) => Number::End as u32 + number.value() as u32,
                };
                1 << number
            }
        }

        /// The controls of the table, in the order of [`ControlKind`].
        pub static REGISTRY: &[ControlRow] = &[
            $(ControlRow { kind: ControlKind::$kind, descriptor: &$row },)*
            $(ControlRow { kind: ControlKind::$its_kind, descriptor: &$its_row },)*
        ];

        impl ControlSet {
            /// The controls that exist only with their overlay.
            pub const OF_OVERLAYS: Self = Self::ALL$(.without(ControlKind::$kind))*;
        }

        /// The recognized controls of a request.
        #[derive(Clone, PartialEq, Debug, Default)]
        pub struct RequestControls<'a> {
            $($(#[$doc])* pub $field: Option<Control<$type>>,)*
            $($(#[$its_doc])* pub $its_field: Option<Control<$its_type>>,)*
            /// Those that only an overlay knows. Each comes once.
            pub of_overlays: Vec<SentControl<'a>>,
        }

        impl<'a> RequestControls<'a> {
            /// The controls whose criticality satisfies a condition.
            pub(super) fn those(&self, holds: impl Fn(bool) -> bool) -> ControlSet {
                let mut set = ControlSet::NONE;
                $(if self.$field.as_ref().is_some_and(|control| holds(control.critical)) {
                    set = set.with(ControlKind::$kind);
                })*
                $(if self.$its_field.as_ref().is_some_and(|control| holds(control.critical)) {
                    set = set.with(ControlKind::$its_kind);
                })*
                for sent in self.of_overlays.iter().filter(|sent| holds(sent.critical)) {
                    set = set.with(sent.row.kind);
                }
                set
            }

            /// Removes these controls, as if the request had not carried them.
            pub fn remove(&mut self, removed: ControlSet) {
                if removed == ControlSet::NONE {
                    return;
                }
                $(if removed.contains(ControlKind::$kind) {
                    self.$field = None;
                })*
                $(if removed.contains(ControlKind::$its_kind) {
                    self.$its_field = None;
                })*
                self.of_overlays.retain(|sent| !removed.contains(sent.row.kind));
            }

            /// Decodes a control of the table.
            pub(super) fn put(
                &mut self,
                kind: ControlKind,
                control: RawControl<'a>,
                limits: &DecodeLimits,
            ) -> Result<(), Fault> {
                match kind {
                    $(ControlKind::$kind => put(&mut self.$field, control, limits),)*
                    $(ControlKind::$its_kind => put(&mut self.$its_field, control, limits),)*
                    // No row of the table has this kind.
                    ControlKind::OfOverlay(_) => Ok(()),
                }
            }
        }
    };
}

table! {
    always {
        /// RFC 4528.
        Assertion, assertion: AssertionControl<'a>, assertion::DESCRIPTOR;
        /// RFC 4527.
        PreRead, pre_read: PreRead<'a>, read_entry::PRE_READ;
        /// RFC 4527.
        PostRead, post_read: PostRead<'a>, read_entry::POST_READ;
        /// RFC 3876.
        MatchedValues, matched_values: MatchedValues<'a>, matched_values::DESCRIPTOR;
        /// RFC 2696.
        PagedResults, paged_results: PagedResults<'a>, paged_results::DESCRIPTOR;
        /// RFC 2891.
        ServerSideSort, server_side_sort: SortKeys<'a>, server_side_sort::DESCRIPTOR;
        /// Microsoft's domain scope.
        DomainScope, domain_scope: DomainScope, domain_scope::DESCRIPTOR;
        /// RFC 6171.
        DontUseCopy, dont_use_copy: DontUseCopy, dont_use_copy::DESCRIPTOR;
        /// Microsoft's permissive modify.
        PermissiveModify, permissive_modify: PermissiveModify, permissive_modify::DESCRIPTOR;
        /// Microsoft's tree delete.
        TreeDelete, tree_delete: TreeDelete, tree_delete::DESCRIPTOR;
        /// Microsoft's search options.
        SearchOptions, search_options: SearchOptions, search_options::DESCRIPTOR;
        /// RFC 3672.
        Subentries, subentries: Subentries, subentries::DESCRIPTOR;
        /// draft-zeilenga-ldap-noop.
        NoOp, no_op: NoOp, no_op::DESCRIPTOR;
        /// draft-zeilenga-ldap-relax.
        RelaxRules, relax_rules: RelaxRules, relax_rules::DESCRIPTOR;
        /// RFC 3296.
        ManageDsaIt, manage_dsa_it: ManageDsaIt, manage_dsa_it::DESCRIPTOR;
        /// RFC 4370.
        ProxiedAuthorization, proxied_authorization: ProxiedAuthorization<'a>, proxied_authorization::DESCRIPTOR;
        /// draft-wahl-ldap-session.
        SessionTracking, session_tracking: SessionTracking<'a>, session_tracking::DESCRIPTOR;
        /// RFC 5805.
        TransactionSpecification, transaction: TransactionSpecification<'a>, transaction::DESCRIPTOR;
        /// Sun's real attributes only.
        RealAttributesOnly, real_attributes_only: RealAttributesOnly, attribute_origins::REAL;
        /// Sun's virtual attributes only.
        VirtualAttributesOnly, virtual_attributes_only: VirtualAttributesOnly, attribute_origins::VIRTUAL;
        /// Microsoft's lazy commit.
        LazyCommit, lazy_commit: LazyCommit, lazy_commit::DESCRIPTOR;
        /// draft-masarati-ldap-deref.
        Dereference, dereference: DereferenceRequest<'a>, dereference::DESCRIPTOR;
    }
    of_overlays {
        /// draft-behera-ldap-password-policy.
        PasswordPolicy, password_policy: PasswordPolicyRequest, password_policy::DESCRIPTOR;
        /// Sun's account usability.
        AccountUsability, account_usability: AccountUsabilityRequest, account_usability::DESCRIPTOR;
        /// OpenLDAP's, of overlay valsort.
        ValueSort, value_sort: ValueSort, value_sort::DESCRIPTOR;
        /// draft-ietf-ldapext-ldapv3-vlv, of overlay sssvlv.
        VirtualListView, virtual_list_view: VirtualListView<'a>, virtual_list_view::DESCRIPTOR;
        /// RFC 4533, of overlay syncprov.
        SyncRequest, sync_request: SyncRequest<'a>, sync::DESCRIPTOR;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_in_the_order_of_the_kinds_and_oids_are_unique() {
        for (index, row) in REGISTRY.iter().enumerate() {
            assert_eq!(row.kind.bit(), 1 << index, "{}", row.descriptor.name);
            assert_eq!(lookup(row.descriptor.oid.as_bytes()), Some(row));
        }
    }

    #[test]
    fn the_root_dse_lists_what_slapd_lists() {
        let advertised: Vec<_> = REGISTRY
            .iter()
            .filter(|row| row.descriptor.advertised)
            .map(|row| row.descriptor.oid)
            .collect();
        // slapd 2.5's list without overlays, then sssvlv, deref, ppolicy and syncprov; and those of other servers.
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
            "2.16.840.1.113730.3.4.9",
            "1.3.6.1.4.1.4203.666.5.16",
            "1.3.6.1.4.1.42.2.27.8.5.1",
            "1.3.6.1.4.1.42.2.27.9.5.8",
            "1.3.6.1.4.1.4203.1.9.1.1",
            "2.16.840.1.113730.3.4.17",
            "2.16.840.1.113730.3.4.19",
        ];
        assert_eq!(advertised.len(), expected.len());
        expected.retain(|oid| !advertised.contains(oid));
        assert!(expected.is_empty(), "{expected:?}");
    }
}
