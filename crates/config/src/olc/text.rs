//! From the tree to the text of a slapd.conf file.

use std::fmt::Write as _;

use base64::{Engine as _, engine::general_purpose::STANDARD};

use super::{
    index,
    load::{in_order, schema},
    tree::{Kind, Node, Tree},
};
use crate::{ConfigError, Fate, Handler, Setting, olc_schema::attributes, reference::statement_text, table};

/// A slapd.conf file that says what the tree says. Loading it gives the same configuration.
///
/// # Errors
/// The first schema definition that is wrong.
pub fn slapd_conf(tree: &Tree) -> Result<String, ConfigError> {
    let mut text = String::new();
    let (_, definitions) = schema(tree)?;
    for definition in definitions {
        let row = crate::settings()
            .find(|row| matches!(row.fate, Fate::Obeyed(Handler::Schema(kind)) if kind == definition.kind));
        if let Some(row) = row {
            line(&mut text, row.name(), &definition.text);
        }
    }
    settings(&mut text, &tree.root);
    for node in &tree.root.children {
        match node.kind() {
            Some(Kind::Module) => settings(&mut text, node),
            Some(Kind::Backend) => section(&mut text, "backend", node),
            Some(Kind::Database) => {
                section(&mut text, "database", node);
                for overlay in &node.children {
                    section(&mut text, "overlay", overlay);
                }
            }
            _ => {}
        }
    }
    Ok(text)
}

fn section(text: &mut String, keyword: &str, node: &Node) {
    let _ = writeln!(text, "\n{keyword} {}", index::split(&node.name).1);
    settings(text, node);
}

/// The settings of a node. What is shown although it is so anyway is left out.
fn settings(text: &mut String, node: &Node) {
    for attribute in in_order(node) {
        let (Some(row), Some(form)) = (table::with_attribute(attribute), attributes::find(attribute)) else {
            continue;
        };
        if row.keywords.is_empty() || is_structure(row) {
            continue;
        }
        let held = form
            .names
            .iter()
            .map(|name| node.values(name))
            .find(|values| !values.is_empty());
        for value in held.unwrap_or_default() {
            let value = if form.form.is_ordered() {
                index::split_value(value).1
            } else {
                value
            };
            let value = if form.form.is_binary() {
                STANDARD.encode(value).into()
            } else {
                String::from_utf8_lossy(value)
            };
            if form.is_always_shown && value.eq_ignore_ascii_case(row.default) {
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
