//! Access rules for writes, compares and disclosure of names.

use ironbark_config::access::Privileges;
use ironbark_model::{Budget, Dn, Entry};
use ironbark_store::{Record, View};

use super::{
    check::Check,
    decisions::SubjectDecisions,
    requester::Requester,
    searchable::Answerable,
    target::{Source, Target},
};

/// Access rules applied to one subject and one entry that is about to be written.
pub(crate) struct WriteCheck<'a>(Option<Check<'a>>);

impl<'a> WriteCheck<'a> {
    /// For a stored entry.
    pub(crate) fn on_record(requester: Requester<'a>, record: &'a Record<'a>, view: View<'a>) -> Self {
        Self::new(requester, Source::Record(record, view))
    }

    /// For an entry in memory.
    pub(crate) fn on_entry(requester: Requester<'a>, entry: &'a Entry) -> Self {
        Self::new(requester, Source::Memory(entry))
    }

    fn new(requester: Requester<'a>, source: Source<'a>) -> Self {
        Self((!requester.subject.is_root).then(|| Check::of(requester, source)))
    }

    /// Rules look up other entries in this transaction. A stored entry's own transaction is used by default.
    pub(crate) fn within(self, view: View<'a>) -> Self {
        Self(self.0.map(|check| check.within(view)))
    }

    /// Rules see the entry under this name.
    pub(crate) fn named(self, name: Dn) -> Self {
        Self(self.0.map(|check| check.named(name)))
    }

    /// The parts of the entry that answer to the requester, for a privilege; `None`: everything.
    pub(crate) fn answerable(&self, privilege: Privileges) -> Option<Answerable<'_>> {
        self.0.as_ref().map(|check| Answerable::new(check, privilege))
    }

    /// Whether the existence of a search's base object may be revealed although it may not be searched.
    pub(crate) fn discloses_base(&self) -> bool {
        let check = self.0.as_ref();
        check.is_none_or(|check| check.permits_or_left(Target::Entry, Privileges::DISCLOSE))
    }

    /// The limit on its cost; `None`: no limit.
    pub(crate) fn budget(&self) -> Option<&'a Budget> {
        self.0.as_ref().and_then(Check::budget)
    }

    /// From here on, results of sets that do not depend on the entry are remembered for the subject.
    pub(crate) fn remembered(self, standing: &'a SubjectDecisions) -> Self {
        Self(self.0.map(|check| check.remembered(standing)))
    }

    /// Whether all of `privileges` are granted.
    pub(crate) fn permits(&self, target: Target<'_>, privileges: Privileges) -> bool {
        self.0.as_ref().is_none_or(|check| check.permits(target, privileges))
    }
}
