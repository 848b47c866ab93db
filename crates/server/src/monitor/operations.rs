//! cn=Operations and cn=Statistics of cn=Monitor.

use ironbark_directory::Statistics;
use ironbark_ldap_proto::Operation;
use ironbark_model::{Entry, Schema};

use super::tree::Tree;

pub(super) fn add(tree: &mut Tree<'_>, statistics: &Statistics) {
    let of = |operation| (statistics.initiated(operation), statistics.completed(operation));
    let (initiated, completed) = KINDS
        .iter()
        .map(|(operation, _)| of(*operation))
        .fold((0, 0), |sum: (u64, u64), one| {
            (sum.0.saturating_add(one.0), sum.1.saturating_add(one.1))
        });
    tree.container(
        "Operations",
        "This subsystem contains information about performed operations.",
        |node| {
            node.count("monitorOpInitiated", initiated);
            node.count("monitorOpCompleted", completed);
        },
    );
    for (operation, name) in KINDS {
        let (initiated, completed) = of(operation);
        tree.add(&[name, "Operations"], "monitorOperation", |node| {
            node.count("monitorOpInitiated", initiated);
            node.count("monitorOpCompleted", completed);
        });
    }
}

pub(super) fn add_statistics(tree: &mut Tree<'_>, statistics: &Statistics) {
    tree.container("Statistics", "This subsystem contains statistics.", |_| {});
    for (name, value) in [
        ("Bytes", statistics.octets_sent()),
        ("PDU", statistics.pdus_sent()),
        ("Entries", statistics.entries()),
        ("Referrals", statistics.references()),
    ] {
        tree.add(&[name, "Statistics"], "monitorCounterObject", |node| {
            node.count("monitorCounter", value);
        });
    }
}

/// The counters of sent messages include the messages that this search has sent already, as in slapd.
pub(super) fn refreshed(schema: &Schema, entry: &Entry, sent: u32) -> Option<Entry> {
    const COUNTERS: [&[u8]; 2] = [
        b"cn=pdu,cn=statistics,cn=monitor",
        b"cn=entries,cn=statistics,cn=monitor",
    ];
    if sent == 0 || !COUNTERS.contains(&entry.dn.normalized()) {
        return None;
    }
    let counter = schema.attribute_description(b"monitorCounter").ok()?;
    let mut entry = entry.clone();
    let attributes = &mut entry.attributes;
    let attribute = attributes.iter_mut().find(|known| known.description == counter)?;
    let value = attribute.values.first_mut()?;
    let count: u64 = std::str::from_utf8(value).ok()?.parse().ok()?;
    *value = (count + u64::from(sent)).to_string().into_bytes();
    Some(entry)
}

/// In slapd's order, with slapd's names.
pub(super) const KINDS: [(Operation, &str); 10] = [
    (Operation::Bind, "Bind"),
    (Operation::Unbind, "Unbind"),
    (Operation::Search, "Search"),
    (Operation::Compare, "Compare"),
    (Operation::Modify, "Modify"),
    (Operation::ModifyDn, "Modrdn"),
    (Operation::Add, "Add"),
    (Operation::Delete, "Delete"),
    (Operation::Abandon, "Abandon"),
    (Operation::Extended, "Extended"),
];
