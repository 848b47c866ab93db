//! A write while it is executed: what operations and overlays share in its transaction.
//!
//! Everything is validated before the first effect is applied; a refusal after that ([`Execution::is_dirty`]) makes the
//! writer execute again what came before it in the group.

use std::cell::RefCell;

use ironbark_config::access::Privileges;
use ironbark_ldap_proto::controls::ControlKind;
use ironbark_model::{Attribute, AttributeDescription, Budget, Dn, Entry, ResultCode, Schema};
use ironbark_store::{
    ChangeKind, ChangeRecord, Effect, EntryId, Location, RecordedEffect, ValueChange, View, WriteTransaction,
    change::{Marks, RequestedChange},
};

use super::{
    Applied, Entries,
    password_checks::{self, Computed},
    record,
    warnings::Warnings,
};
use crate::{
    Configuration, Directory, NamingContext, OperationError,
    access::{
        Requester, SetAnswers, Subject, Target, WriteCheck,
        disclosure::{Ancestor, Disclosure},
    },
    backend::written::{Executed, Wanted},
    password::{self, Cost, Scheme},
    request::{context::RequestContext, controls::WriteControls},
    stamp::Stamp,
};

/// An entry as it was, as far as overlays want to know.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Before<'a> {
    /// Watched attributes.
    pub(crate) attributes: &'a [Attribute],
    /// The top of the subtree that goes with it.
    pub(crate) deleted_tree: Option<&'a Dn>,
}

impl<'a> Before<'a> {
    fn of(self, effect: &'a Effect) -> Applied<'a> {
        Applied {
            effect,
            attributes_before: self.attributes,
            deleted_tree: self.deleted_tree,
        }
    }
}

/// One write operation under execution.
pub struct Execution<'w, 'd> {
    /// The server.
    pub directory: &'w Directory,
    /// The configuration the operation began with.
    pub configuration: &'w Configuration,
    /// The database.
    pub context: &'w NamingContext,
    /// Who asked.
    pub origin: &'w RequestContext,
    /// The controls of the request that are obeyed.
    pub controls: WriteControls<'w>,
    /// CSN and time of this change.
    pub stamp: Stamp,
    transaction: &'w mut WriteTransaction<'d>,
    /// What finding out about rights and assertions may still cost.
    pub(crate) budget: &'w Budget,
    /// What sets have said of who acts.
    sets: &'w SetAnswers,
    record: ChangeRecord,
    /// What was computed before; `None` if the operation cannot be sent back for more.
    pub(crate) computed: Option<&'w Computed>,
    /// What it lacks, for which it has to be sent back: its result counts for nothing then.
    wanted: RefCell<Option<Wanted>>,
    warnings: Warnings,
    /// Of a password modify operation.
    pub passwords: Option<Passwords>,
    /// Once it has succeeded the connection may do everything again.
    pub lifts_restriction: bool,
}

/// Passwords of a password modify operation as they came, for who judges them.
#[derive(Clone)]
pub struct Passwords {
    /// The old one, which has been verified.
    pub old: Option<Vec<u8>>,
    /// The new one.
    pub new: Vec<u8>,
}

impl<'w, 'd> Execution<'w, 'd> {
    pub(crate) fn new(
        directory: &'w Directory,
        configuration: &'w Configuration,
        context: &'w NamingContext,
        origin: &'w RequestContext,
        controls: WriteControls<'w>,
        (transaction, budget, sets): (&'w mut WriteTransaction<'d>, &'w Budget, &'w SetAnswers),
    ) -> Self {
        let stamp = directory.next_stamp();
        Self {
            record: record::begin(directory, context, origin, (&stamp, ChangeKind::Modify)),
            directory,
            configuration,
            context,
            origin,
            controls,
            stamp,
            transaction,
            budget,
            sets,
            computed: None,
            wanted: RefCell::default(),
            warnings: Warnings::new(origin.connection, origin.operation),
            passwords: None,
            lifts_restriction: false,
        }
    }

    /// The schema in force.
    pub fn schema(&self) -> &'w Schema {
        &self.configuration.schema
    }

    /// The transaction's current state.
    pub fn view(&self) -> View<'_> {
        self.transaction.view()
    }

    /// Who acts, for access rules.
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
        let record = view
            .record(id)?
            .ok_or_else(|| OperationError::new(ResultCode::OTHER, "entry vanished"))?;
        Ok(record.to_entry(view.dn(id)?)?)
    }

    /// Whether the `ManageDsaIT` control came along.
    pub fn manages_dsa(&self) -> bool {
        self.origin.has_control(ControlKind::ManageDsaIt)
    }

    /// What the subject may know of names.
    pub(crate) fn disclosure(&self) -> Disclosure<'_> {
        Disclosure {
            requester: self.requester(),
            view: self.view(),
        }
    }

    /// Where a name leads for the subject: a referral entry that it may not know of is not there.
    pub(crate) fn place_of(&self, dn: &Dn) -> Result<Location, OperationError> {
        self.seen(dn, self.view().locate(dn)?)
    }

    /// The same of what the database says of the name.
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

    /// As [`Self::locate`]; an entry that may not be known of is answered for like one that is not there.
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

    /// The error for a name that does not exist, without what the subject may not know.
    pub(crate) fn missing(&self, dn: &Dn, ancestor: Ancestor) -> OperationError {
        self.disclosure().missing(dn, ancestor, None)
    }

    /// Whether the access rules let who acts manage an entry.
    pub fn may_manage(&self, entry: &Entry) -> bool {
        WriteCheck::on_entry(self.requester(), entry)
            .within(self.view())
            .permits(Target::Entry, Privileges::MANAGE)
    }

    /// Whether the access rules let who acts manage an attribute of an entry.
    pub fn may_manage_attribute(&self, entry: &Entry, description: &AttributeDescription) -> bool {
        WriteCheck::on_entry(self.requester(), entry)
            .within(self.view())
            .permits(Target::Attribute(description, None), Privileges::MANAGE)
    }

    /// Whether a password in the clear is the one behind a stored value.
    ///
    /// What takes long, and has not been computed before, is computed on the hashing pool: the operation is executed
    /// again with it, and what it does until then is in vain. Call it before the first effect.
    pub fn verify_password(&self, stored: &[u8], clear: &[u8]) -> bool {
        if let Some(matches) = self.computed.and_then(|computed| computed.verified(stored, clear)) {
            return matches;
        }
        if password::cost(stored) == Cost::Slow && self.may_return() {
            self.want(Wanted::Verification(stored.to_vec(), clear.to_vec()));
            return false;
        }
        self.directory.hashing_pool().verify(stored, clear)
    }

    /// Hashes a password in the clear by a scheme, or by the first of `password-hash`. Where it takes long, as
    /// [`Execution::verify_password`].
    ///
    /// # Errors
    /// `other`: the scheme makes no new values, or there was no randomness. `busy`: it is still to be computed.
    pub fn hash_password(&self, scheme: Option<Scheme>, clear: &[u8]) -> Result<Vec<u8>, OperationError> {
        let scheme = scheme.or(self.configuration.password_schemes.first().copied());
        let scheme = scheme.unwrap_or(Scheme::DEFAULT);
        if let Some(hashed) = self.computed.and_then(|computed| computed.hashed(scheme, clear)) {
            return hashed.clone();
        }
        if scheme.cost() == Cost::Slow && self.may_return() {
            self.want(Wanted::Hash(scheme, clear.to_vec()));
            return Err(still_to_be_computed());
        }
        password_checks::hash(self.directory, scheme, clear)
    }

    /// Whether the operation will be executed again, when more has been computed.
    pub fn is_in_vain(&self) -> bool {
        self.wanted.borrow().is_some()
    }

    /// Ends an operation that lacks something.
    ///
    /// # Errors
    /// It does.
    pub(crate) fn check_computed(&self) -> Result<(), OperationError> {
        if self.is_in_vain() {
            return Err(still_to_be_computed());
        }
        Ok(())
    }

    /// What the operation lacks.
    pub(crate) fn take_wanted(&self) -> Option<Wanted> {
        self.wanted.take()
    }

    fn may_return(&self) -> bool {
        // Writes of a sequence keep their order.
        let is_sequence = self.origin.sequence.is_kept();
        !is_sequence && self.computed.is_some_and(Computed::may_return)
    }

    fn want(&self, wanted: Wanted) {
        self.wanted.borrow_mut().get_or_insert(wanted);
    }

    /// Entries of all databases, those of its own as the transaction has them.
    pub fn entries(&self) -> Entries<'_> {
        Entries::new(self.configuration, self.context, self.view())
    }

    /// Whether the relax rules control came along.
    pub fn is_relaxed(&self) -> bool {
        self.controls.has(ControlKind::RelaxRules)
    }

    /// Privileges that adding, deleting or renaming an entry needs on it: `manage` under relaxed rules, as in slapd.
    pub(crate) fn needed_on_entry(&self, privileges: Privileges) -> Privileges {
        if self.is_relaxed() {
            Privileges::MANAGE
        } else {
            privileges
        }
    }

    /// Applies an effect that the operation was asked for, then lets the overlays act in the transaction. Call it after
    /// every check, once, or for each entry of a deleted subtree.
    ///
    /// With the no-op control this is where the operation ends (`noOperation`).
    pub(crate) fn apply_own(
        &mut self,
        kind: ChangeKind,
        effect: Effect,
        before: Before<'_>,
    ) -> Result<EntryId, OperationError> {
        if self.controls.has(ControlKind::NoOp) {
            return Err(OperationError::code(ResultCode::NO_OPERATION));
        }
        self.record.kind = kind;
        let id = self.transaction.apply_effect(&effect);
        let context = self.context;
        let mut overlays = context.overlays().effects.iter().peekable();
        if overlays.peek().is_none() {
            self.take_in(effect, Marks::default());
            let id = id?;
            self.check_entry_size(kind, id)?;
            return Ok(id);
        }
        self.take_in(effect.clone(), Marks::default());
        let id = id?;
        self.check_entry_size(kind, id)?;
        for overlay in overlays {
            overlay.in_transaction(self, before.of(&effect))?;
        }
        Ok(id)
    }

    /// Shows a further effect to the overlays that do not act last.
    pub(crate) fn show_to_first(&mut self, effect: &Effect, before: Before<'_>) -> Result<(), OperationError> {
        let context = self.context;
        let mut overlays = context.overlays().first_in_transaction();
        overlays.try_for_each(|overlay| overlay.in_transaction(self, before.of(effect)))
    }

    /// `maxentrysize`: looked at once the entry is as it would be stored.
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
            return Err(OperationError::new(
                ResultCode::ADMIN_LIMIT_EXCEEDED,
                "entry is too big",
            ));
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

    fn take_in(&mut self, effect: Effect, marks: Marks) {
        let before = self.transaction.take_before();
        self.record.effects.push(RecordedEffect { effect, marks, before });
    }

    /// Notes a change as it was asked for, where the database is followed. What it makes is only made then.
    pub(crate) fn note_requested(&mut self, requested: impl FnOnce(&Self) -> RequestedChange) {
        if self.context.is_followed() {
            let requested = requested(self);
            self.record.requested.push(requested);
        }
    }

    /// Notes that what was asked for is the next effect.
    pub(crate) fn note_next_effect(&mut self) {
        self.note_requested(|execution| RequestedChange::AsApplied(execution.record.effects.len()));
    }

    /// Ends the operation: its record becomes part of the transaction, and goes to whoever commits.
    pub(crate) fn finish(mut self) -> Result<Executed, OperationError> {
        if !self.record.effects.is_empty() {
            self.transaction.record(&mut self.record)?;
        }
        Ok(Executed {
            record: self.record,
            lifts_restriction: self.lifts_restriction,
        })
    }

    /// Logs something that an overlay could not follow. Of one operation the first ten are written, then how many more
    /// there were.
    pub fn warn(&self, text: std::fmt::Arguments<'_>) {
        self.warnings.warn(text);
    }

    /// The text of an attribute description.
    pub fn name_of(&self, description: &AttributeDescription) -> String {
        self.schema().description_text(description)
    }
}

/// Whether consumers notice the effect by the entry's CSN.
fn touches_csn(effect: &Effect) -> bool {
    match effect {
        Effect::Modify { changes, .. } | Effect::Rename { changes, .. } => changes
            .iter()
            .map(ValueChange::attribute)
            .any(|attribute| attribute.eq_ignore_ascii_case("entryCSN")),
        Effect::Add { .. } | Effect::Delete { .. } => true,
    }
}

/// Nobody hears of it.
fn still_to_be_computed() -> OperationError {
    OperationError::new(ResultCode::BUSY, "a password is still to be computed")
}
