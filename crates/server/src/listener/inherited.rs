//! Listening sockets that the supervisor has opened and passed on, by sd_listen_fds(3): clients can connect before the
//! server runs, and while it is started anew.

use std::{
    fs,
    os::unix::net::UnixListener,
    path::{Path, PathBuf},
};

use listenfd::ListenFd;
use socket2::Socket;

/// Local sockets that no listener has taken yet. They are taken by path; a socket of another kind is refused with a
/// line in the log and closed.
#[derive(Debug, Default)]
pub struct Inherited {
    sockets: Vec<(PathBuf, UnixListener)>,
}

impl Inherited {
    /// Takes the sockets that `LISTEN_FDS` and `LISTEN_PID` tell of, once, and before there are threads: the variables
    /// are removed, so that no child takes the sockets for its own.
    pub fn take() -> Self {
        let mut passed = ListenFd::from_env();
        let mut sockets = Vec::new();
        for index in 0..passed.len() {
            match passed.take_unix_listener(index) {
                Ok(Some(socket)) => {
                    if let Some(path) = path_of(&socket) {
                        sockets.push((path, socket));
                    } else {
                        tracing::warn!(target: "any", "daemon: the passed socket {index} has no path");
                    }
                }
                Ok(None) => {}
                Err(error) => tracing::warn!(target: "any", "daemon: the passed socket {index} is refused: {error}"),
            }
        }
        Self { sockets }
    }

    /// The socket at `path`. Two paths are the same if their folders are (/run and /var/run).
    pub(super) fn at(&mut self, path: &Path) -> Option<Socket> {
        let wanted = resolved(path);
        let index = self.sockets.iter().position(|(own, _)| resolved(own) == wanted)?;
        let (_, socket) = self.sockets.swap_remove(index);
        Some(socket.into())
    }

    /// Reports the sockets that no URL has asked for: their clients would wait in vain.
    pub(super) fn report_unused(&self) {
        for (path, _) in &self.sockets {
            let path = path.display();
            tracing::warn!(target: "any", "daemon: the passed socket {path} is closed: no URL of -h names it");
        }
    }
}

fn path_of(socket: &UnixListener) -> Option<PathBuf> {
    socket.local_addr().ok()?.as_pathname().map(Path::to_owned)
}

/// The path with its folder as the system knows it.
fn resolved(path: &Path) -> PathBuf {
    let folder = path.parent().and_then(|folder| fs::canonicalize(folder).ok());
    match (folder, path.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_is_taken_once_by_whatever_way_its_path_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().join("run");
        fs::create_dir(&real).unwrap();
        std::os::unix::fs::symlink(&real, folder.path().join("link")).unwrap();
        let path = real.join("ldapi");
        let socket = UnixListener::bind(&path).unwrap();
        let mut inherited = Inherited {
            sockets: vec![(path_of(&socket).unwrap(), socket)],
        };
        assert!(inherited.at(&real.join("other")).is_none());
        assert!(inherited.at(&folder.path().join("link/ldapi")).is_some());
        assert!(inherited.at(&path).is_none());
    }
}
