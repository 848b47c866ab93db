//! Reads a whole configuration in spite of errors: for tools that report all of them at once.
//!
//! Invalid statements are skipped, and so is everything in a database or a backend that is refused.

use std::sync::Arc;

use crate::{
    ConfigError, DatabaseConfig, Fate, FileSource, GlobalConfig, Handler, LoadedConfiguration, Setting,
    error::Complain,
    kinds::CONFIG,
    load::{self, Loading},
    reader::{self, ConfigLine},
    registry::Registry,
    schema_lines::{build_schema, load_ciboolean, schema_statements},
};

/// The parts that were read, and all errors.
#[derive(Debug)]
pub struct Survey {
    /// The valid parts. A server accepts the configuration only if nothing was refused.
    pub configuration: LoadedConfiguration,
    /// Every statement but schema definitions, in the order in which they were read.
    pub statements: Vec<Surveyed>,
    /// Errors outside statements: files, schema definitions, databases as a whole.
    pub errors: Vec<ConfigError>,
}

/// A statement, and the result of reading it.
#[derive(Clone, Debug)]
pub struct Surveyed {
    /// The statement; in cn=config, one value of an attribute.
    pub line: ConfigLine,
    /// Its row; `None`: there is none.
    pub row: Option<&'static Setting>,
    /// Where it stands. A `database` line counts as part of the database that it begins.
    pub section: SurveyedSection,
    /// Why it was refused.
    pub refusal: Option<ConfigError>,
    /// The refused overlay before it, to which an unknown statement may belong.
    pub refused_overlay: Option<Arc<str>>,
}

/// The place of a statement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SurveyedSection {
    /// Before any other.
    Global,
    /// `backend`.
    Backend,
    /// `database frontend`.
    Frontend,
    /// `database config`.
    Config,
    /// A database, by its position in [`LoadedConfiguration::databases`].
    Database(usize),
    /// A database or backend that was refused.
    Refused,
}

/// The statements so far.
#[derive(Debug, Default)]
pub(crate) struct SurveyRecord {
    statements: Vec<Surveyed>,
    refused_overlay: Option<Arc<str>>,
}

/// Reads a slapd.conf file with all it includes.
pub fn survey(path: &str, files: &dyn FileSource, registry: &Registry) -> Survey {
    Survey::of(registry, |complain| {
        let lines = reader::read_on(path, files, complain)?;
        let (definitions, statements) = schema_statements(lines);
        let schema = build_schema(registry, &definitions, load_ciboolean(&statements), complain)?;
        let read = load::load_statements(Loading::surveying(schema, registry), &statements, complain);
        let (mut configuration, statements) = read?;
        configuration.keep_definitions(definitions);
        configuration.file = path.into();
        Ok((configuration, statements))
    })
}

impl Survey {
    /// The survey of no configuration.
    pub fn of_nothing(registry: &Registry) -> Self {
        Self {
            configuration: nothing(registry),
            statements: Vec::new(),
            errors: Vec::new(),
        }
    }

    /// The survey of the configuration that `read` reads; `read` is given the collector of errors.
    pub(crate) fn of(
        registry: &Registry,
        read: impl FnOnce(&mut Complain<'_>) -> Result<(LoadedConfiguration, Vec<Surveyed>), ConfigError>,
    ) -> Self {
        let mut errors = Vec::new();
        let mut complain = |error: ConfigError| {
            errors.push(error);
            if errors.len() < MAXIMUM_ERRORS {
                Ok(())
            } else {
                Err(ConfigError::Unreadable {
                    path: "configuration".to_owned(),
                    reason: format!("more than {MAXIMUM_ERRORS} errors: the rest was not read"),
                })
            }
        };
        match read(&mut complain) {
            Ok((configuration, statements)) => Self {
                configuration,
                statements,
                errors,
            },
            Err(error) => {
                errors.push(error);
                Self {
                    errors,
                    ..Self::of_nothing(registry)
                }
            }
        }
    }
}

impl Surveyed {
    /// Whether its row has this name.
    pub fn means(&self, name: &str) -> bool {
        self.row.is_some_and(|row| row.name() == name)
    }

    /// Why it has no meaning here, if it has none and is not just a default.
    pub fn why_meaningless(&self) -> Option<&'static str> {
        let row = self.row?;
        let Fate::Meaningless(reason) = row.fate else {
            return None;
        };
        let is_default = row.is_default(&self.line.value(row));
        (!is_default && self.refusal.is_none() && self.section != SurveyedSection::Refused).then_some(reason)
    }
}

impl SurveyRecord {
    pub(crate) fn add(
        &mut self,
        row: Option<&'static Setting>,
        line: &ConfigLine,
        section: SurveyedSection,
        refusal: Option<ConfigError>,
    ) {
        if let Some(row) = row.filter(|row| matches!(row.fate, Fate::Obeyed(Handler::Structure))) {
            let is_refused_overlay = row.name() == "overlay" && refusal.is_some();
            let name = line.arguments.first().filter(|_| is_refused_overlay);
            self.refused_overlay = name.map(|name| Arc::from(name.as_str()));
        }
        self.statements.push(Surveyed {
            line: line.clone(),
            row,
            section,
            refusal,
            refused_overlay: self.refused_overlay.clone(),
        });
    }

    pub(crate) fn into_statements(self) -> Vec<Surveyed> {
        self.statements
    }
}

/// Only defaults: the result for an unreadable configuration.
fn nothing(registry: &Registry) -> LoadedConfiguration {
    let schema = Arc::clone(registry.base_schema());
    let frontend = DatabaseConfig::frontend();
    let location = frontend.location.clone();
    LoadedConfiguration {
        global: GlobalConfig::default(),
        config: DatabaseConfig::new(&CONFIG, location, &frontend, &schema),
        frontend,
        databases: Vec::new(),
        schema,
        schema_definitions: Arc::default(),
        file: "".into(),
        registry: registry.clone(),
        backends: Vec::new(),
        notices: Vec::new(),
    }
}

/// No reader needs more errors.
const MAXIMUM_ERRORS: usize = 10_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryFiles;

    fn reasons(text: &str) -> Vec<(u32, String)> {
        let survey = survey(
            "slapd.conf",
            &MemoryFiles::file("slapd.conf", text),
            &Registry::default(),
        );
        let refused = survey.statements.iter().filter_map(|one| one.refusal.as_ref());
        let all = survey.errors.iter().chain(refused);
        let line = |error: &ConfigError| error.location().map_or(0, |location| location.line);
        let mut found: Vec<_> = all.map(|error| (line(error), error.reason())).collect();
        found.sort();
        found
    }

    #[test]
    fn every_error_is_found_and_what_belongs_to_a_refused_part_is_passed_over() {
        let found = reasons(
            "nonsense 1\ninclude /none\nsizelimit many\n\"open\nattributetype ( 1.2.3 NAME 'x\ndatabase nosuch\nuri x\n\
             index cn eq\nsuffix bad\ndatabase mdb\nindex nosuch eq\ndatabase mdb\nsuffix cn=b\noverlay nosuch\nits-own 1\ndirectory b\n",
        );
        let lines: Vec<_> = found.iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [1, 2, 3, 4, 5, 6, 10, 11, 14, 15], "{found:?}");
    }

    #[test]
    fn what_is_right_is_the_configuration_that_a_server_loads() {
        let text = "sizelimit 7\ndatabase mdb\nsuffix cn=a\ndirectory a\nindex cn eq\n";
        let files = MemoryFiles::file("slapd.conf", text);
        let survey = survey("slapd.conf", &files, &Registry::default());
        let loaded = crate::load("slapd.conf", &files, &Registry::default()).unwrap();
        assert_eq!(survey.configuration.databases, loaded.databases);
        assert!(survey.errors.is_empty() && survey.statements.iter().all(|one| one.refusal.is_none()));
        let sections: Vec<_> = survey.statements.iter().map(|one| one.section).collect();
        assert_eq!(sections.first(), Some(&SurveyedSection::Global));
        assert_eq!(sections.get(1..), Some(&[SurveyedSection::Database(0); 4][..]));
    }

    #[test]
    fn a_file_that_includes_itself_is_an_error_among_others() {
        let found = reasons("include slapd.conf\nnonsense 1\n");
        assert_eq!(found.len(), 2, "{found:?}");
    }
}
