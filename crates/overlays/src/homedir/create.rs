//! A new home directory: a copy of the skeleton, made beside its place and renamed when it is complete.

use std::{
    ffi::{CStr, CString, OsStr},
    fs::File,
    io,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::Path,
};

use rustix::{
    fs::{AtFlags, CWD, Dir, FileType, Gid, Mode, OFlags, Uid},
    io::Errno,
};

use super::{
    account::Account,
    files::{Mounts, Place, Trouble, locate, look, open, open_fixed, rename},
    path::shown,
    remove,
    walk::{self, Node, Visitor},
};

/// Makes the home directory, unless there is something at its place. `own` is a name that nothing else has.
///
/// # Errors
/// There is none: nothing is left of it.
pub(super) fn create(account: &Account, skeleton: &Path, own: &str) -> Result<(), Trouble> {
    let home = account.home.text();
    let place = locate(&account.home)?;
    let trouble = |errno| Trouble::of(&home, errno);
    if look(&place.directory, place.name).map_err(trouble)?.is_some() {
        tracing::info!(target: "any", "homedir: {home} is there already");
        return Ok(());
    }
    let own = CString::new(own).unwrap_or_default();
    // The process may have ended in the middle of this.
    remove::whatever_is_at(&place.directory, &own)?;
    match fill(account, skeleton, &place, &own) {
        Ok(()) => tracing::info!(target: "any", "homedir: {home} was made"),
        Err(error) => {
            remove::whatever_is_at(&place.directory, &own)?;
            // Another server that shares the file system may have been quicker.
            if look(&place.directory, place.name).map_err(trouble)?.is_none() {
                return Err(error);
            }
        }
    }
    Ok(())
}

fn fill(account: &Account, skeleton: &Path, place: &Place<'_>, own: &CStr) -> Result<(), Trouble> {
    let trouble = |errno| Trouble::of(account.home.text(), errno);
    let source = open_fixed(skeleton, OFlags::RDONLY)?;
    let mode = rustix::fs::fstat(&source).map_err(trouble)?.st_mode;
    let (ids, target) = (
        Ids::of(account),
        make_directory(place.directory.as_fd(), own).map_err(trouble)?,
    );
    let top = rustix::fs::fstat(&target).map_err(trouble)?;
    let mut copy = Copy {
        ids,
        own: (top.st_dev, top.st_ino),
        targets: vec![target],
    };
    let passed_over = walk::below(Dir::new(source).map_err(trouble)?, None, &mut copy)?;
    if passed_over > 0 {
        let text = format!("{passed_over} files of {} cannot be copied", skeleton.display());
        return Err(Trouble::Lasting(text));
    }
    if let Some(target) = copy.targets.first() {
        remove::mark(target.as_fd(), own);
        ids.give(target, mode & 0o7777).map_err(trouble)?;
    }
    let own = OsStr::from_bytes(own.to_bytes());
    rename(place.directory.as_fd(), own, place.directory.as_fd(), place.name).map_err(trouble)
}

/// The IDs of the new owner.
#[derive(Clone, Copy)]
struct Ids(Uid, Gid);

impl Ids {
    fn of(account: &Account) -> Self {
        Self(Uid::from_raw(account.uid), Gid::from_raw(account.gid))
    }

    /// Gives a file away, and sets its mode.
    fn give(self, file: impl AsFd, mode: u32) -> Result<(), Errno> {
        rustix::fs::fchown(&file, Some(self.0), Some(self.1))?;
        rustix::fs::fchmod(&file, Mode::from_raw_mode(mode))
    }

    /// The same for what cannot be opened: a link, or a named pipe.
    fn give_name(self, directory: BorrowedFd<'_>, name: &CStr) -> Result<(), Errno> {
        rustix::fs::chownat(directory, name, Some(self.0), Some(self.1), AtFlags::SYMLINK_NOFOLLOW)
    }
}

/// Nobody else can reach it until it has its place.
fn make_directory(directory: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd, Errno> {
    rustix::fs::mkdirat(directory, name, Mode::RWXU)?;
    open(directory, name, OFlags::RDONLY | OFlags::DIRECTORY, Mounts::Stay)
}

/// Copies the skeleton.
struct Copy {
    ids: Ids,
    /// The new directory, should it be below the skeleton.
    own: (u64, u64),
    /// The directories that are being filled, from the top on.
    targets: Vec<OwnedFd>,
}

impl Copy {
    fn target(&self) -> BorrowedFd<'_> {
        self.targets.last().map_or(CWD, AsFd::as_fd)
    }

    fn copy(&self, node: &Node<'_>) -> Result<(), Errno> {
        let target = self.target();
        match node.kind() {
            FileType::RegularFile => {
                let source = open(
                    node.directory,
                    node.name,
                    OFlags::RDONLY | OFlags::NONBLOCK,
                    Mounts::Stay,
                )?;
                let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let copy = rustix::fs::openat(target, node.name, flags, Mode::RUSR | Mode::WUSR)?;
                let (mut source, mut copy) = (File::from(source), File::from(copy));
                io::copy(&mut source, &mut copy).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
                self.ids.give(&copy, node.stat.st_mode & 0o777)
            }
            FileType::Symlink => {
                let content = rustix::fs::readlinkat(node.opened, c"", Vec::new())?;
                rustix::fs::symlinkat(&content, target, node.name)?;
                self.ids.give_name(target, node.name)
            }
            FileType::Fifo => {
                rustix::fs::mkfifoat(target, node.name, Mode::RUSR | Mode::WUSR)?;
                let mode = Mode::from_raw_mode(node.stat.st_mode & 0o777);
                rustix::fs::chmodat(target, node.name, mode, AtFlags::empty())?;
                self.ids.give_name(target, node.name)
            }
            // Devices and sockets.
            _ => Ok(()),
        }
    }
}

fn in_skeleton(node: &Node<'_>, errno: Errno) -> Trouble {
    Trouble::of(format_args!("copying {} of the skeleton", shown(node.path)), errno)
}

impl Visitor for Copy {
    fn enter(&mut self, node: &Node<'_>) -> Result<(), Trouble> {
        if (node.stat.st_dev, node.stat.st_ino) == self.own {
            return Err(Trouble::Lasting("the skeleton contains the home directory".to_owned()));
        }
        let made = make_directory(self.target(), node.name);
        self.targets.push(made.map_err(|errno| in_skeleton(node, errno))?);
        Ok(())
    }

    fn file(&mut self, node: &Node<'_>) -> Result<(), Trouble> {
        self.copy(node).map_err(|errno| in_skeleton(node, errno))
    }

    fn leave(&mut self, node: &Node<'_>) -> Result<(), Trouble> {
        let Some(made) = self.targets.pop() else { return Ok(()) };
        let given = self.ids.give(&made, node.stat.st_mode & 0o7777);
        given.map_err(|errno| in_skeleton(node, errno))
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, thread};

    use super::*;
    use crate::homedir::path::PathRule;

    #[test]
    fn servers_that_share_a_file_system_make_each_directory_once_and_whole() {
        let folder = tempfile::tempdir().unwrap();
        let (homes, skeleton) = (folder.path().join("homes"), folder.path().join("skeleton"));
        fs::create_dir(&homes).unwrap();
        fs::create_dir(&skeleton).unwrap();
        for number in 0..20 {
            fs::write(skeleton.join(number.to_string()), "text").unwrap();
        }
        let rule = PathRule::new("^/h/([a-z0-9]+)$", &format!("{}/$1", homes.display())).unwrap();
        let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        let make_all = |host: &str| {
            for number in 0..40 {
                let home = rule.home(format!("/h/a{number}").as_bytes()).unwrap().unwrap();
                let own = format!("{}{number}-0-{host}", super::super::path::OWN);
                let made = create(&Account { home, uid, gid }, &skeleton, &own);
                assert!(made.is_ok());
            }
        };
        thread::scope(|scope| {
            for host in ["one", "two", "three"] {
                scope.spawn(move || make_all(host));
            }
        });
        let made: Vec<_> = fs::read_dir(&homes).unwrap().map(|home| home.unwrap().path()).collect();
        assert_eq!(made.len(), 40, "{made:?}");
        assert!(made.iter().all(|home| fs::read_dir(home).unwrap().count() == 20));
    }
}
