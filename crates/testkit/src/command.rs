//! Running a program to its end.

use std::io::Write;
use std::process::{Command, ExitStatus, Stdio};
use std::thread;

use crate::TestkitError;

/// The output of a program and how it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramOutput {
    /// The command line, for messages.
    pub command: String,
    /// How it ended.
    pub status: ExitStatus,
    /// Its standard output; bytes that are not UTF-8 are replaced.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
}

impl ProgramOutput {
    /// The exit status; the LDAP result code for the clients of ldap-utils. `None` when a signal ended it.
    pub fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// The outcome, if its exit status is 0.
    pub fn success(self) -> Result<Self, TestkitError> {
        self.expect_code(0)
    }

    /// The outcome, if its exit status is `code`.
    pub fn expect_code(self, code: i32) -> Result<Self, TestkitError> {
        if self.code() == Some(code) {
            return Ok(self);
        }
        Err(TestkitError::Status {
            command: self.command,
            status: self.status,
            stdout: self.stdout,
            stderr: self.stderr,
        })
    }
}

/// Runs a command with `input` on its stdin.
pub(crate) fn run(command: &mut Command, input: &[u8]) -> Result<ProgramOutput, TestkitError> {
    let line = command_line(command);
    let failed = || TestkitError::io(format!("cannot run {line}"));
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed())?;
    let stdin = child.stdin.take();
    // Writing and reading run in parallel: a program that answers while it reads would otherwise fill its pipe and
    // wait.
    let output = thread::scope(|scope| {
        scope.spawn(move || {
            // A program that ends before it has read everything closes its stdin. Its status says why.
            let _ = stdin.map(|mut stdin| stdin.write_all(input));
        });
        child.wait_with_output()
    })
    .map_err(failed())?;
    Ok(ProgramOutput {
        command: line,
        status: output.status,
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

/// The command as typed in a shell.
pub(crate) fn command_line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let quoted = words.map(|word| {
        let word = word.to_string_lossy();
        if word.is_empty() || word.contains([' ', '(', '*', '\'', '"']) {
            format!("{word:?}")
        } else {
            word.into_owned()
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_status_and_input_are_passed() {
        let outcome = run(Command::new("sh").args(["-c", "cat; echo bad >&2; exit 32"]), b"in").unwrap();
        assert_eq!(
            (outcome.code(), &outcome.stdout[..], &outcome.stderr[..]),
            (Some(32), "in", "bad\n")
        );
        let error = outcome.clone().success().unwrap_err().to_string();
        assert!(error.contains("sh -c \"cat;") && error.contains("bad"), "{error}");
        outcome.expect_code(32).unwrap();
    }

    #[test]
    fn much_input_and_output_at_once_do_not_block() {
        let input = vec![b'x'; 1 << 20];
        assert_eq!(run(&mut Command::new("cat"), &input).unwrap().stdout.len(), input.len());
        assert_eq!(run(&mut Command::new("true"), &input).unwrap().code(), Some(0));
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let error = run(&mut Command::new("/no/such/program"), b"").unwrap_err().to_string();
        assert!(error.contains("/no/such/program"), "{error}");
    }
}
