//! The LMDB tables of one environment and the rows of `meta` (byte by byte in ARCHITECTURE.md, "Tables").

use heed::{CommitOrAbort, Env, RoTxn, RwTxn, WithoutTls, types::Bytes};

use crate::{
    StoreError,
    hash::{self, MemberHash},
    varint,
};

/// A table of byte strings.
pub(crate) type Table = heed::Database<'static, Bytes, Bytes>;
/// The environment.
pub(crate) type Environment = Env<WithoutTls>;

/// Version of the format of new files. Older files get it, and the tables of the log, once a writer has opened them.
pub(crate) const FORMAT_VERSION: u32 = 9;
/// The version of a log in another form. No release has written it, and it is refused.
pub(crate) const UNRELEASED_VERSION: u32 = 3;
/// The first version in which [`MetaRow::Checksums`] says whether a file has checksums.
pub(crate) const LOG_VERSION: u32 = 4;
/// The version whose files all have checksums. Files of version 1 have none, and get none.
pub(crate) const SEALED_VERSION: u32 = 2;

/// The first version whose files have the rows of [`shared_keys`](crate::shared_keys).
pub(crate) const SHARED_KEYS_VERSION: u32 = 9;

/// All tables.
#[derive(Clone, Copy)]
pub(crate) struct Tables {
    /// The unnamed table, whose rows name the others.
    pub(crate) main: Table,
    pub(crate) meta: Table,
    pub(crate) attributes: Table,
    pub(crate) entries: Table,
    pub(crate) names: Table,
    pub(crate) values: Table,
    pub(crate) sets: Table,
    pub(crate) index: Table,
    pub(crate) indexes: Table,
    /// The tables of the log; `None`: the file is of an older format and open only for reading.
    pub(crate) log: Option<LogTables>,
    /// Whether rows bear checksums.
    pub(crate) sealed: bool,
    /// How values of external sets are found.
    pub(crate) member_hash: MemberHash,
}

/// The tables of the log of changes.
#[derive(Clone, Copy)]
pub(crate) struct LogTables {
    pub(crate) changes: Table,
    pub(crate) tombstones: Table,
}

/// Number of tables, for `max_dbs`.
pub(crate) const TABLE_COUNT: u32 = 10;

/// Names of the tables, in the order of [`Tables::all`].
pub(crate) const NAMES: [&str; 8] = [
    "meta",
    "attributes",
    "entries",
    "names",
    "values",
    "sets",
    "index",
    "indexes",
];

/// Names of the tables of the log.
pub(crate) const LOG_NAMES: [&str; 2] = ["changes", "tombstones"];

impl LogTables {
    fn create(env: &Environment) -> Result<Self, StoreError> {
        let txn = env.write_txn()?;
        let created = env.create_databases_and_commit(txn, |opener, txn| {
            let mut open = |name| opener.create_database::<Bytes, Bytes>(txn, Some(name));
            let [changes, tombstones] = LOG_NAMES;
            let tables = (open(changes)?, open(tombstones)?);
            Ok::<_, heed::Error>(CommitOrAbort::<_, ()>::Commit(tables))
        })?;
        let tables = created.commit();
        let (changes, tombstones) = tables.ok_or_else(|| StoreError::damaged("tables cannot be opened"))?;
        Ok(Self { changes, tombstones })
    }

    /// `None`: the file has none of them yet.
    fn open(env: &Environment) -> Result<Option<Self>, StoreError> {
        let txn = env.read_txn()?;
        let opened = env.open_databases_and_commit(txn, |opener, txn| {
            let open = |name| opener.open_database::<Bytes, Bytes>(txn, Some(name));
            let [changes, tombstones] = LOG_NAMES;
            let (Some(changes), Some(tombstones)) = (open(changes)?, open(tombstones)?) else {
                return Ok(CommitOrAbort::Abort(()));
            };
            Ok::<_, heed::Error>(CommitOrAbort::Commit((changes, tombstones)))
        })?;
        Ok(opened
            .commit()
            .map(|(changes, tombstones)| Self { changes, tombstones }))
    }
}

impl Tables {
    /// Each table that the file has.
    pub(crate) fn all(&self) -> impl Iterator<Item = Table> {
        let log = self.log.map(|log| [log.changes, log.tombstones]);
        [
            self.meta,
            self.attributes,
            self.entries,
            self.names,
            self.values,
            self.sets,
            self.index,
            self.indexes,
        ]
        .into_iter()
        .chain(log.into_iter().flatten())
    }
    /// Creates what is missing.
    pub(crate) fn create(env: &Environment) -> Result<Self, StoreError> {
        let txn = env.write_txn()?;
        let created = env.create_databases_and_commit(txn, |opener, txn| {
            let main = opener.create_database(txn, None)?;
            let mut open = |name| opener.create_database::<Bytes, Bytes>(txn, Some(name));
            let [meta, attributes, entries, names, values, sets, index, indexes] = NAMES;
            let tables = (
                main,
                open(meta)?,
                open(attributes)?,
                open(entries)?,
                open(names)?,
                open(values)?,
                open(sets)?,
                open(index)?,
                open(indexes)?,
            );
            Ok::<_, heed::Error>(CommitOrAbort::<_, ()>::Commit(tables))
        })?;
        let tables = Self::from_committed(created.commit())?;
        let log = Some(LogTables::create(env)?);
        Ok(Self { log, ..tables })
    }
    /// Opens those of an existing file. `None`: the file has no tables of ours.
    pub(crate) fn open(env: &Environment) -> Result<Option<Self>, StoreError> {
        let txn = env.read_txn()?;
        let opened = env.open_databases_and_commit(txn, |opener, txn| {
            let open = |name| opener.open_database::<Bytes, Bytes>(txn, name);
            let [meta, attributes, entries, names, values, sets, index, indexes] = NAMES.map(Some);
            let (
                Some(main),
                Some(meta),
                Some(attributes),
                Some(entries),
                Some(names),
                Some(values),
                Some(sets),
                Some(index),
                Some(indexes),
            ) = (
                open(None)?,
                open(meta)?,
                open(attributes)?,
                open(entries)?,
                open(names)?,
                open(values)?,
                open(sets)?,
                open(index)?,
                open(indexes)?,
            )
            else {
                return Ok(CommitOrAbort::Abort(()));
            };
            let tables = (main, meta, attributes, entries, names, values, sets, index, indexes);
            Ok::<_, heed::Error>(CommitOrAbort::Commit(tables))
        })?;
        match opened.commit() {
            None => Ok(None),
            some => {
                let tables = Self::from_committed(some)?;
                let log = LogTables::open(env)?;
                Ok(Some(Self { log, ..tables }))
            }
        }
    }

    #[allow(clippy::type_complexity, reason = "heed commits tuples; named at once")]
    fn from_committed(
        tables: Option<(Table, Table, Table, Table, Table, Table, Table, Table, Table)>,
    ) -> Result<Self, StoreError> {
        let (main, meta, attributes, entries, names, values, sets, index, indexes) =
            tables.ok_or_else(|| StoreError::damaged("tables cannot be opened"))?;
        Ok(Self {
            main,
            meta,
            attributes,
            entries,
            names,
            values,
            sets,
            index,
            indexes,
            log: None,
            sealed: false,
            member_hash: MemberHash::new(None),
        })
    }
}

/// Rows of `meta`. Numbers are eight bytes, big-endian; an absent row counts as zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MetaRow {
    /// Format version.
    Format,
    /// The next entry ID.
    NextEntry,
    /// See [`crate::View::structure_version`].
    StructureVersion,
    /// Whether rows bear checksums: 1 or 0, from format 4 on.
    Checksums,
    /// Number of the last change.
    Sequence,
    /// CSN of the last record applied, as text.
    Position,
    /// Sixteen random bytes, made with the file.
    Identifier,
    /// The key of [`MemberHash`], from format 6 on. Absent: there is none.
    HashKey,
    /// The next index number.
    NextIndex,
    /// Number of entries that are referrals.
    Referrals,
    /// The context vector: 16 bytes for each server. Absent: none is kept.
    Context,
    /// The log has every change from this number on. Absent: the log is not kept.
    LogFirst,
    /// The greatest CSN of each server before that change. Absent: not known.
    LogBase,
    /// Bytes of the rows of the log.
    LogBytes,
    /// The last row of the log while it waits for more changes. Absent: it is in `changes`.
    RecentRow,
    /// The rest of that row.
    RecentRowBehind,
    /// Random number of the log.
    Generation,
    /// Whether the database was restored from a copy, and has not heard from its peers since.
    Restored,
    /// For each server, its last change that moved entries together with a superior. Absent: there was none.
    Moves,
    /// Number of the first change from other servers that the context vector does not cover yet, 8 octets, and the
    /// greatest CSN of each server among such changes. Absent: it covers all.
    Uncovered,
    /// See [`crate::View::derived_version`].
    DerivedVersion,
    /// See [`crate::ClusterLogPlace::chain`]. Absent: zeros.
    Chain,
}

impl MetaRow {
    pub(crate) fn key(self) -> &'static [u8] {
        match self {
            Self::Format => b"format",
            Self::NextEntry => b"next-entry",
            Self::StructureVersion => b"structure",
            Self::Checksums => b"checksums",
            Self::Sequence => b"sequence",
            Self::Position => b"position",
            Self::Identifier => b"identifier",
            Self::HashKey => b"hash-key",
            Self::NextIndex => b"next-index",
            Self::Referrals => b"referrals",
            Self::Context => b"context",
            Self::LogFirst => b"log-first",
            Self::LogBase => b"log-base",
            Self::LogBytes => b"log-bytes",
            Self::RecentRow => b"log-recent",
            Self::RecentRowBehind => b"log-recent-behind",
            Self::Generation => b"generation",
            Self::Restored => b"restored",
            Self::Moves => b"moves",
            Self::Uncovered => b"uncovered",
            Self::DerivedVersion => b"derived",
            Self::Chain => b"chain",
        }
    }
}

impl Tables {
    /// A row of `meta`.
    pub(crate) fn meta<'t>(&self, txn: &'t RoTxn<'_>, row: MetaRow) -> Result<Option<&'t [u8]>, StoreError> {
        Ok(self.meta.get(txn, row.key())?)
    }
    /// A numeric row of `meta`.
    pub(crate) fn number(&self, txn: &RoTxn<'_>, row: MetaRow) -> Result<u64, StoreError> {
        match self.meta.get(txn, row.key())? {
            None => Ok(0),
            Some(bytes) => {
                let bytes: [u8; 8] = bytes
                    .try_into()
                    .map_err(|_| StoreError::damaged("a number in `meta`"))?;
                Ok(u64::from_be_bytes(bytes))
            }
        }
    }
    /// Writes a row.
    pub(crate) fn put_meta(&self, txn: &mut RwTxn<'_>, row: MetaRow, value: &[u8]) -> Result<(), StoreError> {
        Ok(self.meta.put(txn, row.key(), value)?)
    }
    /// Deletes a row if it exists.
    pub(crate) fn delete_meta(&self, txn: &mut RwTxn<'_>, row: MetaRow) -> Result<(), StoreError> {
        self.meta.delete(txn, row.key())?;
        Ok(())
    }
    /// Writes a numeric row.
    pub(crate) fn put_number(&self, txn: &mut RwTxn<'_>, row: MetaRow, value: u64) -> Result<(), StoreError> {
        self.put_meta(txn, row, &value.to_be_bytes())
    }
    /// Writes a row with its checksum. Such rows are found by a number and read whole.
    pub(crate) fn put_sealed(
        &self,
        txn: &mut RwTxn<'_>,
        table: &Table,
        number: u64,
        content: &[u8],
    ) -> Result<(), StoreError> {
        let key = varint::Key::new(number);
        if !self.sealed {
            return Ok(table.put(txn, key.bytes(), content)?);
        }
        let row = [content, &hash::checksum(number, content)].concat();
        Ok(table.put(txn, key.bytes(), &row)?)
    }
    /// The content of such a row. `None`: it is not what was written.
    pub(crate) fn unseal<'t>(&self, number: u64, row: &'t [u8]) -> Option<&'t [u8]> {
        if !self.sealed {
            return Some(row);
        }
        let (content, checksum) = row.split_last_chunk()?;
        (*checksum == hash::checksum(number, content)).then_some(content)
    }
    /// Deletes up to `limit` rows whose key begins with `prefix`. Returns their number.
    pub(crate) fn delete_prefix(
        txn: &mut RwTxn<'_>,
        table: &Table,
        prefix: &[u8],
        limit: usize,
    ) -> Result<usize, StoreError> {
        let mut deleted = 0;
        let mut rows = table.prefix_iter_mut(txn, prefix)?;
        while deleted < limit && rows.next().transpose()?.is_some() {
            // SAFETY: no reference to a row is kept across the deletion.
            #[allow(unsafe_code, reason = "LMDB deletes at a cursor")]
            unsafe {
                rows.del_current()?;
            }
            deleted += 1;
        }
        Ok(deleted)
    }
}
