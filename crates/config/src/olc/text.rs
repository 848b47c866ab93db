//! From the tree to the text of a slapd.conf file.

use std::fmt::Write as _;

use base64::{Engine as _, engine::general_purpose::STANDARD};

use super::{
    index,
    load::{in_order, schema},
    tree::{OlcKind, OlcNode, Tree},
};
use crate::{ConfigError, Fate, Handler, Presence, Setting, reference::statement_text, registry::Registry};

/// A slapd.conf file with the meaning of the tree. Loading it gives the same configuration.
///
/// # Errors
/// The first invalid schema definition.
pub fn slapd_conf(tree: &Tree) -> Result<String, ConfigError> {
    let mut text = String::new();
    let (_, definitions) = schema(tree)?;
    for definition in definitions {
        let row = tree
            .registry
            .settings()
            .find(|row| matches!(row.fate, Fate::Obeyed(Handler::Schema(kind)) if kind == definition.kind));
        if let Some(row) = row {
            line(&mut text, row.name(), &definition.text);
        }
    }
    settings(&mut text, &tree.registry, &tree.root);
    for node in &tree.root.children {
        match node.kind() {
            Some(OlcKind::Module) => settings(&mut text, &tree.registry, node),
            Some(OlcKind::Backend) => section(&mut text, &tree.registry, "backend", node),
            Some(OlcKind::Database) => {
                section(&mut text, &tree.registry, "database", node);
                for overlay in &node.children {
                    section(&mut text, &tree.registry, "overlay", overlay);
                }
            }
            _ => {}
        }
    }
    Ok(text)
}

fn section(text: &mut String, registry: &Registry, keyword: &str, node: &OlcNode) {
    let _ = writeln!(text, "\n{keyword} {}", index::split(&node.name).1);
    settings(text, registry, node);
}

/// The settings of a node. Attributes that only show a default are left out.
fn settings(text: &mut String, registry: &Registry, node: &OlcNode) {
    for attribute in in_order(registry, node) {
        let Some(row) = registry.with_attribute(attribute) else {
            continue;
        };
        if row.keywords.is_empty() || is_structure(row) {
            continue;
        }
        let held = row
            .attributes
            .iter()
            .map(|name| node.values(name))
            .find(|values| !values.is_empty());
        for value in held.unwrap_or_default() {
            let value = if row.form.is_ordered() {
                index::split_value(value).1
            } else {
                value
            };
            let value = if row.form.is_binary() {
                STANDARD.encode(value).into()
            } else {
                String::from_utf8_lossy(value)
            };
            if row.presence == Presence::Shown && value.eq_ignore_ascii_case(row.default) {
                continue;
            }
            // slapd.conf has a word for it, cn=config a boolean.
            if attribute == "olcSubordinate" && value.eq_ignore_ascii_case("TRUE") {
                line(text, "subordinate", "");
            } else {
                let _ = writeln!(text, "{}", statement_text(row, &value));
            }
        }
    }
}

fn is_structure(row: &Setting) -> bool {
    matches!(row.fate, Fate::Obeyed(Handler::Structure | Handler::Schema(_)))
}

fn line(text: &mut String, keyword: &str, value: &str) {
    let _ = writeln!(text, "{}", format!("{keyword} {value}").trim_end());
}
