//! What definitions give to an entry.

use ironbark_directory::overlay::{Derive, DerivingEntry, DerivingLook, Origin};
use ironbark_model::AttributeDescription;
use ironbark_store::{
    Derived, DerivedCandidates, DitScope, EntryId, FilterItem, Purpose, RecordAttribute, StoreError, Wanted,
};

use super::{
    attribute::CosAttribute,
    definition::{Definition, Definitions, LAST, Source, Template, grade, named},
};
use crate::values::{join, stored};

/// Values that one template has for an entry.
struct Offer<'d> {
    how: &'d CosAttribute,
    definition: EntryId,
    /// The entry that holds the values; `None`: they are made.
    holder: Option<EntryId>,
    priority: u64,
    values: Vec<Vec<u8>>,
}

impl Definition {
    /// Adds what it has for an attribute of an entry in its subtree.
    fn offer<'d>(
        &'d self,
        entry: &DerivingEntry<'_>,
        how: &'d CosAttribute,
        purpose: Purpose,
        offers: &mut Vec<Offer<'d>>,
    ) -> Result<(), StoreError> {
        let attribute = &how.description;
        let definition = self.id;
        let mut push = |holder, priority, values: Vec<Vec<u8>>| {
            if !values.is_empty() {
                offers.push(Offer {
                    how,
                    definition,
                    holder,
                    priority,
                    values,
                });
            }
        };
        let look = entry.look.for_author(&self.author);
        let values = |specifier: &AttributeDescription| self.seen(&look, entry, specifier, purpose);
        let push_template = |push: &mut dyn FnMut(_, _, _), template: &Template| {
            let values = self.seen_of_template(&look, template, attribute)?;
            push(Some(template.id), template.priority, values);
            Ok::<_, StoreError>(())
        };
        match &self.source {
            Source::Pointer(template) => push_template(&mut push, template)?,
            Source::Classic {
                specifier,
                templates,
                fallback,
                ..
            } => {
                let mut is_found = false;
                for value in values(specifier)? {
                    if let Some(template) = templates.get(&*grade(look.view.schema(), specifier, &value)) {
                        is_found = true;
                        push_template(&mut push, template)?;
                    }
                }
                if let Some(template) = fallback.as_ref().filter(|_| !is_found) {
                    push_template(&mut push, template)?;
                }
            }
            Source::Indirect(specifier) => {
                for name in values(specifier)? {
                    if !entry.look.view.spend(LINK_STEPS) {
                        return Ok(());
                    }
                    let Some(record) = named(&entry.look, &name)? else {
                        continue;
                    };
                    // An entry can be named by who may write the name: so what who asks may read counts besides.
                    let found = entry
                        .look
                        .readable_values(&record, attribute, stored(&record, attribute)?);
                    push(Some(record.id), LAST, look.readable_values(&record, attribute, found));
                }
            }
            Source::Computed(expressions, priority) => {
                let dn = entry.dn()?;
                // The name is a part of what they make.
                let is_seen = look.readable(&entry.record, |_| ()).is_some();
                for expression in expressions.iter().filter(|one| one.gives == *how && is_seen) {
                    push(None, *priority, expression.values(&dn, look.view.schema(), values)?);
                }
            }
        }
        Ok(())
    }
}

impl Definition {
    /// The values of an entry that the definition may make use of.
    fn seen(
        &self,
        look: &DerivingLook<'_>,
        entry: &DerivingEntry<'_>,
        attribute: &AttributeDescription,
        purpose: Purpose,
    ) -> Result<Vec<Vec<u8>>, StoreError> {
        let values = entry.values(attribute, purpose)?;
        if self.author.is_trusted() {
            return Ok(values);
        }
        Ok(look.readable_values(&entry.record, attribute, values))
    }

    /// The values of a template that it may give.
    fn seen_of_template(
        &self,
        look: &DerivingLook<'_>,
        template: &Template,
        attribute: &AttributeDescription,
    ) -> Result<Vec<Vec<u8>>, StoreError> {
        let values = template.of(attribute).to_vec();
        if self.author.is_trusted() {
            return Ok(values);
        }
        let record = look.view.record(template.id)?.filter(|_| look.view.spend(LINK_STEPS));
        Ok(record.map_or_else(Vec::new, |record| look.readable_values(&record, attribute, values)))
    }
}

/// Steps for following one name.
const LINK_STEPS: u64 = 30;

impl Definitions {
    /// What all definitions have for an attribute of an entry.
    fn offers<'d>(
        &'d self,
        entry: &DerivingEntry<'_>,
        attribute: &AttributeDescription,
        wanted: &Wanted<'_>,
    ) -> Result<Vec<Offer<'d>>, StoreError> {
        let mut offers = Vec::new();
        let mut is_allowed = None;
        let is_held = entry.record.values(attribute).is_some();
        for (definition, how) in self.givers(attribute) {
            if !entry.look.view.spend(1) {
                break;
            }
            if is_held && !how.wins || how.is_operational && !wanted.has_operational(attribute) {
                continue;
            }
            if self.is_for(entry, definition, how, &mut is_allowed)? {
                definition.offer(entry, how, wanted.purpose, &mut offers)?;
            }
        }
        // Of equal ones the definition that was added first.
        offers.sort_by_key(|offer| offer.priority);
        Ok(offers)
    }

    /// Those of them that count: the best, and those that are merged with it.
    fn counting<'d>(
        &'d self,
        entry: &DerivingEntry<'_>,
        attribute: &AttributeDescription,
        wanted: &Wanted<'_>,
    ) -> Result<Vec<Offer<'d>>, StoreError> {
        let mut offers = self.offers(entry, attribute, wanted)?;
        if offers.first().is_some_and(|best| best.how.merges) && !self.is_single(attribute) {
            offers.retain(|offer| offer.how.merges);
        } else {
            offers.truncate(1);
        }
        Ok(offers)
    }

    fn is_single(&self, attribute: &AttributeDescription) -> bool {
        self.known.schema.attribute_type(attribute.attribute_type).single_value
    }

    /// Whether a definition is for an entry: that is in its subtree, and its classes allow the attribute, if they must.
    fn is_for(
        &self,
        entry: &DerivingEntry<'_>,
        definition: &Definition,
        how: &CosAttribute,
        is_allowed: &mut Option<bool>,
    ) -> Result<bool, StoreError> {
        if !entry.record.is_in_scope(definition.base, DitScope::Subtree)? {
            return Ok(false);
        }
        if how.is_operational {
            return Ok(true);
        }
        Ok(match is_allowed {
            Some(known) => *known,
            None => *is_allowed.insert(self.known.allow(&entry.record, &how.description)?),
        })
    }

    /// Whether an entry has a value with a normal form. `None`: that takes all that definitions have for it.
    fn have(
        &self,
        entry: &DerivingEntry<'_>,
        attribute: &AttributeDescription,
        normal: &[u8],
        purpose: Purpose,
    ) -> Result<Option<bool>, StoreError> {
        let mut givers = self.givers(attribute);
        let (Some((definition, how)), None) = (givers.next(), givers.next()) else {
            return Ok(None);
        };
        if !definition.author.is_trusted() {
            return Ok(None);
        }
        let held = entry.record.values(attribute);
        let holds = |held: Option<RecordAttribute<'_>>| match held {
            Some(held) => held.holds_normalized(normal).map(Some),
            None => Ok(Some(false)),
        };
        if held.is_some() && !how.wins || !self.is_for(entry, definition, how, &mut None)? {
            return holds(held);
        }
        let template = match &definition.source {
            Source::Pointer(template) => Some(template),
            Source::Classic {
                specifier,
                templates,
                fallback,
                ..
            } => {
                let (mut found, mut fit) = (fallback.as_ref(), 0);
                entry.for_each(specifier, purpose, &mut |value| {
                    if let Some(template) = templates.get(&*grade(&self.known.schema, specifier, value)) {
                        (found, fit) = (Some(template), fit + 1);
                    }
                })?;
                if fit > 1 {
                    return Ok(None);
                }
                found
            }
            Source::Indirect(..) | Source::Computed(..) => return Ok(None),
        };
        match template {
            Some(template) if self.is_single(attribute) && template.of(attribute).len() > 1 => Ok(None),
            Some(template) if !template.of(attribute).is_empty() => {
                let mut normals = template.normals_of(attribute).iter();
                Ok(Some(normals.any(|given| given == normal)))
            }
            _ => holds(held),
        }
    }
}

impl Derive for Definitions {
    fn attributes(&self) -> &[AttributeDescription] {
        &self.attributes
    }

    fn derive(&self, entry: &DerivingEntry<'_>, wanted: &Wanted<'_>, found: &mut Derived) -> Result<(), StoreError> {
        for attribute in self.attributes.iter().filter(|attribute| wanted.has(attribute)) {
            let mut offers = self.counting(entry, attribute, wanted)?.into_iter();
            let Some(best) = offers.next() else { continue };
            let more: Vec<Vec<u8>> = offers.flat_map(|more| more.values).collect();
            let mut values = best.values;
            // Definitions and templates may have as many values as somebody likes.
            if !entry.look.view.spend((values.len() + more.len()) as u64) {
                return Ok(());
            }
            join(&mut values, more);
            if self.is_single(attribute) {
                values.truncate(1);
            }
            if best.how.wins {
                found.replace(attribute, values);
            } else {
                found.add(attribute, values);
            }
        }
        Ok(())
    }

    fn holds(
        &self,
        entry: &DerivingEntry<'_>,
        attribute: &AttributeDescription,
        normal: &[u8],
        purpose: Purpose,
    ) -> Result<Option<bool>, StoreError> {
        self.have(entry, attribute, normal, purpose)
    }

    fn origins(&self, entry: &DerivingEntry<'_>, attribute: &AttributeDescription) -> Result<Vec<Origin>, StoreError> {
        let wanted = Wanted {
            purpose: Purpose::Show,
            new_name: None,
            attributes: &|_| true,
            operational: &|_| true,
        };
        let name = |id| Ok::<_, StoreError>(entry.look.view.dn(id)?.pretty().to_owned());
        let offers = self.counting(entry, attribute, &wanted)?.into_iter();
        let origin = |offer: Offer<'_>| {
            Ok(Origin {
                definition: name(offer.definition)?,
                holder: offer.holder.map(name).transpose()?,
            })
        };
        offers.map(origin).collect()
    }

    fn candidates(&self, look: &DerivingLook<'_>, item: &FilterItem<'_>) -> Result<DerivedCandidates, StoreError> {
        self.may_have(look, item)
    }
}
