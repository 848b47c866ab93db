//! The common parts of write operations: names, referrals, timestamps.

use ironbark_config::access::Privileges;
use ironbark_model::{AttributeDescription, CompiledFilter, Dn, Entry, Filter, Schema, Truth, filter::Assertion};
use ironbark_store::{DitScope, EntryId, Record, View};

use crate::{
    OperationError,
    access::{Target, WriteCheck},
    backend::referral,
    overlay::{Execution, Outcome, overlays_of},
    refusal::{Failure, WriteRefusal},
    request::{
        identity::Identity,
        modification::{Modification, ModificationKind},
    },
};

/// The name of a request's target.
///
/// # Errors
/// `invalidDNSyntax`.
pub(crate) fn parse_dn(schema: &Schema, text: &[u8]) -> Result<Dn, WriteRefusal> {
    Dn::parse(schema, text).map_err(|_| WriteRefusal::InvalidDn)
}

/// Without the `ManageDsaIT` control a write to a referral entry is answered with its URIs (RFC 3296 §5).
///
/// # Errors
/// `referral`.
pub(crate) fn refuse_referral(
    execution: &Execution<'_, '_>,
    view: View<'_>,
    record: &Record<'_>,
) -> Result<(), OperationError> {
    if !record.is_referral() || execution.manages_dsa() {
        return Ok(());
    }
    let urls = referral::urls_of(execution.configuration, record);
    Err(OperationError::referral(view.dn(record.id)?.pretty().to_owned(), urls))
}

/// Under relaxed rules a manager may choose an entryUUID, but not the UUID of an entry other than `own`. Without an
/// index on entryUUID, all entries are read.
///
/// # Errors
/// `constraintViolation`.
pub(crate) fn refuse_used_uuid(
    execution: &Execution<'_, '_>,
    modifications: &[Modification],
    own: Option<EntryId>,
) -> Result<(), OperationError> {
    if !execution.is_relaxed() {
        return Ok(());
    }
    // A dump is added as it is; where nobody follows the changes, its UUIDs are not indexed either.
    if execution.origin.identity.is_tool && !execution.context.settings.keeps_changes() {
        return Ok(());
    }
    let known = &execution.configuration.well_known.entry_uuid;
    let brings = |modification: &&Modification| {
        modification.description.attribute_type == known.attribute_type && modification.kind != ModificationKind::Delete
    };
    for value in modifications.iter().filter(brings).flat_map(|change| &change.values) {
        if is_uuid_used(execution.view(), known, value, own)? {
            return Err(WriteRefusal::UsedUuid.into());
        }
    }
    Ok(())
}

fn is_uuid_used(
    view: View<'_>,
    entry_uuid: &AttributeDescription,
    value: &[u8],
    own: Option<EntryId>,
) -> Result<bool, OperationError> {
    let name = view.schema().description_text(entry_uuid);
    let mut filter = CompiledFilter::default();
    let item = Filter::Equality(Assertion {
        attribute: name.as_bytes().into(),
        value: value.into(),
    });
    filter.compile(view.schema(), &item);
    let plan = view.plan(0, DitScope::Subtree, &filter)?;
    let mut candidates = view.candidates(&plan, 0)?;
    let mut scratch = Vec::new();
    while let Some(record) = candidates.next_record()? {
        if Some(record.id) != own && record.evaluate(&filter, &mut scratch) == Truth::True {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The author of a change, as in `creatorsName` and `modifiersName`.
pub(crate) fn author<'e>(execution: &'e Execution<'_, '_>) -> &'e str {
    author_of(&execution.origin.identity)
}

/// As [`author`], for an identity.
pub(crate) fn author_of(identity: &Identity) -> &str {
    if identity.is_anonymous() {
        "cn=anonymous"
    } else {
        identity.dn.pretty()
    }
}

/// Appends the modifications that record a change: `entryCSN`, `modifiersName`, `modifyTimestamp`. Leaves out those
/// that a manager sets, and all of them with `lastmod off`.
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

/// Refuses the operation if the access rules do not grant it.
///
/// # Errors
/// The refusal.
pub(crate) fn require(granted: bool, refusal: impl Into<OperationError>) -> Result<(), OperationError> {
    if granted { Ok(()) } else { Err(refusal.into()) }
}

/// Whether the access rules grant something on the children of the DIT's root, which is no entry.
pub(crate) fn grants_on_root(execution: &Execution<'_, '_>, privileges: Privileges) -> bool {
    let root = Entry::new(Dn::root());
    WriteCheck::on_entry(execution.requester(), &root)
        .within(execution.view())
        .permits(Target::Children, privileges)
}

/// A record that is known to exist in the transaction's current state.
pub(crate) fn record_of(view: View<'_>, id: EntryId) -> Result<Record<'_>, OperationError> {
    view.record(id)?.ok_or_else(|| Failure::EntryVanished.into())
}

/// Asks the overlays that inspect results of writes.
///
/// # Errors
/// One of them refuses it, or the storage failed.
pub(crate) fn check_outcome(execution: &Execution<'_, '_>, outcome: Outcome<'_>) -> Result<(), OperationError> {
    let mut hooks = overlays_of(execution.context).outcomes.iter();
    hooks.try_for_each(|overlay| overlay.before_outcome(execution, &outcome))
}
