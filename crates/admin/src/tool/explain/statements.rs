//! What is wrong or unknown, and what has no meaning here: what the loader says of each statement.

use ironbark_config::{Fate, Handler, NoticeKind, Surveyed, SurveyedSection};

use super::{
    finding::{Class, Finding, Findings},
    old,
    subject::Subject,
};

/// Adds what the loader found.
pub(super) fn find(subject: &Subject, findings: &mut Findings) {
    for error in &subject.errors {
        findings.add(Finding {
            class: Class::Wrong,
            place: error
                .location()
                .map_or_else(|| subject.whole(), |location| subject.place(location)),
            setting: match error.location() {
                Some(_) => setting_of(error.reason()),
                None => "configuration".to_owned(),
            },
            reason: without_keyword(error.reason()).to_owned(),
            advice: String::new(),
            blocks: true,
        });
    }
    for statement in &subject.statements {
        if let Some(finding) = refused(subject, statement) {
            findings.add(finding);
        } else if let Some(reason) = statement.why_meaningless() {
            let (class, advice) = match old::instead_of_meaningless(&statement.line.keyword) {
                Some(advice) => (Class::Old, advice),
                None => (Class::Ignored, "it may be left out"),
            };
            let place = subject.place(&statement.line.location);
            findings.note(class, place, &statement.line.keyword, reason.to_owned(), advice);
        }
    }
    notices(subject, findings);
}

/// What the log says of statements that are obeyed.
fn notices(subject: &Subject, findings: &mut Findings) {
    for notice in &subject.notices {
        let is_of_row = notice.text.contains("has no meaning here");
        let (class, advice) = match notice.kind {
            // The settings without meaning have been found, and the indexes are looked for elsewhere.
            NoticeKind::Index => continue,
            NoticeKind::Meaningless if is_of_row => continue,
            NoticeKind::Meaningless | NoticeKind::Statement if notice.text.contains("is an old name of") => {
                (Class::Old, "write the new name")
            }
            NoticeKind::Meaningless | NoticeKind::Statement => (Class::Ignored, ""),
            NoticeKind::Checksum => (Class::Ignored, "change cn=config with ldapmodify or slapmodify -n 0"),
        };
        let reason = without_keyword(&notice.text).to_owned();
        let place = subject.place(&notice.location);
        let setting = match notice.kind {
            NoticeKind::Checksum => "slapd.d".to_owned(),
            _ => setting_of(&notice.text),
        };
        findings.note(class, place, &setting, reason, advice);
    }
}

/// A statement that the server refuses, or that nobody knows.
fn refused(subject: &Subject, statement: &Surveyed) -> Option<Finding> {
    let line = &statement.line;
    let place = subject.place(&line.location);
    let overlay = statement.refused_overlay.as_deref();
    let hint = overlay.map_or_else(String::new, |name| {
        format!("; it may belong to overlay {name}, which is not there either")
    });
    let Some(error) = &statement.refusal else {
        // slapd.d may hold what no directive is: it is passed over.
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
    let mut reason = without_keyword(error.reason()).to_owned();
    let mut advice = String::new();
    let is_part = ["database", "backend", "overlay", "moduleload"].iter().any(|keyword| {
        line.keyword.eq_ignore_ascii_case(keyword) || line.keyword.eq_ignore_ascii_case("olcModuleLoad")
    });
    let class = match statement.row.map(|row| row.fate) {
        None => match old::removed(&line.keyword) {
            Some(instead) => {
                advice.push_str(instead);
                "slapd has dropped it as well".clone_into(&mut reason);
                Class::Old
            }
            None => {
                reason.push_str(&hint);
                Class::Unknown
            }
        },
        Some(Fate::Refused(_)) => Class::Unknown,
        Some(Fate::Obeyed(Handler::Structure)) => {
            if !line.keyword.eq_ignore_ascii_case("overlay") {
                "what stands in it was not looked at".clone_into(&mut advice);
            }
            Class::Unknown
        }
        Some(_) if is_part || error.is_about_missing_part() => Class::Unknown,
        Some(_) => old::wrong_form(statement).map_or(Class::Wrong, |instead| {
            advice.push_str(instead);
            Class::Old
        }),
    };
    Some(Finding {
        class,
        place,
        setting: line.keyword.clone(),
        reason,
        advice,
        blocks: true,
    })
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
