//! A home directory whose account has another place, user or group.

use std::os::fd::{AsFd, BorrowedFd};

use rustix::{
    fs::{AtFlags, Gid, Stat, Uid},
    io::Errno,
};

use super::{
    account::Account,
    files::{Place, Trouble, locate, look, rename},
    remove::{belonging, contents},
    walk::{self, Node, Visitor},
};

/// Moves the directory if its place is another, and gives what belongs to the account to its new user and group.
///
/// # Errors
/// It is not there, or does not belong to the account, or its new place is taken or on another file system.
pub(super) fn change(from: &Account, to: &Account) -> Result<(), Trouble> {
    let (old, new) = (from.home.text(), to.home.text());
    let target = locate(&to.home)?;
    if from.home != to.home {
        let source = locate(&from.home)?;
        if belonging(&source, from.uid, &old)?.is_some() {
            let renamed = rename(
                source.directory.as_fd(),
                source.name,
                target.directory.as_fd(),
                target.name,
            );
            match renamed {
                Ok(()) => tracing::info!(target: "any", "homedir: {old} was moved to {new}"),
                // Another server that shares the file system was quicker.
                Err(Errno::NOENT) if is_taken(&target, &new)? => {}
                Err(errno) => return Err(Trouble::of(format_args!("moving {old} to {new}"), errno)),
            }
        } else if !is_taken(&target, &new)? {
            return Err(Trouble::Lasting(format!("moving {old} to {new}: it is not there")));
        }
    }
    if (from.uid, from.gid) == (to.uid, to.gid) {
        return Ok(());
    }
    give(&target, from, to).map_err(Trouble::lasting)
}

/// Whether there is something at a place.
fn is_taken(place: &Place<'_>, home: &str) -> Result<bool, Trouble> {
    let found = look(&place.directory, place.name).map_err(|errno| Trouble::of(home, errno))?;
    Ok(found.is_some())
}

fn give(place: &Place<'_>, from: &Account, to: &Account) -> Result<(), Trouble> {
    let home = to.home.text();
    let trouble = |errno| Trouble::of(&home, errno);
    let held = look(&place.directory, place.name).map_err(trouble)?;
    if held.is_some_and(|stat| stat.st_uid == to.uid && from.uid != to.uid) {
        // It comes last, so all is done: before a crash, or by another server that shares the file system.
        return Ok(());
    }
    let Some((directory, stat)) = belonging(place, from.uid, &home)? else {
        return Err(Trouble::Lasting(format!("{home} is not there")));
    };
    let names = contents(place, &stat, &home)?;
    let mut give = Give {
        from: (from.uid, from.gid),
        to: (to.uid, to.gid),
        failed: 0,
    };
    let passed_over = walk::below(names, Some(from.uid), &mut give)?;
    // Until now a repetition finds that it belongs to the former user.
    give.one(directory.as_fd(), &stat).map_err(trouble)?;
    tracing::info!(
        target: "any",
        "homedir: {home} belongs to {}:{} now; {passed_over} files belong to others and stay theirs, {} cannot be changed",
        to.uid, to.gid, give.failed
    );
    Ok(())
}

/// Gives away what belongs to the former user.
struct Give {
    from: (u32, u32),
    to: (u32, u32),
    failed: u64,
}

impl Give {
    /// What was opened is given away, whatever its name stands for now. The kernel takes set-user-ID from it.
    fn one(&self, opened: BorrowedFd<'_>, stat: &Stat) -> Result<(), Errno> {
        let user = (self.from.0 != self.to.0).then(|| Uid::from_raw(self.to.0));
        let group = (stat.st_gid == self.from.1 && self.from.1 != self.to.1).then(|| Gid::from_raw(self.to.1));
        if user.is_none() && group.is_none() {
            return Ok(());
        }
        let flags = AtFlags::EMPTY_PATH | AtFlags::SYMLINK_NOFOLLOW;
        rustix::fs::chownat(opened, c"", user, group, flags)
    }
}

impl Visitor for Give {
    fn file(&mut self, node: &Node<'_>) -> Result<(), Trouble> {
        self.failed += u64::from(self.one(node.opened, node.stat).is_err());
        Ok(())
    }

    fn leave(&mut self, node: &Node<'_>) -> Result<(), Trouble> {
        self.file(node)
    }
}
