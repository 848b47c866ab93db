//! Loading entries in any order, as slapadd needs: superiors that have not come yet get placeholders.

use ironbark_model::{Dn, Entry};

use super::{WriteTransaction, apply::pretty_in};
use crate::{
    EntryId, Location, StoreError,
    record::{
        codec::{self, FLAG_PLACEHOLDER},
        image::Image,
    },
    varint,
};

impl WriteTransaction<'_> {
    /// Adds an entry whose superiors may come later in the same load (`slapadd`). A placeholder keeps the place of a
    /// missing superior. No search sees it. When the superior comes, it takes the placeholder's lower ID. Ask
    /// [`WriteTransaction::missing_superiors`] at the end.
    ///
    /// # Errors
    /// The entry exists, is in no naming context, has an attribute twice.
    pub fn load(&mut self, entry: &Entry) -> Result<EntryId, StoreError> {
        let dn = &entry.dn;
        let (location, parent) = self.view().locate_stored(dn)?;
        let (id, parent) = match (location, parent) {
            (Location::Entry(id), _) => match self.placeholder_parent(id)? {
                Some(parent) => (id, parent),
                None => return Err(StoreError::Inapplicable(format!("{}: entry exists", dn.pretty()))),
            },
            (Location::Missing { .. }, Some(parent)) => (self.new_entry(dn, parent)?, parent),
            (Location::Missing { .. }, None) => {
                let parent = self.place_superiors(dn)?;
                (self.new_entry(dn, parent)?, parent)
            }
        };
        let numbered = entry
            .attributes
            .iter()
            .map(|attribute| Ok((self.number_of(&attribute.description)?, attribute.values.as_slice())))
            .collect::<Result<Vec<_>, StoreError>>()?;
        self.fill(id, parent, dn, &numbered)?;
        self.count_effect();
        Ok(id)
    }
    /// Pretty DNs of placeholders that no entry has taken, at most `limit`.
    pub fn missing_superiors(&self, limit: usize) -> Result<Vec<String>, StoreError> {
        let view = self.view();
        let mut missing = Vec::new();
        for row in view.tables().entries.iter(view.txn)? {
            let (key, mut bytes) = row?;
            let header = codec::take_header(&mut bytes).ok_or_else(|| StoreError::damaged("the header of a record"))?;
            if header.flags & FLAG_PLACEHOLDER != 0 {
                let id = varint::read(key).ok_or_else(|| StoreError::damaged("a key of `entries`"))?;
                let mut dn = Vec::new();
                view.pretty_dn(id, &mut dn)?;
                missing.push(String::from_utf8_lossy(&dn).into_owned());
                if missing.len() >= limit {
                    break;
                }
            }
        }
        Ok(missing)
    }
    /// Makes placeholders for all missing superiors. Returns the ID of the closest.
    fn place_superiors(&mut self, dn: &Dn) -> Result<EntryId, StoreError> {
        let suffixes = &self.database.ground.options.suffixes;
        let Some(suffix) = suffixes.iter().find(|suffix| dn.is_within(suffix)) else {
            return Err(StoreError::Inapplicable(format!(
                "{}: not in a naming context of this database",
                dn.pretty()
            )));
        };
        let from = suffix.depth().max(1);
        let mut parent = 0;
        for depth in from..dn.depth() {
            let superior = dn.ancestor(depth);
            parent = match self.view().locate_stored(&superior)? {
                (Location::Entry(id), _) => id,
                (Location::Missing { .. }, below) => {
                    let below = below.unwrap_or(parent);
                    let id = self.new_entry(&superior, below)?;
                    let rdn = pretty_in(&superior, below).to_owned();
                    let image = Image {
                        parent: below,
                        flags: FLAG_PLACEHOLDER,
                        rdn,
                        attributes: Vec::new(),
                    };
                    self.put_record(id, &image, None)?;
                    id
                }
            };
        }
        Ok(parent)
    }
}
