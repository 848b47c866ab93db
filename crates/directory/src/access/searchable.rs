//! What of entries answers a filter, for a subject that needs a privilege on what answers.
//!
//! Access is asked of the attribute and the value that are stored, whatever was asked for: a filter on `name` is
//! answered by `sn` and by `cn;lang-de` only as far as these may be searched. What may not be is taken as not there.

use ironbark_config::access::Privileges;
use ironbark_model::{
    AttributeDescription,
    filter::{Answering, AnsweringValue, Guard},
};
use ironbark_store::{EntryGuards, Record};

use super::{
    check::{Check, OnAll},
    decisions::SubjectDecisions,
    requester::Requester,
    target::{Source, Target},
};

/// What of one entry answers.
pub(crate) struct Answerable<'a> {
    check: &'a Check<'a>,
    privilege: Privileges,
}

impl<'a> Answerable<'a> {
    /// What the subject of `check` has the privilege on, usually to search.
    pub(crate) fn new(check: &'a Check<'a>, privilege: Privileges) -> Self {
        Self { check, privilege }
    }
}

impl Guard for Answerable<'_> {
    fn may_ask(&self, asked: &AttributeDescription, assertion: Option<&[u8]>) -> bool {
        match self.check.on_all(asked) {
            OnAll::Alike(granted) | OnAll::Here(granted) => granted.contains(self.privilege),
            OnAll::ByValue => {
                let target = match assertion {
                    Some(value) => Target::Asserted(asked, value),
                    None => Target::Attribute(asked, None),
                };
                self.check.permits(target, self.privilege)
            }
        }
    }

    fn asks_by_value(&self, asked: &AttributeDescription) -> bool {
        self.check.on_all(asked) == OnAll::ByValue
    }

    fn answering(&self, stored: &AttributeDescription) -> Answering {
        match self.check.on_all(stored) {
            OnAll::Alike(granted) | OnAll::Here(granted) if granted.contains(self.privilege) => Answering::All,
            OnAll::Alike(_) | OnAll::Here(_) => Answering::None,
            OnAll::ByValue => Answering::Each,
        }
    }

    fn may_answer(&self, stored: &AttributeDescription, value: AnsweringValue<'_>) -> bool {
        let target = match value {
            AnsweringValue::Plain(value) => Target::Attribute(stored, Some(value)),
            AnsweringValue::Normalized(value) => Target::Asserted(stored, value),
        };
        self.check.permits(target, self.privilege)
    }
}

/// What of any entry of a database answers.
pub(crate) struct AnswerableEntries<'a> {
    requester: Requester<'a>,
    standing: Option<&'a SubjectDecisions>,
    privilege: Privileges,
}

impl<'a> AnswerableEntries<'a> {
    /// `None`: everything may answer. `standing` is what is known of the subject, if anything.
    pub(crate) fn new(
        requester: Requester<'a>,
        standing: Option<&'a SubjectDecisions>,
        privilege: Privileges,
    ) -> Option<Self> {
        (!requester.reads_everything()).then_some(Self {
            requester,
            standing,
            privilege,
        })
    }
}

impl EntryGuards for AnswerableEntries<'_> {
    fn tells_values_apart(&self) -> bool {
        self.requester.rules().tells_values_apart
    }

    fn at(&self, record: &Record<'_>, look: &mut dyn FnMut(&dyn Guard)) {
        let source = Source::Record(record, record.view());
        let mut check = Check::of(self.requester, source);
        if let Some(standing) = self.standing {
            check = check.remembered(standing);
        }
        if check.permits(Target::Entry, self.privilege) {
            look(&Answerable::new(&check, self.privilege));
        }
    }
}
