//! What must have become of acknowledged writes.

use std::collections::{BTreeMap, BTreeSet};

use ironbark_client::proto::ModifyOperation;

use super::{
    Mode,
    held::{Attributes, Held, Image, rdn_of},
    ledger::{Ledger, Request, Written},
    own::OwnEntry,
};

/// What an own entry need not keep: a server may stamp it anew, when it gives it a place that nobody asked for.
const STAMP: &str = "entrycsn";
/// What only tells who changed an entry last, and when.
const LAST: [&str; 3] = [STAMP, "modifytimestamp", "modifiersname"];

/// A storm that is over.
pub(super) struct Judge<'a> {
    pub(super) mode: Mode,
    pub(super) images: &'a [Image],
    pub(super) ledger: &'a Ledger,
    /// The own entries of each client.
    pub(super) own: Vec<&'a BTreeMap<String, OwnEntry>>,
    /// Lines of the logs about conflicts.
    pub(super) conflicts: String,
    pub(super) findings: Vec<String>,
}

impl Judge<'_> {
    pub(super) fn judge(&mut self) {
        for (server, image) in self.images.iter().enumerate() {
            let held = image.by_uuid();
            self.own_entries(server, image, &held);
            self.deleted(server, &held);
            for (uuid, versions) in self.ledger.by_uuid() {
                let newest = versions.iter().max_by_key(|written| written.held.csn()).unwrap();
                match held.get(&uuid) {
                    Some(_) if self.ledger.deleted.contains(&uuid) => {}
                    Some(held) if self.mode != Mode::Delta => self.version(server, image, held, newest),
                    Some(held) => self.merged(server, image, held, &versions),
                    None => self.missing(server, &uuid, newest, &versions),
                }
            }
        }
    }

    fn find(&mut self, server: usize, what: &str) {
        self.findings.push(format!("server {server}: {what}"));
    }

    /// Nobody else writes them: they are exactly as their clients left them.
    fn own_entries(&mut self, server: usize, image: &Image, held: &BTreeMap<String, &Held>) {
        let mut known = BTreeSet::new();
        let all: Vec<(&String, &OwnEntry)> = self.own.iter().flat_map(|own| own.iter()).collect();
        for (uuid, entry) in all {
            known.insert(uuid.clone());
            let wanted = entry.held.describe();
            let Some(there) = held.get(uuid) else {
                self.find(server, &format!("LOST own entry {wanted} below {}", entry.superior));
                continue;
            };
            let mut unlike = there.differs_in(&entry.held.attributes);
            let is_stamped = unlike.iter().any(|name| name == STAMP);
            unlike.retain(|name| !(LAST.contains(&name.as_str()) && is_stamped));
            if !unlike.is_empty() || there.rdn() != entry.held.rdn() {
                let there = there.describe();
                self.find(
                    server,
                    &format!("UNLIKE own entry in {unlike:?}: wanted {wanted}, there is {there}"),
                );
            } else if is_stamped && !self.mode.may_stamp() {
                let there = there.describe();
                self.find(server, &format!("STAMPED own entry {wanted}, there is {there}"));
            }
            if image.uuid_at(there.superior()).as_ref() != Some(&entry.superior) {
                let there = there.describe();
                self.find(
                    server,
                    &format!("MISPLACED own entry {there}, wanted below {}", entry.superior),
                );
            }
        }
        for (uuid, there) in held {
            let is_own = there.rdn().starts_with("cn=o") || there.rdn().starts_with("ou=o");
            if is_own && there.rdn() != "ou=others" && !known.contains(uuid) && !self.ledger.strays.contains(uuid) {
                self.find(server, &format!("EXTRA own entry {}", there.describe()));
            }
        }
    }

    /// A delete is final.
    fn deleted(&mut self, server: usize, held: &BTreeMap<String, &Held>) {
        let undead: Vec<String> = held
            .iter()
            .filter(|(uuid, _)| self.ledger.deleted.contains(*uuid))
            .map(|(_, there)| there.describe())
            .collect();
        for there in undead {
            self.find(server, &format!("UNDEAD {there}"));
        }
    }

    /// It was deleted, or another entry has its name.
    fn missing(&mut self, server: usize, uuid: &str, newest: &Written, versions: &[&Written]) {
        let ledger = self.ledger;
        let is_perhaps_deleted = names(versions).iter().any(|rdn| ledger.perhaps_deleted.contains(*rdn));
        if ledger.deleted.contains(uuid) || is_perhaps_deleted || is_own(newest.held.rdn()) {
            return;
        }
        let shares_names = newest.held.rdn().starts_with("ou=n");
        if shares_names && self.conflicts.contains(uuid) {
            return;
        }
        let wanted = newest.held.describe();
        self.find(
            server,
            &format!("LOST {wanted}, nobody deleted it, and no log names a conflict"),
        );
    }

    /// The last acknowledged version of an entry, or a newer one, is there.
    fn version(&mut self, server: usize, image: &Image, there: &Held, newest: &Written) {
        if is_own(newest.held.rdn()) {
            return;
        }
        let (held, wanted) = (there.csn(), newest.held.csn());
        let shown = format!("wanted {}, there is {}", newest.held.describe(), there.describe());
        if held < wanted {
            self.find(server, &format!("OLDER: {shown}"));
        }
        if held != wanted {
            return;
        }
        let unlike = there.differs_in(&newest.held.attributes);
        if !unlike.is_empty() || there.rdn() != newest.held.rdn() {
            self.find(server, &format!("UNLIKE in {unlike:?}: {shown}"));
        }
        let above = image.uuid_at(there.superior());
        if newest.superior.is_some() && above != newest.superior {
            self.find(
                server,
                &format!("MISPLACED, wanted below {:?}: {shown}", newest.superior),
            );
        }
    }

    /// All acknowledged changes are there, value by value.
    fn merged(&mut self, server: usize, image: &Image, there: &Held, versions: &[&Written]) {
        let is_known = |rdn: &&str| !self.ledger.unknown.contains(*rdn);
        let Some(merged) = Merged::of(versions).filter(|_| names(versions).iter().all(is_known)) else {
            return;
        };
        // Several units have the same name, so one of them may be elsewhere, or aside under its entryUUID.
        if is_own(there.rdn()) || merged.rdn.starts_with("ou=") {
            return;
        }
        let mut unlike = there.differs_in(&merged.attributes);
        let may_differ = |name: &String| LAST.contains(&name.as_str()) || (merged.is_renamed && name == "cn");
        unlike.retain(|name| !may_differ(name));
        let shown = format!("{} should have {:?}", there.describe(), merged.show(&unlike));
        if !unlike.is_empty() {
            self.find(server, &format!("UNMERGED in {unlike:?}: {shown}"));
        }
        if there.rdn() != merged.rdn {
            self.find(
                server,
                &format!("UNMERGED name, not {}: {}", merged.rdn, there.describe()),
            );
        }
        let above = image.uuid_at(there.superior());
        if merged.superior.is_some() && above != merged.superior {
            let wanted = &merged.superior;
            self.find(server, &format!("UNMERGED place, not {wanted:?}: {}", there.describe()));
        }
    }
}

fn is_own(rdn: &str) -> bool {
    (rdn.starts_with("cn=o") || rdn.starts_with("ou=o")) && rdn != "ou=others"
}

/// All RDNs that an entry has had.
fn names<'a>(versions: &'a [&Written]) -> BTreeSet<&'a str> {
    let names = versions
        .iter()
        .flat_map(|written| [written.held.rdn(), rdn_of(written.request.dn())]);
    names.collect()
}

/// All changes of an entry, made in the order of their CSNs.
struct Merged {
    attributes: Attributes,
    rdn: String,
    superior: Option<String>,
    is_renamed: bool,
}

impl Merged {
    /// `None` if its addition was not acknowledged.
    fn of(versions: &[&Written]) -> Option<Self> {
        let mut ordered = versions.to_vec();
        ordered.sort_by_key(|written| written.held.csn());
        let (first, rest) = ordered.split_first()?;
        let Request::Add { .. } = first.request else {
            return None;
        };
        let mut merged = Self {
            attributes: first.held.attributes.clone(),
            rdn: first.held.rdn().to_owned(),
            superior: first.superior.clone(),
            is_renamed: false,
        };
        for written in rest {
            match &written.request {
                Request::Modify { changes, .. } => {
                    for (operation, attribute, values) in changes {
                        merged.change(*operation, &attribute.to_lowercase(), values);
                    }
                }
                Request::Move { rdn, superior, .. } => {
                    rdn.clone_into(&mut merged.rdn);
                    merged.is_renamed = true;
                    if superior.is_some() {
                        merged.superior.clone_from(&written.superior);
                    }
                }
                Request::Add { .. } | Request::Delete { .. } => {}
            }
        }
        Some(merged)
    }

    fn change(&mut self, operation: ModifyOperation, attribute: &str, values: &[String]) {
        let held = self.attributes.entry(attribute.to_owned()).or_default();
        let values = values.iter().map(|value| value.clone().into_bytes());
        match operation {
            ModifyOperation::Add => held.extend(values),
            ModifyOperation::Delete if values.len() == 0 => held.clear(),
            ModifyOperation::Delete => values.for_each(|value| _ = held.remove(&value)),
            _ => *held = values.collect(),
        }
        if held.is_empty() {
            self.attributes.remove(attribute);
        }
    }

    fn show(&self, names: &[String]) -> Vec<String> {
        let text = |name: &String| {
            let values = self.attributes.get(name).into_iter().flatten();
            let values: Vec<_> = values.map(|value| String::from_utf8_lossy(value)).collect();
            format!("{name}({})={}", values.len(), values.join("|"))
        };
        names.iter().map(text).collect()
    }
}
