//! `database ldif`: entries in files, in the form of slapd's back-ldif. Either server can serve what the other left.
//!
//! The files are the database. Searches use a *working copy* of them in the store, made when the database is opened. It
//! is an LMDB file without a name, which disappears with the process. So these entries can do everything that stored
//! entries can.
//!
//! Invariant: a change is durable in the files before it is in the working copy. Each group of writes is one change.
//!
//! The context vector is `contextCSN` of the topmost entry's file, as in slapd. It is written with each change, so it
//! says what the files hold, also after a crash. In the working copy it is no attribute (`write/context.rs`).

mod load;
mod name;

use std::{
    ffi::OsString,
    fs::{File, OpenOptions, TryLockError},
    os::unix::fs::OpenOptionsExt,
    path::PathBuf,
    sync::Arc,
};

use ironbark_config::{
    DatabaseConfig,
    entry_files::{self, Draft, FolderError, Journal, JournalStep, file_of},
};
use ironbark_model::{Attribute, AttributeDescription, Dn, Entry, Schema};
use ironbark_store::{
    ChangeRecord, ContextVector, Database, Effect, EntryId, Location, RecordedEffect, StoreError, View,
};

use super::open::OpenDatabase;

/// The reason why the files of an ldif database cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LdifBackendError {
    /// A file is at fault.
    #[error(transparent)]
    Files(#[from] FolderError),
    /// The working copy is at fault.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The files of an ldif database.
#[derive(Debug)]
pub struct LdifFiles {
    directory: PathBuf,
    suffix: Dn,
    journal: Journal,
}

/// What the files are to say.
struct State<'a> {
    view: &'a View<'a>,
    vector: &'a ContextVector,
}

/// A lock: no other process can write the files while it exists.
#[derive(Debug)]
pub struct LdifLock {
    file: File,
}

impl Drop for LdifLock {
    fn drop(&mut self) {
        // A child that is being forked has the file open too: closing is not enough.
        let _ = self.file.unlock();
    }
}

impl LdifFiles {
    /// The files that the settings of an ldif database name.
    pub fn new(settings: &DatabaseConfig, schema: &Schema) -> Self {
        let suffix = settings.suffixes.first().cloned().unwrap_or_default();
        let journal = own_name(schema, &suffix, ".journal");
        Self {
            journal: Journal::new(&settings.directory, journal),
            directory: settings.directory.clone(),
            suffix,
        }
    }

    /// The file of the topmost entry. It identifies the database among others.
    pub(crate) fn top(&self, schema: &Schema) -> PathBuf {
        file_of(&name::folder(schema, &self.suffix, &self.suffix))
    }

    /// Locks the files for writing.
    ///
    /// # Errors
    /// Another process has the lock, or the directory does not exist.
    fn lock(&self, schema: &Schema) -> Result<LdifLock, FolderError> {
        let path = self.directory.join(own_name(schema, &self.suffix, ".lock"));
        let mut options = OpenOptions::new();
        let opened = options.write(true).create(true).truncate(false).mode(0o600).open(&path);
        let file = opened.map_err(|error| FolderError::of(&path, &error))?;
        match file.try_lock() {
            Ok(()) => Ok(LdifLock { file }),
            Err(TryLockError::WouldBlock) => Err(FolderError::new(&path, ironbark_runtime::process::in_use(&path))),
            Err(TryLockError::Error(error)) => Err(FolderError::of(&path, &error)),
        }
    }

    /// Brings the files up to date with a write. `view` is the state after the write. Of the effects only the names are
    /// used. `vector` is the context vector after the write; an empty one leaves `contextCSN` as it is in the entry.
    ///
    /// # Errors
    /// The files are as before.
    pub fn write(
        &self,
        view: &View<'_>,
        record: &ChangeRecord,
        vector: &ContextVector,
    ) -> Result<(), LdifBackendError> {
        let schema = view.schema();
        let state = State { view, vector };
        let mut draft = self.journal.begin()?;
        let mut touched: Vec<Dn> = Vec::new();
        // Superiors of what has left: glue goes with its last subordinate.
        let mut left: Vec<Dn> = Vec::new();
        let mut written: Vec<EntryId> = Vec::new();
        for RecordedEffect { effect, .. } in &record.effects {
            match effect {
                Effect::Add { dn, .. } | Effect::Modify { dn, .. } => touched.push(parse(schema, dn)?),
                Effect::Delete { dn, .. } => {
                    let dn = parse(schema, dn)?;
                    let file = file_of(&self.folder(schema, &dn));
                    draft.add(JournalStep::Remove { file })?;
                    left.extend(dn.parent());
                    // Glue may have taken its place.
                    touched.push(dn);
                }
                Effect::Rename { dn, new_dn, .. } => {
                    let (old, new) = (parse(schema, dn)?, parse(schema, new_dn)?);
                    let (from, to) = (self.folder(schema, &old), self.folder(schema, &new));
                    self.add(&mut draft, &state, &new, &mut written)?;
                    if from != to {
                        draft.add(JournalStep::Move { from: from.clone(), to })?;
                        draft.add(JournalStep::Remove { file: file_of(&from) })?;
                    }
                    left.extend(old.parent());
                    for dn in touched.iter_mut().chain(&mut left) {
                        *dn = dn.rebase(&old, &new).unwrap_or_else(|| dn.clone());
                    }
                }
            }
        }
        if record.context_csns().next().is_some() && !vector.is_empty() {
            touched.push(self.suffix.clone());
        }
        for dn in &touched {
            self.add(&mut draft, &state, dn, &mut written)?;
        }
        for dn in &left {
            self.remove_missing(&mut draft, view, dn)?;
        }
        tell_of_unfinished(draft.commit()?);
        Ok(())
    }

    /// Removes the files of an entry and its superiors, up to the closest one that still exists.
    fn remove_missing(&self, draft: &mut Draft<'_>, view: &View<'_>, dn: &Dn) -> Result<(), LdifBackendError> {
        let mut superior = Some(dn.clone()).filter(|dn| dn.is_within(&self.suffix));
        while let Some(dn) = superior
            && let Location::Missing { .. } = view.locate(&dn)?
        {
            let file = file_of(&self.folder(view.schema(), &dn));
            draft.add(JournalStep::Remove { file })?;
            superior = dn.parent().filter(|dn| dn.is_within(&self.suffix));
        }
        Ok(())
    }

    /// Undoes [`LdifFiles::write`]. `view` is the state without the write.
    ///
    /// # Errors
    /// The files still contain the write.
    pub(crate) fn write_back(&self, view: &View<'_>, record: &ChangeRecord) -> Result<(), LdifBackendError> {
        let inverse = |effect: &Effect| match effect {
            Effect::Add { dn, .. } => Effect::Delete { dn: dn.clone() },
            Effect::Delete { dn, .. } => Effect::Add {
                dn: dn.clone(),
                attributes: Vec::new(),
            },
            Effect::Modify { dn, .. } => Effect::Modify {
                dn: dn.clone(),
                changes: Vec::new(),
            },
            Effect::Rename { dn, new_dn, .. } => Effect::Rename {
                dn: new_dn.clone(),
                new_dn: dn.clone(),
                changes: Vec::new(),
            },
        };
        let taken_back = ChangeRecord {
            effects: record
                .effects
                .iter()
                .rev()
                .map(|recorded| inverse(&recorded.effect).into())
                .collect(),
            ..ChangeRecord::default()
        };
        let vector = view.context_vector()?.unwrap_or_default();
        self.write(view, &taken_back, &vector)
    }

    /// Writes the files of entries that were loaded, all or none.
    ///
    /// # Errors
    /// No file has been written.
    pub fn store(&self, view: &View<'_>, ids: impl Iterator<Item = EntryId>) -> Result<(), LdifBackendError> {
        let mut draft = self.journal.begin()?;
        let vector = &ContextVector::default();
        for id in ids {
            draft.add(self.put(&State { view, vector }, id)?)?;
        }
        tell_of_unfinished(draft.commit()?);
        Ok(())
    }

    /// Adds the file of an entry in its final state. An entry that was deleted after its change adds nothing.
    fn add(
        &self,
        draft: &mut Draft<'_>,
        state: &State<'_>,
        dn: &Dn,
        written: &mut Vec<EntryId>,
    ) -> Result<(), LdifBackendError> {
        if let Location::Entry(id) = state.view.locate(dn)?
            && !written.contains(&id)
        {
            draft.add(self.put(state, id)?)?;
            written.push(id);
        }
        Ok(())
    }

    fn folder(&self, schema: &Schema, dn: &Dn) -> PathBuf {
        name::folder(schema, &self.suffix, dn)
    }

    /// The step that writes the file of an entry, as the entry is in the working copy.
    fn put(&self, state: &State<'_>, id: EntryId) -> Result<JournalStep, LdifBackendError> {
        let State { view, vector } = state;
        let dn = view.dn(id)?;
        let record = view.record(id)?;
        let record = record.ok_or_else(|| StoreError::Inapplicable(format!("{}: entry vanished", dn.pretty())))?;
        let mut entry = record.to_entry(dn)?;
        if entry.dn == self.suffix && !vector.is_empty() {
            let description = context_csn(view.schema())?;
            entry.attributes.retain(|held| held.description != description);
            entry.attributes.push(Attribute {
                description,
                values: vector.iter().map(|csn| csn.text().into_bytes()).collect(),
            });
        }
        Ok(JournalStep::Put {
            file: file_of(&self.folder(view.schema(), &entry.dn)),
            text: text(view.schema(), &entry),
        })
    }
}

fn context_csn(schema: &Schema) -> Result<AttributeDescription, StoreError> {
    let found = schema.attribute_description(b"contextCSN");
    found.map_err(|error| StoreError::Inapplicable(format!("contextCSN: {error}")))
}

/// The content of an entry's file.
fn text(schema: &Schema, entry: &Entry) -> Vec<u8> {
    let (rdn, _) = entry.dn.rdn(0).unwrap_or_default();
    let attributes = entry.attributes.iter();
    entry_files::text(
        rdn,
        attributes.map(|attribute| {
            let name = schema.description_text(&attribute.description);
            (name.into(), attribute.values.as_slice())
        }),
    )
}

/// The name of one of our own files. slapd ignores such files.
fn own_name(schema: &Schema, suffix: &Dn, ending: &str) -> OsString {
    let mut name = name::of_suffix(schema, suffix).unwrap_or_else(|| "root".into());
    name.push(ending);
    name
}

fn parse(schema: &Schema, dn: &str) -> Result<Dn, StoreError> {
    Dn::parse(schema, dn.as_bytes()).map_err(|_| StoreError::Inapplicable(format!("{dn}: invalid DN")))
}

/// Logs a change that is not finished yet. The change counts as made: the next process that opens the files finishes
/// it.
fn tell_of_unfinished(error: Option<FolderError>) {
    if let Some(error) = error {
        tracing::error!(target: "any", "{error}: further writes wait until the files can be brought up to date");
    }
}

/// Opens an ldif database for writing: finishes a change that a crash interrupted, and makes the working copy.
///
/// # Errors
/// The files are in use, or a file is not an entry of this database.
pub(crate) fn open(settings: &DatabaseConfig, schema: &Arc<Schema>) -> Result<OpenDatabase, LdifBackendError> {
    let files = LdifFiles::new(settings, schema);
    let lock = files.lock(schema)?;
    files.journal.finish()?;
    let database = load::working_copy(settings, schema, &[&settings.directory])?;
    load::fill(&files, &database, schema)?;
    Ok(OpenDatabase {
        database,
        files: Some(files),
        lock: Some(lock),
    })
}

/// Opens an ldif database for reading. A server may be writing it at the same time.
///
/// # Errors
/// A file is not an entry of this database.
pub(crate) fn open_to_read(settings: &DatabaseConfig, schema: &Arc<Schema>) -> Result<Database, LdifBackendError> {
    load::consistent_copy(settings, schema)
}

#[cfg(test)]
mod tests;
