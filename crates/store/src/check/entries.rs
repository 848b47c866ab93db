//! Checks entries, names and values: everything but the indexes. It also gathers what the indexes should hold.

use std::ops::ControlFlow;

use ironbark_model::Dn;

use super::{
    Deep,
    findings::CheckFindings,
    postings::{Sums, add_keys, each_key_of},
};
use crate::{
    EntryId, StoreError, View,
    external::SetKey,
    keys::KeySet,
    names,
    record::{
        codec::{self, External, FLAG_PLACEHOLDER, FLAG_REFERRAL},
        image::{Image, ImageAttribute, ValueSet},
    },
    shared_keys::{self, SharedKeys},
    tables::MetaRow,
    varint,
    write::{image_flags, name_in},
};

/// The counts of a walk over all entries.
#[derive(Default)]
struct Counted {
    entries: u64,
    referrals: u64,
    /// Rows of `values`.
    values: u64,
    last: EntryId,
}

/// Checks all entries and returns their number. `sums` gets their index keys.
pub(super) fn check(
    deep: &Deep<'_>,
    mut sums: Option<&mut Sums>,
    findings: &mut CheckFindings,
    progress: &mut dyn FnMut(u64),
) -> Result<u64, StoreError> {
    let view = deep.view;
    let mut counted = Counted::default();
    let mut keys = KeySet::default();
    let mut is_readable = true;
    for row in view.tables().entries.iter(view.txn)? {
        let (key, bytes) = row?;
        if findings.is_enough() {
            return Ok(counted.entries);
        }
        counted.entries += 1;
        progress(counted.entries);
        let Some(id) = varint::read(key) else {
            findings.add("entries: a key is not a number");
            continue;
        };
        counted.last = id;
        match image(deep, id, bytes) {
            Ok(image) => {
                entry(deep, id, &image, &mut counted, findings)?;
                if let Some(sums) = sums.as_deref_mut() {
                    add_keys(deep, id, &image, &mut keys, sums)?;
                    uuid(deep, id, &image, findings)?;
                }
            }
            Err(what) => {
                is_readable = false;
                findings.add(format!("entry {id}: {what}"));
            }
        }
    }
    numbers(deep, &counted, is_readable, findings)?;
    Ok(counted.entries)
}

/// The record of an entry, or a text that says what is wrong with it.
pub(super) fn image(deep: &Deep<'_>, id: EntryId, bytes: &[u8]) -> Result<Image, &'static str> {
    let sealed = deep.view.tables().sealed;
    if !codec::is_sound(id, sealed, bytes) {
        return Err("the checksum of its record is wrong");
    }
    Image::decode(id, sealed, bytes, deep.view.sets).ok_or("its record cannot be read")
}

fn entry(
    deep: &Deep<'_>,
    id: EntryId,
    image: &Image,
    counted: &mut Counted,
    findings: &mut CheckFindings,
) -> Result<(), StoreError> {
    let catalog = &deep.view.catalog;
    counted.referrals += u64::from(image.flags & FLAG_REFERRAL != 0);
    let is_place = image.flags & FLAG_PLACEHOLDER != 0;
    if is_place && !image.attributes.is_empty() {
        findings.add(format!("entry {id}: is a placeholder, but has attributes"));
    }
    let external = image
        .attributes
        .iter()
        .any(|one| matches!(one.set, ValueSet::External(_)));
    let flags = image_flags(catalog, image) | (u8::from(external) * codec::FLAG_EXTERNAL);
    // Until version 4 records of glue had no flag of their own.
    let is_right = flags == image.flags || flags == image.flags | codec::FLAG_GLUE;
    if !is_place && !is_right {
        findings.add(format!("entry {id}: its flags do not match its attributes"));
    }
    for (at, attribute) in image.attributes.iter().enumerate() {
        let number = attribute.number;
        let earlier = image.attributes.get(..at).unwrap_or_default();
        if !catalog.is_number(number) || catalog.text(number).is_empty() {
            findings.add(format!("entry {id}: attribute number {number} has no name"));
        }
        if earlier.iter().any(|one| one.number == number) {
            findings.add(format!("entry {id}: attribute {} twice", catalog.text(number)));
        }
        if let Some(what) = values(deep, id, attribute, counted)? {
            findings.add(format!("entry {id}: attribute {}: {what}", catalog.text(number)));
        }
    }
    if external {
        shared_keys(deep, id, image, counted, findings)?;
    }
    name(deep, id, image, findings)
}

/// No other entry has the entryUUID: replication and the log find entries by it. Another one is found by the index; in
/// a database without an index of it nothing depends on it.
fn uuid(deep: &Deep<'_>, id: EntryId, image: &Image, findings: &mut CheckFindings) -> Result<(), StoreError> {
    let uuid = deep.view.catalog.uuid_of(image);
    if uuid == [0; 16] {
        return Ok(());
    }
    match deep.view.entry_of_uuid(&uuid) {
        Ok(Some(other)) if other != id => {
            findings.add(format!("entry {id}: has the entryUUID of entry {other}"));
            Ok(())
        }
        Ok(_) | Err(StoreError::Inapplicable(_)) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Checks what is stored of keys that several values make.
fn shared_keys(
    deep: &Deep<'_>,
    id: EntryId,
    image: &Image,
    counted: &mut Counted,
    findings: &mut CheckFindings,
) -> Result<(), StoreError> {
    let (catalog, table) = (&deep.view.catalog, &deep.view.tables().values);
    let shared = SharedKeys { id };
    let mut found = shared.all(deep.view.txn, table)?;
    counted.values += found.len() as u64;
    if !deep.counts_shared_keys {
        return Ok(());
    }
    let mut fed = shared_keys::fed_by_external(catalog, shared_keys::external_sets(image));
    fed.retain(|at| deep.complete.contains(at));
    let mut keys = KeySet::default();
    each_key_of(deep, id, image, &fed, &mut keys)?;
    // An index that is being built, or is no more, may have rows that say nothing.
    let prefix = |at: &u16| catalog.indexes.get(usize::from(*at)).map(|index| &*index.prefix);
    found.retain(|row| fed.iter().filter_map(prefix).any(|index| shared.is_of(row, index)));
    if found != shared.rows(catalog, &fed, &keys) {
        findings.add(format!("entry {id}: the numbers of values that share a key are wrong"));
    }
    Ok(())
}

/// What is wrong with an attribute's values.
fn values(
    deep: &Deep<'_>,
    id: EntryId,
    attribute: &ImageAttribute,
    counted: &mut Counted,
) -> Result<Option<&'static str>, StoreError> {
    match &attribute.set {
        ValueSet::Inline(tlvs) => {
            let mut rest = tlvs.as_slice();
            while codec::take_value(&mut rest).is_some() {}
            Ok((!rest.is_empty() || tlvs.is_empty()).then_some("its values cannot be read"))
        }
        ValueSet::External(set) => {
            counted.values += 2 * set.count;
            let key = SetKey {
                id,
                attribute: attribute.number,
            };
            external(deep, key, *set)
        }
    }
}

/// What is wrong with a set in `values`.
fn external(deep: &Deep<'_>, key: SetKey, set: External) -> Result<Option<&'static str>, StoreError> {
    let view = deep.view;
    let (txn, tables) = (view.txn, view.tables());
    let mut found = External::new(set.digest.is_some());
    let mut normal = Vec::new();
    for row in key.sequence(txn, &tables.values)? {
        let (sequence, value) = row?;
        if sequence >= set.next {
            return Ok(Some("a value has a number that was never assigned"));
        }
        found.take_in(key.id, value);
        normal.clear();
        view.catalog.normal_form(key.attribute, value, &mut normal);
        if !key.is_found(txn, tables, &normal, sequence)? {
            return Ok(Some("a value cannot be found by its content"));
        }
    }
    found.next = set.next;
    Ok((found != set).then_some("its values differ from those that were written"))
}

impl View<'_> {
    /// Whether the values of a set in `values` are those that were written.
    pub(crate) fn has_whole_set(&self, key: SetKey, set: External) -> Result<bool, StoreError> {
        let mut found = External::new(set.digest.is_some());
        key.for_each(self.txn, &self.tables().values, &mut |value| {
            found.take_in(key.id, value);
            ControlFlow::Continue(())
        })?;
        found.next = set.next;
        Ok(found == set)
    }
}

/// The name leads to the entry, and the entry has superiors up to the top.
fn name(deep: &Deep<'_>, id: EntryId, image: &Image, findings: &mut CheckFindings) -> Result<(), StoreError> {
    let view = deep.view;
    let mut key = names::Key::new();
    if !name_key(deep, image, &mut key) {
        findings.add(format!("entry {id}: \"{}\" is not a name in this schema", image.rdn));
        return Ok(());
    }
    let leads_to = view.tables().names.get(view.txn, &key)?.and_then(varint::read);
    if leads_to != Some(id) {
        let where_to = leads_to.map_or_else(|| "nowhere".to_owned(), |other| format!("to entry {other}"));
        findings.add(format!("entry {id}: its name, \"{}\", leads {where_to}", image.rdn));
    }
    if let Err(error) = view.pretty_dn(id, &mut Vec::new()) {
        findings.add(format!("entry {id}: {error}"));
    }
    Ok(())
}

/// The key of an entry in `names`; `false`: it has no name.
fn name_key(deep: &Deep<'_>, image: &Image, key: &mut names::Key) -> bool {
    let Ok(dn) = Dn::parse(&deep.view.catalog.schema, image.rdn.as_bytes()) else {
        return false;
    };
    names::key(image.parent, name_in(&dn, image.parent), key);
    image.parent == 0 || dn.depth() == 1
}

/// Checks the numbers that are stored elsewhere too.
fn numbers(
    deep: &Deep<'_>,
    counted: &Counted,
    is_readable: bool,
    findings: &mut CheckFindings,
) -> Result<(), StoreError> {
    let view = deep.view;
    let (tables, txn) = (view.tables(), view.txn);
    if tables.number(txn, MetaRow::NextEntry)? <= counted.last {
        findings.add("meta: the number for the next entry is in use");
    }
    if tables
        .meta(txn, MetaRow::Identifier)?
        .is_none_or(|bytes| bytes.len() != 16)
    {
        findings.add("meta: no identifier");
    }
    // The kind of an unreadable entry is unknown.
    if is_readable && tables.number(txn, MetaRow::Referrals)? != counted.referrals {
        findings.add(format!("meta: the number of referrals is not {}", counted.referrals));
    }
    if is_readable && tables.values.len(txn)? != counted.values {
        findings.add(format!(
            "values: {} rows, but {} belong to entries",
            tables.values.len(txn)?,
            counted.values
        ));
    }
    if tables.names.len(txn)? != counted.entries {
        nameless(deep, findings)?;
    }
    Ok(())
}

/// Finds rows of `names` that lead to no entry of that name.
fn nameless(deep: &Deep<'_>, findings: &mut CheckFindings) -> Result<(), StoreError> {
    let view = deep.view;
    let mut own = names::Key::new();
    for row in view.tables().names.iter(view.txn)? {
        let (key, value) = row?;
        let id = varint::read(value).unwrap_or(0);
        let bytes = view.record_bytes(id)?;
        let image = bytes.and_then(|bytes| image(deep, id, bytes).ok());
        let is_its = image.is_some_and(|image| name_key(deep, &image, &mut own) && own.as_slice() == key);
        if !is_its && !findings.is_enough() {
            findings.add(format!(
                "names: a name leads to entry {id}, which is missing or has another name"
            ));
        }
    }
    Ok(())
}
