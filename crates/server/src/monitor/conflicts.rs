//! cn=Conflicts,cn=Monitor: what several writers have done at the same time, and which of it counts.

use ironbark_directory::{ConflictSide, Directory, KeptConflict, NamingContext};
use ironbark_model::Dn;

use super::tree::{Node, Tree};

/// Attributes of one side of a conflict.
struct SideNames {
    uuid: &'static str,
    csn: &'static str,
    sid: &'static str,
}

/// Adds the container, if a database takes writes beside others or has had a conflict, and an entry for each conflict
/// that is kept: `cn=Conflict 1-17` is number 17 of database 1.
pub(super) fn add(tree: &mut Tree<'_>, directory: &Directory) {
    let all = directory.replica_conflicts();
    if all.is_empty() {
        return;
    }
    tree.container(
        "Conflicts",
        "This subsystem contains the last conflicts among several writers, and what was decided.",
        |node| {
            for (context, conflicts) in &all {
                for (kind, count) in conflicts.counts() {
                    node.set(
                        "ironbarkConflictCount",
                        &format!("{} {count} {}", kind.word(), suffix_of(context)),
                    );
                }
            }
        },
    );
    for (context, conflicts) in &all {
        for kept in &conflicts.last {
            add_one(tree, context, kept);
        }
    }
}

fn suffix_of(context: &NamingContext) -> &str {
    context.suffixes().first().map(Dn::pretty).unwrap_or_default()
}

fn add_one(tree: &mut Tree<'_>, context: &NamingContext, kept: &KeptConflict) {
    let names = [&*format!("Conflict {}-{}", context.number, kept.number), "Conflicts"];
    let conflict = &kept.conflict;
    tree.add_timed(&names, "monitoredObject", kept.time, kept.time, |node| {
        node.set("namingContexts", suffix_of(context));
        node.set("ironbarkConflictKind", conflict.kind.word());
        if !conflict.name.is_empty() {
            node.set("ironbarkConflictName", &conflict.name);
        }
        if let Some(other) = &conflict.other_name {
            node.set("ironbarkConflictOtherName", other);
        }
        add_side(node, &conflict.winner, &WINNER);
        add_side(node, &conflict.loser, &LOSER);
        if kept.via != 0 {
            node.count("ironbarkConflictVia", kept.via.into());
        }
    });
}

fn add_side(node: &mut Node<'_>, side: &ConflictSide, names: &SideNames) {
    if let Some(uuid) = side.uuid_text() {
        node.set(names.uuid, &uuid);
    }
    if let Some(csn) = side.csn {
        node.set(names.csn, &csn.text());
        node.count(names.sid, csn.server_id().into());
    }
}

const WINNER: SideNames = SideNames {
    uuid: "ironbarkConflictWinnerUuid",
    csn: "ironbarkConflictWinnerCsn",
    sid: "ironbarkConflictWinnerSid",
};
const LOSER: SideNames = SideNames {
    uuid: "ironbarkConflictLoserUuid",
    csn: "ironbarkConflictLoserCsn",
    sid: "ironbarkConflictLoserSid",
};
