//! A statement of a configuration, for the code that interprets it.

use std::cell::RefCell;

use ironbark_model::{Schema, schema::Source};

use crate::{NoticeKind, SettingError, parts::PartList};

/// A statement as a `set` function sees it.
pub struct Statement<'a> {
    /// As written.
    pub keyword: &'a str,
    /// Words after the keyword.
    pub arguments: &'a [String],
    /// Backslashes that slapd.conf has before characters of arguments: see [`ConfigLine`](crate::reader::ConfigLine).
    pub escapes: &'a [(usize, char)],
    /// The row's grammar, for messages.
    pub grammar: &'a str,
    /// The complete schema of the configuration.
    pub schema: &'a Schema,
    /// The modules, database types and overlays that may be named.
    pub parts: &'a PartList,
    /// Where it stands.
    pub location: &'a Source,
    /// Whether the value is being set, or was set at an earlier time.
    pub value: ValueAge,
    /// Notices for the log about it.
    pub notices: &'a RefCell<Vec<(NoticeKind, String)>>,
}

/// Whether a value is being set. slapd checks some rules only then: in cn=config the settings that a value depends on
/// may change after it, one after the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ValueAge {
    /// The value stands in slapd.conf, or a client sets it now.
    New,
    /// The value was in cn=config before.
    Older,
}

impl<'a> Statement<'a> {
    /// The only argument.
    pub fn one(&self) -> Result<&'a str, SettingError> {
        match self.arguments {
            [] => Err(format!("missing {} argument", self.grammar).into()),
            [one] => Ok(one),
            _ => Err(format!("extra cruft after {}", self.grammar).into()),
        }
    }

    /// One argument or none.
    pub fn optional(&self) -> Result<Option<&'a str>, SettingError> {
        match self.arguments {
            [] => Ok(None),
            [one] => Ok(Some(one)),
            _ => Err(format!("extra cruft after {}", self.grammar).into()),
        }
    }

    /// All arguments, at least one.
    pub fn some(&self) -> Result<&'a [String], SettingError> {
        if self.arguments.is_empty() {
            Err(format!("missing {} argument", self.grammar).into())
        } else {
            Ok(self.arguments)
        }
    }

    /// The first character of an argument, from 0, that has a backslash in slapd.conf which is not in the argument. It
    /// is one for which a regular expression has no meaning without its backslash, or another one.
    pub fn lost_escape(&self, argument: usize) -> Option<char> {
        let mut escapes = self.escapes.iter();
        let found = escapes.find(|(number, character)| *number == argument && !is_same_without_escape(*character));
        found.map(|(_, character)| *character)
    }

    /// Adds a notice if an argument is a regular expression with a backslash that slapd.conf has taken away, as slapd
    /// does. The expression then says something else: `\d` is `d`.
    pub fn notice_lost_escape(&self, argument: usize) {
        if let Some(character) = self.lost_escape(argument) {
            self.notice(format!(
                "in slapd.conf \"\\{character}\" is \"{character}\": {}",
                instead_of_escape(character)
            ));
        }
    }

    /// Refuses a value that does not fit the settings it depends on. If it was set before them, it has no effect as
    /// long as it does not fit, and the log says so.
    pub(crate) fn does_not_fit(&self, reason: &str) -> Result<(), SettingError> {
        match self.value {
            ValueAge::New => Err(reason.into()),
            ValueAge::Older => {
                self.notice(format!("has no effect: it {reason}"));
                Ok(())
            }
        }
    }

    /// Adds a notice for the log.
    pub fn notice(&self, text: impl Into<String>) {
        self.notices.borrow_mut().push((NoticeKind::Statement, text.into()));
    }

    /// Adds a notice that a name or a form in the statement has a successor.
    pub(crate) fn notice_old(&self, text: impl Into<String>) {
        self.notices.borrow_mut().push((NoticeKind::Old, text.into()));
    }
}

/// What to write in a regular expression of slapd.conf in place of a character with a single backslash.
pub fn instead_of_escape(character: char) -> String {
    let set = match character {
        'd' => "[0-9]",
        'D' => "[^0-9]",
        'w' => "[[:alnum:]_]",
        'W' => "[^[:alnum:]_]",
        's' => "[[:space:]]",
        'S' => "[^[:space:]]",
        other if other.is_ascii_alphanumeric() => {
            return format!("POSIX extended expressions have no \"\\{other}\"");
        }
        '^' | ']' => return "write two backslashes".to_owned(),
        other => return format!("write [{other}], or two backslashes"),
    };
    format!("write {set}")
}

/// Whether the expression `\c` is `c`.
fn is_same_without_escape(character: char) -> bool {
    matches!(
        character,
        ',' | '=' | '-' | '/' | ':' | '@' | '#' | '%' | '&' | '~' | '_' | ';' | '!'
    )
}

/// Statements without meaning here, kept so that they can be shown again: the name of the row, and the value.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Kept(Vec<(&'static str, String)>);

impl Kept {
    /// Keeps a value for the row with a name.
    pub(crate) fn push(&mut self, row: &'static str, text: String) {
        self.0.push((row, text));
    }

    /// The values for the row with a name.
    pub(crate) fn of(&self, row: &str) -> Vec<String> {
        let known = self.0.iter().filter(|(name, _)| *name == row);
        known.map(|(_, text)| text.clone()).collect()
    }
}
