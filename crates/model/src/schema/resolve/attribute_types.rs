//! Attribute types of a batch: duplicates, superiors in any order, inherited rules and syntaxes.

use super::{
    super::{AttributeType, AttributeTypeDefinition, Schema, TypeNumber, Usage, builder::Sourced},
    Refusals,
    duplicates::{Strictness, same_attribute_type},
    expand, published,
};
use crate::{
    matching::{self, MatchingRule, RuleKind},
    syntax::Syntax,
};

/// A definition that is no duplicate, with its numeric OID.
struct Pending {
    entry: Sourced<AttributeTypeDefinition>,
    oid: String,
    built: Option<AttributeType>,
    failed: bool,
}

pub(super) fn add(
    schema: &mut Schema,
    definitions: Vec<Sourced<AttributeTypeDefinition>>,
    built_in: bool,
    refusals: &mut Refusals,
) {
    let base = schema.attribute_types.len();
    let mut pending: Vec<Pending> = Vec::with_capacity(definitions.len());
    for entry in definitions {
        register(schema, entry, base, &mut pending, refusals);
    }
    // A superior may come later in the batch: rounds, until one builds nothing.
    loop {
        let mut progress = false;
        for position in 0..pending.len() {
            let outcome = attempt(schema, &pending, position, base, built_in);
            let Some(slot) = pending.get_mut(position) else {
                continue;
            };
            match outcome {
                Outcome::Waiting => continue,
                Outcome::Built(built) => slot.built = Some(*built),
                Outcome::Refused(reason) => {
                    slot.failed = true;
                    refusals.add(&slot.entry.source, element(&slot.entry.definition), reason);
                }
            }
            progress = true;
        }
        if !progress {
            break;
        }
    }
    for slot in pending {
        match slot.built {
            Some(built) => schema.attribute_types.push(built),
            None if slot.failed => {}
            None => {
                let reason = match &slot.entry.definition.superior {
                    Some(superior) => format!("superior \"{superior}\" is wrong or a subtype of this type"),
                    None => "cannot be built".to_owned(),
                };
                refusals.add(&slot.entry.source, element(&slot.entry.definition), reason);
            }
        }
    }
}

fn element(definition: &AttributeTypeDefinition) -> String {
    let name = definition.common.names.first().unwrap_or(&definition.common.oid);
    format!("attribute type {name}")
}

/// Gives a definition its number and names, unless it is a duplicate or a contradiction.
fn register(
    schema: &mut Schema,
    entry: Sourced<AttributeTypeDefinition>,
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
    if let Some(number) = schema.type_names.find(oid.as_bytes()) {
        if !repeats(schema, pending, number as usize, base, definition) {
            let reason = format!(
                "inconsistent duplicate of attribute type {}",
                name_of(schema, pending, number as usize, base)
            );
            refusals.add(&entry.source, element(definition), reason);
        } else if let Some(known) = schema.attribute_types.get_mut(number as usize) {
            // A file that defines it wants it seen.
            known.hidden = false;
        }
        return;
    }
    for name in &definition.common.names {
        if let Some(number) = schema.type_names.find(name.as_bytes()) {
            let reason = format!(
                "name \"{name}\" is taken by the attribute type with OID {}",
                oid_of(schema, pending, number as usize, base)
            );
            refusals.add(&entry.source, element(definition), reason);
            return;
        }
    }
    let number = u32::try_from(base + pending.len()).unwrap_or(u32::MAX);
    schema.type_names.insert(oid.as_bytes(), number);
    for name in &definition.common.names {
        schema.type_names.insert(name.as_bytes(), number);
    }
    pending.push(Pending {
        entry,
        oid,
        built: None,
        failed: false,
    });
}

/// Whether a definition says what is known already.
fn repeats(schema: &Schema, pending: &[Pending], number: usize, base: usize, new: &AttributeTypeDefinition) -> bool {
    let expand = |oid: &str| published(schema, oid);
    let Some(known) = schema.attribute_types.get(number) else {
        let known = pending.get(number.wrapping_sub(base));
        return known.is_some_and(|known| same_attribute_type(&known.entry.definition, new, Strictness::Same, &expand));
    };
    let strictness = if known.built_in {
        Strictness::NoContradiction
    } else {
        Strictness::Same
    };
    // What the known type inherits counts as said.
    let same_syntax = new.syntax.as_deref().is_none_or(|oid| expand(oid) == known.syntax.oid);
    same_syntax
        && AttributeTypeDefinition::parse(&known.definition)
            .is_ok_and(|parsed| same_attribute_type(&parsed, new, strictness, &expand))
}

fn name_of(schema: &Schema, pending: &[Pending], number: usize, base: usize) -> String {
    match schema.attribute_types.get(number) {
        Some(known) => format!("{}{}", known.name(), if known.built_in { " (built in)" } else { "" }),
        None => pending.get(number.wrapping_sub(base)).map_or_else(String::new, |slot| {
            let name = slot.entry.definition.common.names.first();
            format!(
                "{} ({}: line {})",
                name.map_or(slot.oid.as_str(), |name| name),
                slot.entry.source.file,
                slot.entry.source.line
            )
        }),
    }
}

fn oid_of(schema: &Schema, pending: &[Pending], number: usize, base: usize) -> String {
    match schema.attribute_types.get(number) {
        Some(known) => known.oid.to_string(),
        None => pending
            .get(number.wrapping_sub(base))
            .map_or_else(String::new, |slot| slot.oid.clone()),
    }
}

/// A type by name, OID or macro.
fn type_number(schema: &Schema, name: &str) -> Option<u32> {
    let direct = schema.type_names.find(name.as_bytes());
    direct.or_else(|| schema.type_names.find(expand(schema, name)?.as_bytes()))
}

/// What became of a definition in one round.
enum Outcome {
    /// Done before, or its superior is not there yet.
    Waiting,
    Built(Box<AttributeType>),
    Refused(String),
}

/// Builds the type at `position` if its superior is there.
fn attempt(schema: &Schema, pending: &[Pending], position: usize, base: usize, built_in: bool) -> Outcome {
    let Some(slot) = pending
        .get(position)
        .filter(|slot| !slot.failed && slot.built.is_none())
    else {
        return Outcome::Waiting;
    };
    let mut superior = None;
    if let Some(name) = &slot.entry.definition.superior {
        let Some(number) = type_number(schema, name) else {
            return Outcome::Refused(format!("AttributeType not found: \"{name}\""));
        };
        let number = number as usize;
        let known = schema.attribute_types.get(number);
        superior = known.or_else(|| pending.get(number.wrapping_sub(base))?.built.as_ref());
        if superior.is_none() {
            return Outcome::Waiting;
        }
    }
    let number = TypeNumber(u32::try_from(base + position).unwrap_or(u32::MAX));
    match build(schema, slot, number, superior, built_in) {
        Ok(built) => Outcome::Built(Box::new(built)),
        Err(reason) => Outcome::Refused(reason),
    }
}

fn build(
    schema: &Schema,
    slot: &Pending,
    number: TypeNumber,
    superior: Option<&AttributeType>,
    built_in: bool,
) -> Result<AttributeType, String> {
    let definition = &slot.entry.definition;
    if let Some(superior) = superior {
        if superior.usage != definition.usage {
            return Err(format!(
                "AttributeType inappropriate USAGE: differs from that of \"{}\"",
                superior.name()
            ));
        }
        if superior.collective && !definition.collective {
            return Err(format!("is not COLLECTIVE unlike its superior \"{}\"", superior.name()));
        }
    }
    if definition.collective && definition.usage != Usage::UserApplications {
        return Err("AttributeType inappropriate USAGE: a collective attribute is of userApplications".to_owned());
    }
    if definition.collective && definition.single_value {
        return Err("AttributeType inappropriate USAGE: a collective attribute has many values".to_owned());
    }
    let syntax = syntax_of(schema, definition, superior)?;
    let equality = rule(definition.equality.as_deref(), RuleKind::Equality, Some(syntax))?;
    let ordering = rule(definition.ordering.as_deref(), RuleKind::Ordering, Some(syntax))?;
    let substrings = rule(definition.substrings.as_deref(), RuleKind::Substrings, None)?;
    let equality = equality.or(superior.and_then(|superior| superior.equality));
    let ordering = ordering.or(superior.and_then(|superior| superior.ordering));
    if let (Some(ordering), None) = (ordering, equality) {
        return Err(format!(
            "AttributeType inappropriate matching rule: \"{}\" without EQUALITY",
            ordering.name
        ));
    }
    Ok(AttributeType {
        number,
        oid: slot.oid.as_str().into(),
        names: definition.common.names.clone(),
        description: definition.common.description.clone(),
        obsolete: definition.common.obsolete,
        superior: superior.map(|superior| superior.number),
        equality: equality.map(|rule| matching::equality_for(&slot.oid, rule)),
        ordering,
        substrings: substrings.or(superior.and_then(|superior| superior.substrings)),
        syntax,
        minimum_upper_bound: definition
            .minimum_upper_bound
            .or(superior.and_then(|superior| superior.minimum_upper_bound)),
        single_value: definition.single_value,
        collective: definition.collective,
        no_user_modification: definition.no_user_modification,
        usage: definition.usage,
        extensions: definition.common.extensions.clone(),
        definition: definition.print(&|oid| published(schema, oid)).into(),
        unexpanded_definition: definition.print(&str::to_owned).into(),
        hidden: slot.entry.hidden,
        built_in,
    })
}

fn syntax_of(
    schema: &Schema,
    definition: &AttributeTypeDefinition,
    superior: Option<&AttributeType>,
) -> Result<&'static Syntax, String> {
    match (&definition.syntax, superior) {
        (Some(oid), _) => {
            let Some(numeric) = expand(schema, oid) else {
                return Err(format!("OID could not be expanded: \"{oid}\""));
            };
            schema
                .find_syntax(&numeric)
                .ok_or_else(|| format!("Syntax not found: \"{oid}\""))
        }
        (None, Some(superior)) => Ok(superior.syntax),
        (None, None) => Err("AttributeType SYNTAX or SUPerior required".to_owned()),
    }
}

/// Resolves a rule and checks that it is of the right kind and, where a syntax is given, made for it.
fn rule(name: Option<&str>, kind: RuleKind, syntax: Option<&Syntax>) -> Result<Option<&'static MatchingRule>, String> {
    let Some(name) = name else {
        return Ok(None);
    };
    let Some(rule) = matching::find(name.as_bytes()) else {
        return Err(format!("MatchingRule not found: \"{name}\""));
    };
    if rule.kind != kind || syntax.is_some_and(|syntax| !rule.is_for(syntax)) {
        return Err(format!("AttributeType inappropriate matching rule: \"{name}\""));
    }
    Ok(Some(rule))
}
