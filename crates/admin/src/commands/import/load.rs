//! The converted data: files for slapadd, and what was left out.

use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io::{BufWriter, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    process::ExitCode,
};

use ironbark_ldif::{Attributes, LdifWriter};

use super::{
    configuration::Database,
    survey::{is_within, plain},
};
use crate::commands::slapadd;

/// A file for one database and those glued into it.
struct Target {
    suffix: String,
    shown: String,
    path: PathBuf,
    file: BufWriter<File>,
}

/// All files.
pub(super) struct Output {
    configuration: PathBuf,
    targets: Vec<Target>,
    left_out: PathBuf,
    left_out_file: Option<BufWriter<File>>,
    text: Vec<u8>,
}

fn create(path: &Path) -> Result<BufWriter<File>, String> {
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    file.map(BufWriter::new)
        .map_err(|error| format!("{}: {error}", path.display()))
}

impl Output {
    pub(super) fn new(directory: &Path, databases: &[Database], configuration: &Path) -> Result<Self, String> {
        let mut targets = Vec::new();
        for database in databases.iter().filter(|database| !database.is_subordinate) {
            let name = match targets.len() {
                0 => "import.ldif".to_owned(),
                number => format!("import-{number}.ldif"),
            };
            let path = directory.join(name);
            targets.push(Target {
                suffix: database.suffix.clone(),
                shown: plain(&database.suffix),
                file: create(&path)?,
                path,
            });
        }
        Ok(Self {
            configuration: configuration.to_owned(),
            targets,
            left_out: directory.join("left-out.ldif"),
            left_out_file: None,
            text: Vec::new(),
        })
    }

    fn write(&mut self, dn: &str, attributes: &Attributes) {
        self.text.clear();
        let writer = LdifWriter::default();
        writer.dn(&mut self.text, dn.as_bytes());
        for (name, value) in attributes {
            writer.attribute(&mut self.text, name, value);
        }
        self.text.push(b'\n');
    }

    /// Adds an entry; `shown` is its plain name.
    pub(super) fn entry(&mut self, dn: &str, shown: &str, attributes: &Attributes) -> Result<(), String> {
        self.write(dn, attributes);
        let holds = |target: &&mut Target| is_within(shown, &target.shown);
        let target = self
            .targets
            .iter_mut()
            .filter(holds)
            .max_by_key(|target| target.shown.len());
        let Some(target) = target else {
            return Err(format!("{dn}: no database holds it"));
        };
        let path = &target.path;
        target
            .file
            .write_all(&self.text)
            .map_err(|error| format!("{}: {error}", path.display()))
    }

    /// Keeps what was left out of an entry.
    pub(super) fn left_out(&mut self, dn: &str, attributes: &Attributes) -> Result<(), String> {
        self.write(dn, attributes);
        let file = match &mut self.left_out_file {
            Some(file) => file,
            none => none.insert(create(&self.left_out)?),
        };
        file.write_all(&self.text)
            .map_err(|error| format!("{}: {error}", self.left_out.display()))
    }

    /// Adds the default password policy. Locked accounts are refused only under a policy with pwdLockout.
    pub(super) fn policy(&mut self, dn: &str, suffix: &str, settings: &[(&str, String)]) -> Result<(), String> {
        let fixed = [
            ("objectClass", "device"),
            ("objectClass", "pwdPolicy"),
            ("cn", "imported password policy"),
            ("pwdAttribute", "userPassword"),
            ("pwdLockout", "TRUE"),
        ];
        let fixed = fixed.map(|(name, value)| (name, value.to_owned()));
        let all = fixed.iter().chain(settings);
        let attributes = all.map(|(name, value)| (name.as_bytes().to_vec(), value.as_bytes().to_vec()));
        let attributes: Attributes = attributes.collect();
        self.entry(dn, &plain(suffix), &attributes)
    }

    /// Loads all files in bulk and removes them.
    pub(super) fn load(mut self) -> Result<(), String> {
        if let Some(file) = &mut self.left_out_file {
            file.flush()
                .map_err(|error| format!("{}: {error}", self.left_out.display()))?;
        }
        for target in &mut self.targets {
            let failed = |error: std::io::Error| format!("{}: {error}", target.path.display());
            target.file.flush().map_err(failed)?;
            // The entries are checked already; those that break the schema are loaded and reported.
            let words: Vec<OsString> = vec![
                "slapadd".into(),
                "-q".into(),
                "-s".into(),
                "-f".into(),
                self.configuration.clone().into(),
                "-b".into(),
                target.suffix.clone().into(),
                "-l".into(),
                target.path.clone().into(),
            ];
            if slapadd::run(words) != ExitCode::SUCCESS {
                return Err(format!(
                    "the entries of {} could not be added; the converted data is in {}",
                    target.suffix,
                    target.path.display()
                ));
            }
        }
        for target in &self.targets {
            fs::remove_file(&target.path).map_err(|error| format!("{}: {error}", target.path.display()))?;
        }
        Ok(())
    }
}
