//! A bulk build for a database that is open and has never had an entry: the first refresh of a consumer.
//!
//! It is built in a file of its own, as for slapadd. Its rows are then appended to the tables of the open database in
//! one transaction, with the context vector: readers see nothing of it, or all.

use std::sync::Arc;

use heed::{PutFlags, RwTxn};

use super::{
    BulkBuilder,
    target::{Target, Turn},
};
use crate::{
    ContextVector, Csn, Database, DatabaseOptions, IndexDefinition, StoreError,
    hash::MemberHash,
    log::{tombstone, uncovered::Uncovered},
    tables::{MetaRow, Table, Tables},
};

impl BulkBuilder {
    /// Begins a build for an open database with these indexes, in a temporary directory beside its file.
    /// `memory_limit` as of [`BulkBuilder::new`].
    ///
    /// # Errors
    /// [`StoreError::Inapplicable`]: the database has, or had, entries, or another build for it is under way. The
    /// directory cannot be written.
    pub fn beside(database: &Database, indexes: Vec<IndexDefinition>, memory_limit: usize) -> Result<Self, StoreError> {
        let snapshot = database.snapshot()?;
        refuse_if_touched(&database.ground.tables, &snapshot.txn)?;
        drop(snapshot);
        let options = DatabaseOptions {
            indexes,
            ..database.options().clone()
        };
        let member_hash = database.ground.tables.member_hash;
        let turn = Turn::take(&database.common.is_built)
            .ok_or_else(|| StoreError::Inapplicable("another build is under way".into()))?;
        let target = Target::beside(&options, Some(turn))?;
        Self::begin(target, options, database.schema(), memory_limit, Some(member_hash))
    }

    /// Puts what was built into the open database, with this context vector, in one transaction that is as durable as
    /// any other. The log of changes begins anew behind it. Returns the number of the last change, for who waits for
    /// one. `greatest` are the greatest CSNs of the entries: those that the vector does not cover wait for a cookie, as
    /// changes do ([`View::first_uncovered`](crate::View::first_uncovered)). `gone` are UUIDs of entries that are no
    /// more, with the CSNs of their deletes, for a database that keeps tombstones.
    ///
    /// The transaction holds up to 512 MiB of the new pages in memory.
    ///
    /// # Errors
    /// A superior is missing, or the database has got entries meanwhile: nothing was changed. The disk is full.
    pub fn install(
        mut self,
        database: &Database,
        vector: &ContextVector,
        greatest: &ContextVector,
        gone: &[([u8; 16], Csn)],
    ) -> Result<u64, StoreError> {
        self.refuse_missing()?;
        let room_checked = |error: StoreError| error.with_room_checked(&database.options().directory);
        self.write_tables().map_err(room_checked)?;
        let Some(built) = self.database.take() else {
            return Err(StoreError::Format("the bulk build is over".into()));
        };
        take_over(database, &built, vector, greatest, gone).map_err(room_checked)
    }
}

/// Refuses if there was ever an entry, or a change of another server.
fn refuse_if_touched(tables: &Tables, txn: &heed::RoTxn<'_>) -> Result<(), StoreError> {
    let number = |row| tables.number(txn, row);
    let is_fresh = number(MetaRow::NextEntry)? <= 1
        && tables.entries.is_empty(txn)?
        && tables.attributes.is_empty(txn)?
        && tables.sets.is_empty(txn)?
        && tables.meta(txn, MetaRow::Context)?.is_none()
        && tables.meta(txn, MetaRow::Uncovered)?.is_none()
        && match tables.log {
            Some(log) => log.tombstones.is_empty(txn)?,
            None => false,
        };
    if is_fresh {
        Ok(())
    } else {
        Err(StoreError::Inapplicable("the database has had entries".into()))
    }
}

fn take_over(
    database: &Database,
    built: &Database,
    vector: &ContextVector,
    greatest: &ContextVector,
    gone: &[([u8; 16], Csn)],
) -> Result<u64, StoreError> {
    // The order of the locks is that of a write transaction.
    let writer = database.lock_writer();
    let mut txn = database.env.write_txn()?;
    let (tables, from) = (&database.ground.tables, &built.ground.tables);
    refuse_if_touched(tables, &txn)?;
    if (tables.sealed, tables.member_hash) != (from.sealed, from.member_hash) {
        return Err(StoreError::Inapplicable("the database has an older format".into()));
    }
    let read = built.env.read_txn()?;
    let pairs: [(Table, Table); 7] = [
        (tables.attributes, from.attributes),
        (tables.entries, from.entries),
        (tables.names, from.names),
        (tables.values, from.values),
        (tables.sets, from.sets),
        (tables.index, from.index),
        (tables.indexes, from.indexes),
    ];
    for (to, from) in pairs {
        to.clear(&mut txn)?;
        for row in from.iter(&read)? {
            let (key, value) = row?;
            to.put_with_flags(&mut txn, PutFlags::APPEND, key, value)?;
        }
    }
    for row in [MetaRow::NextEntry, MetaRow::Referrals, MetaRow::NextIndex] {
        tables.put_number(&mut txn, row, from.number(&read, row)?)?;
    }
    let structure = tables.number(&txn, MetaRow::StructureVersion)?;
    tables.put_number(&mut txn, MetaRow::StructureVersion, structure + 1)?;
    let sequence = begin_log_anew(tables, &mut txn, vector, greatest)?;
    if let Some(log) = &tables.log {
        for (uuid, csn) in gone {
            log.tombstones.put(&mut txn, uuid, &tombstone(*csn, sequence))?;
        }
    }
    // Others find out from the number of this transaction that they must load attribute numbers, sets and indexes.
    txn.commit()?;
    drop(writer);
    Ok(sequence)
}

/// The entries came without rows: a log that is kept begins behind a number that no row has.
fn begin_log_anew(
    tables: &Tables,
    txn: &mut RwTxn<'_>,
    vector: &ContextVector,
    greatest: &ContextVector,
) -> Result<u64, StoreError> {
    let sequence = tables.number(txn, MetaRow::Sequence)? + 1;
    tables.put_number(txn, MetaRow::Sequence, sequence)?;
    if !vector.is_empty() {
        tables.put_meta(txn, MetaRow::Context, &vector.encode())?;
    }
    let uncovered = Uncovered {
        first: sequence,
        csns: greatest.iter().filter(|csn| !vector.covers(*csn)).collect(),
        ..Uncovered::default()
    };
    let is_covered = uncovered.csns.is_empty();
    if !is_covered {
        tables.put_meta(txn, MetaRow::Uncovered, &uncovered.encode())?;
    }
    if tables.number(txn, MetaRow::LogFirst)? != 0 {
        tables.put_number(txn, MetaRow::LogFirst, sequence + 1)?;
        if is_covered {
            tables.put_meta(txn, MetaRow::LogBase, &vector.encode())?;
        } else {
            tables.delete_meta(txn, MetaRow::LogBase)?;
        }
    }
    Ok(sequence)
}

impl BulkBuilder {
    pub(super) fn begin(
        target: Target,
        options: DatabaseOptions,
        schema: Arc<ironbark_model::Schema>,
        memory_limit: usize,
        member_hash: Option<MemberHash>,
    ) -> Result<Self, StoreError> {
        let temporary = DatabaseOptions {
            directory: target.temporary().to_owned(),
            no_sync: true,
            read_only: false,
            ..options
        };
        let database = Database::open_with(temporary, schema, member_hash)?;
        Ok(Self::of(target, database, memory_limit))
    }
}
