//! A home directory as a tar file. It appears under its name when it is complete.

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io::{self, Read, Write},
    os::{
        fd::{AsFd, OwnedFd},
        unix::ffi::{OsStrExt, OsStringExt},
    },
    path::{Path, PathBuf},
};

use rustix::{
    fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat},
    io::Errno,
};
use tar::{Builder, EntryType, Header};

use super::{
    account::Account,
    files::{Mounts, Trouble, open, open_fixed, rename},
    path::shown,
    walk::{self, Node, Visitor},
};

/// Archives with the same name and second.
const MOST_NUMBERS: u32 = 1_000;

/// Writes what belongs to the account. `own` is a name that nothing else has, `now` microseconds since 1970.
///
/// # Errors
/// There is no archive.
pub(super) fn write(
    account: &Account,
    name: &OsStr,
    names: Dir,
    path: &Path,
    own: &str,
    now: i64,
) -> Result<(), Trouble> {
    let directory = open_fixed(path, OFlags::PATH)?;
    let own = OsStr::new(own);
    let trouble = |errno| Trouble::of(format_args!("archiving {}", account.home.text()), errno);
    match rustix::fs::unlinkat(&directory, own, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(errno) => return Err(trouble(errno)),
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::openat(&directory, own, flags, Mode::RUSR | Mode::WUSR).map_err(trouble)?;
    let written =
        fill(account, names, File::from(file)).and_then(|()| publish(&directory, own, name, now).map_err(trouble));
    if written.is_err() {
        let _ = rustix::fs::unlinkat(&directory, own, AtFlags::empty());
    }
    written
}

fn fill(account: &Account, names: Dir, file: File) -> Result<(), Trouble> {
    let failed = |error: &io::Error| Trouble::Lasting(format!("archiving {}: {error}", account.home.text()));
    let stat = names.stat().map_err(|errno| failed(&errno.into()))?;
    let mut archive = Archive {
        home: account.home.archived(),
        tar: Builder::new(file),
    };
    archive
        .put(b"", &stat, EntryType::Directory)
        .map_err(|error| failed(&error))?;
    let passed_over = walk::below(names, Some(account.uid), &mut archive)?;
    if passed_over > 0 {
        let home = account.home.text();
        tracing::warn!(target: "any", "homedir: {passed_over} files of {home} that belong to others are not archived");
    }
    let file = archive.tar.into_inner().and_then(|mut file| {
        file.flush()?;
        file.sync_all()
    });
    file.map_err(|error| failed(&error))
}

/// Gives the archive the first name that is free.
fn publish(directory: &OwnedFd, own: &OsStr, name: &OsStr, now: i64) -> Result<(), Errno> {
    let seconds = now.div_euclid(1_000_000);
    for number in 0..MOST_NUMBERS {
        let mut named = name.to_owned();
        named.push(format!("-{seconds}-{number}.tar"));
        match rename(directory.as_fd(), own, directory.as_fd(), &named) {
            Err(Errno::EXIST) => {}
            renamed => return renamed,
        }
    }
    Err(Errno::EXIST)
}

struct Archive {
    /// The path of the home directory, without the first slash.
    home: Vec<u8>,
    tar: Builder<File>,
}

impl Archive {
    fn path(&self, below: &[u8]) -> PathBuf {
        let mut path = self.home.clone();
        if !below.is_empty() {
            path.push(b'/');
            path.extend_from_slice(below);
        }
        PathBuf::from(OsString::from_vec(path))
    }

    fn header(stat: &Stat, kind: EntryType, size: u64) -> Header {
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(stat.st_mode & 0o7777);
        header.set_uid(stat.st_uid.into());
        header.set_gid(stat.st_gid.into());
        header.set_mtime(u64::try_from(stat.st_mtime).unwrap_or_default());
        header.set_size(size);
        header
    }

    fn put(&mut self, below: &[u8], stat: &Stat, kind: EntryType) -> io::Result<()> {
        let mut header = Self::header(stat, kind, 0);
        self.tar.append_data(&mut header, self.path(below), io::empty())
    }

    fn put_file(&mut self, node: &Node<'_>) -> io::Result<()> {
        let opened = open(
            node.directory,
            node.name,
            OFlags::RDONLY | OFlags::NONBLOCK,
            Mounts::Stay,
        )?;
        let stat = rustix::fs::fstat(&opened)?;
        if (stat.st_dev, stat.st_ino) != (node.stat.st_dev, node.stat.st_ino) {
            return Err(io::Error::other("it was replaced meanwhile"));
        }
        let size = u64::try_from(stat.st_size).unwrap_or_default();
        // The size of a file with holes may be anything.
        let room = rustix::fs::fstatvfs(self.tar.get_ref())?;
        if size > room.f_bavail.saturating_mul(room.f_frsize) {
            return Err(io::Error::from(Errno::NOSPC));
        }
        // Its user may write to it meanwhile: the archive gets as many octets as it said.
        let content = File::from(opened).chain(io::repeat(0)).take(size);
        let mut header = Self::header(&stat, EntryType::Regular, size);
        self.tar.append_data(&mut header, self.path(node.path), content)
    }

    fn put_link(&mut self, node: &Node<'_>) -> io::Result<()> {
        let target = rustix::fs::readlinkat(node.opened, c"", Vec::new())?;
        let mut header = Self::header(node.stat, EntryType::Symlink, 0);
        let target = Path::new(OsStr::from_bytes(target.to_bytes()));
        self.tar.append_link(&mut header, self.path(node.path), target)
    }
}

fn failed(node: &Node<'_>, error: &io::Error) -> Trouble {
    Trouble::Lasting(format!("archiving {}: {error}", shown(node.path)))
}

impl Visitor for Archive {
    fn enter(&mut self, node: &Node<'_>) -> Result<(), Trouble> {
        let put = self.put(node.path, node.stat, EntryType::Directory);
        put.map_err(|error| failed(node, &error))
    }

    fn file(&mut self, node: &Node<'_>) -> Result<(), Trouble> {
        let put = match node.kind() {
            FileType::RegularFile => self.put_file(node),
            FileType::Symlink => self.put_link(node),
            FileType::Fifo => self.put(node.path, node.stat, EntryType::Fifo),
            // Devices and sockets.
            _ => Ok(()),
        };
        put.map_err(|error| failed(node, &error))
    }

    fn leave(&mut self, _: &Node<'_>) -> Result<(), Trouble> {
        Ok(())
    }
}
