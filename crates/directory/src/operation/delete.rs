//! Delete (RFC 4511 §4.8), and with the tree delete control a whole subtree in one transaction.

use ironbark_config::access::Privileges;
use ironbark_ldap_proto::controls::ControlKind;
use ironbark_model::Dn;
use ironbark_store::{ChangeKind, Effect, EntryId, Location, Record, View};

use super::{
    modify::watched_attributes,
    read_entry,
    write_checks::{self, grants_on_root, require},
};
use crate::{
    OperationError,
    access::{Target, WriteCheck},
    backend::written::Success,
    overlay::{Before, Execution},
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
    let record = write_checks::record_of(view, id)?;
    check_parent(execution, view, dn, &record)?;
    let requester = execution.requester();
    execution.check_assertion(view, &record)?;
    let check = WriteCheck::on_record(requester, &record, view);
    require(
        check.permits(Target::Entry, execution.needed_on_entry(Privileges::DELETE)),
        DeleteRefusal::NoAccessToEntry,
    )?;
    write_checks::refuse_referral(execution, view, &record)?;
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
        let parent = write_checks::record_of(view, record.parent())?;
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
            let record = write_checks::record_of(view, superior)?;
            WriteCheck::on_record(requester, &record, view).permits(Target::Children, Privileges::DELETE)
        };
        require(may_remove_children, DeleteRefusal::NoAccessToSubordinate)?;
        for child in children {
            let record = write_checks::record_of(view, child)?;
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

/// Removes one entry; `tree` is the top of the deleted subtree. Glue takes the place of an entry with subordinates.
pub(crate) fn remove(execution: &mut Execution<'_, '_>, id: EntryId, tree: Option<&Dn>) -> Result<(), OperationError> {
    execution.note_next_effect();
    apply(execution, id, tree)
}

/// Removes an entry that has lost its name to another one. A log of requests does not tell it with the change of that
/// one: it is told by a change of its own, if at all.
pub(crate) fn give_up(execution: &mut Execution<'_, '_>, id: EntryId) -> Result<(), OperationError> {
    apply(execution, id, None)
}

fn apply(execution: &mut Execution<'_, '_>, id: EntryId, tree: Option<&Dn>) -> Result<(), OperationError> {
    let (name, watched) = {
        let view = execution.view();
        let record = write_checks::record_of(view, id)?;
        (view.dn(id)?, watched_attributes(execution, &record)?)
    };
    let effect = Effect::Delete {
        dn: name.pretty().into(),
    };
    execution.apply_own(
        ChangeKind::Delete,
        effect,
        Before {
            attributes: &watched,
            deleted_tree: tree,
        },
    )?;
    Ok(())
}

impl Execution<'_, '_> {
    /// Deletes an entry that has no subordinates on behalf of an overlay, as the operation's own effect: access is not
    /// checked, and other overlays follow it.
    ///
    /// # Errors
    /// `noSuchObject`, `notAllowedOnNonLeaf`; the storage failed, or an overlay refused.
    pub fn delete_internally(&mut self, dn: &Dn) -> Result<(), OperationError> {
        let Location::Entry(id) = self.view().locate(dn)? else {
            return Err(OperationError::no_such_object(String::new()));
        };
        if self.view().has_subordinates(id)? {
            return Err(DeleteRefusal::InternalHasSubordinates.into());
        }
        remove(self, id, None)
    }
}
