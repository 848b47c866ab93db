//! Entries that one client alone writes. They are known to it by UUID; others move what they are below.

use std::collections::BTreeMap;

use super::{held::Held, ledger::Request};

/// An entry as its client left it.
#[derive(Clone, Debug)]
pub(super) struct OwnEntry {
    pub(super) held: Held,
    /// The UUID of its superior.
    pub(super) superior: String,
}

impl OwnEntry {
    pub(super) fn is_unit(&self) -> bool {
        self.held.rdn().starts_with("ou=")
    }
}

/// An operation whose outcome the client does not know.
#[derive(Clone, Debug)]
pub(super) struct Open {
    /// `None`: an addition.
    pub(super) uuid: Option<String>,
    pub(super) request: Request,
    pub(super) superior: String,
}

/// What a client knows of its entries.
#[derive(Default)]
pub(super) struct Own {
    pub(super) entries: BTreeMap<String, OwnEntry>,
    /// UUIDs of the places where they can be, besides own units.
    pub(super) roots: Vec<String>,
    /// RDNs of units and of leaves that are free again.
    pub(super) freed: Vec<String>,
    pub(super) open: Option<Open>,
}

const MOST_LEVELS: usize = 4;

/// What a client does to its entries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum OwnKind {
    AddOwn,
    AddOwnUnit,
    ModifyOwn,
    RenameOwn,
    MoveOwn,
    MoveAndRenameOwn,
    DeleteOwn,
    DeleteOwnUnit,
    AddOwnAgain,
    SwapOwn,
    RenameOwnToFreed,
    MoveOwnOutOfDeleted,
}

impl OwnKind {
    /// Frequent ones twice.
    pub(super) const ALL: [Self; 16] = [
        Self::AddOwn,
        Self::AddOwn,
        Self::AddOwn,
        Self::AddOwnUnit,
        Self::ModifyOwn,
        Self::ModifyOwn,
        Self::RenameOwn,
        Self::MoveOwn,
        Self::MoveOwn,
        Self::MoveAndRenameOwn,
        Self::DeleteOwn,
        Self::DeleteOwnUnit,
        Self::AddOwnAgain,
        Self::SwapOwn,
        Self::RenameOwnToFreed,
        Self::MoveOwnOutOfDeleted,
    ];
}

impl Own {
    pub(super) fn has_open(&self) -> bool {
        self.open.is_some()
    }

    pub(super) fn children(&self, uuid: &str) -> Vec<String> {
        let below = self.entries.iter().filter(|(_, entry)| entry.superior == uuid);
        below.map(|(uuid, _)| uuid.clone()).collect()
    }

    /// The entry, its superior, and so on.
    pub(super) fn line(&self, uuid: &str) -> Vec<String> {
        let mut line = vec![uuid.to_owned()];
        while let Some(entry) = self.entries.get(line.last().unwrap()) {
            line.push(entry.superior.clone());
        }
        line
    }

    pub(super) fn kept(&self, keep: impl Fn(&String, &OwnEntry) -> bool) -> Vec<String> {
        let found = self.entries.iter().filter(|(uuid, entry)| keep(uuid, entry));
        found.map(|(uuid, _)| uuid.clone()).collect()
    }

    /// Where an entry can go: roots and units that are not below it, and have room.
    pub(super) fn places(&self, without: &str) -> Vec<String> {
        let units = self.kept(|uuid, entry| {
            let line = self.line(uuid);
            entry.is_unit() && line.len() <= MOST_LEVELS && !line.iter().any(|above| above == without)
        });
        self.roots.iter().cloned().chain(units).collect()
    }
}

/// A unit or a person.
pub(super) fn addition(rdn: &str, place: &str, description: &str) -> Request {
    let (attribute, name) = rdn.split_once('=').unwrap();
    let value = |name: &str, value: &str| (name.to_owned(), vec![value.to_owned()]);
    let mut attributes = vec![value(attribute, name), value("description", description)];
    if attribute == "ou" {
        attributes.push(value("objectClass", "organizationalUnit"));
    } else {
        attributes.extend([value("objectClass", "person"), value("sn", "s")]);
    }
    Request::Add {
        dn: format!("{rdn},{place}"),
        attributes,
    }
}
