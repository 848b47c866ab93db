//! The reference page and `help`, made from the rows of settings.

use std::fmt::Write as _;

use crate::{
    reader,
    registry::Registry,
    setting::{Fate, OWN, Owner, Setting, SettingLevel},
};

/// The reference page, docs/settings.md.
pub fn reference_markdown(registry: &Registry) -> String {
    let mut page = String::from(
        "# Settings\n\n\
         This page is made from the table of settings by the tests of `crates/overlays`; do not edit it.\n\n\
         Each setting of OpenLDAP 2.4 to 2.7 that a slapd.conf may hold has one of three fates. A setting that is \
         **obeyed** takes effect. A setting **without meaning** is accepted, and the log says so. A setting that is \
         **refused** belongs to a part that is not built yet; the error names file and line.\n",
    );
    let mut heading = String::new();
    for row in registry.settings() {
        let section = section(row.level);
        if section != heading {
            heading = section;
            // Writing to a string cannot fail, here and below.
            let _ = write!(page, "\n## {heading}\n");
            let text = introduction(registry, row.level);
            if !text.is_empty() {
                let _ = write!(page, "\n{text}\n");
            }
        }
        page.push('\n');
        entry(&mut page, row);
    }
    for overlay in registry.overlays().iter().filter(|overlay| overlay.settings.is_empty()) {
        let _ = write!(page, "\n## Overlay {}\n\n{}\n", overlay.name, overlay.introduction);
    }
    page
}

/// The meaning of a keyword (or a cn=config attribute), for a terminal; `None` if there is no such setting.
pub fn help(registry: &Registry, name: &str) -> Option<String> {
    let rows = registry.settings().filter(|row| {
        row.has_keyword(name)
            || row
                .attributes
                .iter()
                .any(|attribute| attribute.eq_ignore_ascii_case(name))
    });
    let entries: Vec<String> = rows
        .map(|row| {
            let mut text = String::new();
            entry(&mut text, row);
            text.replace("**", "")
                .replace('`', "")
                .trim_start_matches("### ")
                .to_owned()
        })
        .collect();
    if entries.is_empty() {
        None
    } else {
        Some(entries.join("\n"))
    }
}

fn section(level: SettingLevel) -> String {
    match level {
        SettingLevel::Global | SettingLevel::BeforeDatabases => "Server".to_owned(),
        SettingLevel::Inherited | SettingLevel::Database => "Databases".to_owned(),
        SettingLevel::DatabaseOf(["mdb", ..]) | SettingLevel::Backend(_) => {
            "Databases mdb (also hdb, bdb) and ldif".to_owned()
        }
        SettingLevel::DatabaseOf(kinds) => format!("Database {}", kinds.join(" and ")),
        SettingLevel::Overlay(name) => format!("Overlay {name}"),
    }
}

/// What is there of an overlay or a type of database, where its settings do not say it.
fn introduction(registry: &Registry, level: SettingLevel) -> &'static str {
    match level {
        SettingLevel::Overlay(name) => registry.overlay(name).map_or("", |overlay| overlay.introduction),
        SettingLevel::DatabaseOf([name]) => registry.database(name).map_or("", |database| database.introduction),
        _ => "",
    }
}

fn entry(page: &mut String, row: &Setting) {
    let title = format!("{} {}", row.name(), row.grammar);
    let _ = writeln!(page, "### {}\n", title.trim_end().replace('<', "\\<"));
    let _ = writeln!(page, "{}\n", row.documentation);
    let fate = match row.fate {
        Fate::Obeyed(_) => "**obeyed**".to_owned(),
        Fate::Meaningless(reason) => format!("**without meaning**: {reason}"),
        Fate::Refused(part) => format!("**refused**: {part} is not built yet"),
    };
    let _ = writeln!(page, "- {fate}");
    let _ = writeln!(page, "- stands {}", place(row.level));
    if !row.default.is_empty() {
        let _ = writeln!(page, "- default: `{}`", row.default);
    }
    if let Some(others) = row.keywords.get(1..).filter(|others| !others.is_empty()) {
        let _ = writeln!(page, "- also written: {}", code(others));
    }
    if !row.attributes.is_empty() {
        let when = match row.fate {
            Fate::Obeyed(_) if row.waits_for_start => "; a change comes into force at the next start",
            Fate::Obeyed(_) => "; a change comes into force at once",
            Fate::Meaningless(_) | Fate::Refused(_) => "",
        };
        let _ = writeln!(page, "- in cn=config: {}{when}", code(row.attributes));
    }
    if row.owner == Owner::Server {
        let _ = writeln!(page, "- each server's own, where cn=config is that of a cluster");
    }
    for example in row.examples {
        let _ = writeln!(page, "- example: `{}`", statement_text(row, example));
    }
    let _ = if row.since == OWN {
        writeln!(page, "- Ironbark's own")
    } else {
        writeln!(page, "- since OpenLDAP {}", row.since)
    };
}

/// The slapd.conf line that sets a value given in the form of cn=config (or of a row's examples).
pub fn statement_text(row: &Setting, value: &str) -> String {
    let value = if reader::is_same_in_a_file(row, value) {
        value.to_owned()
    } else {
        let words = reader::arguments(row, value);
        let words: Vec<String> = words.iter().map(|word| reader::quote(word)).collect();
        words.join(" ")
    };
    format!("{} {value}", row.name()).trim_end().to_owned()
}

fn code(words: &[&str]) -> String {
    words
        .iter()
        .map(|word| format!("`{word}`"))
        .collect::<Vec<_>>()
        .join(", ")
}

fn place(level: SettingLevel) -> String {
    match level {
        SettingLevel::Global => "anywhere".to_owned(),
        SettingLevel::BeforeDatabases => "before the first database".to_owned(),
        SettingLevel::Inherited => "in the global section or in a database".to_owned(),
        SettingLevel::Database => "in a database".to_owned(),
        SettingLevel::DatabaseOf(kinds) => format!("in a database of type {}", kinds.join(" or ")),
        SettingLevel::Backend(kind) => format!("after `backend {kind}`"),
        SettingLevel::Overlay(name) => format!("after `overlay {name}`"),
    }
}
