//! Access control: the one seam between stored entries and clients.
//!
//! Invariant: [`visible_record`] and [`visible_entry`] are the only constructors of [`VisibleEntry`], and only a `VisibleEntry` can be
//! encoded to a client.

mod evaluate;
mod rules;

use ironbark_config::access::Level;
use ironbark_model::{AttributeDescription, CompiledFilter, Dn, Entry};
use ironbark_store::{Record, View};

use crate::{Configuration, Context, session::Identity};

pub use rules::Rules;

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
        Self { dn: &identity.dn, is_root: context.is_root(&identity.dn) }
    }
}

/// An entry of which the subject may know, and of which it may see what [`VisibleEntry::may_read`] grants.
#[derive(Clone, Copy)]
pub struct VisibleEntry<'a> {
    source: Source<'a>,
    dn: &'a str,
    /// `None`: everything is readable.
    check: Option<evaluate::Check<'a>>,
}

/// Where the entry is.
#[derive(Clone, Copy)]
pub(crate) enum Source<'a> {
    Record(&'a Record<'a>, View<'a>),
    Memory(&'a Entry),
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
        self.check.as_ref().is_none_or(|check| check.permits(attribute, value, Level::Read))
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
    visible(context, configuration, subject, Source::Memory(entry), entry.dn.pretty())
}

fn visible<'a>(
    context: &'a Context,
    configuration: &'a Configuration,
    subject: Subject<'a>,
    source: Source<'a>,
    dn: &'a str,
) -> Option<VisibleEntry<'a>> {
    let check = evaluate::check(context, configuration, subject, source);
    check
        .as_ref()
        .is_none_or(|check| check.permits_entry(Level::Read))
        .then_some(VisibleEntry { source, dn, check })
}

/// The filter with what the subject may not search on this entry made Undefined; `None` if nothing is hidden.
pub(crate) fn searchable_filter(
    context: &Context,
    configuration: &Configuration,
    subject: Subject<'_>,
    view: View<'_>,
    record: &Record<'_>,
    filter: &CompiledFilter,
) -> Option<CompiledFilter> {
    let check = evaluate::check(context, configuration, subject, Source::Record(record, view))?;
    evaluate::hide_unsearchable(&check, filter)
}

/// Whether a subject has a level of access to an attribute (or one value) of an entry in memory; for write operations and compare.
pub(crate) fn permits(
    context: &Context,
    configuration: &Configuration,
    subject: Subject<'_>,
    entry: &Entry,
    attribute: Target<'_>,
    level: Level,
) -> bool {
    let Some(check) = evaluate::check(context, configuration, subject, Source::Memory(entry)) else { return true };
    match attribute {
        Target::Entry => check.permits_entry(level),
        Target::Children => check.permits_children(level),
        Target::Attribute(description, value) => check.permits(description, value, level),
    }
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
