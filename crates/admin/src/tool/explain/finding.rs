//! A finding, and how findings are shown: a line each, or JSON.

use std::{cmp::Ordering, fmt::Write as _};

use serde_json::{Value, json};

/// What kind of thing was found.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Class {
    /// Wrong as it stands.
    Wrong,
    /// Something that Ironbark does not know or does not have yet.
    Unknown,
    /// Accepted, and without meaning here.
    Ignored,
    /// Endangers passwords, data or the service.
    Unsafe,
    /// Not there, and needed.
    Missing,
    /// An old form of something that has a new one.
    Old,
}

impl Class {
    /// All of them, in the order of the summary.
    const ALL: [Self; 6] = [
        Self::Wrong,
        Self::Unknown,
        Self::Ignored,
        Self::Unsafe,
        Self::Missing,
        Self::Old,
    ];

    fn word(self) -> &'static str {
        match self {
            Self::Wrong => "wrong",
            Self::Unknown => "unknown",
            Self::Ignored => "ignored",
            Self::Unsafe => "unsafe",
            Self::Missing => "missing",
            Self::Old => "old",
        }
    }
}

/// Where something was found.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Place {
    /// Entries of cn=config have an order of their own; 0 elsewhere.
    pub(super) order: usize,
    pub(super) file: String,
    /// 0: the file as a whole.
    pub(super) line: u32,
    /// The entry of cn=config.
    pub(super) dn: Option<String>,
}

/// One finding.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Finding {
    pub(super) class: Class,
    pub(super) place: Place,
    /// The keyword or the attribute.
    pub(super) setting: String,
    /// Why, as a clause without a period.
    pub(super) reason: String,
    /// What to do, as a clause without a period; empty where the reason says it.
    pub(super) advice: String,
    /// Whether the server refuses to start with it.
    pub(super) blocks: bool,
}

/// All findings.
#[derive(Debug, Default)]
pub(super) struct Findings(Vec<Finding>);

impl Findings {
    pub(super) fn add(&mut self, finding: Finding) {
        self.0.push(finding);
    }

    /// Adds a finding about a configuration that loads all the same.
    pub(super) fn note(
        &mut self,
        class: Class,
        place: Place,
        setting: &str,
        reason: String,
        advice: impl Into<String>,
    ) {
        self.add(Finding {
            class,
            place,
            setting: setting.to_owned(),
            reason,
            advice: advice.into(),
            blocks: false,
        });
    }

    /// By place, as an editor would go through them; each once.
    pub(super) fn sort(&mut self) {
        self.0.sort_by(compare);
        self.0.dedup();
    }

    /// Whether the configuration loads.
    pub(super) fn loads(&self) -> bool {
        !self.0.iter().any(|finding| finding.blocks)
    }

    /// Whether anything is unsafe.
    pub(super) fn is_unsafe(&self) -> bool {
        self.count(Class::Unsafe) > 0
    }

    fn count(&self, class: Class) -> usize {
        self.0.iter().filter(|finding| finding.class == class).count()
    }

    /// A line each, and the summary.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for finding in &self.0 {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{}", clean(&line(finding)));
        }
        let counts = Class::ALL.map(|class| (class.word(), self.count(class)));
        let counted: Vec<_> = counts
            .iter()
            .filter(|(_, count)| *count > 0)
            .map(|(word, count)| format!("{count} {word}"))
            .collect();
        let verdict = if self.loads() {
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
    pub(super) fn json(&self) -> String {
        let findings: Vec<Value> = self.0.iter().map(object).collect();
        let summary: serde_json::Map<String, Value> = Class::ALL
            .iter()
            .map(|class| (class.word().to_owned(), self.count(*class).into()))
            .collect();
        let all = json!({ "findings": findings, "summary": summary, "loads": self.loads() });
        format!("{all:#}\n")
    }
}

fn compare(left: &Finding, right: &Finding) -> Ordering {
    let key = |finding: &Finding| (finding.class, finding.setting.clone(), finding.reason.clone());
    left.place.cmp(&right.place).then_with(|| key(left).cmp(&key(right)))
}

/// `/etc/ldap/slapd.conf:12: unsafe: rootpw: why. What to do.`
fn line(finding: &Finding) -> String {
    let place = match &finding.place {
        Place { dn: Some(dn), .. } => dn.clone(),
        Place { file, line: 0, .. } => file.clone(),
        Place { file, line, .. } => format!("{file}:{line}"),
    };
    let Finding {
        setting,
        reason,
        advice,
        ..
    } = finding;
    let mut text = format!("{place}: {}: {setting}: {reason}", finding.class.word());
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
        "class": finding.class.word(),
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

/// One line, whatever a hostile file has in it; a terminal sees no control character.
fn clean(text: &str) -> String {
    text.chars()
        .map(|character| if character.is_control() { '?' } else { character })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(line: u32, class: Class, blocks: bool) -> Finding {
        Finding {
            class,
            place: Place {
                order: 0,
                file: "slapd.conf".to_owned(),
                line,
                dn: None,
            },
            setting: "rootpw".to_owned(),
            reason: "why\n\x1b[31m".to_owned(),
            advice: "do this".to_owned(),
            blocks,
        }
    }

    #[test]
    fn findings_are_sorted_and_each_is_a_line() {
        let mut findings = Findings::default();
        for (line, class) in [
            (10, Class::Old),
            (2, Class::Wrong),
            (10, Class::Unsafe),
            (10, Class::Old),
        ] {
            findings.add(finding(line, class, false));
        }
        findings.sort();
        assert_eq!(
            findings.text(),
            "slapd.conf:2: wrong: rootpw: why??[31m. Do this\n\
             slapd.conf:10: unsafe: rootpw: why??[31m. Do this\n\
             slapd.conf:10: old: rootpw: why??[31m. Do this\n\
             1 wrong, 1 unsafe, 1 old; the configuration loads\n"
        );
        findings.add(finding(0, Class::Unknown, true));
        assert!(!findings.loads() && findings.is_unsafe());
        let value: Value = serde_json::from_str(&findings.json()).unwrap();
        assert_eq!(value["summary"]["unsafe"], 1);
        assert_eq!(value["findings"][0]["reason"], "why\n\u{1b}[31m");
    }

    #[test]
    fn nothing_found_says_so() {
        assert_eq!(Findings::default().text(), "nothing found; the configuration loads\n");
    }
}
