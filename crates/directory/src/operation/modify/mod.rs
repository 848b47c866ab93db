//! Modify (RFC 4511 §4.6), with increment (RFC 4525), permissive modify and relaxed rules.

mod context_vector;
mod draft;
mod increment;
mod ordered;
mod plan;

use std::borrow::Cow;

use ironbark_config::access::Privileges;
use ironbark_ldap_proto::controls::ControlKind;
use ironbark_model::{Attribute, Dn};
use ironbark_store::{ChangeKind, Effect, EntryId, Record};

use super::{read_entry, write_checks};
use crate::{
    OperationError,
    access::{Target, WriteCheck},
    backend::written::Success,
    overlay::{Before, Execution, Outcome, OutcomeChange, touches_csn},
    refusal::ModifyRefusal,
    request::{
        modification::{self, Authority, Modification, ModificationKind},
        requested_change::of_modifications,
    },
};

pub(crate) use draft::{Draft, stored_attribute};
pub(crate) use plan::{Options, Plan, plan, plan_replicated};

/// Executes a modify request.
pub(crate) fn execute(
    execution: &mut Execution<'_, '_>,
    dn: &Dn,
    modifications: &[Modification],
) -> Result<Success, OperationError> {
    let mut modifications = modifications.to_vec();
    let forgotten = context_vector::take_changes(execution, dn, &mut modifications)?;
    modification::check_permitted(execution.schema(), &mut modifications, execution.is_relaxed())?;
    let success = run(execution, dn, modifications)?;
    execution.forget_servers(forgotten)?;
    Ok(success)
}

/// Makes checked changes: those of a request, or a new password.
pub(crate) fn run(
    execution: &mut Execution<'_, '_>,
    dn: &Dn,
    mut modifications: Vec<Modification>,
) -> Result<Success, OperationError> {
    let context = execution.context;
    let (mut rights, asked) = (Rights::Unknown, modifications.len());
    if !context.overlays().content.is_empty() {
        rights = require_rights(execution, dn, &modifications)?;
        for overlay in &context.overlays().content {
            overlay.before_modify(execution, dn, &mut modifications)?;
        }
        execution.check_computed()?;
    }
    let id = execution.locate(dn)?;
    if modifications.is_empty() && asked > 0 {
        // An overlay has found that they change nothing.
        return change_nothing(execution, id, rights);
    }
    write_checks::add_stamps(execution, &mut modifications);
    let Prepared {
        plan,
        name,
        mut success,
    } = prepare(execution, id, &modifications, rights)?;
    execution.note_requested(|execution| of_modifications(execution.schema(), dn.pretty(), &modifications));
    let effect = Effect::Modify {
        dn: name.pretty().into(),
        changes: plan.changes,
    };
    execution.apply_own(
        ChangeKind::Modify,
        effect,
        Before {
            attributes: &plan.before,
            deleted_tree: None,
        },
    )?;
    success.post_read = read_entry::post_read(execution, id)?;
    Ok(success)
}

/// Makes the changes that overlays have made of an add.
pub(super) fn run_instead_of_add(
    execution: &mut Execution<'_, '_>,
    dn: &Dn,
    mut modifications: Vec<Modification>,
) -> Result<Success, OperationError> {
    if modifications.is_empty() {
        let id = execution.locate(dn)?;
        return change_nothing(execution, id, Rights::Granted);
    }
    modification::check_permitted(execution.schema(), &mut modifications, execution.is_relaxed())?;
    run(execution, dn, modifications)
}

/// The answer to a request of which nothing is left.
fn change_nothing(execution: &Execution<'_, '_>, id: EntryId, rights: Rights) -> Result<Success, OperationError> {
    let mut success = prepare(execution, id, &[], rights)?.success;
    success.post_read = read_entry::post_read(execution, id)?;
    Ok(success)
}

/// Whether the access rules were checked for all changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rights {
    Unknown,
    Granted,
}

/// The answers of overlays depend on values that the client may not see, so overlays are asked only about permitted
/// changes. A client without the rights is refused in the same way as without overlays.
fn require_rights(
    execution: &Execution<'_, '_>,
    dn: &Dn,
    modifications: &[Modification],
) -> Result<Rights, OperationError> {
    if execution.subject().is_root {
        return Ok(Rights::Granted);
    }
    let id = execution.locate(dn)?;
    let view = execution.view();
    let record = write_checks::record_of(view, id)?;
    let check = WriteCheck::on_record(execution.requester(), &record, view);
    let Err(refusal) = check_access(&check, modifications) else {
        return Ok(Rights::Granted);
    };
    // The operation may fail for a reason that comes before the rights: a referral, an assertion.
    prepare(execution, id, modifications, Rights::Unknown)?;
    Err(refusal.into())
}

struct Prepared {
    plan: Plan,
    name: Dn,
    success: Success,
}

/// Every check that can refuse the operation, on the entry as it is.
fn prepare(
    execution: &Execution<'_, '_>,
    id: EntryId,
    modifications: &[Modification],
    rights: Rights,
) -> Result<Prepared, OperationError> {
    let view = execution.view();
    let record = write_checks::record_of(view, id)?;
    write_checks::refuse_referral(execution, view, &record)?;
    let name = view.dn(id)?;
    execution.check_assertion(view, &record)?;
    let success = Success {
        pre_read: read_entry::pre_read(execution, view, &record)?,
        ..Success::default()
    };
    if rights == Rights::Unknown {
        let requester = execution.requester();
        let check = WriteCheck::on_record(requester, &record, view);
        check_access(&check, modifications)?;
    }
    write_checks::refuse_used_uuid(execution, modifications, Some(id))?;
    let options = Options {
        relax: execution.is_relaxed(),
        may_be_dynamic: execution.context.overlays().keeps_dynamic_entries(),
        permissive: execution.controls.has(ControlKind::PermissiveModify),
        watched: &execution.context.overlays().watched,
        budget: Some(execution.budget),
    };
    let judge = |draft: &Draft<'_, '_>| {
        execution.check_outcome(Outcome {
            name: &name,
            change: OutcomeChange::Modify {
                former: &record,
                modifications,
            },
            state: draft,
        })
    };
    let plan = plan(execution.configuration, &record, &name, modifications, &options, judge)?;
    Ok(Prepared { plan, name, success })
}

/// Whether the access rules grant all changes. The server's own changes need no grant.
///
/// # Errors
/// `insufficientAccessRights`.
pub(crate) fn check_access(check: &WriteCheck<'_>, modifications: &[Modification]) -> Result<(), ModifyRefusal> {
    if modifications.iter().all(|modification| is_granted(check, modification)) {
        Ok(())
    } else {
        Err(ModifyRefusal::NoAccess)
    }
}

pub(crate) fn is_granted(check: &WriteCheck<'_>, modification: &Modification) -> bool {
    let needed = |privileges| match modification.authority {
        Authority::Manager => Privileges::MANAGE,
        Authority::Client | Authority::Server => privileges,
    };
    let whole = |privileges| check.permits(Target::Attribute(&modification.description, None), needed(privileges));
    let each = |privileges| {
        modification.values.iter().all(|value| {
            check.permits(
                Target::Attribute(&modification.description, Some(value)),
                needed(privileges),
            )
        })
    };
    if modification.authority == Authority::Server {
        return true;
    }
    match modification.kind {
        ModificationKind::AddIfAbsent => true,
        ModificationKind::Add => each(Privileges::ADD),
        ModificationKind::Increment => each(Privileges::INCREMENT),
        ModificationKind::Delete if modification.values.is_empty() => whole(Privileges::DELETE),
        ModificationKind::Delete => each(Privileges::DELETE),
        // Both are checked: a client that may only write its own name must not remove the others.
        ModificationKind::Replace => whole(Privileges::DELETE) && each(Privileges::ADD),
    }
}

impl Execution<'_, '_> {
    /// Whether the access rules grant the client a change of a stored entry.
    pub fn grants(&self, record: &Record<'_>, modification: &Modification) -> bool {
        let check = WriteCheck::on_record(self.requester(), record, self.view());
        is_granted(&check, modification)
    }
}

/// Changes an entry on behalf of an overlay. If the change is refused, returns the reason, and nothing has been
/// changed.
///
/// # Errors
/// The storage failed.
pub(crate) fn run_internal(
    execution: &mut Execution<'_, '_>,
    dn: &Dn,
    modifications: &[Modification],
    audience: Audience,
) -> Result<Option<OperationError>, OperationError> {
    let (effect, attributes) = match plan_internal(execution, dn, modifications, audience) {
        Ok(planned) => planned,
        Err(refusal) => return Ok(Some(refusal)),
    };
    execution.note_requested(|execution| of_modifications(execution.schema(), dn.pretty(), modifications));
    execution.apply_further(effect.clone())?;
    if touches_csn(&effect) {
        execution.keep_own_csn();
    }
    if audience == Audience::Nobody {
        return Ok(None);
    }
    let before = Before {
        attributes: &attributes,
        deleted_tree: None,
    };
    execution.show_to_first(&effect, before)?;
    Ok(None)
}

/// The overlays that see a change by another overlay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Audience {
    Nobody,
    /// The overlays that do not act last.
    First,
}

/// Modifications of an overlay. Where the authors of an entry matter, they stay: who has caused the change did not
/// choose it, and the rootdn does not vouch for what others have written.
fn without_author<'m>(execution: &Execution<'_, '_>, modifications: &'m [Modification]) -> Cow<'m, [Modification]> {
    let author = &execution.configuration.well_known.modifiers_name;
    let is_author = |modification: &Modification| modification.description == *author;
    if execution.context.overlays().asks_for_authors() && modifications.iter().any(is_author) {
        let others = modifications.iter().filter(|modification| !is_author(modification));
        return others.cloned().collect();
    }
    modifications.into()
}

fn plan_internal(
    execution: &Execution<'_, '_>,
    dn: &Dn,
    modifications: &[Modification],
    audience: Audience,
) -> Result<(Effect, Vec<Attribute>), OperationError> {
    let view = execution.view();
    let id = execution.locate(dn)?;
    let record = write_checks::record_of(view, id)?;
    let name = view.dn(id)?;
    let modifications = &*without_author(execution, modifications);
    let watched = match audience {
        Audience::Nobody => &[][..],
        Audience::First => &execution.context.overlays().watched,
    };
    let plan = if execution.is_unchecked {
        plan_replicated(execution.schema(), &record, modifications, watched)?
    } else {
        let options = Options {
            relax: false,
            may_be_dynamic: execution.context.overlays().keeps_dynamic_entries(),
            permissive: false,
            watched,
            budget: None,
        };
        let configuration = execution.configuration;
        plan(configuration, &record, &name, modifications, &options, |_| Ok(()))?
    };
    let effect = Effect::Modify {
        dn: name.pretty().into(),
        changes: plan.changes,
    };
    Ok((effect, plan.before))
}

/// The watched attributes of a record, with all values.
pub(crate) fn watched_attributes(
    execution: &Execution<'_, '_>,
    record: &Record<'_>,
) -> Result<Vec<Attribute>, OperationError> {
    let mut found = Vec::new();
    for description in &execution.context.overlays().watched {
        if let Some(attribute) = stored_attribute(record, description)? {
            found.push(attribute);
        }
    }
    Ok(found)
}

impl Execution<'_, '_> {
    /// Changes an entry on behalf of an overlay. The schema is checked, access is not, and timestamps do not change.
    ///
    /// Returns the reason if a modify request would be refused. Nothing has been changed then, and the overlay may go
    /// on.
    ///
    /// # Errors
    /// The storage failed.
    pub fn modify_internally(
        &mut self,
        dn: &Dn,
        modifications: &[Modification],
    ) -> Result<Option<OperationError>, OperationError> {
        run_internal(self, dn, modifications, Audience::Nobody)
    }

    /// Changes an entry as a request of the rootdn would: timestamps change, and the other overlays see it. The schema
    /// is checked, access is not. Returns the reason if it would be refused.
    ///
    /// # Errors
    /// The storage failed, or an overlay refused.
    pub fn modify_as_server(
        &mut self,
        dn: &Dn,
        modifications: Vec<Modification>,
    ) -> Result<Option<OperationError>, OperationError> {
        self.modify_stamped(dn, modifications, Audience::First)
    }

    /// Changes an entry as [`Self::modify_internally`] does, but as a change by itself: timestamps change.
    pub(crate) fn modify_stamped(
        &mut self,
        dn: &Dn,
        mut modifications: Vec<Modification>,
        audience: Audience,
    ) -> Result<Option<OperationError>, OperationError> {
        self.draw_own_csn();
        write_checks::add_stamps(self, &mut modifications);
        run_internal(self, dn, &modifications, audience)
    }

    /// As [`Self::modify_internally`], on behalf of an overlay that acts last: the other overlays treat the change as
    /// one of the operation's.
    ///
    /// # Errors
    /// The storage failed, or an overlay refused.
    pub fn modify_before_others(
        &mut self,
        dn: &Dn,
        modifications: &[Modification],
    ) -> Result<Option<OperationError>, OperationError> {
        run_internal(self, dn, modifications, Audience::First)
    }
}
