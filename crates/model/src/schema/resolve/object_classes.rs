//! Object classes of a batch: duplicates, superiors in any order, attribute references.

use super::{
    super::{ClassKind, ClassNumber, ObjectClass, ObjectClassDefinition, Schema, TypeNumber, builder::Sourced},
    Refusals,
    duplicates::{Strictness, same_object_class},
    expand, published,
};

struct Pending {
    entry: Sourced<ObjectClassDefinition>,
    oid: String,
}

pub(super) fn add(
    schema: &mut Schema,
    definitions: Vec<Sourced<ObjectClassDefinition>>,
    built_in: bool,
    refusals: &mut Refusals,
) {
    let base = schema.object_classes.len();
    let mut pending: Vec<Pending> = Vec::with_capacity(definitions.len());
    for entry in definitions {
        register(schema, entry, base, &mut pending, refusals);
    }
    // Forward references inside the batch are numbers already, so that one pass builds everything; cycles and kinds come after.
    let mut built = Vec::with_capacity(pending.len());
    for (position, slot) in pending.iter().enumerate() {
        let number = ClassNumber(u32::try_from(base + position).unwrap_or(u32::MAX));
        built.push(build(schema, slot, number, built_in, refusals));
    }
    schema.object_classes.append(&mut built);
    for (position, slot) in pending.iter().enumerate() {
        check_superiors(schema, base + position, slot, refusals);
    }
}

fn element(definition: &ObjectClassDefinition) -> String {
    let name = definition.common.names.first().unwrap_or(&definition.common.oid);
    format!("object class {name}")
}

fn register(
    schema: &mut Schema,
    entry: Sourced<ObjectClassDefinition>,
    base: usize,
    pending: &mut Vec<Pending>,
    refusals: &mut Refusals,
) {
    let definition = &entry.definition;
    let Some(oid) = expand(schema, &definition.common.oid) else {
        let reason = format!("OID could not be expanded: \"{}\"", definition.common.oid);
        refusals.add(&entry.source, element(definition), reason);
        return;
    };
    if let Some(number) = schema.class_names.find(oid.as_bytes()) {
        if let Err(known) = repeats(schema, pending, number as usize, base, definition) {
            let reason = format!("inconsistent duplicate of object class {known}");
            refusals.add(&entry.source, element(definition), reason);
        } else if let Some(known) = schema.object_classes.get_mut(number as usize) {
            // A file that defines it wants it seen.
            known.hidden = false;
        }
        return;
    }
    for name in &definition.common.names {
        if let Some(number) = schema.class_names.find(name.as_bytes()) {
            let taken = match schema.object_classes.get(number as usize) {
                Some(known) => known.oid.to_string(),
                None => pending
                    .get((number as usize).wrapping_sub(base))
                    .map_or_else(String::new, |slot| slot.oid.clone()),
            };
            let reason = format!("name \"{name}\" is taken by the object class with OID {taken}");
            refusals.add(&entry.source, element(definition), reason);
            return;
        }
    }
    let number = u32::try_from(base + pending.len()).unwrap_or(u32::MAX);
    schema.class_names.insert(oid.as_bytes(), number);
    for name in &definition.common.names {
        schema.class_names.insert(name.as_bytes(), number);
    }
    pending.push(Pending { entry, oid });
}

/// Whether a definition repeats a known one; otherwise the name of the one that it contradicts.
fn repeats(
    schema: &Schema,
    pending: &[Pending],
    number: usize,
    base: usize,
    new: &ObjectClassDefinition,
) -> Result<(), String> {
    if let Some(known) = schema.object_classes.get(number) {
        let (strictness, origin) = if known.built_in {
            (Strictness::NoContradiction, " (built in)")
        } else {
            (Strictness::Same, "")
        };
        return match ObjectClassDefinition::parse(&known.definition) {
            Ok(parsed) if same_object_class(&parsed, new, strictness) => Ok(()),
            _ => Err(format!("{}{origin}", known.name())),
        };
    }
    match pending.get(number.wrapping_sub(base)) {
        Some(slot) if same_object_class(&slot.entry.definition, new, Strictness::Same) => Ok(()),
        Some(slot) => {
            let name = slot
                .entry
                .definition
                .common
                .names
                .first()
                .map_or(slot.oid.as_str(), |name| name);
            Err(format!(
                "{name} ({}: line {})",
                slot.entry.source.file, slot.entry.source.line
            ))
        }
        None => Err(new.common.oid.to_string()),
    }
}

fn build(schema: &Schema, slot: &Pending, number: ClassNumber, built_in: bool, refusals: &mut Refusals) -> ObjectClass {
    let definition = &slot.entry.definition;
    let mut superiors = Vec::with_capacity(definition.superiors.len());
    for name in &definition.superiors {
        match class(schema, name) {
            Some(found) => superiors.push(found),
            None => refusals.add(
                &slot.entry.source,
                element(definition),
                format!("ObjectClass not found: \"{name}\""),
            ),
        }
    }
    let mut types = |names: &[Box<str>]| -> Vec<TypeNumber> {
        let mut found = Vec::with_capacity(names.len());
        for name in names {
            match attribute_type(schema, name) {
                Some(number) if !found.contains(&number) => found.push(number),
                Some(_) => {}
                None => refusals.add(
                    &slot.entry.source,
                    element(definition),
                    format!("AttributeType not found: \"{name}\""),
                ),
            }
        }
        found
    };
    let must = types(&definition.must);
    let may = types(&definition.may);
    ObjectClass {
        number,
        oid: slot.oid.as_str().into(),
        names: definition.common.names.clone(),
        description: definition.common.description.clone(),
        obsolete: definition.common.obsolete,
        superiors,
        kind: definition.kind,
        must,
        may,
        extensions: definition.common.extensions.clone(),
        definition: definition.print(&|oid| published(schema, oid)).into(),
        unexpanded_definition: definition.print(&str::to_owned).into(),
        hidden: slot.entry.hidden,
        built_in,
    }
}

/// An attribute type that a class or content rule names.
pub(super) fn attribute_type(schema: &Schema, name: &str) -> Option<TypeNumber> {
    let direct = schema.type_names.find(name.as_bytes());
    direct
        .or_else(|| schema.type_names.find(expand(schema, name)?.as_bytes()))
        .map(TypeNumber)
}

/// A class by name, OID or macro.
pub(super) fn class(schema: &Schema, name: &str) -> Option<ClassNumber> {
    let direct = schema.class_names.find(name.as_bytes());
    direct
        .or_else(|| schema.class_names.find(expand(schema, name)?.as_bytes()))
        .map(ClassNumber)
}

/// RFC 4512 §2.4: an abstract class has abstract superclasses, a structural one no auxiliary superclass and the other way round; no cycles.
fn check_superiors(schema: &Schema, position: usize, slot: &Pending, refusals: &mut Refusals) {
    let Some(class) = schema.object_classes.get(position) else {
        return;
    };
    for superior in &class.superiors {
        let Some(superior) = schema.object_classes.get(superior.0 as usize) else {
            continue;
        };
        let allowed = match class.kind {
            ClassKind::Abstract => superior.kind == ClassKind::Abstract,
            ClassKind::Structural => superior.kind != ClassKind::Auxiliary,
            ClassKind::Auxiliary => superior.kind != ClassKind::Structural,
        };
        if !allowed {
            refusals.add(
                &slot.entry.source,
                element(&slot.entry.definition),
                format!("ObjectClass inappropriate SUPerior: \"{}\"", superior.name()),
            );
        }
    }
    let mut reached = class.superiors.clone();
    let mut next = 0;
    while let Some(number) = reached.get(next).copied() {
        next += 1;
        if number == class.number {
            refusals.add(
                &slot.entry.source,
                element(&slot.entry.definition),
                "is a superclass of itself",
            );
            return;
        }
        for superior in schema
            .object_classes
            .get(number.0 as usize)
            .map_or(&[][..], |found| &found.superiors)
        {
            if !reached.contains(superior) {
                reached.push(*superior);
            }
        }
    }
}
