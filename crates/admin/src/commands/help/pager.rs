//! Long texts are shown by the user's pager, as git does it.

use std::{
    env,
    io::{self, Write as _},
    process::{Command, Stdio},
};

/// Shows a text through `$PAGER`, or less. Without a pager, or if it does not start, the text is only printed.
///
/// # Errors
/// The standard output takes no more.
pub(super) fn show(text: &str) -> io::Result<()> {
    if let Some(pager) = chosen(env::var("PAGER").ok())
        && through(&pager, text).is_ok()
    {
        return Ok(());
    }
    anstream::stdout().write_all(text.as_bytes())
}

/// The command line of the pager. `cat` and an empty text are none.
fn chosen(variable: Option<String>) -> Option<String> {
    let pager = variable.unwrap_or_else(|| "less".to_owned());
    (!pager.trim().is_empty() && pager != "cat").then_some(pager)
}

fn through(pager: &str, text: &str) -> io::Result<()> {
    let mut command = Command::new("sh");
    command.args(["-c", pager]).stdin(Stdio::piped());
    // Colours, no pager for what fits on the screen, and the text stays there.
    if env::var_os("LESS").is_none() {
        command.env("LESS", "FRX");
    }
    let mut child = command.spawn()?;
    if let Some(mut input) = child.stdin.take() {
        // A reader who has read enough closes the pager early.
        let _ = input.write_all(text.as_bytes());
    }
    let status = child.wait()?;
    // 126 and 127: the shell did not find the program.
    if matches!(status.code(), Some(126 | 127)) {
        return Err(io::Error::from(io::ErrorKind::NotFound));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_pager_is_chosen_and_less_otherwise() {
        for (variable, wanted) in [
            (None, Some("less")),
            (Some("more -d"), Some("more -d")),
            (Some("cat"), None),
            (Some(""), None),
        ] {
            assert_eq!(chosen(variable.map(str::to_owned)).as_deref(), wanted, "{variable:?}");
        }
    }

    #[test]
    fn a_pager_that_is_missing_is_an_error() {
        assert!(through("/no/such/pager 2>/dev/null", "text").is_err());
        assert!(through("cat >/dev/null", "text").is_ok());
        assert!(through("true", &"text\n".repeat(100_000)).is_ok());
    }
}
