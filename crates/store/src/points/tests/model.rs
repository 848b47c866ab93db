//! What a database should hold, and steps as one line of text each.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    Database, Effect, ValueChange, View,
    common::{attributes, dn},
};

/// Values of an entry by the option of `description`; option 0 is none.
type Values = BTreeMap<u8, BTreeSet<u8>>;

/// Entries by their numbers.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(super) struct Model(BTreeMap<u8, Values>);

/// A change of one entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Step {
    pub(super) act: Act,
    pub(super) entry: u8,
    pub(super) option: u8,
    pub(super) value: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Act {
    Add,
    Set,
    More,
    Less,
    Delete,
}

const ACTS: [(Act, &str); 5] = [
    (Act::Add, "add"),
    (Act::Set, "set"),
    (Act::More, "more"),
    (Act::Less, "less"),
    (Act::Delete, "delete"),
];

impl std::fmt::Display for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (_, act) = ACTS.iter().find(|(act, _)| *act == self.act).unwrap();
        write!(f, "{act}:{}:{}:{}", self.entry, self.option, self.value)
    }
}

impl Step {
    pub(super) fn parse(text: &str) -> Self {
        let parts: Vec<_> = text.split(':').collect();
        let number = |place: usize| parts[place].parse().unwrap();
        Self {
            act: ACTS.iter().find(|(_, act)| *act == parts[0]).unwrap().0,
            entry: number(1),
            option: number(2),
            value: number(3),
        }
    }

    pub(super) fn effect(self) -> Effect {
        let name = format!("cn=e{},dc=example,dc=com", self.entry);
        let attribute: Box<str> = description(self.option).into();
        let values = vec![content(self.value)];
        let change = match self.act {
            Act::Add => {
                let mut all = attributes(&[("objectClass", "device"), ("cn", &format!("e{}", self.entry))]);
                all.push((attribute, values));
                return Effect::Add {
                    dn: name.into(),
                    attributes: all,
                };
            }
            Act::Delete => return Effect::Delete { dn: name.into() },
            Act::Set => ValueChange::Replace { attribute, values },
            Act::More => ValueChange::Add { attribute, values },
            Act::Less => ValueChange::Delete { attribute, values },
        };
        Effect::Modify {
            dn: name.into(),
            changes: vec![change],
        }
    }
}

fn description(option: u8) -> String {
    match option {
        0 => "description".to_owned(),
        number => format!("description;lang-x{number}"),
    }
}

/// From 100 octets on, so that a set of values is shared from the second, third or fourth time on.
fn content(value: u8) -> Vec<u8> {
    vec![b'a' + value; 100 + 40 * usize::from(value)]
}

impl Model {
    /// `false`: the store must refuse the step.
    pub(super) fn apply(&mut self, step: Step) -> bool {
        let Step { option, value, .. } = step;
        if step.act == Act::Add {
            let values = Values::from([(option, BTreeSet::from([value]))]);
            let is_new = !self.0.contains_key(&step.entry);
            self.0.entry(step.entry).or_insert(values);
            return is_new;
        }
        let Some(entry) = self.0.get_mut(&step.entry) else {
            return false;
        };
        match step.act {
            Act::Delete => self.0.remove(&step.entry).is_some(),
            Act::Set => {
                entry.insert(option, BTreeSet::from([value]));
                true
            }
            Act::More => {
                entry.entry(option).or_default().insert(value);
                true
            }
            Act::Less => {
                let was_there = entry.get_mut(&option).is_some_and(|values| values.remove(&value));
                entry.retain(|_, values| !values.is_empty());
                was_there
            }
            Act::Add => false,
        }
    }

    /// Whether an entry has a value.
    pub(super) fn has(&self, step: Step) -> bool {
        let values = self.0.get(&step.entry).and_then(|entry| entry.get(&step.option));
        values.is_some_and(|values| values.contains(&step.value))
    }

    /// What a database shows.
    pub(super) fn shown(view: View<'_>) -> Self {
        let mut model = Self::default();
        let base = dn("dc=example,dc=com");
        for record in view.entries(0).unwrap() {
            let record = record.unwrap();
            record.verify().unwrap();
            let Some(number) = record.rdn().strip_prefix("cn=e") else {
                continue;
            };
            let entry = model.0.entry(number.parse().unwrap()).or_default();
            for attribute in record.to_entry(base.clone()).unwrap().attributes {
                let name = view.schema().description_text(&attribute.description);
                let option = match name.split_once(";lang-x") {
                    Some((_, option)) => option.parse().unwrap(),
                    None if name == "description" => 0,
                    None => continue,
                };
                for value in attribute.values {
                    let number = value[0].wrapping_sub(b'a');
                    assert_eq!(value, content(number), "{number} of {}", record.rdn());
                    assert!(entry.entry(option).or_default().insert(number), "twice");
                }
            }
        }
        model
    }
}

/// What the newest snapshot shows, and the number of shared sets. What is known of numbers is what the file has.
pub(super) fn read(database: &Database) -> (Model, usize) {
    let snapshot = database.snapshot().unwrap();
    let tables = &database.ground.tables;
    let sets = snapshot.numbering.sets.count();
    assert_eq!(sets as u64, tables.sets.len(&snapshot.txn).unwrap());
    let attributes = snapshot.numbering.catalog.texts().len();
    assert_eq!(attributes as u64, tables.attributes.len(&snapshot.txn).unwrap());
    (Model::shown(snapshot.view()), sets)
}
