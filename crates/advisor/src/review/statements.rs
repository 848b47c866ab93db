//! The loader's errors and notices for each statement: wrong, unknown, or without meaning here.

use ironbark_config::{ConfigError, ErrorSubject, Fate, Handler, NoticeKind, SettingError, Surveyed, SurveyedSection};

use super::old;
use crate::{
    finding::{Finding, FindingClass, FindingPlace, Findings},
    written::WrittenConfiguration,
};

/// Adds the loader's findings.
pub(super) fn find(written: &WrittenConfiguration, findings: &mut Findings) {
    for error in &written.file_errors {
        findings.add(Finding {
            class: FindingClass::Wrong,
            place: FindingPlace::in_file(error.file.display().to_string(), 0),
            setting: "slapd.d".to_owned(),
            reason: error.reason.clone(),
            advice: String::new(),
            blocks: true,
        });
    }
    for error in &written.errors {
        findings.add(Finding {
            class: FindingClass::Wrong,
            place: error
                .location()
                .map_or_else(|| written.whole(), |location| written.place(location)),
            setting: at_fault(error).to_owned(),
            reason: error.reason(),
            advice: String::new(),
            blocks: true,
        });
    }
    for statement in &written.statements {
        if let Some(finding) = refused(written, statement) {
            findings.add(finding);
        } else if let Some(reason) = statement.why_meaningless() {
            let (class, advice) = match old::instead_of_meaningless(&statement.line.keyword) {
                Some(advice) => (FindingClass::Old, advice),
                None => (FindingClass::Ignored, "it may be left out"),
            };
            let place = written.place(&statement.line.location);
            findings.note(class, place, &statement.line.keyword, reason.to_owned(), advice);
        }
    }
    notices(written, findings);
}

/// The log's notices about accepted statements.
fn notices(written: &WrittenConfiguration, findings: &mut Findings) {
    for notice in &written.notices {
        let (class, advice) = match notice.kind {
            // Settings without meaning are already reported. Indexes are reported elsewhere.
            NoticeKind::Index | NoticeKind::Meaningless => continue,
            NoticeKind::Old => (FindingClass::Old, "write the new name"),
            NoticeKind::BuiltIn | NoticeKind::Statement => (FindingClass::Ignored, ""),
            NoticeKind::Checksum => (
                FindingClass::Ignored,
                "change cn=config with ldapmodify or slapmodify -n 0",
            ),
        };
        let place = written.place(&notice.location);
        let setting = match &notice.subject {
            ErrorSubject::Line => "slapd.d",
            subject => name_of(subject),
        };
        findings.note(class, place, setting, notice.text.clone(), advice);
    }
}

/// A statement that the server refuses, or that is unknown.
fn refused(written: &WrittenConfiguration, statement: &Surveyed) -> Option<Finding> {
    let line = &statement.line;
    let place = written.place(&line.location);
    let overlay = statement.refused_overlay.as_deref();
    let hint = overlay.map_or_else(String::new, |name| {
        format!("; it may belong to overlay {name}, which is missing, too")
    });
    let Some(error) = &statement.refusal else {
        // slapd.d may hold attributes that no directive corresponds to. They are ignored.
        let is_unknown = statement.row.is_none() && statement.section != SurveyedSection::Refused;
        return is_unknown.then(|| Finding {
            class: FindingClass::Unknown,
            place,
            setting: line.keyword.clone(),
            reason: format!("no attribute of cn=config has this name: it has no effect{hint}"),
            advice: String::new(),
            blocks: false,
        });
    };
    let (class, advice) = fault(statement, error);
    let mut reason = error.reason();
    match class {
        FindingClass::Unknown if statement.row.is_none() => reason.push_str(&hint),
        FindingClass::Old if statement.row.is_none() => "slapd has removed it, too".clone_into(&mut reason),
        _ => {}
    }
    Some(Finding {
        class,
        place,
        setting: line.keyword.clone(),
        reason,
        advice: advice.to_owned(),
        blocks: true,
    })
}

/// The class of the error of a refused statement, and the advice.
fn fault(statement: &Surveyed, error: &ConfigError) -> (FindingClass, &'static str) {
    let of_section = if begins_section(statement) {
        "its content was not checked"
    } else {
        ""
    };
    match error {
        ConfigError::UnknownSetting { keyword, .. } => {
            old::removed(keyword).map_or((FindingClass::Unknown, ""), |instead| (FindingClass::Old, instead))
        }
        ConfigError::Refused { error, .. } => match error {
            SettingError::Wrong(_) => old::wrong_form(statement).map_or((FindingClass::Wrong, of_section), |instead| {
                (FindingClass::Old, instead)
            }),
            SettingError::Misplaced(_) | SettingError::Unavailable(_) => (FindingClass::Wrong, of_section),
            SettingError::UnknownPart(_) | SettingError::MissingPart(_) | SettingError::RefusedPart(_) => {
                (FindingClass::Unknown, of_section)
            }
        },
        ConfigError::Definition { .. } | ConfigError::Unreadable { .. } => (FindingClass::Wrong, of_section),
    }
}

fn begins_section(statement: &Surveyed) -> bool {
    let is_structure = |fate| matches!(fate, Fate::Obeyed(Handler::Structure));
    statement.row.is_some_and(|row| is_structure(row.fate)) && !statement.means("overlay")
}

/// The name of the setting in an error that belongs to no statement.
fn at_fault(error: &ConfigError) -> &str {
    match error {
        ConfigError::Unreadable { .. } => "configuration",
        ConfigError::UnknownSetting { keyword, .. } => keyword,
        ConfigError::Refused { subject, .. } => name_of(subject),
        ConfigError::Definition { .. } => "schema",
    }
}

fn name_of(subject: &ErrorSubject) -> &str {
    match subject {
        ErrorSubject::Setting(keyword) => keyword,
        ErrorSubject::Overlay => "overlay",
        ErrorSubject::Line => "configuration",
    }
}
