//! Changes of an entry that no client asks for: those of overlays and of the server.

use std::borrow::Cow;

use ironbark_model::{Attribute, Dn};
use ironbark_store::{Effect, Record};

use super::{
    checks,
    draft::stored_attribute,
    plan::{Options, plan, plan_replicated},
};
use crate::{
    OperationError,
    edit::apply::{Before, show_to_first},
    overlay::{Execution, overlays_of, touches_csn},
    request::{modification::Modification, requested_change::of_modifications},
};

/// Changes an entry on behalf of an overlay. The schema is checked, access is not, and timestamps do not change.
///
/// Returns the reason if a modify request would be refused. Nothing has been changed then, and the overlay may go
/// on.
///
/// # Errors
/// The storage failed.
pub fn modify_internally(
    execution: &mut Execution<'_, '_>,
    dn: &Dn,
    modifications: &[Modification],
) -> Result<Option<OperationError>, OperationError> {
    run_internal(execution, dn, modifications, Audience::Nobody)
}

/// Changes an entry as a request of the rootdn would: timestamps change, and the other overlays see it. The schema
/// is checked, access is not. Returns the reason if it would be refused.
///
/// # Errors
/// The storage failed, or an overlay refused.
pub fn modify_as_server(
    execution: &mut Execution<'_, '_>,
    dn: &Dn,
    modifications: Vec<Modification>,
) -> Result<Option<OperationError>, OperationError> {
    modify_stamped(execution, dn, modifications, Audience::First)
}

/// Changes an entry as [`modify_internally`] does, but as a change by itself: timestamps change.
pub(crate) fn modify_stamped(
    execution: &mut Execution<'_, '_>,
    dn: &Dn,
    mut modifications: Vec<Modification>,
    audience: Audience,
) -> Result<Option<OperationError>, OperationError> {
    execution.draw_own_csn();
    checks::add_stamps(execution, &mut modifications);
    run_internal(execution, dn, &modifications, audience)
}

/// As [`modify_internally`], on behalf of an overlay that acts last: the other overlays treat the change as
/// one of the operation's.
///
/// # Errors
/// The storage failed, or an overlay refused.
pub fn modify_before_others(
    execution: &mut Execution<'_, '_>,
    dn: &Dn,
    modifications: &[Modification],
) -> Result<Option<OperationError>, OperationError> {
    run_internal(execution, dn, modifications, Audience::First)
}

/// The overlays that see a change by another overlay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Audience {
    Nobody,
    /// The overlays that do not act last.
    First,
}

/// Changes an entry on behalf of an overlay. If the change is refused, returns the reason, and nothing has been
/// changed.
///
/// # Errors
/// The storage failed.
fn run_internal(
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
    show_to_first(execution, &effect, before)?;
    Ok(None)
}

/// Modifications of an overlay. Where the authors of an entry matter, they stay: who has caused the change did not
/// choose it, and the rootdn does not vouch for what others have written.
fn without_author<'m>(execution: &Execution<'_, '_>, modifications: &'m [Modification]) -> Cow<'m, [Modification]> {
    let author = &execution.configuration.well_known.modifiers_name;
    let is_author = |modification: &Modification| modification.description == *author;
    if overlays_of(execution.context).asks_for_authors() && modifications.iter().any(is_author) {
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
    let record = checks::record_of(view, id)?;
    let name = view.dn(id)?;
    let modifications = &*without_author(execution, modifications);
    let watched = match audience {
        Audience::Nobody => &[][..],
        Audience::First => &overlays_of(execution.context).watched,
    };
    let plan = if execution.is_unchecked {
        plan_replicated(execution.schema(), &record, modifications, watched)?
    } else {
        let options = Options {
            relax: false,
            may_be_dynamic: overlays_of(execution.context).keeps_dynamic_entries(),
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
    for description in &overlays_of(execution.context).watched {
        if let Some(attribute) = stored_attribute(record, description)? {
            found.push(attribute);
        }
    }
    Ok(found)
}
