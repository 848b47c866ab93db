//! The local socket between a process that has a folder open and tools that want to change what is in it.
//!
//! It has a name in Linux's abstract namespace, made of device and inode of the folder, so it leaves no file behind and
//! has no limit of length. A name can be taken by any process of the machine, so each side asks the kernel who the
//! other one is. The process that has the folder open speaks to root and to its own user alone: it may have more open
//! than the folder, so the folder's owner is not enough. A tool also speaks to a process of the folder's owner.
//!
//! In a user namespace the kernel shows all users that have no number there by one and the same, the overflow user.
//! Nobody who is shown by it is spoken to, not even where the process itself or the folder's owner has that number.

use std::{
    fs,
    io::{self, Read, Write},
    os::{
        fd::AsFd,
        linux::net::SocketAddrExt,
        unix::{
            fs::MetadataExt,
            net::{SocketAddr, UnixListener, UnixStream},
        },
    },
    path::Path,
};

use nix::{
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::socket::{getsockopt, sockopt::PeerCredentials},
    unistd::geteuid,
};

fn address(folder: &Path) -> io::Result<SocketAddr> {
    let found = fs::metadata(folder)?;
    SocketAddr::from_abstract_name(format!("ironbark/{:x}.{:x}", found.dev(), found.ino()))
}

/// Listens for the tools that want to change what is in a folder.
///
/// # Errors
/// There is no such folder; another process listens.
pub fn listen_for_tools(folder: &Path) -> io::Result<UnixListener> {
    UnixListener::bind_addr(&address(folder)?)
}

/// A tool's connection to the process that has a folder open. Reads and writes do not wait
/// ([`io::ErrorKind::WouldBlock`]).
#[derive(Debug)]
pub struct ToolStream(UnixStream);

impl ToolStream {
    /// Waits until something can be read, or also until something can be written.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn wait(&self, also_to_write: bool) -> io::Result<()> {
        let mut events = PollFlags::POLLIN;
        events.set(PollFlags::POLLOUT, also_to_write);
        match poll(&mut [PollFd::new(self.0.as_fd(), events)], PollTimeout::NONE) {
            Ok(_) | Err(nix::Error::EINTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

impl Read for ToolStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Write for ToolStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Connects to the process that has a folder open. `None`: nobody listens.
///
/// # Errors
/// The process that listens is not one that may have the folder open.
pub fn connect_as_tool(folder: &Path) -> io::Result<Option<ToolStream>> {
    let Ok(address) = address(folder) else {
        return Ok(None);
    };
    let Ok(stream) = UnixStream::connect_addr(&address) else {
        return Ok(None);
    };
    let (user, owner) = (user_of(&stream)?, fs::metadata(folder)?.uid());
    if !is_one_of(user, &[owner, geteuid().as_raw()], shared_user()) {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            format!(
                "{}: a process of another user pretends to have it open",
                folder.display()
            ),
        ));
    }
    stream.set_nonblocking(true)?;
    Ok(Some(ToolStream(stream)))
}

/// Whether the process on the other side is one of root or of this process's user.
///
/// # Errors
/// The kernel does not tell.
pub fn is_of_own_user(stream: &UnixStream) -> io::Result<bool> {
    Ok(is_one_of(user_of(stream)?, &[geteuid().as_raw()], shared_user()))
}

/// The number of this process's user, if it also stands for all users that have none here. Processes of this user are
/// then not told from those.
pub fn own_user_is_shared() -> Option<u32> {
    shared_user().filter(|shared| *shared == geteuid().as_raw())
}

fn user_of(stream: &UnixStream) -> io::Result<u32> {
    Ok(getsockopt(stream, PeerCredentials)?.uid())
}

/// Whether it is root or one of these, and no other user has its number. `shared`: see [`shared_user`].
fn is_one_of(user: u32, these: &[u32], shared: Option<u32>) -> bool {
    (user == 0 || these.contains(&user)) && shared != Some(user)
}

/// The overflow user, by whose number the kernel shows all users that have none in this user namespace. `None`: all
/// have one.
fn shared_user() -> Option<u32> {
    // Without /proc it may be one.
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    let overflow = fs::read_to_string("/proc/sys/kernel/overflowuid").unwrap_or_default();
    (!has_all_users(&map)).then(|| overflow.trim().parse().unwrap_or(OVERFLOW_USER))
}

/// Whether a table of user_namespaces(7) has a row for each user: first number inside, first number outside, count.
fn has_all_users(map: &str) -> bool {
    let count = |row: &str| row.split_whitespace().nth(2)?.parse::<u64>().ok();
    map.lines().filter_map(count).sum::<u64>() >= u64::from(u32::MAX)
}

/// What Linux begins with.
const OVERFLOW_USER: u32 = 65_534;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_whose_number_others_share_is_nobody() {
        let nobody = OVERFLOW_USER;
        assert!(is_one_of(nobody, &[nobody], None));
        assert!(!is_one_of(nobody, &[nobody], Some(nobody)));
        assert!(!is_one_of(0, &[nobody], Some(0)));
        assert!(is_one_of(0, &[nobody], Some(nobody)) && is_one_of(7, &[7], Some(nobody)));
        assert!(!is_one_of(8, &[7], None));
    }

    #[test]
    fn only_a_namespace_without_some_users_shows_them_by_one_number() {
        assert!(has_all_users("         0          0 4294967295\n"));
        assert!(has_all_users("0 100 1000\n1000 2000 4294966295\n"));
        assert!(!has_all_users(
            "         0       1000          1\n         1     100000      65536\n"
        ));
        assert!(!has_all_users(""));
    }

    #[test]
    fn one_process_listens_for_a_folder_whatever_its_path_is() {
        let above = tempfile::tempdir().unwrap();
        let folder = above.path().join("x".repeat(200));
        fs::create_dir(&folder).unwrap();
        assert!(connect_as_tool(&folder).unwrap().is_none());
        let listener = listen_for_tools(&folder).unwrap();
        assert_eq!(listen_for_tools(&folder).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        let link = above.path().join("link");
        std::os::unix::fs::symlink(&folder, &link).unwrap();
        let stream = connect_as_tool(&link).unwrap().expect("a listener");
        let (accepted, _) = listener.accept().unwrap();
        assert!(is_of_own_user(&accepted).unwrap() && is_of_own_user(&stream.0).unwrap());
        drop(listener);
        assert!(connect_as_tool(&folder).unwrap().is_none());
    }
}
