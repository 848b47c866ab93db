//! What write operations share: names, referrals, time stamps.

use ironbark_config::access::Privileges;
use ironbark_model::{Dn, Entry, ResultCode, Schema};
use ironbark_store::{EntryId, Location, Record, View};

use super::{
    Execution,
    modification::{Modification, ModificationKind},
};
use crate::{
    OperationError,
    access::{Target, WriteCheck},
    referral,
    session::Identity,
};

/// The name of a request's target.
///
/// # Errors
/// `invalidDNSyntax`.
pub(crate) fn parse_dn(schema: &Schema, text: &[u8]) -> Result<Dn, OperationError> {
    Dn::parse(schema, text).map_err(|_| OperationError::new(ResultCode::INVALID_DN_SYNTAX, "invalid DN"))
}

/// Without the `ManageDsaIT` control a write to a referral, or below one, is answered with it (RFC 3296 §5).
///
/// # Errors
/// `referral`.
pub(crate) fn refuse_referral(execution: &Execution<'_, '_>, dn: &Dn) -> Result<(), OperationError> {
    if execution.controls.manage_dsa_it.is_some() {
        return Ok(());
    }
    let view = execution.view();
    let id = match view.locate(dn)? {
        Location::Entry(id)
        | Location::Missing {
            ancestor: Some((id, _)),
        } => id,
        Location::Missing { ancestor: None } => return Ok(()),
    };
    let record = record_of(view, id)?;
    if !record.is_referral() {
        return Ok(());
    }
    let matched = view.dn(id)?;
    let urls = referral::urls_of(execution.configuration, &record, Some((dn, &matched)), None);
    if urls.is_empty() {
        return Err(OperationError::new(ResultCode::OTHER, "bad referral object"));
    }
    Err(OperationError::referral(matched.pretty().to_owned(), urls))
}

/// Who makes a change, as `creatorsName` and `modifiersName` have it.
pub(crate) fn author<'e>(execution: &'e Execution<'_, '_>) -> &'e str {
    author_of(&execution.origin.identity)
}

/// As [`author`], of an identity.
pub(crate) fn author_of(identity: &Identity) -> &str {
    if identity.is_anonymous() {
        "cn=anonymous"
    } else {
        identity.dn.pretty()
    }
}

/// Appends what records a change: `entryCSN`, `modifiersName`, `modifyTimestamp`; none that a manager sets itself, and none with
/// `lastmod off`.
pub(crate) fn add_stamps(execution: &Execution<'_, '_>, modifications: &mut Vec<Modification>) {
    if !execution.context.settings.last_modified {
        return;
    }
    let known = &execution.configuration.well_known;
    let stamps = [
        (&known.entry_csn, execution.stamp.csn.as_str()),
        (&known.modifiers_name, author(execution)),
        (&known.modify_timestamp, execution.stamp.time.as_str()),
    ];
    for (description, value) in stamps {
        let is_set = modifications.iter().any(|modification| {
            modification.description == *description
                && matches!(
                    modification.kind,
                    ModificationKind::Add | ModificationKind::AddIfAbsent | ModificationKind::Replace
                )
        });
        if !is_set {
            modifications.push(Modification::internal(
                execution.schema(),
                ModificationKind::Replace,
                description,
                vec![value.as_bytes().to_vec()],
            ));
        }
    }
}

/// Refuses what the access rules do not grant.
///
/// # Errors
/// `insufficientAccessRights`.
pub(crate) fn require(granted: bool, text: &'static str) -> Result<(), OperationError> {
    if granted {
        Ok(())
    } else {
        Err(OperationError::new(ResultCode::INSUFFICIENT_ACCESS_RIGHTS, text))
    }
}

/// Whether the access rules grant something on the children of the DIT's root, which is no entry.
pub(crate) fn grants_on_root(execution: &Execution<'_, '_>, privileges: Privileges) -> bool {
    let root = Entry::new(Dn::root());
    WriteCheck::on_entry(execution.context, execution.configuration, execution.subject(), &root)
        .within(execution.view())
        .permits(Target::Children, privileges)
}

/// A record of the transaction's current state that is known to be there.
pub(crate) fn record_of(view: View<'_>, id: EntryId) -> Result<Record<'_>, OperationError> {
    view.record(id)?
        .ok_or_else(|| OperationError::new(ResultCode::OTHER, "entry vanished"))
}
