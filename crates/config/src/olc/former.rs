//! The tree before a change: which values a client sets now, and which ones were there.

use std::collections::BTreeMap;

use super::tree::{OlcNode, Tree};
use crate::statement::ValueAge;

/// The nodes of the tree before a change.
pub(super) enum Former<'t> {
    /// Every node was there, with all its values.
    All,
    /// These, by their `entryUUID`: the names of entries change when their siblings get other numbers.
    Nodes(BTreeMap<&'t [u8], &'t OlcNode>),
}

impl<'t> Former<'t> {
    /// The nodes of a tree.
    pub(super) fn of(tree: &'t Tree) -> Self {
        let mut nodes = BTreeMap::new();
        collect(&tree.root, &mut nodes);
        Self::Nodes(nodes)
    }

    /// Whether a node was there.
    pub(super) fn has(&self, node: &OlcNode) -> bool {
        match self {
            Self::All => true,
            Self::Nodes(nodes) => identity(node).is_some_and(|uuid| nodes.contains_key(uuid)),
        }
    }

    /// Whether the values of an attribute are being set.
    pub(super) fn value_age(&self, node: &OlcNode, attribute: &str) -> ValueAge {
        let Self::Nodes(nodes) = self else {
            return ValueAge::Older;
        };
        let known = identity(node).and_then(|uuid| nodes.get(uuid));
        match known {
            Some(known) if known.values(attribute) == node.values(attribute) => ValueAge::Older,
            _ => ValueAge::New,
        }
    }
}

fn identity(node: &OlcNode) -> Option<&[u8]> {
    node.values("entryUUID").first().map(Vec::as_slice)
}

fn collect<'t>(node: &'t OlcNode, nodes: &mut BTreeMap<&'t [u8], &'t OlcNode>) {
    if let Some(uuid) = identity(node) {
        nodes.insert(uuid, node);
    }
    for child in &node.children {
        collect(child, nodes);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use ironbark_model::Dn;

    use super::*;
    use crate::{
        ConfigError, LoadedConfiguration, load as load_file,
        olc::{load, load_change, render},
        test_overlay::registry,
        test_schema::with_schema,
    };

    const TEXT: &str = "database config\nrootpw x\ndatabase mdb\nsuffix dc=x\nrootdn cn=admin,dc=x\nrootpw secret\n\
        directory /srv/x\n";

    fn tree() -> Tree {
        tree_of(TEXT)
    }

    /// The tree of a file, each entry with an identity.
    fn tree_of(text: &str) -> Tree {
        let mut tree = render(&load_file("slapd.conf", &with_schema("slapd.conf", text), registry()).unwrap());
        for (number, child) in tree.root.children.iter_mut().enumerate() {
            child.set("entryUUID", vec![number.to_string().into_bytes()]);
        }
        tree
    }

    /// With other values of its last database.
    fn with(tree: &Tree, changes: &[(&str, &str)]) -> Tree {
        let mut tree = tree.clone();
        let node = tree.root.children.last_mut().unwrap();
        for (attribute, value) in changes {
            let values = Some(value).filter(|value| !value.is_empty());
            node.set(
                attribute,
                values.map(|value| value.as_bytes().to_vec()).into_iter().collect(),
            );
        }
        tree
    }

    fn changed(former: &Tree, tree: &Tree) -> Result<LoadedConfiguration, ConfigError> {
        let schema = load(former).unwrap().schema;
        load_change(tree, Some(former), &schema)
    }

    fn notices(configuration: &LoadedConfiguration) -> String {
        let texts: Vec<String> = configuration.notices.iter().map(ToString::to_string).collect();
        texts.join("\n")
    }

    #[test]
    fn a_password_is_checked_against_the_rootdn_only_when_it_is_set() {
        let first = tree();
        for step in [("olcSuffix", "dc=y"), ("olcRootDN", "cn=admin,dc=y"), ("olcRootDN", "")] {
            let half = with(&first, &[step]);
            let taken = changed(&first, &half).unwrap();
            assert!(
                notices(&taken).contains("has no effect"),
                "{step:?}: {}",
                notices(&taken)
            );
            assert!(taken.databases[0].root_password.is_none(), "{step:?}");
            // A restart reads the same.
            assert!(load(&half).unwrap().databases[0].root_password.is_none());
            let password = with(&half, &[("olcRootPW", "new")]);
            let refused = changed(&half, &password).unwrap_err();
            assert!(
                refused
                    .message()
                    .contains("can only be set when rootdn is under suffix"),
                "{refused}"
            );
            let whole = with(&half, &[("olcSuffix", "dc=y"), ("olcRootDN", "cn=admin,dc=y")]);
            assert!(changed(&half, &whole).unwrap().databases[0].root_password.is_some());
        }
    }

    #[test]
    fn a_database_that_lost_its_suffix_waits_for_one_and_a_new_one_needs_it() {
        let first = tree();
        let without = with(&first, &[("olcSuffix", "")]);
        let taken = changed(&first, &without).unwrap();
        assert!(taken.databases[0].disabled);
        assert!(notices(&taken).contains("is not served until its settings are complete: needs a suffix"));
        assert!(load(&without).unwrap().databases[0].disabled);
        let again = changed(&without, &with(&without, &[("olcSuffix", "dc=z")])).unwrap();
        assert!(!again.databases[0].disabled);
        let added = with(&without, &[("entryUUID", "new"), ("olcRootPW", "")]);
        let refused = changed(&first, &added).unwrap_err();
        assert!(refused.message().contains("needs a suffix"), "{refused}");
    }

    #[test]
    fn what_is_only_for_copies_is_refused_when_it_is_set_and_stays_when_a_database_gets_another_number() {
        let plain = tree();
        let set = with(&plain, &[("olcMultiProvider", "TRUE")]);
        let refused = changed(&plain, &set).unwrap_err();
        assert!(refused.message().contains("database is not a shadow"), "{refused}");
        // slapd leaves it so when the last provider goes.
        let two = tree_of(&TEXT.replacen("database mdb", "database null\nsuffix dc=n\ndatabase mdb", 1));
        let two = with(&two, &[("olcMultiProvider", "TRUE")]);
        let schema = load(&two).unwrap().schema;
        let name = Dn::parse(&schema, b"olcDatabase={1}null,cn=config").unwrap();
        let one = two.delete(&schema, &name).unwrap();
        assert_eq!(one.root.children.last().unwrap().name, "{1}mdb");
        changed(&two, &one).unwrap();
    }
}
