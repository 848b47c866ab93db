//! `restrictop`, compiled: who may ask for which operations, and with which controls.

use std::sync::{Arc, LazyLock};

use ironbark_config::{
    Operations,
    access::{Control, NamedOid, OperationAction, OperationRule},
};
use ironbark_ldap_proto::controls::{ControlKind, ControlSet, registry::lookup};
use ironbark_model::{Dn, Entry, ResultCode, schema::Source as Place};

use super::{
    Check, Rules, Source, Subject,
    check::{Matched, Value},
    rules::{Condition, Dependence},
};
use crate::{Configuration, OperationError};

/// The `restrictop` rules that hold for a database, in order.
#[derive(Debug, Default)]
pub(crate) struct OperationRules(Vec<Rule>);

/// One rule.
#[derive(Debug)]
struct Rule {
    operations: Operations,
    /// Of extended operations only this one.
    extended: Option<String>,
    /// All of these must come along.
    controls: Vec<ControlKind>,
    by: Vec<Clause>,
}

/// One `by` clause.
#[derive(Debug)]
struct Clause {
    who: Vec<Condition>,
    action: Option<Action>,
    control: Control,
}

#[derive(Clone, Copy, Debug)]
enum Action {
    Allow,
    Reject,
    Drop(ControlKind),
}

impl OperationRules {
    /// Compiles rules.
    ///
    /// # Errors
    /// A control that is not known.
    pub(crate) fn compile(rules: &[OperationRule]) -> Result<Arc<Self>, String> {
        let rules = rules.iter().map(Rule::compile);
        Ok(Arc::new(Self(rules.collect::<Result<_, _>>()?)))
    }

    /// Whether nobody wrote a rule.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The controls of a request that are dropped; those in `critical` cannot be.
    ///
    /// # Errors
    /// `unwillingToPerform`: it is rejected.
    pub(crate) fn admit(
        &self,
        configuration: &Configuration,
        mut subject: Subject<'_>,
        critical: ControlSet,
    ) -> Result<ControlSet, OperationError> {
        let came = subject.request.controls;
        if subject.is_root {
            return Ok(ControlSet::NONE);
        }
        let mut is_allowed = false;
        for rule in &self.0 {
            if !rule.is_about(&subject) {
                continue;
            }
            if rule.apply(configuration, &mut subject, critical, &mut is_allowed)? != Control::Break {
                break;
            }
        }
        if is_allowed {
            Ok(came.minus(subject.request.controls))
        } else {
            Err(rejected())
        }
    }
}

impl Rule {
    fn compile(rule: &OperationRule) -> Result<Self, String> {
        let known = |oid: &NamedOid| known_control(oid, &rule.location);
        let mut by = Vec::new();
        for clause in &rule.by {
            let action = match &clause.action {
                None => None,
                Some(OperationAction::Allow) => Some(Action::Allow),
                Some(OperationAction::Reject) => Some(Action::Reject),
                Some(OperationAction::Drop(control)) => Some(Action::Drop(known(control)?)),
            };
            let conditions = clause.who.iter().map(|who| Condition {
                who: who.clone(),
                // There is no entry that they could be about.
                dependence: Dependence::Nothing,
                program: None,
            });
            by.push(Clause {
                who: conditions.collect(),
                action,
                control: clause.control,
            });
        }
        Ok(Self {
            operations: rule.operations,
            extended: rule.extended.as_ref().map(|oid| oid.oid.clone()),
            controls: rule.controls.iter().map(known).collect::<Result<_, _>>()?,
            by,
        })
    }

    fn is_about(&self, Subject { request, .. }: &Subject<'_>) -> bool {
        let is_other = |oid: &str| request.operation == Operations::EXTENDED && request.extended != Some(oid);
        self.operations.contains(request.operation)
            && !self.extended.as_deref().is_some_and(is_other)
            && self.controls.iter().all(|control| request.controls.contains(*control))
    }

    /// Runs through the clauses. `is_allowed`: what has been said so far.
    fn apply(
        &self,
        configuration: &Configuration,
        subject: &mut Subject<'_>,
        critical: ControlSet,
        is_allowed: &mut bool,
    ) -> Result<Control, OperationError> {
        let nothing = Check::new(configuration, Rules::none(), *subject, Source::Memory(&NO_ENTRY));
        for clause in &self.by {
            let is_meant = |condition: &Condition| nothing.is(condition, &Matched::NOTHING, Value::None);
            if !clause.who.iter().all(is_meant) {
                continue;
            }
            match clause.action {
                Some(Action::Allow) => {
                    *is_allowed = true;
                    return Ok(Control::Stop);
                }
                Some(Action::Reject) => return Err(rejected()),
                Some(Action::Drop(control)) if subject.request.controls.contains(control) => {
                    if critical.contains(control) {
                        return Err(rejected());
                    }
                    subject.request.controls = subject.request.controls.without(control);
                    *is_allowed = true;
                }
                Some(Action::Drop(_)) | None => {}
            }
            if clause.control != Control::Continue {
                return Ok(clause.control);
            }
        }
        // As in access rules, behind the last clause nothing goes on.
        Ok(Control::Stop)
    }
}

fn known_control(NamedOid { text, oid }: &NamedOid, place: &Place) -> Result<ControlKind, String> {
    let unknown = || format!("{}: line {}: unknown control \"{text}\"", place.file, place.line);
    lookup(oid.as_bytes()).map(|row| row.kind).ok_or_else(unknown)
}

fn rejected() -> OperationError {
    OperationError::code(ResultCode::UNWILLING_TO_PERFORM)
}

/// What conditions are asked about: nothing in them is about an entry.
static NO_ENTRY: LazyLock<Entry> = LazyLock::new(|| Entry {
    dn: Dn::root(),
    attributes: Vec::new(),
});
