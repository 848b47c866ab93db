//! A configuration as written: a slapd.conf file or a configuration directory, read to its end.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

use ironbark_config::{
    DatabaseConfig, Disk, LoadedConfiguration, Notice, Registry, Survey, Surveyed, SurveyedSection,
    olc::{self, Folder, FolderError},
    parts::Part,
};
use ironbark_model::schema::Source;

use crate::{error::ReviewError, finding::FindingPlace};

/// A configuration, and the places of its parts.
#[derive(Debug)]
pub struct WrittenConfiguration {
    pub(crate) configuration: LoadedConfiguration,
    pub(crate) statements: Vec<Surveyed>,
    /// Errors that belong to no statement.
    pub(crate) errors: Vec<ironbark_config::ConfigError>,
    /// Files of a configuration directory that cannot be read or understood.
    pub(crate) file_errors: Vec<FolderError>,
    /// The notices that the log would show.
    pub(crate) notices: Vec<Notice>,
    /// The main file, or the directory.
    main: String,
    /// Whether it is cn=config.
    is_tree: bool,
    /// The entries of cn=config by file.
    entries: HashMap<String, Vec<Entry>>,
}

/// An entry of cn=config.
#[derive(Debug)]
struct Entry {
    line: u32,
    order: usize,
    dn: String,
}

impl WrittenConfiguration {
    /// A slapd.conf file, with all included files. If it cannot be read, that is a finding.
    ///
    /// # Errors
    /// The name is not UTF-8.
    pub fn of_file(path: &Path, registry: &Registry) -> Result<Self, ReviewError> {
        let name = path.to_str().ok_or_else(|| ReviewError::Name(path.to_owned()))?;
        let survey = ironbark_config::survey(name, &Disk, registry);
        Ok(Self::new(survey, name.to_owned(), false))
    }

    /// A configuration directory.
    pub fn of_folder(path: PathBuf, registry: &Registry) -> Self {
        let main = path.display().to_string();
        let mut file_errors = Vec::new();
        let read = Folder::new(path, registry).read_on(&mut |error| {
            file_errors.push(error);
            Ok(())
        });
        let (mut tree, checksums) = match read {
            Ok(read) => read,
            Err(error) => {
                file_errors.push(error);
                let nothing = Self::new(Survey::of_nothing(registry), main, true);
                return Self { file_errors, ..nothing };
            }
        };
        tree.complete();
        let mut written = Self::new(olc::survey(&tree), main, true);
        written.file_errors = file_errors;
        written.notices.splice(0..0, checksums);
        for (order, (dn, node)) in (1..).zip(tree.walk()) {
            let line = node.location.line;
            let of_file = written.entries.entry(node.location.file.to_string()).or_default();
            of_file.push(Entry { line, order, dn });
        }
        written
    }

    /// The databases, in order; the frontend, cn=config and cn=Monitor are not among them unless they are declared.
    pub fn databases(&self) -> &[DatabaseConfig] {
        &self.configuration.databases
    }

    /// Whether it is a configuration directory.
    pub fn is_directory(&self) -> bool {
        self.is_tree
    }

    /// The modules that it loads, in order: the name, and what they are here. `None`: nothing of this name is known.
    pub fn modules(&self) -> impl Iterator<Item = (&str, Option<Part>)> {
        let named = self.statements.iter().filter(|statement| statement.means("moduleload"));
        named.filter_map(|statement| {
            let argument = &**statement.line.arguments.first()?;
            Some((argument, self.configuration.registry.parts().module(argument).copied()))
        })
    }

    /// Statements that are obeyed, and statements that have no meaning here.
    pub fn counts(&self) -> (usize, usize) {
        let meaningless = self
            .statements
            .iter()
            .filter(|one| one.why_meaningless().is_some())
            .count();
        let accepted = self
            .statements
            .iter()
            .filter(|one| one.row.is_some() && one.refusal.is_none());
        (accepted.count() - meaningless, meaningless)
    }

    fn new(survey: Survey, main: String, is_tree: bool) -> Self {
        Self {
            notices: survey.configuration.notices.clone(),
            configuration: survey.configuration,
            statements: survey.statements,
            errors: survey.errors,
            file_errors: Vec::new(),
            main,
            is_tree,
            entries: HashMap::new(),
        }
    }

    /// The place of a statement or an entry.
    pub(crate) fn place(&self, source: &Source) -> FindingPlace {
        if source.line == 0 {
            return self.whole();
        }
        // A schema definition of cn=config stands in `<file> <rdn> <attribute>`, and counts its values.
        let file = match source.file.split_once(".ldif ") {
            Some((file, _)) if !self.entries.is_empty() => format!("{file}.ldif"),
            _ => source.file.to_string(),
        };
        let entry = self.entries.get(&file).and_then(|of_file| match of_file.as_slice() {
            [one] => Some(one),
            all => all.iter().find(|entry| entry.line == source.line),
        });
        FindingPlace {
            order: entry.map_or(0, |entry| entry.order),
            dn: entry.map(|entry| entry.dn.clone()),
            file,
            line: entry.map_or(source.line, |entry| entry.line),
        }
    }

    /// The name of a directive in this configuration: the directive itself, or the attribute of cn=config.
    pub(crate) fn name<'k>(&self, keyword: &'k str) -> &'k str {
        let registry = &self.configuration.registry;
        let attribute = registry.with_keyword(keyword).find_map(|row| row.attributes.first());
        attribute
            .filter(|_| self.is_tree)
            .map_or(keyword, |attribute| attribute)
    }

    /// A statement in this configuration: `index sn eq`, or `olcDbIndex: sn eq`.
    pub(crate) fn line(&self, keyword: &str, value: &str) -> String {
        let colon = if self.is_tree { ":" } else { "" };
        format!("{}{colon} {value}", self.name(keyword))
    }

    /// The configuration as a whole.
    pub(crate) fn whole(&self) -> FindingPlace {
        FindingPlace::in_file(self.main.clone(), 0)
    }

    /// The place of a database's declaration.
    pub(crate) fn database(&self, position: usize) -> FindingPlace {
        let found = self.configuration.databases.get(position);
        found.map_or_else(|| self.whole(), |database| self.place(&database.location))
    }

    /// The accepted statements of the row with this name.
    pub(crate) fn accepted<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Surveyed> {
        self.statements.iter().filter(move |statement| {
            statement.refusal.is_none() && statement.section != SurveyedSection::Refused && statement.means(name)
        })
    }

    /// All statements of one database.
    pub(crate) fn of_database(&self, position: usize) -> impl Iterator<Item = &Surveyed> {
        let section = SurveyedSection::Database(position);
        self.statements
            .iter()
            .filter(move |statement| statement.section == section)
    }
}
