//! What the password policy says of an entry that a search has found.

use ironbark_config::access::Privileges;
use ironbark_ldap_proto::controls::{AccountUsability, Control};
use ironbark_model::{Dn, Entry};
use ironbark_runtime::WallTime;

use super::run::SearchRun;
use crate::{
    NamingContext, OperationError,
    access::{Source, Subject, Target, VisibleEntry, WriteCheck},
    overlay::Entries,
};

/// The policy that holds for an entry that names none.
///
/// # Errors
/// The storage failed.
pub(super) fn policy(run: &SearchRun, entry: &VisibleEntry<'_>) -> Result<Option<Dn>, OperationError> {
    let known = &run.configuration.well_known.pwd_policy_subentry;
    match stored(run, entry)? {
        Some((whole, entries)) if whole.attribute(known).is_none() => policy_of(entries, &whole),
        _ => Ok(None),
    }
}

/// The policy that overlays of the database choose for an entry.
///
/// # Errors
/// The storage failed.
pub(crate) fn policy_of(entries: Entries<'_>, entry: &Entry) -> Result<Option<Dn>, OperationError> {
    for overlay in entries.context().overlays().judging_binds() {
        if let Some(name) = overlay.policy_of(entries, entry)? {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

/// The account usability control of an entry, for whom may compare its password.
///
/// # Errors
/// The storage failed.
pub(super) fn usability(
    run: &SearchRun,
    entry: &VisibleEntry<'_>,
    now: WallTime,
) -> Result<Option<Control<AccountUsability>>, OperationError> {
    let Some((whole, entries)) = stored(run, entry)? else {
        return Ok(None);
    };
    let (configuration, context) = (&run.configuration, entries.context());
    let password = Target::Attribute(&configuration.well_known.user_password, None);
    let subject = Subject::of(&run.origin, context);
    if !WriteCheck::on_entry(context, configuration, subject, &whole).permits(password, Privileges::COMPARE) {
        return Ok(None);
    }
    for overlay in context.overlays().judging_binds() {
        if let Some(usability) = overlay.usability(entries, &whole, now)? {
            return Ok(Some(Control::optional(usability)));
        }
    }
    Ok(None)
}

/// The whole entry, if it lies in a database with a policy.
fn stored<'a>(run: &'a SearchRun, entry: &VisibleEntry<'a>) -> Result<Option<(Entry, Entries<'a>)>, OperationError> {
    let judges = |context: &NamingContext| context.overlays().judges_binds();
    let Source::Record(record, view) = entry.source() else {
        return Ok(None);
    };
    if !run.configuration.contexts.iter().any(|context| judges(context)) {
        return Ok(None);
    }
    let dn = view.dn(record.id)?;
    match run.configuration.context_of(&dn).filter(|context| judges(context)) {
        Some(context) => {
            let entries = Entries::new(&run.configuration, context, view);
            Ok(Some((record.to_entry(dn)?, entries)))
        }
        None => Ok(None),
    }
}
