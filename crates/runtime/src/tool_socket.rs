//! The local socket between a process that has a folder open and tools that want to change what is in it.
//!
//! It has a name in Linux's abstract namespace, made of device and inode of the folder, so it leaves no file behind and
//! has no limit of length. A name can be taken by any process of the machine, so each side asks the kernel who the
//! other one is. The process that has the folder open speaks to root and to its own user alone: it may have more open
//! than the folder, so the folder's owner is not enough. A tool also speaks to a process of the folder's owner.

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
    let user = user_of(&stream)?;
    if !is_own(user) && user != fs::metadata(folder)?.uid() {
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
    Ok(is_own(user_of(stream)?))
}

fn user_of(stream: &UnixStream) -> io::Result<u32> {
    Ok(getsockopt(stream, PeerCredentials)?.uid())
}

fn is_own(user: u32) -> bool {
    user == 0 || user == geteuid().as_raw()
}

#[cfg(test)]
mod tests {
    use super::*;

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
