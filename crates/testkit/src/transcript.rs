//! The answers to clients, as text that can be compared between two servers.

use std::fmt;

use crate::{Credentials, ProgramOutput, Server, TestkitError};

/// The steps of a scenario with their exit status, output and error messages. Ports and directories are replaced by
/// fixed words, so that two servers give the same text when they answer the same.
#[derive(Debug)]
pub struct Transcript<'a> {
    server: &'a Server,
    text: String,
    is_unordered: bool,
}

impl<'a> Transcript<'a> {
    /// An empty transcript for `server`.
    pub fn new(server: &'a Server) -> Self {
        Self {
            server,
            text: String::new(),
            is_unordered: false,
        }
    }

    /// From now on, sorts the entries of an answer by their text. slapd walks a database from parent to child; Ironbark
    /// returns entries in the order in which they were added.
    pub fn ignore_order(&mut self) {
        self.is_unordered = true;
    }

    /// Runs ldapsearch as anonymous and records its answer. The arguments are the title.
    pub fn search(&mut self, arguments: &[&str]) -> Result<(), TestkitError> {
        self.client("ldapsearch", &Credentials::Anonymous, arguments, "")
    }

    /// As [`Transcript::search`], without the lines that start with `prefix`.
    pub fn search_but_for(&mut self, prefix: &str, arguments: &[&str]) -> Result<(), TestkitError> {
        let mut outcome = self.server.search(arguments)?;
        let lines = outcome
            .stdout
            .split_inclusive('\n')
            .filter(|line| !line.starts_with(prefix));
        outcome.stdout = lines.collect();
        self.note(&format!("ldapsearch {arguments:?}"), &outcome);
        Ok(())
    }

    /// Runs ldapsearch as [`Credentials::ROOT`] and records its answer.
    pub fn root_search(&mut self, arguments: &[&str]) -> Result<(), TestkitError> {
        self.client("ldapsearch", &Credentials::ROOT, arguments, "")
    }

    /// Runs ldapmodify as [`Credentials::ROOT`]. The change is the title.
    pub fn modify(&mut self, change: &str) -> Result<(), TestkitError> {
        self.client("ldapmodify", &Credentials::ROOT, &[], change)
    }

    /// Runs a program of ldap-utils and records its answer.
    pub fn client(
        &mut self,
        program: &str,
        credentials: &Credentials<'_>,
        arguments: &[&str],
        input: &str,
    ) -> Result<(), TestkitError> {
        let outcome = self.server.client(program, credentials, arguments, input)?;
        let who = match credentials {
            Credentials::Anonymous => "anonymous",
            Credentials::Simple { dn, .. } => dn,
            Credentials::External => "external",
        };
        let title = format!("{program} {arguments:?} as {who:?}\n{input}");
        self.note(&title, &outcome);
        Ok(())
    }

    /// Runs a Python script and records its answer.
    pub fn python(&mut self, script: &str) -> Result<(), TestkitError> {
        let outcome = self.server.python(script)?;
        self.note("python", &outcome);
        Ok(())
    }

    /// Records an outcome under a title.
    pub fn note(&mut self, title: &str, outcome: &ProgramOutput) {
        let answer = format!(
            "= exit {}\n{}\n{}\n",
            status(outcome),
            self.blocks(&outcome.stdout),
            outcome.stderr
        );
        self.text.push_str("# ");
        self.text.push_str(title.trim_end());
        self.text.push('\n');
        self.text.push_str(&self.fixed(&answer));
    }

    /// An outcome as it stands in a [`crate::Script`].
    pub(crate) fn marked(&self, outcome: &ProgramOutput) -> String {
        let mut text = self.blocks(&outcome.stdout);
        if !text.is_empty() {
            text.push('\n');
        }
        for line in outcome.stderr.lines() {
            text.push_str(format!("! {line}").trim_end());
            text.push('\n');
        }
        self.fixed(&format!("{text}= {}\n", status(outcome)))
    }

    fn blocks(&self, output: &str) -> String {
        let mut blocks: Vec<&str> = output.split("\n\n").map(|block| block.trim_matches('\n')).collect();
        blocks.retain(|block| !block.is_empty());
        if self.is_unordered {
            blocks.sort_unstable();
        }
        blocks.join("\n\n")
    }

    /// Fixed words in place of the port and the directory.
    fn fixed(&self, text: &str) -> String {
        let port = self.server.port().to_string();
        let dir = self.server.layout().path().to_string_lossy();
        text.replace(&port, "PORT").replace(&*dir, "DIR")
    }

    /// The text.
    pub fn finish(self) -> String {
        self.text
    }
}

/// The exit status.
fn status(outcome: &ProgramOutput) -> String {
    outcome
        .code()
        .map_or_else(|| "signal".to_owned(), |code| code.to_string())
}

impl fmt::Display for Transcript<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
