//! Which controls there are: a row for each, which stands beside its value in its file.

use super::{
    Descriptor, account_usability, assertion, dereference, domain_scope, dont_use_copy, lazy_commit, manage_dsa_it,
    matched_values, no_op, paged_results, password_policy, permissive_modify, proxied_authorization, read_entry,
    relax_rules, search_options, server_side_sort, session_tracking, subentries, tree_delete,
};

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
