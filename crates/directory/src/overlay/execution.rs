//! A write during its execution: the state that operations and overlays share in its transaction.
//!
//! Everything is validated before the first effect is applied. After a later refusal ([`Execution::is_dirty`]), the
//! writer executes the earlier writes of the group again.

mod kept;

use std::cell::RefCell;

use ironbark_config::access::Privileges;
use ironbark_ldap_proto::controls::ControlKind;
use ironbark_model::{AttributeDescription, Budget, Dn, Entry, Schema};
use ironbark_store::{
    ChangeKind, ChangeRecord, ContextVector, Csn, DerivedState, Effect, EntryId, Location, Record, RecordedEffect,
    ValueChange, View, WriteTransaction,
    change::{Marks, RequestedChange},
};

use super::{Entries, password_checks::Computed, record, warnings::Warnings};
use crate::{
    Configuration, Directory, NamingContext, OperationError,
    access::{
        Requester, SetAnswers, Subject, Target, WriteCheck,
        disclosure::{Ancestor, Disclosure},
    },
    backend::{
        conflicts::Conflict,
        queue::Served,
        written::{Executed, Wanted},
    },
    refusal::{Failure, WriteRefusal},
    request::{context::RequestContext, controls::WriteControls},
    stamp::Stamp,
};

/// One write operation under execution.
#[expect(clippy::struct_excessive_bools, reason = "each tells of another part of the work")]
pub struct Execution<'w, 'd> {
    /// The server.
    pub directory: &'w Directory,
    /// The configuration the operation began with.
    pub configuration: &'w Configuration,
    /// The database.
    pub context: &'w NamingContext,
    /// The requester.
    pub origin: &'w RequestContext,
    /// The controls of the request that are in effect.
    pub controls: WriteControls<'w>,
    /// CSN and time of this change.
    pub stamp: Stamp,
    transaction: &'w mut WriteTransaction<'d>,
    /// The remaining limit on the cost of access checks and assertions.
    pub(crate) budget: &'w Budget,
    /// Results of sets for the requester.
    sets: &'w SetAnswers,
    record: ChangeRecord,
    /// How many changes of further entries have CSNs of their own.
    further: u32,
    /// Results that were computed before.
    pub(super) computed: &'w Computed,
    /// Results that are still missing. The operation must be sent back for them, and its present result does not count.
    pub(super) wanted: RefCell<Option<Wanted>>,
    warnings: Warnings,
    /// The passwords of a password modify operation.
    pub passwords: Option<Passwords>,
    /// If the operation succeeds, the connection is no longer restricted.
    pub lifts_restriction: bool,
    /// Notes were written that are to be committed.
    has_notes: bool,
    /// The changes stay in this server: no consumer is told of them, and the context vector does not move.
    pub(crate) is_silent: bool,
    /// Effects of overlays on other entries are not checked against the schema: the entries are those of a server of
    /// another kind, and need not conform.
    pub(crate) is_unchecked: bool,
    /// An entry was set aside, with what is below it.
    pub(crate) has_displaced: bool,
    /// Conflicts with other writers that it has decided.
    pub(crate) conflicts: Vec<Conflict>,
}

/// From whom a restored database has heard.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Heard {
    /// From some of its peers: it waits for the others.
    Some,
    /// From all of them: it is not restored any more.
    All,
}

/// Passwords of a password modify operation as the client sent them, for overlays that judge them.
#[derive(Clone)]
pub struct Passwords {
    /// The old one, which was verified.
    pub old: Option<Vec<u8>>,
    /// The new one.
    pub new: Vec<u8>,
}

/// The request behind a write.
#[derive(Clone, Copy)]
pub(crate) struct Requested<'w> {
    /// The requester.
    pub(crate) origin: &'w RequestContext,
    /// The controls of the request that are in effect.
    pub(crate) controls: WriteControls<'w>,
    /// Results that were computed before.
    pub(crate) computed: &'w Computed,
}

/// The work of access checks in one write.
pub(crate) struct AccessWork {
    /// The steps that they may still take.
    pub(crate) budget: Budget,
    /// Results of sets for the requester.
    pub(crate) sets: SetAnswers,
}

impl<'w, 'd> Execution<'w, 'd> {
    pub(crate) fn new(
        directory: &'w Directory,
        served: &'w Served,
        requested: Requested<'w>,
        transaction: &'w mut WriteTransaction<'d>,
        work: &'w AccessWork,
    ) -> Self {
        let Served { configuration, context } = served;
        let Requested {
            origin,
            controls,
            computed,
        } = requested;
        let stamp = directory.next_stamp();
        Self {
            record: record::begin(directory, context, origin, &stamp, ChangeKind::Modify),
            directory,
            configuration,
            context,
            origin,
            controls,
            stamp,
            transaction,
            budget: &work.budget,
            sets: &work.sets,
            computed,
            wanted: RefCell::default(),
            further: 0,
            is_silent: false,
            is_unchecked: false,
            has_displaced: false,
            conflicts: Vec::new(),
            warnings: Warnings::new(origin.connection, origin.operation),
            passwords: None,
            lifts_restriction: false,
            has_notes: false,
        }
    }

    /// The schema in force.
    pub fn schema(&self) -> &'w Schema {
        &self.configuration.schema
    }

    /// The transaction's current state. Entries have what they hold, and the attributes that follow from the tree.
    pub fn view(&self) -> View<'_> {
        self.transaction.view().deriving(&self.configuration.tree_attributes)
    }

    /// See [`WriteTransaction::derived_state`].
    pub(super) fn derived_state(&self) -> Option<DerivedState> {
        self.transaction.derived_state()
    }

    /// The requester, for access rules.
    pub fn subject(&self) -> Subject<'w> {
        Subject::of(self.origin, self.context)
            .within(self.budget)
            .remembering(self.sets)
    }

    /// The same at the database of the operation.
    pub(crate) fn requester(&self) -> Requester<'w> {
        Requester {
            configuration: self.configuration,
            context: self.context,
            subject: self.subject(),
        }
    }

    /// Whether an effect was applied: a refusal now must undo it.
    pub fn is_dirty(&self) -> bool {
        !self.record.effects.is_empty()
    }

    /// The record so far.
    pub fn record(&self) -> &ChangeRecord {
        &self.record
    }

    /// The entry at a location in memory, with its DN.
    pub fn entry(&self, id: EntryId) -> Result<Entry, OperationError> {
        let view = self.view();
        let record = view.record(id)?.ok_or(Failure::EntryVanished)?;
        Ok(record.to_entry(view.dn(id)?)?)
    }

    /// Whether the request has the `ManageDsaIT` control.
    pub fn manages_dsa(&self) -> bool {
        self.origin.has_control(ControlKind::ManageDsaIt)
    }

    /// The names that the subject may know.
    pub(crate) fn disclosure(&self) -> Disclosure<'_> {
        Disclosure {
            requester: self.requester(),
            view: self.view(),
        }
    }

    /// The location of a name for the subject: a referral entry that it may not know about counts as missing.
    pub(crate) fn place_of(&self, dn: &Dn) -> Result<Location, OperationError> {
        self.seen(dn, self.view().locate(dn)?)
    }

    /// The same for a location that the database gave.
    pub(crate) fn seen(&self, dn: &Dn, location: Location) -> Result<Location, OperationError> {
        self.disclosure().seen(dn, location, self.manages_dsa())
    }

    /// The entry's ID, or noSuchObject with the deepest entry above it (or the referral there).
    pub fn locate(&self, dn: &Dn) -> Result<EntryId, OperationError> {
        match self.place_of(dn)? {
            Location::Entry(id) => Ok(id),
            Location::Missing { ancestor } => Err(self.missing(dn, ancestor)),
        }
    }

    /// As [`Self::locate`]; an entry that the subject may not know about gets the same answer as a missing one.
    ///
    /// # Errors
    /// `noSuchObject`; the storage failed.
    pub fn locate_known(&self, dn: &Dn) -> Result<EntryId, OperationError> {
        let id = self.locate(dn)?;
        if self.disclosure().discloses_entry(id)? {
            return Ok(id);
        }
        let above = self.disclosure().above(id, dn.depth())?;
        Err(self.missing(dn, above))
    }

    /// The error for a missing name, without parts that the subject may not know.
    pub(crate) fn missing(&self, dn: &Dn, ancestor: Ancestor) -> OperationError {
        self.disclosure().missing(dn, ancestor, None)
    }

    /// Whether the access rules let the requester manage an entry.
    pub fn may_manage(&self, entry: &Entry) -> bool {
        WriteCheck::on_entry(self.requester(), entry)
            .within(self.view())
            .permits(Target::Entry, Privileges::MANAGE)
    }

    /// Whether the access rules let the requester manage an attribute of an entry.
    pub fn may_manage_attribute(&self, entry: &Entry, description: &AttributeDescription) -> bool {
        WriteCheck::on_entry(self.requester(), entry)
            .within(self.view())
            .permits(Target::Attribute(description, None), Privileges::MANAGE)
    }

    /// Whether the access rules let the requester compare values with each of those that a stored entry has.
    pub fn may_compare(&self, record: &Record<'_>, description: &AttributeDescription, values: &[Vec<u8>]) -> bool {
        let check = WriteCheck::on_record(self.requester(), record, self.view());
        let may = |value| check.permits(Target::Attribute(description, Some(value)), Privileges::COMPARE);
        values.iter().all(|value| may(value))
    }

    /// `lastbind-precision`: seconds during which the time of a bind is not recorded again.
    pub fn last_bind_precision_s(&self) -> u32 {
        match self.context.settings.last_bind_precision_s {
            0 => self.configuration.frontend.settings.last_bind_precision_s,
            precision => precision,
        }
    }

    /// Those of some values of a stored entry that the access rules let the requester compare with.
    pub fn comparable<'v>(
        &self,
        record: &Record<'_>,
        description: &AttributeDescription,
        values: &'v [Vec<u8>],
    ) -> Vec<&'v [u8]> {
        let check = WriteCheck::on_record(self.requester(), record, self.view());
        let may = |value: &&[u8]| check.permits(Target::Attribute(description, Some(value)), Privileges::COMPARE);
        values.iter().map(Vec::as_slice).filter(may).collect()
    }

    /// Entries of all databases. Entries of the operation's own database are read in the transaction.
    pub fn entries(&self) -> Entries<'_> {
        Entries::new(self.configuration, self.context, self.view())
    }

    /// Whether the request has the relax rules control.
    pub fn is_relaxed(&self) -> bool {
        self.controls.has(ControlKind::RelaxRules)
    }

    /// Drops the CSNs of servers from the context vector. Call it after the effects of the operation: it cannot be
    /// undone alone.
    ///
    /// # Errors
    /// The storage failed.
    pub(crate) fn forget_servers(&mut self, servers: Vec<u16>) -> Result<(), OperationError> {
        self.transaction.forget_servers(&servers)?;
        self.record.forgotten = servers;
        Ok(())
    }

    /// Privileges on an entry that adding, deleting or renaming it needs: `manage` under relaxed rules, as in slapd.
    pub(crate) fn needed_on_entry(&self, privileges: Privileges) -> Privileges {
        if self.is_relaxed() {
            Privileges::MANAGE
        } else {
            privileges
        }
    }

    /// Applies an effect that the request asks for; the overlays are not asked (see [`crate::edit::apply`]).
    pub(crate) fn make_own(&mut self, kind: ChangeKind, effect: Effect) -> Result<EntryId, OperationError> {
        if self.controls.has(ControlKind::NoOp) {
            return Err(WriteRefusal::NoOperation.into());
        }
        self.record.kind = kind;
        let id = self.transaction.apply_effect(&effect);
        let is_placed = matches!(effect, Effect::Add { .. } | Effect::Rename { .. });
        self.take_in(effect, Marks::default());
        let id = id?;
        self.check_entry_size(kind, id)?;
        if is_placed {
            self.keep_place(self.record.effects.len() - 1, id)?;
        }
        Ok(id)
    }

    /// No consumer is told of an effect, by its number.
    pub(crate) fn mark_internal(&mut self, number: usize) {
        if let Some(recorded) = self.record.effects.get_mut(number) {
            recorded.marks.internal = true;
        }
    }

    /// Checks `maxentrysize`, on the entry as it would be stored.
    fn check_entry_size(&self, kind: ChangeKind, id: EntryId) -> Result<(), OperationError> {
        let limit = self.context.settings.mdb.max_entry_size;
        if limit == 0 || kind == ChangeKind::Delete {
            return Ok(());
        }
        let size: usize = match self.view().record(id)? {
            Some(record) => record
                .attributes()
                .map(|held| held.encoded_length().unwrap_or_default())
                .sum(),
            None => 0,
        };
        if size as u64 > limit {
            return Err(WriteRefusal::EntryTooBig.into());
        }
        Ok(())
    }

    /// Applies a further effect: overlays call this from `in_transaction`.
    pub fn apply_further(&mut self, effect: Effect) -> Result<EntryId, OperationError> {
        let marks = Marks {
            internal: !touches_csn(&effect),
            silent: false,
        };
        let id = self.transaction.apply_effect(&effect);
        self.take_in(effect, marks);
        Ok(id?)
    }

    fn take_in(&mut self, effect: Effect, mut marks: Marks) {
        marks.silent |= self.is_silent;
        let before = self.transaction.take_before();
        self.record.effects.push(RecordedEffect { effect, marks, before });
    }

    /// Notes a change as the client asked for it, if the database is followed. `requested` is called only in this case.
    pub(crate) fn note_requested(&mut self, requested: impl FnOnce(&Self) -> RequestedChange) {
        if self.context.is_followed() {
            let requested = requested(self);
            self.record.requested.push(requested);
        }
    }

    /// Notes the entry as it was before the last requested change, for a follower.
    pub fn note_former(&mut self, dn: Box<str>, attributes: Vec<(Box<str>, Vec<Vec<u8>>)>) {
        self.note_requested(|_| RequestedChange::Former { dn, attributes });
    }

    /// Notes that the requested change is the next effect.
    pub(crate) fn note_next_effect(&mut self) {
        self.note_requested(|execution| RequestedChange::AsApplied(execution.record.effects.len()));
    }

    /// The context vector with the changes of the transaction so far.
    ///
    /// # Errors
    /// The storage failed.
    pub fn vector(&self) -> Result<ContextVector, OperationError> {
        Ok(self.transaction.vector()?)
    }

    /// Whether the database was restored from a copy, and peers may have changes that this server made after it.
    ///
    /// # Errors
    /// The storage failed.
    pub(crate) fn waits_for_peers(&self) -> Result<bool, OperationError> {
        Ok(self.context.settings.may_hear_of_itself() && self.view().is_restored()?)
    }

    /// A refresh from a peer has ended: what a restored database lacked of that one's changes is here. `None`: it was
    /// not restored.
    ///
    /// # Errors
    /// The storage failed.
    pub(crate) fn hear_from(&mut self, number: u16) -> Result<Option<Heard>, OperationError> {
        let Some(heard) = self.view().heard_since_restored()? else {
            return Ok(None);
        };
        let mut lines = self.context.settings.syncrepl.iter().filter(|line| !line.is_own);
        if lines.any(|line| line.number() != number && !heard.contains(&line.number())) {
            self.transaction.note_heard(number)?;
            return Ok(Some(Heard::Some));
        }
        self.transaction.forget_restored()?;
        let name = self.context.suffixes().first().map(Dn::pretty).unwrap_or_default();
        tracing::info!(target: "any", "\"{name}\" was restored, and has now what its providers have: clients may write");
        Ok(Some(Heard::All))
    }

    /// Lets the log that the view shows have the changes of the transaction so far.
    ///
    /// # Errors
    /// The storage failed.
    pub(crate) fn show_changes(&mut self) -> Result<(), OperationError> {
        Ok(self.transaction.show_changes()?)
    }

    /// Says that a peer made the change, with this CSN; `via` 0: it is made here.
    pub fn attribute_to(&mut self, csn: Csn, via: u16) {
        (self.record.csn, self.record.via) = (csn, via);
        self.record.revised_by = None;
    }

    /// Keeps the CSN that a server must cover to have the revision that a peer has sent
    /// ([`ChangeRecord::revised_by`]).
    pub(crate) fn await_reviser(&mut self, csn: Option<Csn>) {
        self.record.revised_by = csn;
    }

    /// Gives the next effect a CSN of its own if it is not the first one: it is a change by itself, of another entry or
    /// of the same one again, and a log of requests tells it as such. [`Self::keep_own_csn`] follows if it was applied.
    pub(crate) fn draw_own_csn(&mut self) {
        if self.is_further() {
            self.stamp.csn = self.record.csn.following(self.further + 1).text();
        }
    }

    /// The effect that was just applied has a CSN of its own: the context vector takes it in.
    pub(crate) fn keep_own_csn(&mut self) {
        if self.record.effects.len() + self.record.buried.len() < 2 || !self.is_further() {
            return;
        }
        self.further += 1;
        let csn = self.record.csn;
        let last = csn.following(self.further);
        self.directory.draw_up_to(last);
        self.record.cookie.retain(|known| !known.is_of_write(csn));
        self.record.cookie.push(last);
    }

    /// Changes that a provider sent have its CSNs.
    fn is_further(&self) -> bool {
        let has_changes = self.is_dirty() || !self.record.buried.is_empty();
        has_changes && !self.is_silent && self.record.via == 0
    }

    /// Keeps the change in this server: no consumer is told of it, and its own CSN does not move the context vector.
    pub fn keep_silent(&mut self) {
        self.is_silent = true;
    }

    /// Writes notes about a database whose changes this one takes in; they are committed with the change.
    ///
    /// # Errors
    /// The storage failed.
    pub fn put_source(&mut self, name: &str, notes: &[u8]) -> Result<(), OperationError> {
        self.has_notes = true;
        Ok(self.transaction.put_source(name, notes)?)
    }

    /// Writes notes that are of the database, not of this server: all servers of a cluster have them, from this change
    /// on.
    ///
    /// # Errors
    /// The storage failed.
    pub fn put_note(&mut self, name: &str, notes: &[u8]) -> Result<(), OperationError> {
        self.put_source(name, notes)?;
        self.record.notes.retain(|(other, _)| **other != *name);
        self.record.notes.push((name.into(), notes.to_vec()));
        Ok(())
    }

    /// Lets the context vector take in these CSNs with the change.
    pub fn take_cookie(&mut self, csns: Vec<Csn>) {
        let further = if self.further > 0 {
            self.record.cookie.pop()
        } else {
            None
        };
        self.record.cookie = csns;
        self.record.cookie.extend(further);
    }

    /// Ends the operation: its record becomes part of the transaction, and is returned for the commit.
    pub(crate) fn finish(mut self) -> Result<Executed, OperationError> {
        let record = &self.record;
        if !(record.effects.is_empty() && record.buried.is_empty() && record.cookie.is_empty()) {
            self.transaction.record(&mut self.record)?;
        }
        Ok(Executed {
            record: self.record,
            lifts_restriction: self.lifts_restriction,
            has_notes: self.has_notes,
        })
    }

    /// Logs something that an overlay could not follow. For one operation, the first ten lines are written, then the
    /// number of the remaining ones.
    pub fn warn(&self, text: std::fmt::Arguments<'_>) {
        self.warnings.warn(text);
    }

    /// The text of an attribute description.
    pub fn name_of(&self, description: &AttributeDescription) -> String {
        self.schema().description_text(description)
    }
}

/// Whether consumers notice the effect by the entry's CSN.
pub(crate) fn touches_csn(effect: &Effect) -> bool {
    match effect {
        Effect::Modify { changes, .. } | Effect::Rename { changes, .. } => changes
            .iter()
            .map(ValueChange::attribute)
            .any(|attribute| attribute.eq_ignore_ascii_case("entryCSN")),
        Effect::Add { .. } | Effect::Delete { .. } => true,
    }
}
