//! A configuration directory (slapd.d) as slapd writes it: a file for each entry; folders form the tree.
//!
//! A change of one file is one rename. Before several files change, each is written beside its place, and the whole new
//! tree is written to a journal. So a reader sees all of the change or nothing, an interrupted change can be finished
//! after a crash, and a full disk refuses the change before any part of it is made.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use ironbark_model::{Dn, Schema, schema::Source};

use super::tree::{OlcNode, Tree};
use crate::{
    ErrorSubject, Notice, NoticeKind,
    entry_files::{self, Durability, EntryFile, FolderError, FolderLock},
    registry::Registry,
};

/// The treatment of an error: `Err` ends the reading, `Ok` continues.
pub type FolderComplain<'a> = dyn FnMut(FolderError) -> Result<(), FolderError> + 'a;

/// A configuration directory.
///
/// One process at a time writes to it: a server would not notice the changes of another one, and its next change would
/// undo them. Clones share the right to write, and the last of them gives it up.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
    registry: Registry,
    lock: Arc<Mutex<Option<FolderLock>>>,
}

/// The topmost entry, without `.ldif`.
const ROOT: &str = "cn=config";
const JOURNAL: &str = "ironbark-journal.ldif";
/// Where the configuration is in its cluster.
const PLACE: &str = "ironbark-cluster";

impl Folder {
    /// The directory at `path`, which may be empty.
    pub fn new(path: impl Into<PathBuf>, registry: &Registry) -> Self {
        Self {
            path: path.into(),
            registry: registry.clone(),
            lock: Arc::default(),
        }
    }

    /// Claims the right to write, before what will be changed is read. Whatever writes claims it, if that is not done.
    ///
    /// # Errors
    /// Another process has it: a server that serves the directory, or a tool.
    pub fn claim(&self) -> Result<(), FolderError> {
        let mut lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        if lock.is_none() {
            *lock = Some(FolderLock::take(&self.path)?);
        }
        Ok(())
    }

    /// The same for who only adds entries: it may do so beside a server, which sees them at its next start. Returns why
    /// it does not have the right to write.
    pub fn claim_to_add(&self) -> Option<FolderError> {
        let refused = self.claim().err()?;
        *self.lock.lock().unwrap_or_else(PoisonError::into_inner) = Some(FolderLock::none());
        Some(refused)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it holds a configuration.
    pub fn holds_configuration(&self) -> bool {
        self.path.join(format!("{ROOT}.ldif")).exists() || self.path.join(JOURNAL).exists()
    }

    /// Reads the tree. A change that is under way, or that a crash interrupted, counts as made. Nothing is written: a
    /// tool may read while a server makes a change. [`Folder::write`] finishes an interrupted change.
    ///
    /// Notices name files whose checksum is wrong: somebody edited them.
    ///
    /// # Errors
    /// A file that cannot be read or is no entry of a configuration.
    pub fn read(&self) -> Result<(Tree, Vec<Notice>), FolderError> {
        self.read_on(&mut Err)
    }

    /// The same; `complain` decides for each invalid file whether reading continues without it. The topmost file must
    /// be valid.
    ///
    /// # Errors
    /// As of [`Folder::read`].
    pub fn read_on(&self, complain: &mut FolderComplain<'_>) -> Result<(Tree, Vec<Notice>), FolderError> {
        let mut notices = Vec::new();
        if let Some(tree) = self.journal()? {
            return Ok((tree, notices));
        }
        let file = self.path.join(format!("{ROOT}.ldif"));
        let read = self.read_node(&file, &mut notices).and_then(|mut root| {
            self.read_children(&self.path.join(ROOT), &mut root, &mut notices, complain, 0)?;
            Ok(self.tree(root))
        });
        // A tree that was read while a change began mixes both states.
        match self.journal()? {
            Some(tree) => Ok((tree, Vec::new())),
            None => read.map(|tree| (tree, notices)),
        }
    }

    /// Writes `new` to the files; `old` is their present content, if that is known. One rename or removal makes the
    /// change: of its only file, or of the journal. A later error is returned: readers see the change, and the next
    /// change finishes it.
    ///
    /// # Errors
    /// A file cannot be written. Nothing has been changed.
    pub fn write(&self, old: Option<&Tree>, new: &Tree) -> Result<Option<FolderError>, FolderError> {
        self.claim()?;
        // It takes room that this change may need.
        if let Some(tree) = self.journal()? {
            self.make_like(&tree)?;
        }
        let before = match old {
            Some(old) => files_of(old),
            None => self.held()?,
        };
        let after = files_of(new);
        let changed: Vec<_> = after
            .iter()
            .filter(|(path, text)| before.get(*path) != Some(*text))
            .collect();
        let removed: Vec<_> = before.keys().filter(|path| !after.contains_key(*path)).collect();
        match (changed.as_slice(), removed.as_slice()) {
            ([], []) => Ok(None),
            ([only], []) => {
                self.make(std::slice::from_ref(only), || {
                    entry_files::place(&self.path.join(only.0))
                })?;
                let folder = self.path.join(only.0.parent().unwrap_or(Path::new("")));
                Ok(entry_files::sync_folder(&folder).err())
            }
            ([], [path]) => {
                entry_files::remove(&self.path.join(path), Durability::Later)?;
                let folder = self.path.join(path.parent().unwrap_or(Path::new("")));
                Ok(entry_files::sync_folder(&folder).err())
            }
            (changed, removed) => {
                // Steps that need room come before the journal makes the change. After it only names change.
                self.make(changed, || self.write_journal(new))?;
                // Without a durable journal, a crash would leave the following steps half done.
                let synced = entry_files::sync_folder(&self.path);
                Ok(synced.and_then(|()| self.complete(changed, removed)).err())
            }
        }
    }

    /// Makes a change by its one decisive step, after all files have been written beside their places.
    fn make(
        &self,
        changed: &[(&PathBuf, &Vec<u8>)],
        step: impl FnOnce() -> Result<(), FolderError>,
    ) -> Result<(), FolderError> {
        let made = self.prepare(changed).and_then(|()| step());
        if made.is_err() {
            self.give_up(changed);
        }
        made
    }

    fn prepare(&self, changed: &[(&PathBuf, &Vec<u8>)]) -> Result<(), FolderError> {
        for (path, text) in changed {
            entry_files::prepare(&self.path.join(path), text, Durability::Synced)?;
        }
        Ok(())
    }

    fn give_up(&self, changed: &[(&PathBuf, &Vec<u8>)]) {
        // Subordinates come first.
        for (path, _) in changed {
            entry_files::give_up(&self.path.join(path));
            if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
                // An existing folder has content, or is harmless.
                let _ = fs::remove_dir(self.path.join(folder));
            }
        }
    }

    /// Puts the prepared files in place, removes extra files, and then the journal.
    fn complete(&self, changed: &[(&PathBuf, &Vec<u8>)], removed: &[&PathBuf]) -> Result<(), FolderError> {
        let mut folders = BTreeSet::new();
        for (path, _) in changed {
            let whole = self.path.join(path);
            entry_files::place(&whole)?;
            folders.extend(whole.parent().map(Path::to_owned));
        }
        for folder in folders {
            entry_files::sync_folder(&folder)?;
        }
        for path in removed {
            self.remove(path)?;
        }
        self.remove_journal()
    }

    /// Writes the files that differ, removes extra files, and then the journal.
    fn make_like(&self, tree: &Tree) -> Result<(), FolderError> {
        let (files, held) = (files_of(tree), self.held()?);
        for (path, text) in files.iter().filter(|(path, text)| held.get(*path) != Some(*text)) {
            self.put(path, text)?;
        }
        for path in held.keys().filter(|path| !files.contains_key(*path)) {
            self.remove(path)?;
        }
        self.remove_journal()
    }

    /// The content of the files. An unreadable file counts as one with other content.
    fn held(&self) -> Result<BTreeMap<PathBuf, Vec<u8>>, FolderError> {
        let mut paths = vec![PathBuf::from(format!("{ROOT}.ldif"))];
        list(&self.path.join(ROOT), Path::new(ROOT), &mut paths, 0)?;
        let read = |path: PathBuf| match fs::read(self.path.join(&path)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            read => Some((path, read.unwrap_or_default())),
        };
        Ok(paths.into_iter().filter_map(read).collect())
    }

    /// Where the configuration is in its cluster, as [`Folder::put_place`] has written it. `None`: it is in none.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn place(&self) -> Result<Option<String>, FolderError> {
        let file = self.path.join(PLACE);
        match fs::read(&file) {
            Ok(text) => Ok(Some(String::from_utf8_lossy(&text).trim_end().to_owned())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(FolderError::of(&file, &error)),
        }
    }

    /// Writes down where the configuration is in its cluster; `None`: it is in none.
    ///
    /// # Errors
    /// The file cannot be written or removed.
    pub fn put_place(&self, place: Option<&str>) -> Result<(), FolderError> {
        self.claim()?;
        match place {
            Some(place) => self.put(Path::new(PLACE), format!("{place}\n").as_bytes()),
            None if self.path.join(PLACE).exists() => self.remove(Path::new(PLACE)),
            None => Ok(()),
        }
    }

    fn tree(&self, root: OlcNode) -> Tree {
        Tree {
            root,
            registry: self.registry.clone(),
        }
    }

    fn remove_journal(&self) -> Result<(), FolderError> {
        let journal = self.path.join(JOURNAL);
        match fs::remove_file(&journal) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(FolderError::of(&journal, &error)),
            _ => entry_files::sync_folder(&self.path),
        }
    }

    fn write_journal(&self, tree: &Tree) -> Result<(), FolderError> {
        let journal = self.path.join(JOURNAL);
        entry_files::prepare(&journal, &tree.to_ldif(), Durability::Synced)?;
        entry_files::place(&journal)
    }

    fn put(&self, path: &Path, text: &[u8]) -> Result<(), FolderError> {
        entry_files::put(&self.path.join(path), text, Durability::Synced)
    }

    fn remove(&self, path: &Path) -> Result<(), FolderError> {
        entry_files::remove(&self.path.join(path), Durability::Synced)
    }

    /// The tree of a change that a crash interrupted.
    fn journal(&self) -> Result<Option<Tree>, FolderError> {
        let file = self.path.join(JOURNAL);
        let text = match fs::read(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(FolderError::of(&file, &error)),
        };
        let read = Tree::of_ldif(&text, &file.display().to_string(), &self.registry);
        read.map(Some)
            .map_err(|error| FolderError::new(&file, error.to_string()))
    }

    fn read_children(
        &self,
        folder: &Path,
        parent: &mut OlcNode,
        notices: &mut Vec<Notice>,
        complain: &mut FolderComplain<'_>,
        depth: usize,
    ) -> Result<(), FolderError> {
        let names = match names(folder, depth) {
            Ok(names) => names,
            Err(error) => return complain(error),
        };
        for name in names {
            let file = folder.join(format!("{name}.ldif"));
            let read = self.read_node(&file, notices).and_then(|child| match child.kind() {
                Some(_) => Ok(child),
                None => Err(FolderError::new(&file, "the entry has no object class of cn=config")),
            });
            let mut child = match read {
                Ok(child) => child,
                Err(error) => {
                    complain(error)?;
                    continue;
                }
            };
            self.read_children(&folder.join(&name), &mut child, notices, complain, depth + 1)?;
            parent.children.push(child);
        }
        parent
            .children
            .sort_by_cached_key(|child| (child.kind(), child.position(), child.name.clone()));
        Ok(())
    }

    fn read_node(&self, file: &Path, notices: &mut Vec<Notice>) -> Result<OlcNode, FolderError> {
        node_of_file(self.registry.base_schema(), file, entry_files::read(file)?, notices)
    }
}

/// Every file of a tree, by its path below the directory.
fn files_of(tree: &Tree) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    collect(&tree.root, Path::new(""), &mut files);
    files
}

fn collect(node: &OlcNode, folder: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
    let name = entry_files::file_name(node.rdn().as_bytes());
    files.insert(entry_files::file_of(&folder.join(&name)), file_text(node));
    for child in &node.children {
        collect(child, &folder.join(&name), files);
    }
}

fn file_text(node: &OlcNode) -> Vec<u8> {
    let attributes = node.attributes.iter();
    let attributes = attributes.map(|(name, values)| (Cow::Borrowed(name.as_str()), values.as_slice()));
    entry_files::text(node.rdn().as_bytes(), attributes)
}

/// Files below a folder of entries, each relative to the directory.
fn list(folder: &Path, relative: &Path, found: &mut Vec<PathBuf>, depth: usize) -> Result<(), FolderError> {
    for name in names(folder, depth)? {
        list(&folder.join(&name), &relative.join(&name), found, depth + 1)?;
        found.push(relative.join(format!("{name}.ldif")));
    }
    Ok(())
}

/// Maximum nesting of entries; slapd's own reach four levels.
const DEPTH: usize = 16;

/// Names of the entries of a folder, without `.ldif`. A missing folder has none.
fn names(folder: &Path, depth: usize) -> Result<Vec<String>, FolderError> {
    if depth > DEPTH {
        return Err(FolderError::new(folder, "nested too deep"));
    }
    let names = entry_files::names(folder)?.into_iter();
    Ok(names.filter_map(|name| name.into_string().ok()).collect())
}

/// The node in the content of a file, without its subordinates.
pub(crate) fn node_of_file(
    schema: &Schema,
    file: &Path,
    found: EntryFile,
    notices: &mut Vec<Notice>,
) -> Result<OlcNode, FolderError> {
    let named: Arc<str> = file.display().to_string().into();
    let wrong = |reason: String| FolderError::new(file, reason);
    if !found.is_as_written {
        notices.push(Notice {
            location: Source {
                file: Arc::clone(&named),
                line: 2,
            },
            subject: ErrorSubject::Line,
            text: "checksum error: the file was changed by hand".to_owned(),
            kind: NoticeKind::Checksum,
        });
    }
    let line = found.line;
    let dn = Dn::parse(schema, &found.rdn).map_err(|_| wrong(format!("line {line}: invalid DN")))?;
    let mut assertions = dn.leaf_assertions(schema);
    let (Some((description, value)), true) = (assertions.pop(), assertions.is_empty()) else {
        return Err(wrong(format!("line {line}: an RDN of one attribute expected")));
    };
    let name = String::from_utf8(value).map_err(|_| wrong(format!("line {line}: the RDN is not UTF-8")))?;
    let location = Source {
        file: named,
        line: u32::try_from(line).unwrap_or(u32::MAX),
    };
    let naming = schema.description_text(&description);
    Ok(node_of(&naming, &name, found.attributes, location))
}

pub(super) fn node_of(naming: &str, name: &str, attributes: Vec<(Vec<u8>, Vec<u8>)>, location: Source) -> OlcNode {
    let mut node = OlcNode {
        naming: naming.to_owned(),
        name: name.to_owned(),
        attributes: Vec::new(),
        children: Vec::new(),
        location,
    };
    for (attribute, value) in attributes {
        node.add(&String::from_utf8_lossy(&attribute), value);
    }
    node
}
