//! What clients were told has been done.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use ironbark_client::{ClientError, ReceivedResult, proto::ModifyOperation};

use super::held::{Held, rdn_of, superior_of};

/// Changes of attributes.
pub(super) type Changes = Vec<(ModifyOperation, String, Vec<String>)>;

/// An operation, with names as they were when it was sent.
#[derive(Clone, Debug)]
pub(super) enum Request {
    Add {
        dn: String,
        attributes: Vec<(String, Vec<String>)>,
    },
    Modify {
        dn: String,
        changes: Changes,
    },
    Delete {
        dn: String,
    },
    Move {
        dn: String,
        rdn: String,
        delete_old: bool,
        superior: Option<String>,
    },
}

impl Request {
    pub(super) fn dn(&self) -> &str {
        match self {
            Self::Add { dn, .. } | Self::Modify { dn, .. } | Self::Delete { dn } | Self::Move { dn, .. } => dn,
        }
    }

    /// In a line.
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Add { dn, .. } => format!("add \"{dn}\""),
            Self::Delete { dn } => format!("delete \"{dn}\""),
            Self::Modify { dn, changes } => {
                let mut text = format!("modify \"{dn}\"");
                for (operation, attribute, values) in changes {
                    let shown = values.iter().take(3).cloned().collect::<Vec<_>>().join("|");
                    let _ = write!(text, " {operation:?} {attribute}({})={shown}", values.len());
                }
                text
            }
            Self::Move {
                dn,
                rdn,
                delete_old,
                superior,
            } => format!("move \"{dn}\" to {rdn}, delete old {delete_old}, below {superior:?}"),
        }
    }
}

/// An operation that was acknowledged.
#[derive(Clone, Debug)]
pub(super) struct Written {
    pub(super) request: Request,
    /// The entry after it, or before its delete.
    pub(super) held: Held,
    /// The UUID of its superior, if it is known for certain.
    pub(super) superior: Option<String>,
}

/// All operations of a storm.
#[derive(Default)]
pub(super) struct Ledger {
    pub(super) written: Vec<Written>,
    pub(super) deleted: BTreeSet<String>,
    /// Own entries that are below glue by their request.
    pub(super) strays: BTreeSet<String>,
    /// The RDNs of entries with an operation whose outcome is not known.
    pub(super) unknown: BTreeSet<String>,
    /// Those of them with a delete.
    pub(super) perhaps_deleted: BTreeSet<String>,
    /// UUIDs of entries that are never deleted and have names that no other entry has, by their RDNs.
    pub(super) fixed: BTreeMap<String, String>,
    /// What was seen to be wrong during the storm.
    pub(super) faults: Vec<String>,
    pub(super) refused: BTreeMap<u32, usize>,
    /// Everything in order, for people.
    pub(super) lines: Vec<String>,
}

impl Ledger {
    pub(super) fn note(&mut self, by: usize, request: Request, held: Held, superior: Option<&str>) {
        let place = superior_of(&held.dn);
        let superior = superior.map(str::to_owned);
        let superior = superior.or_else(|| self.fixed.get(rdn_of(place)).cloned());
        let line = format!("client {by}: {} -> {} {}", request.describe(), held.uuid(), held.csn());
        self.lines.push(line);
        if matches!(request, Request::Delete { .. }) {
            self.deleted.insert(held.uuid());
        }
        self.written.push(Written {
            request,
            held,
            superior,
        });
    }

    pub(super) fn note_unknown(&mut self, by: usize, request: Request, error: &ClientError) {
        self.lines
            .push(format!("client {by}: {} -> {error}", request.describe()));
        let rdn = rdn_of(request.dn()).to_owned();
        match request {
            Request::Delete { .. } => _ = self.perhaps_deleted.insert(rdn.clone()),
            Request::Move { rdn, .. } => _ = self.unknown.insert(rdn),
            Request::Add { .. } | Request::Modify { .. } => {}
        }
        self.unknown.insert(rdn);
    }

    pub(super) fn note_refused(&mut self, by: usize, request: &Request, result: &ReceivedResult) {
        *self.refused.entry(result.code.0).or_default() += 1;
        self.lines
            .push(format!("client {by}: {} -> {result}", request.describe()));
    }

    pub(super) fn note_event(&mut self, what: String) {
        self.lines.push(what);
    }

    pub(super) fn fault(&mut self, what: String) {
        self.lines.push(format!("FAULT {what}"));
        self.faults.push(what);
    }

    /// The acknowledged versions of each entry.
    pub(super) fn by_uuid(&self) -> BTreeMap<String, Vec<&Written>> {
        let mut all: BTreeMap<String, Vec<&Written>> = BTreeMap::new();
        for written in &self.written {
            all.entry(written.held.uuid()).or_default().push(written);
        }
        all
    }
}
