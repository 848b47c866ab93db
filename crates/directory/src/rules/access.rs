//! The access rules of one naming context, compiled: its own, then those of the frontend.

use std::sync::Arc;

use ironbark_config::{
    ConfigError, Operations, Registry,
    access::{
        AccessRule, AttributeTarget, ClauseControl, DnPattern, Grant, GroupName, NameCondition, PeerPattern,
        RegexTemplate, SelfOnly, TextPattern, ValuePattern, Who,
    },
};
use ironbark_ldap_proto::controls::ControlKind;
use ironbark_model::{AttributeDescription, CompiledFilter, Filter, Schema, matching::MatchingRule};

use super::{controls::control_kind, set::Program};

/// All rules that decide about entries of a naming context, in order.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each says what some rule looks at")]
pub(crate) struct Rules {
    pub(crate) all: Vec<Rule>,
    /// Questions about an entry; their answers together decide. Each has a number.
    pub(crate) questions: Vec<Question>,
    /// Number of sets without inserted submatches.
    sets: usize,
    /// Whether groups or sets are looked up: a decision is valid until the next write.
    pub(crate) uses_data: bool,
    /// Whether addresses or URLs are used.
    pub(crate) uses_peer: bool,
    /// Whether the operation or its controls are used.
    pub(crate) uses_request: bool,
    /// Whether some rule may distinguish between the values of an attribute.
    pub(crate) tells_values_apart: bool,
    /// Attributes that only the entry itself may read; no rule is asked about them.
    secrets: Vec<AttributeDescription>,
}

/// A question about an entry and a requester that is cheap to answer.
#[derive(Debug)]
pub(crate) enum Question {
    /// `dn...=` of a rule.
    Name(usize),
    /// `filter=` of a rule.
    Filter(usize),
    /// `self` or `dnattr` of a clause of a rule, by its place in the clause.
    Who(usize, usize, usize),
}

/// Number of a question.
pub(crate) type QuestionNumber = usize;

/// One rule.
#[derive(Debug)]
pub(crate) struct Rule {
    pub(crate) dn: Option<(DnPattern, QuestionNumber)>,
    pub(crate) filter: Option<(CompiledFilter, QuestionNumber)>,
    pub(crate) attributes: Vec<AttributeTarget>,
    pub(crate) value: Option<CompiledValue>,
    pub(crate) operation: Option<(Operations, Option<String>)>,
    pub(crate) control: Option<ControlKind>,
    pub(crate) by: Vec<Clause>,
}

/// `val=`.
#[derive(Debug)]
pub(crate) enum CompiledValue {
    /// A rule other than the attribute's own, and the normal form of the value by that rule or by the attribute's own.
    Exact {
        rule: Option<&'static MatchingRule>,
        normalized: Vec<u8>,
    },
    Pattern(ValuePattern),
}

/// One `by` clause.
#[derive(Debug)]
pub(crate) struct Clause {
    pub(crate) who: Vec<Condition>,
    pub(crate) grant: Grant,
    pub(crate) control: ClauseControl,
}

/// Number of a set.
pub(crate) type SetNumber = usize;

/// One condition of a clause.
#[derive(Debug)]
pub(crate) struct Condition {
    pub(crate) who: Who,
    pub(crate) dependence: Dependence,
    /// The program of a set without inserted submatches, and the number under which its result is remembered.
    pub(crate) program: Option<(Program, SetNumber)>,
}

/// What a condition depends on besides requester, connection and operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Dependence {
    /// Nothing.
    Nothing,
    /// The entry, in a way that is cheap to evaluate.
    Question(QuestionNumber),
    /// The entry; evaluated each time.
    Entry,
    /// The entry and the value; evaluated each time.
    Value,
}

/// Nesting of `filter=` in rules.
const FILTER_DEPTH: usize = 100;

impl Rules {
    /// Compiles rules. `secrets` are attributes that no rule names, and that only the entry itself may read.
    ///
    /// # Errors
    /// An unknown control.
    pub(crate) fn compile<'a>(
        registry: &Registry,
        schema: &Schema,
        rules: impl Iterator<Item = &'a AccessRule>,
        secrets: Vec<AttributeDescription>,
    ) -> Result<Arc<Self>, ConfigError> {
        let mut compiled = Self {
            secrets,
            ..Self::default()
        };
        for rule in rules {
            compiled.add(registry, schema, rule)?;
        }
        Ok(Arc::new(compiled))
    }

    /// No rule at all.
    pub(crate) fn none() -> &'static Self {
        static NONE: Rules = Rules {
            all: Vec::new(),
            questions: Vec::new(),
            sets: 0,
            uses_data: false,
            uses_peer: false,
            uses_request: false,
            tells_values_apart: false,
            secrets: Vec::new(),
        };
        &NONE
    }

    /// Whether there are no rules, and everybody may read everything.
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty() && self.secrets.is_empty()
    }

    /// Whether there are attributes that only the entry itself may read.
    pub(crate) fn keeps_any(&self) -> bool {
        !self.secrets.is_empty()
    }

    /// Whether only the entry itself may read an attribute.
    pub(crate) fn keeps(&self, schema: &Schema, attribute: &AttributeDescription) -> bool {
        let mut secrets = self.secrets.iter();
        secrets.any(|secret| schema.is_description_subtype(attribute, secret))
    }

    fn add(&mut self, registry: &Registry, schema: &Schema, rule: &AccessRule) -> Result<(), ConfigError> {
        let number = self.all.len();
        let what = &rule.what;
        let dn = what
            .dn
            .clone()
            .map(|pattern| (pattern, self.ask(Question::Name(number))));
        let filter = what.filter.as_deref().map(|text| {
            let mut compiled = CompiledFilter::default();
            // The text was checked when the configuration was read.
            if let Ok(filter) = Filter::parse(text.as_bytes(), FILTER_DEPTH) {
                compiled.compile(schema, &filter);
            }
            (compiled, self.ask(Question::Filter(number)))
        });
        let control = what.control.as_ref().map(|(text, oid)| {
            control_kind(registry, oid).ok_or_else(|| {
                let reason = format!("unknown control \"{text}\" in to clause");
                ConfigError::of_setting(&rule.location, "access", reason)
            })
        });
        self.uses_request |= what.operation.is_some() || what.control.is_some();
        let operation = what
            .operation
            .as_ref()
            .map(|pattern| (pattern.operations, pattern.extended.clone()));
        let mut by = Vec::new();
        for (at, clause) in rule.by.iter().enumerate() {
            let who = clause.who.iter().enumerate();
            by.push(Clause {
                who: who
                    .map(|(place, who)| self.condition(who, Question::Who(number, at, place)))
                    .collect(),
                grant: clause.grant,
                control: clause.control,
            });
        }
        let is_about_values = |clause: &Clause| {
            clause.grant.self_only != SelfOnly::No || clause.who.iter().any(|who| who.dependence == Dependence::Value)
        };
        self.tells_values_apart |= what.value.is_some() || by.iter().any(is_about_values);
        self.all.push(Rule {
            dn,
            filter,
            attributes: what.attributes.clone(),
            value: what
                .value
                .as_ref()
                .and_then(|value| compile_value(schema, value, &what.attributes)),
            operation,
            control: control.transpose()?,
            by,
        });
        Ok(())
    }

    fn ask(&mut self, question: Question) -> QuestionNumber {
        self.questions.push(question);
        self.questions.len() - 1
    }

    fn condition(&mut self, who: &Who, question: Question) -> Condition {
        let program = match who {
            Who::Set {
                template,
                is_expanded: false,
            } => {
                self.sets += 1;
                Some((Program::parse(template.as_str().as_bytes()), self.sets - 1))
            }
            _ => None,
        };
        let dependence = match who {
            Who::Name { is, .. } => match is {
                NameCondition::Anyone | NameCondition::Anonymous | NameCondition::Users | NameCondition::Dn(_) => {
                    Dependence::Nothing
                }
                NameCondition::SelfEntry(_) => Dependence::Question(self.ask(question)),
                NameCondition::Regex(RegexTemplate::Fixed { .. }) => Dependence::Nothing,
                NameCondition::Expanded(..) | NameCondition::Regex(RegexTemplate::Filled(_)) => Dependence::Value,
            },
            Who::DnAttribute { .. } => Dependence::Question(self.ask(question)),
            Who::Group { group, .. } => {
                self.uses_data = true;
                match group {
                    // The entry at hand may itself be the group, which is being changed.
                    GroupName::Exact(_) => Dependence::Nothing,
                    GroupName::Expanded(_) => Dependence::Value,
                }
            }
            Who::Set { is_expanded, .. } => {
                self.uses_data = true;
                match &program {
                    _ if *is_expanded => Dependence::Value,
                    // Its result for the requester is the same for all entries.
                    Some((program, _)) if !program.depends_on_entry() => Dependence::Nothing,
                    _ => Dependence::Entry,
                }
            }
            Who::Peer(PeerPattern::Text(pattern))
            | Who::SocketName(pattern)
            | Who::SocketUrl(pattern)
            | Who::Domain { pattern, .. } => {
                self.uses_peer = true;
                of_text(pattern)
            }
            Who::Peer(_) => {
                self.uses_peer = true;
                Dependence::Nothing
            }
            Who::Strength { .. } => Dependence::Nothing,
        };
        Condition {
            who: who.clone(),
            dependence,
            program,
        }
    }
}

fn of_text(pattern: &TextPattern) -> Dependence {
    match pattern {
        TextPattern::Expanded(_) | TextPattern::Regex(RegexTemplate::Filled(_)) => Dependence::Value,
        TextPattern::Anything | TextPattern::Exact(_) | TextPattern::Regex(RegexTemplate::Fixed { .. }) => {
            Dependence::Nothing
        }
    }
}

fn compile_value(schema: &Schema, value: &ValuePattern, attributes: &[AttributeTarget]) -> Option<CompiledValue> {
    let ValuePattern::Exact { rule, value: text } = value else {
        return Some(CompiledValue::Pattern(value.clone()));
    };
    let [AttributeTarget::Attribute(description)] = attributes else {
        return None;
    };
    let own = schema.attribute_type(description.attribute_type).equality;
    let other = rule
        .as_ref()
        .map(|name| ironbark_model::matching::find(name.as_bytes()));
    let mut normalized = Vec::new();
    let used = other.unwrap_or(own)?;
    used.assertion(schema, text.as_bytes(), &mut normalized).ok()?;
    Some(CompiledValue::Exact {
        rule: other
            .flatten()
            .filter(|other| own.is_none_or(|own| !std::ptr::eq(*other, own))),
        normalized,
    })
}
