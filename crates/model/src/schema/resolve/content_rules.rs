//! DIT content rules of a batch.

use super::{
    super::{ClassKind, ClassNumber, ContentRule, ContentRuleDefinition, Schema, TypeNumber},
    duplicates::same_content_rule,
    object_classes::{self, attribute_type},
    refusals::{RefusalReason, Refusals},
};
use crate::schema::sourced::Sourced;

pub(super) fn add(schema: &mut Schema, definitions: Vec<Sourced<ContentRuleDefinition>>, refusals: &mut Refusals) {
    for entry in definitions {
        if let Err(reason) = add_one(schema, &entry.definition) {
            let common = &entry.definition.common;
            let name = common.names.first().unwrap_or(&common.oid);
            refusals.add(&entry.source, format!("DIT content rule {name}"), reason);
        }
    }
}

fn add_one(schema: &mut Schema, definition: &ContentRuleDefinition) -> Result<(), RefusalReason> {
    let structural_class = class(schema, &definition.common.oid, ClassKind::Structural)?;
    if let Some(known) = schema.content_rule(structural_class) {
        return match ContentRuleDefinition::parse(&known.definition) {
            Ok(known) if same_content_rule(&known, definition) => Ok(()),
            _ => Err(RefusalReason::DuplicateContentRule),
        };
    }
    let auxiliary = definition
        .auxiliary
        .iter()
        .map(|name| class(schema, name, ClassKind::Auxiliary))
        .collect::<Result<Vec<_>, _>>()?;
    let types = |names: &[Box<str>]| -> Result<Vec<TypeNumber>, RefusalReason> {
        names
            .iter()
            .map(|name| attribute_type(schema, name).ok_or_else(|| RefusalReason::UnknownAttributeType(name.clone())))
            .collect()
    };
    let rule = ContentRule {
        structural_class,
        names: definition.common.names.clone(),
        obsolete: definition.common.obsolete,
        auxiliary,
        must: types(&definition.must)?,
        may: types(&definition.may)?,
        not: types(&definition.not)?,
        definition: definition.print(&|oid| class_oid(schema, oid)).into(),
        unexpanded_definition: definition.print(&str::to_owned).into(),
    };
    schema.content_rules.push(rule);
    Ok(())
}

/// The rule's identifier is the OID of its class. As in slapd it may be the class's name.
fn class_oid(schema: &Schema, text: &str) -> String {
    let found = object_classes::class(schema, text).and_then(|number| schema.object_classes.get(number.0 as usize));
    found.map_or_else(|| text.to_owned(), |class| class.oid.to_string())
}

fn class(schema: &Schema, name: &str, kind: ClassKind) -> Result<ClassNumber, RefusalReason> {
    let found = object_classes::class(schema, name).and_then(|number| schema.object_classes.get(number.0 as usize));
    let Some(found) = found else {
        return Err(RefusalReason::UnknownObjectClass(name.into()));
    };
    if found.kind != kind {
        return Err(RefusalReason::WrongObjectClass(name.into()));
    }
    Ok(found.number)
}
