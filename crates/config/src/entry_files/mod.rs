//! Entries in files as slapd writes them, for slapd.d and for `database ldif`. Each entry has an LDIF file with a
//! checksum; folders form the tree.
//!
//! Invariant: one rename puts a file in place, so a reader sees either the old entry or the new one.

mod journal;
mod list;
mod lock;

use std::{
    borrow::Cow,
    ffi::OsString,
    fs, io,
    io::Write as _,
    os::unix::{
        ffi::OsStringExt,
        fs::{DirBuilderExt, OpenOptionsExt},
    },
    path::{Path, PathBuf},
};

use ironbark_ldif::{LdifReader, LdifWriter, NoFiles, RecordKind};

pub use journal::{Draft, Journal, JournalStep};
pub use list::{Found, applied, list};
pub use lock::FolderLock;

/// Why a file or folder of entries cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{}: {reason}", file.display())]
pub struct FolderError {
    /// The file or folder.
    pub file: PathBuf,
    /// The error, with the line if there is one.
    pub reason: String,
}

impl FolderError {
    /// An error in a file.
    pub fn new(file: &Path, reason: impl Into<String>) -> Self {
        Self {
            file: file.to_owned(),
            reason: reason.into(),
        }
    }

    /// An error from the file system.
    pub fn of(file: &Path, error: &io::Error) -> Self {
        Self::new(file, error.to_string())
    }
}

/// An entry as its file has it.
#[derive(Debug)]
pub struct EntryFile {
    /// Its RDN.
    pub rdn: Vec<u8>,
    /// Names and values, in order.
    pub attributes: Vec<(Vec<u8>, Vec<u8>)>,
    /// The line on which it begins.
    pub line: u64,
    /// Whether its checksum is right, or it has none. A wrong one shows that somebody edited the file.
    pub is_as_written: bool,
}

/// The durability of a file that has been put in place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Durability {
    /// It survives loss of power.
    Synced,
    /// The file system is flushed later, on request.
    Later,
}

/// slapd's warning to people who open a file.
const WARNING: &str = "# AUTO-GENERATED FILE - DO NOT EDIT!! Use ldapmodify.\n";
const CHECKSUM: &str = "# CRC32 ";

/// The name of an entry's file without `.ldif`. The folder of its subordinates has the same name. It is the RDN, or the
/// whole name of a naming context. Characters with a meaning in file names are escaped by slapd's rule.
pub fn file_name(name: &[u8]) -> OsString {
    let mut escaped = Vec::with_capacity(name.len());
    for &byte in name {
        match byte {
            b'/' => escaped.extend_from_slice(b"\\2F"),
            b':' => escaped.extend_from_slice(b"\\3A"),
            b'.' => escaped.extend_from_slice(b"\\2E"),
            _ => escaped.push(byte),
        }
    }
    OsString::from_vec(escaped)
}

/// The file of an entry, from the path of the folder of its subordinates.
pub fn file_of(folder: &Path) -> PathBuf {
    let mut file = folder.as_os_str().to_owned();
    file.push(".ldif");
    PathBuf::from(file)
}

/// The content of an entry's file.
pub fn text<'a>(rdn: &[u8], attributes: impl Iterator<Item = (Cow<'a, str>, &'a [Vec<u8>])>) -> Vec<u8> {
    let mut record = Vec::new();
    let writer = LdifWriter::default();
    writer.dn(&mut record, rdn);
    for (name, values) in attributes {
        for value in values {
            writer.attribute(&mut record, name.as_bytes(), value);
        }
    }
    let mut text = format!("{WARNING}{CHECKSUM}{:08x}\n", crc32fast::hash(&record)).into_bytes();
    text.append(&mut record);
    text
}

/// Reads the content of `file`.
///
/// # Errors
/// It cannot be read, or is no entry.
pub fn read(file: &Path) -> Result<EntryFile, FolderError> {
    let text = fs::read(file).map_err(|error| FolderError::of(file, &error))?;
    parse(file, &text)
}

/// As [`read`], for content in memory.
///
/// # Errors
/// It is no entry.
pub fn parse(file: &Path, text: &[u8]) -> Result<EntryFile, FolderError> {
    let mut reader = LdifReader::new(text, NoFiles);
    let record = reader
        .read()
        .map_err(|error| FolderError::new(file, error.to_string()))?;
    let record = record.ok_or_else(|| FolderError::new(file, "holds no entry"))?;
    let RecordKind::Content(attributes) = record.kind else {
        return Err(FolderError::new(file, "holds a change instead of an entry"));
    };
    Ok(EntryFile {
        rdn: record.dn,
        attributes,
        line: record.line,
        is_as_written: checksum_holds(text),
    })
}

/// Puts a file in place, in one step. Missing folders on its path are created.
///
/// # Errors
/// It cannot be written.
pub fn put(file: &Path, text: &[u8], durability: Durability) -> Result<(), FolderError> {
    prepare(file, text, durability)?;
    place(file)?;
    match durability {
        Durability::Synced => sync_folder(file.parent().unwrap_or(Path::new("."))),
        Durability::Later => Ok(()),
    }
}

/// Writes the future content of a file beside it, so that [`place`] needs no room on the disk. Missing folders on its
/// path are created.
///
/// # Errors
/// It cannot be written; no part of it is left.
pub fn prepare(file: &Path, text: &[u8], durability: Durability) -> Result<(), FolderError> {
    let folder = file.parent().unwrap_or(Path::new("."));
    if !folder.is_dir() {
        let mut builder = fs::DirBuilder::new();
        let made = builder.recursive(true).mode(0o750).create(folder);
        made.map_err(|error| FolderError::of(folder, &error))?;
        if durability == Durability::Synced {
            sync_folder(folder.parent().unwrap_or(folder))?;
        }
    }
    write_file(&fresh(file), text, durability).map_err(|error| {
        give_up(file);
        FolderError::of(file, &error)
    })
}

/// Puts a prepared file in place.
///
/// # Errors
/// Of the file system; nothing of it is left.
pub fn place(file: &Path) -> Result<(), FolderError> {
    fs::rename(fresh(file), file).map_err(|error| {
        give_up(file);
        FolderError::of(file, &error)
    })
}

/// Removes the prepared content of a file: it takes room on a full disk, and is otherwise harmless.
pub fn give_up(file: &Path) {
    let _ = fs::remove_file(fresh(file));
}

/// The temporary name of a file: no longer than the name of the entry's own file.
fn fresh(file: &Path) -> PathBuf {
    let mut name = file.file_stem().unwrap_or_default().to_owned();
    name.push(".new");
    file.with_file_name(name)
}

/// Removes an entry's file and its folder, which is empty by then. Missing ones count as removed.
///
/// # Errors
/// Of the file system.
pub fn remove(file: &Path, durability: Durability) -> Result<(), FolderError> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(FolderError::of(file, &error)),
        _ => {}
    }
    // A folder that is missing, or has other content, is left as it is.
    let _ = fs::remove_dir(file.with_extension(""));
    match durability {
        Durability::Synced => sync_folder(file.parent().unwrap_or(Path::new("."))),
        Durability::Later => Ok(()),
    }
}

/// Makes changes of a folder's names durable. A missing folder has no changes.
///
/// # Errors
/// Of the file system.
pub fn sync_folder(path: &Path) -> Result<(), FolderError> {
    match fs::File::open(path).and_then(|folder| folder.sync_all()) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(FolderError::of(path, &error)),
        _ => Ok(()),
    }
}

fn write_file(path: &Path, text: &[u8], durability: Durability) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(text)?;
    match durability {
        Durability::Synced => file.sync_all(),
        Durability::Later => Ok(()),
    }
}

/// Names of the entries of a folder, without `.ldif`. A missing folder has none.
///
/// # Errors
/// Of the file system.
pub fn names(folder: &Path) -> Result<Vec<OsString>, FolderError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(FolderError::of(folder, &error)),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|error| FolderError::of(folder, &error))?;
        let file = PathBuf::from(entry.file_name());
        if file.extension().is_some_and(|extension| extension == "ldif") {
            names.extend(file.file_stem().map(ToOwned::to_owned));
        }
    }
    Ok(names)
}

/// Whether a file has no checksum, or the right one: that of everything behind its line.
fn checksum_holds(text: &[u8]) -> bool {
    let Some(at) = text
        .windows(CHECKSUM.len())
        .take(256)
        .position(|window| window == CHECKSUM.as_bytes())
    else {
        return true;
    };
    let rest = text.get(at + CHECKSUM.len()..).unwrap_or_default();
    let (sum, body) = match rest.iter().position(|&byte| byte == b'\n') {
        Some(end) => (
            rest.get(..end).unwrap_or_default(),
            rest.get(end + 1..).unwrap_or_default(),
        ),
        None => (rest, &[][..]),
    };
    let sum = std::str::from_utf8(sum).ok().map(str::trim);
    sum.and_then(|sum| u32::from_str_radix(sum, 16).ok()) == Some(crc32fast::hash(body))
}

#[cfg(test)]
mod tests;
