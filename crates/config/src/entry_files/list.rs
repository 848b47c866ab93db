//! Lists the files of entries.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use super::{FolderError, JournalStep, file_of, names};

/// The files after the steps of a journal.
pub fn applied(files: Vec<Found>, steps: Vec<JournalStep>) -> Vec<Found> {
    let mut files: BTreeMap<PathBuf, Found> = files.into_iter().map(|found| (found.file.clone(), found)).collect();
    for step in steps {
        match step {
            JournalStep::Put { file, text } => {
                let found = Found {
                    place: file.clone(),
                    file: file.clone(),
                    text: Some(text),
                };
                files.insert(file, found);
            }
            JournalStep::Remove { file } => {
                files.remove(&file);
            }
            JournalStep::Move { from, to } => {
                let moved = std::mem::take(&mut files).into_values().map(|mut found| {
                    if let Ok(rest) = found.file.strip_prefix(&from) {
                        found.file = to.join(rest);
                    }
                    (found.file.clone(), found)
                });
                files = moved.collect();
            }
        }
    }
    files.into_values().collect()
}

/// A file of an entry, or its future content.
#[derive(Debug)]
pub struct Found {
    /// The file's proper place, relative to the directory.
    pub file: PathBuf,
    /// The file's present place.
    pub place: PathBuf,
    /// Its content, if it must not be read from the present place.
    pub text: Option<Vec<u8>>,
}

/// Every file of the tree below a folder, and the file of the folder's own entry. For an empty path, all files of a
/// directory. In no order.
///
/// # Errors
/// Of the file system.
pub fn list(directory: &Path, top: &Path) -> Result<Vec<Found>, FolderError> {
    let mut open = Vec::new();
    if top.as_os_str().is_empty() {
        open.extend(names(directory)?.into_iter().map(PathBuf::from));
    } else if directory.join(file_of(top)).exists() {
        open.push(top.to_owned());
    }
    let mut found = Vec::new();
    while let Some(folder) = open.pop() {
        let below = names(&directory.join(&folder))?;
        open.extend(below.into_iter().map(|name| folder.join(name)));
        let file = file_of(&folder);
        found.push(Found {
            place: file.clone(),
            file,
            text: None,
        });
    }
    Ok(found)
}
