//! The schema of cn=config as definitions on top of the system schema.

use std::{collections::BTreeSet, sync::Arc};

use ironbark_model::{
    Schema,
    schema::{SchemaBuilder, SchemaErrors, Source, file},
};

use super::classes::{self, ClassRow};
use crate::{database::DatabaseDescriptor, overlay::OverlayDescriptor, rows, setting::Setting};

/// The system schema, that of cn=config, and those of the overlays.
///
/// # Errors
/// An OID, a name or a definition is wrong or is there twice.
pub(crate) fn build(
    overlays: &[&'static OverlayDescriptor],
    databases: &[&'static DatabaseDescriptor],
) -> Result<Arc<Schema>, SchemaErrors> {
    let source = Source {
        file: "built-in".into(),
        line: 0,
    };
    let mut builder = SchemaBuilder::new().built_in();
    for row in attributes(overlays, databases) {
        builder.attributetype(&attribute_type(row), &source)?;
    }
    for row in classes::all(overlays, databases) {
        builder.objectclass(&object_class(&row), &source)?;
    }
    builder.hide();
    // Overlays may share a file.
    let mut seen = BTreeSet::new();
    for overlay in overlays {
        let (own, _) = overlay.definitions();
        if seen.insert(own) {
            file::read(&mut builder, own, &source.file)?;
        }
    }
    builder.build()
}

/// The rows that have an attribute: those of the server and of databases, then those of each overlay, by OID. Of rows
/// that share an attribute it is the first.
fn attributes(
    overlays: &[&'static OverlayDescriptor],
    databases: &[&'static DatabaseDescriptor],
) -> Vec<&'static Setting> {
    let own = rows::global::ROWS.iter().chain(rows::database::ROWS).copied().flatten();
    let external = databases
        .iter()
        .flat_map(|database| database.settings)
        .copied()
        .flatten();
    let mut own: Vec<_> = own.chain(external).filter(|row| !row.attributes.is_empty()).collect();
    own.sort_by_key(|row| place(row.oid));
    let mut overlays = overlays.to_vec();
    overlays.sort_by_key(|overlay| overlay.class.map(|class| classes::numbers(class.oid)));
    for overlay in overlays {
        let mut rows: Vec<_> = overlay
            .settings
            .iter()
            .filter(|row| !row.attributes.is_empty())
            .collect();
        rows.sort_by_key(|row| (row.oid.starts_with('+'), place(row.oid)));
        own.extend(rows);
    }
    let mut seen = BTreeSet::new();
    own.retain(|row| seen.insert(row.oid));
    own
}

/// The sort key of an OID: the arc above it as text, and its number. Our own OIDs follow those of slapd's server.
fn place(oid: &str) -> (&str, bool, u32) {
    let number = |text: &str| text.parse().unwrap_or(u32::MAX);
    if let Some(own) = oid.strip_prefix('+') {
        return ("0", true, number(own));
    }
    let (above, last) = oid.rsplit_once('.').unwrap_or(("", oid));
    (above, false, number(last))
}

fn attribute_type(row: &Setting) -> String {
    format!(
        "( {} NAME {} {} )",
        row.full_oid(),
        names(row.attributes),
        row.form.definition()
    )
}

fn object_class(row: &ClassRow) -> String {
    let list = |keyword: &str, names: &[&str]| match names {
        [] => String::new(),
        [one] => format!(" {keyword} {one}"),
        all => format!(" {keyword} ( {} )", all.join(" $ ")),
    };
    format!(
        "( {} NAME {} {}{}{} )",
        classes::full_oid(row.oid),
        names(row.names),
        row.kind,
        list("MUST", &row.must),
        list("MAY", &row.may)
    )
}

fn names(names: &[&str]) -> String {
    match names {
        [one] => format!("'{one}'"),
        all => format!("( '{}' )", all.join("' '")),
    }
}
