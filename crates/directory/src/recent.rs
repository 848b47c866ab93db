//! The recent changes of an entry, as a provider sends them with the entry to a consumer that merges values
//! (docs/internals/replica.md). A whole entry does not tell which of its values are newer than a change that the
//! consumer has, or that comes later.

use ironbark_store::{ChangeRecord, ContextVector, Csn, Effect, RecordedEffect, change::RequestedChange};

use crate::place::{self, LOGGED_PLACE, LOGGED_REVISION};

/// Attribute with the recent changes of an entry. Only who asks for it by this name, and gets every entry with all
/// values, is told them. The first value is what the provider has of the entry, as a context vector; the others are
/// changes in the order of its log.
pub const RECENT: &str = "ironbarkRecentChanges";

/// The first value of the attribute.
pub(crate) fn first_value(vector: &ContextVector) -> Vec<u8> {
    let csns: Vec<String> = vector.iter().map(Csn::text).collect();
    csns.join(" ").into_bytes()
}

/// The value for the change that is the effect of this number: a record with its request, and an effect with nothing
/// but names. `None`: no change is told by itself.
pub(crate) fn value(record: &ChangeRecord, number: usize) -> Option<Vec<u8>> {
    let (recorded, csn) = record.stamped_effects().nth(number)?;
    let is_add = matches!(recorded.effect, Effect::Add { .. });
    let csn = match place::base_in(recorded) {
        Some(base) if is_add => base.added?,
        // Others have made what came with an entry as a whole.
        Some(_) => return None,
        None => csn,
    };
    let name = || match &recorded.effect {
        Effect::Rename { new_dn, .. } => new_dn.clone(),
        other => record.made_anew(number).unwrap_or_else(|| other.dn()).into(),
    };
    let revised = place::revision_with_name(recorded).map(|(_, name)| name.into());
    let (effect, requested) = match request_behind(record, number) {
        _ if revised.is_some() => (nothing_of(revised?), Vec::new()),
        Some(RequestedChange::Add { dn, .. }) => {
            let attributes = Vec::new();
            (Effect::Add { dn, attributes }, Vec::new())
        }
        Some(request @ RequestedChange::Modify { .. }) => (nothing_of(name()), vec![request]),
        Some(request @ RequestedChange::ModifyDn { delete_old_rdn, .. }) => {
            let (dn, new_dn) = (recorded.effect.dn().into(), name());
            let further = RequestedChange::Modify {
                dn: new_dn.clone(),
                modifications: record.changed_with_rename(number, !delete_old_rdn),
            };
            let changes = Vec::new();
            (Effect::Rename { dn, new_dn, changes }, vec![request, further])
        }
        _ => return None,
    };
    let kept = recorded.before.kept.iter();
    let kept = kept.filter(|(name, _)| [LOGGED_PLACE, LOGGED_REVISION].contains(&&**name));
    let mut told = RecordedEffect::from(effect);
    told.before.entry_uuid = place::entry_in(recorded)?;
    told.before.kept = kept.cloned().collect();
    let told = ChangeRecord {
        csn,
        effects: vec![told],
        requested,
        ..ChangeRecord::default()
    };
    Some(told.encode())
}

fn nothing_of(dn: Box<str>) -> Effect {
    let changes = Vec::new();
    Effect::Modify { dn, changes }
}

/// The request behind an effect, as the access log has it.
fn request_behind(record: &ChangeRecord, number: usize) -> Option<RequestedChange> {
    let recorded = record.effects.get(number)?;
    let request = if record.requested.is_empty() {
        None
    } else {
        Some(place::request_of(record, number)?)
    };
    Some(match request {
        None | Some(RequestedChange::AsApplied(_)) => recorded.effect.as_request(),
        Some(request) => request.clone(),
    })
}
