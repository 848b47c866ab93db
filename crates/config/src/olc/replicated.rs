//! What a provider has of cn=config becomes the tree here: all of a refresh at once, or one change.
//!
//! Entries keep the UUID, the CSN and the name that the provider gave them. A number in a name may be taken here by
//! another entry, if several servers write; then the entry that came goes before it, and the numbers are given anew. As
//! in slapd, an entry that was changed here later than at the provider stays as it is, however many servers write.

use std::collections::BTreeSet;

use ironbark_model::{Dn, Entry, ResultCode, Schema};

use super::{
    change::{ChangeError, add, is_fixed, is_numbered, place, renumber},
    tree::{OlcKind, OlcNode, Tree, path_of},
};

/// What a provider has sent of cn=config.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Replica {
    /// Entries as they are at the provider, with names as they are here, superiors first.
    pub entries: Vec<ReplicaEntry>,
    /// `entryUUID` of entries that are gone.
    pub gone: Vec<String>,
    /// After a refresh that named everything: `entryUUID` of the other entries that the provider has.
    pub present: Option<BTreeSet<String>>,
}

/// An entry as a provider has it.
#[derive(Clone, PartialEq, Debug)]
pub struct ReplicaEntry {
    /// `entryUUID` in its usual form.
    pub uuid: String,
    /// `entryCSN`.
    pub csn: Option<String>,
    /// The entry.
    pub entry: Entry,
}

/// The part of the tree that a provider has.
pub struct ReplicaExtent<'a> {
    /// Whether a name is in base and scope.
    pub holds: &'a dyn Fn(&Dn) -> bool,
    /// Whether the provider knows of a change.
    pub covers: &'a dyn Fn(&str) -> bool,
}

impl Tree {
    /// The tree with what a provider has sent. `None`: it is the same.
    ///
    /// # Errors
    /// `noSuchObject`: an entry came without its superior. `namingViolation`, `objectClassViolation`: it is no entry of
    /// a configuration.
    pub fn replicate(
        &self,
        schema: &Schema,
        replica: &Replica,
        extent: &ReplicaExtent<'_>,
    ) -> Result<Option<Self>, ChangeError> {
        let mut tree = self.clone();
        let named: BTreeSet<&str> = replica.entries.iter().map(|sent| sent.uuid.as_str()).collect();
        let taken: BTreeSet<Vec<(String, String)>> = replica
            .entries
            .iter()
            .filter_map(|sent| path_of(schema, &sent.entry.dn))
            .map(|path| path.iter().map(|(naming, name)| lower(naming, name)).collect())
            .collect();
        let is_gone = |node: &OlcNode, path: &[(String, String)], dn: &Dn| {
            let Some(uuid) = node.texts("entryUUID").next() else {
                return false;
            };
            if replica.gone.iter().any(|gone| gone.eq_ignore_ascii_case(uuid)) {
                return true;
            }
            let Some(present) = &replica.present else { return false };
            let uuid = uuid.to_ascii_lowercase();
            let is_known = node.texts("entryCSN").next().is_none_or(extent.covers);
            let is_absent = !present.contains(&uuid) && !named.contains(uuid.as_str()) && !taken.contains(path);
            is_absent && is_known && (extent.holds)(dn)
        };
        remove(schema, &mut tree.root, &mut Vec::new(), &is_gone);
        let mut put = BTreeSet::new();
        for sent in &replica.entries {
            tree.put(schema, sent)?;
            put.insert(sent.uuid.as_str());
        }
        settle(&mut tree.root, true, &put);
        Ok((tree != *self).then_some(tree))
    }

    /// Stores one entry.
    fn put(&mut self, schema: &Schema, sent: &ReplicaEntry) -> Result<(), ChangeError> {
        let path = path_of(schema, &sent.entry.dn).ok_or_else(ChangeError::missing)?;
        let registry = self.registry.clone();
        let named = |text: &str| {
            let name = sent.entry.dn.pretty();
            ChangeError::new(ResultCode::NAMING_VIOLATION, format!("\"{name}\": {text}"))
        };
        let Some(((naming, name), above)) = path.split_last() else {
            let node = add::node_as_sent(schema, &registry, &sent.entry, "cn", "config");
            return take_over(&mut self.root, node, sent).map_err(named);
        };
        let node = add::node_as_sent(schema, &registry, &sent.entry, naming, name);
        let parent = self.find_mut(above).ok_or_else(|| {
            let name = sent.entry.dn.pretty();
            ChangeError::new(
                ResultCode::NO_SUCH_OBJECT,
                format!("\"{name}\": its superior is not there"),
            )
        })?;
        let Some(kind) = node.kind() else {
            return Err(named("the entry has no object class of cn=config"));
        };
        let is_same = |child: &OlcNode| {
            child
                .texts("entryUUID")
                .any(|uuid| uuid.eq_ignore_ascii_case(&sent.uuid))
        };
        let known = parent.children.iter().position(is_same);
        let known = known.or_else(|| parent.children.iter().position(|child| child.is_named(naming, name)));
        // Schema of the same name may have come in another order.
        let known = known.or_else(|| {
            let rest = node.index().1;
            let of_schema = |child: &OlcNode| kind == OlcKind::Schema && child.kind() == Some(kind);
            let mut all = parent.children.iter();
            all.position(|child| of_schema(child) && child.index().1.eq_ignore_ascii_case(rest))
        });
        if let Some(at) = known
            && let Some(child) = parent.children.get_mut(at)
        {
            return take_over(child, node, sent).map_err(named);
        }
        add::check_kind_at(parent, &node, above.is_empty())?;
        let at = place(&parent.children, kind, node.index().0);
        parent.children.insert(at, node);
        Ok(())
    }
}

/// The node becomes what was sent, but for its subordinates and the context vector. A newer one takes the UUID alone.
pub(super) fn take_over(held: &mut OlcNode, sent: OlcNode, of: &ReplicaEntry) -> Result<(), &'static str> {
    if held.kind() != sent.kind() {
        return Err("another kind of entry has this name");
    }
    let known = held.texts("entryCSN").next().map(str::to_owned);
    if known.is_some() && known >= of.csn {
        let is_same = held.texts("entryUUID").any(|uuid| uuid.eq_ignore_ascii_case(&of.uuid));
        if !is_same {
            // An entry that both had before they knew of each other: otherwise it would count as absent over there.
            held.set("entryUUID", sent.values("entryUUID").to_vec());
        } else if known == of.csn {
            held.rename_as(&sent);
        }
        return Ok(());
    }
    let vector = held.values("contextCSN").to_vec();
    let children = std::mem::take(&mut held.children);
    *held = sent;
    held.children = children;
    held.set("contextCSN", vector);
    Ok(())
}

type IsGone<'a> = dyn Fn(&OlcNode, &[(String, String)], &Dn) -> bool + 'a;

/// Removes nodes, with what is below them. Those that every server has stay.
fn remove(schema: &Schema, node: &mut OlcNode, path: &mut Vec<(String, String)>, is_gone: &IsGone<'_>) {
    let is_root = path.is_empty();
    node.children.retain_mut(|child| {
        path.push(lower(&child.naming, &child.name));
        let is_needed = is_fixed(child) || (is_root && child.kind() == Some(OlcKind::Schema));
        let dn = (!is_needed).then(|| dn_of(schema, path)).flatten();
        let goes = dn.is_some_and(|dn| is_gone(child, path, &dn));
        if !goes {
            remove(schema, child, path, is_gone);
        }
        path.pop();
        !goes
    });
}

pub(super) fn dn_of(schema: &Schema, path: &[(String, String)]) -> Option<Dn> {
    let mut text = String::new();
    for (naming, name) in path.iter().rev() {
        text.push_str(&super::tree::rdn_of(naming, name));
        text.push(',');
    }
    text.push_str("cn=config");
    Dn::parse(schema, text.as_bytes()).ok()
}

fn lower(naming: &str, name: &str) -> (String, String) {
    (naming.to_ascii_lowercase(), name.to_ascii_lowercase())
}

/// Puts siblings into the order of their numbers, and numbers them without gaps.
pub(super) fn settle(node: &mut OlcNode, is_root: bool, put: &BTreeSet<&str>) {
    node.children.sort_by_key(|child| {
        let has_come = child.texts("entryUUID").any(|uuid| put.contains(uuid));
        (child.kind(), child.position(), !has_come)
    });
    for kind in [
        OlcKind::Include,
        OlcKind::Module,
        OlcKind::Schema,
        OlcKind::Database,
        OlcKind::Overlay,
    ] {
        let numbered = node
            .children
            .iter()
            .any(|child| child.kind() == Some(kind) && is_numbered(child, is_root));
        if numbered {
            renumber(&mut node.children, kind);
        }
    }
    for child in &mut node.children {
        settle(child, false, put);
    }
}
