//! Operations of a null database: each one succeeds, and nothing is kept. Access rules are not checked, as in slapd.
//!
//! The checks before any database are the same as elsewhere: syntaxes, names, whether a client may write at all,
//! `readonly`.

use ironbark_ldap_proto::controls::ControlKind;
use ironbark_model::{Dn, Entry};
use ironbark_store::{ChangeKind, change::RequestedChange};

use super::{change::Change, modify_dn, password_modify::SetPassword, read_entry};
use crate::{
    Directory, NamingContext, OperationError,
    access::{Requester, assertion::refuse_assertion},
    backend::{
        queue::Served,
        written::{Executed, Success},
    },
    edit::new_entry,
    overlay::record,
    refusal::WriteRefusal,
    request::{context::RequestContext, controls::WriteControls, modification, requested_change::of_modifications},
    write::request::OnTree,
};

/// Executes a write.
///
/// # Errors
/// The errors of controls and of the schema that need no entry.
pub(crate) fn execute(
    on: OnTree<'_>,
    change: &Change,
    controls: WriteControls<'_>,
) -> Result<(Success, Executed), OperationError> {
    let OnTree {
        directory,
        served,
        origin,
        ..
    } = on;
    let Served { configuration, context } = served;
    let schema = &*configuration.schema;
    let (kind, requested) = match change {
        Change::Add(dn, modifications) => {
            let mut modifications = modifications.clone();
            modification::check_permitted(schema, &mut modifications, controls.has(ControlKind::RelaxRules))?;
            new_entry::refuse_repetition(schema, &modifications)?;
            let entry = new_entry::entry_of(dn.clone(), &modifications);
            (ChangeKind::Add, new_entry::requested(schema, &entry))
        }
        Change::Delete(dn) => {
            let dn = dn.pretty().into();
            (ChangeKind::Delete, RequestedChange::Delete { dn })
        }
        Change::Modify(dn, modifications) => {
            let mut modifications = modifications.clone();
            modification::check_permitted(schema, &mut modifications, controls.has(ControlKind::RelaxRules))?;
            let requested = of_modifications(schema, dn.pretty(), &modifications);
            (ChangeKind::Modify, requested)
        }
        Change::ModifyDn(rename) => {
            modify_dn::check_context(configuration, context, rename)?;
            (ChangeKind::ModifyDn, rename.requested())
        }
    };
    refuse_assertion(controls.has(ControlKind::Assertion))?;
    let success = read_nothing(served, origin, change.dn(), kind, controls)?;
    if controls.has(ControlKind::NoOp) {
        return Err(WriteRefusal::NoOperation.into());
    }
    let mut executed = nothing(directory, context, origin, kind);
    if context.is_followed() {
        executed.record.requested.push(requested);
    }
    Ok((success, executed))
}

/// Sets a password, which is not kept.
pub(crate) fn set_password(on: OnTree<'_>, request: &SetPassword) -> (Success, Executed) {
    let success = Success {
        extended: request.answer(),
        ..Success::default()
    };
    let context = &on.served.context;
    (success, nothing(on.directory, context, on.origin, ChangeKind::Modify))
}

fn nothing(directory: &Directory, context: &NamingContext, origin: &RequestContext, kind: ChangeKind) -> Executed {
    Executed {
        record: record::begin(directory, context, origin, &directory.next_stamp(), kind),
        lifts_restriction: false,
        has_notes: false,
    }
}

/// The answers of the pre-read and post-read controls: a name without attributes.
fn read_nothing(
    Served { configuration, context }: &Served,
    origin: &RequestContext,
    dn: &Dn,
    kind: ChangeKind,
    controls: WriteControls<'_>,
) -> Result<Success, OperationError> {
    let entry = Entry::new(dn.clone());
    let requester = Requester::of(configuration, context, origin);
    let read = |asked| read_entry::read_in_memory(requester, &entry, &asked);
    let mut success = Success::default();
    if let Some(asked) = controls.pre_read().filter(|_| kind != ChangeKind::Add) {
        success.pre_read = read(asked)?;
    }
    if let Some(asked) = controls.post_read().filter(|_| kind != ChangeKind::Delete) {
        success.post_read = read(asked)?;
    }
    Ok(success)
}
