//! Findings as text for people, one on each line, and as JSON.

use std::fmt::Write as _;

use ironbark_advisor::{Finding, FindingClass, FindingPlace, Findings};
use serde_json::{Value, json};

/// A line for each finding, and the summary.
pub(in crate::commands) fn text(findings: &Findings) -> String {
    let mut text = String::new();
    for finding in findings.iter() {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}", clean(&line(finding)));
    }
    let counts = FindingClass::ALL.map(|class| (class.name(), findings.count(class)));
    let counted: Vec<_> = counts
        .iter()
        .filter(|(_, count)| *count > 0)
        .map(|(word, count)| format!("{count} {word}"))
        .collect();
    let verdict = if findings.loads() {
        "the configuration loads"
    } else {
        "the configuration does not load"
    };
    let counted = if counted.is_empty() {
        "nothing found".to_owned()
    } else {
        counted.join(", ")
    };
    let _ = writeln!(text, "{counted}; {verdict}");
    text
}

/// One JSON object.
pub(super) fn json(findings: &Findings) -> String {
    let objects: Vec<Value> = findings.iter().map(object).collect();
    let summary: serde_json::Map<String, Value> = FindingClass::ALL
        .iter()
        .map(|class| (class.name().to_owned(), findings.count(*class).into()))
        .collect();
    let all = json!({ "findings": objects, "summary": summary, "loads": findings.loads() });
    format!("{all:#}\n")
}

/// `/etc/ldap/slapd.conf:12: unsafe: rootpw: why. What to do.`
fn line(finding: &Finding) -> String {
    let place = match &finding.place {
        FindingPlace { dn: Some(dn), .. } => dn.clone(),
        FindingPlace { file, line: 0, .. } => file.clone(),
        FindingPlace { file, line, .. } => format!("{file}:{line}"),
    };
    let Finding {
        setting,
        reason,
        advice,
        ..
    } = finding;
    let mut text = format!("{place}: {}: {setting}: {reason}", finding.class.name());
    if finding.blocks {
        text.push_str("; the server does not start with it");
    }
    if !advice.is_empty() {
        let _ = write!(text, ". {}", capitalized(advice));
    }
    text
}

fn object(finding: &Finding) -> Value {
    json!({
        "class": finding.class.name(),
        "file": finding.place.file,
        "line": finding.place.line,
        "dn": finding.place.dn,
        "setting": finding.setting,
        "reason": finding.reason,
        "advice": finding.advice,
        "blocks": finding.blocks,
    })
}

fn capitalized(text: &str) -> String {
    let mut characters = text.chars();
    characters
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}

/// Makes one line without control characters, so that a hostile file cannot harm the terminal.
fn clean(text: &str) -> String {
    text.chars()
        .map(|character| if character.is_control() { '?' } else { character })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_finding_is_a_line() {
        let mut findings = Findings::default();
        let mut note = |line, class, reason: &str, advice| {
            let place = FindingPlace::in_file("slapd.conf", line);
            findings.note(class, place, "rootpw", reason.to_owned(), advice);
        };
        note(2, FindingClass::Wrong, "why", "");
        note(10, FindingClass::Unsafe, "why\n\x1b[31m", "do this");
        assert_eq!(
            text(&findings),
            "slapd.conf:2: wrong: rootpw: why\n\
             slapd.conf:10: unsafe: rootpw: why??[31m. Do this\n\
             1 wrong, 1 unsafe; the configuration loads\n"
        );
        let value: Value = serde_json::from_str(&json(&findings)).unwrap();
        assert_eq!(
            (&value["summary"]["unsafe"], &value["loads"]),
            (&json!(1), &json!(true))
        );
        assert_eq!(value["findings"][1]["reason"], "why\n\u{1b}[31m");
    }

    #[test]
    fn a_finding_that_blocks_says_so() {
        let mut findings = Findings::default();
        findings.add(Finding {
            class: FindingClass::Unknown,
            place: FindingPlace::in_file("slapd.conf", 0),
            setting: "nothing".to_owned(),
            reason: "why".to_owned(),
            advice: String::new(),
            blocks: true,
        });
        assert_eq!(
            text(&findings),
            "slapd.conf: unknown: nothing: why; the server does not start with it\n\
             1 unknown; the configuration does not load\n"
        );
        let value: Value = serde_json::from_str(&json(&findings)).unwrap();
        assert_eq!(value["loads"], false);
    }

    #[test]
    fn nothing_found_says_so() {
        assert_eq!(text(&Findings::default()), "nothing found; the configuration loads\n");
    }
}
