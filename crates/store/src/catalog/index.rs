//! Indexes: their rows in `indexes`, what they mean under a schema, and which attributes feed them.
//!
//! Row: key varint(index number); value: byte kind, byte state (0 not built, 1 active), byte flags (1 nolang, 2 nosubtypes), varint
//! length of the attribute type's name, the name, OID of the matching rule that makes the keys (nothing for presence and
//! approximate). Kinds: 1 presence, 2 equality by hash, 3 equality in order, 4 substring, 5 approximate.

use heed::{RoTxn, RwTxn};
use ironbark_model::{
    AttributeDescription, Schema,
    matching::MatchingRule,
    schema::{AttributeType, TypeNumber},
};
use smallvec::SmallVec;

use crate::{
    StoreError,
    database::IndexDefinition,
    tables::{MetaRow, Tables},
    varint,
};

/// What an index's keys are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord, Hash)]
pub(crate) enum IndexKind {
    /// Empty.
    Presence = 1,
    /// Hash of the normal form.
    EqualityHash = 2,
    /// Normal form.
    EqualityOrdered = 3,
    /// Trigrams.
    Substring = 4,
    /// Phonetic codes.
    Approximate = 5,
}

impl IndexKind {
    fn from_byte(byte: u8) -> Option<Self> {
        [
            Self::Presence,
            Self::EqualityHash,
            Self::EqualityOrdered,
            Self::Substring,
            Self::Approximate,
        ]
        .into_iter()
        .find(|kind| *kind as u8 == byte)
    }
    /// The word of `index`.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Presence => "pres",
            Self::EqualityHash | Self::EqualityOrdered => "eq",
            Self::Substring => "sub",
            Self::Approximate => "approx",
        }
    }
    /// Whether it answers equality.
    pub(crate) fn is_equality(self) -> bool {
        matches!(self, Self::EqualityHash | Self::EqualityOrdered)
    }
}

/// A row of `indexes`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct StoredIndex {
    pub(crate) number: u64,
    pub(crate) kind: IndexKind,
    pub(crate) active: bool,
    pub(crate) no_language: bool,
    pub(crate) no_subtypes: bool,
    pub(crate) attribute: Box<str>,
    /// OID of the rule: under another one the keys are worthless.
    pub(crate) rule: Box<str>,
}

/// An index under the current schema.
#[derive(Clone, Debug)]
pub(crate) struct Index {
    pub(crate) stored: StoredIndex,
    /// First bytes of all its keys.
    pub(crate) prefix: SmallVec<[u8; 4]>,
    pub(crate) attribute_type: TypeNumber,
    /// The rule that makes its keys: none for presence, or when the schema has none (then it has no keys).
    pub(crate) rule: Option<&'static MatchingRule>,
}

impl StoredIndex {
    fn encode(&self) -> Vec<u8> {
        let flags = u8::from(self.no_language) | (u8::from(self.no_subtypes) << 1);
        let mut row = vec![self.kind as u8, u8::from(self.active), flags];
        varint::put(&mut row, self.attribute.len() as u64);
        row.extend_from_slice(self.attribute.as_bytes());
        row.extend_from_slice(self.rule.as_bytes());
        row
    }
    fn decode(key: &[u8], row: &[u8]) -> Option<Self> {
        let [kind, state, flags, rest @ ..] = row else {
            return None;
        };
        let mut rest = rest;
        let length = usize::try_from(varint::take(&mut rest)?).ok()?;
        let (attribute, rule) = rest.split_at_checked(length)?;
        Some(Self {
            number: varint::read(key)?,
            kind: IndexKind::from_byte(*kind)?,
            active: *state == 1,
            no_language: flags & 1 != 0,
            no_subtypes: flags & 2 != 0,
            attribute: std::str::from_utf8(attribute).ok()?.into(),
            rule: std::str::from_utf8(rule).ok()?.into(),
        })
    }
    /// Writes the row.
    pub(crate) fn store(&self, txn: &mut RwTxn<'_>, tables: &Tables) -> Result<(), StoreError> {
        Ok(tables
            .indexes
            .put(txn, varint::Key::new(self.number).bytes(), &self.encode())?)
    }
    fn same_definition(&self, other: &Self) -> bool {
        self.kind == other.kind
            && self.no_language == other.no_language
            && self.no_subtypes == other.no_subtypes
            && self.attribute.eq_ignore_ascii_case(&other.attribute)
            && self.rule == other.rule
    }
}

/// All rows.
pub(crate) fn load(txn: &RoTxn<'_>, tables: &Tables) -> Result<Vec<StoredIndex>, StoreError> {
    tables
        .indexes
        .iter(txn)?
        .map(|row| {
            let (key, row) = row?;
            StoredIndex::decode(key, row).ok_or_else(|| StoreError::damaged("a row of `indexes`"))
        })
        .collect()
}

/// What the definitions of the configuration ask for.
fn wanted(schema: &Schema, definitions: &[IndexDefinition]) -> Result<Vec<StoredIndex>, StoreError> {
    let mut wanted: Vec<StoredIndex> = Vec::new();
    for definition in definitions {
        let found = schema
            .find_attribute_type(definition.attribute.as_bytes())
            .ok_or_else(|| StoreError::Format(format!("index attribute \"{}\" undefined", definition.attribute)))?;
        let equality = if found.ordering.is_some() {
            IndexKind::EqualityOrdered
        } else {
            IndexKind::EqualityHash
        };
        let kinds = [
            (definition.presence, IndexKind::Presence),
            (definition.equality, equality),
            (definition.substring, IndexKind::Substring),
            (definition.approximate, IndexKind::Approximate),
        ];
        for (_, kind) in kinds.into_iter().filter(|(on, _)| *on) {
            let index = StoredIndex {
                number: 0,
                kind,
                active: false,
                no_language: definition.no_language,
                no_subtypes: definition.no_subtypes,
                attribute: found.names.first().unwrap_or(&found.oid).clone(),
                rule: rule_of(found, kind).map_or("", |rule| rule.oid).into(),
            };
            if !wanted
                .iter()
                .any(|other| other.kind == kind && other.attribute == index.attribute)
            {
                wanted.push(index);
            }
        }
    }
    Ok(wanted)
}

/// Brings `indexes` in line with the configuration: new definitions get numbers, dropped ones lose row and keys. An index is active at
/// once when there are no entries. Whether anything was changed.
pub(crate) fn register(
    txn: &mut RwTxn<'_>,
    tables: &Tables,
    schema: &Schema,
    definitions: &[IndexDefinition],
) -> Result<bool, StoreError> {
    let stored = load(txn, tables)?;
    let wanted = wanted(schema, definitions)?;
    let empty = tables.entries.is_empty(txn)?;
    let mut changed = false;
    for dropped in stored
        .iter()
        .filter(|old| !wanted.iter().any(|new| new.same_definition(old)))
    {
        let key = varint::Key::new(dropped.number);
        changed |= tables.indexes.delete(txn, key.bytes())?;
        Tables::delete_prefix(txn, &tables.index, key.bytes(), usize::MAX)?;
    }
    let mut next = tables.number(txn, MetaRow::NextIndex)?;
    for mut new in wanted {
        match stored.iter().find(|old| new.same_definition(old)) {
            Some(old) if old.active || !empty => {}
            Some(old) => {
                let active = StoredIndex {
                    active: true,
                    ..old.clone()
                };
                active.store(txn, tables)?;
                changed = true;
            }
            None => {
                new.number = next;
                new.active = empty;
                new.store(txn, tables)?;
                next += 1;
                changed = true;
            }
        }
    }
    if changed {
        tables.put_number(txn, MetaRow::NextIndex, next)?;
    }
    Ok(changed)
}

/// Indexes under a schema. One whose attribute is no longer defined is left out; `register` drops it.
pub(crate) fn resolve(schema: &Schema, stored: Vec<StoredIndex>) -> Result<Vec<Index>, StoreError> {
    let mut indexes = Vec::with_capacity(stored.len());
    for stored in stored {
        let Some(found) = schema.find_attribute_type(stored.attribute.as_bytes()) else {
            continue;
        };
        let rule = rule_of(found, stored.kind);
        let mut stored = stored;
        // The schema has another rule now: the index is of no use until the database is opened anew and the index built.
        stored.active &= rule.map_or("", |rule| rule.oid) == &*stored.rule;
        indexes.push(Index {
            prefix: SmallVec::from_slice(varint::Key::new(stored.number).bytes()),
            attribute_type: found.number,
            rule,
            stored,
        });
    }
    if indexes.len() > usize::from(u16::MAX) {
        return Err(StoreError::Format("too many indexes".into()));
    }
    Ok(indexes)
}

/// The rule that makes an index's keys.
fn rule_of(found: &AttributeType, kind: IndexKind) -> Option<&'static MatchingRule> {
    match kind {
        IndexKind::Presence | IndexKind::Approximate => None,
        IndexKind::EqualityHash | IndexKind::EqualityOrdered => found.equality,
        IndexKind::Substring => found.substrings,
    }
}

/// Positions of the indexes that values of a description go into.
pub(crate) fn feeds(schema: &Schema, indexes: &[Index], description: &AttributeDescription) -> SmallVec<[u16; 4]> {
    let feeds = |index: &Index| {
        let own = description.attribute_type == index.attribute_type;
        let has_language = description.options.iter().any(|option| option.starts_with("lang-"));
        (own || (!index.stored.no_subtypes && schema.is_subtype(description.attribute_type, index.attribute_type)))
            && !(index.stored.no_language && has_language)
    };
    indexes
        .iter()
        .zip(0u16..)
        .filter(|(index, _)| feeds(index))
        .map(|(_, at)| at)
        .collect()
}
