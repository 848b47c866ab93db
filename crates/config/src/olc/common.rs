//! The part of cn=config that all servers of a cluster have, and what each has for itself.
//!
//! Some attributes are each server's own ([`Owner::Server`]): names of its files, its
//! addresses, and what leads to the cluster. A change of them stays on the server. Entries that are on every server
//! from the beginning never tell of them: they may be secrets, such as a private key. Another entry tells with which
//! values it was added, so that a server to which it is new can begin with them.

use std::collections::BTreeMap;

use super::{
    change::is_fixed,
    tree::{OlcNode, Tree},
};
use crate::{registry::Registry, setting::Owner};

/// Attributes that a change leaves behind, whatever it was.
const STAMPS: [&str; 4] = ["entryCSN", "modifiersName", "modifyTimestamp", "contextCSN"];

/// The entries of a tree by UUID and by name; a database by its suffixes.
struct Known<'t> {
    by_uuid: BTreeMap<String, &'t OlcNode>,
    by_name: BTreeMap<String, &'t OlcNode>,
}

/// Two servers may have given their databases other numbers before they joined.
fn name(dn: &str, node: &OlcNode) -> String {
    let suffixes: Vec<_> = node.texts("olcSuffix").map(str::to_ascii_lowercase).collect();
    if suffixes.is_empty() {
        dn.to_ascii_lowercase()
    } else {
        format!("olcDatabase {}", suffixes.join(" "))
    }
}

impl<'t> Known<'t> {
    fn of(tree: &'t Tree) -> Self {
        let all = tree.walk();
        let uuid = |node: &OlcNode| Some(node.texts("entryUUID").next()?.to_ascii_lowercase());
        Self {
            by_uuid: all.iter().filter_map(|(_, node)| Some((uuid(node)?, *node))).collect(),
            by_name: all.iter().map(|(dn, node)| (name(dn, node), *node)).collect(),
        }
    }

    /// The same entry.
    fn find(&self, dn: &str, node: &OlcNode) -> Option<&'t OlcNode> {
        let uuid = node.texts("entryUUID").next().map(str::to_ascii_lowercase);
        let by_uuid = uuid.and_then(|uuid| self.by_uuid.get(&uuid));
        let by_name = || self.by_name.get(&name(dn, node));
        by_uuid.or_else(by_name).copied()
    }
}

impl Tree {
    /// What all servers are to have of this tree. `before` is what they have now: it tells with which own values of
    /// its server an entry was added.
    #[must_use]
    pub fn common(&self, before: Option<&Self>) -> Self {
        let known = before.map(Known::of);
        let mut tree = self.clone();
        let registry = self.registry.clone();
        visit(&mut tree.root, "", true, &mut |dn, node, is_everywhere| {
            let former = known.as_ref().and_then(|known| known.find(dn, node));
            if is_everywhere {
                take_own(&registry, node, None, false);
            } else if former.is_some() {
                take_own(&registry, node, former, false);
            }
        });
        tree
    }

    /// This tree, which all servers have, with what `own` has for itself. If the server `joins`, what it does not say
    /// of its databases is as where they were added: it may name their folders and no more.
    #[must_use]
    pub fn with_own_of(&self, own: &Self, joins: bool) -> Self {
        let known = Known::of(own);
        let mut tree = self.clone();
        let registry = self.registry.clone();
        visit(&mut tree.root, "", true, &mut |dn, node, _| {
            if let Some(here) = known.find(dn, node) {
                take_own(&registry, node, Some(here), joins);
            }
        });
        tree
    }

    /// Whether two trees have the same entries with the same values, in the same order, but for the time of the last
    /// change and the order of attributes.
    pub fn means_the_same_as(&self, other: &Self) -> bool {
        is_same(&self.root, &other.root)
    }

    /// Whether this attribute of an entry is each server's own.
    pub fn is_own(&self, attribute: &str) -> bool {
        is_own(&self.registry, &self.root, attribute)
    }
}

fn is_same(one: &OlcNode, other: &OlcNode) -> bool {
    let attributes = |node: &'_ OlcNode| -> BTreeMap<String, Vec<Vec<u8>>> {
        let all = node.attributes.iter();
        let lasting = all.filter(|(name, _)| !STAMPS.iter().any(|stamp| stamp.eq_ignore_ascii_case(name)));
        lasting
            .map(|(name, values)| (name.to_ascii_lowercase(), values.clone()))
            .collect()
    };
    one.rdn().eq_ignore_ascii_case(&other.rdn())
        && attributes(one) == attributes(other)
        && one.children.len() == other.children.len()
        && one
            .children
            .iter()
            .zip(&other.children)
            .all(|(one, other)| is_same(one, other))
}

/// Calls `act` for all nodes, with their DNs before any change, and whether every server has the entry from the
/// beginning.
fn visit(node: &mut OlcNode, above: &str, is_root: bool, act: &mut dyn FnMut(&str, &mut OlcNode, bool)) {
    let dn = if is_root {
        node.rdn()
    } else {
        format!("{},{above}", node.rdn())
    };
    let is_everywhere = is_root || is_fixed(node);
    act(&dn, node, is_everywhere);
    for child in &mut node.children {
        visit(child, &dn, false, act);
    }
}

fn is_own(registry: &Registry, node: &OlcNode, attribute: &str) -> bool {
    node.row(registry, attribute)
        .is_some_and(|row| row.owner == Owner::Server)
}

/// Replaces the node's own attributes by those of `source`; with `keeps`, those alone that it has.
fn take_own(registry: &Registry, node: &mut OlcNode, source: Option<&OlcNode>, keeps: bool) {
    let wanted: Vec<(String, Vec<Vec<u8>>)> = source.map_or_else(Vec::new, |source| {
        let own = source.attributes.iter();
        own.filter(|(name, _)| is_own(registry, source, name))
            .cloned()
            .collect()
    });
    let gone: Vec<String> = node
        .attributes
        .iter()
        .map(|(name, _)| name.clone())
        .filter(|name| {
            let is_wanted = || wanted.iter().any(|(kept, _)| kept.eq_ignore_ascii_case(name));
            !keeps && is_own(registry, node, name) && !is_wanted()
        })
        .collect();
    for name in gone {
        node.set(&name, Vec::new());
    }
    for (name, values) in wanted {
        node.set(&name, values);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::{load as load_file, olc::render, test_overlay::registry, test_schema::with_schema};

    fn tree(text: &str) -> Tree {
        render(&load_file("slapd.conf", &with_schema("slapd.conf", text), registry()).unwrap())
    }

    fn texts(tree: &Tree, start: &str, attribute: &str) -> Vec<String> {
        let all = tree.walk();
        let (_, node) = all.iter().find(|(dn, _)| dn.starts_with(start)).unwrap();
        node.texts(attribute).map(str::to_owned).collect()
    }

    const HERE: &str = "sizelimit 7\npidfile /run/here\nTLSCertificateKeyFile /etc/here\ndatabase config\nrootpw x\n\
        cluster http://a:1 user=u password=hidden\ndatabase mdb\nsuffix dc=x\ndirectory /srv/here\n";

    #[test]
    fn what_all_have_tells_nothing_of_a_server_but_with_what_an_entry_was_added() {
        let common = tree(HERE).common(None);
        let text = String::from_utf8(common.to_ldif()).unwrap();
        for own in ["hidden", "/run/here", "/etc/here", "http://a:1"] {
            assert!(!text.contains(own), "{text}");
        }
        assert_eq!(texts(&common, "olcDatabase={1}mdb", "olcDbDirectory"), ["/srv/here"]);
        assert_eq!(texts(&common, "cn=config", "olcSizeLimit"), ["7"]);
        // Later changes of what is a server's own do not reach it.
        let moved = tree(&HERE.replace("/srv/here", "/srv/moved")).common(Some(&common));
        assert!(moved.means_the_same_as(&common));
        let changed = tree(&HERE.replace("sizelimit 7", "sizelimit 8")).common(Some(&common));
        assert!(!changed.means_the_same_as(&common));
    }

    #[test]
    fn a_server_keeps_its_own_whatever_number_its_database_had() {
        let common = tree(HERE).common(None);
        let there = "pidfile /run/there\ndatabase config\ncluster http://b:1\ndatabase mdb\nsuffix dc=y\n\
            directory /srv/y\ndatabase mdb\nsuffix dc=X\ndirectory /srv/there\n";
        let taken = common.with_own_of(&tree(there), false);
        assert_eq!(texts(&taken, "cn=config", "olcPidFile"), ["/run/there"]);
        assert_eq!(texts(&taken, "cn=config", "olcTLSCertificateKeyFile"), [""; 0]);
        assert_eq!(texts(&taken, "olcDatabase={0}config", "olcDbCluster"), ["http://b:1"]);
        assert_eq!(texts(&taken, "olcDatabase={0}config", "olcRootPW"), ["x"]);
        assert_eq!(texts(&taken, "olcDatabase={1}mdb", "olcDbDirectory"), ["/srv/there"]);
        // To a server to which the database is new, the values come with which it was added.
        let bare = tree("database config\ncluster http://c:1\n");
        let taken = common.with_own_of(&bare, false);
        assert_eq!(texts(&taken, "olcDatabase={1}mdb", "olcDbDirectory"), ["/srv/here"]);
        // Another database of that number is no reason to take its files.
        let other = tree("database config\ndatabase mdb\nsuffix dc=y\ndirectory /srv/y\n");
        let taken = common.with_own_of(&other, false);
        assert_eq!(texts(&taken, "olcDatabase={1}mdb", "olcDbDirectory"), ["/srv/here"]);
    }

    #[test]
    fn a_server_that_joins_need_not_say_more_of_a_database_than_where_it_is() {
        let here = HERE.replace("suffix dc=x", "suffix dc=x\ncluster http://a:1");
        let common = tree(&here).common(None);
        let bare = tree("database config\ncluster http://b:1\ndatabase mdb\nsuffix dc=x\ndirectory /srv/there\n");
        let joined = common.with_own_of(&bare, true);
        assert_eq!(texts(&joined, "olcDatabase={1}mdb", "olcDbDirectory"), ["/srv/there"]);
        assert_eq!(texts(&joined, "olcDatabase={1}mdb", "olcDbCluster"), ["http://a:1"]);
        assert_eq!(texts(&joined, "olcDatabase={0}config", "olcDbCluster"), ["http://b:1"]);
        // Later the database may leave its cluster at this server.
        let left = common.with_own_of(&bare, false);
        assert_eq!(texts(&left, "olcDatabase={1}mdb", "olcDbCluster"), [""; 0]);
    }

    #[test]
    fn a_tree_comes_back_from_its_text() {
        let one = tree(HERE);
        let text = one.to_ldif();
        let read = Tree::of_ldif(&text, "x", &one.registry).unwrap();
        assert!(read.means_the_same_as(&one));
        assert_eq!(read.to_ldif(), text);
        for wrong in [
            "",
            "nonsense",
            "dn: dc=x\ndc: x\n",
            "dn: olcDatabase={1}mdb,cn=config\nolcDatabase: {1}mdb\n",
            "dn: cn=config\nchangetype: delete\n",
            "dn: cn=config\nobjectClass: olcGlobal\n\ndn: cn=x,cn=y,cn=config\ncn: x\n",
        ] {
            assert!(Tree::of_ldif(wrong.as_bytes(), "x", &one.registry).is_err(), "{wrong}");
        }
    }
}
