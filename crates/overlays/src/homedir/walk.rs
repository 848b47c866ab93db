//! A walk through a directory of an account, which its user may change at the same time.
//!
//! Only what belongs to the account is visited. The walk stays in the file system in which it begins: it does not
//! touch what the user has mounted there, which may hang.

use std::{
    ffi::CStr,
    os::fd::{AsFd, BorrowedFd},
};

use rustix::{
    fs::{Dir, FileType, OFlags, Stat},
    io::Errno,
};

use super::files::{Mounts, Trouble, open};

/// Directories inside each other. Each takes two descriptors.
const DEEPEST: usize = 128;

/// What is done on the way.
pub(super) trait Visitor {
    /// A directory is entered.
    ///
    /// # Errors
    /// The walk ends.
    fn enter(&mut self, node: &Node<'_>) -> Result<(), Trouble> {
        let _ = node;
        Ok(())
    }

    /// Something that is no directory.
    ///
    /// # Errors
    /// The walk ends.
    fn file(&mut self, node: &Node<'_>) -> Result<(), Trouble>;

    /// A directory is left.
    ///
    /// # Errors
    /// The walk ends.
    fn leave(&mut self, node: &Node<'_>) -> Result<(), Trouble>;
}

/// A file or directory on the way.
pub(super) struct Node<'w> {
    pub(super) directory: BorrowedFd<'w>,
    pub(super) name: &'w CStr,
    /// Opened with `O_PATH`: this is what was looked at, whatever the name stands for now.
    pub(super) opened: BorrowedFd<'w>,
    pub(super) stat: &'w Stat,
    /// From the beginning of the walk on, with its own name.
    pub(super) path: &'w [u8],
}

impl Node<'_> {
    pub(super) fn is_directory(&self) -> bool {
        self.kind() == FileType::Directory
    }

    pub(super) fn kind(&self) -> FileType {
        FileType::from_raw_mode(self.stat.st_mode)
    }
}

/// Visits what is below a directory and belongs to `owner`, or everything. Returns the number of files and directories
/// that were passed over.
///
/// # Errors
/// The visitor ends the walk.
pub(super) fn below(top: Dir, owner: Option<u32>, visitor: &mut dyn Visitor) -> Result<u64, Trouble> {
    let mut walk = Walk {
        owner,
        visitor,
        passed_over: 0,
        depth: 1,
        path: Vec::new(),
    };
    walk.all_in(top)?;
    Ok(walk.passed_over)
}

/// A directory to be read, at a name in another one.
///
/// # Errors
/// It is none, or the system refuses it.
pub(super) fn open_to_read(directory: BorrowedFd<'_>, name: &CStr) -> Result<Dir, Errno> {
    Dir::new(open(directory, name, OFlags::RDONLY | OFlags::DIRECTORY, Mounts::Stay)?)
}

struct Walk<'v> {
    owner: Option<u32>,
    visitor: &'v mut dyn Visitor,
    passed_over: u64,
    depth: usize,
    path: Vec<u8>,
}

impl Walk<'_> {
    fn all_in(&mut self, mut names: Dir) -> Result<(), Trouble> {
        while let Some(entry) = names.read() {
            let Ok(entry) = entry else {
                self.passed_over += 1;
                return Ok(());
            };
            let name = entry.file_name();
            if name == c"." || name == c".." {
                continue;
            }
            let Ok(directory) = names.fd() else {
                self.passed_over += 1;
                continue;
            };
            let length = self.path.len();
            if length > 0 {
                self.path.push(b'/');
            }
            self.path.extend_from_slice(name.to_bytes());
            self.one(directory, name)?;
            self.path.truncate(length);
        }
        Ok(())
    }

    fn one(&mut self, directory: BorrowedFd<'_>, name: &CStr) -> Result<(), Trouble> {
        let looked = open(directory, name, OFlags::PATH, Mounts::Stay).and_then(|opened| {
            let stat = rustix::fs::fstat(&opened)?;
            Ok((opened, stat))
        });
        let (opened, stat) = match looked {
            Ok((opened, stat)) if self.owner.is_none_or(|owner| owner == stat.st_uid) => (opened, stat),
            Err(Errno::NOENT) => return Ok(()),
            Ok(_) | Err(_) => {
                self.passed_over += 1;
                return Ok(());
            }
        };
        let path = std::mem::take(&mut self.path);
        let node = Node {
            directory,
            name,
            opened: opened.as_fd(),
            stat: &stat,
            path: &path,
        };
        if !node.is_directory() {
            let visited = self.visitor.file(&node);
            self.path = path;
            return visited;
        }
        let inner = open_to_read(directory, name).ok().filter(|inner| {
            let is_same = |inner: Stat| (inner.st_dev, inner.st_ino) == (stat.st_dev, stat.st_ino);
            inner.stat().is_ok_and(is_same)
        });
        let Some(inner) = inner.filter(|_| self.depth < DEEPEST) else {
            self.passed_over += 1;
            self.path = path;
            return Ok(());
        };
        self.visitor.enter(&node)?;
        self.path.clone_from(&path);
        self.depth += 1;
        self.all_in(inner)?;
        self.depth -= 1;
        self.path.clone_from(&path);
        self.visitor.leave(&node)
    }
}
