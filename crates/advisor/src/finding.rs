//! The findings of a review.

use std::cmp::Ordering;

/// The class of a finding.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum FindingClass {
    /// The setting is wrong and cannot be loaded.
    Wrong,
    /// Ironbark does not know it, or does not have it yet.
    Unknown,
    /// It is accepted, and has no meaning here.
    Ignored,
    /// It endangers passwords, data or the service.
    Unsafe,
    /// It is needed and missing.
    Missing,
    /// It is an old form that has a successor.
    Old,
}

impl FindingClass {
    /// All of them, in the order of a summary.
    pub const ALL: [Self; 6] = [
        Self::Wrong,
        Self::Unknown,
        Self::Ignored,
        Self::Unsafe,
        Self::Missing,
        Self::Old,
    ];

    /// Its name: `unsafe`.
    pub fn name(self) -> &'static str {
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

/// The place of a finding.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct FindingPlace {
    /// The order of entries of cn=config; 0 elsewhere.
    pub order: usize,
    /// The file, or the directory as a whole.
    pub file: String,
    /// 0: the file as a whole.
    pub line: u32,
    /// The entry of cn=config.
    pub dn: Option<String>,
}

impl FindingPlace {
    /// A line of a file; 0: the file as a whole.
    pub fn in_file(file: impl Into<String>, line: u32) -> Self {
        Self {
            order: 0,
            file: file.into(),
            line,
            dn: None,
        }
    }
}

/// One finding.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// What kind of thing it is.
    pub class: FindingClass,
    /// Where it stands.
    pub place: FindingPlace,
    /// The keyword or the attribute.
    pub setting: String,
    /// The reason, as a clause without a period.
    pub reason: String,
    /// The advice, as a clause without a period; empty where the reason implies it.
    pub advice: String,
    /// Whether the server refuses to start with it.
    pub blocks: bool,
}

/// All findings.
#[derive(Debug, Default)]
pub struct Findings(Vec<Finding>);

impl Findings {
    /// Adds one.
    pub fn add(&mut self, finding: Finding) {
        self.0.push(finding);
    }

    /// Adds a finding about a configuration that still loads.
    pub fn note(
        &mut self,
        class: FindingClass,
        place: FindingPlace,
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

    /// Sorts by place and removes duplicates.
    pub fn sort(&mut self) {
        self.0.sort_by(compare);
        self.0.dedup();
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Finding> {
        self.0.iter()
    }

    /// Whether the configuration loads.
    pub fn loads(&self) -> bool {
        !self.0.iter().any(|finding| finding.blocks)
    }

    /// Whether anything is unsafe.
    pub fn is_unsafe(&self) -> bool {
        self.count(FindingClass::Unsafe) > 0
    }

    /// The number of findings of a class.
    pub fn count(&self, class: FindingClass) -> usize {
        self.0.iter().filter(|finding| finding.class == class).count()
    }
}

fn compare(left: &Finding, right: &Finding) -> Ordering {
    let key = |finding: &Finding| (finding.class, finding.setting.clone(), finding.reason.clone());
    left.place.cmp(&right.place).then_with(|| key(left).cmp(&key(right)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_are_sorted_by_place_and_each_is_there_once() {
        let mut findings = Findings::default();
        for (line, class) in [
            (10, FindingClass::Old),
            (2, FindingClass::Wrong),
            (10, FindingClass::Unsafe),
            (10, FindingClass::Old),
        ] {
            findings.note(
                class,
                FindingPlace::in_file("slapd.conf", line),
                "rootpw",
                "why".to_owned(),
                "",
            );
        }
        findings.sort();
        let shown: Vec<_> = findings.iter().map(|one| (one.place.line, one.class)).collect();
        assert_eq!(
            shown,
            [
                (2, FindingClass::Wrong),
                (10, FindingClass::Unsafe),
                (10, FindingClass::Old)
            ]
        );
        assert!(findings.loads() && findings.is_unsafe());
        findings.add(Finding {
            class: FindingClass::Unknown,
            place: FindingPlace::in_file("slapd.conf", 0),
            setting: "rootpw".to_owned(),
            reason: "why".to_owned(),
            advice: String::new(),
            blocks: true,
        });
        assert!(!findings.loads());
    }
}
