//! Limits that the operating system puts on the process.

use std::io;

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// How many files and sockets the process may have open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenFilesLimit {
    /// The former soft limit.
    pub before: u64,
    /// The soft limit now.
    pub now: u64,
}

/// Raises the soft limit of open files to the hard limit. Connections take memory only when they come, so a high limit
/// costs nothing.
///
/// # Errors
/// The operating system refused; the old limit stays in force.
pub fn raise_open_files_limit() -> io::Result<OpenFilesLimit> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    if soft < hard {
        setrlimit(Resource::RLIMIT_NOFILE, hard, hard)?;
    }
    Ok(OpenFilesLimit {
        before: soft,
        now: hard.max(soft),
    })
}

/// Forbids core files: they would hold passwords and keys. The hard limit stays, so an administrator can allow core
/// files from outside (prlimit(1)) to find a fault.
///
/// # Errors
/// The operating system refused.
pub fn forbid_core_files() -> io::Result<()> {
    let (_, hard) = getrlimit(Resource::RLIMIT_CORE)?;
    Ok(setrlimit(Resource::RLIMIT_CORE, 0, hard)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_reaches_the_hard_one() {
        let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
        setrlimit(Resource::RLIMIT_NOFILE, soft.min(256), hard).unwrap();
        assert_eq!(
            raise_open_files_limit().unwrap(),
            OpenFilesLimit {
                before: soft.min(256),
                now: hard
            }
        );
        assert_eq!(getrlimit(Resource::RLIMIT_NOFILE).unwrap(), (hard, hard));
    }

    #[test]
    fn no_core_file_is_written_until_someone_asks_for_it() {
        let (_, hard) = getrlimit(Resource::RLIMIT_CORE).unwrap();
        forbid_core_files().unwrap();
        assert_eq!(getrlimit(Resource::RLIMIT_CORE).unwrap(), (0, hard));
    }
}
