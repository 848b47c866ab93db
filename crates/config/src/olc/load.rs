//! From the tree to a typed configuration, through the rows of the settings table.

use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use ironbark_model::{Schema, schema::Source};

use super::{
    former::Former,
    index,
    tree::{OlcKind, OlcNode, Tree},
    unreadable,
};
use crate::{
    ConfigError, Fate, Handler, LoadedConfiguration, Setting, Survey, Surveyed,
    error::Complain,
    load::Loading,
    reader::ConfigLine,
    registry::Registry,
    schema_lines::{build_schema, is_ciboolean},
    schema_statement::{SchemaKind, SchemaStatement, definition_text},
};

/// Attributes of a database that others depend on. They are read first.
const FIRST: [&str; 5] = [
    "olcSuffix",
    "olcRootDN",
    "olcSizeLimit",
    "olcTimeLimit",
    "olcDbDirectory",
];

/// What the reader of a node needs to know beside the node.
#[derive(Clone, Copy)]
struct Place<'a> {
    registry: &'a Registry,
    former: &'a Former<'a>,
}

/// Reads a tree and checks all of it. As in slapd, names may have attribute types without a definition: the schema that
/// a suffix needs may come later.
///
/// # Errors
/// The first error; the location is that of the node.
pub fn load(tree: &Tree) -> Result<LoadedConfiguration, ConfigError> {
    let (mut schema, definitions) = schema(tree)?;
    Arc::make_mut(&mut schema).gather_unknown_types();
    let (mut configuration, _) = load_settings(tree, &Former::All, Loading::new(schema, &tree.registry), &mut Err)?;
    Arc::make_mut(&mut configuration.schema).end_gathering();
    configuration.keep_definitions(definitions);
    Ok(configuration)
}

/// Reads a tree that a client has changed while `current` was in force. Names may have attribute types without a
/// definition only if they had them before. `former`: the tree before the change. Values that it has were checked when
/// they were set; without it, all were.
///
/// # Errors
/// As of [`load`].
pub fn load_change(tree: &Tree, former: Option<&Tree>, current: &Schema) -> Result<LoadedConfiguration, ConfigError> {
    if let Some(former) = former {
        unreadable::check_definitions(&definitions(tree), &definitions(former), current)?;
    }
    let former = former.map_or(Former::All, Former::of);
    unreadable::check_copies(tree, &former)?;
    let (mut schema, definitions) = schema(tree)?;
    Arc::make_mut(&mut schema).take_unknown_types_of(current);
    let (mut configuration, _) = load_settings(tree, &former, Loading::new(schema, &tree.registry), &mut Err)?;
    configuration.keep_definitions(definitions);
    Ok(configuration)
}

/// Reads the whole tree in spite of errors.
pub fn survey(tree: &Tree) -> Survey {
    Survey::of(&tree.registry, |complain| {
        let (mut schema, definitions) = schema_on(tree, complain)?;
        Arc::make_mut(&mut schema).gather_unknown_types();
        let (mut configuration, statements) =
            load_settings(tree, &Former::All, Loading::surveying(schema, &tree.registry), complain)?;
        Arc::make_mut(&mut configuration.schema).end_gathering();
        configuration.keep_definitions(definitions);
        Ok((configuration, statements))
    })
}

fn load_settings(
    tree: &Tree,
    former: &Former<'_>,
    mut loading: Loading,
    complain: &mut Complain<'_>,
) -> Result<(LoadedConfiguration, Vec<Surveyed>), ConfigError> {
    let place = Place {
        registry: &tree.registry,
        former,
    };
    settings(&mut loading, place, &tree.root)?;
    for node in &tree.root.children {
        match node.kind() {
            Some(OlcKind::Module) => settings(&mut loading, place, node)?,
            Some(OlcKind::Backend) => section(&mut loading, place, node, "backend")?,
            Some(OlcKind::Database) => {
                section(&mut loading, place, node, "database")?;
                if former.has(node) {
                    loading.database_is_older();
                }
                for overlay in &node.children {
                    section(&mut loading, place, overlay, "overlay")?;
                    if is_disabled(overlay) {
                        loading.disable_overlay(&overlay.location);
                    }
                }
            }
            // The content of an included file stands in its own entries.
            Some(OlcKind::Schema | OlcKind::Include) => {}
            Some(OlcKind::Global | OlcKind::Overlay) | None => {
                complain(refused(node, &format!("{} is out of place", node.rdn())))?;
            }
        }
    }
    loading.finish(complain)
}

fn refused(node: &OlcNode, reason: &str) -> ConfigError {
    ConfigError::of_line(&node.location, reason)
}

/// An overlay without effect.
fn is_disabled(overlay: &OlcNode) -> bool {
    overlay
        .texts("olcDisabled")
        .any(|value| value.eq_ignore_ascii_case("TRUE"))
}

/// A database, backend or overlay: its type and its settings.
fn section(loading: &mut Loading, place: Place<'_>, node: &OlcNode, keyword: &str) -> Result<(), ConfigError> {
    let row = place.registry.with_keyword(keyword).next();
    let row = row.ok_or_else(|| refused(node, "no such section"))?;
    let (_, name) = index::split(&node.name);
    loading.apply(row, &ConfigLine::of_value(row, keyword, name, &node.location))?;
    settings(loading, place, node)
}

/// The settings of one node, ordered so that none needs a later one.
fn settings(loading: &mut Loading, place: Place<'_>, node: &OlcNode) -> Result<(), ConfigError> {
    let registry = place.registry;
    let seen = in_order(registry, node);
    for attribute in &seen {
        attribute_values(loading, place, node, attribute)?;
    }
    // Other names of an attribute, and attributes that no class allows: the check of the entry reports these.
    for (name, _) in &node.attributes {
        match registry.with_attribute(name) {
            Some(row) if !row.attributes.iter().any(|name| seen.contains(name)) => {
                attribute_values(loading, place, node, name)?;
            }
            None if registry.base_schema().attribute_description(name.as_bytes()).is_err() => {
                loading.unknown_attribute(&ConfigLine::of_unknown(name, &node.location))?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// The attributes that the classes of a node allow, ordered so that none needs a later one.
pub(super) fn in_order(registry: &Registry, node: &OlcNode) -> Vec<&'static str> {
    let of_classes = registry.order_of(node.texts("objectClass").collect::<Vec<_>>().into_iter());
    let mut order: Vec<&'static str> = FIRST.to_vec();
    for attribute in of_classes {
        if !order.contains(&attribute) {
            order.push(attribute);
        }
    }
    order
}

fn attribute_values(
    loading: &mut Loading,
    place: Place<'_>,
    node: &OlcNode,
    attribute: &str,
) -> Result<(), ConfigError> {
    let Some(row) = node.row(place.registry, attribute) else {
        return Ok(());
    };
    let Some(name) = row.attributes.iter().find(|name| !node.values(name).is_empty()) else {
        return Ok(());
    };
    if is_elsewhere(row, node) {
        return Ok(());
    }
    loading.value_age(place.former.value_age(node, name));
    for value in node.values(name) {
        let value = if row.form.is_ordered() {
            index::split_value(value).1
        } else {
            value
        };
        let text = if row.form.is_binary() {
            STANDARD.encode(value)
        } else {
            let not_text = |_| ConfigError::of_setting(&node.location, name, "value is not UTF-8 text");
            String::from_utf8(value.to_vec()).map_err(not_text)?
        };
        loading.apply(row, &ConfigLine::of_value(row, name, &text, &node.location))?;
    }
    Ok(())
}

/// The RDN, schema definitions, and attributes that are shown but not set.
fn is_elsewhere(row: &Setting, node: &OlcNode) -> bool {
    matches!(row.fate, Fate::Obeyed(Handler::Structure | Handler::Schema(_)))
        || matches!(row.attributes, ["olcConfigFile" | "olcConfigDir"])
        || (row.attributes == ["olcDisabled"] && node.kind() == Some(OlcKind::Overlay))
}

/// The schema of a tree. Definitions in cn=schema that another server shows as its own and that cannot be parsed here
/// are skipped.
pub(super) fn schema(tree: &Tree) -> Result<(Arc<Schema>, Vec<SchemaStatement>), ConfigError> {
    schema_on(tree, &mut Err)
}

/// The same; `complain` decides for each invalid definition whether the others are read without it.
fn schema_on(tree: &Tree, complain: &mut Complain<'_>) -> Result<(Arc<Schema>, Vec<SchemaStatement>), ConfigError> {
    let registry = &tree.registry;
    let (mut definitions, any_case_booleans) = (definitions(tree), loads_ciboolean(tree));
    let topmost = tree
        .root
        .children
        .iter()
        .find(|node| node.kind() == Some(OlcKind::Schema));
    let topmost = topmost.map(|node| format!("{} {} ", node.location.file, node.rdn()));
    loop {
        let refusal = match build_schema(registry, &definitions, any_case_booleans, &mut Err) {
            Ok(schema) => return Ok((schema, definitions)),
            Err(refusal) => refusal,
        };
        let Some(location) = refusal.location() else {
            return Err(refusal);
        };
        let is_foreign = topmost.as_ref().is_some_and(|file| location.file.starts_with(file));
        let at = definitions.iter().position(|one| one.location == *location);
        let Some(at) = at else { return Err(refusal) };
        if !is_foreign {
            complain(refusal)?;
        }
        definitions.remove(at);
    }
}

/// Whether the module is loaded after which Boolean values may have any case.
fn loads_ciboolean(tree: &Tree) -> bool {
    let lists = tree
        .root
        .children
        .iter()
        .filter(|node| node.kind() == Some(OlcKind::Module));
    let mut modules = lists.flat_map(|node| node.values("olcModuleLoad"));
    modules.any(|value| {
        String::from_utf8_lossy(value)
            .split_whitespace()
            .next()
            .is_some_and(is_ciboolean)
    })
}

/// The schema definitions of a tree, in order.
fn definitions(tree: &Tree) -> Vec<SchemaStatement> {
    let mut found = Vec::new();
    collect(&tree.registry, &tree.root, false, &mut found);
    for node in tree
        .root
        .children
        .iter()
        .filter(|node| node.kind() == Some(OlcKind::Schema))
    {
        // cn=schema shows the built-in definitions. If another server wrote it, it has that server's.
        collect(&tree.registry, node, true, &mut found);
        collect_below(&tree.registry, node, &mut found);
    }
    found
}

/// The definitions of the entries below one of them. slapd nests them as the files that it has read include each other.
fn collect_below(registry: &Registry, node: &OlcNode, found: &mut Vec<SchemaStatement>) {
    for child in &node.children {
        collect(registry, child, false, found);
        collect_below(registry, child, found);
    }
}

fn collect(registry: &Registry, node: &OlcNode, but_built_in: bool, found: &mut Vec<SchemaStatement>) {
    for attribute in [
        "olcAttributeOptions",
        "olcObjectIdentifier",
        "olcLdapSyntaxes",
        "olcAttributeTypes",
        "olcObjectClasses",
        "olcDitContentRules",
    ] {
        let Some(Fate::Obeyed(Handler::Schema(kind))) = registry.with_attribute(attribute).map(|row| row.fate) else {
            continue;
        };
        for (number, value) in (1..).zip(node.values(attribute)) {
            let text = definition_text(value);
            let (_, text) = index::split(&text);
            if (but_built_in && is_built_in(registry, kind, text)) || is_default_option(kind, node, text) {
                continue;
            }
            found.push(SchemaStatement {
                kind,
                text: text.to_owned(),
                words: text.split_whitespace().map(str::to_owned).collect(),
                location: Source {
                    file: format!("{} {} {attribute}", node.location.file, node.rdn()).into(),
                    line: number,
                },
            });
        }
    }
}

/// `lang-` alone is the default.
fn is_default_option(kind: SchemaKind, node: &OlcNode, text: &str) -> bool {
    kind == SchemaKind::AttributeOptions && text == "lang-" && node.values("olcAttributeOptions").len() == 1
}

/// Whether a definition is about a built-in element, whatever its content.
fn is_built_in(registry: &Registry, kind: SchemaKind, text: &str) -> bool {
    let schema = registry.base_schema();
    let first = text.trim_start_matches(['(', ' ', '\t']).split_whitespace().next();
    let Some(first) = first else { return false };
    let oid = schema.expand_oid_macro(first).unwrap_or_else(|| first.to_owned());
    match kind {
        SchemaKind::ObjectIdentifier => schema
            .oid_macros()
            .iter()
            .any(|known| known.name.eq_ignore_ascii_case(first)),
        SchemaKind::LdapSyntax => schema.find_syntax(&oid).is_some(),
        SchemaKind::AttributeType => schema.find_attribute_type(oid.as_bytes()).is_some(),
        SchemaKind::ObjectClass => schema.find_object_class(oid.as_bytes()).is_some(),
        SchemaKind::DitContentRule | SchemaKind::AttributeOptions => false,
    }
}
