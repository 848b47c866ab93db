//! Access control: the one seam between stored entries and clients.
//!
//! Rules are compiled once (`rules.rs`) and evaluated by [`Check`], one for an entry and a subject; searches remember decisions
//! (`decisions.rs`).
//!
//! Invariant: [`visible`] is the only constructor of [`VisibleEntry`], and only a `VisibleEntry` can be encoded to a client.

mod appraise;
mod check;
mod decisions;
mod lookup;
mod name;
mod operations;
mod rules;
mod searchable;
mod set;
mod set_memory;
mod subject;
mod who;

use std::rc::Rc;

use ironbark_config::access::Privileges;
use ironbark_model::{AttributeDescription, Budget, Dn, Entry};
use ironbark_store::{Record, View};

use self::check::OnAll;
pub use self::{
    appraise::{Appraisal, Asker, Granted},
    subject::Subject,
};
pub(crate) use self::{
    check::Check,
    decisions::{Kind, Standing, Standings},
    lookup::Lookup,
    name::EntryPlace,
    operations::OperationRules,
    rules::Rules,
    searchable::{Answerable, AnswerableEntries},
    set::fuzz as fuzz_set,
    set_memory::SetAnswers,
    subject::RequestKind,
};
use crate::{Configuration, Context};

/// An entry of which the subject may know, and of which it may see what [`VisibleEntry::may_read`] grants.
pub struct VisibleEntry<'a> {
    source: Source<'a>,
    dn: &'a str,
    /// `None`: everything is readable.
    check: Option<&'a Check<'a>>,
}

/// Which values of an attribute are readable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Readable {
    /// All or none, in all entries of the kind.
    Alike(bool),
    /// All or none, in this entry.
    Here(bool),
    /// Each has to be asked about.
    ByValue,
}

/// Where the entry is.
#[derive(Clone, Copy)]
pub(crate) enum Source<'a> {
    Record(&'a Record<'a>, View<'a>),
    Memory(&'a Entry),
}

/// What access is asked to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target<'a> {
    /// The `entry` pseudo-attribute.
    Entry,
    /// The `children` pseudo-attribute.
    Children,
    /// An attribute, or one value of it.
    Attribute(&'a AttributeDescription, Option<&'a [u8]>),
    /// An attribute and what its equality rule makes of a value that a filter asserts.
    Asserted(&'a AttributeDescription, &'a [u8]),
}

impl<'a> Target<'a> {
    fn value(self) -> check::Value<'a> {
        match self {
            Self::Attribute(description, Some(value)) => check::Value::Plain(description, value),
            Self::Asserted(description, value) => check::Value::Normalized(description, value),
            Self::Entry | Self::Children | Self::Attribute(_, None) => check::Value::None,
        }
    }
}

impl<'a> VisibleEntry<'a> {
    pub(crate) fn source(&self) -> Source<'a> {
        self.source
    }

    /// The name, pretty form.
    pub fn dn(&self) -> &'a str {
        self.dn
    }

    /// Whether every value of every attribute is readable.
    pub(crate) fn is_unrestricted(&self) -> bool {
        self.check.is_none()
    }

    /// Whether an attribute (with `None`: as a whole), or one value of it, is readable.
    pub(crate) fn may_read(&self, attribute: &AttributeDescription, value: Option<&[u8]>) -> bool {
        self.check
            .is_none_or(|check| check.permits(Target::Attribute(attribute, value), Privileges::READ))
    }

    /// Which values of an attribute are readable.
    pub(crate) fn readable(&self, attribute: &AttributeDescription) -> Readable {
        match self.check.map(|check| check.on_all(attribute)) {
            None => Readable::Alike(true),
            Some(OnAll::Alike(granted)) => Readable::Alike(granted.contains(Privileges::READ)),
            Some(OnAll::Here(granted)) => Readable::Here(granted.contains(Privileges::READ)),
            Some(OnAll::ByValue) => Readable::ByValue,
        }
    }

    /// What is known about entries like this.
    pub(crate) fn kind(&self) -> Option<&Kind> {
        self.check?.kind()
    }
}

/// Who looks at an entry: the rules for it, or `None` if it may read everything there.
pub(crate) fn check<'a>(
    configuration: &'a Configuration,
    context: &'a Context,
    subject: Subject<'a>,
    source: Source<'a>,
) -> Option<Check<'a>> {
    let rules = configuration.rules_of(context);
    (!subject.is_root && !rules.is_empty()).then(|| Check::new(configuration, rules, subject, source))
}

/// The same for a subject whose standing is known, and a stored entry whose place is.
pub(crate) fn check_remembered<'a>(
    configuration: &'a Configuration,
    context: &'a Context,
    subject: Subject<'a>,
    (source, place): (Source<'a>, EntryPlace<'a>),
    standing: Option<&'a Rc<Standing>>,
) -> Option<Check<'a>> {
    let standing = standing?;
    check(configuration, context, subject, source).map(|check| check.placed(place).remembered(standing))
}

/// An entry, if its `entry` pseudo-attribute may be read.
pub(crate) fn visible<'a>(check: Option<&'a Check<'a>>, source: Source<'a>, dn: &'a str) -> Option<VisibleEntry<'a>> {
    check
        .is_none_or(|check| check.permits(Target::Entry, Privileges::READ))
        .then_some(VisibleEntry { source, dn, check })
}

/// Whether a subject may read everything in a naming context: the rootdn, or nobody wrote a rule.
pub(crate) fn reads_everything(context: &Context, configuration: &Configuration, subject: Subject<'_>) -> bool {
    subject.is_root || configuration.rules_of(context).is_empty()
}

/// Access rules applied to one subject and one entry that is about to be written.
pub(crate) struct WriteCheck<'a>(Option<Check<'a>>);

impl<'a> WriteCheck<'a> {
    /// For a stored entry.
    pub(crate) fn on_record(
        context: &'a Context,
        configuration: &'a Configuration,
        subject: Subject<'a>,
        record: &'a Record<'a>,
        view: View<'a>,
    ) -> Self {
        Self::new(context, configuration, subject, Source::Record(record, view))
    }

    /// For an entry in memory.
    pub(crate) fn on_entry(
        context: &'a Context,
        configuration: &'a Configuration,
        subject: Subject<'a>,
        entry: &'a Entry,
    ) -> Self {
        Self::new(context, configuration, subject, Source::Memory(entry))
    }

    fn new(context: &'a Context, configuration: &'a Configuration, subject: Subject<'a>, source: Source<'a>) -> Self {
        let rules = configuration.rules_of(context);
        Self((!subject.is_root).then(|| Check::new(configuration, rules, subject, source)))
    }

    /// Rules look other entries up in this transaction. That of a stored entry is its own.
    pub(crate) fn within(self, view: View<'a>) -> Self {
        Self(self.0.map(|check| check.within(view)))
    }

    /// Rules see the entry under this name.
    pub(crate) fn named(self, name: Dn) -> Self {
        Self(self.0.map(|check| check.named(name)))
    }

    /// What of the entry answers to who asks, for a privilege; `None`: everything.
    pub(crate) fn answerable(&self, privilege: Privileges) -> Option<Answerable<'_>> {
        self.0.as_ref().map(|check| Answerable::new(check, privilege))
    }

    /// Whether the base object of a search may be told of although it may not be searched.
    pub(crate) fn discloses_base(&self) -> bool {
        let check = self.0.as_ref();
        check.is_none_or(|check| check.permits_or_left(Target::Entry, Privileges::DISCLOSE))
    }

    /// What it may cost; `None`: whatever it costs.
    pub(crate) fn budget(&self) -> Option<&'a Budget> {
        self.0.as_ref().and_then(Check::budget)
    }

    /// From here on what sets say of the subject whatever the entry is remembered.
    pub(crate) fn remembered(self, standing: &'a Standing) -> Self {
        Self(self.0.map(|check| check.remembered(standing)))
    }

    /// Whether all of `privileges` are granted.
    pub(crate) fn permits(&self, target: Target<'_>, privileges: Privileges) -> bool {
        self.0.as_ref().is_none_or(|check| check.permits(target, privileges))
    }
}
