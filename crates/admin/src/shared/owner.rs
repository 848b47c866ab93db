//! The owner of files that a tool leaves behind: if root runs the tool, they go to the owner of the database directory.
//!
//! A database that the server's user cannot open is a common problem after slapadd.

use std::{
    fs, io,
    os::unix::fs::{MetadataExt, lchown},
    path::Path,
};

use ironbark_config::{DatabaseConfig, database::EntryPlace};

/// Gives the database files in `directory` to its owner and group. Does nothing unless root runs the tool.
///
/// Links are not followed, and a file with further names is left alone. The owner of the directory may be anyone, and
/// must not make root give away another file.
///
/// # Errors
/// Of the file system.
pub(crate) fn adopt(directory: &Path) -> io::Result<()> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let owner = match fs::metadata(directory) {
        Ok(owner) => owner,
        // The code that opens the database reports this error.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    for name in ["data.mdb", "lock.mdb"] {
        give(&directory.join(name), &owner)?;
    }
    Ok(())
}

/// Does this for the files of a database, in folders or not. If it fails, the user of `program` is told.
pub(crate) fn adopt_database(settings: &DatabaseConfig, program: &str) {
    let directory = &settings.directory;
    let adopted = match settings.kind.entries {
        EntryPlace::Store => adopt(directory),
        EntryPlace::Files => adopt_folder(directory),
        _ => Ok(()),
    };
    if let Err(error) = adopted {
        let directory = directory.display();
        eprintln!("{program}: {directory}: the files could not be given to the owner of the directory: {error}");
    }
}

/// Does this for everything below a configuration directory.
///
/// # Errors
/// Of the file system.
pub(crate) fn adopt_folder(folder: &Path) -> io::Result<()> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    give_all(folder, &fs::metadata(folder)?)
}

fn give_all(folder: &Path, owner: &fs::Metadata) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        if !entry.file_type()?.is_dir() {
            give(&path, owner)?;
            continue;
        }
        let found = fs::symlink_metadata(&path)?;
        if (found.uid(), found.gid()) != (owner.uid(), owner.gid()) {
            lchown(&path, Some(owner.uid()), Some(owner.gid()))?;
        }
        give_all(&path, owner)?;
    }
    Ok(())
}

fn give(path: &Path, owner: &fs::Metadata) -> io::Result<()> {
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let ours = found.is_file() && found.nlink() == 1;
    if ours && (found.uid(), found.gid()) != (owner.uid(), owner.gid()) {
        lchown(path, Some(owner.uid()), Some(owner.gid()))?;
    }
    Ok(())
}
