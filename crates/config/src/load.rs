//! From statements to a configuration: sections, look-up of rows, checks of the whole.

mod check;
mod misplaced;

use std::{cell::RefCell, sync::Arc};

use ironbark_model::{Dn, Schema, schema::Source};

use self::misplaced::{misplaced, unknown};
use crate::{
    ConfigError, DatabaseConfig, ErrorSubject, FileSource, GlobalConfig, Notice, NoticeKind, OverlayConfig,
    SettingError,
    access::AccessRule,
    database::{DatabaseDescriptor, EntryPlace, SuffixRule},
    error::Complain,
    kinds::CONFIG,
    overlay::{self, Occurrence},
    parts::PartKind,
    reader::{self, ConfigLine},
    registry::{Place, Registry},
    schema_lines::{self, build_schema, load_ciboolean, schema_statements},
    schema_statement::SchemaStatement,
    setting::{Fate, Handler, Setting, SettingLevel},
    statement::{Kept, Statement, ValueAge},
    survey::{SurveyRecord, Surveyed, SurveyedSection},
};

/// A complete, checked configuration. Immutable once loaded.
#[derive(Clone, Debug)]
pub struct LoadedConfiguration {
    /// Settings of the server.
    pub global: GlobalConfig,
    /// The settings that all databases inherit. Its access rules follow those of each database, and apply to the root
    /// DSE and cn=Subschema.
    pub frontend: DatabaseConfig,
    /// cn=config, which always exists: `{0}config`.
    pub config: DatabaseConfig,
    /// The other databases in the order of the file, `{1}` and up. The first one whose suffix contains a name has that
    /// name.
    pub databases: Vec<DatabaseConfig>,
    /// The schema: the system's and all definitions of the file.
    pub schema: Arc<Schema>,
    /// The definitions, in order.
    pub schema_definitions: Arc<[SchemaStatement]>,
    /// The file; empty if the configuration comes from a tree.
    pub file: Arc<str>,
    /// The parts that it may name.
    pub registry: Registry,
    /// `backend` sections: settings without meaning here.
    pub(crate) backends: Vec<(&'static DatabaseDescriptor, Kept)>,
    /// Notices for the log.
    pub notices: Vec<Notice>,
}

impl LoadedConfiguration {
    /// The position of the database that holds a name: the one with the longest suffix, without hidden ones.
    pub fn database_holding(&self, dn: &Dn) -> Option<usize> {
        let mut best: Option<(usize, usize)> = None;
        for (at, database) in self.databases.iter().enumerate().filter(|(_, one)| !one.hidden) {
            for suffix in database.suffixes.iter().filter(|suffix| dn.is_within(suffix)) {
                if best.is_none_or(|(depth, _)| suffix.depth() > depth) {
                    best = Some((suffix.depth(), at));
                }
            }
        }
        best.map(|(_, at)| at)
    }
}

impl LoadedConfiguration {
    /// Notes which databases are glued into one that others follow: they must keep their changes, too.
    pub fn note_glued_into_providers(&mut self) {
        let roots: Vec<(Dn, bool)> = self
            .databases
            .iter()
            .filter(|database| database.subordinate.is_none())
            .flat_map(|database| {
                let provides = database.overlays.iter().any(OverlayConfig::keeps_changes);
                database.suffixes.iter().map(move |suffix| (suffix.clone(), provides))
            })
            .collect();
        for database in self.databases.iter_mut().filter(|one| one.subordinate.is_some()) {
            let Some(suffix) = database.suffixes.first() else {
                continue;
            };
            let above = roots.iter().filter(|(root, _)| suffix.is_within(root));
            let nearest = above.max_by_key(|(root, _)| root.depth());
            database.is_provided_by_superior = nearest.is_some_and(|(_, provides)| *provides);
        }
    }
}

impl LoadedConfiguration {
    /// Keeps the definitions from which the schema was built, and notes what of them has no effect.
    pub(crate) fn keep_definitions(&mut self, definitions: Vec<SchemaStatement>) {
        let schema = &self.schema;
        let notices = definitions.iter().filter_map(|one| schema_lines::notice(one, schema));
        self.notices.extend(notices);
        self.schema_definitions = definitions.into();
    }
}

/// Reads a slapd.conf file with all its includes. Definitions may stand after their use: the schema is built first.
///
/// # Errors
/// The first error, with file and line.
pub fn load(path: &str, files: &dyn FileSource, registry: &Registry) -> Result<LoadedConfiguration, ConfigError> {
    let lines = reader::read(path, files)?;
    let (definitions, statements) = schema_statements(lines);
    let schema = build_schema(registry, &definitions, load_ciboolean(&statements), &mut Err)?;
    let (mut configuration, _) = load_statements(Loading::new(schema, registry), &statements, &mut Err)?;
    configuration.keep_definitions(definitions);
    configuration.file = path.into();
    Ok(configuration)
}

/// Loads the statements of a file, and checks the whole.
pub(crate) fn load_statements(
    mut loading: Loading,
    statements: &[ConfigLine],
    complain: &mut Complain<'_>,
) -> Result<(LoadedConfiguration, Vec<Surveyed>), ConfigError> {
    for line in statements {
        loading.statement(line)?;
    }
    loading.finish(complain)
}

/// A configuration under construction, statement by statement.
pub(crate) struct Loading {
    registry: Registry,
    schema: Arc<Schema>,
    global: GlobalConfig,
    frontend: DatabaseConfig,
    /// `None` until it is declared.
    config: Option<DatabaseConfig>,
    databases: Vec<DatabaseConfig>,
    backends: Vec<(&'static DatabaseDescriptor, Kept)>,
    section: Section,
    /// Whether the present values are being set.
    value: ValueAge,
    /// The positions of databases that were in cn=config before.
    older: Vec<usize>,
    notices: Vec<Notice>,
    /// The result for each statement, if errors are skipped.
    survey: Option<SurveyRecord>,
}

/// The struct that the following statements fill.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    Global,
    Backend(&'static DatabaseDescriptor),
    /// `database frontend`.
    Frontend,
    /// `database config`.
    Config,
    /// The last database.
    Database,
    /// A database or backend that was refused: only a survey continues there.
    Refused,
}

impl Loading {
    pub(crate) fn new(schema: Arc<Schema>, registry: &Registry) -> Self {
        Self {
            registry: registry.clone(),
            schema,
            global: GlobalConfig::default(),
            frontend: DatabaseConfig::frontend(),
            config: None,
            databases: Vec::new(),
            backends: Vec::new(),
            section: Section::Global,
            value: ValueAge::New,
            older: Vec::new(),
            notices: Vec::new(),
            survey: None,
        }
    }

    /// The same; errors in statements are recorded, and the statements skipped.
    pub(crate) fn surveying(schema: Arc<Schema>, registry: &Registry) -> Self {
        Self {
            survey: Some(SurveyRecord::default()),
            ..Self::new(schema, registry)
        }
    }

    fn statement(&mut self, line: &ConfigLine) -> Result<(), ConfigError> {
        let row = match self.row(line) {
            Ok(row) => row,
            // The settings of an unknown database are unknown too.
            Err(_) if self.section == Section::Refused => return self.settle(None, line, Ok(())),
            Err(unknown) => return self.settle(None, line, Err(unknown)),
        };
        match self.check_place(row) {
            Ok(()) => self.apply(row, line),
            Err(error) => {
                let refused = ConfigError::of_setting(&line.location, &line.keyword, error);
                self.settle(Some(row), line, Err(refused))
            }
        }
    }

    /// Carries out a row for a statement at any place.
    pub(crate) fn apply(&mut self, row: &'static Setting, line: &ConfigLine) -> Result<(), ConfigError> {
        let is_structure = matches!(row.fate, Fate::Obeyed(Handler::Structure));
        let is_global = matches!(row.level, SettingLevel::Global | SettingLevel::BeforeDatabases);
        if self.section == Section::Refused && !is_structure && !is_global {
            return self.settle(Some(row), line, Ok(()));
        }
        let outcome = self.act(row, line);
        if outcome.is_err() && is_structure && self.survey.is_some() && row.name() != "overlay" {
            self.section = Section::Refused;
        }
        self.settle(Some(row), line, outcome)
    }

    /// Ends with the first error, or records the result of a statement.
    fn settle(
        &mut self,
        row: Option<&'static Setting>,
        line: &ConfigLine,
        outcome: Result<(), ConfigError>,
    ) -> Result<(), ConfigError> {
        let section = match self.section {
            Section::Global => SurveyedSection::Global,
            Section::Backend(_) => SurveyedSection::Backend,
            Section::Frontend => SurveyedSection::Frontend,
            Section::Config => SurveyedSection::Config,
            Section::Database => SurveyedSection::Database(self.databases.len().saturating_sub(1)),
            Section::Refused => SurveyedSection::Refused,
        };
        match &mut self.survey {
            None => outcome,
            Some(record) => {
                record.add(row, line, section, outcome.err());
                Ok(())
            }
        }
    }

    /// Says whether the values that follow are being set.
    pub(crate) fn value_age(&mut self, age: ValueAge) {
        self.value = age;
    }

    /// The present database was in cn=config before. If the steps of a client leave it without a part, it is not served
    /// until the part is there.
    pub(crate) fn database_is_older(&mut self) {
        if self.section == Section::Database {
            self.older.push(self.databases.len().saturating_sub(1));
        }
    }

    /// An attribute of cn=config without a row: a server ignores it.
    pub(crate) fn unknown_attribute(&mut self, line: &ConfigLine) -> Result<(), ConfigError> {
        self.settle(None, line, Ok(()))
    }

    fn act(&mut self, row: &'static Setting, line: &ConfigLine) -> Result<(), ConfigError> {
        let refused = |error: SettingError| ConfigError::of_setting(&line.location, &line.keyword, error);
        if let Some(word) = line.unsayable(row) {
            let reason =
                format!("\"{word}\" has no form in cn=config: a double quote before a blank ends a word there");
            return Err(refused(reason.into()));
        }
        let text = line.value(row);
        // A default value is allowed even for an unsupported part.
        let is_default = row.is_default(&text);
        match row.fate {
            Fate::Refused(_) if is_default => Ok(()),
            Fate::Refused(part) => Err(refused(SettingError::MissingPart(part.to_owned()))),
            Fate::Meaningless(reason) => {
                if !is_default {
                    self.notice(line, format!("has no meaning here: {reason}"), NoticeKind::Meaningless);
                }
                match self.overlay_of(row) {
                    Some(overlay) => overlay.kept.push(row.name(), text),
                    None => self.kept().push(row.name(), text),
                }
                Ok(())
            }
            Fate::Obeyed(Handler::Structure) => self.structure(line).map_err(refused),
            Fate::Obeyed(handler) => {
                let notices = RefCell::default();
                self.obey(row, handler, line, &notices).map_err(refused)?;
                for (kind, text) in notices.into_inner() {
                    self.notice(line, text, kind);
                }
                Ok(())
            }
        }
    }

    /// The overlay of the present database that a setting belongs to.
    fn overlay_of(&mut self, row: &Setting) -> Option<&mut OverlayConfig> {
        let SettingLevel::Overlay(name) = row.level else {
            return None;
        };
        let mut own = self.target().overlays.iter_mut().rev();
        own.find(|overlay| overlay.name() == name)
    }

    /// The place where statements without meaning are kept.
    fn kept(&mut self) -> &mut Kept {
        match self.section {
            Section::Backend(kind) => {
                let at = self.backends.iter().position(|(known, _)| *known == kind);
                let at = at.unwrap_or_else(|| {
                    self.backends.push((kind, Kept::default()));
                    self.backends.len() - 1
                });
                match self.backends.get_mut(at) {
                    Some((_, kept)) => kept,
                    None => &mut self.global.kept,
                }
            }
            Section::Global => &mut self.global.kept,
            _ => &mut self.target().kept,
        }
    }

    fn notice(&mut self, line: &ConfigLine, text: String, kind: NoticeKind) {
        self.notices.push(Notice {
            location: line.location.clone(),
            subject: ErrorSubject::Setting(line.keyword.clone()),
            text,
            kind,
        });
    }

    fn row(&self, line: &ConfigLine) -> Result<&'static Setting, ConfigError> {
        let overlays = |config: &DatabaseConfig| -> Vec<&'static str> {
            config.overlays.iter().rev().map(OverlayConfig::name).collect()
        };
        let global = overlays(&self.frontend);
        let database = match self.section {
            Section::Config => self.config.as_ref(),
            Section::Database => self.databases.last(),
            _ => None,
        };
        let own = database.map(overlays).unwrap_or_default();
        let place = match (self.section, database) {
            (Section::Backend(kind), _) => Place::Backend(kind.name),
            (_, Some(database)) => Place::Database(database.kind.name, &own),
            _ => Place::Global,
        };
        let row = self.registry.find(&line.keyword, place, &global);
        row.ok_or_else(|| unknown(&self.registry, line, place))
    }

    fn check_place(&self, row: &Setting) -> Result<(), SettingError> {
        match row.level {
            SettingLevel::BeforeDatabases if self.config.is_some() || !self.databases.is_empty() => {
                Err(misplaced("must occur before any database declaration"))
            }
            SettingLevel::Database if matches!(self.section, Section::Global | Section::Backend(_)) => {
                Err(misplaced("only allowed within database declaration"))
            }
            _ => Ok(()),
        }
    }

    fn structure(&mut self, line: &ConfigLine) -> Result<(), SettingError> {
        let [name] = line.arguments.as_slice() else {
            return Err("takes one <type> argument".into());
        };
        match line.keyword.to_ascii_lowercase().as_str() {
            "database" => self.database(name, line),
            "backend" => self.backend(name),
            "overlay" => self.overlay(name, line),
            // The reader has replaced `include`.
            other => Err(SettingError::Misplaced(format!("\"{other}\" is out of place"))),
        }
    }

    fn database(&mut self, name: &str, line: &ConfigLine) -> Result<(), SettingError> {
        let kind = database_kind(&self.registry, name)?;
        if kind.entries == EntryPlace::Frontend {
            self.section = Section::Frontend;
            return Ok(());
        }
        let is_there = self
            .config
            .iter()
            .chain(&self.databases)
            .any(|database| database.kind == kind);
        if is_there && matches!(kind.suffix, SuffixRule::Fixed(_)) {
            return Err(format!("only one {} database is allowed", kind.name).into());
        }
        let database = DatabaseConfig::new(kind, line.location.clone(), &self.frontend, &self.schema);
        if kind == &CONFIG {
            self.config = Some(database);
            self.section = Section::Config;
        } else {
            self.databases.push(database);
            self.section = Section::Database;
        }
        Ok(())
    }

    /// The database, or the frontend, that the present statements fill.
    fn target(&mut self) -> &mut DatabaseConfig {
        let database = match self.section {
            Section::Config => self.config.as_mut(),
            Section::Database => self.databases.last_mut(),
            _ => None,
        };
        database.unwrap_or(&mut self.frontend)
    }

    fn backend(&mut self, name: &str) -> Result<(), SettingError> {
        if self.config.is_some() || !self.databases.is_empty() {
            return Err(misplaced("must occur before any database declaration"));
        }
        let kind = database_kind(&self.registry, name)?;
        self.section = Section::Backend(kind);
        if !self.backends.iter().any(|(known, _)| *known == kind) {
            self.backends.push((kind, Kept::default()));
        }
        Ok(())
    }

    fn overlay(&mut self, name: &str, line: &ConfigLine) -> Result<(), SettingError> {
        // cn=config writes `{0}memberof`; slapd.conf may too.
        let name = match name.strip_prefix('{').and_then(|rest| rest.split_once('}')) {
            Some((digits, rest)) if digits.bytes().all(|digit| digit.is_ascii_digit()) => rest,
            _ => name,
        };
        if let Some(descriptor) = self.registry.overlay(name) {
            let overlays = &mut self.target().overlays;
            let is_there = overlays.iter().any(|other| other.descriptor() == descriptor);
            if is_there && descriptor.occurrence == Occurrence::Once {
                return Err(format!("overlay \"{name}\" already in list").into());
            }
            overlays.push(OverlayConfig::new(descriptor, line.location.clone()));
            return Ok(());
        }
        let part = self.registry.parts().overlay(name);
        let part = part.ok_or_else(|| SettingError::UnknownPart(format!("overlay \"{name}\"")))?;
        match part.kind {
            PartKind::BuiltIn(reason) => {
                self.notice(line, format!("{name}: {reason}"), NoticeKind::BuiltIn);
                Ok(())
            }
            _ => Err(part.absent(format!("\"{name}\""))),
        }
    }

    /// The overlay there has no effect; its settings are checked all the same.
    pub(crate) fn disable_overlay(&mut self, location: &Source) {
        if let Some(overlay) = self
            .target()
            .overlays
            .last_mut()
            .filter(|overlay| overlay.location == *location)
        {
            overlay.is_disabled = true;
        }
    }

    fn obey(
        &mut self,
        row: &Setting,
        handler: Handler,
        line: &ConfigLine,
        notices: &RefCell<Vec<(NoticeKind, String)>>,
    ) -> Result<(), SettingError> {
        let schema = Arc::clone(&self.schema);
        let registry = self.registry.clone();
        let statement = Statement {
            keyword: &line.keyword,
            arguments: &line.arguments,
            escapes: &line.escapes,
            grammar: row.grammar,
            schema: &schema,
            parts: registry.parts(),
            location: &line.location,
            value: self.value,
            notices,
        };
        match handler {
            Handler::Global { set, .. } => set(&mut self.global, &statement),
            Handler::Database { set, .. } => set(self.target(), &statement),
            Handler::Overlay { set, .. } => {
                let is_wanted = |overlay: &&mut OverlayConfig| row.level == SettingLevel::Overlay(overlay.name());
                let mut own = self.target().overlays.iter_mut().rev();
                if let Some(overlay) = own.find(is_wanted) {
                    return set(overlay, &statement);
                }
                match self.frontend.overlays.iter_mut().rev().find(is_wanted) {
                    Some(overlay) => set(overlay, &statement),
                    None => Err(misplaced("stands outside its overlay")),
                }
            }
            Handler::Schema(_) | Handler::Structure => Ok(()),
        }
    }

    fn check_databases(&mut self, complain: &mut Complain<'_>) -> Result<(), ConfigError> {
        for position in 0..self.databases.len() {
            let (before, others) = self.databases.split_at_mut(position);
            let Some(database) = others.first_mut() else { continue };
            if let Err(error) = check::check_parts(database) {
                if self.older.contains(&position) {
                    database.disabled = true;
                    self.notices.push(check::not_served(&error, &database.location));
                } else {
                    complain(error)?;
                }
                continue;
            }
            if let Err(error) = check::check_database(database, before) {
                complain(error)?;
            }
        }
        Ok(())
    }

    /// Checks the whole; `complain` decides for each error whether it ends the reading.
    pub(crate) fn finish(
        mut self,
        complain: &mut Complain<'_>,
    ) -> Result<(LoadedConfiguration, Vec<Surveyed>), ConfigError> {
        let mut config = match self.config.take() {
            Some(config) => config,
            None => DatabaseConfig::new(
                &CONFIG,
                DatabaseConfig::frontend().location,
                &self.frontend,
                &self.schema,
            ),
        };
        if config.access.is_empty() {
            let rule = AccessRule::nothing_to_anybody(&config.location);
            config.access.push(rule);
        }
        for database in &mut self.databases {
            database.restrict_as(&self.frontend);
        }
        self.check_databases(complain)?;
        if let Err(error) = check::check_config(&config) {
            complain(error)?;
        }
        for database in self.databases.iter_mut().chain([&mut self.frontend, &mut config]) {
            match overlay::check(database, &self.schema) {
                Ok(notices) => self.notices.extend(notices),
                Err(error) => complain(error)?,
            }
            database.overlays.retain(|overlay| !overlay.is_disabled);
        }
        let statements = self.survey.map(SurveyRecord::into_statements).unwrap_or_default();
        let configuration = LoadedConfiguration {
            global: self.global,
            frontend: self.frontend,
            config,
            databases: self.databases,
            schema: self.schema,
            schema_definitions: Arc::default(),
            file: "".into(),
            registry: self.registry,
            backends: self.backends,
            notices: self.notices,
        };
        Ok((configuration, statements))
    }
}

fn database_kind(registry: &Registry, name: &str) -> Result<&'static DatabaseDescriptor, SettingError> {
    // `{1}mdb` is how cn=config numbers databases.
    let name = match name.strip_prefix('{').and_then(|rest| rest.split_once('}')) {
        Some((_, rest)) => rest,
        None => name,
    };
    registry
        .database(name)
        .ok_or_else(|| match registry.parts().database(name) {
            Some(part) => part.absent(format!("\"{name}\"")),
            None => SettingError::UnknownPart(format!("database type \"{name}\"")),
        })
}

#[cfg(test)]
mod tests;
