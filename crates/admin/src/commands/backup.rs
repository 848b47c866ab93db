//! `ironbark backup`: copies a database while the server runs. The copy is verified before it gets its final name.

use std::path::{Path, PathBuf};

use clap::Args;
use ironbark_config::{DatabaseConfig, database::EntryPlace};
use ironbark_directory::open;
use ironbark_store::{Staging, StoreError, check};

use crate::shared::{chosen::Chosen, open::open_to_read, progress::Progress, target::Target};

/// Options of `ironbark backup`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Backup {
    #[command(flatten)]
    target: Target,
    /// Leave free pages out; takes longer
    #[arg(long)]
    compact: bool,
    /// A directory, which gets data.mdb, or the file to create; must not exist
    destination: PathBuf,
}

const EXAMPLES: &str = "Examples:
  ironbark backup -f directory/slapd.conf /var/backups/directory.mdb
  ironbark backup -b dc=example,dc=com --compact /var/backups/";

impl Backup {
    pub(super) fn run(&self) -> Result<(), String> {
        let chosen = self.target.choose()?;
        let settings = backed_up(&chosen)?;
        let data = settings.directory.join("data.mdb");
        // With this option LMDB follows the pages and trusts them.
        if self.compact && data.metadata().is_ok_and(|found| found.len() > 0) {
            let found = check::file_in_use(&open::options(settings)).map_err(|error| error.to_string())?;
            if let Some(what) = found.in_short() {
                return Err(format!("the database is not sound: {what}"));
            }
        }
        let Some(database) = open_to_read(settings, &chosen)? else {
            return Err("the database is empty".to_owned());
        };
        let file = if self.destination.is_dir() {
            self.destination.join("data.mdb")
        } else {
            self.destination.clone()
        };
        let parent = file
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        let staging = staging(parent, &file)?;
        database
            .copy_to(staging.path(), self.compact)
            .map_err(|error| shown_as(&file, &staging, &error))?;
        let entries = verify(&staging, settings, &chosen).map_err(|error| shown_as(&file, &staging, &error))?;
        staging.publish(&file).map_err(|error| error.to_string())?;
        println!("{}: {entries} entries, verified", file.display());
        Ok(())
    }
}

/// The chosen database, if it has a file to back up.
pub(super) fn backed_up(chosen: &Chosen) -> Result<&DatabaseConfig, String> {
    let (_, settings) = chosen.databases().next().ok_or("no database")?;
    match settings.kind.entries {
        EntryPlace::Store => Ok(settings),
        EntryPlace::Files => Err("the files of an ldif database are their own backup: copy the directory".to_owned()),
        _ => Err(format!("database {} has no files", settings.kind.name)),
    }
}

/// Checks a copy of the database. Returns the number of entries.
pub(super) fn verify(staging: &Staging, settings: &DatabaseConfig, chosen: &Chosen) -> Result<u64, StoreError> {
    let progress = Progress::entries(Some(0));
    let mut show = |count, total| progress.set_of(count, total);
    staging.verify(&open::options(settings), chosen.schema(), &mut show)
}

/// What is said of the staged copy, said of the file that it is made of or for: the place of the copy is gone
/// afterwards.
pub(super) fn shown_as(file: &Path, staging: &Staging, error: &StoreError) -> String {
    let (text, shown) = (error.to_string(), file.display().to_string());
    let copy = staging.file().display().to_string();
    text.replace(&copy, &shown)
        .replace(&*staging.path().to_string_lossy(), &shown)
}

/// A place for the copy of a file that must not exist yet.
pub(super) fn staging(parent: &Path, file: &Path) -> Result<Staging, String> {
    if file.symlink_metadata().is_ok() {
        return Err(format!("{}: exists", file.display()));
    }
    Staging::new(parent).map_err(|error| error.to_string())
}
