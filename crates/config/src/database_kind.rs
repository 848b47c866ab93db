//! The types of databases that are supported.

/// The type of a database.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DatabaseKind {
    /// The store; `hdb` and `bdb` too.
    Mdb,
    /// A file for each entry.
    Ldif,
    /// Nothing: everything that is written is lost.
    Null,
    /// cn=Monitor.
    Monitor,
    /// cn=config.
    Config,
    /// No database: what all databases inherit.
    Frontend,
    /// Entries that are elsewhere, reached by a type of database that stands in another crate, with this name.
    External(&'static str),
}

impl DatabaseKind {
    /// The usual name in `database`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mdb => "mdb",
            Self::Ldif => "ldif",
            Self::Null => "null",
            Self::Monitor => "monitor",
            Self::Config => "config",
            Self::Frontend => "frontend",
            Self::External(name) => name,
        }
    }

    /// Whether it keeps entries that clients and tools write.
    pub const fn is_stored(self) -> bool {
        matches!(self, Self::Mdb | Self::Ldif)
    }

    /// Whether it is a file of LMDB with indexes.
    pub const fn has_indexes(self) -> bool {
        matches!(self, Self::Mdb)
    }

    /// The naming context that each database of this type has, where none is configured.
    pub(crate) const fn fixed_suffix(self) -> Option<&'static str> {
        match self {
            Self::Monitor => Some("cn=Monitor"),
            Self::Config => Some("cn=config"),
            _ => None,
        }
    }

    /// Whether its naming contexts are configured.
    pub const fn has_suffix(self) -> bool {
        matches!(self, Self::Mdb | Self::Ldif | Self::Null | Self::External(_))
    }

    /// Whether it may have several naming contexts.
    pub const fn has_many_suffixes(self) -> bool {
        matches!(self, Self::Null | Self::External(_))
    }

    /// Whether its entries are elsewhere, and no tool reaches them.
    pub const fn is_external(self) -> bool {
        matches!(self, Self::External(_))
    }
}
