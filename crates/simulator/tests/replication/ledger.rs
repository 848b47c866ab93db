//! What clients were told has been done, and what must have become of it.

use std::collections::{BTreeMap, BTreeSet};

use crate::{WHOLE, node::Node};
use ironbark_harness::changes::FIXED;

/// A version of an entry, and its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Version {
    csn: String,
    rdn: String,
    /// UUID of the closest superior that is an entry.
    superior: String,
    /// RDNs below that.
    depth: usize,
}

impl Version {
    pub(crate) fn is_from_after(&self, other: &Self) -> bool {
        self.csn > other.csn
    }
}

/// Versions of entries by UUID.
pub(crate) type Versions = BTreeMap<String, Version>;

/// The acknowledged writes.
#[derive(Default)]
pub(crate) struct Ledger {
    /// The acknowledged versions of each entry.
    written: BTreeMap<String, Vec<Version>>,
    deleted: BTreeSet<String>,
    /// Entries that were moved or renamed, or written below glue: another server may have the superior still.
    moved: BTreeSet<String>,
    /// All that was ever the superior of each entry.
    superiors: BTreeMap<String, BTreeSet<String>>,
}

/// The versions that a server has.
pub(crate) fn versions(node: &mut Node) -> Versions {
    let find = |lines: &BTreeSet<String>, name: &str| {
        let mut values = lines.iter().filter_map(|line| line.strip_prefix(name));
        values.next().unwrap_or_default().to_owned()
    };
    let found = node.found(WHOLE);
    let uuid_of = |name: &str| found.get(name).map(|lines| find(lines, "entryUUID: "));
    let versions = found.iter().map(|(name, lines)| {
        let (rdn, mut above) = name.split_once(',').unwrap_or((name, ""));
        let mut depth = 1;
        while uuid_of(above).is_none()
            && let Some((_, next)) = above.split_once(',')
        {
            (above, depth) = (next, depth + 1);
        }
        let version = Version {
            csn: find(lines, "entryCSN: "),
            rdn: rdn.to_owned(),
            superior: uuid_of(above).unwrap_or_default(),
            depth,
        };
        (find(lines, "entryUUID: "), version)
    });
    versions.collect()
}

/// UUIDs of the entries that stay.
fn is_fixed(version: &Version) -> bool {
    FIXED.iter().any(|name| name.split(',').next() == Some(&*version.rdn))
}

impl Ledger {
    /// Takes up what a client has changed.
    pub(crate) fn note(&mut self, before: &Versions, after: &Versions) {
        let gone = before.keys().filter(|uuid| !after.contains_key(*uuid));
        self.deleted.extend(gone.cloned());
        for (uuid, version) in after {
            let superiors = self.superiors.entry(uuid.clone()).or_default();
            superiors.insert(version.superior.clone());
            let former = before.get(uuid);
            if former == Some(version) {
                continue;
            }
            let is_moved =
                former.is_some_and(|former| (&former.rdn, &former.superior) != (&version.rdn, &version.superior));
            if is_moved || version.depth > 1 {
                self.moved.insert(uuid.clone());
            }
            self.written.entry(uuid.clone()).or_default().push(version.clone());
        }
    }

    /// Fails if a write is in doubt whose CSN is `covered`, where no two entries ever have the same name: then each is
    /// there, or a newer version of the entry, unless a client has deleted it.
    pub(crate) fn check(&self, held: &Versions, covered: impl Fn(&str) -> bool, place: &str) {
        for (uuid, versions) in &self.written {
            for version in versions.iter().filter(|version| covered(&version.csn)) {
                let is_there = held.get(uuid).is_some_and(|held| held.csn >= version.csn);
                assert!(
                    is_there || self.deleted.contains(uuid),
                    "{place}: {uuid}, {version:?} is lost, there is {:?}",
                    held.get(uuid)
                );
            }
        }
        let undead = held.keys().find(|uuid| self.deleted.contains(*uuid));
        assert!(undead.is_none() || !covered(""), "{place}: {undead:?} was deleted");
    }

    /// The same for what several servers have together, some of which may still have what was deleted.
    pub(crate) fn check_kept(&self, held: &Versions) {
        let kept = held.iter().filter(|(uuid, _)| !self.deleted.contains(*uuid));
        let kept: Versions = kept.map(|(uuid, version)| (uuid.clone(), version.clone())).collect();
        self.check(&kept, |_| true, "together");
    }

    /// Fails if an entry is elsewhere than its version was written, or has a version that no client has written
    /// although nothing has made one necessary: neither it nor what was above it was ever moved or deleted.
    pub(crate) fn check_places(&self, held: &Versions) {
        for (uuid, version) in held.iter().filter(|(_, version)| !is_fixed(version)) {
            let Some(written) = self.written.get(uuid) else {
                panic!("{uuid}, {version:?}: no client has written it");
            };
            match written.iter().find(|written| written.csn == version.csn) {
                Some(written) => assert_eq!(version, written, "{uuid}: the place of this version"),
                None => assert!(self.is_contested(uuid), "{uuid}, {version:?}: stamped for nothing"),
            }
        }
    }

    fn is_contested(&self, uuid: &str) -> bool {
        let (mut seen, mut open) = (BTreeSet::new(), vec![uuid]);
        while let Some(uuid) = open.pop() {
            if self.moved.contains(uuid) || self.deleted.contains(uuid) {
                return true;
            }
            if seen.insert(uuid) {
                open.extend(self.superiors.get(uuid).into_iter().flatten().map(String::as_str));
            }
        }
        false
    }
}
