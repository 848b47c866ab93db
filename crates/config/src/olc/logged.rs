//! Changes that a provider's log tells of (delta synchronization of cn=config), made here as they were made there.
//!
//! Entries are found by UUID, or by name if the log does not tell it. A change that an entry has already is passed
//! over; so is one that is older than the entry. A change of an entry that is not here means that the log has a gap.

use std::collections::BTreeSet;

use ironbark_model::{Dn, Entry, ResultCode, Schema};

use super::{
    change::{
        AttributeChange, ChangeError, Stamps, add, is_fixed, is_numbered,
        modify::{Presence, apply_all},
        place, renumber,
    },
    replicated::{ReplicaEntry, dn_of, settle, take_over},
    tree::{OlcKind, OlcNode, Tree, path_of},
};

/// A change as a provider's log has it, with names as they are here.
#[derive(Clone, PartialEq, Debug)]
pub struct OlcLogEntry {
    /// `entryUUID` in its usual form, if the log tells it.
    pub uuid: Option<String>,
    /// CSN of the change.
    pub csn: String,
    /// `modifiersName`, if the log tells it.
    pub author: Option<String>,
    /// `modifyTimestamp`, if the log tells it.
    pub time: Option<String>,
    /// The operation that a log entry reports.
    pub change: OlcLogOperation,
}

/// The operation that a log entry reports.
#[derive(Clone, PartialEq, Debug)]
pub enum OlcLogOperation {
    /// Add, with all attributes.
    Add(Entry),
    /// Modify, without timestamps.
    Modify {
        /// The entry.
        dn: Dn,
        /// The changes.
        modifications: Vec<AttributeChange>,
    },
    /// Delete.
    Delete {
        /// The entry.
        dn: Dn,
    },
    /// Another number.
    ModifyDn {
        /// The entry.
        dn: Dn,
        /// New RDN.
        new_rdn: Dn,
    },
}

/// RDNs below cn=config, topmost first.
type Path = Vec<(String, String)>;

impl Tree {
    /// The tree with changes that were made in this order. `None`: it is the same.
    ///
    /// # Errors
    /// `e-syncRefreshRequired`: the log tells of an entry that is not here. Refusals of the schema and of names.
    pub fn replay(&self, schema: &Schema, changes: &[OlcLogEntry]) -> Result<Option<Self>, ChangeError> {
        let mut tree = self.clone();
        for logged in changes {
            tree.replay_one(schema, logged)?;
        }
        Ok((tree != *self).then_some(tree))
    }

    fn replay_one(&mut self, schema: &Schema, logged: &OlcLogEntry) -> Result<(), ChangeError> {
        match &logged.change {
            OlcLogOperation::Add(entry) => self.replay_add(schema, logged, entry),
            OlcLogOperation::Delete { dn } => {
                if let Some(path) = self.path_to(schema, logged, dn) {
                    self.replay_delete(logged, &path);
                }
                Ok(())
            }
            OlcLogOperation::Modify { dn, modifications } => {
                let path = self.path_to(schema, logged, dn).ok_or_else(|| gap(dn))?;
                let registry = self.registry.clone();
                let node = self.find_mut(&path).ok_or_else(|| gap(dn))?;
                if has(node, &logged.csn) {
                    return Ok(());
                }
                apply_all(&registry, schema, node, modifications, Presence::Granted)?;
                logged.mark(node);
                Ok(())
            }
            OlcLogOperation::ModifyDn { dn, new_rdn } => {
                let path = self.path_to(schema, logged, dn).ok_or_else(|| gap(dn))?;
                let node = self.find_mut(&path).ok_or_else(|| gap(dn))?;
                if has(node, &logged.csn) {
                    return Ok(());
                }
                let held = |name: &str| node.texts(name).next().unwrap_or_default().to_owned();
                let stamps = Stamps {
                    author: logged.author.clone().unwrap_or_else(|| held("modifiersName")),
                    time: logged.time.clone().unwrap_or_else(|| held("modifyTimestamp")),
                    csn: logged.csn.clone(),
                    uuid: String::new(),
                };
                let name = dn_of(schema, &path).ok_or_else(|| gap(dn))?;
                *self = self.rename(schema, &name, new_rdn, None, &stamps)?;
                Ok(())
            }
        }
    }

    /// The place of the entry that a change is about.
    fn path_to(&mut self, schema: &Schema, logged: &OlcLogEntry, dn: &Dn) -> Option<Path> {
        let Some(uuid) = &logged.uuid else {
            let path = path_of(schema, dn)?;
            return self.find_mut(&path).is_some().then_some(path);
        };
        let mut path = Path::new();
        find(&self.root, uuid, &mut path).then_some(path)
    }

    fn replay_add(&mut self, schema: &Schema, logged: &OlcLogEntry, entry: &Entry) -> Result<(), ChangeError> {
        let named = |text: &str| {
            let name = entry.dn.pretty();
            ChangeError::new(ResultCode::NAMING_VIOLATION, format!("\"{name}\": {text}"))
        };
        let path = path_of(schema, &entry.dn).ok_or_else(ChangeError::missing)?;
        let Some(((naming, name), above)) = path.split_last() else {
            return Err(named("the log adds what every server has"));
        };
        let mut node = add::node_as_sent(schema, &self.registry, entry, naming, name);
        // The request may have left the number out, which the entry has.
        let value = node.texts(naming).next().map(str::to_owned);
        node.name = value.unwrap_or(node.name);
        let sent = ReplicaEntry {
            uuid: logged.uuid.clone().unwrap_or_default(),
            csn: Some(logged.csn.clone()),
            entry: entry.clone(),
        };
        let parent = self.find_mut(above).ok_or_else(|| gap(&entry.dn))?;
        let is_below_root = above.is_empty();
        let kind = add::check_kind_at(parent, &node, is_below_root)?;
        if let Some(at) = known(parent, &node, kind, &sent.uuid, is_below_root)
            && let Some(child) = parent.children.get_mut(at)
        {
            take_over(child, node, &sent).map_err(named)?;
            settle(&mut self.root, true, &BTreeSet::from([sent.uuid.as_str()]));
            return Ok(());
        }
        add::number(parent, &mut node, kind, is_below_root)?;
        let at = place(&parent.children, kind, node.index().0);
        let is_one_of_many = is_numbered(&node, is_below_root);
        parent.children.insert(at, node);
        if is_one_of_many {
            renumber(&mut parent.children, kind);
        }
        Ok(())
    }

    fn replay_delete(&mut self, logged: &OlcLogEntry, path: &[(String, String)]) {
        let Some(((naming, name), above)) = path.split_last() else {
            return;
        };
        let Some(parent) = self.find_mut(above) else { return };
        let is_it = |child: &OlcNode| child.is_named(naming, name);
        let Some(node) = parent.children.iter().find(|child| is_it(child)) else {
            return;
        };
        let is_other = logged.uuid.is_none() && node.texts("entryCSN").any(|held| held > logged.csn.as_str());
        let is_needed = is_fixed(node) || (above.is_empty() && node.kind() == Some(OlcKind::Schema));
        if is_other || is_needed {
            return;
        }
        let kind = node.kind();
        parent.children.retain(|child| !is_it(child));
        if let Some(kind) = kind.filter(|kind| *kind != OlcKind::Schema || !above.is_empty()) {
            renumber(&mut parent.children, kind);
        }
    }
}

impl OlcLogEntry {
    /// Stamps a changed entry.
    fn mark(&self, node: &mut OlcNode) {
        let stamps = [
            ("entryCSN", Some(&self.csn)),
            ("modifiersName", self.author.as_ref()),
            ("modifyTimestamp", self.time.as_ref()),
        ];
        for (attribute, value) in stamps {
            if let Some(value) = value {
                node.replace(attribute, vec![value.clone().into_bytes()]);
            }
        }
    }
}

/// Whether an entry has a change already, or is newer.
fn has(node: &OlcNode, csn: &str) -> bool {
    node.texts("entryCSN").any(|held| held >= csn)
}

/// The entry that an add means, if it is here already: by UUID, or by a name that there can be only once.
fn known(parent: &OlcNode, node: &OlcNode, kind: OlcKind, uuid: &str, is_below_root: bool) -> Option<usize> {
    let children = || parent.children.iter();
    let of_uuid = |child: &OlcNode| child.texts("entryUUID").any(|held| held.eq_ignore_ascii_case(uuid));
    let rest = node.index().1;
    let is_once = !is_numbered(node, is_below_root) || is_fixed(node) || kind == OlcKind::Schema;
    let of_name = |child: &OlcNode| is_once && child.kind() == Some(kind) && child.index().1.eq_ignore_ascii_case(rest);
    children().position(of_uuid).or_else(|| children().position(of_name))
}

/// The RDNs of the node with this UUID.
fn find(node: &OlcNode, uuid: &str, path: &mut Path) -> bool {
    if node.texts("entryUUID").any(|held| held.eq_ignore_ascii_case(uuid)) {
        return true;
    }
    for child in &node.children {
        path.push((child.naming.clone(), child.name.clone()));
        if find(child, uuid, path) {
            return true;
        }
        path.pop();
    }
    false
}

fn gap(dn: &Dn) -> ChangeError {
    let name = dn.pretty();
    let text = format!("\"{name}\": the log tells of a change of this entry, which is not here");
    ChangeError::new(ResultCode::SYNC_REFRESH_REQUIRED, text)
}

#[cfg(test)]
mod tests;
