//! From a typed configuration to the tree: the content of a slapd.conf file in the form of cn=config.

use std::path::Path;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use ironbark_model::{
    Schema,
    schema::{
        AttributeTypeDefinition, ContentRuleDefinition, ObjectClassDefinition, OidText, Source, SyntaxDefinition,
    },
};

use super::{
    index,
    tree::{OlcNode, Tree},
};
use crate::{
    DatabaseConfig, Fate, Handler, LoadedConfiguration, OverlayConfig, Presence, Setting,
    database::{DatabaseDescriptor, EntryPlace},
    reader::whole_value,
    registry::Registry,
    schema_statement::SchemaKind,
    statement::Kept,
};

/// The tree of a configuration.
pub fn render(configuration: &LoadedConfiguration) -> Tree {
    let (schema, registry) = (&*configuration.schema, &configuration.registry);
    let here = configuration.frontend.location.clone();
    let mut root = OlcNode::new("cn", "config", &["olcGlobal"], here.clone());
    fill(registry, &mut root, "olcGlobal", &|row| {
        global_values(configuration, row)
    });
    if let Some(modules) = modules(configuration, &here) {
        root.children.push(modules);
    }
    root.children.push(schema_node(configuration, &here));
    for (number, (kind, kept)) in configuration.backends.iter().enumerate() {
        root.children.push(backend(registry, number, kind, kept, &here));
    }
    root.children
        .push(database(schema, -1, &configuration.frontend, configuration));
    root.children
        .push(database(schema, 0, &configuration.config, configuration));
    for (number, settings) in (1..).zip(&configuration.databases) {
        root.children.push(database(schema, number, settings, configuration));
    }
    Tree {
        root,
        registry: registry.clone(),
    }
}

/// Gives a node the attributes of a class that have values, in the order of the class.
fn fill(registry: &Registry, node: &mut OlcNode, class: &str, values: &dyn Fn(&'static Setting) -> Vec<String>) {
    let Some(class) = registry.class(class) else { return };
    for attribute in class.must.iter().chain(class.may.iter()) {
        if !node.values(attribute).is_empty() {
            continue;
        }
        let Some(row) = node.row(registry, attribute) else {
            continue;
        };
        let mut found = values(row);
        if found.is_empty() && row.presence == Presence::Shown && !row.default.is_empty() {
            found.push(row.default.to_owned());
        }
        // A row without a default has an empty one. An empty value is still a value: the suffix of the root.
        let is_default = !row.default.is_empty() && found.iter().map(String::as_str).eq([row.default]);
        if is_default && row.presence != Presence::Shown {
            continue;
        }
        let mut found: Vec<Vec<u8>> = if row.form.is_binary() {
            // The settings have it in base64.
            found.iter().filter_map(|text| STANDARD.decode(text).ok()).collect()
        } else {
            let is_kept = matches!(row.fate, Fate::Meaningless(_));
            let in_form = |text: String| {
                if row.is_whole && !is_kept {
                    whole_value(row, &text)
                } else {
                    text
                }
            };
            found.into_iter().map(|text| in_form(text).into_bytes()).collect()
        };
        if row.form.is_ordered() {
            index::number(&mut found);
        }
        if row.form.is_binary() {
            node.set(&format!("{attribute};binary"), found);
        } else {
            node.set(attribute, found);
        }
    }
}

fn global_values(configuration: &LoadedConfiguration, row: &'static Setting) -> Vec<String> {
    let schema = &*configuration.schema;
    match row.fate {
        // It stands in the frontend: slapd reads cn=config before the modules that have the schemes.
        Fate::Obeyed(Handler::Global { .. }) if row.attributes == ["olcPasswordHash"] => Vec::new(),
        Fate::Obeyed(Handler::Global { get, .. }) => get(&configuration.global, schema),
        Fate::Obeyed(Handler::Database { get, .. }) => get(&configuration.frontend, schema),
        Fate::Obeyed(Handler::Schema(SchemaKind::AttributeOptions)) => attribute_options(configuration),
        Fate::Obeyed(Handler::Schema(kind)) => definitions(configuration, kind, &configuration.file),
        Fate::Meaningless(_) => match row.attributes {
            ["olcConfigFile"] if !configuration.file.is_empty() => vec![configuration.file.to_string()],
            _ => configuration.global.kept.of(row.name()),
        },
        Fate::Obeyed(Handler::Structure | Handler::Overlay { .. }) | Fate::Refused(_) => Vec::new(),
    }
}

fn attribute_options(configuration: &LoadedConfiguration) -> Vec<String> {
    let statements = configuration.schema_definitions.iter();
    let words = statements.filter(|statement| statement.kind == SchemaKind::AttributeOptions);
    words.flat_map(|statement| statement.words.clone()).collect()
}

/// The definitions of one kind in one file.
fn definitions(configuration: &LoadedConfiguration, kind: SchemaKind, file: &str) -> Vec<String> {
    let statements = configuration.schema_definitions.iter();
    statements
        .filter(|statement| statement.kind == kind && &*statement.location.file == file)
        .map(|statement| printed(kind, &statement.text))
        .collect()
}

/// A definition in slapd's form, with its macros as they were written.
pub(super) fn printed(kind: SchemaKind, text: &str) -> String {
    let as_written: OidText<'_> = &str::to_owned;
    let printed = match kind {
        SchemaKind::AttributeType => AttributeTypeDefinition::parse(text).map(|one| one.print(as_written)),
        SchemaKind::ObjectClass => ObjectClassDefinition::parse(text).map(|one| one.print(as_written)),
        SchemaKind::DitContentRule => ContentRuleDefinition::parse(text).map(|one| one.print(as_written)),
        SchemaKind::LdapSyntax => SyntaxDefinition::parse(text).map(|one| one.print(as_written)),
        SchemaKind::ObjectIdentifier => Ok(one_line(&text.replace('"', ""))),
        SchemaKind::AttributeOptions => Ok(one_line(text)),
    };
    // It was read successfully before.
    printed.unwrap_or_else(|_| one_line(text))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn modules(configuration: &LoadedConfiguration, here: &Source) -> Option<OlcNode> {
    let global = &configuration.global;
    let path = configuration
        .registry
        .with_attribute("olcModulePath")
        .map(|row| global.kept.of(row.name()));
    let path = path.unwrap_or_default();
    if global.modules.is_empty() && path.is_empty() {
        return None;
    }
    let mut node = OlcNode::new("cn", "module{0}", &["olcModuleList"], here.clone());
    // The last one counts, as for every setting with one value.
    if let Some(path) = path.into_iter().next_back() {
        node.add("olcModulePath", path.into_bytes());
    }
    let mut names: Vec<Vec<u8>> = global.modules.iter().map(|name| name.clone().into_bytes()).collect();
    index::number(&mut names);
    node.set("olcModuleLoad", names);
    Some(node)
}

/// cn=schema with the built-in definitions, and below it one entry for each included file with definitions.
fn schema_node(configuration: &LoadedConfiguration, here: &Source) -> OlcNode {
    let mut node = OlcNode::new("cn", "schema", &["olcSchemaConfig"], here.clone());
    built_in(configuration.registry.base_schema(), &mut node);
    let mut files: Vec<&str> = Vec::new();
    for statement in &*configuration.schema_definitions {
        let file = &*statement.location.file;
        if file != &*configuration.file && !files.contains(&file) && statement.kind != SchemaKind::AttributeOptions {
            files.push(file);
        }
    }
    for (number, file) in files.into_iter().enumerate() {
        let stem = Path::new(file)
            .file_stem()
            .map_or(file.into(), |stem| stem.to_string_lossy());
        let location = Source {
            file: file.into(),
            line: 1,
        };
        let name = format!("{{{number}}}{stem}");
        let mut child = OlcNode::new("cn", name, &["olcSchemaConfig"], location);
        fill(
            &configuration.registry,
            &mut child,
            "olcSchemaConfig",
            &|row| match row.fate {
                Fate::Obeyed(Handler::Schema(kind)) => definitions(configuration, kind, file),
                _ => Vec::new(),
            },
        );
        node.children.push(child);
    }
    node
}

/// The definitions that every configuration has.
fn built_in(schema: &Schema, node: &mut OlcNode) {
    let macros = schema.oid_macros().iter();
    let macros = macros.map(|one| format!("{} {}", one.name, one.value).into_bytes());
    node.set("olcObjectIdentifier", macros.collect());
    node.set("olcLdapSyntaxes", bytes(schema.syntax_definitions()));
    node.set("olcAttributeTypes", bytes(schema.attribute_type_definitions()));
    node.set("olcObjectClasses", bytes(schema.object_class_definitions()));
}

fn bytes<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<Vec<u8>> {
    texts.map(|text| text.as_bytes().to_vec()).collect()
}

fn backend(registry: &Registry, number: usize, kind: &DatabaseDescriptor, kept: &Kept, here: &Source) -> OlcNode {
    let name = format!("{{{number}}}{}", kind.name);
    let class = kind.backend_class.and_then(|class| class.names.first().copied());
    let classes: Vec<&str> = ["olcBackendConfig"].into_iter().chain(class).collect();
    let mut node = OlcNode::new("olcBackend", name, &classes, here.clone());
    for class in classes {
        fill(registry, &mut node, class, &|row| kept.of(row.name()));
    }
    node
}

fn database(schema: &Schema, number: i64, settings: &DatabaseConfig, configuration: &LoadedConfiguration) -> OlcNode {
    let name = format!("{{{number}}}{}", settings.kind.name);
    let own = match settings.kind.entries {
        EntryPlace::Frontend => Some("olcFrontendConfig"),
        // The server makes these entries: as slapd does, it shows them as of the common class.
        EntryPlace::Memory => None,
        _ => settings
            .kind
            .classes
            .first()
            .and_then(|class| class.names.first().copied()),
    };
    let classes: Vec<&str> = ["olcDatabaseConfig"].into_iter().chain(own).collect();
    let mut node = OlcNode::new("olcDatabase", name, &classes, settings.location.clone());
    let values = |row: &'static Setting| match row.fate {
        // Only a store has figures to show.
        _ if row.attributes == ["olcMonitoring"] && !settings.kind.has_indexes() => vec!["FALSE".to_owned()],
        Fate::Obeyed(Handler::Database { get, .. }) => {
            let found = get(settings, schema);
            let is_inherited = settings.kind.entries != EntryPlace::Frontend
                && matches!(row.attributes, ["olcSizeLimit" | "olcTimeLimit"])
                && found == get(&configuration.frontend, schema);
            if is_inherited { Vec::new() } else { found }
        }
        Fate::Obeyed(Handler::Global { get, .. }) => get(&configuration.global, schema),
        Fate::Meaningless(_) => {
            let global = settings.kind.entries == EntryPlace::Frontend;
            let mut found = settings.kept.of(row.name());
            if global && found.is_empty() {
                found = configuration.global.kept.of(row.name());
            }
            found
        }
        _ => Vec::new(),
    };
    for class in classes {
        fill(&configuration.registry, &mut node, class, &values);
    }
    for (number, settings) in settings.overlays.iter().enumerate() {
        node.children.push(overlay(configuration, number, settings));
    }
    node
}

fn overlay(configuration: &LoadedConfiguration, number: usize, settings: &OverlayConfig) -> OlcNode {
    let name = format!("{{{number}}}{}", settings.name());
    let own = settings
        .descriptor()
        .class
        .and_then(|class| class.names.first().copied());
    let classes: Vec<&str> = ["olcOverlayConfig"].into_iter().chain(own).collect();
    let mut node = OlcNode::new("olcOverlay", name, &classes, settings.location.clone());
    if let Some(class) = own {
        fill(&configuration.registry, &mut node, class, &|row| match row.fate {
            Fate::Obeyed(Handler::Overlay { get, .. }) => get(settings, &configuration.schema),
            Fate::Meaningless(_) => settings.kept.of(row.name()),
            _ => Vec::new(),
        });
    }
    node
}
