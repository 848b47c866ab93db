//! An entry as it was before a change, from what the log keeps of it.

use std::collections::HashSet;

use ironbark_model::{AttributeDescription, Dn, Entry, Schema};
use ironbark_store::{
    Csn, Effect, RecordedEffect, ValueChange,
    change::{Gone, TextAttribute},
};

/// The entry before an effect. `after`: the entry as the effect left it, if it is still there. `None`: the log does not
/// tell.
pub(super) fn former(schema: &Schema, recorded: &RecordedEffect, after: Option<Entry>) -> Option<Entry> {
    let dn = Dn::parse(schema, recorded.effect.dn().as_bytes()).ok()?;
    match (&recorded.effect, &recorded.before.gone) {
        (Effect::Delete { .. }, Gone::Entry(attributes)) => whole(schema, dn, attributes),
        (Effect::Modify { changes, .. } | Effect::Rename { changes, .. }, Gone::Values(gone)) => {
            let mut entry = after?;
            entry.dn = dn;
            for (change, gone) in changes.iter().zip(gone).rev() {
                undo(schema, &mut entry, change, gone)?;
            }
            Some(entry)
        }
        _ => None,
    }
}

/// The CSN of an entry behind an effect of a change with this CSN: a revision has another one.
pub(super) fn csn_after(recorded: &RecordedEffect, csn: Csn) -> Csn {
    let (Effect::Modify { changes, .. } | Effect::Rename { changes, .. }) = &recorded.effect else {
        return csn;
    };
    let mut changes = changes.iter().rev();
    let found = changes.find(|change| change.attribute().eq_ignore_ascii_case("entryCSN"));
    found
        .and_then(|change| Csn::parse(change.values().first()?))
        .unwrap_or(csn)
}

fn whole(schema: &Schema, dn: Dn, attributes: &[TextAttribute]) -> Option<Entry> {
    let mut entry = Entry::new(dn);
    for (name, values) in attributes {
        let description = schema.attribute_description(name.as_bytes()).ok()?;
        entry.set_values(&description, values.clone());
    }
    Some(entry)
}

fn undo(schema: &Schema, entry: &mut Entry, change: &ValueChange, gone: &[Vec<u8>]) -> Option<()> {
    let description = schema.attribute_description(change.attribute().as_bytes()).ok()?;
    let mut values = held(entry, &description);
    match change {
        ValueChange::Add { values: added, .. } => {
            let added: HashSet<&Vec<u8>> = added.iter().collect();
            values.retain(|value| !added.contains(value));
        }
        ValueChange::Delete { .. } => values.extend_from_slice(gone),
        ValueChange::Replace { .. } => values = gone.to_vec(),
    }
    entry.set_values(&description, values);
    Some(())
}

fn held(entry: &Entry, description: &AttributeDescription) -> Vec<Vec<u8>> {
    entry
        .attribute(description)
        .map(|attribute| attribute.values.clone())
        .unwrap_or_default()
}
