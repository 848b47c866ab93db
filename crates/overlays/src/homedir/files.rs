//! Files and directories by descriptor. A name is opened in the directory that was opened before it, and is one name:
//! no link is followed, and nothing outside is reached.

use std::{
    ffi::{CStr, OsStr},
    fmt,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::Path,
};

use rustix::{
    fs::{AtFlags, Mode, OFlags, RenameFlags, ResolveFlags, Stat},
    io::Errno,
};

use super::path::Home;

/// Why something could not be done.
#[derive(Debug)]
pub(super) enum Trouble {
    /// It may go away: what failed is tried again.
    Passing(String),
    /// It stays.
    Lasting(String),
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Passing(text) | Self::Lasting(text) => f.write_str(text),
        }
    }
}

impl Trouble {
    /// An error of the system at some file.
    pub(super) fn of(what: impl fmt::Display, errno: Errno) -> Self {
        let text = format!("{what}: {}", std::io::Error::from(errno));
        if PASSING.contains(&errno) {
            Self::Passing(text)
        } else {
            Self::Lasting(text)
        }
    }

    /// The same where users can cause it: they must not hold up what comes after.
    pub(super) fn lasting(self) -> Self {
        match self {
            Self::Passing(text) | Self::Lasting(text) => Self::Lasting(text),
        }
    }
}

/// Errors of devices, networks and full disks. A full quota is the account's own affair.
const PASSING: [Errno; 8] = [
    Errno::NOSPC,
    Errno::ROFS,
    Errno::IO,
    Errno::STALE,
    Errno::NOTCONN,
    Errno::TIMEDOUT,
    Errno::HOSTDOWN,
    Errno::HOSTUNREACH,
];

/// A name in a directory.
pub(super) struct Place<'h> {
    pub(super) directory: OwnedFd,
    pub(super) name: &'h OsStr,
}

/// Whether a name may lead to another file system.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mounts {
    Cross,
    Stay,
}

/// Opens a name in a directory. Of a link it opens the link itself, and only with `O_PATH`.
pub(super) fn open(directory: impl AsFd, name: &CStr, flags: OFlags, mounts: Mounts) -> Result<OwnedFd, Errno> {
    let mut resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    if mounts == Mounts::Stay {
        resolve |= ResolveFlags::NO_XDEV;
    }
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat2(directory, name, flags, Mode::empty(), resolve)
}

/// Opens a directory of the administrator; links in its path are followed.
pub(super) fn open_fixed(path: &Path, flags: OFlags) -> Result<OwnedFd, Trouble> {
    let flags = flags | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty()).map_err(|errno| Trouble::of(path.display(), errno))
}

/// The place of a home directory. All directories on the way, from the fixed one on, belong to root or the server, and
/// cannot be changed by everybody: so what is checked there stays as it is.
pub(super) fn locate(home: &Home) -> Result<Place<'_>, Trouble> {
    let root = home.root();
    let mut directory = open_fixed(Path::new(OsStr::from_bytes(&root)), OFlags::PATH)?;
    check_owner(&directory, home)?;
    let (between, name) = home.below();
    for name in between {
        let name = c_name(name)?;
        directory = open(&directory, &name, OFlags::PATH | OFlags::DIRECTORY, Mounts::Cross)
            .map_err(|errno| Trouble::of(format_args!("{}: {name:?}", home.text()), errno))?;
        check_owner(&directory, home)?;
    }
    Ok(Place { directory, name })
}

fn check_owner(directory: &OwnedFd, home: &Home) -> Result<(), Trouble> {
    let stat = rustix::fs::fstat(directory).map_err(|errno| Trouble::of(home.text(), errno))?;
    let is_ours = stat.st_uid == 0 || stat.st_uid == rustix::process::geteuid().as_raw();
    if is_ours && stat.st_mode & 0o002 == 0 {
        return Ok(());
    }
    let text = "a directory above it belongs neither to root nor to the server, or everybody may change it";
    Err(Trouble::Lasting(format!("{}: {text}", home.text())))
}

/// A name for system calls. Names hold no NUL.
pub(super) fn c_name(name: &[u8]) -> Result<std::ffi::CString, Trouble> {
    std::ffi::CString::new(name).map_err(|error| Trouble::Lasting(error.to_string()))
}

/// What a name stands for; `None`: it is not there.
pub(super) fn look(directory: impl AsFd, name: &OsStr) -> Result<Option<Stat>, Errno> {
    match rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno),
    }
}

/// Gives a file or directory another name, which must not be taken.
pub(super) fn rename(from: BorrowedFd<'_>, old: &OsStr, to: BorrowedFd<'_>, new: &OsStr) -> Result<(), Errno> {
    match rustix::fs::renameat_with(from, old, to, new, RenameFlags::NOREPLACE) {
        // NFS cannot do both in one step. The directories are ours, so nobody comes between.
        Err(Errno::INVAL | Errno::NOSYS) if look(to, new)?.is_none() => rustix::fs::renameat(from, old, to, new),
        renamed => renamed,
    }
}
