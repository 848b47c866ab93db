//! Reading `access to <what> [by <who> <access> <control>] ...`.

use super::{AccessRule, By, ClauseControl, Grant, NameCondition, Who, what, who, words::Words};
use crate::{SettingError, statement::Statement};

impl AccessRule {
    /// From the arguments of `access`.
    ///
    /// # Errors
    /// Malformed, or one of slapd's experiments (`dynacl`).
    pub(crate) fn parse(statement: &Statement<'_>) -> Result<Self, SettingError> {
        let mut words = Words {
            rest: statement.arguments,
        };
        if !words.take_keyword("to") {
            return Err(format!("expected \"to\": access {}", statement.grammar).into());
        }
        let what = what::parse(statement, &mut words)?;
        let mut by = Vec::new();
        while let Some(word) = words.next() {
            if !word.eq_ignore_ascii_case("by") {
                return Err(format!("expecting \"by\" got \"{word}\"").into());
            }
            by.push(parse_by(statement, &mut words)?);
        }
        for (number, argument) in statement.arguments.iter().enumerate() {
            if argument.contains("regex=") {
                statement.notice_lost_escape(number);
            }
        }
        if by.is_empty() {
            statement.notice("access rule without by clause: nobody has access");
        }
        Ok(Self {
            what,
            by,
            location: statement.location.clone(),
        })
    }
}

/// The `<who>` of a clause.
pub(super) fn parse_conditions(statement: &Statement<'_>, words: &mut Words<'_>) -> Result<Vec<Who>, SettingError> {
    let mut conditions: Vec<Who> = Vec::new();
    while let Some(word) = words.peek() {
        let Some(condition) = who::parse(statement, word)? else {
            break;
        };
        // slapd keeps one of each kind.
        if let Some(same) = conditions.iter().find(|known| known.kind() == condition.kind()) {
            return Err(format!("{} already specified", same.kind().1).into());
        }
        conditions.push(condition);
        words.next();
    }
    if conditions.is_empty() {
        let got = words.peek().unwrap_or_default();
        return Err(format!("expecting <who> after \"by\" got \"{got}\"").into());
    }
    // The order in which slapd checks and prints them.
    conditions.sort_by_key(|condition| condition.kind().0);
    Ok(conditions)
}

fn parse_by(statement: &Statement<'_>, words: &mut Words<'_>) -> Result<By, SettingError> {
    let says_what = |word| ClauseControl::parse(word).is_some() || Grant::parse(word).is_some();
    let who = match words.peek() {
        // As in slapd, a clause without a condition is about everybody.
        Some(word) if says_what(word) && who::parse(statement, word)?.is_none() => vec![Who::Name {
            is_real: false,
            is: NameCondition::Anyone,
        }],
        _ => parse_conditions(statement, words)?,
    };
    let mut grant = Grant::NOTHING;
    let mut control = ClauseControl::default();
    let mut word = words.next_in_clause();
    if let Some(text) = word
        && ClauseControl::parse(text).is_none()
    {
        grant = Grant::parse(text).ok_or_else(|| format!("expecting <access> got \"{text}\""))?;
        word = words.next_in_clause();
    }
    if let Some(text) = word {
        control = ClauseControl::parse(text).ok_or_else(|| format!("expecting <control> got \"{text}\""))?;
    }
    Ok(By { who, grant, control })
}
