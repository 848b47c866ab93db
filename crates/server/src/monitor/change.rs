//! Writable entries of cn=Monitor: `managedInfo` of cn=Log, `readOnly` of databases. Checked as slapd checks them.

use ironbark_config::{DatabaseKind, LogLevel, Operations};
use ironbark_directory::{
    Configuration, Context, OperationError,
    operation::{Authority, Modification, ModificationKind},
};
use ironbark_model::{Dn, ResultCode};

use crate::log::{LevelMask, level};

/// What a modification asks for, once it is known to be right.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Change {
    /// Other log levels.
    Levels(LevelMask),
    /// The database with this number refuses writes, or takes them again.
    ReadOnly(i32, bool),
    /// Nothing, in effect.
    Nothing,
}

/// Reads the changes of an entry of cn=Monitor that exists; `levels` are those in force.
///
/// # Errors
/// `unwillingToPerform` for an entry or attribute that is not writable; `constraintViolation`, `attributeOrValueExists`,
/// `noSuchAttribute`.
pub(crate) fn read(
    configuration: &Configuration,
    levels: LevelMask,
    dn: &Dn,
    modifications: &[Modification],
) -> Result<Change, OperationError> {
    let name = std::str::from_utf8(dn.normalized()).unwrap_or_default();
    if name == "cn=log,cn=monitor" {
        return read_levels(levels, modifications).map(Change::Levels);
    }
    let number = name
        .strip_prefix("cn=database ")
        .and_then(|rest| rest.strip_suffix(",cn=databases,cn=monitor"));
    let Some(number) = number else {
        return Err(unwilling(""));
    };
    let mut contexts = configuration.contexts.iter();
    match contexts.find(|context| context.number.to_string() == number) {
        Some(context) => read_only(context, modifications),
        None => Err(unwilling("")),
    }
}

fn unwilling(text: &'static str) -> OperationError {
    OperationError::new(ResultCode::UNWILLING_TO_PERFORM, text)
}

/// Attributes that modifications bring along: `modifiersName` and its like.
fn is_of_the_server(modification: &Modification) -> bool {
    modification.authority == Authority::Server
}

fn read_levels(mut levels: LevelMask, modifications: &[Modification]) -> Result<LevelMask, OperationError> {
    for modification in modifications.iter().filter(|one| !is_of_the_server(one)) {
        if !modification.name.eq_ignore_ascii_case("managedInfo") {
            return Err(unwilling(""));
        }
        let masks: Vec<LevelMask> = modification
            .values
            .iter()
            .map(|value| std::str::from_utf8(value).ok().and_then(LogLevel::parse))
            .map(|level| level.map(|level| level.0))
            .collect::<Option<_>>()
            .ok_or_else(|| OperationError::code(ResultCode::CONSTRAINT_VIOLATION))?;
        let all = masks.iter().fold(0, |all, mask| all | mask);
        match modification.kind {
            ModificationKind::Add | ModificationKind::AddIfAbsent => {
                if masks.iter().any(|mask| *mask != 0 && is_shown(levels, *mask)) {
                    return Err(OperationError::code(ResultCode::ATTRIBUTE_OR_VALUE_EXISTS));
                }
                levels |= all;
            }
            ModificationKind::Delete => {
                if levels == 0 || masks.iter().any(|mask| !is_shown(levels, *mask)) {
                    return Err(OperationError::code(ResultCode::NO_SUCH_ATTRIBUTE));
                }
                levels = if masks.is_empty() { 0 } else { levels & !all };
            }
            ModificationKind::Replace => levels = all,
            ModificationKind::Increment => return Err(OperationError::code(ResultCode::CONSTRAINT_VIOLATION)),
        }
    }
    Ok(levels)
}

/// Whether a level is one of the values that cn=Log shows.
fn is_shown(levels: LevelMask, mask: LevelMask) -> bool {
    if levels == level::ANY {
        mask == level::ANY
    } else {
        mask != 0 && levels & mask == mask
    }
}

fn read_only(context: &Context, modifications: &[Modification]) -> Result<Change, OperationError> {
    let violation = || OperationError::code(ResultCode::CONSTRAINT_VIOLATION);
    if context.settings.kind == DatabaseKind::Monitor {
        return Err(unwilling("no modifications allowed to monitor database entry"));
    }
    let before = context.settings.read_only || context.settings.restrict.operations.contains(Operations::WRITE);
    let mut value = Some(before);
    for modification in modifications.iter().filter(|one| !is_of_the_server(one)) {
        if !modification.name.eq_ignore_ascii_case("readOnly") {
            return Err(unwilling(""));
        }
        let asked = match modification.values.as_slice() {
            [] => None,
            [one] => Some(one.eq_ignore_ascii_case(b"TRUE")),
            _ => return Err(violation()),
        };
        match modification.kind {
            ModificationKind::Delete => {
                if value.is_none() {
                    return Err(violation());
                }
                if asked.is_some() && asked != value {
                    return Err(OperationError::code(ResultCode::NO_SUCH_ATTRIBUTE));
                }
                value = None;
            }
            ModificationKind::Replace => value = asked,
            ModificationKind::Add | ModificationKind::AddIfAbsent => {
                if value.is_some() {
                    return Err(violation());
                }
                value = asked;
            }
            ModificationKind::Increment => return Err(violation()),
        }
    }
    match value {
        // An entry without it would not be one of a database.
        None => Err(violation()),
        Some(after) if after == before => Ok(Change::Nothing),
        Some(after) => Ok(Change::ReadOnly(context.number, after)),
    }
}
