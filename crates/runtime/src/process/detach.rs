//! Becoming a daemon: the command returns when the daemon listens, or says why it does not.
//!
//! The process forks twice, with a new session in between. So the daemon has no controlling terminal and cannot get
//! one. The first process waits on a pipe for the daemon's report:
//!
//! - one zero byte: it listens; exit status 0
//! - text: why it does not; the text goes to stderr, exit status 1
//! - end of file: the daemon ended without a report; exit status 1
//!
//! The working directory stays, because paths of a configuration are relative to it. stderr stays the caller's until
//! the daemon is ready, so that its messages are seen. Then stdin, stdout and stderr become /dev/null.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::process::exit;

use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, dup2_stderr, dup2_stdin, dup2_stdout, fork, pipe, setsid};

/// The report to the process that the user started, which waits for it.
///
/// Dropping it without a report makes that process say that the daemon ended early.
#[derive(Debug)]
#[must_use = "the starting process waits for the report"]
pub struct Readiness {
    /// `None` in the foreground: no process waits.
    waiting: Option<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    /// The pipe for the report.
    report: File,
    /// /dev/null, opened early: a chroot may not have it.
    null: File,
}

/// Why a process could not become a daemon.
#[derive(Debug, thiserror::Error)]
pub enum DetachError {
    /// We are at fault: a fork would drop the other threads while they hold locks.
    #[error("cannot detach: the process already has {0} threads")]
    ThreadsRunning(usize),
    /// Without /proc the number of threads is unknown.
    #[error("cannot detach without /proc ({0}); stay in the foreground with -d 0")]
    ThreadsUnknown(#[source] io::Error),
    /// The operating system refused.
    #[error("cannot detach: {0}")]
    System(#[from] io::Error),
}

/// Becomes a daemon. Returns in the daemon only: the process that the user started waits for the report of the returned
/// [`Readiness`] and exits with it.
///
/// # Errors
/// Errors are returned in the process that the user started. That process is then unchanged.
pub fn detach() -> Result<Readiness, DetachError> {
    require_single_thread()?;
    // Otherwise each process would write the buffered text once.
    io::stdout().flush()?;
    let null = OpenOptions::new().read(true).write(true).open("/dev/null")?;
    let (reader, writer) = pipe().map_err(io::Error::from)?;
    if let ForkResult::Parent { child } = fork_single_threaded()? {
        drop(writer);
        // The intermediate process ends at once; its failure shows as an end of file on the pipe.
        let _ = waitpid(child, None);
        exit(await_report(&mut File::from(reader), &mut io::stderr()));
    }
    drop(reader);
    let report = File::from(writer);
    let readiness = Readiness {
        waiting: Some(Waiting { report, null }),
    };
    // From here on the caller would not see an error of this process.
    if let Err(error) = setsid() {
        readiness.failed(&format!("cannot start a session: {error}"));
        exit(1);
    }
    match fork_single_threaded() {
        Ok(ForkResult::Child) => Ok(readiness),
        Ok(ForkResult::Parent { .. }) => exit(0),
        Err(error) => {
            readiness.failed(&error.to_string());
            exit(1);
        }
    }
}

impl Readiness {
    /// For a server that stays in the foreground: every report is a no-op.
    pub fn foreground() -> Self {
        Self { waiting: None }
    }

    /// True when a process is waiting for the report.
    pub fn is_detached(&self) -> bool {
        self.waiting.is_some()
    }

    /// Reports that the server listens. From now on stdin, stdout and stderr are /dev/null.
    ///
    /// # Errors
    /// The descriptors cannot be replaced. A waiting process that has been killed meanwhile is no error.
    pub fn ready(self) -> io::Result<()> {
        let Some(Waiting { mut report, null }) = self.waiting else {
            return Ok(());
        };
        dup2_stdin(&null)?;
        dup2_stdout(&null)?;
        dup2_stderr(&null)?;
        let _ = report.write_all(&[READY]);
        Ok(())
    }

    /// Reports that the server will not listen, and why, in one line without a line feed. In the foreground the caller
    /// must print the message itself.
    pub fn failed(self, message: &str) {
        if let Some(Waiting { mut report, .. }) = self.waiting {
            // An empty report would look like an end without a report.
            let text = if message.is_empty() {
                "the server could not start"
            } else {
                message
            };
            let _ = report.write_all(text.replace('\0', " ").as_bytes());
        }
    }
}

/// Waits for the daemon's report and writes a failure to `stderr`. Returns the exit status.
fn await_report(report: &mut impl Read, stderr: &mut impl Write) -> i32 {
    let mut first = [0];
    let message = match report.read_exact(&mut first) {
        Ok(()) if first == [READY] => return 0,
        Ok(()) => {
            let mut text = first.to_vec();
            // A report that breaks off is shown as far as it was received.
            let _ = report.take(MAX_MESSAGE_BYTES).read_to_end(&mut text);
            String::from_utf8_lossy(&text).into_owned()
        }
        Err(_) => "the server ended before it was listening; its log may say why".to_owned(),
    };
    // stderr is closed, so nobody can be told. The exit status still tells.
    let _ = writeln!(stderr, "{message}");
    1
}

fn require_single_thread() -> Result<(), DetachError> {
    let threads = fs::read_dir("/proc/self/task")
        .map_err(DetachError::ThreadsUnknown)?
        .count();
    if threads == 1 {
        Ok(())
    } else {
        Err(DetachError::ThreadsRunning(threads))
    }
}

#[allow(unsafe_code)]
fn fork_single_threaded() -> Result<ForkResult, DetachError> {
    require_single_thread()?;
    // SAFETY: only the calling thread lives on in the child. The count has just shown that it is the only thread. It
    // runs this function, so no thread can start another one. So the child inherits no lock and no half-made state of
    // another thread.
    Ok(unsafe { fork() }.map_err(io::Error::from)?)
}

const READY: u8 = 0;
const MAX_MESSAGE_BYTES: u64 = 64 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn report(bytes: &[u8]) -> (i32, String) {
        let mut said = Vec::new();
        let status = await_report(&mut &bytes[..], &mut said);
        (status, String::from_utf8(said).unwrap())
    }

    #[test]
    fn the_report_decides_exit_status_and_message() {
        assert_eq!(report(&[READY]), (0, String::new()));
        assert_eq!(report(b"port 389 is taken"), (1, "port 389 is taken\n".to_owned()));
        let (status, said) = report(b"");
        assert_eq!(status, 1);
        assert!(said.starts_with("the server ended before it was listening"), "{said}");
    }

    #[test]
    fn an_endless_report_is_cut() {
        let (_, said) = report(&vec![b'x'; 200_000]);
        assert_eq!(said.len() as u64, MAX_MESSAGE_BYTES + 2);
    }

    #[test]
    fn a_process_with_threads_is_refused() {
        // The test harness runs this test on a thread of its own.
        assert!(matches!(detach(), Err(DetachError::ThreadsRunning(2..))));
    }

    #[test]
    fn in_the_foreground_a_report_leaves_stdio_alone() {
        let readiness = Readiness::foreground();
        assert!(!readiness.is_detached());
        readiness.ready().unwrap();
        Readiness::foreground().failed("nobody waits");
    }
}
