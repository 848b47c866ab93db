//! From files to statements: physical lines, quoting, `include`. `include` is the only keyword whose meaning is known
//! here.

mod files;
mod lines;

use std::{borrow::Cow, sync::Arc};

use ironbark_model::schema::Source;

use crate::{ConfigError, Setting, error::Complain, registry::schema_kind, schema_statement::definition_text};

pub(crate) use crate::words::quoted_after;
pub use crate::words::{quote, quote_value};
pub use files::{Disk, FileSource, MemoryFiles};

/// One logical line of a configuration file, split into words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigLine {
    /// Where it begins: the first physical line.
    pub location: Source,
    /// The first word, as written.
    pub keyword: String,
    /// The other words, quotes and escapes resolved.
    pub arguments: Vec<String>,
    /// The text behind the keyword, exactly as written: schema definitions have their own quoting.
    pub raw: String,
    /// Backslashes of slapd.conf that are not in the arguments: the number of the argument, from 0, and the character
    /// behind the backslash. Those before quotes, blanks and backslashes are left out.
    pub escapes: Vec<(usize, char)>,
}

impl ConfigLine {
    /// The statement as one value of a setting, in the form of cn=config.
    pub(crate) fn value(&self, row: &Setting) -> String {
        match self.arguments.as_slice() {
            [one] if row.is_whole => whole_value(row, one),
            words => words.iter().map(|word| quote_value(word)).collect::<Vec<_>>().join(" "),
        }
    }

    /// An argument that cn=config has no form for.
    pub(crate) fn unsayable(&self, row: &Setting) -> Option<&str> {
        let is_sayable = |word: &&String| (row.is_whole && !word.starts_with('"')) || crate::words::can_be_said(word);
        let found = self.arguments.iter().find(|word| !is_sayable(word));
        found.filter(|_| !row.is_verbatim).map(String::as_str)
    }

    /// An attribute of cn=config without a setting; its values are not read.
    pub(crate) fn of_unknown(keyword: &str, location: &Source) -> Self {
        Self {
            location: location.clone(),
            keyword: keyword.to_owned(),
            arguments: Vec::new(),
            raw: String::new(),
            escapes: Vec::new(),
        }
    }

    /// A value of a setting as a statement.
    pub(crate) fn of_value(row: &Setting, keyword: &str, text: &str, location: &Source) -> Self {
        Self {
            location: location.clone(),
            keyword: keyword.to_owned(),
            arguments: arguments(row, text),
            raw: text.to_owned(),
            escapes: Vec::new(),
        }
    }
}

/// The arguments in a value of cn=config. If the setting takes the value unchanged, a double quote at its beginning is
/// dropped, unless no character counts as a quote there.
pub(crate) fn arguments(row: &Setting, value: &str) -> Vec<String> {
    if row.is_whole && (row.is_verbatim || !value.starts_with('"')) {
        vec![value.to_owned()]
    } else {
        crate::words::split_value(value)
    }
}

/// The value of cn=config for the only argument.
pub(crate) fn whole_value(row: &Setting, argument: &str) -> String {
    if argument.starts_with('"') && !row.is_verbatim {
        quote_value(argument)
    } else {
        argument.to_owned()
    }
}

/// Whether a value of cn=config has the same meaning in slapd.conf without changes.
pub(crate) fn is_same_in_a_file(row: &Setting, value: &str) -> bool {
    let in_a_file = crate::words::split(value);
    !row.is_whole && in_a_file.is_complete && in_a_file.words == crate::words::split_value(value)
}

/// Reads a file and all its includes into one flat list. The content of a file replaces the `include` line that names
/// it.
///
/// # Errors
/// A file that cannot be read, is no regular file, includes itself, or nests deeper than [`MAXIMUM_DEPTH`]; a line that
/// is no UTF-8 or whose quotes do not close; more than [`MAXIMUM_BYTES`] in all.
pub fn read(path: &str, files: &dyn FileSource) -> Result<Vec<ConfigLine>, ConfigError> {
    read_on(path, files, &mut Err)
}

/// The same; `complain` decides for each error whether reading continues without the line or the file.
pub(crate) fn read_on(
    path: &str,
    files: &dyn FileSource,
    complain: &mut Complain<'_>,
) -> Result<Vec<ConfigLine>, ConfigError> {
    let mut reading = Reading {
        files,
        complain,
        stack: Vec::new(),
        bytes: 0,
        lines: Vec::new(),
    };
    reading.file(path, None)?;
    Ok(reading.lines)
}

/// How deep `include` may nest.
pub const MAXIMUM_DEPTH: usize = 32;

/// Maximum size of a configuration's text. A file that is included several times counts each time.
pub const MAXIMUM_BYTES: usize = 64 << 20;

struct Reading<'a> {
    files: &'a dyn FileSource,
    complain: &'a mut Complain<'a>,
    /// Identities of the files being read, outermost first.
    stack: Vec<String>,
    bytes: usize,
    lines: Vec<ConfigLine>,
}

impl Reading<'_> {
    fn file(&mut self, path: &str, included_at: Option<&Source>) -> Result<(), ConfigError> {
        let refused = |reason: String| match included_at {
            Some(location) => ConfigError::of_setting(location, "include", reason),
            None => ConfigError::Unreadable {
                path: path.to_owned(),
                reason,
            },
        };
        let identity = self.files.identity(path);
        if self.stack.contains(&identity) {
            return (self.complain)(refused(format!("file \"{path}\" includes itself")));
        }
        if self.stack.len() >= MAXIMUM_DEPTH {
            return (self.complain)(refused(format!("nested deeper than {MAXIMUM_DEPTH} files")));
        }
        let budget = MAXIMUM_BYTES - self.bytes;
        let bytes = match self.files.read(path, budget) {
            Ok(bytes) => bytes,
            Err(error) => {
                return (self.complain)(refused(format!("could not read config file \"{path}\": {error}")));
            }
        };
        if bytes.len() > budget {
            return Err(refused(format!("configuration is larger than {MAXIMUM_BYTES} bytes")));
        }
        self.bytes += bytes.len();
        self.stack.push(identity);
        let file: Arc<str> = Arc::from(path);
        for (number, text) in lines::logical_lines(&bytes) {
            let location = Source {
                file: Arc::clone(&file),
                line: number,
            };
            let line = match parse_line(&location, &text) {
                Ok(Some(line)) => line,
                Ok(None) => continue,
                Err(error) => {
                    (self.complain)(error)?;
                    continue;
                }
            };
            if line.keyword.eq_ignore_ascii_case("include") {
                let [included] = line.arguments.as_slice() else {
                    (self.complain)(ConfigError::of_setting(
                        &location,
                        "include",
                        "takes one <file> argument",
                    ))?;
                    continue;
                };
                self.file(included, Some(&location))?;
            } else {
                self.lines.push(line);
            }
        }
        self.stack.pop();
        Ok(())
    }
}

/// The text of a line. Schema definitions alone may have bytes that are not UTF-8.
fn text_of(line: &[u8]) -> Option<Cow<'_, str>> {
    let text = definition_text(line);
    let keyword = text.split_whitespace().next().unwrap_or_default();
    let is_allowed = matches!(text, Cow::Borrowed(_)) || schema_kind(keyword).is_some();
    (is_allowed && !text.contains('\0')).then_some(text)
}

/// `None` for a blank line or a comment.
fn parse_line(location: &Source, text: &[u8]) -> Result<Option<ConfigLine>, ConfigError> {
    if text.first().is_none_or(|&first| first == b'#') {
        return Ok(None);
    }
    let text = text_of(text).ok_or_else(|| ConfigError::of_line(location, "line is not UTF-8 text"))?;
    let text = text.trim_matches([' ', '\t', '\r', '\n', '\x0b', '\x0c']);
    if text.is_empty() {
        return Ok(None);
    }
    let crate::words::SplitLine {
        mut words,
        is_complete,
        escapes,
    } = crate::words::split(text);
    if words.is_empty() {
        return Err(ConfigError::of_line(location, "bad config line"));
    }
    let keyword = words.remove(0);
    if !is_complete && schema_kind(&keyword).is_none() {
        let last = words.pop().unwrap_or(keyword);
        return Err(ConfigError::of_line(
            location,
            format!("unterminated quoted string \"{last}\""),
        ));
    }
    let raw = text
        .split_once([' ', '\t'])
        .map_or("", |(_, rest)| rest.trim_start())
        .to_owned();
    Ok(Some(ConfigLine {
        location: location.clone(),
        keyword,
        arguments: words,
        raw,
        escapes: escapes
            .into_iter()
            .filter_map(|(word, character)| Some((word.checked_sub(1)?, character)))
            .collect(),
    }))
}

#[cfg(test)]
mod tests;
