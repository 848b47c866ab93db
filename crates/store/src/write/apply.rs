//! The four effects on entries.

use ironbark_model::{Dn, number_map::NumberSet};

use super::{
    WriteTransaction, index,
    log::{before_changes, uuid_among},
    working::Working,
};
use crate::{
    EntryId, Location, StoreError, ValueChange,
    change::{Before, Gone, TextAttribute},
    external::{self, SetKey},
    names,
    record::{
        codec::{self, FLAG_PLACEHOLDER},
        image::{Image, ImageAttribute, ValueSet},
    },
    varint,
};

/// The number of an attribute, and its values.
pub(super) type Numbered<'a> = (u16, &'a [Vec<u8>]);

pub(super) fn inapplicable(dn: &str, why: &str) -> StoreError {
    StoreError::Inapplicable(format!("{dn}: {why}"))
}

impl WriteTransaction<'_> {
    pub(super) fn add(&mut self, text: &str, attributes: &[TextAttribute]) -> Result<EntryId, StoreError> {
        let dn = self.parse_dn(text)?;
        let (location, parent) = self.view().locate_stored(&dn)?;
        let (id, parent) = match (location, parent) {
            (Location::Entry(id), _) => match self.placeholder_parent(id)? {
                Some(parent) => (id, parent),
                None => (id, self.remove_glue(id, &dn)?),
            },
            (Location::Missing { .. }, Some(parent)) => (self.new_entry(&dn, parent)?, parent),
            (Location::Missing { .. }, None) => return Err(inapplicable(text, "parent does not exist")),
        };
        let numbered = self.numbered(attributes)?;
        self.fill(id, parent, &dn, &numbered)?;
        if self.logged.keeps_before() {
            self.note_before(Before {
                entry_uuid: uuid_among(attributes),
                ..Before::default()
            });
        }
        Ok(id)
    }

    pub(super) fn numbered<'a>(&mut self, attributes: &'a [TextAttribute]) -> Result<Vec<Numbered<'a>>, StoreError> {
        attributes
            .iter()
            .map(|(name, values)| Ok((self.number_of_text(name)?, values.as_slice())))
            .collect()
    }

    /// The superior of an entry that is a placeholder.
    pub(super) fn placeholder_parent(&self, id: EntryId) -> Result<Option<EntryId>, StoreError> {
        let header = self
            .view()
            .record_bytes(id)?
            .and_then(|mut bytes| codec::take_header(&mut bytes));
        Ok(header
            .filter(|header| header.flags & FLAG_PLACEHOLDER != 0)
            .map(|header| header.parent))
    }

    /// Gives out an ID and enters the name.
    pub(super) fn new_entry(&mut self, dn: &Dn, parent: EntryId) -> Result<EntryId, StoreError> {
        let id = self.next_entry;
        self.next_entry += 1;
        self.put_name(dn, parent, id)?;
        Ok(id)
    }
    fn put_name(&mut self, dn: &Dn, parent: EntryId, id: EntryId) -> Result<(), StoreError> {
        names::key(parent, name_in(dn, parent), &mut self.scratch.name);
        let tables = self.tables();
        Ok(tables
            .names
            .put(&mut self.txn, &self.scratch.name, varint::Key::new(id).bytes())?)
    }

    /// Writes the record and the index keys of a new entry whose name is entered below `parent`.
    pub(super) fn fill(
        &mut self,
        id: EntryId,
        parent: EntryId,
        dn: &Dn,
        attributes: &[Numbered<'_>],
    ) -> Result<(), StoreError> {
        let mut image = Image {
            parent,
            flags: 0,
            rdn: pretty_in(dn, parent).to_owned(),
            attributes: Vec::new(),
        };
        let tables = self.tables();
        let mut seen = NumberSet::default();
        for (number, values) in attributes.iter().filter(|(_, values)| !values.is_empty()) {
            if !seen.insert(u64::from(*number)) {
                return Err(inapplicable(dn.pretty(), "an attribute occurs twice"));
            }
            let bytes = values.iter().map(Vec::len).sum();
            let set = if external::is_external(values.len(), bytes) {
                let key = SetKey { id, attribute: *number };
                let mut set = codec::External::new(tables.sealed);
                for value in *values {
                    key.add(&mut self.txn, tables, &self.catalog, value, &mut set)?;
                }
                ValueSet::External(set)
            } else {
                ValueSet::inline(values.iter().map(Vec::as_slice))
            };
            image.attributes.push(ImageAttribute { number: *number, set });
        }
        image.flags = self.flags(&image);
        self.note_content(&image);
        self.count_referrals(0, image.flags);
        self.put_record(id, &image, None)?;
        let mut keys = std::mem::take(&mut self.scratch.new_keys);
        keys.clear();
        index::image_keys(&self.txn, tables, &self.catalog, id, &image, None, &mut keys)?;
        self.put_shared_keys(id, &image, None, &keys)?;
        keys.sort();
        for key in keys.iter() {
            crate::posting::list::insert(&mut self.txn, &tables.index, key, id)?;
        }
        self.scratch.new_keys = keys;
        Ok(())
    }

    pub(super) fn modify(&mut self, text: &str, changes: &[ValueChange]) -> Result<EntryId, StoreError> {
        let dn = self.parse_dn(text)?;
        let id = self.existing(&dn)?;
        let image = self.image(id)?;
        self.change_entry(id, &image, image.clone(), changes)?;
        Ok(id)
    }

    pub(super) fn rename(
        &mut self,
        text: &str,
        new_text: &str,
        changes: &[ValueChange],
    ) -> Result<EntryId, StoreError> {
        let (dn, new_dn) = (self.parse_dn(text)?, self.parse_dn(new_text)?);
        let id = self.existing(&dn)?;
        let old = self.image(id)?;
        let mut new = old.clone();
        if dn != new_dn {
            let (location, parent) = self.view().locate_stored(&new_dn)?;
            let (Location::Missing { .. }, Some(parent)) = (location, parent) else {
                return Err(inapplicable(new_text, "entry exists, or its parent does not"));
            };
            if parent != 0 && self.view().in_scope(parent, id, crate::DitScope::Subtree)? {
                return Err(inapplicable(new_text, "the new superior is below the entry"));
            }
            names::key(old.parent, name_in(&dn, old.parent), &mut self.scratch.name);
            let tables = self.tables();
            tables.names.delete(&mut self.txn, &self.scratch.name)?;
            self.put_name(&new_dn, parent, id)?;
            new.parent = parent;
            self.remove_empty_glue(old.parent)?;
        }
        pretty_in(&new_dn, new.parent).clone_into(&mut new.rdn);
        if new.rdn != old.rdn || new.parent != old.parent {
            if self.view().has_subordinates(id)? {
                self.note_move();
            }
            // Also for an entry without subordinates: it may have had some, and may get others, and readers remember
            // names.
            self.note_structure();
        }
        self.change_entry(id, &old, new, changes)?;
        Ok(id)
    }

    /// Applies value changes to `new` (which differs from `old` at most in its name), then updates record and indexes.
    fn change_entry(
        &mut self,
        id: EntryId,
        old: &Image,
        new: Image,
        changes: &[ValueChange],
    ) -> Result<(), StoreError> {
        let mut touched = index::Touched::default();
        // Old values of external sets are not readable after the change, so keys other than equality are taken before.
        let numbers = changes
            .iter()
            .map(|change| self.number_of_text(change.attribute()))
            .collect::<Result<Vec<_>, StoreError>>()?;
        touched.prepare(&self.txn, self.tables(), &self.catalog, id, old, &numbers)?;
        if self.logged.keeps_before() {
            self.note_before(before_changes(self.uuid_of(old), changes.len()));
        }
        let mut working = Working::new(new, changes, &numbers);
        for (change, &number) in changes.iter().zip(&numbers) {
            let key = SetKey { id, attribute: number };
            let is_partial = touched.is_partial(&self.catalog, number);
            if self.logged.keeps_before() || is_partial {
                let gone = self.gone_by(key, &working, change)?;
                if is_partial {
                    touched.changed(number, change, &gone);
                }
                if self.logged.keeps_before() {
                    self.note_gone(gone);
                }
            }
            self.change_values(key, &mut working, change)?;
        }
        let mut new = self.close(id, working)?;
        new.flags = self.flags(&new);
        self.note_content(old);
        self.note_content(&new);
        self.count_referrals(old.flags, new.flags);
        self.put_record(id, &new, Some(old))?;
        self.update_index(id, old, &new, &touched)
    }

    /// The `entryUUID` of an entry, or zeros.
    fn uuid_of(&self, image: &Image) -> [u8; 16] {
        self.catalog.uuid_of(image)
    }

    /// The content of an entry that is about to be deleted.
    pub(super) fn whole(&self, id: EntryId, image: &Image) -> Result<Before, StoreError> {
        let mut attributes = Vec::with_capacity(image.attributes.len());
        for attribute in &image.attributes {
            let key = SetKey {
                id,
                attribute: attribute.number,
            };
            let values = self.values_of_set(key, &attribute.set)?;
            attributes.push((self.catalog.text(attribute.number).into(), values));
        }
        Ok(Before {
            entry_uuid: self.uuid_of(image),
            gone: Gone::Entry(attributes),
            kept: Vec::new(),
        })
    }

    pub(super) fn existing(&self, dn: &Dn) -> Result<EntryId, StoreError> {
        match self.view().locate(dn)? {
            Location::Entry(id) => Ok(id),
            Location::Missing { .. } => Err(inapplicable(dn.pretty(), "no such entry")),
        }
    }
    pub(super) fn image(&self, id: EntryId) -> Result<Image, StoreError> {
        let bytes = self.view().record_bytes(id)?;
        bytes
            .and_then(|bytes| Image::decode(id, self.tables().sealed, bytes, self.sets.sets()))
            .ok_or_else(|| StoreError::damaged(&format!("the record of entry {id}")))
    }
    pub(super) fn put_record(&mut self, id: EntryId, image: &Image, old: Option<&Image>) -> Result<(), StoreError> {
        let tables = self.tables();
        self.scratch.record.clear();
        image.encode(old, &mut self.sets, &mut self.scratch.record);
        if tables.sealed {
            codec::seal(id, 0, &mut self.scratch.record);
        }
        Ok(tables
            .entries
            .put(&mut self.txn, varint::Key::new(id).bytes(), &self.scratch.record)?)
    }
    fn flags(&self, image: &Image) -> u8 {
        image_flags(&self.catalog, image)
    }
}

/// Record flags that follow from objectClass.
pub(crate) fn image_flags(catalog: &crate::catalog::Catalog, image: &Image) -> u8 {
    super::class_values(catalog, image).fold(0, |flags, class| flags | catalog.class_flags(class))
}

/// The name of an entry below `parent` in `names`: the RDN, or the whole DN of a topmost entry.
pub(crate) fn name_in(dn: &Dn, parent: EntryId) -> &[u8] {
    if parent == 0 {
        dn.normalized()
    } else {
        dn.rdn(0).map_or(&[][..], |rdn| rdn.1)
    }
}

/// The name in the record: the pretty RDN, or the whole DN of a topmost entry.
pub(crate) fn pretty_in(dn: &Dn, parent: EntryId) -> &str {
    if parent == 0 {
        return dn.pretty();
    }
    dn.rdn(0)
        .and_then(|rdn| std::str::from_utf8(rdn.0).ok())
        .unwrap_or_default()
}
