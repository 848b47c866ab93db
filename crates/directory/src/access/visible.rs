//! Entries that a subject may see, and the parts of them that it may read.

use std::rc::Rc;

use ironbark_config::access::Privileges;
use ironbark_model::AttributeDescription;

use super::{
    check::{Check, OnAll},
    decisions::{EntryDecisions, SubjectDecisions},
    place::EntryPlace,
    requester::Requester,
    target::{Readable, Source, Target},
};

/// An entry that the subject may know about. It may see the parts that [`VisibleEntry::may_read`] grants.
pub struct VisibleEntry<'a> {
    source: Source<'a>,
    dn: &'a str,
    /// `None`: everything is readable.
    check: Option<&'a Check<'a>>,
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

    /// The remembered decisions about entries of this kind.
    pub(crate) fn kind(&self) -> Option<&EntryDecisions> {
        self.check?.kind()
    }
}

/// The access check for an entry; `None` if the requester may read everything there.
pub(crate) fn check<'a>(requester: Requester<'a>, source: Source<'a>) -> Option<Check<'a>> {
    (!requester.reads_everything()).then(|| Check::of(requester, source))
}

/// The same for a subject with remembered decisions, and a stored entry whose place is known.
pub(crate) fn check_remembered<'a>(
    requester: Requester<'a>,
    source: Source<'a>,
    place: EntryPlace<'a>,
    standing: Option<&'a Rc<SubjectDecisions>>,
) -> Option<Check<'a>> {
    let standing = standing?;
    check(requester, source).map(|check| check.placed(place).remembered(standing))
}

/// An entry, if its `entry` pseudo-attribute may be read.
pub(crate) fn visible<'a>(check: Option<&'a Check<'a>>, source: Source<'a>, dn: &'a str) -> Option<VisibleEntry<'a>> {
    check
        .is_none_or(|check| check.permits(Target::Entry, Privileges::READ))
        .then_some(VisibleEntry { source, dn, check })
}
