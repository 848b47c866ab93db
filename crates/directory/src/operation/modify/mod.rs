//! Modify (RFC 4511 §4.6), with increment (RFC 4525), permissive modify and relaxed rules.

mod context_vector;

use ironbark_ldap_proto::controls::ControlKind;
use ironbark_model::Dn;
use ironbark_store::{ChangeKind, Effect, EntryId};

use super::read_entry;
use crate::{
    OperationError,
    access::WriteCheck,
    backend::written::Success,
    edit::{
        apply::{Before, apply_own},
        checks,
        draft::Draft,
        plan::{Options, Plan, plan},
        rights::check_access,
    },
    overlay::{Execution, Outcome, OutcomeChange, overlays_of},
    request::{
        modification::{self, Modification},
        requested_change::of_modifications,
    },
};

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
    if !overlays_of(context).content.is_empty() {
        rights = require_rights(execution, dn, &modifications)?;
        for overlay in &overlays_of(context).content {
            overlay.before_modify(execution, dn, &mut modifications)?;
        }
        execution.check_computed()?;
    }
    let id = execution.locate(dn)?;
    if modifications.is_empty() && asked > 0 {
        // An overlay has found that they change nothing.
        return change_nothing(execution, id, rights);
    }
    checks::add_stamps(execution, &mut modifications);
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
    apply_own(
        execution,
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
    let record = checks::record_of(view, id)?;
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
    let record = checks::record_of(view, id)?;
    checks::refuse_referral(execution, view, &record)?;
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
    checks::refuse_used_uuid(execution, modifications, Some(id))?;
    let options = Options {
        relax: execution.is_relaxed(),
        may_be_dynamic: overlays_of(execution.context).keeps_dynamic_entries(),
        permissive: execution.controls.has(ControlKind::PermissiveModify),
        watched: &overlays_of(execution.context).watched,
        budget: Some(execution.budget),
    };
    let judge = |draft: &Draft<'_, '_>| {
        checks::check_outcome(
            execution,
            Outcome {
                name: &name,
                change: OutcomeChange::Modify {
                    former: &record,
                    modifications,
                },
                state: draft,
            },
        )
    };
    let plan = plan(execution.configuration, &record, &name, modifications, &options, judge)?;
    Ok(Prepared { plan, name, success })
}
