//! The owner of files that a tool leaves behind: if root runs the tool, they go to the owner of the database directory.
//!
//! A database that the server's user cannot open is a common problem after slapadd. What a tool neither makes nor
//! writes to stays as it is: it may be the database of another program.

use std::{
    fs, io,
    os::unix::fs::{MetadataExt, lchown},
    path::Path,
};

use ironbark_config::{DatabaseConfig, database::EntryPlace};

/// The files of a stored database.
const FILES: [&str; 2] = ["data.mdb", "lock.mdb"];

/// Gives the database files in `directory` to its owner and group. Does nothing unless root runs the tool.
///
/// Links are not followed, and a file with further names is left alone. The owner of the directory may be anyone, and
/// must not make root give away another file.
///
/// # Errors
/// Of the file system.
pub(crate) fn adopt(directory: &Path) -> io::Result<()> {
    give_as(directory, &FILES.map(|name| directory.join(name)))
}

/// Gives files to the owner of a directory.
fn give_as(directory: &Path, files: &[impl AsRef<Path>]) -> io::Result<()> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let owner = match fs::metadata(directory) {
        Ok(owner) => owner,
        // The code that opens the database reports this error.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    for file in files {
        give(file.as_ref(), &owner)?;
    }
    Ok(())
}

/// What a tool does with a database that it opens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Use {
    Read,
    Write,
}

/// Opens databases by `open`, and gives away the files that this has made: readers make the lock file. Databases that
/// were opened to be written to are given away as a whole.
pub(crate) fn opening<T, E>(
    databases: &[&DatabaseConfig],
    used: Use,
    program: &str,
    open: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    let stored = databases.iter().filter(|one| one.kind.entries == EntryPlace::Store);
    let paths = stored.flat_map(|one| FILES.map(|name| one.directory.join(name)));
    let before: Vec<_> = paths.map(|path| (identity(&path), path)).collect();
    let opened = open();
    if opened.is_ok() && used == Use::Write {
        for settings in databases {
            adopt_database(settings, program);
        }
        return opened;
    }
    for (was, path) in before {
        if let Some(directory) = path.parent().filter(|_| identity(&path) != was) {
            tell(directory, program, give_as(directory, &[&path]));
        }
    }
    opened
}

/// Device and inode of a file that is there.
fn identity(file: &Path) -> Option<(u64, u64)> {
    let found = fs::symlink_metadata(file).ok()?;
    Some((found.dev(), found.ino()))
}

fn tell(directory: &Path, program: &str, adopted: io::Result<()>) {
    if let Err(error) = adopted {
        let directory = directory.display();
        eprintln!("{program}: {directory}: the files could not be given to the owner of the directory: {error}");
    }
}

/// Gives away the files of a database, in folders or not. If it fails, the user of `program` is told.
pub(crate) fn adopt_database(settings: &DatabaseConfig, program: &str) {
    let directory = &settings.directory;
    let adopted = match settings.kind.entries {
        EntryPlace::Store => adopt(directory),
        EntryPlace::Files => adopt_folder(directory),
        _ => Ok(()),
    };
    tell(directory, program, adopted);
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
