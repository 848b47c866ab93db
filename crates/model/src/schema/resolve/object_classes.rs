//! Object classes of a batch: duplicates, superiors in any order, attribute references.

use super::{
    super::{
        AttributeType, ClassKind, ClassNumber, ObjectClass, ObjectClassDefinition, Schema, TypeNumber,
        definition::Common, name_index::NameIndex,
    },
    duplicates::{Strictness, same_object_class},
    refusals::{Refusals, expand, published},
    register::{Element, Identity, element, register},
};
use crate::schema::sourced::Sourced;

type Pending = super::register::Pending<ObjectClassDefinition>;

impl Element for ObjectClass {
    type Definition = ObjectClassDefinition;
    const KIND: &'static str = "object class";

    fn common(definition: &ObjectClassDefinition) -> &Common {
        &definition.common
    }
    fn names(schema: &mut Schema) -> &mut NameIndex {
        &mut schema.class_names
    }
    fn elements(schema: &mut Schema) -> &mut Vec<Self> {
        &mut schema.object_classes
    }
    fn identity(&self) -> Identity<'_> {
        Identity {
            name: self.name(),
            oid: &self.oid,
            built_in: self.built_in,
            hidden: self.hidden,
        }
    }
    fn reveal(schema: &mut Schema, number: usize) {
        let mut waiting = vec![number];
        while let Some(number) = waiting.pop() {
            let Some(class) = schema.object_classes.get_mut(number).filter(|class| class.hidden) else {
                continue;
            };
            class.hidden = false;
            waiting.extend(class.superiors.iter().map(|superior| superior.0 as usize));
            let named: Vec<_> = class
                .must
                .iter()
                .chain(&class.may)
                .map(|found| found.0 as usize)
                .collect();
            for number in named {
                AttributeType::reveal(schema, number);
            }
        }
    }
    fn says(&self, _: &Schema, new: &ObjectClassDefinition, strictness: Strictness) -> bool {
        ObjectClassDefinition::parse(&self.definition).is_ok_and(|known| same_object_class(&known, new, strictness))
    }
    fn same(_: &Schema, known: &ObjectClassDefinition, new: &ObjectClassDefinition) -> bool {
        same_object_class(known, new, Strictness::Same)
    }
}

pub(super) fn add(
    schema: &mut Schema,
    definitions: Vec<Sourced<ObjectClassDefinition>>,
    built_in: bool,
    refusals: &mut Refusals,
) {
    let base = schema.object_classes.len();
    let pending = register::<ObjectClass>(schema, definitions, refusals);
    // Forward references inside the batch are already numbers, so one pass builds everything. Cycles and kinds are
    // checked afterwards.
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

fn build(schema: &Schema, slot: &Pending, number: ClassNumber, built_in: bool, refusals: &mut Refusals) -> ObjectClass {
    let definition = &slot.entry.definition;
    let mut superiors = Vec::with_capacity(definition.superiors.len());
    for name in &definition.superiors {
        match class(schema, name) {
            Some(found) => superiors.push(found),
            None => refusals.add(
                &slot.entry.source,
                element::<ObjectClass>(definition),
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
                    element::<ObjectClass>(definition),
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

/// RFC 4512 §2.4: an abstract class has only abstract superclasses, a structural class has no auxiliary superclass, an
/// auxiliary class has no structural superclass, and there are no cycles.
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
                element::<ObjectClass>(&slot.entry.definition),
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
                element::<ObjectClass>(&slot.entry.definition),
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
