//! LDIF files of the first start: entries, and changes of cn=config, in the order in which they are written.

use std::{
    cell::RefCell,
    fs::{self, File},
    io::{BufRead, BufReader, Cursor},
    path::{Path, PathBuf},
};

use ironbark_ldif::{FileResolver, LdifError, LdifReader, LdifRecord};
use ironbark_model::Dn;
use ironbark_runtime::SignalFlag;

use super::layout::{Layout, failed};
use crate::{
    commands::slapmodify,
    shared::{chosen::Chosen, config_database, load_options::LoadOptions, options::Options},
};

/// Loads LDIF into a new directory.
pub(super) struct Loader<'l> {
    pub(super) layout: &'l Layout,
    pub(super) suffix: &'l str,
    /// Names in double braces, and what they stand for. With them, a file that has a change has changes only, as
    /// osixia's scripts take it.
    pub(super) placeholders: &'l [(&'static str, String)],
    /// Whether entries are left to another host; changes of cn=config are not.
    pub(super) leaves_entries: bool,
    /// The server in CSNs.
    pub(super) server_id: u16,
    pub(super) stop: &'l SignalFlag,
}

/// The database that a record is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Target {
    Config,
    Entries,
}

impl Loader<'_> {
    /// Loads the LDIF files of a folder in the order of their names, or one file. A place that does not exist has none.
    ///
    /// # Errors
    /// File, line and reason.
    pub(super) fn place(&self, place: &Path) -> Result<usize, String> {
        let files = files(place, "ldif")?;
        for path in &files {
            self.file(path)?;
        }
        Ok(files.len())
    }

    fn file(&self, path: &Path) -> Result<(), String> {
        let named = |error: String| format!("{}: {error}", path.display());
        if self.placeholders.is_empty() {
            let file = File::open(path).map_err(failed(path))?;
            return self.records(Box::new(BufReader::new(file)), false).map_err(named);
        }
        let mut text = fs::read_to_string(path).map_err(failed(path))?;
        for (name, value) in self.placeholders {
            text = text.replace(&format!("{{{{ {name} }}}}"), value);
        }
        let has_changes = text.to_ascii_lowercase().contains("changetype");
        self.records(Box::new(Cursor::new(text.into_bytes())), has_changes)
            .map_err(named)
    }

    /// Loads LDIF.
    ///
    /// # Errors
    /// Line and reason.
    pub(super) fn records(&self, input: Box<dyn BufRead>, modifies: bool) -> Result<(), String> {
        let mut reader = LdifReader::new(input, FileResolver::default());
        if modifies {
            reader = reader.with_modify_by_default();
        }
        let source = RefCell::new(Source { reader, ahead: None });
        loop {
            if self.stop.is_set() {
                return Err("stopped by a signal".to_owned());
            }
            let target = match source.borrow_mut().peek() {
                Ok(Some(record)) => target(record),
                Ok(None) => return Ok(()),
                Err(error) => return Err(error.to_string()),
            };
            let mut next = || {
                let mut source = source.borrow_mut();
                let is_next = source.peek()?.is_some_and(|record| self::target(record) == target);
                if is_next && !self.stop.is_set() {
                    source.next()
                } else {
                    Ok(None)
                }
            };
            let loaded = match target {
                Target::Config => config_database::apply(&self.options(0), &mut next).map(drop),
                Target::Entries if self.leaves_entries => {
                    while next().map_err(|error| error.to_string())?.is_some() {}
                    Ok(())
                }
                Target::Entries => self.entries(&source, &mut next),
            };
            loaded.map_err(|error| error.strip_prefix("slapmodify: ").unwrap_or(&error).to_owned())?;
        }
    }

    fn entries(&self, source: &RefCell<Source<'_>>, next: &mut config_database::NextRecord<'_>) -> Result<(), String> {
        let configuration = ironbark_server::load_configuration(None, Some(&self.layout.config))
            .map_err(|error| error.to_string())?
            .configuration;
        let dn = source
            .borrow()
            .ahead
            .as_ref()
            .map(|record| record.dn.clone())
            .unwrap_or_default();
        let dn = Dn::parse(&configuration.schema, &dn).unwrap_or_default();
        let main = Dn::parse(&configuration.schema, self.suffix.as_bytes()).unwrap_or_default();
        let position = configuration
            .database_holding(&dn)
            .or_else(|| configuration.database_holding(&main));
        let options = self.options(position.map_or(1, |position| position + 1));
        let chosen = Chosen::new(&options).map_err(|()| "the configuration cannot be read".to_owned())?;
        let load = LoadOptions {
            server_id: self.server_id,
            ..LoadOptions::default()
        };
        slapmodify::apply(&options, &load, &chosen, next).map(drop)
    }

    fn options(&self, number: usize) -> Options {
        Options {
            program: "slapmodify",
            config_directory: Some(self.layout.config.clone()),
            number: Some(number),
            // The files are written through at the end; an interrupted start begins anew.
            quick: true,
            ..Options::default()
        }
    }
}

/// Records with one ahead.
struct Source<'r> {
    reader: LdifReader<'r, FileResolver>,
    ahead: Option<LdifRecord>,
}

impl Source<'_> {
    fn peek(&mut self) -> Result<Option<&LdifRecord>, LdifError> {
        if self.ahead.is_none() {
            self.ahead = self.reader.read()?;
        }
        Ok(self.ahead.as_ref())
    }

    fn next(&mut self) -> Result<Option<LdifRecord>, LdifError> {
        self.peek()?;
        Ok(self.ahead.take())
    }
}

fn target(record: &LdifRecord) -> Target {
    let name = String::from_utf8_lossy(&record.dn).to_ascii_lowercase();
    let name: String = name.split_whitespace().collect();
    if name == "cn=config" || name.ends_with(",cn=config") {
        Target::Config
    } else {
        Target::Entries
    }
}

/// The files with an extension below a folder, in the order of their names, or the one file itself.
///
/// # Errors
/// A folder that cannot be read.
pub(super) fn files(place: &Path, extension: &str) -> Result<Vec<PathBuf>, String> {
    let is_wanted = |path: &Path| {
        path.extension()
            .is_some_and(|found| found.eq_ignore_ascii_case(extension))
    };
    if place.is_file() {
        return Ok(if is_wanted(place) {
            vec![place.to_owned()]
        } else {
            Vec::new()
        });
    }
    let mut found = Vec::new();
    if place.is_dir() {
        for entry in fs::read_dir(place).map_err(failed(place))? {
            let path = entry.map_err(failed(place))?.path();
            let is_hidden = path
                .file_name()
                .is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
            // Kubernetes keeps the versions of a mounted map in hidden folders.
            if is_hidden {
                continue;
            }
            if path.is_dir() {
                found.extend(files(&path, extension)?);
            } else if is_wanted(&path) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}
