//! Compare (RFC 4511 §4.10).

use std::ops::ControlFlow;

use ironbark_config::{Operations, access::Privileges};
use ironbark_ldap_proto::{CompareRequest, controls::RequestControls};
use ironbark_model::{AttributeDescription, Dn, Entry, ResultCode, Schema};
use ironbark_store::{Record, View};

use super::Origin;
use crate::{
    Configuration, Context, OperationError,
    access::{self, Subject, Target, WriteCheck},
    computed,
    context::Backend,
    dn_cache::{DnCache, Found},
    dse,
    overlay::Entries,
    referral,
    search::policy_of,
    worker::Scratch,
};

/// Compares; the "error" is the result, compareTrue and compareFalse included.
pub(crate) fn compare(
    scratch: &mut Scratch,
    configuration: &Configuration,
    origin: &mut Origin,
    request: &CompareRequest<'_>,
    controls: &mut RequestControls<'_>,
) -> OperationError {
    match outcome(scratch, configuration, origin, request, controls) {
        Ok(true) => OperationError::code(ResultCode::COMPARE_TRUE),
        Ok(false) => OperationError::code(ResultCode::COMPARE_FALSE),
        Err(error) => error,
    }
}

/// A request whose parts are resolved.
struct Comparison<'a> {
    configuration: &'a Configuration,
    origin: &'a Origin,
    dn: Dn,
    description: AttributeDescription,
    /// Normal form of `value`.
    assertion: Vec<u8>,
    value: &'a [u8],
}

fn outcome(
    scratch: &mut Scratch,
    configuration: &Configuration,
    origin: &mut Origin,
    request: &CompareRequest<'_>,
    controls: &mut RequestControls<'_>,
) -> Result<bool, OperationError> {
    let schema = &*configuration.schema;
    let dn = Dn::parse(schema, request.entry)
        .map_err(|_| OperationError::new(ResultCode::INVALID_DN_SYNTAX, "invalid DN"))?;
    let description = schema
        .attribute_description(request.attribute)
        .map_err(|_| OperationError::code(ResultCode::UNDEFINED_ATTRIBUTE_TYPE))?;
    let assertion = normalized_assertion(schema, &description, request.value)?;
    let entry = frontend_entry(configuration, origin, &dn);
    let context = match entry {
        Some(_) => &configuration.frontend,
        None => configuration
            .context_of(&dn)
            .ok_or_else(|| referral::default_referral(configuration, &dn, None))?,
    };
    context.check_restrictions(configuration, Operations::COMPARE, origin)?;
    controls.remove(origin.dropped_controls);
    let comparison = Comparison {
        configuration,
        origin,
        dn,
        description,
        assertion,
        value: request.value,
    };
    if let Some(entry) = entry {
        return comparison.with(context, entry);
    }
    match &context.backend {
        Backend::Frontend => Err(OperationError::code(ResultCode::NO_SUCH_OBJECT)),
        Backend::Virtual { tree, .. } => {
            let entries = tree.entries(configuration);
            let entry = entries
                .iter()
                .find(|entry| entry.dn == comparison.dn)
                .ok_or_else(|| OperationError::no_such_object(String::new()))?;
            comparison.with(context, entry)
        }
        Backend::Null { .. } => super::null::refuse_assertion(controls).map(|()| false),
        Backend::Stored { .. } => {
            let Some(snapshot) = scratch.take_snapshot(context)? else {
                return Err(OperationError::code(ResultCode::NO_SUCH_OBJECT));
            };
            let names = scratch.parts(context).names;
            let compared = comparison.with_stored(context, (snapshot.view(), names), controls);
            scratch.keep_snapshot(snapshot);
            compared
        }
    }
}

fn frontend_entry<'a>(configuration: &'a Configuration, origin: &Origin, dn: &Dn) -> Option<&'a Entry> {
    dse::seen_by(configuration, origin)
        .iter()
        .chain(configuration.subschema.iter())
        .find(|entry| entry.dn == *dn)
}

/// The assertion value in normal form.
fn normalized_assertion(
    schema: &Schema,
    description: &AttributeDescription,
    value: &[u8],
) -> Result<Vec<u8>, OperationError> {
    let rule = schema
        .attribute_type(description.attribute_type)
        .equality
        .ok_or_else(|| OperationError::new(ResultCode::INAPPROPRIATE_MATCHING, "inappropriate matching request"))?;
    let mut normalized = Vec::new();
    rule.assertion(schema, value, &mut normalized).map_err(|_| {
        OperationError::new(
            ResultCode::INVALID_ATTRIBUTE_SYNTAX,
            "value does not conform to assertion syntax",
        )
    })?;
    Ok(normalized)
}

impl Comparison<'_> {
    fn with_stored(
        &self,
        context: &Context,
        (view, names): (View<'_>, &mut DnCache),
        controls: &RequestControls<'_>,
    ) -> Result<bool, OperationError> {
        let Self { configuration, dn, .. } = self;
        let subject = Subject::of(self.origin, context);
        let record = match names.find(view, dn)? {
            Found::Entry(record) => record,
            Found::Missing(ancestor) => {
                let error = referral::missing(configuration, view, dn, ancestor);
                return Err(access::undisclosed(
                    context,
                    configuration,
                    subject,
                    (view, ancestor),
                    error,
                ));
            }
        };
        if record.is_referral() && controls.manage_dsa_it.is_none() {
            let urls = referral::urls_of(configuration, &record, Some((dn, dn)), None);
            return Err(OperationError::referral(view.dn(record.id)?.pretty().to_owned(), urls));
        }
        if let Some(assertion) = &controls.assertion {
            let stored = (view, &record);
            super::check_assertion_on_record(context, configuration, subject, stored, &assertion.value.0)?;
        }
        if computed::is_computed(configuration, &self.description) {
            let mut entry = record.to_entry(view.dn(record.id)?)?;
            computed::add_all(configuration, &mut entry, view.has_subordinates(record.id)?);
            return self.with(context, &entry);
        }
        let policy = &configuration.well_known.pwd_policy_subentry;
        if self.description == *policy && context.overlays.judges_binds() && controls.manage_dsa_it.is_none() {
            let mut entry = record.to_entry(view.dn(record.id)?)?;
            if entry.attribute(policy).is_none()
                && let Some(name) = policy_of(Entries::new(configuration, context, view), &entry)?
            {
                entry.set_values(policy, vec![name.pretty().as_bytes().to_vec()]);
            }
            return self.with(context, &entry);
        }
        let check = WriteCheck::on_record(context, configuration, subject, &record, view);
        self.with_record(&check, &record)
    }

    /// Compares where the entry lies. Of a big set, one value is looked up.
    fn with_record(&self, check: &WriteCheck<'_>, record: &Record<'_>) -> Result<bool, OperationError> {
        let schema = &*self.configuration.schema;
        // Without disclose the entry does not exist for this subject.
        let unless_hidden = |code| {
            let is_disclosed = check.permits(Target::Entry, Privileges::DISCLOSE);
            OperationError::code(if is_disclosed { code } else { ResultCode::NO_SUCH_OBJECT })
        };
        let target = Target::Attribute(&self.description, Some(self.value));
        if !check.permits(target, Privileges::COMPARE) {
            return Err(unless_hidden(ResultCode::INSUFFICIENT_ACCESS_RIGHTS));
        }
        let (mut is_there, mut holds) = (false, false);
        let mut normalized = Vec::new();
        for attribute in record.answering(&self.description) {
            let description = attribute.description();
            is_there = true;
            let Some(rule) = schema.attribute_type(description.attribute_type).equality else {
                continue;
            };
            if attribute.is_external() && rule.evaluate.is_none() {
                holds |= attribute.holds_normalized(&self.assertion)?;
                continue;
            }
            attribute.for_each(&mut |value| {
                normalized.clear();
                holds |= (rule.normalize_value)(schema, value, &mut normalized).is_ok()
                    && rule.matches(schema, &normalized, &self.assertion);
                if holds {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            })?;
        }
        match (holds, is_there) {
            (true, _) => Ok(true),
            (false, true) => Ok(false),
            (false, false) => Err(unless_hidden(ResultCode::NO_SUCH_ATTRIBUTE)),
        }
    }

    fn with(&self, context: &Context, entry: &Entry) -> Result<bool, OperationError> {
        let Self {
            configuration,
            origin,
            description,
            assertion,
            value,
            ..
        } = self;
        let schema = &*configuration.schema;
        let subject = Subject::of(origin, context);
        let target = Target::Attribute(description, Some(*value));
        let disclose = Privileges::DISCLOSE;
        // Without disclose the entry does not exist for this subject.
        let unless_hidden = |code| {
            let is_disclosed = access::permits(context, configuration, subject, entry, Target::Entry, disclose);
            OperationError::code(if is_disclosed { code } else { ResultCode::NO_SUCH_OBJECT })
        };
        if !access::permits(context, configuration, subject, entry, target, Privileges::COMPARE) {
            return Err(unless_hidden(ResultCode::INSUFFICIENT_ACCESS_RIGHTS));
        }
        let mut found = false;
        let mut normalized = Vec::new();
        for attribute in &entry.attributes {
            if !schema.is_description_subtype(&attribute.description, description) {
                continue;
            }
            found = true;
            let Some(rule) = schema.attribute_type(attribute.description.attribute_type).equality else {
                continue;
            };
            for value in &attribute.values {
                normalized.clear();
                if (rule.normalize_value)(schema, value, &mut normalized).is_err() {
                    continue;
                }
                if rule.matches(schema, &normalized, assertion) {
                    return Ok(true);
                }
            }
        }
        if found {
            Ok(false)
        } else {
            Err(unless_hidden(ResultCode::NO_SUCH_ATTRIBUTE))
        }
    }
}
