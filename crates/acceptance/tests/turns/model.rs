//! What the database should hold.

use std::collections::{BTreeMap, BTreeSet};

use ironbark_ldif::{LdifReader, NoFiles, RecordKind};

use crate::turns::change::{Change, Why};

/// The descriptions of the entries, by numbers of both.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct Model(pub(crate) BTreeMap<u8, BTreeSet<u8>>);

pub(crate) const BASE: &str = "dc=example,dc=com";

/// The text with a number: of 100 octets or more, so that sets of them are shared when they recur.
pub(crate) fn text_of(value: u8) -> String {
    let letter = char::from(b'a' + value);
    String::from(letter).repeat(100 + 40 * usize::from(value))
}

/// The number of a text that is whole.
fn number_of(text: &[u8]) -> u8 {
    let number = text.first().unwrap().wrapping_sub(b'a');
    assert_eq!(text, text_of(number).as_bytes(), "another value");
    number
}

impl Model {
    /// Makes a change. Otherwise returns the result code of its refusal.
    pub(crate) fn make(&mut self, change: &Change) -> Result<(), u32> {
        let is_there = |entry: &u8| self.0.contains_key(entry);
        match change {
            Change::Add { entry, .. } if is_there(entry) => return Err(68),
            Change::Rename { entry, to } if is_there(entry) && is_there(to) => return Err(68),
            Change::Add { .. } => {}
            // Values are checked before anything is looked up.
            change if change.is_malformed() => return Err(Why::Syntax.code()),
            other if !is_there(&other.entry()) => return Err(32),
            _ => {}
        }
        match change {
            Change::Add { entry, values } | Change::Replace { entry, values } => {
                self.0.insert(*entry, values.clone());
            }
            Change::Insert { entry, value } => {
                let is_new = self.0.entry(*entry).or_default().insert(*value);
                return if is_new { Ok(()) } else { Err(20) };
            }
            Change::Remove { entry, value } => {
                let was_there = self.0.entry(*entry).or_default().remove(value);
                return if was_there { Ok(()) } else { Err(16) };
            }
            Change::Delete { entry } => {
                self.0.remove(entry);
            }
            Change::Rename { entry, to } => {
                let values = self.0.remove(entry).unwrap_or_default();
                self.0.insert(*to, values);
            }
            Change::Refused { why, .. } => return Err(why.code()),
        }
        Ok(())
    }

    /// The states after none of the changes, after the first, and so on. None of them may be refused.
    pub(crate) fn states(&self, changes: &[Change]) -> Vec<Self> {
        let mut states = vec![self.clone()];
        for change in changes {
            let mut next = states.last().unwrap().clone();
            next.make(change).unwrap();
            states.push(next);
        }
        states
    }

    /// Adds an entry that was found.
    pub(crate) fn found(&mut self, name: &str, descriptions: &[Vec<u8>]) {
        if let Some(number) = name.strip_prefix("cn=e") {
            let values: BTreeSet<u8> = descriptions.iter().map(|text| number_of(text)).collect();
            assert_eq!(values.len(), descriptions.len(), "{name}: twice");
            let (number, _) = number.split_once(',').unwrap();
            let former = self.0.insert(number.parse().unwrap(), values);
            assert_eq!(former, None, "{name}: twice");
        }
    }

    /// What LDIF says.
    pub(crate) fn of_ldif(text: &str) -> Self {
        let mut model = Self::default();
        let mut reader = LdifReader::new(text.as_bytes(), NoFiles);
        while let Some(record) = reader.read().unwrap() {
            let RecordKind::Content(attributes) = record.kind else {
                panic!("no entry");
            };
            let descriptions = attributes.into_iter().filter(|(name, _)| name == b"description");
            let descriptions: Vec<_> = descriptions.map(|(_, value)| value).collect();
            model.found(&String::from_utf8(record.dn).unwrap(), &descriptions);
        }
        model
    }
}

impl Why {
    fn code(self) -> u32 {
        match self {
            Self::Missing => 16,
            Self::Syntax => 21,
            Self::Schema => 65,
            Self::Assertion => 122,
        }
    }
}
