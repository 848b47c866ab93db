//! Attribute types of a batch: duplicates, superiors in any order, inherited rules and syntaxes.

use super::{
    super::{
        AttributeType, AttributeTypeDefinition, Schema, TypeNumber, Usage, definition::Common, name_index::NameIndex,
    },
    duplicates::{Strictness, same_attribute_type},
    refusals::{RefusalReason, Refusals, expand, published},
    register::{Element, Identity, element, register},
};
use crate::{
    matching::{self, MatchingRule, RuleKind},
    schema::sourced::Sourced,
    syntax::Syntax,
};

impl Element for AttributeType {
    type Definition = AttributeTypeDefinition;
    const KIND: &'static str = "attribute type";

    fn common(definition: &AttributeTypeDefinition) -> &Common {
        &definition.common
    }
    fn names(schema: &mut Schema) -> &mut NameIndex {
        &mut schema.type_names
    }
    fn elements(schema: &mut Schema) -> &mut Vec<Self> {
        &mut schema.attribute_types
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
        let mut next = Some(number);
        while let Some(found) = next.and_then(|number| schema.attribute_types.get_mut(number)) {
            found.hidden = false;
            next = found.superior.map(|superior| superior.0 as usize);
        }
    }
    /// Elements that the known type inherits count as written.
    fn says(&self, schema: &Schema, new: &AttributeTypeDefinition, strictness: Strictness) -> bool {
        let expand = |oid: &str| published(schema, oid);
        new.syntax.as_deref().is_none_or(|oid| expand(oid) == self.syntax.oid)
            && AttributeTypeDefinition::parse(&self.definition)
                .is_ok_and(|known| same_attribute_type(&known, new, strictness, &expand))
    }
    fn same(schema: &Schema, known: &AttributeTypeDefinition, new: &AttributeTypeDefinition) -> bool {
        same_attribute_type(known, new, Strictness::Same, &|oid| published(schema, oid))
    }
}

/// A definition that has a number, and its state.
struct Slot {
    pending: super::register::Pending<AttributeTypeDefinition>,
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
    let registered = register::<AttributeType>(schema, definitions, refusals);
    let mut slots: Vec<Slot> = registered
        .into_iter()
        .map(|pending| Slot {
            pending,
            built: None,
            failed: false,
        })
        .collect();
    // A superior may come later in the batch. So there are rounds, until a round builds nothing.
    loop {
        let mut progress = false;
        for position in 0..slots.len() {
            let outcome = attempt(schema, &slots, position, base, built_in);
            let Some(slot) = slots.get_mut(position) else {
                continue;
            };
            match outcome {
                Outcome::Waiting => continue,
                Outcome::Built(built) => slot.built = Some(*built),
                Outcome::Refused(reason) => {
                    slot.failed = true;
                    refusals.add(
                        &slot.pending.entry.source,
                        element::<AttributeType>(&slot.pending.entry.definition),
                        reason,
                    );
                }
            }
            progress = true;
        }
        if !progress {
            break;
        }
    }
    for slot in slots {
        match slot.built {
            Some(built) => schema.attribute_types.push(built),
            None if slot.failed => {}
            None => {
                let reason = match &slot.pending.entry.definition.superior {
                    Some(superior) => format!("superior \"{superior}\" is wrong or a subtype of this type"),
                    None => "cannot be built".to_owned(),
                };
                refusals.add(
                    &slot.pending.entry.source,
                    element::<AttributeType>(&slot.pending.entry.definition),
                    reason,
                );
            }
        }
    }
}

/// A type by name, OID or macro.
fn type_number(schema: &Schema, name: &str) -> Option<u32> {
    let direct = schema.type_names.find(name.as_bytes());
    direct.or_else(|| schema.type_names.find(expand(schema, name)?.as_bytes()))
}

/// The result of one round for a definition.
enum Outcome {
    /// Built before, or its superior is not built yet.
    Waiting,
    Built(Box<AttributeType>),
    Refused(RefusalReason),
}

/// Builds the type at `position` if its superior is built.
fn attempt(schema: &Schema, slots: &[Slot], position: usize, base: usize, built_in: bool) -> Outcome {
    let Some(slot) = slots.get(position).filter(|slot| !slot.failed && slot.built.is_none()) else {
        return Outcome::Waiting;
    };
    let mut superior = None;
    if let Some(name) = &slot.pending.entry.definition.superior {
        let Some(number) = type_number(schema, name) else {
            return Outcome::Refused(RefusalReason::UnknownAttributeType(name.clone()));
        };
        let number = number as usize;
        let known = schema.attribute_types.get(number);
        superior = known.or_else(|| slots.get(number.wrapping_sub(base))?.built.as_ref());
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
    slot: &Slot,
    number: TypeNumber,
    superior: Option<&AttributeType>,
    built_in: bool,
) -> Result<AttributeType, RefusalReason> {
    let definition = &slot.pending.entry.definition;
    if let Some(superior) = superior {
        if superior.usage != definition.usage {
            return Err(RefusalReason::UsageOfSuperior(superior.name().into()));
        }
        if superior.collective && !definition.collective {
            return Err(RefusalReason::NotCollective(superior.name().into()));
        }
    }
    if definition.collective && definition.usage != Usage::UserApplications {
        return Err(RefusalReason::CollectiveUsage);
    }
    if definition.collective && definition.single_value {
        return Err(RefusalReason::CollectiveSingleValue);
    }
    let syntax = syntax_of(schema, definition, superior)?;
    let equality = rule(definition.equality.as_deref(), RuleKind::Equality, Some(syntax))?;
    let ordering = rule(definition.ordering.as_deref(), RuleKind::Ordering, Some(syntax))?;
    let substrings = rule(definition.substrings.as_deref(), RuleKind::Substrings, None)?;
    let equality = equality.or(superior.and_then(|superior| superior.equality));
    let ordering = ordering.or(superior.and_then(|superior| superior.ordering));
    if let (Some(ordering), None) = (ordering, equality) {
        return Err(RefusalReason::OrderingAlone(ordering.name.into()));
    }
    Ok(AttributeType {
        number,
        oid: slot.pending.oid.as_str().into(),
        names: definition.common.names.clone(),
        description: definition.common.description.clone(),
        obsolete: definition.common.obsolete,
        superior: superior.map(|superior| superior.number),
        equality: equality.map(|rule| matching::equality_for(&slot.pending.oid, rule)),
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
        hidden: slot.pending.entry.hidden,
        built_in,
        is_ordered: definition
            .common
            .extensions
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case("X-ORDERED")),
    })
}

fn syntax_of(
    schema: &Schema,
    definition: &AttributeTypeDefinition,
    superior: Option<&AttributeType>,
) -> Result<&'static Syntax, RefusalReason> {
    match (&definition.syntax, superior) {
        (Some(oid), _) => {
            let Some(numeric) = expand(schema, oid) else {
                return Err(RefusalReason::UnknownOid(oid.clone()));
            };
            schema
                .find_syntax(&numeric)
                .ok_or_else(|| RefusalReason::UnknownSyntax(oid.clone()))
        }
        (None, Some(superior)) => Ok(superior.syntax),
        (None, None) => Err(RefusalReason::NoSyntax),
    }
}

/// Resolves a rule and checks its kind. If a syntax is given, the rule must be made for it.
fn rule(
    name: Option<&str>,
    kind: RuleKind,
    syntax: Option<&Syntax>,
) -> Result<Option<&'static MatchingRule>, RefusalReason> {
    let Some(name) = name else {
        return Ok(None);
    };
    let Some(rule) = matching::find(name.as_bytes()) else {
        return Err(RefusalReason::UnknownMatchingRule(name.into()));
    };
    if rule.kind != kind || syntax.is_some_and(|syntax| !rule.is_for(syntax)) {
        return Err(RefusalReason::WrongMatchingRule(name.into()));
    }
    Ok(Some(rule))
}
