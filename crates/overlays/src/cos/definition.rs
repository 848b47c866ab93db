//! The definitions and templates of a database.

use std::{collections::HashMap, sync::Arc};

use ironbark_config::SettingError;
use ironbark_directory::overlay::DerivingLook;
use ironbark_model::{
    AttributeDescription, CompiledFilter, Dn, Filter, Schema, filter::Assertion, schema::ClassNumber, syntax::oid,
};
use ironbark_store::{EntryId, Location, Record, Scope, StoreError, View};

use super::{attribute::CosAttribute, expression::Expression};

/// Names of the schema.
pub(super) struct Known {
    pub(super) schema: Arc<Schema>,
    pub(super) object_class: AttributeDescription,
    extensible_object: Option<ClassNumber>,
    attribute: AttributeDescription,
    specifier: AttributeDescription,
    template_dn: AttributeDescription,
    indirect_specifier: AttributeDescription,
    priority: AttributeDescription,
    expression: AttributeDescription,
    /// Definitions of each kind, and templates.
    classes: [(Kind, ClassNumber); 5],
    /// The entries that are definitions, and those that are templates.
    all: CompiledFilter,
    templates: CompiledFilter,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Pointer,
    Classic,
    Indirect,
    Computed,
    Template,
}

/// They, as one state of the database has them.
pub(super) struct Definitions {
    pub(super) known: Arc<Known>,
    pub(super) all: Vec<Definition>,
    /// What they give.
    pub(super) attributes: Vec<AttributeDescription>,
}

/// A definition.
pub(super) struct Definition {
    /// The entry whose subtree it is for: its superior.
    pub(super) base: EntryId,
    pub(super) source: Source,
}

/// Where the values of a definition come from.
pub(super) enum Source {
    /// One template.
    Pointer(Vec<CosAttribute>, Template),
    /// The template with the name that a value of the entry gives, without regard to case, or the one for all others.
    Classic {
        attributes: Vec<CosAttribute>,
        specifier: AttributeDescription,
        templates: HashMap<String, Template>,
        fallback: Option<Template>,
    },
    /// The entries that the entry names.
    Indirect(Vec<CosAttribute>, AttributeDescription),
    /// Values of the entry itself.
    Computed(Vec<Expression>, u64),
}

/// A template.
pub(super) struct Template {
    /// Of the attributes of its definition.
    pub(super) values: Vec<(AttributeDescription, Vec<Vec<u8>>)>,
    pub(super) priority: u64,
}

/// The priority without `cosPriority`: the last one.
pub(super) const LAST: u64 = u64::MAX;

impl Known {
    /// # Errors
    /// The schema lacks a name.
    pub(super) fn new(schema: &Arc<Schema>) -> Result<Self, SettingError> {
        let attribute = |name: &str| {
            let description = schema.attribute_description(name.as_bytes());
            description.map_err(|error| format!("attribute \"{name}\": {error}"))
        };
        let class = |kind: Kind, name: &str| {
            let class = schema.find_object_class(name.as_bytes());
            let class = class.ok_or_else(|| format!("object class \"{name}\" unknown"))?;
            Ok::<_, String>((kind, class.number))
        };
        let is_one = |name: &'static str| {
            Filter::Equality(Assertion {
                attribute: b"objectClass".into(),
                value: name.as_bytes().into(),
            })
        };
        let (mut all, mut templates) = (CompiledFilter::default(), CompiledFilter::default());
        let names = ["cosSuperDefinition", "cosComputedDefinition"];
        all.compile(schema, &Filter::Or(names.map(is_one).to_vec()));
        templates.compile(schema, &is_one("cosTemplate"));
        Ok(Self {
            schema: Arc::clone(schema),
            object_class: attribute("objectClass")?,
            extensible_object: schema.find_object_class(b"extensibleObject").map(|class| class.number),
            attribute: attribute("cosAttribute")?,
            specifier: attribute("cosSpecifier")?,
            template_dn: attribute("cosTemplateDn")?,
            indirect_specifier: attribute("cosIndirectSpecifier")?,
            priority: attribute("cosPriority")?,
            expression: attribute("cosExpression")?,
            classes: [
                class(Kind::Pointer, "cosPointerDefinition")?,
                class(Kind::Classic, "cosClassicDefinition")?,
                class(Kind::Indirect, "cosIndirectDefinition")?,
                class(Kind::Computed, "cosComputedDefinition")?,
                class(Kind::Template, "cosTemplate")?,
            ],
            all,
            templates,
        })
    }

    pub(super) fn classes(&self) -> Vec<ClassNumber> {
        self.classes.iter().map(|(_, class)| *class).collect()
    }

    /// Whether an entry's classes allow an attribute.
    pub(super) fn allow(&self, record: &Record<'_>, attribute: &AttributeDescription) -> Result<bool, StoreError> {
        let wanted = attribute.attribute_type;
        Ok(self.classes_of(record)?.into_iter().any(|class| {
            Some(class) == self.extensible_object
                || self.schema.allowed_types(class).binary_search(&wanted).is_ok()
                || self.schema.required_types(class).binary_search(&wanted).is_ok()
        }))
    }

    fn classes_of(&self, record: &Record<'_>) -> Result<Vec<ClassNumber>, StoreError> {
        let mut found = Vec::new();
        for value in values(record, &self.object_class)? {
            found.extend(self.schema.find_object_class(&value).map(|class| class.number));
        }
        Ok(found)
    }

    fn is_of(&self, record: &Record<'_>, kind: Kind) -> Result<bool, StoreError> {
        let classes = self.classes_of(record)?;
        let wanted = self.classes.iter().filter(|(known, _)| *known == kind);
        Ok(wanted.map(|(_, class)| class).any(|wanted| {
            classes
                .iter()
                .any(|class| class == wanted || self.schema.superclasses(*class).contains(wanted))
        }))
    }

    /// `cosPriority`; the last one if there is none, or no number.
    pub(super) fn priority(&self, record: &Record<'_>) -> Result<u64, StoreError> {
        let text = text(record, &self.priority)?;
        Ok(text.and_then(|text| text.parse().ok()).unwrap_or(LAST))
    }
}

impl Definitions {
    /// # Errors
    /// The storage failed.
    pub(super) fn read(known: &Arc<Known>, view: View<'_>) -> Result<Self, StoreError> {
        let plan = view.plan_guarded(0, Scope::Subtree, &known.all, None)?;
        let mut candidates = view.candidates(&plan, 0)?;
        let mut all = Vec::new();
        while let Some(record) = candidates.next_record()? {
            if let Some(source) = known.source(view, &record)? {
                let base = record.parent();
                all.push(Definition { base, source });
            }
        }
        let mut attributes: Vec<AttributeDescription> = Vec::new();
        for definition in &all {
            attributes.extend(definition.gives().map(|gives| gives.description.clone()));
        }
        attributes.sort_unstable();
        attributes.dedup();
        Ok(Self {
            known: Arc::clone(known),
            all,
            attributes,
        })
    }
}

impl Definition {
    /// The attributes that it gives.
    pub(super) fn gives(&self) -> Box<dyn Iterator<Item = &CosAttribute> + '_> {
        match &self.source {
            Source::Pointer(attributes, _) | Source::Classic { attributes, .. } | Source::Indirect(attributes, _) => {
                Box::new(attributes.iter())
            }
            Source::Computed(expressions, _) => Box::new(expressions.iter().map(|expression| &expression.gives)),
        }
    }
}

impl Known {
    /// `None`: it is no definition, or one that gives nothing.
    fn source(&self, view: View<'_>, record: &Record<'_>) -> Result<Option<Source>, StoreError> {
        let schema = &self.schema;
        let texts = |attribute| -> Result<Vec<String>, StoreError> {
            let values = values(record, attribute)?;
            Ok(values
                .into_iter()
                .filter_map(|value| String::from_utf8(value).ok())
                .collect())
        };
        if self.is_of(record, Kind::Computed)? {
            let texts = texts(&self.expression)?;
            let expressions = texts.iter().filter_map(|text| Expression::parse(schema, text));
            return Ok(Some(Source::Computed(expressions.collect(), self.priority(record)?)));
        }
        let texts = texts(&self.attribute)?;
        let attributes: Vec<_> = texts
            .iter()
            .filter_map(|text| CosAttribute::parse(schema, text))
            .collect();
        let described = |name: Option<String>| name.and_then(|name| schema.attribute_description(name.as_bytes()).ok());
        if self.is_of(record, Kind::Indirect)? {
            let specifier = described(text(record, &self.indirect_specifier)?);
            return Ok(specifier.map(|specifier| Source::Indirect(attributes, specifier)));
        }
        let name = text(record, &self.template_dn)?;
        let Some(name) = name.and_then(|name| Dn::parse(schema, name.as_bytes()).ok()) else {
            return Ok(None);
        };
        let Location::Entry(id) = view.locate(&name)? else {
            return Ok(None);
        };
        let is_classic = self.is_of(record, Kind::Classic)?;
        if self.is_of(record, Kind::Pointer)? {
            let template = match view.record(id)? {
                Some(record) if self.is_of(&record, Kind::Template)? => self.template(&record, &attributes)?,
                _ => return Ok(None),
            };
            return Ok(Some(Source::Pointer(attributes, template)));
        }
        let specifier = described(text(record, &self.specifier)?);
        let Some(specifier) = specifier.filter(|_| is_classic) else {
            return Ok(None);
        };
        let mut templates = HashMap::new();
        let plan = view.plan_guarded(id, Scope::OneLevel, &self.templates, None)?;
        let mut candidates = view.candidates(&plan, 0)?;
        while let Some(record) = candidates.next_record()? {
            if record.is_in_scope(id, Scope::OneLevel)?
                && self.is_of(&record, Kind::Template)?
                && let Some((_, value)) = view.dn(record.id)?.leaf_assertions(schema).into_iter().next()
            {
                templates.insert(grade(schema, &specifier, &value), self.template(&record, &attributes)?);
            }
        }
        let fallback = format!("{}-default", schema.description_text(&specifier));
        let fallback = templates.remove(&grade(schema, &specifier, fallback.as_bytes()));
        Ok(Some(Source::Classic {
            attributes,
            specifier,
            templates,
            fallback,
        }))
    }

    fn template(&self, record: &Record<'_>, attributes: &[CosAttribute]) -> Result<Template, StoreError> {
        let mut found = Vec::new();
        for CosAttribute { description, .. } in attributes {
            found.push((description.clone(), values(record, description)?));
        }
        Ok(Template {
            values: found,
            priority: self.priority(record)?,
        })
    }
}

impl Template {
    /// Its values of an attribute.
    pub(super) fn of(&self, attribute: &AttributeDescription) -> &[Vec<u8>] {
        let mut all = self.values.iter();
        all.find(|(held, _)| held == attribute)
            .map_or(&[], |(_, values)| values)
    }
}

/// How values of a specifier and the names of templates are compared.
pub(super) fn grade(schema: &Schema, specifier: &AttributeDescription, value: &[u8]) -> String {
    if schema.attribute_type(specifier.attribute_type).syntax.oid == oid::DN
        && let Ok(dn) = Dn::parse(schema, value)
    {
        return String::from_utf8_lossy(dn.normalized()).into_owned();
    }
    let text = String::from_utf8_lossy(value).to_lowercase();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The stored values of exactly this description.
pub(super) fn values(record: &Record<'_>, attribute: &AttributeDescription) -> Result<Vec<Vec<u8>>, StoreError> {
    match record.values(attribute) {
        Some(held) => Ok(held.to_attribute()?.values),
        None => Ok(Vec::new()),
    }
}

/// The first value, if it is text.
fn text(record: &Record<'_>, attribute: &AttributeDescription) -> Result<Option<String>, StoreError> {
    let value = values(record, attribute)?.into_iter().next();
    Ok(value.and_then(|value| String::from_utf8(value).ok()))
}

/// The entry that a value names, in the same database.
pub(super) fn named<'a>(look: &DerivingLook<'a>, value: &[u8]) -> Result<Option<Record<'a>>, StoreError> {
    match Dn::parse(look.view.schema(), value) {
        Ok(dn) => look.find(&dn),
        Err(_) => Ok(None),
    }
}
