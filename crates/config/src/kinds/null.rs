//! The database that keeps nothing (slapd-null(5)).

use crate::{
    DatabaseConfig, SettingError,
    database::{
        ClassAttributes, DatabaseClass, DatabaseDescriptor, DatabaseSettings, EntryPlace, SuffixRule, database_handler,
    },
    setting::{Form, Setting, SettingLevel},
    value::Value,
};

/// `database null`.
pub static NULL: DatabaseDescriptor = DatabaseDescriptor {
    name: "null",
    aliases: &[],
    modules: &[],
    entries: EntryPlace::Nowhere,
    suffix: SuffixRule::Many,
    classes: &[DatabaseClass {
        names: &["olcNullConfig"],
        oid: "2.8.1",
        attributes: ClassAttributes::OfSettings,
    }],
    backend_class: None,
    settings: &[ROWS],
    begin: DatabaseConfig::begin::<NullConfig>,
    introduction: "",
};

/// What a null database does with requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NullConfig {
    /// `bind`: whether any name below the suffix is authenticated, with any password.
    pub bind: bool,
    /// `dosearch`: whether each search returns the suffix.
    pub do_search: bool,
}

impl DatabaseSettings for NullConfig {
    fn check(&self, database: &DatabaseConfig) -> Result<(), SettingError> {
        if self.do_search && database.subordinate.is_some() {
            return Err("a subordinate database cannot have dosearch".into());
        }
        Ok(())
    }
}

const LEVEL: SettingLevel = SettingLevel::DatabaseOf(&["null"]);

const ROWS: &[Setting] = &[
    Setting::new(LEVEL, &["bind"], &["olcDbBindAllowed"])
        .olc("2.8.1", Form::Boolean)
        .shown()
        .takes("on|off", "FALSE")
        .does("Authenticates any name below the suffix, with any password. Otherwise only the rootdn can bind.")
        .like(&["on"])
        .obeyed(database_handler!(
            NullConfig,
            |settings, statement| {
                settings.bind = Value::parse(statement)?;
                Ok(())
            },
            |settings, _| settings.bind.text(),
        )),
    Setting::new(LEVEL, &["dosearch"], &["olcDbDoSearch"])
        .olc("2.8.2", Form::Boolean)
        .shown()
        .takes("on|off", "FALSE")
        .does(
            "Returns one entry to each search, whatever its filter: the suffix, with the attribute of its name. A \
             `subordinate` database cannot have this.",
        )
        .since("2.5")
        .like(&["on"])
        .obeyed(database_handler!(
            NullConfig,
            |settings, statement| {
                settings.do_search = Value::parse(statement)?;
                Ok(())
            },
            |settings, _| settings.do_search.text(),
        )),
];
