//! cn=config: the tree of the configuration, and what a write to it does.
//!
//! Invariant: the tree, the configuration in force and the files say the same. A change makes a new tree and a new
//! configuration before anything is touched; if the files cannot be written, the old configuration comes back.

use std::sync::{Arc, Mutex, PoisonError};

use ironbark_config::{
    ConfigError, GlobalConfig, Notice, Operations,
    olc::{self, ChangeError, Folder, Stamps, Tree},
};
use ironbark_directory::{
    ChangeAuthor, Configuration, InMemoryTree, Modification, ModificationKind, OperationError, TreeChange,
    complete_entries,
};
use ironbark_model::{Entry, ResultCode, Schema};

use crate::configuration::Loaded;

/// What is done with the settings of the server itself when they have changed. What cannot be done is said; the
/// settings before are then given again.
pub(crate) type Obey = dyn Fn(&GlobalConfig) -> Result<(), String> + Send + Sync;

/// The tree of cn=config.
pub(crate) struct ConfigTree {
    folder: Option<Folder>,
    tree: Mutex<Arc<Tree>>,
    /// Only the thread that makes changes looks here: it may take its time.
    written: Mutex<Written>,
    /// Entries of the tree, as of the schema that they were made under.
    shown: Mutex<Option<Shown>>,
    obey: Box<Obey>,
}

/// The schema and the entries.
type Shown = (Arc<Schema>, Arc<[Entry]>);

struct Written {
    /// What the folder holds.
    stored: Option<Arc<Tree>>,
    /// What has been said in the log.
    notices: Vec<Notice>,
}

impl ConfigTree {
    /// The tree of a configuration that was loaded. Its notices have been logged.
    pub(crate) fn new(loaded: &Loaded, obey: Box<Obey>) -> Self {
        Self {
            folder: loaded.folder.clone(),
            tree: Mutex::new(Arc::new(loaded.tree.clone())),
            written: Mutex::new(Written {
                stored: loaded.stored.clone().map(Arc::new),
                notices: loaded.configuration.notices.clone(),
            }),
            shown: Mutex::new(None),
            obey,
        }
    }

    fn tree(&self) -> Arc<Tree> {
        Arc::clone(&self.tree.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts a new tree into force: the directory, the files, the server's own settings.
    fn put(&self, tree: Tree, by: &ChangeAuthor<'_>) -> Result<(), OperationError> {
        let read = olc::load_change(&tree, &by.configuration.schema);
        let configuration = read.map_err(|error| refusal(&error))?;
        let (global, notices) = (configuration.global.clone(), configuration.notices.clone());
        by.governor
            .reconfigure(configuration)
            .map_err(|error| OperationError::new(ResultCode::OTHER, error.to_string()))?;
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = (self.obey)(&global) {
            self.take_back(by);
            return Err(OperationError::new(ResultCode::OTHER, error));
        }
        if let Err(error) = self.write(&mut written, &tree) {
            tracing::error!(target: "any", "config: {error}");
            self.take_back(by);
            self.write_back(&written);
            return Err(OperationError::new(
                ResultCode::OTHER,
                "the configuration could not be written",
            ));
        }
        for notice in notices.iter().filter(|notice| !written.notices.contains(notice)) {
            tracing::warn!(target: "any", "{notice}");
        }
        written.notices = notices;
        *self.tree.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(tree);
        *self.shown.lock().unwrap_or_else(PoisonError::into_inner) = None;
        Ok(())
    }

    /// Puts the configuration of the tree, which was in force before, back into force.
    fn take_back(&self, by: &ChangeAuthor<'_>) {
        let outcome = match olc::load_change(&self.tree(), &by.configuration.schema) {
            Ok(configuration) => (self.obey)(&configuration.global).and_then(|()| {
                let back = by.governor.reconfigure(configuration);
                back.map_err(|error| error.to_string())
            }),
            Err(error) => Err(error.to_string()),
        };
        if let Err(error) = outcome {
            tracing::error!(target: "any", "config: the former configuration could not be put back: {error}");
        }
    }

    /// Has the files say again what they said, if the disk failed in the middle of a change.
    fn write_back(&self, written: &Written) {
        let (Some(folder), Some(stored)) = (&self.folder, &written.stored) else {
            return;
        };
        match folder.write(None, stored) {
            Ok(None) => {}
            Ok(Some(error)) | Err(error) => {
                tracing::error!(target: "any", "config: the former files could not be put back: {error}");
            }
        }
    }

    fn write(&self, written: &mut Written, tree: &Tree) -> Result<(), olc::FolderError> {
        let Some(folder) = &self.folder else { return Ok(()) };
        if let Some(error) = folder.write(written.stored.as_deref(), tree)? {
            tracing::error!(target: "any", "config: the next change will finish this one: {error}");
        }
        written.stored = Some(Arc::new(tree.clone()));
        Ok(())
    }
}

/// The loader's refusal as a result. Where it stands is no matter of the client's, who has just written it.
fn refusal(error: &ConfigError) -> OperationError {
    match error {
        ConfigError::Definition { reason, .. } => {
            OperationError::new(ResultCode::INVALID_ATTRIBUTE_SYNTAX, reason.clone())
        }
        ConfigError::Refused { reason, .. } => OperationError::new(ResultCode::OTHER, reason.clone()),
        ConfigError::Unreadable { .. } => OperationError::new(ResultCode::OTHER, error.to_string()),
    }
}

fn of_tree(error: ChangeError) -> OperationError {
    OperationError::new(error.result_code, error.diagnostic_message)
}

/// The modifications as the tree takes them.
fn modifications(schema: &Schema, asked: &[Modification]) -> Result<Vec<olc::Modification>, OperationError> {
    let converted = asked.iter().map(|one| {
        Ok(olc::Modification {
            kind: match one.kind {
                ModificationKind::Add | ModificationKind::AddIfAbsent => olc::ModificationKind::Add,
                ModificationKind::Delete => olc::ModificationKind::Delete,
                ModificationKind::Replace => olc::ModificationKind::Replace,
                ModificationKind::Increment => {
                    return Err(OperationError::new(
                        ResultCode::UNWILLING_TO_PERFORM,
                        "modify/increment: not supported in cn=config",
                    ));
                }
            },
            attribute: schema.description_text(&one.description),
            values: one.values.clone(),
        })
    });
    converted.collect()
}

impl InMemoryTree for ConfigTree {
    fn entries(&self, configuration: &Configuration) -> Arc<[Entry]> {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((schema, entries)) = &*shown
            && Arc::ptr_eq(schema, &configuration.schema)
        {
            return Arc::clone(entries);
        }
        let entries = complete_entries(configuration, self.tree().entries(&configuration.schema));
        *shown = Some((Arc::clone(&configuration.schema), Arc::clone(&entries)));
        entries
    }

    fn writes(&self) -> Operations {
        Operations::ADD
            .with(Operations::MODIFY)
            .with(Operations::DELETE)
            .with(Operations::RENAME)
    }

    fn change(&self, change: &TreeChange, by: &ChangeAuthor<'_>) -> Result<(), OperationError> {
        let schema = &*by.configuration.schema;
        let tree = self.tree();
        let mut stamps = Stamps {
            author: by.dn.to_owned(),
            time: by.stamp.time.clone(),
            csn: by.stamp.csn.clone(),
            uuid: String::new(),
        };
        let changed = match change {
            TreeChange::Add(entry) => {
                stamps.uuid = by.entry_uuid()?;
                tree.add(schema, entry, &stamps)
            }
            TreeChange::Modify {
                dn,
                modifications: asked,
            } => tree.modify(schema, dn, &modifications(schema, asked)?, &stamps),
            TreeChange::Delete { dn } => tree.delete(schema, dn),
            TreeChange::ModifyDn {
                dn,
                new_rdn,
                new_superior,
                ..
            } => tree.rename(schema, dn, new_rdn, new_superior.as_ref(), &stamps),
        };
        self.put(changed.map_err(of_tree)?, by)
    }
}
