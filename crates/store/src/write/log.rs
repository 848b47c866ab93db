//! Writing the log of changes: each record gets its number, and a row if the log is kept.
//!
//! Invariants: rows, tombstones and the context vector are written in the transaction of the change. A change of
//! entries without a record (an offline load) ends the log, which begins anew after it.

mod coverage;

use std::collections::BTreeSet;

use super::WriteTransaction;
use crate::{
    ChangeRecord, Effect, RecordedEffect, StoreError,
    change::{Before, Gone, Position},
    csn::{ContextVector, Csn},
    hash,
    log::{BatchWriter, follower_key, recent, row::OpenRow, tombstone},
    record::packed,
    tables::{LogTables, MetaRow},
    varint,
};

/// The parts of its changes that a transaction writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LogMode {
    /// Their number. An existing context vector is kept up to date.
    #[default]
    Off,
    /// Rows.
    Rows,
    /// Rows, and a context vector.
    RowsAndContext,
}

/// The result of applying a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Applied {
    /// It is part of the transaction.
    Now,
    /// It was applied before.
    Before,
}

/// The changes of the transaction, to be written at its commit.
#[derive(Default)]
pub(super) struct Logged {
    pub(super) mode: LogMode,
    /// Number of the last change; `None`: not read yet.
    sequence: Option<u64>,
    last: Option<Csn>,
    /// Number of the first change that is in a row.
    first: Option<u64>,
    /// The last row, if it has changes of the transaction that are not stored yet.
    row: Option<OpenRow>,
    /// Octets that the stored rows have become longer.
    longer: isize,
    csns: ContextVector,
    /// Whether a change moves entries together with a superior that no record contains yet.
    moves: bool,
    /// The CSNs of such changes.
    moved: ContextVector,
    /// Number of the first change of other servers that brought no CSN for the vector, and the CSNs of all of them.
    uncovered: Option<u64>,
    uncovered_csns: ContextVector,
    /// Servers that sent such a change of which no CSN tells when it is covered: the next CSN from there does.
    open: BTreeSet<u16>,
    /// Servers that have sent CSNs.
    closed: BTreeSet<u16>,
    /// Whether there were such changes before the transaction; `None`: not read yet.
    was_uncovered: Option<bool>,
    /// Effects that no record contains yet.
    unrecorded: usize,
    before: Before,
    /// The changes, if they go into the log of a cluster.
    pub(super) batch: Option<BatchWriter>,
}

impl Logged {
    pub(super) fn keeps_before(&self) -> bool {
        self.mode != LogMode::Off
    }
}

/// Whether entries are gone with the change. Without a cookie its CSN may be that of the entry, which others have.
fn deletes(record: &ChangeRecord) -> bool {
    let mut effects = record.effects.iter();
    !record.buried.is_empty() || effects.any(|recorded| matches!(recorded.effect, Effect::Delete { .. }))
}

impl WriteTransaction<'_> {
    /// Sets how the changes of this transaction are written. Call it before the first change.
    pub fn log(&mut self, mode: LogMode) {
        self.logged.mode = mode;
    }

    /// The values that the last effect has removed, if the log is kept.
    pub fn take_before(&mut self) -> Before {
        std::mem::take(&mut self.logged.before)
    }

    /// Gives a record, whose effects were applied one by one, its place in the log, and writes its row if the log is
    /// kept.
    ///
    /// # Errors
    /// The storage failed: the transaction must be dropped.
    pub fn record(&mut self, record: &mut ChangeRecord) -> Result<(), StoreError> {
        record.position = Position {
            generation: self.generation()?,
            sequence: self.last_sequence()? + 1,
        };
        self.take_up(record)
    }

    /// Applies all effects of a record of the same log, and writes its row if the log is kept. A record that was
    /// applied before is skipped.
    ///
    /// # Errors
    /// [`StoreError::Inapplicable`]: it is of another log, one before it is missing, or it does not fit the entries.
    /// The transaction must be dropped then.
    pub fn apply(&mut self, record: &ChangeRecord) -> Result<Applied, StoreError> {
        let Position { generation, sequence } = record.position;
        let (known, last) = (
            self.tables().number(&self.txn, MetaRow::Generation)?,
            self.last_sequence()?,
        );
        if known != 0 && known != generation {
            let why = format!("change {sequence} is of another log");
            return Err(StoreError::Inapplicable(why));
        }
        if sequence <= last {
            return Ok(Applied::Before);
        }
        if sequence != last + 1 {
            let why = format!("change {sequence} comes behind {last}");
            return Err(StoreError::Inapplicable(why));
        }
        if known == 0 {
            self.tables()
                .put_number(&mut self.txn, MetaRow::Generation, generation)?;
        }
        for RecordedEffect { effect, .. } in &record.effects {
            self.apply_effect(effect)?;
        }
        for (name, notes) in &record.notes {
            self.put_source(name, notes)?;
        }
        self.forget_servers(&record.forgotten)?;
        self.take_up(record)?;
        Ok(Applied::Now)
    }

    /// Lets [`View::changes`](crate::View::changes) of this transaction see its own changes so far.
    ///
    /// # Errors
    /// The storage failed: the transaction must be dropped.
    pub fn show_changes(&mut self) -> Result<(), StoreError> {
        self.put_row()
    }

    /// The context vector with the changes of this transaction.
    ///
    /// # Errors
    /// The storage failed.
    pub fn vector(&self) -> Result<ContextVector, StoreError> {
        let mut vector = self.view().context_vector()?.unwrap_or_default();
        vector.merge_all(&self.logged.csns);
        Ok(vector)
    }

    /// Takes CSNs into the context vector, and begins one if there is none.
    ///
    /// # Errors
    /// The storage failed.
    pub fn merge_context(&mut self, csns: impl IntoIterator<Item = Csn>) -> Result<(), StoreError> {
        let mut vector = self.view().context_vector()?.unwrap_or_default();
        for csn in csns {
            vector.merge(csn);
        }
        self.put_context(&vector)
    }

    /// Drops the CSNs of servers from the context vector, if there is one.
    ///
    /// # Errors
    /// The storage failed.
    pub fn forget_servers(&mut self, servers: &[u16]) -> Result<(), StoreError> {
        if servers.is_empty() {
            return Ok(());
        }
        let Some(mut vector) = self.view().context_vector()? else {
            return Ok(());
        };
        for server in servers {
            vector.forget(*server);
            self.logged.csns.forget(*server);
        }
        self.put_context(&vector)
    }

    /// Replaces the context vector. A vector without CSNs means that none is kept any more.
    ///
    /// # Errors
    /// The storage failed.
    pub fn put_context(&mut self, vector: &ContextVector) -> Result<(), StoreError> {
        let tables = self.tables();
        if vector.is_empty() {
            return tables.delete_meta(&mut self.txn, MetaRow::Context);
        }
        tables.put_meta(&mut self.txn, MetaRow::Context, &vector.encode())
    }

    /// Stores the position of a follower: the number of the last change that it has taken, and its own notes.
    ///
    /// # Errors
    /// The storage failed.
    pub fn put_follower(&mut self, name: &str, sequence: u64, notes: &[u8]) -> Result<(), StoreError> {
        let mut value = Vec::new();
        varint::put(&mut value, sequence);
        value.extend_from_slice(notes);
        let tables = self.tables();
        Ok(tables.meta.put(&mut self.txn, &follower_key(name), &value)?)
    }

    /// The database was restored from a copy: from here on its log differs from the log of the original, which may have
    /// gone on.
    ///
    /// # Errors
    /// The storage failed, or there is no randomness.
    pub fn mark_restored(&mut self) -> Result<(), StoreError> {
        let tables = self.tables();
        if tables.number(&self.txn, MetaRow::Generation)? != 0 {
            tables.put_number(&mut self.txn, MetaRow::Generation, random()?)?;
        }
        tables.put_meta(&mut self.txn, MetaRow::Restored, &[])?;
        self.logged.unrecorded += 1;
        Ok(())
    }

    /// The restored database has heard from the provider of a line `syncrepl`, by its number: its `rid`, if no
    /// earlier line has the same.
    ///
    /// # Errors
    /// The storage failed.
    pub fn note_heard(&mut self, line: u16) -> Result<(), StoreError> {
        let mut heard = self.view().heard_since_restored()?.unwrap_or_default();
        heard.insert(line);
        let octets: Vec<u8> = heard.into_iter().flat_map(u16::to_be_bytes).collect();
        self.tables().put_meta(&mut self.txn, MetaRow::Restored, &octets)
    }

    /// The database has heard from its peers since it was restored.
    ///
    /// # Errors
    /// The storage failed.
    pub fn forget_restored(&mut self) -> Result<(), StoreError> {
        let tables = self.tables();
        tables.delete_meta(&mut self.txn, MetaRow::Restored)
    }

    /// Counts an effect that waits for its record.
    pub(super) fn count_effect(&mut self) {
        self.logged.unrecorded += 1;
    }

    /// Remembers the values that the next change of an effect removes.
    pub(super) fn note_gone(&mut self, values: Vec<Vec<u8>>) {
        if let Gone::Values(gone) = &mut self.logged.before.gone {
            gone.push(values);
        }
    }

    /// Remembers that an effect moves entries together with their superior.
    pub(super) fn note_move(&mut self) {
        self.logged.moves = true;
    }

    /// Remembers what an effect removes.
    pub(super) fn note_before(&mut self, before: Before) {
        self.logged.before = before;
    }

    /// Writes the log entries of the transaction's changes.
    pub(super) fn close_log(&mut self) -> Result<(), StoreError> {
        let tables = self.tables();
        self.begin_log()?;
        if let Some(csn) = self.logged.last {
            tables.put_meta(&mut self.txn, MetaRow::Position, csn.text().as_bytes())?;
            self.put_row()?;
            self.close_context()?;
            self.close_moves()?;
        }
        let logged = std::mem::take(&mut self.logged);
        let Some(mut sequence) = logged.sequence.filter(|_| logged.last.is_some()) else {
            if logged.unrecorded > 0 {
                self.break_log(None)?;
            }
            return Ok(());
        };
        if let Some(first) = logged.first {
            if tables.number(&self.txn, MetaRow::LogFirst)? == 0 {
                tables.put_number(&mut self.txn, MetaRow::LogFirst, first)?;
            }
            let bytes = tables.number(&self.txn, MetaRow::LogBytes)?;
            let bytes = bytes.saturating_add_signed(logged.longer as i64);
            tables.put_number(&mut self.txn, MetaRow::LogBytes, bytes)?;
            if logged.unrecorded > 0 {
                sequence += 1;
                self.break_log(Some(sequence))?;
            }
        } else if tables.number(&self.txn, MetaRow::LogFirst)? != 0 {
            // Changes without rows: there is nothing that a follower could read any more.
            tables.delete_meta(&mut self.txn, MetaRow::LogFirst)?;
            tables.delete_meta(&mut self.txn, MetaRow::LogBase)?;
        }
        tables.put_number(&mut self.txn, MetaRow::Sequence, sequence)
    }

    /// Before the first row of a log: what its readers know that have no change of it.
    fn begin_log(&mut self) -> Result<(), StoreError> {
        let tables = self.tables();
        if self.logged.first.is_none() || tables.number(&self.txn, MetaRow::LogFirst)? != 0 {
            return Ok(());
        }
        let vector = self.view().context_vector()?;
        let was_empty = tables.number(&self.txn, MetaRow::NextEntry)? <= 1;
        if self.view().uncovered_changes()?.is_some() {
            return Ok(());
        }
        if let Some(base) = vector.or_else(|| was_empty.then(ContextVector::default)) {
            tables.put_meta(&mut self.txn, MetaRow::LogBase, &base.encode())?;
        }
        Ok(())
    }

    fn close_context(&mut self) -> Result<(), StoreError> {
        let vector = self.view().context_vector()?;
        if vector.is_none() && self.logged.mode != LogMode::RowsAndContext {
            return Ok(());
        }
        let mut vector = vector.unwrap_or_default();
        if vector.merge_all(&self.logged.csns) {
            self.put_context(&vector)?;
        }
        self.close_uncovered(&vector)
    }

    fn close_moves(&mut self) -> Result<(), StoreError> {
        if self.logged.moved.is_empty() {
            return Ok(());
        }
        let mut moves = self.view().moves()?;
        moves.merge_all(&self.logged.moved);
        self.tables().put_meta(&mut self.txn, MetaRow::Moves, &moves.encode())
    }

    /// Entries were changed without a row: if the log is kept, it begins anew after a number that no row has.
    fn break_log(&mut self, number: Option<u64>) -> Result<(), StoreError> {
        let tables = self.tables();
        if tables.number(&self.txn, MetaRow::LogFirst)? == 0 {
            return Ok(());
        }
        let number = if let Some(number) = number {
            number
        } else {
            let number = tables.number(&self.txn, MetaRow::Sequence)? + 1;
            tables.put_number(&mut self.txn, MetaRow::Sequence, number)?;
            number
        };
        // The loaded entries have CSNs of their own.
        tables.delete_meta(&mut self.txn, MetaRow::LogBase)?;
        tables.put_number(&mut self.txn, MetaRow::LogFirst, number + 1)
    }

    /// The number of the last change, including those of this transaction.
    fn last_sequence(&mut self) -> Result<u64, StoreError> {
        if let Some(sequence) = self.logged.sequence {
            return Ok(sequence);
        }
        let sequence = self.tables().number(&self.txn, MetaRow::Sequence)?;
        self.logged.sequence = Some(sequence);
        Ok(sequence)
    }

    /// The random number of the log, made with its first row.
    fn generation(&mut self) -> Result<u64, StoreError> {
        if self.logged.mode == LogMode::Off {
            return Ok(0);
        }
        let known = self.tables().number(&self.txn, MetaRow::Generation)?;
        if known != 0 {
            return Ok(known);
        }
        let generation = random()?;
        self.tables()
            .put_number(&mut self.txn, MetaRow::Generation, generation)?;
        Ok(generation)
    }

    /// Adds the record to the transaction.
    fn take_up(&mut self, record: &ChangeRecord) -> Result<(), StoreError> {
        self.note_coverage(record)?;
        let covers_all = self.covers_all_behind(record)?;
        if self.logged.row.as_ref().is_some_and(|row| row.covers_all != covers_all) {
            self.put_row()?;
        }
        let logged = &mut self.logged;
        if let Some(batch) = &mut logged.batch {
            batch.push(record);
        }
        logged.sequence = Some(record.position.sequence);
        logged.last = Some(record.csn);
        if std::mem::take(&mut logged.moves) {
            logged.moved.merge(record.csn);
            // The entry of a revision was sent with the CSN of the change that made it.
            record.context_csns().for_each(|csn| _ = logged.moved.merge(csn));
        }
        for csn in record.context_csns() {
            logged.csns.merge(csn);
        }
        logged.unrecorded = logged.unrecorded.saturating_sub(record.effects.len());
        if logged.mode == LogMode::Off {
            return Ok(());
        }
        match self.tables().log {
            Some(log) => self.append(&log, record, covers_all),
            None => Ok(()),
        }
    }

    fn append(&mut self, log: &LogTables, record: &ChangeRecord, covers_all: bool) -> Result<(), StoreError> {
        let sequence = record.position.sequence;
        self.logged.first.get_or_insert(sequence);
        let mut row = match self.logged.row.take() {
            Some(row) => row,
            None => recent::open(
                &self.database.common.last_row,
                self.tables(),
                log,
                &mut self.txn,
                record,
                covers_all,
            )?,
        };
        row.push(record, covers_all);
        let is_full = row.is_full();
        self.logged.row = Some(row);
        if is_full {
            self.put_row()?;
        }
        self.put_tombstones(log, record)
    }

    fn put_tombstones(&mut self, log: &LogTables, record: &ChangeRecord) -> Result<(), StoreError> {
        let sequence = record.position.sequence;
        for (RecordedEffect { effect, before, .. }, csn) in record.stamped_effects() {
            let uuid = &before.entry_uuid;
            if *uuid == [0; 16] {
                continue;
            }
            match effect {
                Effect::Delete { .. } => log.tombstones.put(&mut self.txn, uuid, &tombstone(csn, sequence))?,
                Effect::Add { .. } => _ = log.tombstones.delete(&mut self.txn, uuid)?,
                Effect::Modify { .. } | Effect::Rename { .. } => {}
            }
        }
        for uuid in &record.buried {
            log.tombstones
                .put(&mut self.txn, uuid, &tombstone(record.csn, sequence))?;
        }
        Ok(())
    }

    /// Stores the last row.
    fn put_row(&mut self) -> Result<(), StoreError> {
        let (Some(log), Some(mut row)) = (self.tables().log, self.logged.row.take()) else {
            return Ok(());
        };
        let known = match self.view().context_vector()? {
            None => row.vector.take(),
            context => context,
        };
        let mut vector = match known {
            Some(known) => known,
            None => self.view().log_vector()?.unwrap_or_default(),
        };
        vector.merge_all(&self.logged.csns);
        let mut octets = std::mem::take(&mut self.scratch.row);
        octets.clear();
        row.put(vector, &mut octets);
        if self.tables().sealed {
            let checksum = hash::checksum(row.last, &octets);
            octets.extend_from_slice(&checksum);
        }
        self.logged.longer += recent::put(
            &self.database.common.last_row,
            self.tables(),
            &log,
            &mut self.txn,
            row,
            &octets,
        )?;
        self.scratch.row = octets;
        Ok(())
    }
}

/// The UUID among the attributes of a new entry, or zeros.
pub(super) fn uuid_among(attributes: &[crate::change::TextAttribute]) -> [u8; 16] {
    attributes
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case("entryUUID"))
        .and_then(|(_, values)| packed::uuid_of(values.first()?))
        .unwrap_or_default()
}

/// The `Before` of an entry with this UUID, before changes of it are made.
pub(super) fn before_changes(entry_uuid: [u8; 16], count: usize) -> Before {
    Before {
        entry_uuid,
        gone: Gone::Values(Vec::with_capacity(count)),
        kept: Vec::new(),
    }
}

fn random() -> Result<u64, StoreError> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(|error| StoreError::Format(format!("no randomness: {error}")))?;
    // Zero stands for none.
    Ok(u64::from_be_bytes(bytes).max(1))
}
