//! Taking CSNs out of the context vector, for servers that are no more: a modify of `contextCSN` of the first suffix's
//! entry, under the relax rules control, by a requester with `manage` access to that attribute.
//!
//! CSNs can only be taken out. One that is put in could claim changes that are not there.

use ironbark_config::access::Privileges;
use ironbark_model::Dn;
use ironbark_store::{ContextVector, Csn};

use crate::{
    OperationError,
    access::{Target, WriteCheck},
    edit::checks,
    overlay::Execution,
    refusal::ModifyRefusal,
    request::modification::{Modification, ModificationKind},
};

/// Takes the changes of `contextCSN` out of a request. Returns the IDs of the servers whose CSNs they delete.
///
/// # Errors
/// `insufficientAccessRights`, `noSuchAttribute`, `constraintViolation`.
pub(super) fn take_changes(
    execution: &Execution<'_, '_>,
    dn: &Dn,
    modifications: &mut Vec<Modification>,
) -> Result<Vec<u16>, OperationError> {
    let known = &execution.configuration.well_known;
    let is_one = |modification: &Modification| modification.description == known.context_csn;
    let is_first = execution.context.suffixes().first() == Some(dn);
    if !is_first || !execution.is_relaxed() || !modifications.iter().any(is_one) {
        return Ok(Vec::new());
    }
    let view = execution.view();
    let Some(mut vector) = view.context_vector()? else {
        return Ok(Vec::new());
    };
    let before: Vec<u16> = vector.iter().map(Csn::server_id).collect();
    let record = checks::record_of(view, execution.locate(dn)?)?;
    let check = WriteCheck::on_record(execution.requester(), &record, view);
    if !check.permits(Target::Attribute(&known.context_csn, None), Privileges::MANAGE) {
        return Err(ModifyRefusal::NoAccess.into());
    }
    for modification in modifications.extract_if(.., |modification| is_one(modification)) {
        change(&mut vector, &modification)?;
    }
    let has_none = |server: &u16| vector.of_server(*server).is_none();
    Ok(before.into_iter().filter(has_none).collect())
}

fn change(vector: &mut ContextVector, modification: &Modification) -> Result<(), ModifyRefusal> {
    let named: Vec<Option<Csn>> = modification.values.iter().map(|value| Csn::parse(value)).collect();
    let holds = |vector: &ContextVector, csn: Csn| vector.of_server(csn.server_id()) == Some(csn);
    match modification.kind {
        ModificationKind::Delete => {
            for csn in named {
                let csn = csn.filter(|csn| holds(vector, *csn));
                let csn = csn.ok_or_else(|| ModifyRefusal::NoSuchValue {
                    attribute: modification.name.clone(),
                })?;
                vector.forget(csn.server_id());
            }
            Ok(())
        }
        ModificationKind::Replace => {
            let kept: Option<Vec<Csn>> = named
                .into_iter()
                .map(|csn| csn.filter(|csn| holds(vector, *csn)))
                .collect();
            *vector = kept.ok_or(ModifyRefusal::ContextOnlyShrinks)?.into_iter().collect();
            Ok(())
        }
        ModificationKind::Add | ModificationKind::Increment | ModificationKind::AddIfAbsent => {
            Err(ModifyRefusal::ContextOnlyShrinks)
        }
    }
}
