//! Sets, evaluated on one entry and one subject.

use ironbark_model::AttributeDescription;

use super::{check::Check, target::Source};
use crate::rules::{access::SetNumber, set::Program};

impl Check<'_> {
    /// Whether a set without inserted submatches holds.
    pub(super) fn set_holds(&self, program: &Program, number: SetNumber) -> bool {
        if let Some(holds) = self.sets.get(number) {
            return holds;
        }
        // The stored form of an entry that a write holds may differ.
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

    /// Values of an attribute of the named entry. Values of stored entries are looked up once for all entries of a
    /// search.
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
