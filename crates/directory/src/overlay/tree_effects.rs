//! What a change of a tree in memory did to its entries, for followers. The tree knows entries alone, so they are
//! compared: before and after, by `entryUUID`.

use std::collections::BTreeMap;

use ironbark_model::{AttributeDescription, Entry, Schema};
use ironbark_store::{
    ChangeRecord, Effect, RecordedEffect, ValueChange,
    change::{Before, Gone, Marks, RequestedChange, TextAttribute},
};

use crate::{Configuration, NamingContext, WellKnown, overlay::overlays_of, place::uuid_of};

/// The entries of a tree under a schema.
#[derive(Clone, Copy)]
pub(crate) struct TreeState<'a> {
    pub(crate) schema: &'a Schema,
    pub(crate) known: &'a WellKnown,
    pub(crate) entries: &'a [Entry],
}

/// An effect, with the entry as it was before.
pub(crate) struct TreeEffect<'a> {
    pub(crate) recorded: RecordedEffect,
    pub(crate) former: Option<&'a Entry>,
}

impl TreeEffect<'_> {
    /// What the followers of its database want to know of the former entry, for the record.
    pub(crate) fn former(&self, context: &NamingContext, requested: &RequestedChange) -> Option<RequestedChange> {
        let former = self.former?;
        let followers = overlays_of(context).followers.iter();
        let mut attributes: Vec<TextAttribute> = Vec::new();
        for attribute in followers.flat_map(|follower| follower.former(former, &self.recorded, requested)) {
            if !attributes.iter().any(|(name, _)| *name == attribute.0) {
                attributes.push(attribute);
            }
        }
        let dn = self.recorded.effect.dn().into();
        (!attributes.is_empty()).then_some(RequestedChange::Former { dn, attributes })
    }
}

/// The effects between two states: deletes, subordinates first; then all others, superiors first. An entry whose number
/// has changed because another one took its place is marked as internal: whoever makes the other change does the same.
pub(crate) fn between<'a>(before: TreeState<'a>, after: TreeState<'_>) -> Vec<TreeEffect<'a>> {
    let former: BTreeMap<[u8; 16], &Entry> = before.identified().collect();
    let current: BTreeMap<[u8; 16], &Entry> = after.identified().collect();
    let gone = before.identified().filter(|(uuid, _)| !current.contains_key(uuid));
    let mut effects: Vec<TreeEffect<'a>> = gone.map(|(uuid, entry)| before.deleted(uuid, entry)).collect();
    effects.reverse();
    for (uuid, entry) in after.identified() {
        match former.get(&uuid) {
            None => effects.push(after.added(uuid, entry)),
            Some(known) => effects.extend(difference(uuid, (before, known), (after, entry))),
        }
    }
    effects
}

impl<'a> TreeState<'a> {
    /// The state under a configuration.
    pub(crate) fn of(configuration: &'a Configuration, entries: &'a [Entry]) -> Self {
        Self {
            schema: &configuration.schema,
            known: &configuration.well_known,
            entries,
        }
    }

    fn identified(self) -> impl Iterator<Item = ([u8; 16], &'a Entry)> {
        let known = &self.known.entry_uuid;
        self.entries.iter().filter_map(move |entry| {
            let uuid = uuid_of(entry.attribute(known)?.values.first()?)?;
            Some((uuid, entry))
        })
    }

    /// Attributes that the tree holds, but for its context vector.
    fn texts(self, entry: &Entry) -> Vec<TextAttribute> {
        let known = self.known;
        let others = [
            &known.context_csn,
            &known.entry_dn,
            &known.subschema_subentry,
            &known.has_subordinates,
        ];
        let is_held = |description: &AttributeDescription| !others.contains(&description);
        let held = entry.attributes.iter().filter(|held| is_held(&held.description));
        let text = held.map(|held| {
            let name = self.schema.description_text(&held.description);
            (name.into(), held.values.clone())
        });
        text.collect()
    }

    fn deleted(self, entry_uuid: [u8; 16], entry: &'a Entry) -> TreeEffect<'a> {
        let effect = Effect::Delete {
            dn: entry.dn.pretty().into(),
        };
        let gone = Gone::Entry(self.texts(entry));
        TreeEffect {
            recorded: recorded(effect, entry_uuid, gone, false),
            former: Some(entry),
        }
    }

    fn added<'b>(self, entry_uuid: [u8; 16], entry: &Entry) -> TreeEffect<'b> {
        let effect = Effect::Add {
            dn: entry.dn.pretty().into(),
            attributes: self.texts(entry),
        };
        TreeEffect {
            recorded: recorded(effect, entry_uuid, Gone::Unknown, false),
            former: None,
        }
    }
}

fn difference<'a>(
    uuid: [u8; 16],
    (before, known): (TreeState<'a>, &'a Entry),
    (after, entry): (TreeState<'_>, &Entry),
) -> Option<TreeEffect<'a>> {
    let (former, current) = (before.texts(known), after.texts(entry));
    let (rdn, new_rdn) = (rdn_of(known), rdn_of(entry));
    let naming = new_rdn.split('=').next().unwrap_or_default();
    let is_stamped = values(&former, "entryCSN") != values(&current, "entryCSN");
    let mut changes = Vec::new();
    let mut gone = Vec::new();
    let names = current.iter().chain(&former).map(|(name, _)| name);
    let mut seen: Vec<&str> = Vec::new();
    for name in names {
        if seen.contains(&&**name) {
            continue;
        }
        seen.push(name);
        let (old, new) = (values(&former, name), values(&current, name));
        // A change sets all stamps.
        let is_stamp = is_stamped && ["modifiersName", "modifyTimestamp"].contains(&&**name);
        if old == new && !is_stamp {
            continue;
        }
        if name.eq_ignore_ascii_case(naming) {
            // What a rename brings along.
            let (attribute, values) = (name.clone(), old.to_vec());
            gone.push(values.clone());
            changes.push(ValueChange::Delete { attribute, values });
            let (attribute, values) = (name.clone(), new.to_vec());
            gone.push(Vec::new());
            changes.push(ValueChange::Add { attribute, values });
        } else {
            let (attribute, values) = (name.clone(), new.to_vec());
            gone.push(old.to_vec());
            changes.push(ValueChange::Replace { attribute, values });
        }
    }
    let is_own = changes.iter().any(|change| change.attribute() == "entryCSN");
    let effect = if rdn != new_rdn {
        Effect::Rename {
            dn: known.dn.pretty().into(),
            new_dn: entry.dn.pretty().into(),
            changes,
        }
    } else if changes.is_empty() {
        return None;
    } else {
        let dn = entry.dn.pretty().into();
        Effect::Modify { dn, changes }
    };
    Some(TreeEffect {
        recorded: recorded(effect, uuid, Gone::Values(gone), !is_own),
        former: Some(known),
    })
}

fn recorded(effect: Effect, entry_uuid: [u8; 16], gone: Gone, internal: bool) -> RecordedEffect {
    RecordedEffect {
        effect,
        marks: Marks {
            internal,
            silent: false,
        },
        before: Before {
            entry_uuid,
            gone,
            kept: Vec::new(),
        },
    }
}

fn rdn_of(entry: &Entry) -> String {
    entry.dn.leaf().map_or_else(String::new, |rdn| rdn.pretty().to_owned())
}

fn values<'a>(attributes: &'a [TextAttribute], name: &str) -> &'a [Vec<u8>] {
    let found = attributes.iter().find(|(held, _)| **held == *name);
    found.map_or(&[], |(_, values)| values)
}

/// Whether a tree in memory shows the change that this record tells of. No change has been made after it.
pub fn tree_shows(context: &NamingContext, configuration: &Configuration, record: &ChangeRecord) -> bool {
    let Some(tree) = context.backend.tree() else {
        return false;
    };
    let entries = tree.entries(configuration);
    let state = TreeState::of(configuration, &entries);
    let Some(own) = record.effects.iter().find(|recorded| !recorded.marks.internal) else {
        return false;
    };
    let stamp_of = |changes: &[ValueChange]| {
        let change = changes.iter().find(|change| change.attribute() == "entryCSN");
        change.map(|change| change.values().to_vec())
    };
    let (uuid, wanted) = match &own.effect {
        Effect::Add { .. } | Effect::Delete { .. } => (own.before.entry_uuid, None),
        Effect::Modify { changes, .. } | Effect::Rename { changes, .. } => (own.before.entry_uuid, stamp_of(changes)),
    };
    let held = state.identified().find(|(held, _)| *held == uuid);
    match (&own.effect, held) {
        (Effect::Delete { .. }, held) => held.is_none(),
        (_, None) => false,
        (_, Some((_, entry))) => wanted.is_none_or(|wanted| {
            let stamp = entry.attribute(&state.known.entry_csn);
            stamp.is_some_and(|stamp| stamp.values == wanted)
        }),
    }
}
