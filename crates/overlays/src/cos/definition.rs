//! The definitions and templates of a database.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
    ops::ControlFlow,
    sync::Arc,
};

use ironbark_config::SettingError;
use ironbark_directory::overlay::{Author, DerivingLook, Entries};
use ironbark_model::{
    AttributeDescription, CompiledFilter, Dn, Filter, Schema, filter::Assertion, schema::ClassNumber, syntax::oid,
};
use ironbark_store::{DitScope, EntryId, Location, Record, StoreError, View};

use super::{attribute::CosAttribute, expression::Expression};
use crate::values::stored;

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
    /// Who gives each of them: positions in `all`, and in what that gives.
    givers: Vec<Vec<(usize, usize)>>,
}

/// A definition.
pub(super) struct Definition {
    pub(super) id: EntryId,
    /// The entry whose subtree it is for: its superior.
    pub(super) base: EntryId,
    pub(super) author: Author,
    /// What it gives, and how.
    pub(super) gives: Vec<CosAttribute>,
    pub(super) source: Source,
}

/// Where the values of a definition come from.
pub(super) enum Source {
    /// One template.
    Pointer(Template),
    /// The template with the name that a value of the entry gives, without regard to case, or the one for all others.
    Classic {
        specifier: AttributeDescription,
        templates: HashMap<String, Template>,
        fallback: Option<Template>,
    },
    /// The entries that the entry names.
    Indirect(AttributeDescription),
    /// Values of the entry itself.
    Computed(Vec<Expression>, u64),
}

/// A template.
pub(super) struct Template {
    pub(super) id: EntryId,
    /// Of each attribute that its definition gives, in that order.
    given: Vec<Given>,
    pub(super) priority: u64,
}

/// Values of one attribute.
struct Given {
    attribute: AttributeDescription,
    values: Vec<Vec<u8>>,
    /// Their normal forms, if the attribute has an equality rule; without those that have none.
    normals: Vec<Vec<u8>>,
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
        let Some(held) = record.values(&self.object_class) else {
            return Ok(false);
        };
        let mut allow = false;
        held.for_each(&mut |name| {
            allow |= self.schema.find_object_class(name).is_some_and(|class| {
                let class = class.number;
                Some(class) == self.extensible_object
                    || self.schema.allowed_types(class).binary_search(&wanted).is_ok()
                    || self.schema.required_types(class).binary_search(&wanted).is_ok()
            });
            if allow {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })?;
        Ok(allow)
    }

    fn classes_of(&self, record: &Record<'_>) -> Result<Vec<ClassNumber>, StoreError> {
        let mut found = Vec::new();
        for value in stored(record, &self.object_class)? {
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
    pub(super) fn read(known: &Arc<Known>, entries: Entries<'_>) -> Result<Self, StoreError> {
        let view = entries.view();
        let plan = view.plan_guarded(0, DitScope::Subtree, &known.all, None)?;
        let mut candidates = view.candidates(&plan, 0)?;
        let mut all = Vec::new();
        while let Some(record) = candidates.next_record()? {
            all.extend(known.definition(entries, &record)?);
        }
        Ok(Self::of(known, all))
    }

    fn of(known: &Arc<Known>, all: Vec<Definition>) -> Self {
        let mut by_attribute: BTreeMap<AttributeDescription, Vec<(usize, usize)>> = BTreeMap::new();
        for (number, definition) in all.iter().enumerate() {
            for (position, how) in definition.gives.iter().enumerate() {
                let givers = by_attribute.entry(how.description.clone()).or_default();
                givers.push((number, position));
            }
        }
        let (attributes, givers) = by_attribute.into_iter().unzip();
        Self {
            known: Arc::clone(known),
            all,
            attributes,
            givers,
        }
    }

    /// The definitions that give exactly this attribute, and how.
    pub(super) fn givers(
        &self,
        attribute: &AttributeDescription,
    ) -> impl Iterator<Item = (&Definition, &CosAttribute)> {
        let known = self.attributes.iter().position(|known| known == attribute);
        let givers = known.and_then(|known| self.givers.get(known));
        let givers = givers.map_or(&[][..], Vec::as_slice);
        givers.iter().filter_map(|&(number, position)| {
            let definition = self.all.get(number)?;
            Some((definition, definition.gives.get(position)?))
        })
    }
}

impl Known {
    /// `None`: it is no definition, or one that gives nothing.
    fn definition(&self, entries: Entries<'_>, record: &Record<'_>) -> Result<Option<Definition>, StoreError> {
        let (view, author) = (entries.view(), entries.author(record)?);
        let schema = &self.schema;
        let (id, base) = (record.id, record.parent());
        let texts = |attribute| -> Result<Vec<String>, StoreError> {
            let values = stored(record, attribute)?;
            Ok(values
                .into_iter()
                .filter_map(|value| String::from_utf8(value).ok())
                .collect())
        };
        if self.is_of(record, Kind::Computed)? {
            let texts = texts(&self.expression)?;
            let expressions = texts.iter().filter_map(|text| Expression::parse(schema, text));
            let expressions: Vec<Expression> = expressions.collect();
            let mut gives: Vec<CosAttribute> = Vec::new();
            for expression in &expressions {
                if !gives.contains(&expression.gives) {
                    gives.push(expression.gives.clone());
                }
            }
            let source = Source::Computed(expressions, self.priority(record)?);
            return Ok(Some(Definition {
                id,
                base,
                author,
                gives,
                source,
            }));
        }
        let texts = texts(&self.attribute)?;
        let gives = texts.iter().filter_map(|text| CosAttribute::parse(schema, text));
        let gives: Vec<CosAttribute> = gives.collect();
        let source = self.source(view, record, &gives)?;
        Ok(source.map(|source| Definition {
            id,
            base,
            author,
            gives,
            source,
        }))
    }

    fn source(
        &self,
        view: View<'_>,
        record: &Record<'_>,
        gives: &[CosAttribute],
    ) -> Result<Option<Source>, StoreError> {
        let schema = &self.schema;
        let described = |name: Option<String>| name.and_then(|name| schema.attribute_description(name.as_bytes()).ok());
        if self.is_of(record, Kind::Indirect)? {
            let specifier = described(text(record, &self.indirect_specifier)?);
            return Ok(specifier.map(Source::Indirect));
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
                Some(record) if self.is_of(&record, Kind::Template)? => self.template(&record, gives)?,
                _ => return Ok(None),
            };
            return Ok(Some(Source::Pointer(template)));
        }
        let specifier = described(text(record, &self.specifier)?);
        let Some(specifier) = specifier.filter(|_| is_classic) else {
            return Ok(None);
        };
        let mut templates = HashMap::new();
        let plan = view.plan_guarded(id, DitScope::OneLevel, &self.templates, None)?;
        let mut candidates = view.candidates(&plan, 0)?;
        while let Some(record) = candidates.next_record()? {
            if record.is_in_scope(id, DitScope::OneLevel)?
                && self.is_of(&record, Kind::Template)?
                && let Some((_, value)) = view.dn(record.id)?.leaf_assertions(schema).into_iter().next()
            {
                let name = grade(schema, &specifier, &value).into_owned();
                templates.insert(name, self.template(&record, gives)?);
            }
        }
        let fallback = format!("{}-default", schema.description_text(&specifier));
        let fallback = templates.remove(&*grade(schema, &specifier, fallback.as_bytes()));
        Ok(Some(Source::Classic {
            specifier,
            templates,
            fallback,
        }))
    }

    fn template(&self, record: &Record<'_>, gives: &[CosAttribute]) -> Result<Template, StoreError> {
        let mut all = Vec::new();
        for CosAttribute { description, .. } in gives {
            let values = stored(record, description)?;
            let rule = self.schema.attribute_type(description.attribute_type).equality;
            let normal = |value: &Vec<u8>| {
                let mut normal = Vec::new();
                (rule?.normalize_value)(&self.schema, value, &mut normal).ok()?;
                Some(normal)
            };
            all.push(Given {
                attribute: description.clone(),
                normals: values.iter().filter_map(normal).collect(),
                values,
            });
        }
        Ok(Template {
            id: record.id,
            given: all,
            priority: self.priority(record)?,
        })
    }
}

impl Template {
    /// Its values of an attribute.
    pub(super) fn of(&self, attribute: &AttributeDescription) -> &[Vec<u8>] {
        self.given(attribute).map_or(&[], |given| &given.values)
    }

    /// Their normal forms.
    pub(super) fn normals_of(&self, attribute: &AttributeDescription) -> &[Vec<u8>] {
        self.given(attribute).map_or(&[], |given| &given.normals)
    }

    fn given(&self, attribute: &AttributeDescription) -> Option<&Given> {
        self.given.iter().find(|given| given.attribute == *attribute)
    }
}

/// How values of a specifier and the names of templates are compared.
pub(super) fn grade<'v>(schema: &Schema, specifier: &AttributeDescription, value: &'v [u8]) -> Cow<'v, str> {
    if schema.attribute_type(specifier.attribute_type).syntax.oid == oid::DN
        && let Ok(dn) = Dn::parse(schema, value)
    {
        return String::from_utf8_lossy(dn.normalized()).into_owned().into();
    }
    let text = String::from_utf8_lossy(value);
    let is_graded = |octet: u8| octet.is_ascii_graphic() && !octet.is_ascii_uppercase();
    if text.bytes().all(is_graded) {
        return text;
    }
    let text = text.to_lowercase();
    text.split_whitespace().collect::<Vec<_>>().join(" ").into()
}

/// The first value, if it is text.
fn text(record: &Record<'_>, attribute: &AttributeDescription) -> Result<Option<String>, StoreError> {
    let value = stored(record, attribute)?.into_iter().next();
    Ok(value.and_then(|value| String::from_utf8(value).ok()))
}

/// The entry that a value names, in the same database.
pub(super) fn named<'a>(look: &DerivingLook<'a>, value: &[u8]) -> Result<Option<Record<'a>>, StoreError> {
    match Dn::parse(look.view.schema(), value) {
        Ok(dn) => look.find(&dn),
        Err(_) => Ok(None),
    }
}
