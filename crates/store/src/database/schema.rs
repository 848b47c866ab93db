//! One environment under changing schemas, and reopening a database after it was closed.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use ironbark_model::{AttributeDescription, Dn, Schema};

use super::{Common, Database, open};
use crate::StoreError;

/// An attribute that entries may have, and that cannot be read under another schema in its present state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LostAttribute {
    /// The description under the schema of the database.
    pub description: AttributeDescription,
    /// As printed.
    pub name: Box<str>,
    /// Whether it is still defined, but with another equality rule.
    pub is_defined: bool,
}

/// A closed database. Its file stays open as long as operations that began earlier need it.
#[derive(Clone, Debug)]
pub struct ClosedDatabase(Weak<Common>);

impl std::fmt::Debug for Common {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Common")
            .field("directory", &self.options.directory)
            .finish_non_exhaustive()
    }
}

impl Database {
    /// The same database under another schema, with other naming contexts. Both may be read. From now on only the new
    /// one may be written to, because the old one does not keep indexes of attributes that it does not know.
    ///
    /// # Errors
    /// A stored attribute has no definition in the schema: see [`Database::lost_attributes`].
    pub fn under(&self, schema: Arc<Schema>, suffixes: Vec<Dn>) -> Result<Self, StoreError> {
        Self::of(Arc::clone(&self.common), schema, suffixes)
    }

    /// The attributes that could not be read under `schema`: those that it lacks, and those whose values it compares in
    /// another way. Some entry had each of them once. The caller has to find out whether one still has it.
    pub fn lost_attributes(&self, schema: &Schema) -> Vec<LostAttribute> {
        let numbering = self.numbering.newest();
        let catalog = &numbering.catalog;
        let lost = catalog.descriptions().filter_map(|(info, text)| {
            let defined = schema.attribute_description(text.as_bytes()).ok();
            let oid = |rule: Option<&'static ironbark_model::matching::MatchingRule>| rule.map(|rule| rule.oid);
            let is_kept = defined.as_ref().is_some_and(|description| {
                oid(schema.attribute_type(description.attribute_type).equality) == oid(info.equality)
            });
            (!is_kept).then(|| LostAttribute {
                description: info.description.clone(),
                name: text.into(),
                is_defined: defined.is_some(),
            })
        });
        lost.collect()
    }

    /// Takes the numbers of attributes out of use that no entry has any more.
    pub fn retire(&self, attributes: &[LostAttribute]) -> Result<(), StoreError> {
        if attributes.iter().all(|lost| lost.is_defined) {
            return Ok(());
        }
        let mut write = self.write()?;
        let catalog = Arc::clone(&write.catalog);
        let mut changed = false;
        for (number, text) in (0u64..).zip(catalog.texts()) {
            if attributes.iter().any(|lost| !lost.is_defined && lost.name == *text) {
                self.ground
                    .tables
                    .put_sealed(&mut write.txn, &self.ground.tables.attributes, number, b"")?;
                changed = true;
            }
        }
        if changed {
            write.reload()?;
            write.commit()?;
        }
        Ok(())
    }

    /// Whether both are the same environment, possibly under different schemas.
    pub fn is_same_file(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.common, &other.common)
    }

    /// A handle to the database after it is given up, for a later user of the same directory.
    pub fn closed(&self) -> ClosedDatabase {
        ClosedDatabase(Arc::downgrade(&self.common))
    }
}

impl ClosedDatabase {
    /// Reopens the database if it is still in use somewhere; `None`: it is closed, and can be opened.
    ///
    /// # Errors
    /// As for [`Database::under`]; the files have been replaced meanwhile.
    pub fn take_up(&self, schema: &Arc<Schema>, suffixes: &[Dn]) -> Option<Result<Database, StoreError>> {
        let common = self.0.upgrade()?;
        let is_same = open::file_of(&common.options).is_ok_and(|file| file == common.file);
        if is_same {
            return Some(Database::of(common, Arc::clone(schema), suffixes.to_vec()));
        }
        let directory = common.options.directory.display();
        Some(Err(StoreError::Format(format!(
            "{directory}: the files were replaced, and older searches still use the former ones; try again"
        ))))
    }

    /// Waits until its file is closed in this process, `limit` at most. False: something still uses it.
    pub fn wait(&self, limit: Duration) -> bool {
        let Some(common) = self.0.upgrade() else {
            return true;
        };
        let directory = &common.options.directory;
        let closing = heed::env_closing_event(directory.canonicalize().as_ref().unwrap_or(directory));
        drop(common);
        closing.is_none_or(|closing| closing.wait_timeout(limit))
    }

    /// Whether nothing uses it any more.
    pub fn is_gone(&self) -> bool {
        self.0.strong_count() == 0
    }
}
