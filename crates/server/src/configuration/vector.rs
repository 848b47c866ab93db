//! The context vector of cn=config: the attribute `contextCSN` of its topmost entry, as slapd keeps it.
//!
//! It is there once overlay syncprov makes cn=config a provider, or once a provider has told its own.

use ironbark_config::{
    DatabaseConfig, LoadedConfiguration,
    olc::{OlcNode, Tree},
};
use ironbark_directory::ChangeAuthor;
use ironbark_store::{ContextVector, Csn};

const ATTRIBUTE: &str = "contextCSN";

/// Writes down that a tree has been changed: here, or by what a provider has sent (`came`: its CSNs).
pub(crate) fn advance(
    tree: &mut Tree,
    configuration: &LoadedConfiguration,
    by: &ChangeAuthor<'_>,
    came: Option<&[Csn]>,
) {
    let mut vector = of_tree(tree);
    let provides = provides(configuration);
    let stamp = Csn::parse(by.stamp.csn.as_bytes());
    if provides && (vector.is_empty() || !provided(by)) {
        // What was changed here before was not written down. Of other servers only their cookies say what is complete,
        // once there is one.
        let own = stamp.map(Csn::server_id);
        let is_first = vector.is_empty() && came.is_none();
        for csn in csns(&tree.root).filter(|csn| is_first || Some(csn.server_id()) == own) {
            vector.merge(csn);
        }
    }
    match (came, stamp) {
        (Some(came), _) => came.iter().for_each(|csn| _ = vector.merge(*csn)),
        (None, Some(stamp)) if provides => _ = vector.merge(stamp),
        (None, _) => {}
    }
    put(tree, &vector);
}

/// Takes in CSNs. `false`: they were known.
pub(crate) fn take_in(tree: &mut Tree, came: &[Csn]) -> bool {
    let mut vector = of_tree(tree);
    let is_news = came.iter().fold(false, |news, csn| vector.merge(*csn) | news);
    put(tree, &vector);
    is_news
}

/// The context vector of a tree.
pub(crate) fn csns_of(tree: &Tree) -> Vec<Csn> {
    of_tree(tree).iter().collect()
}

fn of_tree(tree: &Tree) -> ContextVector {
    let values = tree.root.values(ATTRIBUTE).iter();
    values.filter_map(|value| Csn::parse(value)).collect()
}

fn put(tree: &mut Tree, vector: &ContextVector) {
    let values = vector.iter().map(|csn| csn.text().into_bytes());
    tree.root.set(ATTRIBUTE, values.collect());
}

/// The CSNs of all entries.
fn csns(node: &OlcNode) -> Box<dyn Iterator<Item = Csn> + '_> {
    let own = node.texts("entryCSN").filter_map(|csn| Csn::parse(csn.as_bytes()));
    Box::new(own.chain(node.children.iter().flat_map(csns)))
}

/// Whether cn=config is to be a provider.
fn provides(configuration: &LoadedConfiguration) -> bool {
    has_overlay(&configuration.config)
}

/// Whether it was one before the change.
fn provided(by: &ChangeAuthor<'_>) -> bool {
    let contexts = &by.configuration.contexts;
    let config = contexts.iter().find(|context| context.settings.kind.name == "config");
    config.is_some_and(|config| has_overlay(&config.settings))
}

fn has_overlay(database: &DatabaseConfig) -> bool {
    let mut overlays = database.overlays.iter();
    overlays.any(|overlay| overlay.name() == "syncprov")
}
