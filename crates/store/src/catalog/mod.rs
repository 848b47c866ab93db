//! The facts about a database besides its entries: schema, attribute numbers, indexes. Immutable; swapped whole.

pub(crate) mod answer_name;
pub(crate) mod index;

use std::{collections::HashMap, sync::Arc};

use heed::{RoTxn, RwTxn};
use ironbark_model::{
    AttributeDescription, Schema,
    matching::MatchingRule,
    schema::{ClassNumber, TypeNumber, Usage},
};
use smallvec::SmallVec;

use answer_name::AnswerName;
pub(crate) use index::{Index, IndexKind, IndexState};

use crate::{
    StoreError,
    record::{codec, image::Image, packed},
    tables::Tables,
    varint,
};

/// Up to so many numbers of a type are looked through for a description; then a map is quicker.
const FEW_NUMBERS: usize = 4;

/// One attribute description that entries of this database have.
#[derive(Clone, Debug)]
pub(crate) struct AttributeInfo {
    /// Type and options.
    pub(crate) description: AttributeDescription,
    /// EQUALITY of the type.
    pub(crate) equality: Option<&'static MatchingRule>,
    /// Positions in [`Catalog::indexes`] of the indexes that its values go into.
    pub(crate) feeds: SmallVec<[u16; 4]>,
}

/// Numbers of the definitions that the store treats on their own.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Special {
    /// objectClass: matches through superclasses.
    pub(crate) object_class: Option<TypeNumber>,
    entry_uuid: Option<TypeNumber>,
    entry_csn: Option<TypeNumber>,
    alias: Option<ClassNumber>,
    referral: Option<ClassNumber>,
    subentry: Option<ClassNumber>,
    glue: Option<ClassNumber>,
}

/// The catalog.
#[derive(Debug, Clone)]
pub(crate) struct Catalog {
    pub(crate) schema: Arc<Schema>,
    /// `None`: not in the schema. No entry has the attribute, or it came under a later schema than this catalog's.
    attributes: Vec<Option<AttributeInfo>>,
    answer_names: Vec<AnswerName>,
    texts: Vec<Box<str>>,
    numbers: HashMap<AttributeDescription, u16>,
    by_type: Vec<Vec<u16>>,
    pub(crate) indexes: Vec<Index>,
    pub(crate) special: Special,
}

impl Special {
    fn of(schema: &Schema) -> Self {
        let attribute = |oid: &[u8]| schema.find_attribute_type(oid).map(|found| found.number);
        let class = |oid: &[u8]| schema.find_object_class(oid).map(|found| found.number);
        Self {
            object_class: attribute(b"2.5.4.0"),
            entry_uuid: attribute(b"1.3.6.1.1.16.4"),
            entry_csn: attribute(b"1.3.6.1.4.1.4203.666.1.7"),
            alias: class(b"2.5.6.1"),
            referral: class(b"2.16.840.1.113730.3.2.6"),
            subentry: class(b"2.5.17.0"),
            glue: class(b"glue"),
        }
    }
}

/// What to do about an attribute that entries may have but the schema lacks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Undefined {
    /// Refuse the schema.
    Refused,
    /// Ignore it: it came under a later schema, and readers under this schema are about to end.
    Invisible,
}

/// What a catalog is made of besides the schema.
pub(crate) struct Parts<'a> {
    /// Texts of all attribute numbers, in order; an empty one is out of use.
    pub(crate) texts: Vec<Box<str>>,
    pub(crate) indexes: Vec<index::StoredIndex>,
    /// The indexes that were known before, if any.
    pub(crate) before: &'a [Index],
    /// The transaction that this state belongs to.
    pub(crate) version: usize,
}

impl Parts<'_> {
    /// Reads numbers and indexes from the file.
    pub(crate) fn load<'a>(txn: &RoTxn<'_>, tables: &Tables, before: &'a [Index]) -> Result<Parts<'a>, StoreError> {
        Ok(Parts {
            texts: texts(txn, tables)?,
            indexes: index::load(txn, tables)?,
            before,
            version: txn.id(),
        })
    }
}

/// Texts of all attribute numbers that the file has, in order.
fn texts(txn: &RoTxn<'_>, tables: &Tables) -> Result<Vec<Box<str>>, StoreError> {
    let mut texts = Vec::new();
    for row in tables.attributes.iter(txn)? {
        let (key, row) = row?;
        let number = texts.len() as u64;
        if varint::read(key) != Some(number) {
            return Err(StoreError::damaged("the numbers of `attributes` have a gap"));
        }
        let text = tables
            .unseal(number, row)
            .and_then(|text| std::str::from_utf8(text).ok());
        let text = text.ok_or_else(|| StoreError::damaged(&format!("the name of attribute {number}")))?;
        texts.push(text.into());
    }
    Ok(texts)
}

impl Catalog {
    /// Numbers and indexes under a schema.
    ///
    /// # Errors
    /// An attribute that is stored has no definition in `schema`.
    pub(crate) fn build(schema: Arc<Schema>, parts: Parts<'_>, undefined: Undefined) -> Result<Self, StoreError> {
        let special = Special::of(&schema);
        let indexes = index::resolve(&schema, &parts.texts, parts.indexes, parts.before, parts.version)?;
        let mut catalog = Self {
            by_type: vec![Vec::new(); schema.attribute_types().len()],
            attributes: Vec::new(),
            answer_names: Vec::new(),
            texts: Vec::new(),
            numbers: HashMap::new(),
            schema,
            indexes,
            special,
        };
        for text in parts.texts {
            match catalog.schema.attribute_description(text.as_bytes()) {
                Ok(description) => {
                    catalog.add(description, text);
                }
                Err(error) if undefined == Undefined::Refused && !text.is_empty() => {
                    return Err(StoreError::Format(format!(
                        "attribute `{text}` is stored in the database, but: {error}"
                    )));
                }
                Err(_) => catalog.add_undefined(text),
            }
        }
        Ok(catalog)
    }

    /// Keeps the number of an attribute that the schema does not have.
    fn add_undefined(&mut self, text: Box<str>) {
        self.attributes.push(None);
        self.answer_names.push(AnswerName::new(&text, true));
        self.texts.push(text);
    }

    /// Texts of all numbers, in order.
    pub(crate) fn texts(&self) -> &[Box<str>] {
        &self.texts
    }

    fn add(&mut self, description: AttributeDescription, text: Box<str>) -> Option<u16> {
        let number = u16::try_from(self.attributes.len()).ok()?;
        let definition = self.schema.attribute_type(description.attribute_type);
        let mut above = Some(description.attribute_type);
        while let Some(at) = above {
            if let Some(numbers) = usize::try_from(at.0).ok().and_then(|at| self.by_type.get_mut(at)) {
                numbers.push(number);
            }
            above = self.schema.attribute_type(at).superior;
        }
        let feeds = index::feeds(&self.schema, &self.indexes, &description);
        let answer_name = AnswerName::new(&text, definition.usage != Usage::UserApplications);
        let info = AttributeInfo {
            equality: definition.equality,
            feeds,
            description: description.clone(),
        };
        self.attributes.push(Some(info));
        self.answer_names.push(answer_name);
        self.texts.push(text);
        self.numbers.insert(description, number);
        Some(number)
    }

    /// What a number stands for.
    #[inline]
    pub(crate) fn attribute(&self, number: u16) -> Option<&AttributeInfo> {
        self.attributes.get(usize::from(number))?.as_ref()
    }
    /// Whether a number was given out, even if its meaning is not known.
    pub(crate) fn is_number(&self, number: u16) -> bool {
        usize::from(number) < self.attributes.len()
    }
    /// All descriptions that are known.
    pub(crate) fn descriptions(&self) -> impl Iterator<Item = (&AttributeInfo, &str)> {
        self.attributes
            .iter()
            .zip(&self.texts)
            .filter_map(|(info, text)| Some((info.as_ref()?, &**text)))
    }
    /// The name of an attribute as an answer carries it.
    #[inline]
    pub(crate) fn answer_name(&self, number: u16) -> Option<&AnswerName> {
        self.answer_names.get(usize::from(number))
    }
    /// A number's description as printed.
    pub(crate) fn text(&self, number: u16) -> &str {
        self.texts.get(usize::from(number)).map_or("", |text| text)
    }
    /// The number of a description.
    pub(crate) fn number(&self, description: &AttributeDescription) -> Option<u16> {
        let of_type = self.numbers_of_type(description.attribute_type);
        if of_type.len() > FEW_NUMBERS {
            return self.numbers.get(description).copied();
        }
        let is_it = |&number: &u16| {
            self.attribute(number)
                .is_some_and(|info| info.description == *description)
        };
        of_type.iter().copied().find(is_it)
    }
    /// The `entryUUID` of an entry, or zeros.
    pub(crate) fn uuid_of(&self, image: &Image) -> [u8; 16] {
        let number = self.entry_uuid();
        image
            .attributes
            .iter()
            .find(|attribute| Some(attribute.number) == number)
            .and_then(|attribute| codec::values(attribute.set.tlvs()?).next().and_then(packed::uuid_of))
            .unwrap_or_default()
    }

    /// The number of entryUUID, if an entry has had one.
    pub(crate) fn entry_uuid(&self) -> Option<u16> {
        self.without_options(self.special.entry_uuid?)
    }
    /// The number of entryCSN, if an entry has had one.
    pub(crate) fn entry_csn(&self) -> Option<u16> {
        self.without_options(self.special.entry_csn?)
    }
    fn without_options(&self, its: TypeNumber) -> Option<u16> {
        let is_it = |&number: &u16| {
            let attribute = self.attribute(number);
            attribute.is_some_and(|info| info.description.attribute_type == its && info.description.options.is_empty())
        };
        self.numbers_of_type(its).iter().copied().find(is_it)
    }
    /// Numbers of a type, with all options, and of its subtypes. Ascending.
    #[inline]
    pub(crate) fn numbers_of_type(&self, attribute_type: TypeNumber) -> &[u16] {
        usize::try_from(attribute_type.0)
            .ok()
            .and_then(|at| self.by_type.get(at))
            .map_or(&[], |numbers| numbers)
    }
    /// Whether values of `number` are values of `asked`: type or subtype, and all asked options (RFC 4512 §2.5; RFC
    /// 3866 ranges).
    pub(crate) fn answers(&self, number: u16, asked: &AttributeDescription) -> bool {
        asked.options.is_empty()
            || self
                .attribute(number)
                .is_some_and(|info| info.description.options_include(asked))
    }
    /// The numbers that answer a description.
    pub(crate) fn numbers_of<'a>(&'a self, asked: &'a AttributeDescription) -> impl Iterator<Item = u16> + 'a {
        self.numbers_of_type(asked.attribute_type)
            .iter()
            .copied()
            .filter(|&number| self.answers(number, asked))
    }

    /// Registers one more description and returns its number. The text is written to the file.
    pub(crate) fn register(
        &mut self,
        txn: &mut RwTxn<'_>,
        tables: &Tables,
        description: &AttributeDescription,
    ) -> Result<u16, StoreError> {
        let number = self.take_in(description)?;
        tables.put_sealed(txn, &tables.attributes, u64::from(number), self.text(number).as_bytes())?;
        for index in self.indexes_fed_by(number) {
            index::note_feeder(txn, tables, index.stored.number, number)?;
        }
        Ok(number)
    }

    /// Registers one more description in memory and returns its number.
    pub(crate) fn take_in(&mut self, description: &AttributeDescription) -> Result<u16, StoreError> {
        let text = self.schema.description_text(description).into_boxed_str();
        let number = self
            .add(description.clone(), text)
            .ok_or_else(|| StoreError::Full("65,536 attribute descriptions are in use".into()))?;
        let feeds = self.attribute(number).map(|info| info.feeds.clone());
        for at in feeds.into_iter().flatten() {
            let index = self.indexes.get_mut(usize::from(at));
            if let Some(fed_by) = index.and_then(|index| index.stored.fed_by.as_mut()) {
                fed_by.push(number);
            }
        }
        Ok(number)
    }

    fn indexes_fed_by(&self, number: u16) -> impl Iterator<Item = &Index> {
        let feeds = self.attribute(number).map_or(&[][..], |info| &info.feeds);
        feeds.iter().filter_map(|&at| self.indexes.get(usize::from(at)))
    }

    /// Writes what feeds each index, after attributes were registered in memory.
    pub(crate) fn store_feeders(&self, txn: &mut RwTxn<'_>, tables: &Tables) -> Result<(), StoreError> {
        self.indexes
            .iter()
            .try_for_each(|index| index.stored.store(txn, tables))
    }

    /// Record flags that a value of objectClass brings.
    pub(crate) fn class_flags(&self, class: &[u8]) -> u8 {
        use crate::record::codec::{FLAG_ALIAS, FLAG_GLUE, FLAG_REFERRAL, FLAG_SUBENTRY};
        let Some(class) = self.schema.find_object_class(class) else {
            return 0;
        };
        let is = |special: Option<ClassNumber>| {
            special.is_some_and(|s| s == class.number || self.schema.superclasses(class.number).contains(&s))
        };
        [
            (self.special.alias, FLAG_ALIAS),
            (self.special.referral, FLAG_REFERRAL),
            (self.special.subentry, FLAG_SUBENTRY),
            (self.special.glue, FLAG_GLUE),
        ]
        .into_iter()
        .filter(|(special, _)| is(*special))
        .fold(0, |flags, (_, flag)| flags | flag)
    }

    /// Appends the form in which two values of an attribute are compared. Appends the value itself if there is no rule
    /// or the value does not fit the rule.
    pub(crate) fn normal_form(&self, number: u16, value: &[u8], out: &mut Vec<u8>) {
        let rule = self.attribute(number).and_then(|info| info.equality);
        let normalized = rule.is_some_and(|rule| (rule.normalize_value)(&self.schema, value, out).is_ok());
        if !normalized {
            out.extend_from_slice(value);
        }
    }
}
