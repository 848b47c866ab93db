//! `ironbark restore`: makes a backup the database of a configuration, if there is no database yet.

use std::{
    fs::{self, File, Permissions},
    os::unix::fs::PermissionsExt,
    path::PathBuf,
};

use clap::Args;
use ironbark_directory::open;
use ironbark_store::{Database, StoreError};

use super::backup::{backed_up, shown_as, staging, verify};
use crate::shared::{owner, target::Target};

/// Options of `ironbark restore`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Restore {
    #[command(flatten)]
    target: Target,
    /// The output of `ironbark backup`: the file, or the directory that holds its data.mdb
    source: PathBuf,
    /// No other server has changes that were made since the backup: with multiprovider, clients may write at once. By
    /// default they may after the first refresh from another server
    #[arg(long)]
    alone: bool,
}

const EXAMPLES: &str = "Examples:
  ironbark restore -f directory/slapd.conf /var/backups/directory.mdb";

impl Restore {
    pub(super) fn run(&self) -> Result<(), String> {
        let chosen = self.target.choose()?;
        let settings = backed_up(&chosen)?;
        let source = if self.source.is_dir() {
            self.source.join("data.mdb")
        } else {
            self.source.clone()
        };
        let directory = &settings.directory;
        let file = directory.join("data.mdb");
        if file.symlink_metadata().is_ok() {
            return Err(format!(
                "{}: exists; move it away, with the server stopped, to restore a backup",
                file.display()
            ));
        }
        let staging = staging(directory, &file)?;
        let copy = staging.file();
        let failed = |error: std::io::Error| format!("{}: {error}", source.display());
        fs::copy(&source, &copy).map_err(failed)?;
        File::open(&copy).and_then(|copy| copy.sync_all()).map_err(failed)?;
        let entries = verify(&staging, settings, &chosen).map_err(|error| shown_as(&source, &staging, &error))?;
        fs::set_permissions(&copy, Permissions::from_mode(settings.mdb.mode & 0o777)).map_err(failed)?;
        staging.publish(&file).map_err(|error| error.to_string())?;
        owner::adopt(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
        println!("{}: {entries} entries, verified", file.display());
        // The indexes of this configuration may differ from those of the backup.
        let opened = open::database(settings, chosen.schema()).map_err(|error| error.to_string())?;
        owner::adopt(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
        // How far the followers are is each server's own.
        opened.database.keep_followers(&[]).map_err(|error| error.to_string())?;
        // In a cluster the log tells whether the copy is a part of its history.
        if settings.cluster.is_none() {
            mark_restored(&opened.database, self.alone).map_err(|error| error.to_string())?;
        }
        let missing = opened.database.inactive_indexes();
        if !missing.is_empty() {
            println!(
                "Not built in the backup: {}. The server builds them while it serves; slapindex builds them at once.",
                missing.join(", ")
            );
        }
        Ok(())
    }
}

/// Followers of the copied database have seen changes that this one does not have. So its log, if it has one, gets a
/// new identity.
fn mark_restored(database: &Database, alone: bool) -> Result<(), StoreError> {
    let has_log = {
        let snapshot = database.snapshot()?;
        let view = snapshot.view();
        view.log_state()?.generation != 0 || view.context_vector()?.is_some()
    };
    if !has_log {
        return Ok(());
    }
    let mut transaction = database.write()?;
    transaction.mark_restored()?;
    if alone {
        transaction.forget_restored()?;
    }
    transaction.commit()
}
