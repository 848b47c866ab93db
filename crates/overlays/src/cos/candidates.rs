//! Which entries definitions may give a value that a filter asks for.

use std::borrow::Cow;

use ironbark_directory::overlay::DerivingLook;
use ironbark_model::{AttributeDescription, CompiledFilter, Filter};
use ironbark_store::{DerivedCandidates, DitScope, FilterItem, StoreError};

use super::{
    attribute::CosAttribute,
    definition::{Definition, Definitions, Source},
    expression::Expression,
};

const CASE_IGNORED: [&str; 2] = ["caseIgnoreMatch", "caseIgnoreIA5Match"];
/// Entries of a subtree that are listed; beyond it all entries may be meant.
const MOST_LISTED: u64 = 100_000;

impl Definitions {
    pub(super) fn may_have(
        &self,
        look: &DerivingLook<'_>,
        item: &FilterItem<'_>,
    ) -> Result<DerivedCandidates, StoreError> {
        let Some(asked) = item.asked().filter(|_| !item.is_chain()) else {
            return Ok(DerivedCandidates::Unknown);
        };
        let mut may = DerivedCandidates::nothing();
        for definition in &self.all {
            let schema = look.view.schema();
            for how in &definition.gives {
                if schema.is_description_subtype(&how.description, asked) {
                    may = may.or(definition.may_give(look, item, how)?);
                }
            }
        }
        Ok(may)
    }
}

impl Definition {
    fn may_give(
        &self,
        look: &DerivingLook<'_>,
        item: &FilterItem<'_>,
        how: &CosAttribute,
    ) -> Result<DerivedCandidates, StoreError> {
        let attribute = &how.description;
        match &self.source {
            Source::Pointer(template) => {
                if item.holds(look.view, attribute, template.of(attribute)) {
                    self.all_below(look, item)
                } else {
                    Ok(DerivedCandidates::nothing())
                }
            }
            Source::Classic {
                specifier,
                templates,
                fallback,
                ..
            } => {
                // Values of several templates may be merged.
                let may_be_any = |values: &[Vec<u8>]| item.holds(look.view, attribute, values);
                if fallback
                    .as_ref()
                    .is_some_and(|template| may_be_any(template.of(attribute)))
                {
                    return self.all_below(look, item);
                }
                let names = templates
                    .iter()
                    .filter(|(_, template)| may_be_any(template.of(attribute)));
                let names: Vec<Vec<u8>> = names.map(|(name, _)| name.clone().into_bytes()).collect();
                if names.is_empty() {
                    return Ok(DerivedCandidates::nothing());
                }
                if is_by_text(
                    look,
                    specifier,
                    &["caseIgnoreMatch", "caseIgnoreIA5Match", "distinguishedNameMatch"],
                ) {
                    look.may_have(specifier, names, item.most())
                } else {
                    may_hold_some(look, item, specifier)
                }
            }
            Source::Indirect(specifier) => {
                let Some(asked) = item.equalities(look.view) else {
                    return may_hold_some(look, item, specifier);
                };
                let mut names = Vec::new();
                for value in asked {
                    for id in look.holders(attribute, value)? {
                        names.push(look.view.dn(id)?.pretty().as_bytes().to_vec());
                    }
                }
                look.may_have(specifier, names, item.most())
            }
            Source::Computed(expressions, _) => {
                let mut may = DerivedCandidates::nothing();
                for expression in expressions.iter().filter(|expression| expression.gives == *how) {
                    may = may.or(self.may_make(look, item, expression)?);
                }
                Ok(may)
            }
        }
    }

    /// The entries for which an expression may make a value.
    fn may_make(
        &self,
        look: &DerivingLook<'_>,
        item: &FilterItem<'_>,
        expression: &Expression,
    ) -> Result<DerivedCandidates, StoreError> {
        let gives = &expression.gives.description;
        let is_plain = |text: &[u8]| text.iter().all(u8::is_ascii_graphic);
        if let (Some((before, attribute, behind)), Some(asked)) = (expression.around(), item.equalities(look.view))
            // Other texts may look otherwise in a normal form.
            && is_plain(before.as_bytes()) && is_plain(behind.as_bytes())
            && asked.iter().all(|value| value.is_ascii())
            && is_by_text(look, gives, &CASE_IGNORED)
            && is_by_text(look, attribute, &CASE_IGNORED)
        {
            let (before, behind) = (before.to_ascii_lowercase(), behind.to_ascii_lowercase());
            let inner = |value: &[u8]| {
                let rest = value.strip_prefix(before.as_bytes())?;
                Some(rest.strip_suffix(behind.as_bytes())?.to_vec())
            };
            return look.may_have(attribute, asked.into_iter().filter_map(inner), item.most());
        }
        match expression.needs() {
            Some(attribute) => may_hold_some(look, item, attribute),
            None => self.all_below(look, item),
        }
    }

    fn all_below(&self, look: &DerivingLook<'_>, item: &FilterItem<'_>) -> Result<DerivedCandidates, StoreError> {
        let most = MOST_LISTED.min(item.most());
        look.view.may_be_in_scope(self.base, DitScope::Subtree, most)
    }
}

/// Whether an attribute has one of these equality rules: then its normal form asks for all spellings.
fn is_by_text(look: &DerivingLook<'_>, attribute: &AttributeDescription, rules: &[&str]) -> bool {
    let schema = look.view.schema();
    let rule = schema.attribute_type(attribute.attribute_type).equality;
    rule.is_some_and(|rule| rules.contains(&rule.name))
}

fn may_hold_some(
    look: &DerivingLook<'_>,
    item: &FilterItem<'_>,
    attribute: &AttributeDescription,
) -> Result<DerivedCandidates, StoreError> {
    let schema = look.view.schema();
    let text = schema.description_text(attribute);
    let mut filter = CompiledFilter::default();
    filter.compile(schema, &Filter::Present(Cow::Owned(text.into_bytes())));
    look.view.may_match(&filter, item.most())
}
