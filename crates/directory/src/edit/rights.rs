//! Whether the access rules grant changes of an entry.

use ironbark_config::access::Privileges;
use ironbark_store::Record;

use crate::{
    access::{Target, WriteCheck},
    overlay::Execution,
    refusal::ModifyRefusal,
    request::modification::{Authority, Modification, ModificationKind},
};

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

/// Whether the access rules grant the client a change of a stored entry.
pub fn grants(execution: &Execution<'_, '_>, record: &Record<'_>, modification: &Modification) -> bool {
    let check = WriteCheck::on_record(execution.requester(), record, execution.view());
    is_granted(&check, modification)
}
