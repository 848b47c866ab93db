//! Pid and argument files. Init scripts find a running server by them.

use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Write},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    process,
};

/// A file about the running process. It is removed when the value is dropped, unless another process has written to it.
///
/// It is locked (`flock`) as long as the value lives, so that the file of a process that runs is told from one that
/// was left behind.
#[derive(Debug)]
#[must_use = "the file is removed when the value is dropped"]
pub struct StateFile {
    path: PathBuf,
    content: Vec<u8>,
    _lock: File,
}

impl StateFile {
    /// Writes the process number and a line feed to `path`. Call this after detaching. `None`: the file is that of
    /// another process, which runs; it stays as it is.
    ///
    /// # Errors
    /// Of the file system.
    pub fn pid(path: &Path) -> io::Result<Option<Self>> {
        Self::write(path, format!("{}\n", process::id()).into_bytes())
    }

    /// Writes the command line to `path`: a blank after each argument, then a line feed, as slapd does. `None`: as of
    /// [`StateFile::pid`].
    ///
    /// # Errors
    /// Of the file system.
    pub fn arguments(path: &Path, arguments: impl IntoIterator<Item = OsString>) -> io::Result<Option<Self>> {
        let mut content = Vec::new();
        for argument in arguments {
            content.extend_from_slice(argument.as_bytes());
            content.push(b' ');
        }
        content.push(b'\n');
        Self::write(path, content)
    }

    fn write(path: &Path, content: Vec<u8>) -> io::Result<Option<Self>> {
        let mut file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            return Ok(None);
        }
        // Without another error: a file system may have no locks. /dev/null has no length.
        if file.metadata()?.is_file() {
            file.set_len(0)?;
        }
        file.write_all(&content)?;
        Ok(Some(Self {
            path: path.to_owned(),
            content,
            _lock: file,
        }))
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
        let pid = StateFile::pid(&pid_path).unwrap().unwrap();
        let args = StateFile::arguments(&args_path, ["slapd", "-h", "ldap:///"].map(OsString::from));
        let args = args.unwrap().unwrap();
        assert_eq!(fs::read_to_string(&pid_path).unwrap(), format!("{}\n", process::id()));
        assert_eq!(fs::read_to_string(&args_path).unwrap(), "slapd -h ldap:/// \n");
        drop((pid, args));
        assert!(!pid_path.exists() && !args_path.exists());
    }

    #[test]
    fn a_file_that_another_server_has_taken_over_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("slapd.pid");
        let pid = StateFile::pid(&path).unwrap().unwrap();
        fs::write(&path, "1\n").unwrap();
        drop(pid);
        assert_eq!(fs::read_to_string(&path).unwrap(), "1\n");
    }

    #[test]
    fn a_file_of_a_process_that_runs_stays_and_one_that_was_left_behind_is_taken_over() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("slapd.pid");
        fs::write(&path, "a much longer line than the number of a process\n").unwrap();
        let first = StateFile::pid(&path).unwrap();
        let written = format!("{}\n", process::id());
        assert_eq!(fs::read_to_string(&path).unwrap(), written);
        assert!(first.is_some() && StateFile::pid(&path).unwrap().is_none());
        assert!(StateFile::arguments(&path, ["x".into()]).unwrap().is_none());
        assert_eq!(fs::read_to_string(&path).unwrap(), written);
        drop(first);
        assert!(StateFile::pid(&path).unwrap().is_some());
        assert!(StateFile::pid(Path::new("/dev/null")).unwrap().is_some());
    }

    #[test]
    fn a_path_that_cannot_be_written_is_an_error() {
        assert!(StateFile::pid(Path::new("/proc/no/such/slapd.pid")).is_err());
    }
}
