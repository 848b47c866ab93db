//! One environment under one schema after the other, and taken up again after its database was closed.

use std::sync::{Arc, Weak};

use ironbark_model::{AttributeDescription, Dn, Schema};

use super::{Common, Database, open};
use crate::StoreError;

/// An attribute that entries may have, and that cannot be read under another schema as it is now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LostAttribute {
    /// Under the schema of the database.
    pub description: AttributeDescription,
    /// As printed.
    pub name: Box<str>,
    /// Whether it is still defined, with another equality rule.
    pub is_defined: bool,
}

/// A database that nobody may use any more. Its file stays open as long as operations that began before need it.
#[derive(Debug)]
pub struct ClosedDatabase(Weak<Common>);

impl std::fmt::Debug for Common {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Common")
            .field("directory", &self.options.directory)
            .finish_non_exhaustive()
    }
}

impl Database {
    /// The same database under another schema, with other naming contexts. Both may be read; only this one, the newer,
    /// may be written to from now on, since the older does not keep indexes of attributes that it does not know.
    ///
    /// # Errors
    /// An attribute that is stored has no definition in it: see [`Database::lost_attributes`].
    pub fn under(&self, schema: Arc<Schema>, suffixes: Vec<Dn>) -> Result<Self, StoreError> {
        Self::of(Arc::clone(&self.common), schema, suffixes)
    }

    /// What could not be read under `schema`: attributes that it lacks, and those whose values it compares in another
    /// way. Entries had them once; that some still have is for the caller to find out.
    pub fn lost_attributes(&self, schema: &Schema) -> Vec<LostAttribute> {
        let catalog = self.catalog.load();
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

    /// Takes the numbers of attributes that no entry has any more out of use.
    pub fn retire(&self, attributes: &[LostAttribute]) -> Result<(), StoreError> {
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

    /// Whether it is the same environment, be it under another schema.
    pub fn is_same_file(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.common, &other.common)
    }

    /// What is left when it is given up, for whoever wants the same directory again.
    pub fn closed(&self) -> ClosedDatabase {
        ClosedDatabase(Arc::downgrade(&self.common))
    }
}

impl ClosedDatabase {
    /// Takes the database up again if it is still in use somewhere; `None`: it is closed, and can be opened.
    ///
    /// # Errors
    /// As of [`Database::under`]; the files have been replaced meanwhile.
    pub fn take_up(&self, schema: &Arc<Schema>, suffixes: &[Dn]) -> Option<Result<Database, StoreError>> {
        let common = self.0.upgrade()?;
        let is_same = open::file_of(&common.options).is_ok_and(|file| file == common.file);
        if is_same {
            return Some(Database::of(common, Arc::clone(schema), suffixes.to_vec()));
        }
        let directory = common.options.directory.display();
        Some(Err(StoreError::Format(format!(
            "{directory}: the files were replaced, and searches that began before are still using the former ones; try again"
        ))))
    }

    /// Whether nothing uses it any more.
    pub fn is_gone(&self) -> bool {
        self.0.strong_count() == 0
    }
}
