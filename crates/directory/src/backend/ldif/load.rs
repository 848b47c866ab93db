//! Makes the working copy from the files.

use std::{
    cmp::Ordering,
    ffi::OsStr,
    fs, io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use ironbark_config::{
    DatabaseConfig,
    entry_files::{self, EntryFile, FolderError, Found, applied, file_of, list},
};
use ironbark_model::{Attribute, Dn, Entry, Schema};
use ironbark_store::{Database, StoreError};

use super::{LdifBackendError, LdifFiles, name};
use crate::backend::open;

/// Entries per transaction.
const BATCH: usize = 10_000;
/// Number of times a reader starts again when the files change during its read.
const ATTEMPTS: usize = 20;

/// Makes an empty database. Its file lies in the first of `places` that takes it; its name is removed at once.
pub(super) fn working_copy(
    settings: &DatabaseConfig,
    schema: &Arc<Schema>,
    places: &[&Path],
) -> Result<Database, LdifBackendError> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".ironbark-");
    let mut made = Err(io::Error::from(io::ErrorKind::NotFound));
    for place in places {
        made = builder.tempdir_in(place);
        if made.is_ok() {
            break;
        }
    }
    let folder = made.map_err(|error| FolderError::of(&settings.directory, &error))?;
    let mut options = open::options(settings);
    folder.path().clone_into(&mut options.directory);
    options.no_sync = true;
    let database = Database::open(options, Arc::clone(schema))?;
    // LMDB keeps the file open; only its name is removed.
    folder
        .close()
        .map_err(|error| FolderError::of(&settings.directory, &error))?;
    Ok(database)
}

/// Loads the entries of the files into an empty working copy. No other process may write the files meanwhile.
pub(super) fn fill(files: &LdifFiles, database: &Database, schema: &Schema) -> Result<(), LdifBackendError> {
    let top = name::folder(schema, &files.suffix, &files.suffix);
    load(files, database, schema, list(&files.directory, &top)?)
}

/// Makes a working copy for a reader. It is consistent: the files as they are between two changes, plus the change that
/// is under way or was interrupted.
pub(super) fn consistent_copy(settings: &DatabaseConfig, schema: &Arc<Schema>) -> Result<Database, LdifBackendError> {
    let files = LdifFiles::new(settings, schema);
    let top = name::folder(schema, &files.suffix, &files.suffix);
    let mut attempt = 1;
    loop {
        let before = changed(&files.directory)?;
        let copy = working_copy(settings, schema, &[&std::env::temp_dir(), &settings.directory])?;
        let found = files
            .journal
            .steps()
            .and_then(|steps| Ok(applied(list(&files.directory, &top)?, steps)));
        let loaded = found
            .map_err(LdifBackendError::from)
            .and_then(|found| load(&files, &copy, schema, found));
        // A journal is created and removed in this folder, so each change alters its time.
        let is_settled = changed(&files.directory)? == before;
        match loaded {
            Ok(()) if is_settled => return Ok(copy),
            Err(error) if is_settled || attempt >= ATTEMPTS => return Err(error),
            Ok(()) if attempt >= ATTEMPTS => {
                return Err(FolderError::new(&files.directory, "changes all the time").into());
            }
            _ => attempt += 1,
        }
    }
}

fn changed(folder: &Path) -> Result<SystemTime, FolderError> {
    let found = fs::metadata(folder).and_then(|found| found.modified());
    found.map_err(|error| FolderError::of(folder, &error))
}

fn load(
    files: &LdifFiles,
    database: &Database,
    schema: &Schema,
    mut found: Vec<Found>,
) -> Result<(), LdifBackendError> {
    found.sort_by(|one, other| order(&one.file, &other.file));
    let mut superiors: Vec<(PathBuf, Dn)> = Vec::new();
    let mut found = found.into_iter().peekable();
    while found.peek().is_some() {
        let mut transaction = database.write()?;
        for Found { file, place, text } in found.by_ref().take(BATCH) {
            let folder = file.with_extension("");
            while superiors
                .last()
                .is_some_and(|(above, _)| folder.parent() != Some(above))
            {
                superiors.pop();
            }
            let whole = files.directory.join(&place);
            let read = match text {
                Some(text) => entry_files::parse(&whole, &text),
                None => entry_files::read(&whole),
            };
            let read = match read {
                // Another process has just deleted this entry, which had no subordinates.
                Err(_) if !whole.exists() => continue,
                read => read?,
            };
            if !read.is_as_written {
                tracing::warn!(target: "any", "{}: checksum error: the file was changed by hand", whole.display());
            }
            let superior = match superiors.last() {
                Some((_, superior)) => superior.clone(),
                None => files.suffix.parent().unwrap_or_default(),
            };
            let entry = entry(schema, &whole, &superior, read)?;
            let belongs = name::folder(schema, &files.suffix, &entry.dn);
            if !entry.dn.is_within(&files.suffix) || belongs != folder {
                let reason = format!("the file of \"{}\" would be {}", entry.dn, file_of(&belongs).display());
                return Err(FolderError::new(&whole, reason).into());
            }
            transaction.load(&entry).map_err(|error| match error {
                StoreError::Inapplicable(reason) => LdifBackendError::from(FolderError::new(&whole, reason)),
                error => error.into(),
            })?;
            superiors.push((folder, entry.dn));
        }
        transaction.commit()?;
    }
    Ok(())
}

fn entry(schema: &Schema, file: &Path, superior: &Dn, read: EntryFile) -> Result<Entry, FolderError> {
    let wrong = |reason: String| FolderError::new(file, format!("line {}: {reason}", read.line));
    let rdn = Dn::parse(schema, &read.rdn).map_err(|_| wrong("invalid DN".to_owned()))?;
    if rdn.depth() != 1 {
        return Err(wrong("an RDN is expected".to_owned()));
    }
    let mut entry = Entry::new(superior.child(&rdn));
    for (name, value) in read.attributes {
        let description = schema
            .attribute_description(&name)
            .map_err(|error| wrong(format!("{}: {error}", String::from_utf8_lossy(&name))))?;
        let known = entry
            .attributes
            .iter_mut()
            .find(|known| known.description == description);
        match known {
            Some(known) => known.values.push(value),
            None => entry.attributes.push(Attribute {
                description,
                values: vec![value],
            }),
        }
    }
    Ok(entry)
}

/// slapd's order of files: an entry before its subordinates, siblings by name, `{n}` by number.
fn order(one: &Path, other: &Path) -> Ordering {
    let (one, other) = (one.with_extension(""), other.with_extension(""));
    let key = |name: &OsStr| {
        let name = name.as_bytes();
        let at = name.windows(2).position(|pair| pair == b"={");
        let number = at.and_then(|at| {
            let digits = name.get(at + 2..)?.split(|&byte| byte == b'}').next()?;
            std::str::from_utf8(digits).ok()?.parse::<i64>().ok()
        });
        let kept = at.filter(|_| number.is_some()).map(|at| at + 2);
        (
            name.get(..kept.unwrap_or(name.len())).unwrap_or_default().to_vec(),
            number,
            name.to_vec(),
        )
    };
    one.iter().map(key).cmp(other.iter().map(key))
}
