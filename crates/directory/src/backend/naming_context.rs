//! Naming contexts: what is served below one suffix, and by what.

use std::{
    any::Any,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use ironbark_config::{DatabaseConfig, Operations};
use ironbark_model::Dn;
use ironbark_store::{Database, StoreError};

use super::{external::ExternalDatabase, in_memory::InMemoryTree, ldif::LdifFiles, queue::WriterHandle};

/// A database of the configuration and what serves it.
#[derive(Debug)]
pub struct NamingContext {
    /// Number in the configuration, as in `olcDatabase={1}mdb`: -1 is the frontend, 0 cn=config, the others come from 1
    /// on in the order of the configuration, disabled ones included.
    pub number: i32,
    /// What a reactor's caches of it are known by: another one for another database, and under another schema. 0: it
    /// has none.
    pub(crate) cache: u64,
    /// Settings.
    pub settings: DatabaseConfig,
    /// What upper floors keep with it: its overlays.
    pub(crate) attached: Attached,
    /// What serves it.
    pub backend: Backend,
}

/// Something of a type that is defined further up.
pub(crate) struct Attached(Box<dyn Any + Send + Sync>);

impl Attached {
    pub(crate) fn new(value: impl Any + Send + Sync) -> Self {
        Self(Box::new(value))
    }

    /// What is attached, if it is of this type.
    pub(crate) fn get<T: Any>(&self) -> Option<&T> {
        self.0.downcast_ref()
    }
}

impl std::fmt::Debug for Attached {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Attached").finish_non_exhaustive()
    }
}

/// What serves a naming context.
pub enum Backend {
    /// Entries in the store, and the writer that alone changes them.
    Stored {
        /// The database.
        database: Arc<Database>,
        /// Its writer's queue.
        writer: WriterHandle,
        /// Whether there are referral entries.
        referrals: ReferralPresence,
        /// Of an ldif database, whose working copy `database` is: the files that are written before it.
        files: Option<Arc<LdifFiles>>,
    },
    /// Entries in memory, and the queue of the thread that alone changes them.
    InMemory {
        /// The entries.
        tree: Arc<dyn InMemoryTree>,
        /// The queue of the thread `config`.
        writer: WriterHandle,
    },
    /// Nothing, and the queue of the thread that says so to writes, in their order.
    Null {
        /// The queue of the thread `config`.
        writer: WriterHandle,
    },
    /// Entries that are elsewhere, and what answers requests for them.
    External(Arc<dyn ExternalDatabase>),
    /// The root DSE and the subschema subentry, which the configuration holds.
    Frontend,
}

/// Remembers whether a database holds referral entries, until its next commit.
#[derive(Debug, Default)]
pub struct ReferralPresence {
    /// Commit version times two, plus one if there are some; 0 for not known.
    known: AtomicU64,
}

impl ReferralPresence {
    /// Whether there are referral entries.
    pub(crate) fn exist(&self, database: &Database) -> Result<bool, StoreError> {
        let version = database.commit_version() + 1;
        let known = self.known.load(Ordering::Relaxed);
        if known / 2 == version {
            return Ok(known % 2 == 1);
        }
        let found = database.snapshot()?.view().referral_count()? > 0;
        self.known.store(version * 2 + u64::from(found), Ordering::Relaxed);
        Ok(found)
    }
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

/// What a kind of database can do: the rest of the directory asks here, and knows no kinds but where it does something
/// else for each.
impl Backend {
    /// Whether the entries are in the store.
    pub(crate) fn is_stored(&self) -> bool {
        matches!(self, Self::Stored { .. })
    }

    /// The queue of a writer that this database alone has.
    pub(crate) fn own_writer(&self) -> Option<&WriterHandle> {
        match self {
            Self::Stored { writer, .. } => Some(writer),
            _ => None,
        }
    }

    /// The queue that takes a kind of write; `None`: it cannot be had here.
    pub(crate) fn queue_for(&self, kind: Operations) -> Option<&WriterHandle> {
        match self {
            Self::Stored { writer, .. } | Self::Null { writer } => Some(writer),
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

    /// The entries, where they are in memory.
    pub(crate) fn tree(&self) -> Option<&Arc<dyn InMemoryTree>> {
        match self {
            Self::InMemory { tree, .. } => Some(tree),
            _ => None,
        }
    }

    /// What answers requests, where the entries are elsewhere.
    pub(crate) fn external(&self) -> Option<&dyn ExternalDatabase> {
        match self {
            Self::External(database) => Some(&**database),
            _ => None,
        }
    }

    /// Whether the server itself has the entries: it judges filters and assertions then.
    pub(crate) fn has_entries(&self) -> bool {
        !matches!(self, Self::Null { .. } | Self::External(_))
    }
}

impl NamingContext {
    /// The store, if there is one.
    pub fn database(&self) -> Option<&Arc<Database>> {
        match &self.backend {
            Backend::Stored { database, .. } => Some(database),
            _ => None,
        }
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

    /// The suffix that holds `dn`: the longest one.
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
