//! Indexes: their rows in `indexes`, what they mean under a schema, and which attributes feed them.
//!
//! Row: key varint(index number); value: byte kind, byte state, byte flags (1 nolang, 2 nosubtypes), in state 3 varint
//! ID of the last entry in the index and varint number of entries in it, varint length of the attribute type's name,
//! the name, OID of the matching rule that makes the keys (nothing for presence), 00, varint numbers of the attributes
//! whose values are in it, ascending (up to format 8 the row ends with the OID). An approximate index without an OID
//! holds other codes than approximate match uses now: its rule differs, so it is built anew. Kinds: 1 presence, 2
//! equality by hash, 3 equality in order, 4 substring, 5 approximate. States: 0 not built, 1 active, 2 dropped (its
//! keys are being deleted), 3 being built, 4 active until the index that takes its place is built.
//!
//! Invariant: a complete index holds the keys of all attributes of its row, and of no other. Under a schema by which
//! other attributes feed it (a type has got another SUP) it is not used, and it is built anew.

use heed::{RoTxn, RwTxn};
use ironbark_model::{
    AttributeDescription, Schema,
    matching::{MatchingRule, approx},
    schema::{AttributeType, TypeNumber},
};
use smallvec::SmallVec;

use crate::{
    EntryId, StoreError,
    options::IndexDefinition,
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

/// How far an index has been built.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum IndexState {
    /// The index holds the entries up to `position`, `done` in number, and all changes since it was defined.
    Building { position: EntryId, done: u64 },
    /// Complete.
    Active,
    /// No longer used or kept up to date; its keys are being deleted.
    Dropped,
    /// Complete. It is dropped when the index that takes its place is complete.
    Superseded,
}

/// A row of `indexes`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct StoredIndex {
    pub(crate) number: u64,
    pub(crate) kind: IndexKind,
    pub(crate) state: IndexState,
    pub(crate) no_language: bool,
    pub(crate) no_subtypes: bool,
    pub(crate) attribute: Box<str>,
    /// OID of the rule: under another rule the keys are worthless.
    pub(crate) rule: Box<str>,
    /// Numbers of the attributes whose values are in it, ascending. `None`: not known, in a file of an older format.
    pub(crate) fed_by: Option<Vec<u16>>,
}

/// An index under the current schema.
#[derive(Clone, Debug)]
pub(crate) struct Index {
    pub(crate) stored: StoredIndex,
    /// First bytes of all its keys.
    pub(crate) prefix: SmallVec<[u8; 4]>,
    /// The first transaction whose snapshots find the index complete, if it is active.
    pub(crate) usable_from: usize,
    pub(crate) attribute_type: TypeNumber,
    /// The rule that makes its keys. `None` for presence, and when the schema has no such rule (the index has no keys
    /// then).
    pub(crate) rule: Option<&'static MatchingRule>,
}

impl IndexState {
    pub(crate) const NOT_BUILT: Self = Self::Building { position: 0, done: 0 };
}

impl StoredIndex {
    fn encode(&self) -> Vec<u8> {
        let flags = u8::from(self.no_language) | (u8::from(self.no_subtypes) << 1);
        let state = match self.state {
            IndexState::Building { position: 0, .. } => 0,
            IndexState::Active => 1,
            IndexState::Dropped => 2,
            IndexState::Building { .. } => 3,
            IndexState::Superseded => 4,
        };
        let mut row = vec![self.kind as u8, state, flags];
        if let IndexState::Building { position: 1.., done } = self.state {
            varint::put(&mut row, self.position());
            varint::put(&mut row, done);
        }
        varint::put(&mut row, self.attribute.len() as u64);
        row.extend_from_slice(self.attribute.as_bytes());
        row.extend_from_slice(self.rule.as_bytes());
        if let Some(numbers) = &self.fed_by {
            row.push(0);
            for &number in numbers {
                varint::put(&mut row, u64::from(number));
            }
        }
        row
    }
    fn decode(key: &[u8], row: &[u8]) -> Option<Self> {
        let [kind, state, flags, rest @ ..] = row else {
            return None;
        };
        let mut rest = rest;
        let state = match state {
            0 => IndexState::NOT_BUILT,
            1 => IndexState::Active,
            2 => IndexState::Dropped,
            3 => IndexState::Building {
                position: varint::take(&mut rest)?,
                done: varint::take(&mut rest)?,
            },
            4 => IndexState::Superseded,
            _ => return None,
        };
        let length = usize::try_from(varint::take(&mut rest)?).ok()?;
        let (attribute, rest) = rest.split_at_checked(length)?;
        let end = rest.iter().position(|&byte| byte == 0).unwrap_or(rest.len());
        let (rule, mut numbers) = rest.split_at_checked(end)?;
        let mut fed_by = None;
        if numbers.split_off_first().is_some() {
            let known: &mut Vec<u16> = fed_by.insert(Vec::new());
            while !numbers.is_empty() {
                known.push(varint::take(&mut numbers)?.try_into().ok()?);
            }
        }
        Some(Self {
            number: varint::read(key)?,
            kind: IndexKind::from_byte(*kind)?,
            state,
            no_language: flags & 1 != 0,
            no_subtypes: flags & 2 != 0,
            attribute: std::str::from_utf8(attribute).ok()?.into(),
            rule: std::str::from_utf8(rule).ok()?.into(),
            fed_by,
        })
    }
    /// Whether it holds everything that it should.
    pub(crate) fn is_complete(&self) -> bool {
        matches!(self.state, IndexState::Active | IndexState::Superseded)
    }
    /// The last entry that is in it, while it is being built.
    pub(crate) fn position(&self) -> EntryId {
        match self.state {
            IndexState::Building { position, .. } => position,
            _ => 0,
        }
    }
    /// Attribute and kind as `index` has them.
    pub(crate) fn text(&self) -> String {
        format!("{} {}", self.attribute, self.kind.word())
    }
    /// Whether it serves the same filter items, whatever its flags.
    pub(crate) fn stands_for(&self, other: &Self) -> bool {
        self.kind.word() == other.kind.word()
            && self.attribute.eq_ignore_ascii_case(&other.attribute)
            && self.rule == other.rule
    }
    /// Writes the row.
    pub(crate) fn store(&self, txn: &mut RwTxn<'_>, tables: &Tables) -> Result<(), StoreError> {
        Ok(tables
            .indexes
            .put(txn, varint::Key::new(self.number).bytes(), &self.encode())?)
    }
    /// Whether values of a description go into it. `own` is its attribute type under the schema.
    fn is_fed_by(&self, schema: &Schema, own: TypeNumber, description: &AttributeDescription) -> bool {
        let given = description.attribute_type;
        let has_language = description.options.iter().any(|option| option.starts_with("lang-"));
        (given == own || (!self.no_subtypes && schema.is_subtype(given, own))) && !(self.no_language && has_language)
    }
    /// The attributes among `texts`, which are in the order of their numbers, that feed it under a schema.
    fn feeders(&self, schema: &Schema, texts: &[Box<str>]) -> Vec<u16> {
        let Some(own) = schema.find_attribute_type(self.attribute.as_bytes()) else {
            return Vec::new();
        };
        let feeds = |text: &str| {
            let description = schema.attribute_description(text.as_bytes());
            description.is_ok_and(|description| self.is_fed_by(schema, own.number, &description))
        };
        let numbered = (0u16..).zip(texts);
        numbered
            .filter(|(_, text)| feeds(text))
            .map(|(number, _)| number)
            .collect()
    }
    /// Whether other attributes feed it under a schema than those whose values it holds. No entry has an attribute that
    /// is out of use.
    fn is_stale(&self, schema: &Schema, texts: &[Box<str>]) -> bool {
        let Some(fed_by) = &self.fed_by else { return false };
        let is_in_use = |number: &&u16| texts.get(usize::from(**number)).is_some_and(|text| !text.is_empty());
        !fed_by.iter().filter(is_in_use).eq(&self.feeders(schema, texts))
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
                state: IndexState::NOT_BUILT,
                no_language: definition.no_language,
                no_subtypes: definition.no_subtypes,
                attribute: found.names.first().unwrap_or(&found.oid).clone(),
                rule: rule_of(found, kind).map_or("", |rule| rule.oid).into(),
                fed_by: None,
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

/// Whether the definitions can be registered under a schema.
pub(crate) fn check(schema: &Schema, definitions: &[IndexDefinition]) -> Result<(), StoreError> {
    if wanted(schema, definitions)?.len() > usize::from(u16::MAX) {
        return Err(StoreError::Format("too many indexes".into()));
    }
    Ok(())
}

/// Brings `indexes` in line with the configuration. New definitions get numbers. Indexes whose definitions are gone are
/// marked as dropped, or serve on until their replacement is built. An index is dropped, and another one takes its
/// place, if other attributes feed it than those whose values it holds. An index is active at once when there are no
/// entries. Returns whether anything was changed.
pub(crate) fn register(
    txn: &mut RwTxn<'_>,
    tables: &Tables,
    schema: &Schema,
    definitions: &[IndexDefinition],
) -> Result<bool, StoreError> {
    let mut rows = load(txn, tables)?;
    let texts = super::texts(txn, tables)?;
    let mut changed = drop_stale(txn, tables, schema, &texts, &mut rows)?;
    let wanted = wanted(schema, definitions)?;
    let is_empty = tables.entries.is_empty(txn)?;
    let mut next = tables.number(txn, MetaRow::NextIndex)?;
    for new in &wanted {
        let known = rows
            .iter_mut()
            .find(|old| new.same_definition(old) && old.state != IndexState::Dropped);
        let state = match &known {
            Some(old) if old.state == IndexState::Superseded => IndexState::Active,
            Some(old) if !is_empty => old.state,
            None if !is_empty => IndexState::NOT_BUILT,
            _ => IndexState::Active,
        };
        match known {
            Some(old) if old.state == state => {}
            Some(old) => {
                old.state = state;
                old.store(txn, tables)?;
                changed = true;
            }
            None => {
                let row = StoredIndex {
                    number: next,
                    state,
                    fed_by: Some(new.feeders(schema, &texts)),
                    ..new.clone()
                };
                row.store(txn, tables)?;
                rows.push(row);
                next += 1;
                changed = true;
            }
        }
    }
    if changed {
        tables.put_number(txn, MetaRow::NextIndex, next)?;
    }
    let unwanted = rows
        .iter()
        .filter(|old| !matches!(old.state, IndexState::Dropped) && !wanted.iter().any(|new| new.same_definition(old)));
    for old in unwanted {
        // Not yet built, or built with other flags.
        let successor = |row: &StoredIndex| {
            matches!(row.state, IndexState::Building { .. })
                && row.stands_for(old)
                && wanted.iter().any(|new| new.same_definition(row))
        };
        let state = if old.is_complete() && rows.iter().any(successor) {
            IndexState::Superseded
        } else {
            IndexState::Dropped
        };
        if old.state != state {
            StoredIndex { state, ..old.clone() }.store(txn, tables)?;
            changed = true;
        }
    }
    Ok(changed)
}

/// Marks the indexes as dropped that are stale under a schema. The others of a file of an older format get to know what
/// they hold. Returns whether anything was changed.
fn drop_stale(
    txn: &mut RwTxn<'_>,
    tables: &Tables,
    schema: &Schema,
    texts: &[Box<str>],
    rows: &mut [StoredIndex],
) -> Result<bool, StoreError> {
    let mut changed = false;
    for row in rows.iter_mut().filter(|row| row.state != IndexState::Dropped) {
        if row.fed_by.is_none() {
            row.fed_by = Some(row.feeders(schema, texts));
        } else if row.is_stale(schema, texts) {
            row.state = IndexState::Dropped;
        } else {
            continue;
        }
        row.store(txn, tables)?;
        changed = true;
    }
    Ok(changed)
}

/// Notes in the file that an attribute feeds an index.
pub(super) fn note_feeder(txn: &mut RwTxn<'_>, tables: &Tables, index: u64, attribute: u16) -> Result<(), StoreError> {
    let key = varint::Key::new(index);
    let row = tables.indexes.get(txn, key.bytes())?;
    let row = row.and_then(|row| StoredIndex::decode(key.bytes(), row));
    let mut row = row.ok_or_else(|| StoreError::damaged("a row of `indexes`"))?;
    if let Some(fed_by) = &mut row.fed_by {
        fed_by.push(attribute);
        row.store(txn, tables)?;
    }
    Ok(())
}

/// Indexes under a schema, as transaction `version` has them. Dropped indexes are left out, and so are those whose
/// attribute is not defined; `register` drops these. `texts` are those of all attribute numbers, and `before` holds the
/// indexes that were known before.
pub(crate) fn resolve(
    schema: &Schema,
    texts: &[Box<str>],
    stored: Vec<StoredIndex>,
    before: &[Index],
    version: usize,
) -> Result<Vec<Index>, StoreError> {
    let mut indexes = Vec::with_capacity(stored.len());
    for stored in stored {
        if stored.state == IndexState::Dropped {
            continue;
        }
        let Some(found) = schema.find_attribute_type(stored.attribute.as_bytes()) else {
            continue;
        };
        let rule = rule_of(found, stored.kind);
        let mut stored = stored;
        // The schema has another rule now, or other subtypes. The index is useless until it is defined again, and built
        // anew.
        if rule.map_or("", |rule| rule.oid) != &*stored.rule || stored.is_stale(schema, texts) {
            stored.state = IndexState::NOT_BUILT;
        }
        let known = before.iter().find(|index| index.stored.number == stored.number);
        indexes.push(Index {
            // A snapshot may be older than the catalog that it is read with.
            usable_from: match known {
                Some(index) if index.stored.is_complete() => index.usable_from,
                _ => version,
            },
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
        IndexKind::Presence => None,
        IndexKind::Approximate => approx::rule_of(found.equality?),
        IndexKind::EqualityHash | IndexKind::EqualityOrdered => found.equality,
        IndexKind::Substring => found.substrings,
    }
}

/// Positions of the indexes that values of a description go into.
pub(crate) fn feeds(schema: &Schema, indexes: &[Index], description: &AttributeDescription) -> SmallVec<[u16; 4]> {
    indexes
        .iter()
        .zip(0u16..)
        .filter(|(index, _)| index.stored.is_fed_by(schema, index.attribute_type, description))
        .map(|(_, at)| at)
        .collect()
}

#[cfg(test)]
mod tests {
    use ironbark_model::Schema;

    use super::*;
    use crate::{Database, DatabaseOptions};

    #[test]
    fn an_approximate_index_with_former_codes_is_out_of_use_and_built_anew() {
        let directory = tempfile::tempdir().unwrap();
        let definition = IndexDefinition {
            attribute: "cn".into(),
            presence: false,
            equality: false,
            substring: false,
            approximate: true,
            no_language: false,
            no_subtypes: false,
        };
        let options = DatabaseOptions {
            directory: directory.path().to_owned(),
            suffixes: Vec::new(),
            max_size: Some(1 << 24),
            max_readers: 8,
            mode: 0o600,
            no_sync: true,
            no_meta_sync: false,
            no_read_ahead: false,
            indexes: vec![definition.clone()],
            read_only: false,
        };
        let schema = Schema::system();
        let database = Database::open(options, schema.clone()).unwrap();
        let mut write = database.write().unwrap();
        let (txn, tables) = (&mut write.txn, &database.ground.tables);
        let [now] = &*load(txn, tables).unwrap() else {
            panic!("one index")
        };
        assert_eq!(
            (&*now.rule, now.state),
            ("1.3.6.1.4.1.4203.666.4.4", IndexState::Active)
        );
        // Before slapd's codes were used, rows of approximate indexes named no rule.
        let former = StoredIndex {
            rule: "".into(),
            ..now.clone()
        };
        former.store(txn, tables).unwrap();
        tables
            .entries
            .put(txn, varint::Key::new(1).bytes(), b"some entry")
            .unwrap();
        let resolved = resolve(&schema, &[], vec![former], &[], 0).unwrap();
        assert!(resolved.iter().all(|index| !index.stored.is_complete()), "{resolved:?}");
        assert!(register(txn, tables, &schema, &[definition]).unwrap());
        let states: Vec<_> = load(txn, tables).unwrap().iter().map(|row| row.state).collect();
        assert_eq!(states, [IndexState::Dropped, IndexState::NOT_BUILT]);
    }
}
