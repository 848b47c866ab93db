//! slapo-ppolicy(5): draft-behera-ldap-password-policy-10 as slapd has it.
//!
//! Binds are judged, and what comes of them recorded, in the transaction of the database's one writer, so that failures
//! are counted exactly. Time is the directory's clock.

mod bind;
mod change;
mod history;
mod locked;
mod names;
mod policy;
mod quality;
mod rules;
mod state;
mod usability;

use ironbark_directory::{
    Modification, OperationError,
    overlay::{BindAttempt, Entries, Execution, Hooks, Overlay},
};
use ironbark_ldap_proto::controls::AccountUsability;
use ironbark_model::{Dn, Entry};
use ironbark_runtime::WallTime;

pub use self::state::Ppolicy;
use self::state::seconds;

impl Overlay for Ppolicy {
    fn name(&self) -> &'static str {
        "ppolicy"
    }

    fn hooks(&self) -> Hooks {
        Hooks {
            before_content: true,
            judges_binds: true,
            ..Hooks::default()
        }
    }

    fn judge_bind(
        &self,
        execution: &mut Execution<'_, '_>,
        attempt: &mut BindAttempt<'_>,
    ) -> Result<(), OperationError> {
        bind::judge(self, execution, attempt)
    }

    fn before_add(&self, execution: &mut Execution<'_, '_>, entry: &mut Entry) -> Result<(), OperationError> {
        change::add(self, execution, entry)
    }

    fn before_modify(
        &self,
        execution: &mut Execution<'_, '_>,
        dn: &Dn,
        modifications: &mut Vec<Modification>,
    ) -> Result<(), OperationError> {
        change::modify(self, execution, dn, modifications)
    }

    fn stored_passwords(&self, entry: &Entry) -> Vec<Vec<u8>> {
        let values = |name| entry.attribute(name).map_or(&[][..], |held| &held.values);
        let stored = values(&self.names.password).iter().cloned();
        stored.chain(history::passwords(values(&self.names.history))).collect()
    }

    fn policy_of(&self, entries: Entries<'_>, entry: &Entry) -> Result<Option<Dn>, OperationError> {
        self.rules.choose(self, entries, entry)
    }

    fn usability(
        &self,
        entries: Entries<'_>,
        entry: &Entry,
        now: WallTime,
    ) -> Result<Option<AccountUsability>, OperationError> {
        usability::of(self, entries, entry, seconds(now))
    }
}
