//! Checks one write against the constraints.

use ironbark_directory::{
    Modification, ModificationKind, OperationError,
    overlay::{Execution, Outcome, OutcomeChange, OutcomeHooks, Question, Rights},
};
use ironbark_model::{
    AttributeDescription, Budget, CompiledFilter, Dn, Entry, Filter, ResultCode, Truth,
    budget::cost_of,
    entry::EntrySource,
    filter::{Assertion, MAX_DEPTH},
};

use super::{Constraint, Constraints, Entries, Test};

/// Steps that the checks of one operation may take: a fraction of a second. They run on the thread that all writes of a
/// database wait for.
const CHECK_STEPS: u64 = 10_000_000;

impl OutcomeHooks for Constraints {
    fn before_outcome(&self, execution: &Execution<'_, '_>, outcome: &Outcome<'_>) -> Result<(), OperationError> {
        let work = Budget::new(CHECK_STEPS);
        let dn = match outcome.change {
            OutcomeChange::Add(entry) => entry.dn.clone(),
            OutcomeChange::Modify { former, .. } => execution.view().dn(former.id)?,
        };
        let mut check = Check {
            overlay: self,
            execution,
            outcome,
            work: &work,
            dn: &dn,
            after: None,
        };
        let checked = match outcome.change {
            OutcomeChange::Add(entry) => check.add(entry),
            OutcomeChange::Modify { modifications, .. } => {
                check.counts().and_then(|()| check.modifications(modifications))
            }
        };
        if work.is_exhausted() {
            let text = "constraint: the checks take too much work: index what its URIs look for";
            return Err(OperationError::new(ResultCode::ADMIN_LIMIT_EXCEEDED, text));
        }
        checked
    }
}

struct Check<'a, 'w, 'd> {
    overlay: &'a Constraints,
    execution: &'a Execution<'w, 'd>,
    outcome: &'a Outcome<'a>,
    work: &'a Budget,
    /// The name of the entry before the write.
    dn: &'a Dn,
    /// The whole entry after the write; made when a set first needs it.
    after: Option<Entry>,
}

impl Check<'_, '_, '_> {
    fn add(&mut self, entry: &Entry) -> Result<(), OperationError> {
        let overlay = self.overlay;
        for attribute in &entry.attributes {
            let name = &attribute.description;
            if self.is_operational(name) {
                continue;
            }
            for constraint in overlay.all.iter().filter(|one| one.attributes.contains(name)) {
                if !self.applies(constraint) || self.is_relaxed(name)? {
                    continue;
                }
                let is_kept = match &constraint.test {
                    Test::Count(most) => attribute.values.len() as u64 <= *most,
                    _ => self.holds(constraint, &attribute.values)?,
                };
                if !is_kept {
                    return Err(self.violation("add", name));
                }
            }
        }
        Ok(())
    }

    /// Checks all counted attributes, also unchanged ones, as in slapd.
    fn counts(&self) -> Result<(), OperationError> {
        for constraint in &self.overlay.all {
            let Test::Count(most) = constraint.test else { continue };
            if !self.applies(constraint) {
                continue;
            }
            for name in &constraint.attributes {
                if self.outcome.count(name) as u64 > most && !self.is_relaxed(name)? {
                    return Err(self.violation("modify", name));
                }
            }
        }
        Ok(())
    }

    fn modifications(&mut self, modifications: &[Modification]) -> Result<(), OperationError> {
        let overlay = self.overlay;
        for modification in modifications {
            let name = &modification.description;
            let comes = modification.kind != ModificationKind::Delete && !modification.values.is_empty();
            let mut covering = overlay
                .all
                .iter()
                .filter(|one| one.attributes.contains(name))
                .peekable();
            if !comes || covering.peek().is_none() || self.is_operational(name) || self.is_relaxed(name)? {
                continue;
            }
            // The request of an increment has the amount to add; the resulting values are the sums.
            let sums = match modification.kind {
                ModificationKind::Increment => Some(self.outcome.values(name)?),
                _ => None,
            };
            let values = sums.as_ref().unwrap_or(&modification.values);
            for constraint in covering {
                if self.applies(constraint) && !self.holds(constraint, values)? {
                    return Err(self.violation("modify", name));
                }
            }
        }
        Ok(())
    }

    /// Whether a constraint applies to the entry: to a new entry, or to the stored one as it is before the write.
    fn applies(&self, constraint: &Constraint) -> bool {
        let Some(entries) = &constraint.restrict else {
            return true;
        };
        let matches = |filter: &CompiledFilter| match self.outcome.change {
            OutcomeChange::Add(entry) => {
                let schema = &self.overlay.schema;
                let source = EntrySource::new(schema, filter, entry).within(Some(self.work));
                filter.evaluate(schema, &source, &mut Vec::new()) == Truth::True
            }
            OutcomeChange::Modify { former, .. } => former.evaluate(filter, &mut Vec::new()) == Truth::True,
        };
        entries.reaches(self.dn) && entries.filter.as_ref().is_none_or(|(_, filter)| matches(filter))
    }

    /// Whether new values satisfy the constraint.
    fn holds(&mut self, constraint: &Constraint, values: &[Vec<u8>]) -> Result<bool, OperationError> {
        if let Test::Set { set, negated } = &constraint.test {
            let after = match self.after.take() {
                Some(after) => after,
                None => self.outcome.entry(|_| true)?,
            };
            let holds = self.execution.set_holds(set, &after);
            self.after = Some(after);
            return Ok(holds != *negated);
        }
        for value in values {
            if !self.work.spend(cost_of(value)) {
                return Ok(false);
            }
            let is_kept = match &constraint.test {
                Test::Size(most) => value.len() as u64 <= *most,
                Test::Regex { regex, negated } => regex.is_match(value) != *negated,
                Test::Found {
                    among,
                    attributes,
                    negated,
                } => self.finds(among, attributes, value)? != *negated,
                Test::Count(_) | Test::Set { .. } => true,
            };
            if !is_kept {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether the client finds an entry with a value in one of the attributes.
    fn finds(&self, among: &Entries, attributes: &[String], value: &[u8]) -> Result<bool, OperationError> {
        let equality = |name: &'_ String| {
            Filter::Equality(Assertion {
                attribute: name.as_bytes().to_vec().into(),
                value: value.to_vec().into(),
            })
        };
        let wanted = Filter::Or(attributes.iter().map(equality).collect());
        let filter = match &among.filter {
            None => wanted,
            Some((text, _)) => {
                let own = Filter::parse(text.as_bytes(), MAX_DEPTH);
                let own = own.map_err(|_| OperationError::new(ResultCode::OTHER, "constraint: bad filter"))?;
                Filter::And(vec![own, wanted])
            }
        };
        let question = Question {
            base: among.base.as_ref(),
            scope: among.scope,
            filter: &filter,
            except: None,
            rights: Rights::Client,
        };
        self.execution.finds(&question, self.work)
    }

    fn is_operational(&self, name: &AttributeDescription) -> bool {
        self.overlay.schema.attribute_type(name.attribute_type).is_operational()
    }

    /// The relax rules control lets a manager of the attribute do anything.
    fn is_relaxed(&self, name: &AttributeDescription) -> Result<bool, OperationError> {
        if !self.execution.is_relaxed() {
            return Ok(false);
        }
        Ok(match self.outcome.change {
            OutcomeChange::Add(entry) => self.execution.may_manage_attribute(entry, name),
            OutcomeChange::Modify { former, .. } => {
                let entry = self.execution.entry(former.id)?;
                self.execution.may_manage_attribute(&entry, name)
            }
        })
    }

    fn violation(&self, what: &str, name: &AttributeDescription) -> OperationError {
        let text = format!("{what} breaks constraint on {}", self.execution.name_of(name));
        OperationError::new(ResultCode::CONSTRAINT_VIOLATION, text)
    }
}
