//! What followers of a tree in memory are told of a provider's changes: a record for each entry that has changed.

use std::sync::Arc;

use ironbark_model::Entry;
use ironbark_store::{ChangeRecord, Csn, Effect, RecordedEffect, change::RequestedChange};

use super::tree::ReplicatedTree;
use crate::{
    Directory, TreeChange,
    backend::{queue::Served, tree_replica::TreeLogged},
    overlay::tree_effects::{self, TreeEffect, TreeState},
    place::uuid_text,
    write::followers,
};

/// A change that is in force.
pub(super) struct Told<'a> {
    pub(super) directory: &'a Arc<Directory>,
    pub(super) served: &'a Served,
    pub(super) change: &'a ReplicatedTree,
    pub(super) logged: &'a [TreeLogged],
}

/// Tells the followers of all entries that have changed but the last one, and returns the record of that one. It has
/// the cookie: before it the followers have not heard of all.
pub(super) fn tell(told: &Told<'_>, before: &[Entry], record: ChangeRecord) -> ChangeRecord {
    let last = ChangeRecord {
        csn: told.newest().unwrap_or(record.csn),
        via: match told.change.via {
            0 => ChangeRecord::UNKNOWN_PEER,
            via => via,
        },
        cookie: told.change.cookie.clone(),
        ..record
    };
    if !told.served.context.is_followed() {
        return last;
    }
    let (directory, context) = (told.directory, &told.served.context);
    let configuration = directory.configuration();
    let Some(tree) = context.backend.tree() else {
        return last;
    };
    let entries = tree.entries(&configuration);
    let before = TreeState {
        configuration: &told.served.configuration,
        entries: before,
    };
    let after = TreeState {
        configuration: &configuration,
        entries: &entries,
    };
    let effects = tree_effects::between(before, after);
    let own = effects.iter().filter(|effect| !effect.recorded.marks.internal);
    let mut records: Vec<ChangeRecord> = own.map(|effect| told.record(effect, &last)).collect();
    let Some(end) = records.pop() else { return last };
    for record in &records {
        followers::tell(directory, context, record);
    }
    ChangeRecord {
        cookie: last.cookie,
        ..end
    }
}

impl Told<'_> {
    fn newest(&self) -> Option<Csn> {
        self.change.cookie.iter().max().copied()
    }

    /// The record of one effect, made of that of the whole change.
    fn record(&self, effect: &TreeEffect<'_>, whole: &ChangeRecord) -> ChangeRecord {
        let mut requested = vec![RequestedChange::AsApplied(0)];
        let followers = self.served.context.overlays().followers.iter();
        let attributes = effect.former(followers.map(|follower| &**follower));
        if !attributes.is_empty() {
            let dn = effect.recorded.effect.dn().into();
            requested.push(RequestedChange::Former { dn, attributes });
        }
        ChangeRecord {
            csn: self.csn_of(&effect.recorded).unwrap_or(whole.csn),
            cookie: Vec::new(),
            effects: vec![effect.recorded.clone()],
            requested,
            ..whole.clone()
        }
    }

    /// The CSN of an effect: that of the entry; of a delete what the log says.
    fn csn_of(&self, recorded: &RecordedEffect) -> Option<Csn> {
        let value = match &recorded.effect {
            Effect::Add { attributes, .. } => {
                let (_, values) = attributes.iter().find(|(name, _)| **name == *"entryCSN")?;
                values.first()
            }
            Effect::Modify { changes, .. } | Effect::Rename { changes, .. } => {
                let change = changes.iter().find(|change| change.attribute() == "entryCSN")?;
                change.values().first()
            }
            Effect::Delete { dn } => {
                let uuid = uuid_text(recorded.before.entry_uuid);
                let is_it = |change: &&TreeLogged| match &change.change {
                    TreeChange::Delete { dn: name } => change
                        .uuid
                        .as_ref()
                        .map_or(name.pretty() == &**dn, |known| *known == uuid),
                    _ => false,
                };
                return self.logged.iter().find(is_it).map(|change| change.csn);
            }
        };
        Csn::parse(value?)
    }
}
