//! The loader's errors and notices for each statement: wrong, unknown, or without meaning here.

use ironbark_config::{ConfigError, Fate, Handler, NoticeKind, Surveyed, SurveyedSection};

use super::old;
use crate::{
    finding::{Class, Finding, Findings, Place},
    written::WrittenConfiguration,
};

/// Adds the loader's findings.
pub(super) fn find(written: &WrittenConfiguration, findings: &mut Findings) {
    for error in &written.file_errors {
        findings.add(Finding {
            class: Class::Wrong,
            place: Place::in_file(error.file.display().to_string(), 0),
            setting: "slapd.d".to_owned(),
            reason: error.reason.clone(),
            advice: String::new(),
            blocks: true,
        });
    }
    for error in &written.errors {
        findings.add(Finding {
            class: Class::Wrong,
            place: error
                .location()
                .map_or_else(|| written.whole(), |location| written.place(location)),
            setting: match error.location() {
                Some(_) => setting_of(error.reason()),
                None => "configuration".to_owned(),
            },
            reason: without_keyword(error.reason()).to_owned(),
            advice: String::new(),
            blocks: true,
        });
    }
    for statement in &written.statements {
        if let Some(finding) = refused(written, statement) {
            findings.add(finding);
        } else if let Some(reason) = statement.why_meaningless() {
            let (class, advice) = match old::instead_of_meaningless(&statement.line.keyword) {
                Some(advice) => (Class::Old, advice),
                None => (Class::Ignored, "it may be left out"),
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
        let is_of_row = notice.text.contains("has no meaning here");
        let (class, advice) = match notice.kind {
            // Settings without meaning are already reported. Indexes are reported elsewhere.
            NoticeKind::Index => continue,
            NoticeKind::Meaningless if is_of_row => continue,
            NoticeKind::Meaningless | NoticeKind::Statement if notice.text.contains("is an old name of") => {
                (Class::Old, "write the new name")
            }
            NoticeKind::Meaningless | NoticeKind::Statement => (Class::Ignored, ""),
            NoticeKind::Checksum => (Class::Ignored, "change cn=config with ldapmodify or slapmodify -n 0"),
        };
        let reason = without_keyword(&notice.text).to_owned();
        let place = written.place(&notice.location);
        let setting = match notice.kind {
            NoticeKind::Checksum => "slapd.d".to_owned(),
            _ => setting_of(&notice.text),
        };
        findings.note(class, place, &setting, reason, advice);
    }
}

/// A statement that the server refuses, or that is unknown.
fn refused(written: &WrittenConfiguration, statement: &Surveyed) -> Option<Finding> {
    let line = &statement.line;
    let place = written.place(&line.location);
    let overlay = statement.refused_overlay.as_deref();
    let hint = overlay.map_or_else(String::new, |name| {
        format!("; it may belong to overlay {name}, which is not there either")
    });
    let Some(error) = &statement.refusal else {
        // slapd.d may hold attributes that no directive corresponds to. They are ignored.
        let is_unknown = statement.row.is_none() && statement.section != SurveyedSection::Refused;
        return is_unknown.then(|| Finding {
            class: Class::Unknown,
            place,
            setting: line.keyword.clone(),
            reason: format!("no attribute of cn=config has this name: it has no effect{hint}"),
            advice: String::new(),
            blocks: false,
        });
    };
    let (class, advice) = fault(written, statement, error);
    let mut reason = without_keyword(error.reason()).to_owned();
    match class {
        Class::Unknown if statement.row.is_none() => reason.push_str(&hint),
        Class::Old if statement.row.is_none() => "slapd has dropped it as well".clone_into(&mut reason),
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
fn fault(written: &WrittenConfiguration, statement: &Surveyed, error: &ConfigError) -> (Class, &'static str) {
    let keyword = &statement.line.keyword;
    let registry = &written.configuration.registry;
    let Some(row) = statement.row else {
        // The setting is known, but in the wrong place.
        return match old::removed(keyword) {
            Some(instead) => (Class::Old, instead),
            None if registry.with_keyword(keyword).next().is_some() => (Class::Wrong, ""),
            None => (Class::Unknown, ""),
        };
    };
    let begins_section =
        matches!(row.fate, Fate::Obeyed(Handler::Structure)) && !keyword.eq_ignore_ascii_case("overlay");
    if matches!(row.fate, Fate::Refused(_)) {
        (Class::Unknown, "")
    } else if let Some(instead) = old::wrong_form(statement) {
        (Class::Old, instead)
    } else {
        let class = if error.is_about_missing_part() {
            Class::Unknown
        } else {
            Class::Wrong
        };
        let advice = if begins_section {
            "what stands in it was not looked at"
        } else {
            ""
        };
        (class, advice)
    }
}

/// `sizelimit` of `<sizelimit> unable to ...`.
fn setting_of(reason: &str) -> String {
    let named = reason.strip_prefix('<').and_then(|rest| rest.split_once('>'));
    named.map_or_else(|| "schema".to_owned(), |(name, _)| name.to_owned())
}

fn without_keyword(reason: &str) -> &str {
    let rest = reason.strip_prefix('<').and_then(|rest| rest.split_once("> "));
    rest.map_or(reason, |(_, rest)| rest)
}
