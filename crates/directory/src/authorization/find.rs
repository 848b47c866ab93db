//! The entries that an LDAP URL of this server finds. The requester needs `auth` access to them by the access rules
//! (slapd's internal searches).

use std::{borrow::Cow, ops::ControlFlow, sync::Arc};

use ironbark_config::access::Privileges;
use ironbark_model::{
    AttributeDescription, CompiledFilter, Dn, Filter, Truth,
    filter::{Assertion, Guard},
};
use ironbark_store::{DitScope, EntryGuards, Evaluation, Location, Record, View};

use super::{Asking, UrlSearch, name::normal};
use crate::{
    NamingContext, OperationError,
    access::{AnswerableEntries, Target, WriteCheck},
    refusal::IdentityRefusal,
};

/// Whether a replacement or a rule is a URL.
pub(super) fn is_url(text: &str) -> bool {
    text.get(..7).is_some_and(|start| start.eq_ignore_ascii_case("ldap://"))
}

/// `ldap:///<base>??<scope>?<filter>`: without attributes. Without a filter there is no search.
fn parse(asking: Asking<'_>, text: &str) -> Option<UrlSearch> {
    let search = UrlSearch::parse(&asking.configuration.schema, text, None, None)?;
    (search.is_filtered && search.attributes.is_empty()).then_some(search)
}

/// The single entry that a URL finds; `None` if it finds none or several, or is malformed.
///
/// # Errors
/// `adminLimitExceeded`: [`Asking::look_through`]; the storage failed.
pub(super) fn the_one(asking: Asking<'_>, url: &str) -> Result<Option<Dn>, OperationError> {
    let configuration = asking.configuration;
    let Some(question) = parse(asking, url) else {
        return Ok(None);
    };
    let Some(context) = configuration.context_of(&question.base) else {
        return Ok(None);
    };
    let mut found = Vec::new();
    search(asking, context, &question, &question.base, &mut found)?;
    if question.scope != DitScope::Base {
        for glued in configuration.subordinates_of(context) {
            let suffix = glued
                .suffixes()
                .first()
                .filter(|suffix| suffix.is_within(&question.base));
            if let Some(suffix) = suffix.filter(|suffix| **suffix != question.base) {
                search(asking, glued, &question, suffix, &mut found)?;
            }
        }
    }
    let schema = &configuration.schema;
    Ok(match &*found {
        [one] => normal(schema, one.normalized()),
        _ => None,
    })
}

/// Adds the entries found in one database, until there are two: that is one too many.
fn search(
    asking: Asking<'_>,
    context: &NamingContext,
    question: &UrlSearch,
    base: &Dn,
    found: &mut Vec<Dn>,
) -> Result<(), OperationError> {
    let Some(database) = context.database() else {
        return Ok(());
    };
    let snapshot = database.snapshot()?;
    let view = snapshot.view().deriving(&asking.configuration.tree_attributes);
    let Location::Entry(id) = view.locate(base)? else {
        return Ok(());
    };
    let Some(record) = view.record(id)? else { return Ok(()) };
    if record.is_referral() || !may_authenticate(asking, context, StoredEntry { record: &record, view }, Target::Entry)
    {
        return Ok(());
    }
    // A glued database is searched from its top.
    let scope = match question.scope {
        DitScope::OneLevel if *base != question.base => DitScope::Base,
        DitScope::Children if *base != question.base => DitScope::Subtree,
        scope => scope,
    };
    let guards = guards(asking, context);
    let guards = guards.as_ref().map(|guards| guards as &dyn EntryGuards);
    let plan = view.plan_guarded(id, scope, &question.filter, guards)?;
    let mut candidates = view.candidates(&plan, 0)?;
    let mut read = 0_u32;
    while let Some(record) = candidates.next_record()? {
        read += 1;
        if asking.look_through.is_some_and(|limit| read > limit) {
            return Err(IdentityRefusal::TooManyEntries.into());
        }
        if record.is_referral()
            || !record.is_in_scope(id, scope)?
            || !answers(asking, context, StoredEntry { record: &record, view }, &question.filter)
        {
            continue;
        }
        let dn = view.dn(record.id)?;
        if question.is_in_scope(&dn) {
            found.push(dn);
        }
        if found.len() > 1 {
            break;
        }
    }
    Ok(())
}

/// Whether a URL finds an entry.
pub(super) fn finds(asking: Asking<'_>, url: &str, wanted: &Dn) -> Result<bool, OperationError> {
    let Some(question) = parse(asking, url) else {
        return Ok(false);
    };
    if !question.is_in_scope(wanted) {
        return Ok(false);
    }
    let base_is_there = with_record(asking, &question.base, |context, entry| {
        may_authenticate(asking, context, entry, Target::Entry)
    })?;
    Ok(base_is_there
        && with_record(asking, wanted, |context, entry| {
            answers(asking, context, entry, &question.filter)
        })?)
}

/// Whether an entry of a class names somebody in an attribute.
pub(super) fn is_member(
    asking: Asking<'_>,
    group: &Dn,
    class: &str,
    attribute: &str,
    member: &Dn,
) -> Result<bool, OperationError> {
    let equality = |attribute: &str, value: &[u8]| {
        Filter::Equality(Assertion {
            attribute: Cow::Owned(attribute.as_bytes().to_vec()),
            value: Cow::Owned(value.to_vec()),
        })
    };
    let filter = Filter::And(vec![
        equality("objectClass", class.as_bytes()),
        equality(attribute, member.pretty().as_bytes()),
    ]);
    let mut compiled = CompiledFilter::default();
    compiled.compile(&asking.configuration.schema, &filter);
    with_record(asking, group, |context, entry| {
        may_authenticate(asking, context, entry, Target::Entry) && answers(asking, context, entry, &compiled)
    })
}

/// The values of exactly this attribute of an entry, without subtypes and options, to which the requester has `auth`
/// access.
///
/// # Errors
/// The storage failed.
pub(crate) fn stored_values(
    asking: Asking<'_>,
    dn: &Dn,
    attribute: &AttributeDescription,
) -> Result<Vec<Vec<u8>>, OperationError> {
    let mut values = Vec::new();
    with_record(asking, dn, |context, entry| {
        if let Some(held) = entry.record.values(attribute) {
            // A value that cannot be read counts as missing.
            let _ = held.for_each(&mut |value| {
                if may_authenticate(asking, context, entry, Target::Attribute(attribute, Some(value))) {
                    values.push(value.to_vec());
                }
                ControlFlow::Continue(())
            });
        }
        true
    })?;
    Ok(values)
}

/// An entry that was read, with the view that it was read in.
#[derive(Clone, Copy)]
struct StoredEntry<'a> {
    record: &'a Record<'a>,
    view: View<'a>,
}

/// Reads an entry, if it exists.
fn with_record(
    asking: Asking<'_>,
    dn: &Dn,
    ask: impl FnOnce(&Arc<NamingContext>, StoredEntry<'_>) -> bool,
) -> Result<bool, OperationError> {
    let Some(context) = asking.configuration.context_of(dn) else {
        return Ok(false);
    };
    let Some(database) = context.database() else {
        return Ok(false);
    };
    let snapshot = database.snapshot()?;
    let view = snapshot.view();
    let Location::Entry(id) = view.locate(dn)? else {
        return Ok(false);
    };
    // A referral entry stands for an entry elsewhere: it authenticates nobody.
    let record = view.record(id)?.filter(|record| !record.is_referral());
    Ok(record.is_some_and(|record| ask(context, StoredEntry { record: &record, view })))
}

/// Whether the access rules give the requester `auth` on a part of an entry.
fn may_authenticate(asking: Asking<'_>, context: &NamingContext, entry: StoredEntry<'_>, target: Target<'_>) -> bool {
    WriteCheck::on_record(asking.at(context), entry.record, entry.view).permits(target, Privileges::AUTH)
}

/// Whether an entry matches a filter. Parts without `auth` access are Undefined.
fn answers(asking: Asking<'_>, context: &NamingContext, entry: StoredEntry<'_>, filter: &CompiledFilter) -> bool {
    let check = WriteCheck::on_record(asking.at(context), entry.record, entry.view);
    let guard = check.answerable(Privileges::AUTH);
    let guards = guards(asking, context);
    let with = Evaluation {
        plan: None,
        guard: guard.as_ref().map(|guard| guard as &dyn Guard),
        guards: guards.as_ref().map(|guards| guards as &dyn EntryGuards),
        ..Evaluation::default()
    };
    entry.record.evaluate_with(with, filter, &mut Vec::new()) == Truth::True
}

/// The parts of any entry that may answer.
fn guards<'a>(asking: Asking<'a>, context: &'a NamingContext) -> Option<AnswerableEntries<'a>> {
    AnswerableEntries::new(asking.at(context), None, Privileges::AUTH)
}
