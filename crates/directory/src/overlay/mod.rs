//! Overlays: parts that follow or refuse operations without owning data.
//!
//! An overlay declares the hooks it uses, so that an idle overlay costs nothing. Inner changes that it makes in the
//! transaction are ordinary effects of the same change record; it never sees a connection.

mod execution;
pub(crate) mod password_checks;
mod warnings;

use std::sync::Arc;

use ironbark_ldap_proto::controls::AccountUsability;
use ironbark_model::{Attribute, AttributeDescription, Dn, Entry};
use ironbark_runtime::WallTime;
use ironbark_store::{ChangeRecord, Effect, Location, View};

use crate::{
    Configuration, NamingContext, OperationError,
    request::{modification::Modification, requested_change::RequestedChange},
};

pub(crate) use self::execution::Before;
pub use self::execution::{Execution, Passwords};

/// Which hooks an overlay uses.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a hook of its own")]
pub struct Hooks {
    /// [`Overlay::before_write`].
    pub before_write: bool,
    /// [`Overlay::before_add`], [`Overlay::before_modify`] and [`Overlay::before_modify_dn`].
    pub before_content: bool,
    /// [`Overlay::in_transaction`].
    pub in_transaction: bool,
    /// Whether `in_transaction` waits until all other overlays have seen the effect.
    pub acts_last: bool,
    /// Whether `in_transaction` needs the entry as it was before the effect.
    pub needs_entry_before: bool,
    /// [`Overlay::after_commit`].
    pub after_commit: bool,
    /// Whether `after_commit` needs the operation as it was asked for.
    pub wants_request: bool,
    /// [`Overlay::judge_bind`], [`Overlay::policy_of`] and [`Overlay::usability`].
    pub judges_binds: bool,
}

/// A bind with the password of an entry, on its way to its result. Overlays may change all but the entry and the
/// password.
pub struct BindAttempt<'a> {
    /// The entry as it is in the transaction.
    pub entry: &'a Entry,
    /// The password as it was presented, if the mechanism sends it.
    pub password: Option<&'a [u8]>,
    /// `success` if it was the right one, else `invalidCredentials`; with the controls of the response.
    pub result: OperationError,
    /// What is changed in the entry whatever the result is.
    pub modifications: Vec<Modification>,
    /// Whether the connection may do no more than change its password.
    pub must_change_password: bool,
}

/// Entries of all databases: those of one as a view has them, others as they are now.
#[derive(Clone, Copy)]
pub struct Entries<'a> {
    /// The configuration.
    pub configuration: &'a Configuration,
    context: &'a NamingContext,
    view: View<'a>,
}

impl<'a> Entries<'a> {
    pub(crate) fn new(configuration: &'a Configuration, context: &'a NamingContext, view: View<'a>) -> Self {
        Self {
            configuration,
            context,
            view,
        }
    }

    /// The database of the view.
    pub fn context(&self) -> &'a NamingContext {
        self.context
    }

    /// An entry, if it exists.
    ///
    /// # Errors
    /// The storage failed.
    pub fn find(&self, dn: &Dn) -> Result<Option<Entry>, OperationError> {
        let Some(context) = self.configuration.context_of(dn) else {
            return Ok(None);
        };
        if context.number == self.context.number {
            return read(self.view, dn);
        }
        match context.database() {
            Some(database) => read(database.snapshot()?.view(), dn),
            None => Ok(None),
        }
    }
}

fn read(view: View<'_>, dn: &Dn) -> Result<Option<Entry>, OperationError> {
    let Location::Entry(id) = view.locate(dn)? else {
        return Ok(None);
    };
    match view.record(id)? {
        Some(record) => Ok(Some(record.to_entry(view.dn(id)?)?)),
        None => Ok(None),
    }
}

/// What an effect did, as overlays in the transaction see it.
#[derive(Clone, Copy, Debug)]
pub struct Applied<'a> {
    /// The operation's own effect, already applied.
    pub effect: &'a Effect,
    /// The entry before it, if some overlay asked for it; `None` for an add.
    pub before: Option<&'a Entry>,
    /// The [watched](Overlay::watched) attributes as they were. For a delete all that the entry had; for changes those
    /// that changed, a big value set only if it was deleted or replaced as a whole.
    pub attributes_before: &'a [Attribute],
    /// The top of the subtree that the operation deletes, of which this effect is one; the top itself goes last.
    pub deleted_tree: Option<&'a Dn>,
}

/// A modify DN request that was found possible as far as names tell.
#[derive(Clone, Copy, Debug)]
pub struct Renaming<'a> {
    /// The name in the request.
    pub dn: &'a Dn,
    /// The new RDN.
    pub new_rdn: &'a Dn,
    /// `deleteoldrdn`.
    pub delete_old_rdn: bool,
    /// The whole name as it will be.
    pub target: &'a Dn,
}

/// One overlay instance of one database (or of the frontend). All hooks default to no action.
pub trait Overlay: Send + Sync {
    /// The name in the configuration.
    fn name(&self) -> &'static str;

    /// The hooks in use; read once.
    fn hooks(&self) -> Hooks;

    /// Sees each write before it is executed and may refuse it. Nothing has been changed yet.
    fn before_write(&self, execution: &mut Execution<'_, '_>) -> Result<(), OperationError> {
        let _ = execution;
        Ok(())
    }

    /// Attributes whose former values `in_transaction` needs; asked for once, when the overlay is configured.
    fn watched(&self) -> &[AttributeDescription] {
        &[]
    }

    /// Sees a new entry before it is checked against the schema; may change it, or refuse. As the other two hooks
    /// before content, it is called only if the access rules grant the client what it asks for: the answer may tell of
    /// what the client may not see. Changes that it makes are the server's own and need no rights.
    fn before_add(&self, execution: &mut Execution<'_, '_>, entry: &mut Entry) -> Result<(), OperationError> {
        let _ = (execution, entry);
        Ok(())
    }

    /// Sees the changes of an entry before they are carried out; may change them, or refuse. The entry need not exist
    /// if the rootdn asks.
    fn before_modify(
        &self,
        execution: &mut Execution<'_, '_>,
        dn: &Dn,
        modifications: &mut Vec<Modification>,
    ) -> Result<(), OperationError> {
        let _ = (execution, dn, modifications);
        Ok(())
    }

    /// Sees a new name of an entry before anything is changed; may refuse. The entry need not exist if the rootdn asks.
    fn before_modify_dn(
        &self,
        execution: &mut Execution<'_, '_>,
        renaming: Renaming<'_>,
    ) -> Result<(), OperationError> {
        let _ = (execution, renaming);
        Ok(())
    }

    /// Runs in the transaction after the operation's own effect; may add effects, or refuse, which undoes the
    /// operation.
    fn in_transaction(&self, execution: &mut Execution<'_, '_>, applied: Applied<'_>) -> Result<(), OperationError> {
        let _ = (execution, applied);
        Ok(())
    }

    /// Sees a bind whose password has been verified, or not, in the transaction that records what comes of it.
    ///
    /// # Errors
    /// It cannot be decided: the storage failed.
    fn judge_bind(
        &self,
        execution: &mut Execution<'_, '_>,
        attempt: &mut BindAttempt<'_>,
    ) -> Result<(), OperationError> {
        let _ = (execution, attempt);
        Ok(())
    }

    /// Stored passwords of an entry, former ones included, that a new password will be held against.
    fn stored_passwords(&self, entry: &Entry) -> Vec<Vec<u8>> {
        let _ = entry;
        Vec::new()
    }

    /// The name of the password policy that holds for an entry that names none.
    ///
    /// # Errors
    /// The storage failed.
    fn policy_of(&self, entries: Entries<'_>, entry: &Entry) -> Result<Option<Dn>, OperationError> {
        let _ = (entries, entry);
        Ok(None)
    }

    /// Whether the password of an entry could be used now; `None` where nothing is said of it.
    ///
    /// # Errors
    /// The storage failed.
    fn usability(
        &self,
        entries: Entries<'_>,
        entry: &Entry,
        now: WallTime,
    ) -> Result<Option<AccountUsability>, OperationError> {
        let _ = (entries, entry, now);
        Ok(None)
    }

    /// Sees the committed record, in commit order, on the writer thread: must not block for long and cannot refuse.
    fn after_commit(&self, record: &ChangeRecord, context: &AfterCommit<'_>) {
        let _ = (record, context);
    }

    /// After the last write that it follows: flush what is buffered. The server ends, or the configuration no longer
    /// has it.
    fn close(&self) {}
}

/// What accompanies a committed record.
#[derive(Clone, Copy, Debug)]
pub struct AfterCommit<'a> {
    /// First suffix of the database, pretty form.
    pub suffix: &'a str,
    /// Pretty authorization DN of the client; empty for anonymous.
    pub author: &'a str,
    /// The client's address as the log prints it (`IP=...`), and its connection number.
    pub peer_name: &'a str,
    /// Connection number.
    pub connection: u64,
    /// The identity that authenticated, pretty form: another one than `author` under proxied authorization.
    pub authenticated: &'a str,
    /// Seconds since 1970.
    pub unix_seconds: i64,
    /// The operation as it was asked for, in the order of execution; empty unless [`Hooks::wants_request`].
    pub asked: &'a [RequestedChange],
}

/// The overlays of a database in the order in which they act: last configured, first called, as in slapd.
#[derive(Clone, Default)]
pub struct Pipeline {
    overlays: Vec<(Hooks, Arc<dyn Overlay>)>,
    watched: Vec<AttributeDescription>,
}

/// That of what has none.
static NO_OVERLAYS: Pipeline = Pipeline {
    overlays: Vec::new(),
    watched: Vec::new(),
};

impl NamingContext {
    /// The overlays of this database.
    pub fn overlays(&self) -> &Pipeline {
        self.attached.get().unwrap_or(&NO_OVERLAYS)
    }
}

impl Pipeline {
    /// From the configured order.
    pub fn new(configured: Vec<Arc<dyn Overlay>>) -> Self {
        let mut watched: Vec<_> = configured
            .iter()
            .flat_map(|overlay| overlay.watched())
            .cloned()
            .collect();
        watched.sort_unstable();
        watched.dedup();
        let overlays = configured
            .into_iter()
            .rev()
            .map(|overlay| (overlay.hooks(), overlay))
            .collect();
        Self { overlays, watched }
    }

    /// In the configured order.
    pub(crate) fn configured(&self) -> impl Iterator<Item = &Arc<dyn Overlay>> {
        self.overlays.iter().rev().map(|(_, overlay)| overlay)
    }

    /// Names in calling order.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.overlays.iter().map(|(_, overlay)| overlay.name())
    }

    /// Whether some overlay wants the entry before an effect.
    pub fn needs_entry_before(&self) -> bool {
        self.overlays.iter().any(|(hooks, _)| hooks.needs_entry_before)
    }

    /// Whether some overlay wants operations as they were asked for.
    pub(crate) fn wants_request(&self) -> bool {
        self.overlays.iter().any(|(hooks, _)| hooks.wants_request)
    }

    /// Attributes whose former values some overlay wants.
    pub(crate) fn watched(&self) -> &[AttributeDescription] {
        &self.watched
    }

    /// Whether some overlay judges what writes bring.
    pub(crate) fn has_before_content(&self) -> bool {
        self.overlays.iter().any(|(hooks, _)| hooks.before_content)
    }

    pub(crate) fn before_content(&self) -> impl Iterator<Item = &Arc<dyn Overlay>> {
        self.overlays
            .iter()
            .filter(|(hooks, _)| hooks.before_content)
            .map(|(_, overlay)| overlay)
    }

    pub(crate) fn before_write(&self) -> impl Iterator<Item = &Arc<dyn Overlay>> {
        self.overlays
            .iter()
            .filter(|(hooks, _)| hooks.before_write)
            .map(|(_, overlay)| overlay)
    }

    pub(crate) fn in_transaction(&self) -> impl Iterator<Item = &Arc<dyn Overlay>> {
        self.first_in_transaction().chain(self.acting(|hooks| hooks.acts_last))
    }

    /// Those in the transaction that do not wait for others.
    pub(crate) fn first_in_transaction(&self) -> impl Iterator<Item = &Arc<dyn Overlay>> {
        self.acting(|hooks| !hooks.acts_last)
    }

    fn acting(&self, is_asked: fn(&Hooks) -> bool) -> impl Iterator<Item = &Arc<dyn Overlay>> {
        let overlays = self.overlays.iter();
        overlays
            .filter(move |(hooks, _)| hooks.in_transaction && is_asked(hooks))
            .map(|(_, overlay)| overlay)
    }

    pub(crate) fn after_commit(&self) -> impl Iterator<Item = &Arc<dyn Overlay>> {
        self.overlays
            .iter()
            .filter(|(hooks, _)| hooks.after_commit)
            .map(|(_, overlay)| overlay)
    }

    /// Whether some overlay has a say in binds.
    pub(crate) fn judges_binds(&self) -> bool {
        self.overlays.iter().any(|(hooks, _)| hooks.judges_binds)
    }

    pub(crate) fn judging_binds(&self) -> impl Iterator<Item = &Arc<dyn Overlay>> {
        self.overlays
            .iter()
            .filter(|(hooks, _)| hooks.judges_binds)
            .map(|(_, overlay)| overlay)
    }

    /// Closes the overlays that are not among those of `next`.
    pub(crate) fn close_except(&self, next: &Self) {
        for overlay in self.configured() {
            if !next.configured().any(|kept| Arc::ptr_eq(kept, overlay)) {
                overlay.close();
            }
        }
    }
}

impl std::fmt::Debug for Pipeline {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}
