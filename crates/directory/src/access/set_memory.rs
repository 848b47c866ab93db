//! What sets have said, and what they have found on the way: remembered, so that groups are walked once.
//!
//! A check remembers for its entry and its subject; a standing what does not depend on the entry, until the next commit. Nothing that was found
//! out when the steps had run out is remembered.

use std::{cell::RefCell, rc::Rc};

use ironbark_model::AttributeDescription;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::{Source, check::Check, rules::SetNumber, set::Program};

/// Octets of values that are remembered for one subject.
const MOST_OCTETS: usize = 4 << 20;
/// What a remembered value and list take besides their octets.
const OVERHEAD: usize = 64;

/// What sets say, by their numbers.
#[derive(Debug, Default)]
pub(crate) struct SetAnswers(RefCell<SmallVec<[(SetNumber, bool); 2]>>);

impl SetAnswers {
    fn get(&self, number: SetNumber) -> Option<bool> {
        let answers = self.0.borrow();
        answers
            .iter()
            .find(|(known, _)| *known == number)
            .map(|(_, holds)| *holds)
    }

    fn remember(&self, number: SetNumber, holds: bool) {
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

type Values = Rc<[Vec<u8>]>;

impl Followed {
    /// What is remembered: `Some(None)` of an entry that is not there.
    #[expect(
        clippy::option_option,
        reason = "not knowing is not the same as knowing that there is none"
    )]
    fn get(&self, name: &[u8], attribute: &AttributeDescription) -> Option<Option<Values>> {
        let (_, by_name) = self.by_attribute.iter().find(|(known, _)| known == attribute)?;
        by_name.get(name).cloned()
    }

    fn remember(&mut self, name: &[u8], attribute: &AttributeDescription, values: Option<&[Vec<u8>]>) {
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

impl Check<'_> {
    /// Whether a set into which nothing is filled holds.
    pub(super) fn set_holds(&self, program: &Program, number: SetNumber) -> bool {
        if let Some(holds) = self.sets.get(number) {
            return holds;
        }
        // What a write has in hand may be stored otherwise.
        let is_same_for_all = !program.depends_on_entry() && matches!(self.source, Source::Record(..));
        let own = self.standing.map(|standing| &standing.sets).or(self.subject.sets);
        let shared = own.filter(|_| is_same_for_all);
        if let Some(holds) = shared.and_then(|sets| sets.get(number)) {
            return holds;
        }
        let holds = program.holds(self);
        if !self.cannot_tell() {
            self.sets.remember(number, holds);
            if let Some(sets) = shared {
                sets.remember(number, holds);
            }
        }
        holds
    }

    /// Values of an attribute of the entry of a name: those of stored entries are found once for all entries of a search.
    pub(super) fn followed(
        &self,
        name: &[u8],
        attribute: &AttributeDescription,
        find: impl FnOnce() -> Option<Vec<Vec<u8>>>,
    ) -> Option<Vec<Vec<u8>>> {
        let standing = self.standing.filter(|_| matches!(self.source, Source::Record(..)));
        let Some(standing) = standing else { return find() };
        if let Some(known) = standing.followed.borrow().get(name, attribute) {
            return known.map(|values| values.to_vec());
        }
        let found = find();
        if !self.cannot_tell() {
            standing
                .followed
                .borrow_mut()
                .remember(name, attribute, found.as_deref());
        }
        found
    }
}
