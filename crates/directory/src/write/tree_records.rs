//! What followers of a tree in memory are told of changes that were made elsewhere, by a provider or by another server
//! of the cluster: a record for each entry that has changed.

use ironbark_model::Entry;
use ironbark_store::{ChangeRecord, Csn, Effect, RecordedEffect, change::RequestedChange};

use crate::{
    TreeChange,
    backend::{queue::Served, tree_replica::TreeLogged},
    overlay::tree_effects::{self, TreeEffect, TreeState},
    place::uuid_text,
};

/// A change that is about to be in force.
pub(crate) struct Told<'a> {
    pub(crate) served: &'a Served,
    /// CSNs that the context vector takes in with it.
    pub(crate) cookie: &'a [Csn],
    /// ID of the server that sent it; 0: not known.
    pub(crate) via: u16,
    /// The changes of a log that it is made of.
    pub(crate) logged: &'a [TreeLogged],
}

impl Told<'_> {
    /// The records of all entries that change, made of the record of the whole. The last one has the cookie: before it
    /// the followers have not heard of all.
    pub(crate) fn records(&self, before: &[Entry], after: TreeState<'_>, whole: &ChangeRecord) -> Vec<ChangeRecord> {
        let before = TreeState::of(&self.served.configuration, before);
        let effects = tree_effects::between(before, after);
        let own = effects.iter().filter(|effect| !effect.recorded.marks.internal);
        let mut records: Vec<ChangeRecord> = own.map(|effect| self.record(effect, whole)).collect();
        match records.last_mut() {
            Some(last) => last.cookie = self.cookie.to_vec(),
            None => records.push(self.cookie_alone(whole)),
        }
        records
    }

    /// The record of a cookie that came without a change.
    pub(crate) fn cookie_alone(&self, whole: &ChangeRecord) -> ChangeRecord {
        ChangeRecord {
            csn: self.newest().unwrap_or(whole.csn),
            via: self.via(),
            cookie: self.cookie.to_vec(),
            ..whole.clone()
        }
    }

    fn via(&self) -> u16 {
        match self.via {
            0 => ChangeRecord::UNKNOWN_PEER,
            via => via,
        }
    }

    fn newest(&self) -> Option<Csn> {
        self.cookie.iter().max().copied()
    }

    /// The record of one effect, made of that of the whole change.
    fn record(&self, effect: &TreeEffect<'_>, whole: &ChangeRecord) -> ChangeRecord {
        let requested = RequestedChange::AsApplied(0);
        let former = effect.former(&self.served.context, &requested);
        ChangeRecord {
            csn: self.csn_of(&effect.recorded).or(self.newest()).unwrap_or(whole.csn),
            via: self.via(),
            effects: vec![effect.recorded.clone()],
            requested: [requested].into_iter().chain(former).collect(),
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
