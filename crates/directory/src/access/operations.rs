//! `restrictop`: which subjects may request which operations, with which controls.

use std::sync::LazyLock;

use ironbark_config::{Operations, access::ClauseControl};
use ironbark_ldap_proto::controls::ControlSet;
use ironbark_model::{Dn, Entry};

use super::{
    check::Check,
    matched::Matched,
    subject::Subject,
    target::{Source, Value},
};
use crate::{
    Configuration,
    refusal::AdmissionRefusal,
    rules::{
        Rules,
        access::Condition,
        operations::{Action, OperationRules, Rule},
    },
};

/// The controls of a request that are dropped. Controls in `critical` cannot be dropped.
///
/// # Errors
/// `unwillingToPerform`: the request is rejected.
pub(crate) fn admit(
    rules: &OperationRules,
    configuration: &Configuration,
    mut subject: Subject<'_>,
    critical: ControlSet,
) -> Result<ControlSet, AdmissionRefusal> {
    let came = subject.request.controls;
    if subject.is_root {
        return Ok(ControlSet::NONE);
    }
    let mut is_allowed = false;
    for rule in &rules.0 {
        if !is_about(rule, &subject) {
            continue;
        }
        if apply(rule, configuration, &mut subject, critical, &mut is_allowed)? != ClauseControl::Break {
            break;
        }
    }
    if is_allowed {
        Ok(came.minus(subject.request.controls))
    } else {
        Err(AdmissionRefusal::Rejected)
    }
}

fn is_about(rule: &Rule, Subject { request, .. }: &Subject<'_>) -> bool {
    let is_other = |oid: &str| request.operation == Operations::EXTENDED && request.extended != Some(oid);
    rule.operations.contains(request.operation)
        && !rule.extended.as_deref().is_some_and(is_other)
        && rule.controls.iter().all(|control| request.controls.contains(*control))
}

/// Goes through the clauses. `is_allowed` is the decision so far.
fn apply(
    rule: &Rule,
    configuration: &Configuration,
    subject: &mut Subject<'_>,
    critical: ControlSet,
    is_allowed: &mut bool,
) -> Result<ClauseControl, AdmissionRefusal> {
    let nothing = Check::new(configuration, Rules::none(), *subject, Source::Memory(&NO_ENTRY));
    for clause in &rule.by {
        let is_meant = |condition: &Condition| nothing.is(condition, &Matched::NOTHING, Value::None);
        if !clause.who.iter().all(is_meant) {
            continue;
        }
        match clause.action {
            Some(Action::Allow) => {
                *is_allowed = true;
                return Ok(ClauseControl::Stop);
            }
            Some(Action::Reject) => return Err(AdmissionRefusal::Rejected),
            Some(Action::Drop(control)) if subject.request.controls.contains(control) => {
                if critical.contains(control) {
                    return Err(AdmissionRefusal::Rejected);
                }
                subject.request.controls = subject.request.controls.without(control);
                *is_allowed = true;
            }
            Some(Action::Drop(_)) | None => {}
        }
        if clause.control != ClauseControl::Continue {
            return Ok(clause.control);
        }
    }
    // As in access rules, nothing continues behind the last clause.
    Ok(ClauseControl::Stop)
}

/// The entry for conditions: none of them is about an entry.
static NO_ENTRY: LazyLock<Entry> = LazyLock::new(|| Entry {
    dn: Dn::root(),
    attributes: Vec::new(),
});
