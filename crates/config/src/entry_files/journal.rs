//! Changes of several files as one. Before any file is touched, all changes are written to a journal. The journal is
//! removed when they are done.
//!
//! Invariant: an existing journal is complete and durable. Its steps may be repeated any number of times. A process
//! that opens the files for writing carries them out; a reader sees the files as they will be.

use std::{
    ffi::{OsStr, OsString},
    fs::{self, File},
    io::{self, BufReader, BufWriter, Write as _},
    os::unix::{
        ffi::{OsStrExt, OsStringExt},
        fs::OpenOptionsExt,
    },
    path::{Path, PathBuf},
};

use ironbark_ldif::{LdifReader, LdifWriter, Limits, NoFiles, RecordKind, Wrap};

use super::{Durability, FolderError, list, put, remove, sync_folder};

/// One change of the files. Paths are relative to the directory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum JournalStep {
    /// The file of an entry, whole.
    Put {
        /// The file.
        file: PathBuf,
        /// Its content.
        text: Vec<u8>,
    },
    /// Deletes an entry.
    Remove {
        /// Its file.
        file: PathBuf,
    },
    /// Moves a folder with the subordinates of an entry. Its new place is free, and the entry's file exists already: a
    /// folder without the entry's file belongs to no entry.
    Move {
        /// The folder.
        from: PathBuf,
        /// Its new name.
        to: PathBuf,
    },
}

/// The changes of the files of a database.
#[derive(Clone, Debug)]
pub struct Journal {
    directory: PathBuf,
    name: OsString,
}

/// A change that is being written to the journal. If it is dropped, nothing is changed.
#[derive(Debug)]
pub struct Draft<'j> {
    journal: &'j Journal,
    /// The only step so far.
    first: Option<JournalStep>,
    file: Option<BufWriter<File>>,
}

impl Journal {
    /// For the files in `directory`; `name` is that of the journal.
    pub fn new(directory: &Path, name: OsString) -> Self {
        Self {
            directory: directory.to_owned(),
            name,
        }
    }

    /// Begins a change. An unfinished earlier change is finished first.
    ///
    /// # Errors
    /// It cannot be finished.
    pub fn begin(&self) -> Result<Draft<'_>, FolderError> {
        self.finish()?;
        Ok(Draft {
            journal: self,
            first: None,
            file: None,
        })
    }

    /// Carries out the steps of an existing journal, and removes it.
    ///
    /// # Errors
    /// A file cannot be written. The journal is still there.
    pub fn finish(&self) -> Result<(), FolderError> {
        let is_there = self.for_each(&mut |step| self.take(&step, Durability::Later))?;
        if !is_there {
            return Ok(());
        }
        let directory = &self.directory;
        let flushed = File::open(directory).and_then(|folder| Ok(rustix::fs::syncfs(folder)?));
        flushed.map_err(|error| FolderError::of(directory, &error))?;
        let path = self.path();
        fs::remove_file(&path).map_err(|error| FolderError::of(&path, &error))?;
        sync_folder(directory)
    }

    /// The steps of an existing journal.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn steps(&self) -> Result<Vec<JournalStep>, FolderError> {
        let mut steps = Vec::new();
        self.for_each(&mut |step| {
            steps.push(step);
            Ok(())
        })?;
        Ok(steps)
    }

    fn path(&self) -> PathBuf {
        self.directory.join(&self.name)
    }

    /// Whether there is a journal.
    fn for_each(&self, visit: &mut dyn FnMut(JournalStep) -> Result<(), FolderError>) -> Result<bool, FolderError> {
        let path = self.path();
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(FolderError::of(&path, &error)),
        };
        let unlimited = Limits {
            max_line: usize::MAX,
            max_record: usize::MAX,
            ..Limits::default()
        };
        let mut reader = LdifReader::new(BufReader::new(file), NoFiles).with_limits(unlimited);
        loop {
            match reader.read() {
                Ok(None) => return Ok(true),
                Ok(Some(record)) => {
                    let step = step(record.dn, record.kind);
                    visit(step.ok_or_else(|| FolderError::new(&path, "is no journal"))?)?;
                }
                Err(error) => return Err(FolderError::new(&path, error.to_string())),
            }
        }
    }

    /// Refuses a step that could never be carried out.
    fn check(&self, step: &JournalStep) -> Result<(), FolderError> {
        match step {
            JournalStep::Put { file, .. } => self.check_length(file),
            JournalStep::Remove { .. } => Ok(()),
            JournalStep::Move { from, to } => {
                let whole = self.directory.join(to);
                if fs::read_dir(&whole).is_ok_and(|mut entries| entries.next().is_some()) {
                    return Err(FolderError::new(&whole, "is in the way, and not empty"));
                }
                for found in list(&self.directory, from)? {
                    if let Ok(rest) = found.file.strip_prefix(from) {
                        self.check_length(&to.join(rest))?;
                    }
                }
                Ok(())
            }
        }
    }

    fn check_length(&self, file: &Path) -> Result<(), FolderError> {
        let whole = self.directory.join(file);
        let is_long = |name: &OsStr| name.len() > NAME_LENGTH;
        if whole.as_os_str().len() > PATH_LENGTH || file.iter().any(is_long) {
            return Err(FolderError::new(&whole, "the name is too long for a file"));
        }
        Ok(())
    }

    pub(super) fn take(&self, step: &JournalStep, durability: Durability) -> Result<(), FolderError> {
        match step {
            JournalStep::Put { file, text } => put(&self.directory.join(file), text, durability),
            JournalStep::Remove { file } => remove(&self.directory.join(file), durability),
            JournalStep::Move { from, to } => {
                let (from, to) = (self.directory.join(from), self.directory.join(to));
                if !from.is_dir() {
                    return Ok(());
                }
                if let Some(folder) = to.parent() {
                    fs::create_dir_all(folder).map_err(|error| FolderError::of(folder, &error))?;
                }
                fs::rename(&from, &to).map_err(|error| FolderError::of(&from, &error))
            }
        }
    }
}

impl Draft<'_> {
    /// Adds a step.
    ///
    /// # Errors
    /// It cannot be written to the journal, or could never be carried out: a name is too long for the file system, or a
    /// folder is in the way.
    pub fn add(&mut self, step: JournalStep) -> Result<(), FolderError> {
        self.journal.check(&step)?;
        if self.first.is_none() && self.file.is_none() {
            self.first = Some(step);
            return Ok(());
        }
        let path = self.path();
        let failed = |error: io::Error| FolderError::of(&path, &error);
        let mut file = if let Some(file) = self.file.take() {
            file
        } else {
            let mut options = fs::OpenOptions::new();
            let opened = options.write(true).create(true).truncate(true).mode(0o600).open(&path);
            BufWriter::new(opened.map_err(failed)?)
        };
        for step in self.first.take().iter().chain([&step]) {
            file.write_all(&written(step)).map_err(failed)?;
        }
        self.file = Some(file);
        Ok(())
    }

    /// Makes the change. If the change is made but could not be finished, returns the error: the change is finished
    /// before the next one.
    ///
    /// # Errors
    /// Nothing has been changed.
    pub fn commit(mut self) -> Result<Option<FolderError>, FolderError> {
        match (self.file.is_some(), self.first.take()) {
            (true, _) => {
                let journal = self.journal;
                self.publish()?;
                Ok(journal.finish().err())
            }
            (false, Some(step)) => self.journal.take(&step, Durability::Synced).map(|()| None),
            (false, None) => Ok(None),
        }
    }

    /// Puts the journal in place: from here on the change counts as made. Returns `false` if there is none to make.
    pub(super) fn publish(mut self) -> Result<bool, FolderError> {
        let Some(file) = self.file.take() else {
            return Ok(false);
        };
        let path = self.path();
        let written = file.into_inner().map_err(io::IntoInnerError::into_error);
        let written = written.and_then(|file| file.sync_all());
        let written = written.and_then(|()| fs::rename(&path, self.journal.path()));
        written.map_err(|error| FolderError::of(&path, &error))?;
        sync_folder(&self.journal.directory)?;
        Ok(true)
    }

    fn path(&self) -> PathBuf {
        let mut name = self.journal.name.clone();
        name.push(".new");
        self.journal.directory.join(name)
    }
}

impl Drop for Draft<'_> {
    fn drop(&mut self) {
        if self.file.take().is_some() {
            // The file has no effect, and the next draft overwrites it.
            let _ = fs::remove_file(self.path());
        }
    }
}

/// A step as a record: the file, and the action.
fn written(step: &JournalStep) -> Vec<u8> {
    let mut text = Vec::new();
    let writer = LdifWriter { wrap: Wrap::No };
    let (file, name, value) = match step {
        JournalStep::Put { file, text } => (file, PUT, text.as_slice()),
        JournalStep::Remove { file } => (file, REMOVE, &b""[..]),
        JournalStep::Move { from, to } => (from, MOVE, to.as_os_str().as_bytes()),
    };
    writer.dn(&mut text, file.as_os_str().as_bytes());
    writer.attribute(&mut text, name, value);
    text.push(b'\n');
    text
}

fn step(file: Vec<u8>, kind: RecordKind) -> Option<JournalStep> {
    let path = |bytes: Vec<u8>| PathBuf::from(OsString::from_vec(bytes));
    let RecordKind::Content(mut attributes) = kind else {
        return None;
    };
    let (name, value) = attributes.pop()?;
    let file = path(file);
    match name.as_slice() {
        PUT => Some(JournalStep::Put { file, text: value }),
        REMOVE => Some(JournalStep::Remove { file }),
        MOVE => Some(JournalStep::Move {
            from: file,
            to: path(value),
        }),
        _ => None,
    }
}

/// Maximum lengths of a file's name and of a path in Linux, in bytes.
const NAME_LENGTH: usize = 255;
/// Leaves room for the temporary name of a file.
const PATH_LENGTH: usize = 4095 - 4;

const PUT: &[u8] = b"put";
const REMOVE: &[u8] = b"remove";
const MOVE: &[u8] = b"move";
