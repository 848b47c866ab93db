//! in the order of the configuration, disabled ones included.

use std::{any::Any, sync::Arc};

use ironbark_config::{DatabaseConfig, Operations, kinds::NullConfig};
use ironbark_model::Dn;
use ironbark_store::Database;

use super::{external::ExternalDatabase, in_memory::InMemoryTree, ldif::LdifFiles, queue::WriterHandle};

/// A database of the configuration, with the part that serves it.
#[derive(Debug)]
pub struct NamingContext {
    /// Number in the configuration, as in `olcDatabase={1}mdb`. The frontend has -1, cn=config has 0. The others count
    /// from
    pub number: i32,
    /// Key of this database in a reactor's caches. It changes with the database and with the schema. 0: nothing is
    /// cached.
    pub(crate) cache: u64,
    /// Settings.
    pub settings: DatabaseConfig,
    /// State that an upper floor keeps with the database: its overlays.
    pub(crate) attached: Attached,
    /// Whether an overlay follows its changes.
    pub(crate) has_followers: bool,
    /// The part that serves it.
    pub backend: Backend,
}

/// A value whose type is defined on an upper floor.
pub(crate) struct Attached(Box<dyn Any + Send + Sync>);

impl Attached {
    pub(crate) fn new(value: impl Any + Send + Sync) -> Self {
        Self(Box::new(value))
    }

    /// The attached value, if it has this type.
    pub(crate) fn get<T: Any>(&self) -> Option<&T> {
        self.0.downcast_ref()
    }
}

impl std::fmt::Debug for Attached {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Attached").finish_non_exhaustive()
    }
}

/// The part that serves a naming context.
pub enum Backend {
    /// Entries in the store. Only the writer changes them.
    Stored {
        /// The database.
        database: Arc<Database>,
        /// Its writer's queue.
        writer: WriterHandle,
        /// The files of an ldif database. They are written before `database`, which is their working copy.
        files: Option<Arc<LdifFiles>>,
    },
    /// Entries in memory. Only the thread `config` changes them.
    InMemory {
        /// The entries.
        tree: Arc<dyn InMemoryTree>,
        /// The queue of the thread `config`.
        writer: WriterHandle,
    },
    /// No entries. The thread `config` answers writes, in their order.
    Null {
        /// The queue of the thread `config`.
        writer: WriterHandle,
        /// What it answers.
        settings: NullConfig,
    },
    /// Entries elsewhere, with the part that answers requests for them.
    External(Arc<dyn ExternalDatabase>),
    /// The root DSE and the subschema subentry, which the configuration holds.
    Frontend,
}

impl std::fmt::Debug for Backend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Stored { .. } => "stored",
            Self::InMemory { .. } => "in memory",
            Self::Null { .. } => "null",
            Self::External(_) => "external",
            Self::Frontend => "frontend",
        })
    }
}

/// The abilities of each kind of database. The rest of the directory asks here. It matches on the kind only where it
/// acts differently for each.
impl Backend {
    /// Whether the entries are in the store.
    pub(crate) fn is_stored(&self) -> bool {
        matches!(self, Self::Stored { .. })
    }

    /// The queue of the database's own writer. `None`: it has no writer of its own.
    pub(crate) fn own_writer(&self) -> Option<&WriterHandle> {
        match self {
            Self::Stored { writer, .. } => Some(writer),
            _ => None,
        }
    }

    /// The queue of the thread that changes it, if it is a tree in memory.
    pub(crate) fn tree_writer(&self) -> Option<&WriterHandle> {
        match self {
            Self::InMemory { writer, .. } => Some(writer),
            _ => None,
        }
    }

    /// The queue that takes this kind of write; `None`: the database does not support it.
    pub(crate) fn queue_for(&self, kind: Operations) -> Option<&WriterHandle> {
        match self {
            Self::Stored { writer, .. } | Self::Null { writer, .. } => Some(writer),
            Self::InMemory { tree, writer } => tree.writes().contains(kind).then_some(writer),
            Self::External(_) | Self::Frontend => None,
        }
    }

    /// Whether the thread `config` executes its writes.
    pub(crate) fn shares_writer(&self) -> bool {
        matches!(self, Self::InMemory { .. } | Self::Null { .. })
    }

    /// The files of an ldif database.
    pub(crate) fn files(&self) -> Option<&Arc<LdifFiles>> {
        match self {
            Self::Stored { files, .. } => files.as_ref(),
            _ => None,
        }
    }

    /// The tree, if the entries are in memory.
    pub(crate) fn tree(&self) -> Option<&Arc<dyn InMemoryTree>> {
        match self {
            Self::InMemory { tree, .. } => Some(tree),
            _ => None,
        }
    }

    /// The answering side, if the entries are elsewhere.
    pub(crate) fn external(&self) -> Option<&dyn ExternalDatabase> {
        match self {
            Self::External(database) => Some(&**database),
            _ => None,
        }
    }

    /// Whether the server itself has the entries, and so evaluates filters and assertions.
    pub(crate) fn has_entries(&self) -> bool {
        !matches!(self, Self::Null { .. } | Self::External(_))
    }
}

impl NamingContext {
    /// Whether the changes of the database are kept in a log.
    pub(crate) fn keeps_log(&self) -> bool {
        self.settings.keeps_changes() || self.is_followed()
    }

    /// Whether someone asks what clients have requested: overlays that follow the changes of the database, or changes
    /// of other servers that come late and are merged by value.
    pub(crate) fn is_followed(&self) -> bool {
        self.has_followers || self.settings.merges_values()
    }

    /// Whether glue counts as no entry. As in slapd, it is an ordinary entry of an ldif database.
    pub(crate) fn hides_glue(&self) -> bool {
        self.backend.files().is_none()
    }

    /// The store, if there is one.
    pub fn database(&self) -> Option<&Arc<Database>> {
        match &self.backend {
            Backend::Stored { database, .. } => Some(database),
            _ => None,
        }
    }

    /// The tree, if the entries are in memory.
    pub fn tree(&self) -> Option<&Arc<dyn InMemoryTree>> {
        self.backend.tree()
    }

    /// Naming contexts, in order.
    pub fn suffixes(&self) -> &[Dn] {
        &self.settings.suffixes
    }

    /// Whether `dn` is the rootdn of this database.
    pub fn is_root(&self, dn: &Dn) -> bool {
        self.settings
            .root_dn
            .as_ref()
            .is_some_and(|root| root == dn && root.depth() > 0)
    }

    /// The longest suffix that holds `dn`.
    pub fn suffix_of(&self, dn: &Dn) -> Option<&Dn> {
        self.suffixes()
            .iter()
            .filter(|suffix| dn.is_within(suffix))
            .max_by_key(|suffix| suffix.depth())
    }

    /// Whether `dn` is one of the suffixes.
    pub fn is_suffix(&self, dn: &Dn) -> bool {
        self.suffixes().contains(dn)
    }
}
