//! Command lines as getopt(3) reads them: `-d256`, `-d 256`, `-qc`, `--`, operands anywhere. All slap* programs use it.

use std::{
    collections::VecDeque,
    ffi::{OsStr, OsString},
    os::unix::ffi::{OsStrExt, OsStringExt},
};

/// A command line that is being read.
#[derive(Debug)]
pub(crate) struct GetOpt {
    /// The option letters. A colon after a letter means that the option takes a value.
    letters: &'static str,
    arguments: VecDeque<OsString>,
    /// The rest of a word with several options.
    rest: Vec<u8>,
    /// Words that are not options, in order.
    operands: Vec<OsString>,
    only_operands: bool,
}

/// One option.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Opt {
    /// Its letter.
    pub(crate) letter: char,
    /// Its value; empty for an option without one.
    pub(crate) value: OsString,
}

/// A fault of a command line, with getopt(3)'s text.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum OptError {
    /// A letter that is not an option.
    #[error("invalid option -- '{0}'")]
    Unknown(char),
    /// An option at the end that needs a value.
    #[error("option requires an argument -- '{0}'")]
    MissingValue(char),
    /// A value that is not text.
    #[error("the value of -{0} is not UTF-8")]
    NotText(char),
}

impl GetOpt {
    /// `arguments` are the words after the program's name.
    pub(crate) fn new(letters: &'static str, arguments: impl IntoIterator<Item = OsString>) -> Self {
        Self {
            letters,
            arguments: arguments.into_iter().collect(),
            rest: Vec::new(),
            operands: Vec::new(),
            only_operands: false,
        }
    }

    /// The words that are not options. They are complete after the options have been read.
    pub(crate) fn into_operands(self) -> Vec<OsString> {
        self.operands
    }

    /// Number of words not read yet.
    pub(crate) fn remaining(&self) -> usize {
        self.arguments.len()
    }

    /// The next letter, from this word or the next word with options.
    fn next_letter(&mut self) -> Option<char> {
        while self.rest.is_empty() {
            let word = self.arguments.pop_front()?;
            match word.as_bytes() {
                _ if self.only_operands => self.operands.push(word),
                b"--" => self.only_operands = true,
                [b'-', letters @ ..] if !letters.is_empty() => self.rest = letters.to_vec(),
                _ => self.operands.push(word),
            }
        }
        Some(char::from(self.rest.remove(0)))
    }

    fn takes_value(&self, letter: char) -> Option<bool> {
        let (_, behind) = self.letters.split_once(letter).filter(|_| letter != ':')?;
        Some(behind.starts_with(':'))
    }
}

impl Iterator for GetOpt {
    type Item = Result<Opt, OptError>;

    fn next(&mut self) -> Option<Self::Item> {
        let letter = self.next_letter()?;
        let value = match self.takes_value(letter) {
            None => return Some(Err(OptError::Unknown(letter))),
            Some(false) => OsString::new(),
            Some(true) if !self.rest.is_empty() => OsString::from_vec(std::mem::take(&mut self.rest)),
            Some(true) => match self.arguments.pop_front() {
                Some(value) => value,
                None => return Some(Err(OptError::MissingValue(letter))),
            },
        };
        Some(Ok(Opt { letter, value }))
    }
}

impl Opt {
    /// The value as text.
    ///
    /// # Errors
    /// It is not UTF-8.
    pub(crate) fn text(&self) -> Result<&str, OptError> {
        self.value.to_str().ok_or(OptError::NotText(self.letter))
    }
}

/// The last part of a path, as lossy text: a program's name.
pub(crate) fn base_name(path: &OsStr) -> String {
    let path = path.to_string_lossy();
    path.rsplit('/').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    type Read = Vec<Result<(char, String), OptError>>;

    fn parse(words: &[&str]) -> (Read, Vec<OsString>) {
        let mut options = GetOpt::new("46d:f:qs:V", words.iter().map(OsString::from));
        let read = options
            .by_ref()
            .map(|opt| opt.map(|opt| (opt.letter, opt.text().unwrap().to_owned())))
            .collect();
        (read, options.into_operands())
    }

    #[test]
    fn values_may_be_attached_or_follow() {
        let (read, operands) = parse(&["-d256", "-s", "0", "-f", "-strange", "-qd-1"]);
        let expected = [("d", "256"), ("s", "0"), ("f", "-strange"), ("q", ""), ("d", "-1")];
        assert_eq!(
            read,
            expected.map(|(letter, value)| Ok((letter.chars().next().unwrap(), value.to_owned())))
        );
        assert!(operands.is_empty());
    }

    #[test]
    fn operands_may_stand_anywhere() {
        let (read, operands) = parse(&["one", "-q", "two", "-", "--", "-q"]);
        assert_eq!(read, [Ok(('q', String::new()))]);
        assert_eq!(operands, ["one", "two", "-", "-q"]);
    }

    #[test]
    fn mistakes_have_the_words_of_getopt() {
        assert_eq!(parse(&["-x"]).0, [Err(OptError::Unknown('x'))]);
        assert_eq!(parse(&["-:"]).0, [Err(OptError::Unknown(':'))]);
        assert_eq!(parse(&["-f"]).0, [Err(OptError::MissingValue('f'))]);
        assert_eq!(
            OptError::MissingValue('f').to_string(),
            "option requires an argument -- 'f'"
        );
    }

    #[test]
    fn programs_are_known_by_the_last_part_of_their_path() {
        assert_eq!(base_name("/usr/sbin/slapd".as_ref()), "slapd");
        assert_eq!(base_name("slapadd".as_ref()), "slapadd");
    }
}
