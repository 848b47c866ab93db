//! Pid and argument files. Init scripts find a running server by them.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process;

/// A file about the running process. It is removed when the value is dropped, unless another process has written to it.
#[derive(Debug)]
#[must_use = "the file is removed when the value is dropped"]
pub struct StateFile {
    path: PathBuf,
    content: Vec<u8>,
}

impl StateFile {
    /// Writes the process number and a line feed to `path`. Call this after detaching.
    pub fn pid(path: &Path) -> io::Result<Self> {
        Self::write(path, format!("{}\n", process::id()).into_bytes())
    }

    /// Writes the command line to `path`: a blank after each argument, then a line feed, as slapd does.
    pub fn arguments(path: &Path, arguments: impl IntoIterator<Item = OsString>) -> io::Result<Self> {
        let mut content = Vec::new();
        for argument in arguments {
            content.extend_from_slice(argument.as_bytes());
            content.push(b' ');
        }
        content.push(b'\n');
        Self::write(path, content)
    }

    fn write(path: &Path, content: Vec<u8>) -> io::Result<Self> {
        fs::write(path, &content)?;
        Ok(Self {
            path: path.to_owned(),
            content,
        })
    }
}

impl Drop for StateFile {
    fn drop(&mut self) {
        if fs::read(&self.path).is_ok_and(|content| content == self.content) {
            // A file that cannot be removed (its directory now belongs to root) is stale, which its readers must
            // expect.
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_hold_pid_and_arguments_and_go_away() {
        let dir = tempfile::tempdir().unwrap();
        let (pid_path, args_path) = (dir.path().join("slapd.pid"), dir.path().join("slapd.args"));
        let pid = StateFile::pid(&pid_path).unwrap();
        let args = StateFile::arguments(&args_path, ["slapd", "-h", "ldap:///"].map(OsString::from)).unwrap();
        assert_eq!(fs::read_to_string(&pid_path).unwrap(), format!("{}\n", process::id()));
        assert_eq!(fs::read_to_string(&args_path).unwrap(), "slapd -h ldap:/// \n");
        drop((pid, args));
        assert!(!pid_path.exists() && !args_path.exists());
    }

    #[test]
    fn a_file_that_another_server_has_taken_over_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("slapd.pid");
        let pid = StateFile::pid(&path).unwrap();
        fs::write(&path, "1\n").unwrap();
        drop(pid);
        assert_eq!(fs::read_to_string(&path).unwrap(), "1\n");
    }

    #[test]
    fn a_path_that_cannot_be_written_is_an_error() {
        assert!(StateFile::pid(Path::new("/proc/no/such/slapd.pid")).is_err());
    }
}
