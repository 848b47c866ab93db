//! `restrictop`: who may use which operations and controls. As in slapd, `allow` and `reject` decide at once, even if
//! another word follows.

use ironbark_model::{Schema, schema::Source};

use super::{
    ClauseControl, GroupName, NameCondition, PeerPattern, RegexTemplate, TextPattern, Who, parse::parse_conditions,
    text::who_text, what::oid, words::Words,
};
use crate::{Operations, SettingError, statement::Statement};

/// One `restrictop` line.
#[derive(Clone, PartialEq, Debug)]
pub struct OperationRule {
    /// The operations; never none.
    pub operations: Operations,
    /// For extended operations, only this one.
    pub extended: Option<NamedOid>,
    /// Only for requests with all of these controls.
    pub controls: Vec<NamedOid>,
    /// The `by` clauses, in order; never empty.
    pub by: Vec<OperationBy>,
    /// Where it stands.
    pub location: Source,
}

/// An OID, and how it was written: the OID itself, or a macro for it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NamedOid {
    /// As written.
    pub text: String,
    /// The OID.
    pub oid: String,
}

/// One `by` clause of `restrictop`.
#[derive(Clone, PartialEq, Debug)]
pub struct OperationBy {
    /// The requesters. All conditions must hold; never empty; no condition is about an entry.
    pub who: Vec<Who>,
    /// The decision about the request; `None`: no decision.
    pub action: Option<OperationAction>,
    /// How the evaluation continues when the clause matches and does not decide.
    pub control: ClauseControl,
}

/// The decision about a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum OperationAction {
    /// It continues.
    Allow,
    /// It is refused.
    Reject,
    /// It continues without this control, or is refused if the control is critical.
    Drop(NamedOid),
}

impl OperationRule {
    /// From the arguments of `restrictop`.
    ///
    /// # Errors
    /// Malformed, or a condition is about an entry.
    pub(crate) fn parse(statement: &Statement<'_>) -> Result<Self, SettingError> {
        let mut words = Words {
            rest: statement.some()?,
        };
        let mut rule = Self {
            operations: Operations::default(),
            extended: None,
            controls: Vec::new(),
            by: Vec::new(),
            location: statement.location.clone(),
        };
        while let Some(word) = words.next_in_clause() {
            rule.add_condition(statement.schema, word)?;
        }
        if rule.operations == Operations::default() {
            return Err("rule missing operation".into());
        }
        while let Some(word) = words.next() {
            if !word.eq_ignore_ascii_case("by") {
                return Err(format!("expecting \"by\" got \"{word}\"").into());
            }
            rule.by.push(parse_by(statement, &mut words)?);
        }
        if rule.by.is_empty() {
            return Err("restrictop rule has no \"by\" clause".into());
        }
        Ok(rule)
    }

    /// A word before the first `by`.
    fn add_condition(&mut self, schema: &Schema, word: &str) -> Result<(), SettingError> {
        let (key, value) = word
            .split_once('=')
            .map_or((word, None), |(key, value)| (key, Some(value)));
        let operations = match value {
            Some(text) if key.eq_ignore_ascii_case("control") => {
                self.controls.push(NamedOid::parse(schema, text, "control")?);
                return Ok(());
            }
            Some(text) if key.eq_ignore_ascii_case("extended") => {
                self.extended = Some(NamedOid::parse(schema, text, "extop")?);
                Operations::EXTENDED
            }
            _ => Operations::word(word).ok_or_else(|| format!("unknown operation \"{word}\""))?,
        };
        if self.operations.without(operations) != self.operations {
            return Err(format!("duplicate or overlapping operation type in rule: \"{word}\"").into());
        }
        self.operations = self.operations.with(operations);
        Ok(())
    }

    /// The value of `restrictop`.
    pub(crate) fn text(&self, schema: &Schema) -> String {
        let mut operations = self.operations;
        if self.extended.is_some() {
            operations = operations.without(Operations::EXTENDED);
        }
        let mut words: Vec<String> = operations.words().into_iter().map(str::to_owned).collect();
        words.extend(self.extended.iter().map(|oid| format!("extended={}", oid.text)));
        words.extend(self.controls.iter().map(|oid| format!("control={}", oid.text)));
        for by in &self.by {
            words.push("by".to_owned());
            words.extend(by.who.iter().map(|who| who_text(schema, who)));
            match &by.action {
                None => {}
                Some(OperationAction::Allow) => words.push("allow".to_owned()),
                Some(OperationAction::Reject) => words.push("reject".to_owned()),
                Some(OperationAction::Drop(control)) => words.push(format!("drop control={}", control.text)),
            }
            words.extend(by.control.words());
        }
        words.join(" ")
    }
}

impl NamedOid {
    fn parse(schema: &Schema, text: &str, what: &str) -> Result<Self, SettingError> {
        let oid = oid(schema, text).ok_or_else(|| format!("bad {what} OID \"{text}\""))?;
        Ok(Self {
            text: text.to_owned(),
            oid,
        })
    }
}

fn parse_by(statement: &Statement<'_>, words: &mut Words<'_>) -> Result<OperationBy, SettingError> {
    let who = parse_conditions(statement, words)?;
    if let Some(what) = who.iter().find_map(about_entry) {
        return Err(format!("{what} not supported in restrictop").into());
    }
    let word = words.next_in_clause().unwrap_or_default();
    if word.eq_ignore_ascii_case("break") {
        return Ok(OperationBy {
            who,
            action: None,
            control: ClauseControl::Break,
        });
    }
    let action = if word.eq_ignore_ascii_case("allow") {
        OperationAction::Allow
    } else if word.eq_ignore_ascii_case("reject") {
        OperationAction::Reject
    } else if word.eq_ignore_ascii_case("drop") {
        let control = words.next_in_clause().and_then(|word| word.split_once('='));
        let control = control.filter(|(key, _)| key.eq_ignore_ascii_case("control"));
        let (_, text) = control.ok_or("expecting control=<oid> after \"drop\"")?;
        OperationAction::Drop(NamedOid::parse(statement.schema, text, "control")?)
    } else {
        return Err(format!("expecting allow, reject, drop or break, got \"{word}\"").into());
    };
    let control = match words.next_in_clause() {
        None => ClauseControl::Stop,
        Some(word) => ClauseControl::parse(word).ok_or_else(|| format!("expecting <control> got \"{word}\""))?,
    };
    Ok(OperationBy {
        who,
        action: Some(action),
        control,
    })
}

/// The part of a condition that needs an entry: these rules are checked before any entry is looked up.
fn about_entry(who: &Who) -> Option<&'static str> {
    let of_text = |pattern: &TextPattern| {
        matches!(
            pattern,
            TextPattern::Expanded(_) | TextPattern::Regex(RegexTemplate::Filled(_))
        )
        .then_some("expand patterns")
    };
    match who {
        Who::Name { is, .. } => match is {
            NameCondition::SelfEntry(_) => Some("self patterns"),
            NameCondition::Expanded(..) | NameCondition::Regex(RegexTemplate::Filled(_)) => Some("expand patterns"),
            NameCondition::Anyone
            | NameCondition::Anonymous
            | NameCondition::Users
            | NameCondition::Dn(_)
            | NameCondition::Regex(RegexTemplate::Fixed { .. }) => None,
        },
        Who::DnAttribute { .. } => Some("dnattr clauses"),
        Who::Set { .. } => Some("set clauses"),
        Who::Group {
            group: GroupName::Expanded(_),
            ..
        } => Some("expand patterns"),
        Who::Peer(PeerPattern::Text(pattern))
        | Who::SocketName(pattern)
        | Who::SocketUrl(pattern)
        | Who::Domain { pattern, .. } => of_text(pattern),
        Who::Group {
            group: GroupName::Exact(_),
            ..
        }
        | Who::Peer(_)
        | Who::Strength { .. } => None,
    }
}

#[cfg(test)]
mod tests;
