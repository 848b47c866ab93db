//! What can only be said of a database when all of it has been read.

use ironbark_model::schema::Source;

use crate::{ConfigError, DatabaseConfig, ErrorSubject, Notice, NoticeKind, SettingError, database::EntryPlace};

/// Checks that a database has the parts that it needs. A client of cn=config that sets them one after the other leaves
/// some of them missing in between.
///
/// # Errors
/// The part that is missing, or does not fit another one.
pub(super) fn check_parts(database: &DatabaseConfig) -> Result<(), ConfigError> {
    if !database.kind.has_suffix() || database.disabled {
        return Ok(());
    }
    if database.suffixes.is_empty() {
        let reason = "needs a suffix".to_owned();
        return Err(ConfigError::of_setting(&database.location, "database", reason));
    }
    let refused = |error: SettingError| Err(ConfigError::of_setting(&database.location, "syncrepl", error));
    for line in &database.syncrepl {
        if database.root_dn.is_none() {
            return refused("rootDN must be defined before syncrepl may be used".into());
        }
        line.check_base(&database.suffixes).or_else(refused)?;
    }
    Ok(())
}

/// The notice for a database that cannot be served as it is now.
pub(super) fn not_served(error: &ConfigError, location: &Source) -> Notice {
    Notice {
        location: location.clone(),
        subject: ErrorSubject::Setting("database".to_owned()),
        text: format!("is not served until its settings are complete: {}", error.reason()),
        kind: NoticeKind::Statement,
    }
}

/// Checks a database that has its parts and comes behind others.
///
/// # Errors
/// It cannot be served so.
pub(super) fn check_database(database: &DatabaseConfig, before: &[DatabaseConfig]) -> Result<(), ConfigError> {
    let refused = |reason: String| Err(ConfigError::of_setting(&database.location, "database", reason));
    if !database.kind.has_suffix() || database.disabled {
        return Ok(());
    }
    if database.kind.entries == EntryPlace::Files && database.directory.as_os_str().is_empty() {
        return refused("needs a directory".to_owned());
    }
    if database.kind.is_external() && database.subordinate.is_some() {
        return refused(format!("a {} database cannot be subordinate", database.kind.name));
    }
    if let Some(settings) = &database.kind_settings {
        settings
            .check(database)
            .map_err(|error| ConfigError::of_setting(&database.location, "database", error))?;
    }
    check_consumers(database)?;
    for other in before.iter().filter(|other| !other.disabled) {
        if shares_files(database, other) {
            let directory = database.directory.display();
            return refused(format!(
                "another database already has the directory \"{directory}\" (line {})",
                other.location.line
            ));
        }
        if other.hidden || database.hidden {
            continue;
        }
        for suffix in &database.suffixes {
            if other.suffixes.iter().any(|earlier| suffix.is_within(earlier)) {
                let kind = other.kind.name;
                let name = suffix.pretty();
                return refused(format!(
                    "namingContext \"{name}\" already served by a preceding {kind} database"
                ));
            }
        }
    }
    Ok(())
}

fn check_consumers(database: &DatabaseConfig) -> Result<(), ConfigError> {
    let refused = |error: SettingError| Err(ConfigError::of_setting(&database.location, "syncrepl", error));
    for line in &database.syncrepl {
        let Some(kind) = line.other_kind() else { continue };
        if database.multi_provider {
            // Its changes have no CSNs, so conflicts could not be decided.
            return refused(format!("{kind} cannot be used with multiprovider").into());
        }
        if database.syncrepl.len() > 1 {
            return refused(format!("{kind} must be the only syncrepl of its database").into());
        }
    }
    Ok(())
}

/// Checks cn=config.
///
/// # Errors
/// It cannot be followed so.
pub(super) fn check_config(config: &DatabaseConfig) -> Result<(), ConfigError> {
    let follows_log = config.syncrepl.iter().any(|line| line.log.is_some());
    if !config.multi_provider || !follows_log {
        return Ok(());
    }
    let reason = "database config takes syncdata=accesslog only without multiprovider: it keeps no history of changes, \
                  by which those of several servers could be merged";
    Err(ConfigError::of_setting(
        &config.location,
        "syncrepl",
        SettingError::from(reason),
    ))
}

/// Whether two databases would write the same files. Files of ldif lie below the name of the suffix.
fn shares_files(one: &DatabaseConfig, other: &DatabaseConfig) -> bool {
    one.kind == other.kind
        && one.kind.is_stored()
        && one.directory == other.directory
        && (one.kind.entries == EntryPlace::Store || one.suffixes == other.suffixes)
}
