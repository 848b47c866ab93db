//! Access control: the one seam between stored entries and clients.
//!
//! Invariant: [`visible_record`] and [`visible_entry`] are the only constructors of [`VisibleEntry`], and only a `VisibleEntry` can be
//! encoded to a client.

mod appraise;
mod evaluate;

use ironbark_config::access::Privileges;
use ironbark_model::{AttributeDescription, CompiledFilter, Dn, Entry, ResultCode};
use ironbark_store::{EntryId, Record, View};

use crate::{Configuration, Context, OperationError, session::Identity};
pub use appraise::{Appraisal, Granted};
use evaluate::Check;

/// Who acts on a database.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// Authorization DN; the root DN for anonymous.
    pub dn: &'a Dn,
    /// The rootdn of the database: no rule binds it.
    pub is_root: bool,
}

impl<'a> Subject<'a> {
    /// The identity's standing on a database.
    pub fn of(identity: &'a Identity, context: &Context) -> Self {
        Self {
            dn: &identity.dn,
            is_root: context.is_root(&identity.dn),
        }
    }
}

/// An entry of which the subject may know, and of which it may see what [`VisibleEntry::may_read`] grants.
pub struct VisibleEntry<'a> {
    source: Source<'a>,
    dn: &'a str,
    /// `None`: everything is readable.
    check: Option<Check<'a>>,
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
            .as_ref()
            .is_none_or(|check| check.permits(Target::Attribute(attribute, value), Privileges::READ))
    }
}

/// A stored entry, if the subject may read its `entry` pseudo-attribute.
pub(crate) fn visible_record<'a>(
    context: &'a Context,
    configuration: &'a Configuration,
    subject: Subject<'a>,
    view: View<'a>,
    record: &'a Record<'a>,
    dn: &'a str,
) -> Option<VisibleEntry<'a>> {
    visible(context, configuration, subject, Source::Record(record, view), dn)
}

/// An entry in memory, if the subject may read its `entry` pseudo-attribute.
pub(crate) fn visible_entry<'a>(
    context: &'a Context,
    configuration: &'a Configuration,
    subject: Subject<'a>,
    entry: &'a Entry,
) -> Option<VisibleEntry<'a>> {
    visible(
        context,
        configuration,
        subject,
        Source::Memory(entry),
        entry.dn.pretty(),
    )
}

fn visible<'a>(
    context: &'a Context,
    configuration: &'a Configuration,
    subject: Subject<'a>,
    source: Source<'a>,
    dn: &'a str,
) -> Option<VisibleEntry<'a>> {
    let check = Check::for_reading(context, configuration, subject, source);
    check
        .as_ref()
        .is_none_or(|check| check.permits(Target::Entry, Privileges::READ))
        .then_some(VisibleEntry { source, dn, check })
}

/// Whether a subject may read everything in a naming context: the rootdn, or nobody wrote a rule.
pub(crate) fn reads_everything(context: &Context, configuration: &Configuration, subject: Subject<'_>) -> bool {
    subject.is_root || evaluate::has_no_rules(context, configuration)
}

/// The filter with what the subject may not search on this entry made Undefined; `None` if nothing is hidden.
pub(crate) fn searchable_filter(
    context: &Context,
    configuration: &Configuration,
    subject: Subject<'_>,
    source: Source<'_>,
    filter: &CompiledFilter,
) -> Option<CompiledFilter> {
    let check = Check::for_reading(context, configuration, subject, source)?;
    evaluate::hide_unsearchable(&check, filter)
}

/// Whether a subject has privileges on an entry in memory; for write operations, bind and compare.
pub(crate) fn permits(
    context: &Context,
    configuration: &Configuration,
    subject: Subject<'_>,
    entry: &Entry,
    target: Target<'_>,
    privileges: Privileges,
) -> bool {
    subject.is_root || Check::new(context, configuration, subject, Source::Memory(entry)).permits(target, privileges)
}

/// The error for a missing name without its matched DN and referrals, if the deepest ancestor may not be disclosed to the subject.
pub(crate) fn undisclosed(
    context: &Context,
    configuration: &Configuration,
    subject: Subject<'_>,
    (view, ancestor): (View<'_>, Option<(EntryId, usize)>),
    error: OperationError,
) -> OperationError {
    let Some((id, _)) = ancestor else { return error };
    let is_disclosed = match view.record(id) {
        Ok(Some(record)) => WriteCheck::on_record(context, configuration, subject, &record, view)
            .permits(Target::Entry, Privileges::DISCLOSE),
        Ok(None) => true,
        Err(failed) => return failed.into(),
    };
    if is_disclosed {
        error
    } else {
        OperationError::code(ResultCode::NO_SUCH_OBJECT)
    }
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
        Self((!subject.is_root).then(|| Check::new(context, configuration, subject, source)))
    }

    /// Whether all of `privileges` are granted.
    pub(crate) fn permits(&self, target: Target<'_>, privileges: Privileges) -> bool {
        self.0.as_ref().is_none_or(|check| check.permits(target, privileges))
    }
}
