//! `restrictop`, compiled.

use std::sync::Arc;

use ironbark_config::{
    ConfigError, Operations, Registry,
    access::{ClauseControl, NamedOid, OperationAction, OperationRule},
};
use ironbark_ldap_proto::controls::ControlKind;
use ironbark_model::schema::Source as Place;

use super::{
    access::{Condition, Dependence},
    controls::control_kind,
};

/// The `restrictop` rules that apply to a database, in order.
#[derive(Debug, Default)]
pub(crate) struct OperationRules(pub(crate) Vec<Rule>);

/// One rule.
#[derive(Debug)]
pub(crate) struct Rule {
    pub(crate) operations: Operations,
    /// For extended operations, only this one.
    pub(crate) extended: Option<String>,
    /// The request must have all of these.
    pub(crate) controls: Vec<ControlKind>,
    pub(crate) by: Vec<Clause>,
}

/// One `by` clause.
#[derive(Debug)]
pub(crate) struct Clause {
    pub(crate) who: Vec<Condition>,
    pub(crate) action: Option<Action>,
    pub(crate) control: ClauseControl,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Action {
    Allow,
    Reject,
    Drop(ControlKind),
}

impl OperationRules {
    /// Compiles rules.
    ///
    /// # Errors
    /// An unknown control.
    pub(crate) fn compile(registry: &Registry, rules: &[OperationRule]) -> Result<Arc<Self>, ConfigError> {
        let rules = rules.iter().map(|rule| Rule::compile(registry, rule));
        Ok(Arc::new(Self(rules.collect::<Result<_, _>>()?)))
    }

    /// Whether there are no rules.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Rule {
    fn compile(registry: &Registry, rule: &OperationRule) -> Result<Self, ConfigError> {
        let known = |oid: &NamedOid| known_control(registry, oid, &rule.location);
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
                // These conditions are never about an entry.
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
}

fn known_control(
    registry: &Registry,
    NamedOid { text, oid }: &NamedOid,
    place: &Place,
) -> Result<ControlKind, ConfigError> {
    let unknown = || ConfigError::of_setting(place, "restrictop", format!("unknown control \"{text}\""));
    control_kind(registry, oid).ok_or_else(unknown)
}
