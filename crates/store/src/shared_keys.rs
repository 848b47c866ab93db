//! Keys that several values of one entry make, in `values`. An ID stands in a posting list once, however many values
//! put it there; so the values are counted where there is more than one.
//!
//! ```text
//! varint entry ID, varint 65,536 (no attribute has it), list key -> varint number of values that make the key
//! ```
//!
//! Values share a key when their hashes are equal, when an ordered key is cut before they differ, and when an index of
//! a supertype takes for equal what the attribute's own rule tells apart.
//!
//! Invariant: the rows of an entry are right for each complete equality index that an external set of the entry feeds;
//! an entry without external sets has none. Other entries are compared as a whole when they change, and need no rows.

use heed::{RoTxn, RwTxn};
use smallvec::SmallVec;

use crate::{
    EntryId, StoreError,
    catalog::Catalog,
    external::Row,
    keys::KeySet,
    record::image::{Image, ValueSet},
    tables::{Table, Tables},
    varint,
};

/// Stands where sets have their attribute number.
const PLACE: u64 = 1 << 16;

/// The rows of one entry.
#[derive(Clone, Copy)]
pub(crate) struct SharedKeys {
    pub(crate) id: EntryId,
}

/// Positions of the equality indexes that some of these external sets feed.
pub(crate) fn fed_by_external(catalog: &Catalog, external: impl Iterator<Item = u16>) -> SmallVec<[u16; 4]> {
    let mut positions = SmallVec::new();
    for at in external
        .filter_map(|number| catalog.attribute(number))
        .flat_map(|info| &info.feeds)
    {
        let index = catalog.indexes.get(usize::from(*at));
        if index.is_some_and(|index| index.stored.kind.is_equality()) && !positions.contains(at) {
            positions.push(*at);
        }
    }
    positions
}

/// The numbers of an entry's external sets.
pub(crate) fn external_sets(image: &Image) -> impl Iterator<Item = u16> {
    let is_external = |set: &ValueSet| matches!(set, ValueSet::External(_));
    let external = image
        .attributes
        .iter()
        .filter(move |attribute| is_external(&attribute.set));
    external.map(|attribute| attribute.number)
}

impl SharedKeys {
    fn prefix(self) -> Vec<u8> {
        let mut key = Vec::with_capacity(32);
        varint::put(&mut key, self.id);
        varint::put(&mut key, PLACE);
        key
    }
    fn key(self, list: &[u8]) -> Vec<u8> {
        let mut key = self.prefix();
        key.extend_from_slice(list);
        key
    }

    /// The rows for an entry's keys, which come as often as values make them, in the indexes at `positions`.
    pub(crate) fn rows(self, catalog: &Catalog, positions: &[u16], keys: &KeySet) -> Vec<Row> {
        let prefixes: SmallVec<[&[u8]; 4]> = positions
            .iter()
            .filter_map(|&at| Some(&*catalog.indexes.get(usize::from(at))?.prefix))
            .collect();
        let mut theirs: Vec<&[u8]> = keys
            .iter()
            .filter(|key| prefixes.iter().any(|prefix| key.starts_with(prefix)))
            .collect();
        theirs.sort_unstable();
        let shared = theirs.chunk_by(|a, b| a == b).filter(|equal| equal.len() > 1);
        let row = |equal: &[&[u8]]| Some((self.key(equal.first()?), count_row(equal.len() as u64)));
        shared.filter_map(row).collect()
    }

    /// Whether there are any.
    pub(crate) fn are_there(self, txn: &RoTxn<'_>, table: &Table) -> Result<bool, StoreError> {
        Ok(table.prefix_iter(txn, &self.prefix())?.next().transpose()?.is_some())
    }

    /// How many values make the key of a list in which the entry is.
    pub(crate) fn count(self, txn: &RoTxn<'_>, table: &Table, list: &[u8]) -> Result<u64, StoreError> {
        match table.get(txn, &self.key(list))? {
            None => Ok(1),
            Some(row) => varint::read(row).ok_or_else(|| StoreError::damaged("a row of shared keys")),
        }
    }

    /// Sets that number.
    pub(crate) fn set_count(
        self,
        txn: &mut RwTxn<'_>,
        table: &Table,
        list: &[u8],
        count: u64,
    ) -> Result<(), StoreError> {
        if count > 1 {
            table.put(txn, &self.key(list), &count_row(count))?;
        } else {
            table.delete(txn, &self.key(list))?;
        }
        Ok(())
    }

    /// Deletes the rows of an index, by the prefix of its keys; of all with an empty one.
    pub(crate) fn clear(self, txn: &mut RwTxn<'_>, table: &Table, index: &[u8]) -> Result<(), StoreError> {
        Tables::delete_prefix(txn, table, &self.key(index), usize::MAX)?;
        Ok(())
    }

    /// All rows.
    pub(crate) fn all(self, txn: &RoTxn<'_>, table: &Table) -> Result<Vec<Row>, StoreError> {
        let rows = table.prefix_iter(txn, &self.prefix())?;
        rows.map(|row| {
            row.map(|(key, count)| (key.to_vec(), count.to_vec()))
                .map_err(Into::into)
        })
        .collect()
    }

    /// Whether a row of [`SharedKeys::all`] is one of an index, by the prefix of its keys.
    pub(crate) fn is_of(self, row: &Row, index: &[u8]) -> bool {
        row.0.starts_with(&self.key(index))
    }
}

/// Writes rows of indexes that had none.
pub(crate) fn put(txn: &mut RwTxn<'_>, table: &Table, rows: &[Row]) -> Result<(), StoreError> {
    rows.iter().try_for_each(|(key, count)| Ok(table.put(txn, key, count)?))
}

fn count_row(count: u64) -> Vec<u8> {
    let mut row = Vec::new();
    varint::put(&mut row, count);
    row
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Database, Effect, ValueChange,
        check::Extent,
        common::{options, schema},
        tables::{MetaRow, SHARED_KEYS_VERSION},
    };

    const NAME: &str = "dc=example,dc=com";

    /// A set of 70 values, two of which have a key of an ordered index in common.
    fn values() -> Vec<Vec<u8>> {
        let others = (0..68).map(|number| format!("{number:x<250}"));
        let equal = ["y", "z"].map(|end| format!("{}{end}", "v".repeat(249)));
        others.chain(equal).map(String::into_bytes).collect()
    }

    fn change(database: &Database, effect: &Effect) {
        let mut write = database.write().unwrap();
        write.apply_effect(effect).unwrap();
        write.commit().unwrap();
    }

    fn opened(folder: &tempfile::TempDir) -> Database {
        Database::open(options(folder.path()), schema()).unwrap()
    }

    fn filled(folder: &tempfile::TempDir) -> Database {
        let database = opened(folder);
        let classes = vec![b"extensibleObject".to_vec()];
        let attributes = vec![
            ("objectClass".into(), classes),
            ("dc".into(), vec![b"example".to_vec()]),
        ];
        let dn = NAME.into();
        change(&database, &Effect::Add { dn, attributes });
        let attribute = "word".into();
        let changes = vec![ValueChange::Add {
            attribute,
            values: values(),
        }];
        change(
            &database,
            &Effect::Modify {
                dn: NAME.into(),
                changes,
            },
        );
        database
    }

    fn findings(database: &Database) -> Vec<String> {
        let report = database.check(Extent::Everything, &mut |_| {}).unwrap();
        report.findings.texts().to_vec()
    }

    /// Leaves the rows of shared keys away, as `format` did.
    fn forget(database: &Database, format: u64) {
        let (tables, mut txn) = (&database.ground.tables, database.env.write_txn().unwrap());
        let shared = SharedKeys { id: 1 };
        assert_eq!(shared.all(&txn, &tables.values).unwrap().len(), 1);
        shared.clear(&mut txn, &tables.values, &[]).unwrap();
        tables.put_number(&mut txn, MetaRow::Format, format).unwrap();
        txn.commit().unwrap();
    }

    #[test]
    fn a_file_of_an_older_format_gets_the_rows() {
        let folder = tempfile::tempdir().unwrap();
        let database = filled(&folder);
        forget(&database, 8);
        assert_eq!(
            findings(&database),
            Vec::<String>::new(),
            "as long as it is of that format"
        );
        drop(database);
        let database = opened(&folder);
        let txn = database.env.read_txn().unwrap();
        let rows = SharedKeys { id: 1 }.all(&txn, &database.ground.tables.values).unwrap();
        assert_eq!(rows.iter().map(|row| &*row.1).collect::<Vec<_>>(), [[2]]);
        drop(txn);
        let gone = ValueChange::Delete {
            attribute: "word".into(),
            values: values()[68..69].to_vec(),
        };
        change(
            &database,
            &Effect::Modify {
                dn: NAME.into(),
                changes: vec![gone],
            },
        );
        assert_eq!(findings(&database), Vec::<String>::new());
    }

    #[test]
    fn the_deep_check_finds_rows_that_are_missing() {
        let folder = tempfile::tempdir().unwrap();
        let database = filled(&folder);
        forget(&database, SHARED_KEYS_VERSION.into());
        assert_eq!(
            findings(&database),
            ["entry 1: the numbers of values that share a key are wrong"]
        );
    }
}
