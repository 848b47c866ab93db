//! Home directories of accounts that are gone.

use std::{
    ffi::CStr,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
};

use rustix::{
    fs::{AtFlags, Dir, FileType, OFlags, Stat, XattrFlags},
    io::Errno,
};

use super::{
    account::Account,
    archive,
    files::{Mounts, Place, Trouble, c_name, locate, open},
    settings::{DeleteStyle, HomedirConfig},
    walk::{self, Node, Visitor, open_to_read},
};

/// When a change was made, and when the overlay began, in microseconds since 1970.
#[derive(Clone, Copy)]
pub(super) struct Times {
    pub(super) change: i64,
    pub(super) begin: i64,
    pub(super) now: i64,
}

/// Deletes the home directory if it belongs to the account, or archives it before.
///
/// # Errors
/// It is still there, at least in part.
pub(super) fn remove(account: &Account, config: &HomedirConfig, own: &str, times: Times) -> Result<(), Trouble> {
    let archive = match (config.style, &config.archive) {
        (DeleteStyle::Ignore, _) | (DeleteStyle::Archive, None) => return Ok(()),
        (DeleteStyle::Delete, _) => None,
        (DeleteStyle::Archive, Some(path)) => Some(path.as_path()),
    };
    let home = account.home.text();
    let place = locate(&account.home)?;
    let Some((directory, stat)) = belonging(&place, account.uid, &home)? else {
        return Ok(());
    };
    if is_newer(&directory, times) && is_of_later(&place, own)? {
        let text = format!("{home} was made after its account was deleted, and stays");
        return Err(Trouble::Lasting(text));
    }
    if let Some(path) = archive {
        let names = contents(&place, &stat, &home)?;
        archive::write(account, place.name, names, path, own, times.now).map_err(Trouble::lasting)?;
    }
    let names = contents(&place, &stat, &home)?;
    let passed_over = walk::below(names, Some(account.uid), &mut Delete).map_err(Trouble::lasting)?;
    match rustix::fs::unlinkat(&place.directory, place.name, AtFlags::REMOVEDIR) {
        Ok(()) => {
            tracing::info!(target: "any", "homedir: {home} was deleted");
            Ok(())
        }
        // By another server that shares the file system.
        Err(Errno::NOENT) => Ok(()),
        Err(errno) => Err(Trouble::Lasting(format!(
            "{home} is not deleted: {}; {passed_over} files and directories in it belong to others, or cannot be deleted",
            std::io::Error::from(errno)
        ))),
    }
}

/// The directory that was looked at, to be read.
///
/// # Errors
/// Another one is there now, or the system refuses it.
pub(super) fn contents(place: &Place<'_>, looked_at: &Stat, home: &str) -> Result<Dir, Trouble> {
    let name = c_name(place.name.as_bytes())?;
    let opened = open_to_read(place.directory.as_fd(), &name).and_then(|names| Ok((names.stat()?, names)));
    let (stat, names) = opened.map_err(|errno| Trouble::of(home, errno).lasting())?;
    if (stat.st_dev, stat.st_ino) != (looked_at.st_dev, looked_at.st_ino) {
        return Err(Trouble::Lasting(format!("{home} was replaced meanwhile")));
    }
    Ok(names)
}

/// The directory at a place, if it belongs to the account; `None`: nothing is there.
///
/// # Errors
/// It is something else, or belongs to somebody else.
pub(super) fn belonging(place: &Place<'_>, uid: u32, home: &str) -> Result<Option<(OwnedFd, Stat)>, Trouble> {
    let trouble = |errno| Trouble::of(home, errno).lasting();
    let name = c_name(place.name.as_bytes())?;
    let opened = match open(&place.directory, &name, OFlags::PATH, Mounts::Stay) {
        Err(Errno::NOENT) => return Ok(None),
        opened => opened.map_err(trouble)?,
    };
    let stat = rustix::fs::fstat(&opened).map_err(trouble)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
        return Err(Trouble::Lasting(format!("{home} is no directory")));
    }
    if stat.st_uid != uid {
        let text = format!(
            "{home} belongs to user {}, not to {uid}, and is not touched",
            stat.st_uid
        );
        return Err(Trouble::Lasting(text));
    }
    Ok(Some((opened, stat)))
}

/// After a crash a change may come again. Then the directory may already be that of a later account: it was made after
/// the change, and before this process.
fn is_newer(directory: &OwnedFd, times: Times) -> bool {
    let wanted = rustix::fs::StatxFlags::BTIME;
    let Ok(found) = rustix::fs::statx(directory, c"", AtFlags::EMPTY_PATH, wanted) else {
        return false;
    };
    let micros = found.stx_btime.tv_sec.saturating_mul(1_000_000) + i64::from(found.stx_btime.tv_nsec / 1_000);
    found.stx_mask & wanted.bits() != 0 && micros > times.change && micros < times.begin
}

/// The attribute of a file that says which change has made a home directory.
const MADE_BY: &CStr = c"user.ironbark.made";

/// Notes in a new home directory which change it is of. Not every file system can.
pub(super) fn mark(directory: BorrowedFd<'_>, own: &CStr) {
    let _ = rustix::fs::fsetxattr(directory, MADE_BY, own.to_bytes(), XattrFlags::empty());
}

/// Whether a directory was not made by a change before this one. A change is made late if the overlay lags, so the time
/// at which a directory was made does not tell alone. The account's user can change the note; it matters only for a
/// directory that [`is_newer`].
fn is_of_later(place: &Place<'_>, own: &str) -> Result<bool, Trouble> {
    let name = c_name(place.name.as_bytes())?;
    let Ok(directory) = open_to_read(place.directory.as_fd(), &name) else {
        return Ok(true);
    };
    let mut noted = [0; 128];
    let length = directory
        .fd()
        .and_then(|directory| rustix::fs::fgetxattr(directory, MADE_BY, &mut noted[..]));
    let noted = length.ok().and_then(|length| noted.get(..length));
    // Stamps have one width, so the later one is the greater text.
    Ok(noted.is_none_or(|noted| noted > own.as_bytes()))
}

/// Deletes what an attempt to make a directory has left at a name of our own.
///
/// # Errors
/// It is still there.
pub(super) fn whatever_is_at(directory: &OwnedFd, own: &CStr) -> Result<(), Trouble> {
    let trouble = |errno| Trouble::of(format_args!("deleting {own:?}"), errno);
    match open_to_read(directory.as_fd(), own) {
        Err(Errno::NOENT) => return Ok(()),
        names => walk::below(names.map_err(trouble)?, None, &mut Delete)?,
    };
    rustix::fs::unlinkat(directory, own, AtFlags::REMOVEDIR).map_err(trouble)
}

/// Deletes what it comes upon. What cannot be deleted stays, and its directories with it.
struct Delete;

impl Visitor for Delete {
    fn file(&mut self, node: &Node<'_>) -> Result<(), Trouble> {
        let _ = rustix::fs::unlinkat(node.directory, node.name, AtFlags::empty());
        Ok(())
    }

    fn leave(&mut self, node: &Node<'_>) -> Result<(), Trouble> {
        let _ = rustix::fs::unlinkat(node.directory, node.name, AtFlags::REMOVEDIR);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::{ffi::OsStr, fs::File};

    use super::*;

    #[test]
    fn a_directory_that_an_earlier_change_made_late_is_not_of_a_later_account() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("home")).unwrap();
        let place = Place {
            directory: File::open(folder.path()).unwrap().into(),
            name: OsStr::new("home"),
        };
        let [earlier, later] = [5, 7].map(|second| format!("own20260101000000.00000{second}Z#000000#001#000000-0"));
        assert!(is_of_later(&place, &later).unwrap(), "nothing tells that it is not");
        let made = File::open(folder.path().join("home")).unwrap();
        mark(made.as_fd(), &std::ffi::CString::new(earlier.clone()).unwrap());
        assert!(!is_of_later(&place, &later).unwrap());
        assert!(!is_of_later(&place, &earlier).unwrap());
        mark(made.as_fd(), &std::ffi::CString::new(later).unwrap());
        assert!(is_of_later(&place, &earlier).unwrap());
    }
}
