//! The local socket between a process that has a folder open and tools that want to change what is in it.
//!
//! It has a name in Linux's abstract namespace, made of device and inode of the folder, so it leaves no file behind and
//! has no limit of length. A name can be taken by any process of the machine, so each side asks the kernel who the
//! other one is: only root, and the user that the folder belongs to or that the process runs as, are spoken to.

use std::{
    fs,
    io::{self, Read, Write},
    os::{
        linux::net::SocketAddrExt,
        unix::{
            fs::MetadataExt,
            net::{SocketAddr, UnixListener, UnixStream},
        },
    },
    path::Path,
};

use nix::{
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

/// A tool's connection to the process that has a folder open.
#[derive(Debug)]
pub struct ToolStream(UnixStream);

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
    if !is_trusted(&stream, folder)? {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            format!(
                "{}: a process of another user pretends to have it open",
                folder.display()
            ),
        ));
    }
    Ok(Some(ToolStream(stream)))
}

/// Whether the process on the other side is one of root, of this process's user, or of the folder's owner.
///
/// # Errors
/// The kernel does not tell.
pub fn is_trusted(stream: &UnixStream, folder: &Path) -> io::Result<bool> {
    let user = getsockopt(stream, PeerCredentials)?.uid();
    Ok(user == 0 || user == geteuid().as_raw() || user == fs::metadata(folder)?.uid())
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
        assert!(is_trusted(&accepted, &folder).unwrap() && is_trusted(&stream.0, &folder).unwrap());
        drop(listener);
        assert!(connect_as_tool(&folder).unwrap().is_none());
    }
}
