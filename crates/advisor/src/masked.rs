//! A configuration without its secrets, to be shown to others.

use std::fmt::Write as _;

use ironbark_config::{
    Fate, Handler, Surveyed, SurveyedSection,
    secret::{MASK, masked},
};

use crate::{FindingClass, Findings, review::secrets::holds_secret, written::WrittenConfiguration};

/// The statements as lines, without comments, secrets and schema definitions. The values of statements that are not
/// understood are left out: nobody knows what they hold.
pub fn masked_configuration(written: &WrittenConfiguration) -> String {
    let (mut text, mut definitions) = (String::new(), 0);
    for statement in &written.statements {
        if is_definition(statement) {
            definitions += 1;
            continue;
        }
        let line = &statement.line;
        let is_understood =
            statement.row.is_some() && statement.refusal.is_none() && statement.section != SurveyedSection::Refused;
        let value = if !is_understood {
            "(not understood: its value is left out)".to_owned()
        } else if holds_secret(statement) && !statement.means("syncrepl") {
            MASK.to_owned()
        } else {
            masked(&line.raw).into_owned()
        };
        let value: String = value
            .chars()
            .map(|one| if one.is_control() { ' ' } else { one })
            .collect();
        let _ = writeln!(text, "{} {}", line.keyword, value.trim());
    }
    let _ = writeln!(text, "# and {definitions} definitions of schema");
    text
}

/// The findings without the values that errors quote: nobody knows what they hold, as with statements that are not
/// understood. A password that stands in the wrong place of a line would be quoted.
#[must_use]
pub fn masked_findings(findings: &Findings) -> Findings {
    let mut masked = Findings::default();
    for finding in findings.iter() {
        let mut finding = finding.clone();
        if finding.class == FindingClass::Wrong {
            finding.reason = without_quoted(&finding.reason);
        }
        masked.add(finding);
    }
    masked
}

/// A text with a mask from its first quotation mark to the last one: a value may have some, too.
fn without_quoted(text: &str) -> String {
    let Some((before, rest)) = text.split_once('"') else {
        return text.to_owned();
    };
    match rest.rsplit_once('"') {
        Some((_, after)) => format!("{before}\"{MASK}\"{after}"),
        None => format!("{before}\"{MASK}"),
    }
}

fn is_definition(statement: &Surveyed) -> bool {
    statement
        .row
        .is_some_and(|row| matches!(row.fate, Fate::Obeyed(Handler::Schema(_))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_error_quotes_is_not_shown() {
        for (reason, expected) in [
            ("unable to parse \"geheim\"", "unable to parse \"***\""),
            ("not \"a\"b\"c\", but d", "not \"***\", but d"),
            ("unable to parse \"a b", "unable to parse \"***"),
            ("needs a suffix", "needs a suffix"),
        ] {
            assert_eq!(without_quoted(reason), expected);
        }
    }
}
