//! The attributes and values of entries that may answer a filter, for a subject that needs a privilege on them.
//!
//! Access is checked for the stored attribute and value, not for the requested one: `sn` and `cn;lang-de` answer a
//! filter on `name` only if they may be searched themselves. Values that may not be searched count as missing.

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

/// The parts of one entry that may answer.
pub(crate) struct Answerable<'a> {
    check: &'a Check<'a>,
    privilege: Privileges,
}

impl<'a> Answerable<'a> {
    /// The parts on which the subject of `check` has the privilege, usually search.
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

/// The parts of any entry of a database that may answer.
pub(crate) struct AnswerableEntries<'a> {
    requester: Requester<'a>,
    standing: Option<&'a SubjectDecisions>,
    privilege: Privileges,
}

impl<'a> AnswerableEntries<'a> {
    /// `None`: everything may answer. `standing` has the remembered decisions about the subject, if any.
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
