//! The subentries with collective attributes of a database, and what they give.

use std::sync::Arc;

use ironbark_config::SettingError;
use ironbark_directory::overlay::{Author, Derive, DerivingEntry, DerivingLook, Entries, Origin};
use ironbark_model::{
    AttributeDescription, CompiledFilter, Dn, Filter, Schema,
    filter::Assertion,
    schema::{ClassNumber, TypeNumber},
    syntax::SubtreeSpecification,
};
use ironbark_store::{Derived, DerivedCandidates, DitScope, FilterItem, Location, Record, StoreError, Wanted};

use crate::values::{join, stored};

/// Names of the schema.
pub(super) struct Known {
    pub(super) schema: Arc<Schema>,
    pub(super) class: ClassNumber,
    object_class: AttributeDescription,
    specification: AttributeDescription,
    exclusions: AttributeDescription,
    subentries: AttributeDescription,
    /// The entries of the class.
    all: CompiledFilter,
}

/// The subentries, as one state of the database has them.
pub(super) struct Subentries {
    known: Arc<Known>,
    all: Vec<Subentry>,
    /// What they give, and `collectiveAttributeSubentries`.
    attributes: Vec<AttributeDescription>,
}

struct Subentry {
    dn: Dn,
    author: Author,
    specification: SubtreeSpecification,
    attributes: Vec<(AttributeDescription, Vec<Vec<u8>>)>,
}

/// The collective attributes that an entry does not get.
enum Excluded {
    All,
    These(Vec<TypeNumber>),
}

/// In `collectiveExclusions`: all of them (RFC 3671 §2.2).
const ALL: [&[u8]; 2] = [b"2.5.18.0", b"excludeAllCollectiveAttributes"];
/// Entries of a subtree that are listed as candidates; beyond it all entries are.
const MOST_LISTED: u64 = 100_000;

impl Known {
    /// # Errors
    /// The schema lacks a name.
    pub(super) fn new(schema: &Arc<Schema>) -> Result<Self, SettingError> {
        let attribute = |name: &str| {
            let description = schema.attribute_description(name.as_bytes());
            description.map_err(|error| format!("attribute \"{name}\": {error}"))
        };
        let name = "collectiveAttributeSubentry";
        let class = schema.find_object_class(name.as_bytes());
        let class = class.ok_or_else(|| format!("object class \"{name}\" unknown"))?;
        let mut all = CompiledFilter::default();
        let is_one = Filter::Equality(Assertion {
            attribute: b"objectClass".into(),
            value: name.as_bytes().into(),
        });
        all.compile(schema, &is_one);
        Ok(Self {
            schema: Arc::clone(schema),
            class: class.number,
            object_class: attribute("objectClass")?,
            specification: attribute("subtreeSpecification")?,
            exclusions: attribute("collectiveExclusions")?,
            subentries: attribute("collectiveAttributeSubentries")?,
            all,
        })
    }

    fn subentry(&self, entries: Entries<'_>, record: &Record<'_>) -> Result<Option<Subentry>, StoreError> {
        let (schema, dn) = (&self.schema, entries.view().dn(record.id)?);
        let text = stored(record, &self.specification)?.into_iter().next();
        let (Some(text), Some(point), true) = (text, dn.parent(), record.is_subentry()) else {
            return Ok(None);
        };
        let Ok(specification) = SubtreeSpecification::parse(schema, &text, &point) else {
            return Ok(None);
        };
        let mut attributes = Vec::new();
        for held in record.attributes() {
            let description = held.description();
            if schema.attribute_type(description.attribute_type).collective {
                attributes.push((description.clone(), held.to_attribute()?.values));
            }
        }
        Ok(Some(Subentry {
            dn,
            author: entries.author(record)?,
            specification,
            attributes,
        }))
    }

    fn excluded(&self, record: &Record<'_>) -> Result<Excluded, StoreError> {
        let names = stored(record, &self.exclusions)?;
        if names
            .iter()
            .any(|name| ALL.iter().any(|all| name.eq_ignore_ascii_case(all)))
        {
            return Ok(Excluded::All);
        }
        let types = names.iter().filter_map(|name| self.schema.find_attribute_type(name));
        Ok(Excluded::These(types.map(|found| found.number).collect()))
    }

    /// Whether an entry has a class, for who may read that.
    fn has_class(&self, look: &DerivingLook<'_>, record: &Record<'_>, wanted: ClassNumber) -> bool {
        // What cannot be read is damaged, and has no class.
        let names = stored(record, &self.object_class).unwrap_or_default();
        let names = look.readable_values(record, &self.object_class, names);
        let mut classes = names.iter().filter_map(|name| self.schema.find_object_class(name));
        classes.any(|class| class.number == wanted || self.schema.superclasses(class.number).contains(&wanted))
    }
}

impl Excluded {
    fn has(&self, attribute: &AttributeDescription) -> bool {
        match self {
            Self::All => true,
            Self::These(types) => types.contains(&attribute.attribute_type),
        }
    }
}

impl Subentries {
    /// # Errors
    /// The storage failed.
    pub(super) fn read(known: &Arc<Known>, entries: Entries<'_>) -> Result<Self, StoreError> {
        let view = entries.view();
        let plan = view.plan_guarded(0, DitScope::Subtree, &known.all, None)?;
        let mut candidates = view.candidates(&plan, 0)?;
        let mut all = Vec::new();
        while let Some(record) = candidates.next_record()? {
            all.extend(known.subentry(entries, &record)?);
        }
        let mut attributes: Vec<AttributeDescription> = Vec::new();
        for subentry in &all {
            attributes.extend(subentry.attributes.iter().map(|(description, _)| description.clone()));
        }
        if !all.is_empty() {
            attributes.push(known.subentries.clone());
        }
        attributes.sort_unstable();
        attributes.dedup();
        Ok(Self {
            known: Arc::clone(known),
            all,
            attributes,
        })
    }

    fn applies(&self, subentry: &Subentry, entry: &DerivingEntry<'_>, dn: &Dn) -> bool {
        let look = entry.look.for_author(&subentry.author);
        let has = |class| self.known.has_class(&look, &entry.record, class);
        subentry.specification.names(dn) && subentry.specification.admits(&has)
    }

    /// The entries in the subtree of a subentry, and perhaps others.
    fn may_be_below(
        look: &DerivingLook<'_>,
        subentry: &Subentry,
        item: &FilterItem<'_>,
    ) -> Result<DerivedCandidates, StoreError> {
        match look.view.locate(subentry.specification.base())? {
            Location::Entry(base) => {
                let most = MOST_LISTED.min(item.most());
                look.view.may_be_in_scope(base, DitScope::Subtree, most)
            }
            Location::Missing { .. } => Ok(DerivedCandidates::nothing()),
        }
    }
}

impl Derive for Subentries {
    fn attributes(&self) -> &[AttributeDescription] {
        &self.attributes
    }

    fn derive(&self, entry: &DerivingEntry<'_>, wanted: &Wanted<'_>, found: &mut Derived) -> Result<(), StoreError> {
        let record = &entry.record;
        if record.is_subentry() {
            return Ok(());
        }
        let (dn, excluded) = (entry.dn()?, self.known.excluded(record)?);
        let mut names = Vec::new();
        let mut given: Vec<(&AttributeDescription, Vec<&Vec<Vec<u8>>>)> = Vec::new();
        for subentry in &self.all {
            if !entry.look.view.spend(1) || !self.applies(subentry, entry, &dn) {
                continue;
            }
            names.push(subentry.dn.pretty().as_bytes().to_vec());
            for (attribute, values) in &subentry.attributes {
                if !wanted.has(attribute) || excluded.has(attribute) {
                    continue;
                }
                if !entry.look.view.spend(values.len() as u64) {
                    return Ok(());
                }
                match given.iter_mut().find(|(known, _)| *known == attribute) {
                    Some((_, known)) => known.push(values),
                    None => given.push((attribute, vec![values])),
                }
            }
        }
        for (attribute, sets) in given {
            let mut sets = sets.into_iter().cloned();
            let mut values = sets.next().unwrap_or_default();
            join(&mut values, sets.flatten().collect());
            found.add(attribute, values);
        }
        if !names.is_empty() && wanted.has(&self.known.subentries) {
            found.replace(&self.known.subentries, names);
        }
        Ok(())
    }

    fn origins(&self, entry: &DerivingEntry<'_>, attribute: &AttributeDescription) -> Result<Vec<Origin>, StoreError> {
        let dn = entry.dn()?;
        let gives = |subentry: &&Subentry| {
            let holds = subentry.attributes.iter().any(|(held, _)| held == attribute);
            holds && self.applies(subentry, entry, &dn)
        };
        let origin = |subentry: &Subentry| Origin {
            definition: subentry.dn.pretty().to_owned(),
            holder: None,
        };
        Ok(self.all.iter().filter(gives).map(origin).collect())
    }

    fn candidates(&self, look: &DerivingLook<'_>, item: &FilterItem<'_>) -> Result<DerivedCandidates, StoreError> {
        let Some(asked) = item.asked().filter(|_| !item.is_chain()) else {
            return Ok(DerivedCandidates::Unknown);
        };
        let (schema, of_names) = (&self.known.schema, &self.known.subentries);
        let mut may = DerivedCandidates::nothing();
        for subentry in &self.all {
            let gives = |(attribute, values): &(AttributeDescription, Vec<Vec<u8>>)| {
                schema.is_description_subtype(attribute, asked) && item.holds(look.view, attribute, values)
            };
            let name = [subentry.dn.pretty().as_bytes().to_vec()];
            let is_named = schema.is_description_subtype(of_names, asked) && item.holds(look.view, of_names, &name);
            if is_named || subentry.attributes.iter().any(gives) {
                may = may.or(Self::may_be_below(look, subentry, item)?);
            }
        }
        Ok(may)
    }
}
