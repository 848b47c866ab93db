//! From a batch of definitions to a schema: macros, duplicates, references, inheritance.

mod attribute_types;
mod closures;
mod content_rules;
mod duplicates;
mod object_classes;
mod refusals;
mod register;

use self::{
    refusals::{Refusals, expand, published},
    register::Element,
};
use super::{
    AttributeType, ObjectClass, OidMacro, Schema, SchemaErrors, SyntaxRow,
    builder::SchemaBuilder,
    closures::Closures,
    definition::SyntaxDefinition,
    sourced::{MacroDefinition, Sourced},
    syntaxes,
};
use crate::syntax::Syntax;

/// Lets the subschema subentry show the elements of a schema that a batch defines again, found by their numeric OIDs.
pub(super) fn reveal(schema: &mut Schema, again: &SchemaBuilder) {
    for entry in &again.attribute_types {
        if let Some(number) = schema.type_names.find(entry.definition.common.oid.as_bytes()) {
            AttributeType::reveal(schema, number as usize);
        }
    }
    for entry in &again.object_classes {
        if let Some(number) = schema.class_names.find(entry.definition.common.oid.as_bytes()) {
            ObjectClass::reveal(schema, number as usize);
        }
    }
}

/// Adds the batch to its base.
pub(super) fn resolve(builder: SchemaBuilder) -> Result<Schema, SchemaErrors> {
    let SchemaBuilder {
        base: mut schema,
        macros,
        syntaxes,
        attribute_types,
        object_classes,
        content_rules,
        built_in,
        hidden: _,
    } = builder;
    let mut refusals = Refusals::default();
    add_macros(&mut schema, macros, &mut refusals);
    for syntax in syntaxes {
        add_syntax(&mut schema, &syntax, &mut refusals);
    }
    attribute_types::add(&mut schema, attribute_types, built_in, &mut refusals);
    object_classes::add(&mut schema, object_classes, built_in, &mut refusals);
    content_rules::add(&mut schema, content_rules, &mut refusals);
    if !refusals.0.is_empty() {
        return Err(SchemaErrors(refusals.0));
    }
    schema.closures = Closures::compute(&schema.attribute_types, &schema.object_classes);
    Ok(schema)
}

/// Macros may refer to later ones. So they are added in rounds, until a round adds nothing.
fn add_macros(schema: &mut Schema, mut pending: Vec<Sourced<MacroDefinition>>, refusals: &mut Refusals) {
    loop {
        let before = pending.len();
        pending.retain(|entry| {
            let Some(oid) = expand(schema, &entry.definition.value) else {
                return true;
            };
            let known = schema.macros.iter().find(|known| known.name == entry.definition.name);
            match known {
                Some(known) if *known.oid != *oid => refusals.add(
                    &entry.source,
                    format!("object identifier {}", entry.definition.name),
                    format!("already stands for {}, cannot stand for {oid}", known.oid),
                ),
                Some(_) => {}
                None => schema.macros.push(OidMacro {
                    name: entry.definition.name.clone(),
                    value: entry.definition.value.clone(),
                    oid: oid.into(),
                }),
            }
            false
        });
        if pending.len() == before {
            break;
        }
    }
    for entry in pending {
        refusals.add(
            &entry.source,
            format!("object identifier {}", entry.definition.name),
            format!("OID could not be expanded: \"{}\"", entry.definition.value),
        );
    }
}

fn add_syntax(schema: &mut Schema, entry: &Sourced<SyntaxDefinition>, refusals: &mut Refusals) {
    let definition = &entry.definition;
    let element = format!("LDAP syntax {}", definition.common.oid);
    let Some(oid) = expand(schema, &definition.common.oid) else {
        refusals.add(
            &entry.source,
            element,
            format!("OID could not be expanded: \"{}\"", definition.common.oid),
        );
        return;
    };
    let text: Box<str> = definition.print(&|oid| published(schema, oid)).into();
    let substitute = match definition.extension("X-SUBST") {
        None => None,
        Some(name) => {
            let found = expand(schema, name).and_then(|oid| schema.find_syntax(&oid));
            if found.is_none() {
                refusals.add(
                    &entry.source,
                    element,
                    format!("substitute syntax not found: \"{name}\""),
                );
                return;
            }
            found
        }
    };
    if let Some(known) = schema.syntaxes.iter().find(|row| row.syntax.oid == oid) {
        if !known.built_in && known.definition != text {
            refusals.add(
                &entry.source,
                element,
                "inconsistent duplicate of a syntax defined before",
            );
        }
        return;
    }
    schema.syntaxes.push(SyntaxRow {
        syntax: substituted(definition, &oid, substitute),
        definition: text,
        unexpanded_definition: definition.print(&str::to_owned).into(),
        built_in: false,
        // As in slapd, clients are not told of a syntax to which no value conforms.
        hidden: entry.hidden || substitute.is_none(),
    });
}

fn substituted(definition: &SyntaxDefinition, oid: &str, substitute: Option<&'static Syntax>) -> &'static Syntax {
    let description = definition.common.description.as_deref().unwrap_or_default();
    let human_readable = match definition.extension("X-NOT-HUMAN-READABLE") {
        Some(value) => !value.eq_ignore_ascii_case("TRUE"),
        None => substitute.is_none_or(|substitute| substitute.human_readable),
    };
    syntaxes::defined(oid, description, substitute, human_readable)
}
