//! Writable entries of cn=Monitor: `managedInfo` of cn=Log, `readOnly` and `restrictedOperation` of databases. They are
//! checked as in slapd.

use ironbark_config::{LogLevel, Operations, Restrict, kinds::MONITOR};
use ironbark_directory::{Authority, Configuration, Modification, ModificationKind, NamingContext, OperationError};
use ironbark_ldap_proto::extended;
use ironbark_model::{Dn, ResultCode};

use super::databases::{RESTRICTABLE, restricted};
use crate::log::{LevelMask, level};

/// The change that a valid modification asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Change {
    /// Other log levels.
    Levels(LevelMask),
    /// The database with this number refuses these operations, and no others.
    Restrict(i32, Restrict),
    /// Nothing, in effect.
    Nothing,
}

/// Reads the changes of an existing entry of cn=Monitor; `levels` are those in force.
///
/// # Errors
/// `unwillingToPerform` for an entry or attribute that is not writable; `constraintViolation`,
/// `attributeOrValueExists`, `noSuchAttribute`.
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
        Some(context) => read_restrictions(context, modifications),
        None => Err(unwilling("")),
    }
}

fn unwilling(text: &'static str) -> OperationError {
    OperationError::new(ResultCode::UNWILLING_TO_PERFORM, text)
}

/// Whether the server added a modification: `modifiersName` and similar attributes.
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

fn read_restrictions(context: &NamingContext, modifications: &[Modification]) -> Result<Change, OperationError> {
    if context.settings.kind == &MONITOR {
        return Err(unwilling("no modifications allowed to monitor database entry"));
    }
    let before = Restrict {
        operations: restricted(context),
        extended: context.settings.restrict.extended.clone(),
    };
    let mut after = before.clone();
    let mut has_read_only = true;
    for modification in modifications.iter().filter(|one| !is_of_the_server(one)) {
        if modification.name.eq_ignore_ascii_case("readOnly") {
            change_read_only(&mut after, &mut has_read_only, modification)?;
        } else if modification.name.eq_ignore_ascii_case("restrictedOperation") {
            change_operations(&mut after, modification)?;
        } else {
            return Err(unwilling(""));
        }
    }
    // An entry of a database must have `readOnly`. Restricting all extended operations excludes naming single ones.
    if !has_read_only || (after.operations.contains(Operations::EXTENDED) && !after.extended.is_empty()) {
        return Err(violation());
    }
    Ok(if after == before {
        Change::Nothing
    } else {
        Change::Restrict(context.number, after)
    })
}

fn violation() -> OperationError {
    OperationError::code(ResultCode::CONSTRAINT_VIOLATION)
}

fn change_read_only(
    refused: &mut Restrict,
    has_value: &mut bool,
    modification: &Modification,
) -> Result<(), OperationError> {
    let asked = match modification.values.as_slice() {
        [] => None,
        [one] => Some(one.eq_ignore_ascii_case(b"TRUE")),
        _ => return Err(violation()),
    };
    match modification.kind {
        ModificationKind::Delete => {
            if !*has_value {
                return Err(violation());
            }
            if asked.is_some_and(|asked| asked != refused.operations.contains(Operations::WRITE)) {
                return Err(OperationError::code(ResultCode::NO_SUCH_ATTRIBUTE));
            }
            *has_value = false;
            return Ok(());
        }
        ModificationKind::Replace => {}
        ModificationKind::Add | ModificationKind::AddIfAbsent => {
            if *has_value {
                return Err(violation());
            }
        }
        ModificationKind::Increment => return Err(violation()),
    }
    *has_value = asked.is_some();
    match asked {
        Some(true) => refused.operations = refused.operations.with(Operations::WRITE),
        Some(false) => refused.operations = refused.operations.without(Operations::WRITE),
        None => {}
    }
    Ok(())
}

/// One value of `restrictedOperation`.
enum Restrictable {
    Operation(Operations),
    Extended(String),
}

impl Restrictable {
    /// An operation by its name, or an extended operation by its OID.
    fn read(value: &[u8]) -> Result<Self, OperationError> {
        let text = std::str::from_utf8(value).unwrap_or_default();
        let named = RESTRICTABLE.iter().find(|(name, _)| name.eq_ignore_ascii_case(text));
        match named {
            Some(&(_, operation)) => Ok(Self::Operation(operation)),
            None if extended::lookup(value).is_some() => Ok(Self::Extended(text.to_owned())),
            None => Err(OperationError::code(ResultCode::INVALID_ATTRIBUTE_SYNTAX)),
        }
    }

    fn is_refused(&self, refused: &Restrict) -> bool {
        match self {
            Self::Operation(operation) => refused.operations.contains(*operation),
            Self::Extended(oid) => refused.extended.contains(oid),
        }
    }
}

fn change_operations(refused: &mut Restrict, modification: &Modification) -> Result<(), OperationError> {
    let is_delete = match modification.kind {
        ModificationKind::Delete => true,
        ModificationKind::Replace | ModificationKind::Add | ModificationKind::AddIfAbsent => false,
        ModificationKind::Increment => return Err(violation()),
    };
    if modification.kind == ModificationKind::Replace || (is_delete && modification.values.is_empty()) {
        *refused = Restrict::default();
    }
    for value in &modification.values {
        let value = Restrictable::read(value)?;
        match (value.is_refused(refused), is_delete) {
            (true, false) => return Err(OperationError::code(ResultCode::ATTRIBUTE_OR_VALUE_EXISTS)),
            (false, true) => return Err(OperationError::code(ResultCode::NO_SUCH_ATTRIBUTE)),
            (true, true) => match value {
                Restrictable::Operation(operation) => refused.operations = refused.operations.without(operation),
                Restrictable::Extended(oid) => refused.extended.retain(|known| *known != oid),
            },
            (false, false) => match value {
                Restrictable::Operation(operation) => refused.operations = refused.operations.with(operation),
                Restrictable::Extended(oid) => refused.extended.push(oid),
            },
        }
    }
    Ok(())
}
