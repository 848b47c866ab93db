//! Operations of a null database: every one succeeds, and nothing is kept. Access rules are not asked, as in slapd.
//!
//! What the server checks before it asks any database (syntaxes, names, who may write at all, `readonly`) is as everywhere.

use std::sync::Arc;

use ironbark_ldap_proto::controls::RequestControls;
use ironbark_model::{Attribute, Dn, Entry, ResultCode, Schema};
use ironbark_store::{ChangeKind, ChangeRecord};

use super::{Executed, Origin, add, modification, modify_dn, password_modify::SetPassword, read_entry};
use crate::{
    Configuration, Directory, OperationError, access::Subject, overlay::Asked, respond::Success, write_request::Change,
    writer::Served,
};

/// Executes a write.
///
/// # Errors
/// What controls and the schema forbid without any entry.
pub(crate) fn execute(
    directory: &Directory,
    served: &Served,
    origin: &Origin,
    change: &Change,
    controls: &RequestControls<'_>,
) -> Result<(Success, Executed), OperationError> {
    let Served { configuration, context } = served;
    let schema = &*configuration.schema;
    let (kind, asked) = match change {
        Change::Add(dn, modifications) => {
            let mut modifications = modifications.clone();
            modification::check_permitted(schema, &mut modifications, controls.relax_rules.is_some())?;
            add::refuse_repetition(schema, &modifications)?;
            (ChangeKind::Add, Asked::Add(add::entry_of(dn.clone(), &modifications)))
        }
        Change::Delete(dn) => {
            let dn = dn.pretty().to_owned();
            (ChangeKind::Delete, Asked::Delete { dn })
        }
        Change::Modify(dn, modifications) => {
            let mut modifications = modifications.clone();
            modification::check_permitted(schema, &mut modifications, controls.relax_rules.is_some())?;
            let dn = dn.pretty().to_owned();
            (ChangeKind::Modify, Asked::Modify { dn, modifications })
        }
        Change::ModifyDn(rename) => {
            modify_dn::check_context(configuration, context, rename)?;
            (ChangeKind::ModifyDn, rename.asked())
        }
    };
    refuse_assertion(controls)?;
    let success = read_nothing(served, origin, change.dn(), kind, controls)?;
    if controls.no_op.is_some() {
        return Err(OperationError::code(ResultCode::NO_OPERATION));
    }
    let mut executed = nothing(directory, origin, kind);
    if context.overlays.wants_request() {
        executed.asked.push(asked);
    }
    Ok((success, executed))
}

/// Sets a password, which is forgotten.
pub(crate) fn set_password(directory: &Directory, origin: &Origin, request: &SetPassword) -> (Success, Executed) {
    let success = Success {
        generated_password: request.generated().map(<[u8]>::to_vec),
        ..Success::default()
    };
    (success, nothing(directory, origin, ChangeKind::Modify))
}

/// No assertion holds of what is not there.
///
/// # Errors
/// `assertionFailed`.
pub(crate) fn refuse_assertion(controls: &RequestControls<'_>) -> Result<(), OperationError> {
    match &controls.assertion {
        Some(_) => Err(OperationError::code(ResultCode::ASSERTION_FAILED)),
        None => Ok(()),
    }
}

/// What each search returns with `dosearch`: the suffix with the attribute of its name, in normal form as slapd has it.
pub(crate) fn entry_of_search(configuration: &Configuration, suffix: &Dn) -> Arc<[Entry]> {
    let schema: &Schema = &configuration.schema;
    let mut entry = Entry::new(suffix.clone());
    let normal = Dn::parse(schema, suffix.normalized()).unwrap_or_default();
    let naming = normal.leaf_assertions(schema).into_iter();
    entry.attributes.extend(naming.map(|(description, value)| Attribute {
        description,
        values: vec![value],
    }));
    entry.attributes.push(Attribute {
        description: configuration.well_known.object_class.clone(),
        values: vec![b"extensibleObject".to_vec()],
    });
    Arc::new([entry])
}

fn nothing(directory: &Directory, origin: &Origin, kind: ChangeKind) -> Executed {
    Executed {
        record: ChangeRecord {
            csn: directory.next_stamp().csn.as_str().into(),
            author: String::from_utf8_lossy(origin.identity.dn.normalized()).into(),
            kind,
            effects: Vec::new(),
        },
        asked: Vec::new(),
        lifts_restriction: false,
    }
}

/// The answers of the pre-read and post-read controls: a name without attributes.
fn read_nothing(
    Served { configuration, context }: &Served,
    origin: &Origin,
    dn: &Dn,
    kind: ChangeKind,
    controls: &RequestControls<'_>,
) -> Result<Success, OperationError> {
    let entry = Entry::new(dn.clone());
    let subject = Subject::of(origin, context);
    let read = |wanted| read_entry::read_in_memory(context, configuration, subject, &entry, wanted);
    let mut success = Success::default();
    if let Some(control) = controls.pre_read.as_ref().filter(|_| kind != ChangeKind::Add) {
        success.pre_read = read((control.critical, control.value.0))?;
    }
    if let Some(control) = controls.post_read.as_ref().filter(|_| kind != ChangeKind::Delete) {
        success.post_read = read((control.critical, control.value.0))?;
    }
    Ok(success)
}
