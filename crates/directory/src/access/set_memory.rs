//! Results of sets, and the values found on the way, remembered so that groups are walked only once.
//!
//! A check remembers results for its entry and its subject. A subject's decisions remember results that do not depend
//! on the entry, until the next commit. Results found after the steps had run out are not remembered.

use std::{cell::RefCell, collections::HashMap, rc::Rc};

use ironbark_model::AttributeDescription;
use smallvec::SmallVec;

use crate::rules::access::SetNumber;

/// Octets of values that are remembered for one subject.
const MOST_OCTETS: usize = 4 << 20;
/// Memory for a remembered value and list besides their octets.
const OVERHEAD: usize = 64;

/// Results of sets, by their numbers.
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

/// Values of attributes of other entries, by the entries' names.
#[derive(Debug, Default)]
pub(super) struct Followed {
    by_attribute: Vec<(AttributeDescription, ByName)>,
    octets: usize,
}

/// The values of an entry with this name; `None`: there is no such entry.
type ByName = HashMap<Box<[u8]>, Option<Values>>;

pub(super) type Values = Rc<[Vec<u8>]>;

impl Followed {
    /// The remembered values; `Some(None)` for an entry that does not exist.
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
