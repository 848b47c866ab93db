//! `ironbark backup`: a copy of a database while the server goes on, verified before it gets its name.

use std::{
    fs::{self, DirBuilder, File},
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

use clap::Args;
use ironbark_config::{DatabaseConfig, DatabaseKind};
use ironbark_directory::open;
use ironbark_store::{Database, StoreError};

use super::Target;
use crate::tool::{chosen::Chosen, progress::Progress, slapcat::open_to_read};

/// Options of `ironbark backup`.
#[derive(Debug, Args)]
pub(crate) struct Backup {
    #[command(flatten)]
    target: Target,
    /// Leave free pages out; takes longer
    #[arg(long)]
    compact: bool,
    /// A directory, which gets data.mdb, or the file to make; must not exist
    destination: PathBuf,
}

impl Backup {
    pub(super) fn run(&self) -> Result<(), String> {
        let chosen = self.target.choose()?;
        let settings = backed_up(&chosen)?;
        let Some(database) = open_to_read(settings, &chosen, "ironbark")? else {
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
        let staging = Staging::new(parent, &file)?;
        database
            .copy_to(&staging.0, self.compact)
            .map_err(|error| error.to_string())?;
        let entries = verify(&staging.0, settings, &chosen)?;
        staging.publish(&file)?;
        println!("{}: {entries} entries, verified", file.display());
        Ok(())
    }
}

/// The database that has a file to back up.
pub(super) fn backed_up(chosen: &Chosen) -> Result<&DatabaseConfig, String> {
    let (_, settings) = chosen.databases().next().ok_or("no database")?;
    match settings.kind {
        DatabaseKind::Mdb => Ok(settings),
        DatabaseKind::Ldif => Err("the files of an ldif database are their own backup: copy the directory".to_owned()),
        kind => Err(format!("database {} has no files", kind.name())),
    }
}

/// A directory beside the file to be made, so that the file appears whole or not at all.
pub(super) struct Staging(pub(super) PathBuf);

impl Staging {
    /// Makes the directory in `parent`, for `file`.
    ///
    /// # Errors
    /// The file exists.
    pub(super) fn new(parent: &Path, file: &Path) -> Result<Self, String> {
        if file.symlink_metadata().is_ok() {
            return Err(format!("{}: exists", file.display()));
        }
        let path = parent.join(format!(".ironbark-{}.tmp", std::process::id()));
        let made = DirBuilder::new().mode(0o700).create(&path);
        made.map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Self(path))
    }

    /// Gives the verified `data.mdb` its name, durably. A file of that name is not overwritten.
    pub(super) fn publish(self, file: &Path) -> Result<(), String> {
        let failed = |error: std::io::Error| format!("{}: {error}", file.display());
        fs::hard_link(self.0.join("data.mdb"), file).map_err(failed)?;
        let parent = self.0.parent().unwrap_or(Path::new("."));
        File::open(parent).and_then(|parent| parent.sync_all()).map_err(failed)
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // It holds nothing that is missed; a name that stays is only untidy.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Opens the copy in `directory` and reads every entry and its name; their number.
pub(super) fn verify(directory: &Path, settings: &DatabaseConfig, chosen: &Chosen) -> Result<u64, String> {
    let mut options = open::options(settings);
    directory.clone_into(&mut options.directory);
    options.read_only = true;
    let walk = || -> Result<u64, StoreError> {
        let database = Database::open(options, chosen.schema().clone())?;
        let snapshot = database.snapshot()?;
        let view = snapshot.view();
        let total = view.entry_count()?;
        let progress = Progress::entries(Some(total));
        let mut count = 0;
        for record in view.entries(0)? {
            let record = record?;
            record.to_entry(view.dn(record.id)?)?;
            count += 1;
            if count % 1024 == 0 {
                progress.set(count);
            }
        }
        Ok(count)
    };
    walk().map_err(|error| format!("the copy is not sound: {error}"))
}
