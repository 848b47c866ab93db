//! Whose files a tool leaves behind: the owner of the database directory gets them when root has run the tool.
//!
//! A database that the server's user cannot open is the best known trap of slapadd.

use std::{
    fs, io,
    os::unix::fs::{MetadataExt, lchown},
    path::Path,
};

use ironbark_config::{DatabaseConfig, DatabaseKind};

/// Gives the database files in `directory` to its owner and group. Does nothing unless root runs the tool.
///
/// Links are not followed, and a file with further names is left alone: the owner of the directory, who may be anyone,
/// must not be able to have root give away another file.
///
/// # Errors
/// Of the file system.
pub(crate) fn adopt(directory: &Path) -> io::Result<()> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let owner = match fs::metadata(directory) {
        Ok(owner) => owner,
        // What opens the database says so.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    for name in ["data.mdb", "lock.mdb"] {
        give(&directory.join(name), &owner)?;
    }
    Ok(())
}

/// Does so for the files of a database, in folders or not. Whoever runs `program` is told when that fails.
pub(crate) fn adopt_database(settings: &DatabaseConfig, program: &str) {
    let directory = &settings.directory;
    let adopted = match settings.kind {
        DatabaseKind::Mdb => adopt(directory),
        DatabaseKind::Ldif => adopt_folder(directory),
        _ => Ok(()),
    };
    if let Err(error) = adopted {
        let directory = directory.display();
        eprintln!("{program}: {directory}: the files could not be given to the owner of the directory: {error}");
    }
}

/// The same for a configuration directory: all that is below it.
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
