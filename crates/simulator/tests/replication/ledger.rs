//! What clients were told has been done, and what must have become of it.

use std::collections::{BTreeMap, BTreeSet};

use crate::{WHOLE, node::Node};

/// UUIDs and CSNs of entries.
pub(crate) type Versions = BTreeMap<String, String>;

/// The acknowledged writes.
#[derive(Default)]
pub(crate) struct Ledger {
    /// The last acknowledged version of each entry.
    written: BTreeSet<(String, String)>,
    deleted: BTreeSet<String>,
}

/// The versions that a server has.
pub(crate) fn versions(node: &mut Node) -> Versions {
    let find = |lines: &BTreeSet<String>, name: &str| {
        let mut values = lines.iter().filter_map(|line| line.strip_prefix(name));
        values.next().unwrap_or_default().to_owned()
    };
    let found = node.found(WHOLE);
    let versions = found
        .values()
        .map(|lines| (find(lines, "entryUUID: "), find(lines, "entryCSN: ")));
    versions.collect()
}

impl Ledger {
    /// Takes up what a client has changed.
    pub(crate) fn note(&mut self, before: &Versions, after: &Versions) {
        let gone = before.keys().filter(|uuid| !after.contains_key(*uuid));
        self.deleted.extend(gone.cloned());
        let new = after.iter().filter(|(uuid, csn)| before.get(*uuid) != Some(*csn));
        self.written.extend(new.map(|(uuid, csn)| (uuid.clone(), csn.clone())));
    }

    /// Fails if a write is in doubt whose CSN is `covered`, where no two entries ever have the same name: then each is
    /// there, or a newer version of the entry, unless a client has deleted it.
    pub(crate) fn check(&self, held: &Versions, covered: impl Fn(&str) -> bool, place: &str) {
        for (uuid, csn) in self.written.iter().filter(|(_, csn)| covered(csn)) {
            let is_there = held.get(uuid).is_some_and(|held| held >= csn);
            assert!(
                is_there || self.deleted.contains(uuid),
                "{place}: {uuid} of {csn} is lost, there is {:?}",
                held.get(uuid)
            );
        }
        let undead = held.keys().find(|uuid| self.deleted.contains(*uuid));
        assert!(undead.is_none() || !covered(""), "{place}: {undead:?} was deleted");
    }
}
