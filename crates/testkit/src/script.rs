//! Scenarios that are text: commands of ldap-utils, and slapd's answers behind them.
//!
//! ```text
//! # Each scope has its entries.
//! conf people.conf
//! + dn: dc=example,dc=com
//! + objectClass: domain
//! unordered
//!
//! $ ldapsearch -b dc=example,dc=com -s base 1.1
//! dn: dc=example,dc=com
//!
//! = 0
//! $ ldapmodify -D cn=Manager,dc=example,dc=com -w secret
//! < dn: dc=example,dc=com
//! < changetype: modify
//! < delete: nosuch
//! ! ldap_modify: Undefined attribute type (17)
//! = 17
//! ```
//!
//! The first line says what the scenario shows. Then come the slapd.conf (`conf` and a file of the folder of scenarios,
//! or its lines behind `|`), and the LDIF that slapadd loads (`data` and a file, or lines behind `+`; none: the
//! directory is empty). `{dir}`, `{schema}` and `{port}` are filled in, as in [`Server::prepare`]. `unordered`: entries
//! of an answer may come in any order. `ours` and a reason: the answers are those of Ironbark, for slapd's are not what
//! the standard asks. Behind a command, `<` marks a line of its input, `!` one of standard error, `=`
//! the exit status; what has no mark is standard output.
//!
//! The command `pdu` sends messages of LDAP as they stand in its input, on a connection of its own, and shows what the
//! server sends. It says what ldap-utils cannot; [`crate::pdu`] has the notation.

use std::fmt::{self, Write as _};
use std::fs;
use std::path::Path;

use crate::{Credentials, Flavor, Server, TestkitError, Transcript, pdu};

/// A scenario.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Script {
    /// What it shows.
    pub purpose: String,
    /// The slapd.conf.
    pub configuration: ScriptText,
    /// LDIF for slapadd.
    pub content: ScriptText,
    /// Entries of an answer may come in any order.
    pub is_unordered: bool,
    /// Why the answers are not those of slapd.
    pub ours: Option<String>,
    /// In order.
    pub steps: Vec<ScriptStep>,
}

/// A text of a script. It stands in the scenario, or in a file that scenarios share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScriptText {
    /// Lines of the scenario; may be none.
    Here(String),
    /// The name of a file.
    File(String),
}

impl Default for ScriptText {
    fn default() -> Self {
        Self::Here(String::new())
    }
}

impl ScriptText {
    fn push(&mut self, line: &str) {
        if let Self::Here(text) = self {
            text.push_str(line.strip_prefix(' ').unwrap_or(line));
            text.push('\n');
        }
    }

    fn read(&self, folder: &Path) -> Result<String, TestkitError> {
        match self {
            Self::Here(text) => Ok(text.clone()),
            Self::File(name) => {
                let path = folder.join(name);
                fs::read_to_string(&path).map_err(TestkitError::io(path.display().to_string()))
            }
        }
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, keyword: &str, mark: char) -> fmt::Result {
        match self {
            Self::File(name) => writeln!(f, "{keyword} {name}"),
            Self::Here(text) => text
                .lines()
                .try_for_each(|line| writeln!(f, "{}", format!("{mark} {line}").trim_end())),
        }
    }
}

/// A command and its answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ScriptStep {
    /// The program of ldap-utils and its arguments, without those that name the server; or `pdu`.
    pub words: Vec<String>,
    /// Standard input.
    pub input: String,
    /// As it stands in the file.
    pub answer: String,
}

impl Script {
    /// Reads a scenario.
    ///
    /// # Errors
    /// The line, and what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut script = Self::default();
        for (number, line) in (1..).zip(text.lines()) {
            let wrong = |reason: &str| Err(format!("line {number}: {reason}"));
            if let Some(command) = line.strip_prefix("$ ") {
                let words = split(command).ok_or_else(|| format!("line {number}: a quote is open"))?;
                script.steps.push(ScriptStep {
                    words,
                    ..ScriptStep::default()
                });
                continue;
            }
            let Some(step) = script.steps.last_mut() else {
                if !script.take_heading(line) {
                    return wrong("`# purpose`, `conf`, `data`, `unordered`, `ours` or `$ command` is expected");
                }
                continue;
            };
            match line.strip_prefix('<') {
                Some(_) if !step.answer.is_empty() => return wrong("input comes before the answer"),
                Some(input) => {
                    step.input.push_str(input.strip_prefix(' ').unwrap_or(input));
                    step.input.push('\n');
                }
                None => {
                    step.answer.push_str(line);
                    step.answer.push('\n');
                }
            }
        }
        if script.purpose.is_empty() {
            return Err("line 1: `# ` and what the scenario shows is expected".to_owned());
        }
        Ok(script)
    }

    /// A line before the first command.
    fn take_heading(&mut self, line: &str) -> bool {
        let (mark, rest) = line.split_at_checked(1).unwrap_or_default();
        match (mark, line.split_once(' ')) {
            ("#", _) if self.purpose.is_empty() => rest.trim_start().clone_into(&mut self.purpose),
            ("#", _) => {
                self.purpose.push('\n');
                self.purpose.push_str(rest.trim_start());
            }
            ("|", _) => self.configuration.push(rest),
            ("+", _) => self.content.push(rest),
            (_, Some(("conf", name))) => self.configuration = ScriptText::File(name.to_owned()),
            (_, Some(("ours", reason))) => self.ours = Some(reason.to_owned()),
            (_, Some(("data", name))) => self.content = ScriptText::File(name.to_owned()),
            _ if line == "unordered" => self.is_unordered = true,
            _ => return line.is_empty(),
        }
        true
    }

    /// The same with the answers of a server. `folder` has the files that scenarios share.
    ///
    /// # Errors
    /// A file that is missing; a server that does not start; a program that cannot be run.
    pub fn answered_by(&self, flavor: Flavor, folder: &Path) -> Result<Self, TestkitError> {
        let mut server = Server::prepare(flavor, &self.configuration.read(folder)?)?;
        let content = self.content.read(folder)?;
        if !content.is_empty() {
            server.slapadd(&content)?;
        }
        server.launch()?;
        let mut answered = self.clone();
        for step in &mut answered.steps {
            let Some((program, arguments)) = step.words.split_first() else {
                continue;
            };
            if program == "pdu" {
                step.answer = pdu::converse(server.port(), &step.input)?;
                continue;
            }
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            let mut transcript = Transcript::new(&server);
            if self.is_unordered {
                transcript.ignore_order();
            }
            let outcome = server.client(program, &Credentials::Anonymous, &arguments, &step.input)?;
            step.answer = transcript.marked(&outcome);
        }
        Ok(answered)
    }
}

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in self.purpose.lines() {
            writeln!(f, "# {line}")?;
        }
        self.configuration.write(f, "conf", '|')?;
        self.content.write(f, "data", '+')?;
        if self.is_unordered {
            writeln!(f, "unordered")?;
        }
        if let Some(reason) = &self.ours {
            writeln!(f, "ours {reason}")?;
        }
        writeln!(f)?;
        for step in &self.steps {
            let words: Vec<String> = step.words.iter().map(|word| quoted(word)).collect();
            writeln!(f, "$ {}", words.join(" "))?;
            for line in step.input.lines() {
                writeln!(f, "{}", format!("< {line}").trim_end())?;
            }
            f.write_str(&step.answer)?;
        }
        Ok(())
    }
}

/// The words of a command: blanks part them, `'` and `"` hold them together, and `\` takes the next character as it is,
/// except within `'`. `None` if a quote is open.
fn split(command: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut rest = command.chars();
    while let Some(character) = rest.next() {
        match (quote, character) {
            (Some(open), _) if character == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => word.get_or_insert_default().push(rest.next()?),
            (None, ' ') => words.extend(word.take()),
            _ => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

/// The word in a form that [`split`] reads.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_=,.:;/+@{}*?!%~^[]".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    let mut quoted = String::from("'");
    for character in word.chars() {
        match character {
            '\'' => quoted.push_str("'\\''"),
            other => {
                let _ = quoted.write_char(other);
            }
        }
    }
    quoted + "'"
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# One line.\n# And another.\nconf a.conf\n+ dn: x\n+\n+ dn: y\nunordered\nours because\n\n$ ldapsearch -b '' '(cn=it'\\''s \\2a)' 1.1\ndn: x\n\n= 0\n\
        $ ldapmodify -w secret\n< dn: x\n<\n< dn: y\n! no\n= 17\n";

    #[test]
    fn a_scenario_is_read_and_written() {
        let script = Script::parse(TEXT).unwrap();
        assert_eq!(script.purpose, "One line.\nAnd another.");
        assert!(script.is_unordered);
        assert_eq!(script.configuration, ScriptText::File("a.conf".to_owned()));
        assert_eq!(script.content, ScriptText::Here("dn: x\n\ndn: y\n".to_owned()));
        let [search, modify] = script.steps.as_slice() else {
            panic!("{script:?}")
        };
        assert_eq!(search.words, ["ldapsearch", "-b", "", "(cn=it's \\2a)", "1.1"]);
        assert_eq!(search.answer, "dn: x\n\n= 0\n");
        assert_eq!((&*modify.input, &*modify.answer), ("dn: x\n\ndn: y\n", "! no\n= 17\n"));
        assert_eq!(script.to_string(), TEXT);
    }

    #[test]
    fn words_may_be_quoted_in_both_ways() {
        assert_eq!(split("a \"b c\" d\\ e \"\\\"\"").unwrap(), ["a", "b c", "d e", "\""]);
        assert_eq!(split("a 'b"), None);
    }

    #[test]
    fn what_is_no_scenario_is_refused_with_the_line() {
        assert_eq!(
            Script::parse("# x\nnonsense\n").unwrap_err(),
            "line 2: `# purpose`, `conf`, `data`, `unordered`, `ours` or `$ command` is expected"
        );
        assert!(Script::parse("$ ldapsearch\n").unwrap_err().starts_with("line 1: "));
        assert!(Script::parse("# x\n$ a 'b\n").unwrap_err().starts_with("line 2: "));
        assert!(
            Script::parse("# x\n$ a\n= 0\n< b\n")
                .unwrap_err()
                .starts_with("line 4: ")
        );
    }
}
