//! What a change does to the accounts of its entries.

use std::collections::HashMap;

use ironbark_store::{
    ChangeRecord, Effect, RecordedEffect, ValueChange,
    change::{Gone, TextAttribute},
};

use super::{path::Home, settings::HomedirConfig};

/// The attributes of an account, as the schema prints them: homeDirectory, uidNumber, gidNumber.
pub(super) type Names = [Box<str>; 3];

/// The account of an entry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Account {
    pub(super) home: Home,
    pub(super) uid: u32,
    pub(super) gid: u32,
}

/// What is to be done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Task {
    Create(Account),
    Change { from: Account, to: Account },
    Remove(Account),
}

/// The values of the three attributes.
type Values = [Option<Vec<u8>>; 3];

/// The tasks that a change leads to, in their order. A value that names no place is told, and counts as none.
pub(super) fn tasks(record: &ChangeRecord, names: &Names, config: &HomedirConfig) -> Vec<Task> {
    let anew = Anew::of(record);
    let effects = record.effects.iter().enumerate();
    let changes = effects.filter_map(|(number, recorded)| states(&anew, number, recorded, names));
    changes
        .filter_map(|(before, after)| task(&before, &after, config))
        .collect()
}

/// A provider may make an entry anew: it is deleted, and added again in the same change.
struct Anew<'r> {
    /// Where each UUID is added last.
    added: HashMap<[u8; 16], usize>,
    /// Where it is deleted first, and the entry.
    deleted: HashMap<[u8; 16], (usize, &'r [TextAttribute])>,
}

impl<'r> Anew<'r> {
    fn of(record: &'r ChangeRecord) -> Self {
        let mut anew = Self {
            added: HashMap::new(),
            deleted: HashMap::new(),
        };
        for (number, recorded) in record.effects.iter().enumerate() {
            let uuid = recorded.before.entry_uuid;
            match (&recorded.effect, &recorded.before.gone) {
                _ if uuid == [0; 16] => {}
                (Effect::Add { .. }, _) => {
                    anew.added.insert(uuid, number);
                }
                (Effect::Delete { .. }, Gone::Entry(attributes)) => {
                    anew.deleted.entry(uuid).or_insert((number, attributes));
                }
                _ => {}
            }
        }
        anew
    }

    /// What an entry was that is added by this effect.
    fn former(&self, uuid: &[u8; 16], number: usize) -> Option<&'r [TextAttribute]> {
        let (deleted, attributes) = self.deleted.get(uuid)?;
        (*deleted < number).then_some(*attributes)
    }

    /// Whether an entry that is deleted by this effect comes again.
    fn comes_again(&self, uuid: &[u8; 16], number: usize) -> bool {
        self.added.get(uuid).is_some_and(|added| *added > number)
    }
}

/// As in slapd: without a valid account, the directory is only removed if none of the attributes is left.
fn task(before: &Values, after: &Values, config: &HomedirConfig) -> Option<Task> {
    if before == after {
        return None;
    }
    match (account(before, config), account(after, config)) {
        (None, Some(to)) => Some(Task::Create(to)),
        (Some(from), Some(to)) => (from != to).then_some(Task::Change { from, to }),
        (Some(from), None) => after.iter().all(Option::is_none).then_some(Task::Remove(from)),
        (None, None) => None,
    }
}

/// The values before and after an effect; `None`: it does not touch them.
fn states(anew: &Anew<'_>, number: usize, recorded: &RecordedEffect, names: &Names) -> Option<(Values, Values)> {
    let RecordedEffect { effect, before, .. } = recorded;
    match (effect, &before.gone) {
        (Effect::Add { attributes, .. }, _) => {
            let former = anew.former(&before.entry_uuid, number);
            let former = former.map(|attributes| of(attributes, names)).unwrap_or_default();
            Some((former, of(attributes, names)))
        }
        (Effect::Delete { .. }, Gone::Entry(attributes)) => {
            let comes_again = anew.comes_again(&before.entry_uuid, number);
            (!comes_again).then(|| (of(attributes, names), Values::default()))
        }
        (Effect::Modify { changes, .. } | Effect::Rename { changes, .. }, Gone::Values(gone)) => {
            let (mut former, mut after) = (Values::default(), of(&before.kept, names));
            for ((former, after), name) in former.iter_mut().zip(&mut after).zip(names) {
                let is_of = |change: &ValueChange| change.attribute().eq_ignore_ascii_case(name);
                let mut touched = changes.iter().zip(gone).filter(|(change, _)| is_of(change));
                let Some((first, gone)) = touched.next() else {
                    former.clone_from(after);
                    continue;
                };
                *former = gone.first().cloned();
                let (last, _) = touched.next_back().unwrap_or((first, gone));
                // Not every change by an overlay comes with the attributes that it leaves.
                if after.is_none() && !matches!(last, ValueChange::Delete { .. }) {
                    *after = last.values().first().cloned();
                }
            }
            Some((former, after))
        }
        _ => None,
    }
}

/// Whether changes touch one of the attributes.
pub(super) fn are_touched(changes: &[ValueChange], names: &Names) -> bool {
    let mut touched = changes.iter().map(ValueChange::attribute);
    touched.any(|touched| names.iter().any(|name| name.eq_ignore_ascii_case(touched)))
}

fn of(attributes: &[TextAttribute], names: &Names) -> Values {
    let value = |wanted: &str| {
        let found = attributes.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted));
        found.and_then(|(_, values)| values.first().cloned())
    };
    let [home, uid, gid] = names;
    [value(home), value(uid), value(gid)]
}

/// The account, if it is one that may be touched.
fn account([home, uid, gid]: &Values, config: &HomedirConfig) -> Option<Account> {
    let (home, uid, gid) = (home.as_ref()?, number(uid.as_ref()?)?, number(gid.as_ref()?)?);
    if uid < config.min_uid {
        return None;
    }
    match config.rules.iter().find_map(|rule| rule.home(home))? {
        Ok(home) => Some(Account { home, uid, gid }),
        Err(why) => {
            let home = String::from_utf8_lossy(home);
            tracing::warn!(target: "any", "homedir: homeDirectory {home:?} is passed over: {why}");
            None
        }
    }
}

/// An ID. The highest number stands for none in system calls.
fn number(value: &[u8]) -> Option<u32> {
    let number: u32 = std::str::from_utf8(value).ok()?.parse().ok()?;
    (number != u32::MAX).then_some(number)
}

#[cfg(test)]
mod tests;
