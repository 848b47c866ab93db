//! What sets have said, and what they have found on the way: remembered, so that groups are walked once.
//!
//! A check remembers for its entry and its subject; a standing what does not depend on the entry, until the next
//! commit. Nothing that was found out when the steps had run out is remembered.

use std::{cell::RefCell, rc::Rc};

use ironbark_model::AttributeDescription;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::rules::access::SetNumber;

/// Octets of values that are remembered for one subject.
const MOST_OCTETS: usize = 4 << 20;
/// What a remembered value and list take besides their octets.
const OVERHEAD: usize = 64;

/// What sets say, by their numbers.
#[derive(Debug, Default)]
pub(crate) struct SetAnswers(RefCell<SmallVec<[(SetNumber, bool); 2]>>);

impl SetAnswers {
    pub(super) fn get(&self, number: SetNumber) -> Option<bool> {
        let answers = self.0.borrow();
        answers
            .iter()
            .find(|(known, _)| *known == number)
            .map(|(_, holds)| *holds)
    }

    pub(super) fn remember(&self, number: SetNumber, holds: bool) {
        self.0.borrow_mut().push((number, holds));
    }
}

/// Values of attributes of entries, by the names of these.
#[derive(Debug, Default)]
pub(super) struct Followed {
    by_attribute: Vec<(AttributeDescription, ByName)>,
    octets: usize,
}

/// What an entry of a name has, or that there is none.
type ByName = FxHashMap<Box<[u8]>, Option<Values>>;

pub(super) type Values = Rc<[Vec<u8>]>;

impl Followed {
    /// What is remembered: `Some(None)` of an entry that is not there.
    #[expect(
        clippy::option_option,
        reason = "not knowing is not the same as knowing that there is none"
    )]
    pub(super) fn get(&self, name: &[u8], attribute: &AttributeDescription) -> Option<Option<Values>> {
        let (_, by_name) = self.by_attribute.iter().find(|(known, _)| known == attribute)?;
        by_name.get(name).cloned()
    }

    pub(super) fn remember(&mut self, name: &[u8], attribute: &AttributeDescription, values: Option<&[Vec<u8>]>) {
        let held = values.unwrap_or_default();
        let octets = held.iter().map(|value| value.len() + OVERHEAD).sum::<usize>() + name.len() + OVERHEAD;
        if self.octets + octets > MOST_OCTETS {
            return;
        }
        self.octets += octets;
        let place = self.by_attribute.iter().position(|(known, _)| known == attribute);
        let place = place.unwrap_or(self.by_attribute.len());
        if place == self.by_attribute.len() {
            self.by_attribute.push((attribute.clone(), ByName::default()));
        }
        if let Some((_, by_name)) = self.by_attribute.get_mut(place) {
            by_name.insert(name.into(), values.map(Into::into));
        }
    }
}
