//! Delete (RFC 4511 §4.8), and with the tree delete control a whole subtree in one transaction.

use ironbark_config::access::Privileges;
use ironbark_ldap_proto::controls::ControlKind;
use ironbark_model::Dn;
use ironbark_store::{EntryId, Record, View};

use super::read_entry;
use crate::{
    OperationError,
    access::{Target, WriteCheck},
    backend::written::Success,
    edit::{
        checks::{self, grants_on_root, require},
        delete::remove,
    },
    overlay::Execution,
    refusal::DeleteRefusal,
};

/// Maximum number of entries that one tree delete removes; beyond it the answer is `adminLimitExceeded`.
const TREE_LIMIT: usize = 100_000;

/// Executes a delete request.
pub(crate) fn execute(execution: &mut Execution<'_, '_>, dn: &Dn) -> Result<Success, OperationError> {
    let id = execution.locate(dn)?;
    let (pre_read, tree) = check(execution, dn, id)?;
    let top = if tree.is_empty() {
        None
    } else {
        Some(execution.view().dn(id)?)
    };
    for (number, id) in tree.into_iter().chain([id]).enumerate() {
        remove(execution, id, top.as_ref())?;
        if number > 0 {
            execution.keep_own_csn();
        }
    }
    Ok(Success {
        pre_read,
        ..Success::default()
    })
}

/// Every check that can refuse the operation. Returns the pre-read value, and the subordinates to delete, leaves first.
fn check(
    execution: &Execution<'_, '_>,
    dn: &Dn,
    id: EntryId,
) -> Result<(Option<Vec<u8>>, Vec<EntryId>), OperationError> {
    let view = execution.view();
    let record = checks::record_of(view, id)?;
    check_parent(execution, view, dn, &record)?;
    let requester = execution.requester();
    execution.check_assertion(view, &record)?;
    let check = WriteCheck::on_record(requester, &record, view);
    require(
        check.permits(Target::Entry, execution.needed_on_entry(Privileges::DELETE)),
        DeleteRefusal::NoAccessToEntry,
    )?;
    checks::refuse_referral(execution, view, &record)?;
    let pre_read = read_entry::pre_read(execution, view, &record)?;
    let tree = if execution.controls.has(ControlKind::TreeDelete) {
        subordinates(execution, view, &check, id)?
    } else if view.has_subordinates(id)? {
        return Err(DeleteRefusal::HasSubordinates.into());
    } else {
        Vec::new()
    };
    Ok((pre_read, tree))
}

/// The subject must be allowed to delete subordinates of the superior. Only the rootdn deletes an entry without a
/// superior.
fn check_parent(
    execution: &Execution<'_, '_>,
    view: View<'_>,
    dn: &Dn,
    record: &Record<'_>,
) -> Result<(), OperationError> {
    let requester = execution.requester();
    if record.parent() != 0 {
        let parent = checks::record_of(view, record.parent())?;
        let check = WriteCheck::on_record(requester, &parent, view);
        return require(
            check.permits(Target::Children, Privileges::DELETE),
            DeleteRefusal::NoAccessToParent,
        );
    }
    if requester.subject.is_root {
        return Ok(());
    }
    if !requester.context.is_suffix(&Dn::root()) || dn.is_root() {
        return Err(DeleteRefusal::NoParent.into());
    }
    require(
        grants_on_root(execution, Privileges::DELETE),
        DeleteRefusal::NoAccessToParent,
    )
}

/// All subordinates, each before its superior, if the access rules allow deleting each of them.
fn subordinates(
    execution: &Execution<'_, '_>,
    view: View<'_>,
    top: &WriteCheck<'_>,
    id: EntryId,
) -> Result<Vec<EntryId>, OperationError> {
    let requester = execution.requester();
    let needed = execution.needed_on_entry(Privileges::DELETE);
    // Superiors first; reversed at the end.
    let mut found = Vec::new();
    let mut open = vec![id];
    while let Some(superior) = open.pop() {
        let room = TREE_LIMIT - found.len();
        let children = view.children(superior)?.take(room + 1).collect::<Result<Vec<_>, _>>()?;
        if children.len() > room {
            return Err(DeleteRefusal::TooManySubordinates.into());
        }
        if children.is_empty() {
            continue;
        }
        let may_remove_children = if superior == id {
            top.permits(Target::Children, Privileges::DELETE)
        } else {
            let record = checks::record_of(view, superior)?;
            WriteCheck::on_record(requester, &record, view).permits(Target::Children, Privileges::DELETE)
        };
        require(may_remove_children, DeleteRefusal::NoAccessToSubordinate)?;
        for child in children {
            let record = checks::record_of(view, child)?;
            let check = WriteCheck::on_record(requester, &record, view);
            require(
                check.permits(Target::Entry, needed),
                DeleteRefusal::NoAccessToSubordinate,
            )?;
            found.push(child);
            open.push(child);
        }
    }
    found.reverse();
    Ok(found)
}
