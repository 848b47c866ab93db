//! `ironbark check-migration`: whether Ironbark can take an installation of OpenLDAP as it stands, in a page.

mod back_mdb;
mod data;
mod page;
mod start;

use std::path::PathBuf;

use clap::Args;
use ironbark_advisor::{Findings, WrittenConfiguration, review};
use ironbark_runtime::Clock;

use self::{
    back_mdb::Size,
    data::{Checked, Source},
    start::Start,
};

/// Options of `ironbark check-migration`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CheckMigration {
    /// slapd's configuration: the directory (slapd.d), or the file (slapd.conf)
    installation: PathBuf,
    /// Check data, too: the output of slapcat. May be given for each database
    #[arg(long, value_name = "FILE", conflicts_with = "slapcat")]
    ldif: Vec<PathBuf>,
    /// Check data, too: OpenLDAP's slapcat, which is run for each database; slapd may be running
    #[arg(long, value_name = "PROGRAM")]
    slapcat: Option<PathBuf>,
}

const EXAMPLES: &str = "Examples:
  ironbark check-migration /etc/ldap/slapd.d --slapcat /usr/sbin/slapcat
  ironbark check-migration slapd.conf --ldif data.ldif";

/// What the page tells.
struct Report<'r> {
    written: &'r WrittenConfiguration,
    findings: Findings,
    /// The installation as it was named.
    named: String,
    /// By the position of their database.
    sizes: Vec<Option<Size>>,
    /// `None`: the data was not asked for, or the configuration does not load.
    checked: Option<Checked>,
    /// Why data could not be read.
    failed: Option<String>,
    start: Start,
}

impl CheckMigration {
    /// Prints the page. The text of an error is empty if there is a reason not to migrate.
    pub(super) fn run(&self) -> Result<(), String> {
        let registry = ironbark_overlays::registry();
        let metadata = self.installation.metadata();
        let metadata = metadata.map_err(|error| format!("{}: {error}", self.installation.display()))?;
        let written = if metadata.is_dir() {
            WrittenConfiguration::of_folder(self.installation.clone(), &registry)
        } else {
            WrittenConfiguration::of_file(&self.installation, &registry).map_err(|error| error.to_string())?
        };
        let findings = review(&written, None, &[]).map_err(|error| error.to_string())?;
        let size = |directory: &PathBuf| back_mdb::size(directory).unwrap_or_default();
        let databases = written.databases().iter();
        let sizes = databases.map(|one| {
            if one.kind.is_stored() {
                size(&one.directory)
            } else {
                None
            }
        });
        let mut report = Report {
            sizes: sizes.collect(),
            named: self.installation.display().to_string(),
            written: &written,
            findings,
            checked: None,
            failed: None,
            start: Start::NotTried,
        };
        if report.findings.loads() {
            report.start = start::rehearsed(&self.installation);
            match self.read_data(&written) {
                Ok(checked) => report.checked = checked,
                Err(text) => report.failed = Some(text),
            }
        }
        anstream::print!("{}", page::page(&report));
        if report.is_possible() {
            Ok(())
        } else {
            Err(String::new())
        }
    }

    fn read_data(&self, written: &WrittenConfiguration) -> Result<Option<Checked>, String> {
        let option = if written.is_directory() { "-F" } else { "-f" };
        let configuration = data::ConfigurationOption {
            option,
            path: &self.installation,
        };
        let files = self.ldif.iter().map(|file| Source::File(file));
        let mut sources: Vec<Source<'_>> = files.collect();
        if let Some(program) = &self.slapcat {
            let stored = written.databases().iter().filter(|database| database.kind.is_stored());
            // slapcat gives glued databases together with their superior.
            let whole = stored.filter(|database| database.subordinate.is_none() && !database.disabled);
            let suffixes = whole.filter_map(|database| database.suffixes.first());
            sources.extend(suffixes.map(|suffix| Source::Slapcat(program, suffix.pretty())));
        }
        if sources.is_empty() {
            return Ok(None);
        }
        let (clock, mut checked) = (Clock::system(), Checked::default());
        for source in &sources {
            data::check(source, configuration, &clock, &mut checked)?;
        }
        Ok(Some(checked))
    }
}

impl Report<'_> {
    /// Whether nothing stands in the way.
    fn is_possible(&self) -> bool {
        let is_refused = self.checked.as_ref().is_some_and(|checked| checked.refused > 0);
        self.findings.loads() && !is_refused && self.failed.is_none() && !matches!(self.start, Start::Fails(_))
    }
}
