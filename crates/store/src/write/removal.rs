//! Deleting entries, and glue: it keeps the place of a deleted or missing superior while there is something below it.

use ironbark_model::Dn;

use super::{
    WriteTransaction,
    apply::{inapplicable, name_in},
    index,
};
use crate::{
    Effect, EntryId, StoreError,
    external::SetKey,
    names,
    record::{
        codec::FLAG_GLUE,
        image::{Image, ValueSet},
    },
    shared_keys::{self, SharedKeys},
    varint,
};

impl WriteTransaction<'_> {
    pub(super) fn delete(&mut self, text: &str) -> Result<EntryId, StoreError> {
        let dn = self.parse_dn(text)?;
        let id = self.existing(&dn)?;
        let image = self.image(id)?;
        if self.logged.keeps_before() {
            let before = self.whole(id, &image)?;
            self.note_before(before);
        }
        if !self.view().has_subordinates(id)? {
            self.remove(id, &image, &dn)?;
            self.remove_empty_glue(image.parent)?;
            return Ok(id);
        }
        self.remove_content(id, &image)?;
        if let Effect::Add { attributes, .. } = Effect::glue(text.into()) {
            let numbered = self.numbered(&attributes)?;
            self.fill(id, image.parent, &dn, &numbered)?;
        }
        Ok(id)
    }

    /// Removes an entry without subordinates.
    fn remove(&mut self, id: EntryId, image: &Image, dn: &Dn) -> Result<(), StoreError> {
        self.remove_content(id, image)?;
        names::key(image.parent, name_in(dn, image.parent), &mut self.scratch.name);
        let tables = self.tables();
        tables.names.delete(&mut self.txn, &self.scratch.name)?;
        tables.entries.delete(&mut self.txn, varint::Key::new(id).bytes())?;
        Ok(())
    }

    /// Removes glue that has no subordinates any more, up to the closest entry.
    pub(super) fn remove_empty_glue(&mut self, mut id: EntryId) -> Result<(), StoreError> {
        while id != 0 {
            let image = self.image(id)?;
            if image.flags & FLAG_GLUE == 0 || self.view().has_subordinates(id)? {
                return Ok(());
            }
            let dn = self.view().dn(id)?;
            self.remove(id, &image, &dn)?;
            id = image.parent;
        }
        Ok(())
    }

    /// Removes what glue has in the tables besides its name: an entry is about to take its place. Returns its superior.
    pub(super) fn remove_glue(&mut self, id: EntryId, dn: &Dn) -> Result<EntryId, StoreError> {
        let image = self.image(id)?;
        if image.flags & FLAG_GLUE == 0 {
            return Err(inapplicable(dn.pretty(), "entry exists"));
        }
        self.remove_content(id, &image)?;
        // The entry may spell its name in another way, and readers remember names.
        self.note_structure();
        Ok(image.parent)
    }

    /// Removes the index keys and the big value sets of an entry.
    fn remove_content(&mut self, id: EntryId, image: &Image) -> Result<(), StoreError> {
        let tables = self.tables();
        let mut keys = std::mem::take(&mut self.scratch.old_keys);
        keys.clear();
        index::image_keys(&self.txn, tables, &self.catalog, id, image, None, &mut keys)?;
        keys.sort();
        for key in keys.iter() {
            crate::posting::list::remove(&mut self.txn, &tables.index, key, id)?;
        }
        self.scratch.old_keys = keys;
        for attribute in &image.attributes {
            if matches!(attribute.set, ValueSet::External(_)) {
                let key = SetKey {
                    id,
                    attribute: attribute.number,
                };
                key.clear(&mut self.txn, &tables.values)?;
            }
        }
        if shared_keys::external_sets(image).next().is_some() {
            SharedKeys { id }.clear(&mut self.txn, &tables.values, &[])?;
        }
        self.note_content(image);
        self.count_referrals(image.flags, 0);
        Ok(())
    }
}
