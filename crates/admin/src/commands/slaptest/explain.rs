//! `slaptest --explain`: the wrong, unknown, ignored, unsafe, missing and old parts of a configuration.

use std::{
    ffi::OsString,
    io::Write as _,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
    process::ExitCode,
};

use ironbark_advisor::review;

use super::report;
use crate::shared::written::written;

/// The configuration loads, but something in it is unsafe. If it does not load, the status is 1, as for slaptest
/// without `--explain`.
const UNSAFE: u8 = 2;

/// The output form of findings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    Text,
    Json,
}

/// The long options of slaptest.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Explain {
    form: Form,
    logs: Vec<PathBuf>,
}

impl Explain {
    /// Removes `--explain`, `--explain=json` and `--log` from a command line. `None`: it has no `--explain`.
    ///
    /// # Errors
    /// An unknown form, a log without its name, or a log without `--explain`.
    pub(super) fn take(arguments: &mut Vec<OsString>) -> Result<Option<Self>, String> {
        let mut form = None;
        let mut logs = Vec::new();
        let mut kept = Vec::new();
        let mut words = std::mem::take(arguments).into_iter();
        while let Some(word) = words.next() {
            match word.as_bytes() {
                b"--" => {
                    kept.push(word);
                    kept.extend(words.by_ref());
                }
                b"--explain" | b"--explain=text" => form = Some(Form::Text),
                b"--explain=json" => form = Some(Form::Json),
                b"--log" => {
                    let name = words.next().ok_or("option requires an argument -- '--log'")?;
                    logs.push(name.into());
                }
                bytes => match (bytes.strip_prefix(b"--explain="), bytes.strip_prefix(b"--log=")) {
                    (Some(form), _) => {
                        return Err(format!(
                            "--explain={}: text or json is expected",
                            String::from_utf8_lossy(form)
                        ));
                    }
                    (None, Some(name)) => logs.push(std::ffi::OsStr::from_bytes(name).into()),
                    (None, None) => kept.push(word),
                },
            }
        }
        *arguments = kept;
        match form {
            Some(form) => Ok(Some(Self { form, logs })),
            None if logs.is_empty() => Ok(None),
            None => Err("--log is for --explain".to_owned()),
        }
    }

    /// Explains the configuration that slaptest's options name. The configuration is not changed.
    ///
    /// # Errors
    /// The message for the user.
    pub(super) fn run(
        &self,
        file: Option<&Path>,
        folder: Option<&Path>,
        listeners: Option<&str>,
        is_quiet: bool,
    ) -> Result<ExitCode, String> {
        let written = written(file, folder)?;
        let findings = review(&written, listeners, &self.logs).map_err(|error| error.to_string())?;
        if !is_quiet {
            let text = match self.form {
                Form::Text => report::text(&findings),
                Form::Json => report::json(&findings),
            };
            // The reader may have seen enough: `slaptest --explain | head`.
            let _ = std::io::stdout().write_all(text.as_bytes());
        }
        Ok(if !findings.loads() {
            ExitCode::FAILURE
        } else if findings.is_unsafe() {
            ExitCode::from(UNSAFE)
        } else {
            ExitCode::SUCCESS
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(line: &str) -> (Result<Option<Explain>, String>, String) {
        let mut words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let taken = Explain::take(&mut words);
        let rest: Vec<_> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
        (taken, rest.join(" "))
    }

    #[test]
    fn long_options_are_taken_out_of_the_command_line() {
        let (taken, rest) = take("slaptest --explain -f x --log a --log=b -v");
        assert_eq!(rest, "slaptest -f x -v");
        let logs = vec![PathBuf::from("a"), PathBuf::from("b")];
        assert_eq!(taken, Ok(Some(Explain { form: Form::Text, logs })));
        let (taken, rest) = take("slaptest -u -- --explain");
        assert_eq!((taken, rest.as_str()), (Ok(None), "slaptest -u -- --explain"));
        assert!(take("slaptest --explain=xml").0.is_err() && take("slaptest --log a").0.is_err());
        assert!(take("slaptest --explain --log").0.is_err());
    }
}
