//! The lines of one record, borrowed. Lines are unfolded and base64 is decoded in the buffer itself, so no value is
//! copied.

use memchr::memchr;

use crate::{
    base64_text,
    error::{LdifError, LdifErrorKind, excerpt},
};

/// The value part of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LdifValue<'b> {
    /// Text, or decoded base64.
    Plain(&'b [u8]),
    /// `:<`: the URL of the value.
    Url(&'b [u8]),
}

/// One logical line `name: value`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LdifLine<'b> {
    /// Line number of its first physical line, from 1.
    pub number: u64,
    /// Byte offset of its first byte.
    pub offset: u64,
    /// The text before the colon, without spaces around it; not empty.
    pub name: &'b [u8],
    /// The value after it.
    pub value: LdifValue<'b>,
}

/// A line of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Item<'b> {
    /// `name: value`.
    Line(LdifLine<'b>),
    /// `-`, the end of one modification.
    Separator,
}

/// How a record begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Start<'b> {
    /// Comments and `version:` only.
    Empty,
    /// `include:` and its URL. The rest of the record follows the included file.
    Include(LdifLine<'b>),
    /// `dn:`.
    Dn(LdifLine<'b>),
}

/// Reads the lines of one record. It ends at the end of its bytes.
#[derive(Debug)]
pub struct RecordLines<'b> {
    rest: &'b mut [u8],
    line: u64,
    offset: u64,
    /// Lines that stand before `dn:`, the last one first.
    early: Vec<LdifLine<'b>>,
}

/// What happens to lines before `dn:`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EarlyLines {
    Refused,
    Kept,
}

impl<'b> RecordLines<'b> {
    /// `bytes` is one record without blank lines. `line` and `offset` say where it begins. The bytes are overwritten.
    pub fn new(bytes: &'b mut [u8], line: u64, offset: u64) -> Self {
        Self {
            rest: bytes,
            line,
            offset,
            early: Vec::new(),
        }
    }
    /// Line number of the next line.
    pub fn line(&self) -> u64 {
        self.line
    }
    /// Byte offset of the next line.
    pub fn offset(&self) -> u64 {
        self.offset
    }
    /// The unread rest.
    pub fn into_rest(self) -> &'b [u8] {
        self.rest
    }
    /// An error at the next line.
    pub fn error(&self, kind: LdifErrorKind) -> LdifError {
        LdifError::at(self.line, self.offset, kind)
    }

    /// Reads the beginning of the record. Call this first.
    pub fn start(&mut self) -> Result<Start<'b>, LdifError> {
        self.find_dn(EarlyLines::Refused)
    }

    /// The same for a record in which `dn:` may stand behind other lines, as slapadd takes it. [`Self::next_item`]
    /// tells those lines first.
    pub fn start_anywhere(&mut self) -> Result<Start<'b>, LdifError> {
        let start = self.find_dn(EarlyLines::Kept);
        self.early.reverse();
        start
    }

    fn find_dn(&mut self, before: EarlyLines) -> Result<Start<'b>, LdifError> {
        self.skip_number_line();
        loop {
            let (number, offset) = (self.line, self.offset);
            let line = match self.read_item()? {
                None if self.early.is_empty() => return Ok(Start::Empty),
                None => return Err(self.without_dn()),
                Some(Item::Separator) => {
                    return Err(LdifError::at(number, offset, LdifErrorKind::MissingDn("-".into())));
                }
                Some(Item::Line(line)) => line,
            };
            if line.name.eq_ignore_ascii_case(b"dn") {
                return Ok(Start::Dn(line));
            }
            if line.name.eq_ignore_ascii_case(b"include") && self.early.is_empty() {
                return Ok(Start::Include(line));
            }
            let kind = match (line.name.eq_ignore_ascii_case(b"version"), line.value) {
                (true, LdifValue::Plain(b"1")) => continue,
                (true, LdifValue::Plain(other) | LdifValue::Url(other)) => LdifErrorKind::BadVersion(excerpt(other)),
                (false, _) if before == EarlyLines::Kept => {
                    self.early.push(line);
                    continue;
                }
                (false, _) => LdifErrorKind::MissingDn(excerpt(line.name)),
            };
            return Err(LdifError::at(line.number, line.offset, kind));
        }
    }

    fn without_dn(&self) -> LdifError {
        let (number, offset, name) = self.early.first().map_or((self.line, self.offset, &b""[..]), |line| {
            (line.number, line.offset, line.name)
        });
        LdifError::at(number, offset, LdifErrorKind::MissingDn(excerpt(name)))
    }

    /// The next line that is no comment.
    pub fn next_item(&mut self) -> Result<Option<Item<'b>>, LdifError> {
        match self.early.pop() {
            Some(line) => Ok(Some(Item::Line(line))),
            None => self.read_item(),
        }
    }

    fn read_item(&mut self) -> Result<Option<Item<'b>>, LdifError> {
        loop {
            let (number, offset) = (self.line, self.offset);
            if self.rest.is_empty() {
                return Ok(None);
            }
            let line = self.take_line();
            if line.first() == Some(&b'#') || line.is_empty() {
                continue;
            }
            if line.trim_ascii_end() == b"-" {
                return Ok(Some(Item::Separator));
            }
            return match split(line) {
                Ok((name, value)) => Ok(Some(Item::Line(LdifLine {
                    number,
                    offset,
                    name,
                    value,
                }))),
                Err(kind) => Err(LdifError::at(number, offset, kind)),
            };
        }
    }

    /// Old LDIF has the entry's number before the record.
    fn skip_number_line(&mut self) {
        while self.rest.first() == Some(&b'#') {
            self.take_line();
        }
        if self.rest.first().is_some_and(u8::is_ascii_digit) {
            self.take_line();
        }
    }

    /// Takes the next logical line, unfolded, without its end.
    fn take_line(&mut self) -> &'b mut [u8] {
        let rest = std::mem::take(&mut self.rest);
        let first = physical_line(rest);
        if rest.get(first.1) != Some(&b' ') {
            let (line, rest) = rest.split_at_mut(first.1);
            self.advance(1, first.1);
            self.rest = rest;
            return line.get_mut(..first.0).unwrap_or_default();
        }
        let (mut kept, mut end, mut lines) = (first.0, first.1, 1);
        while rest.get(end) == Some(&b' ') {
            let start = end + 1;
            let (length, next) = physical_line(rest.get(start..).unwrap_or_default());
            rest.copy_within(start..start + length, kept);
            kept += length;
            end = start + next;
            lines += 1;
        }
        let (line, rest) = rest.split_at_mut(end);
        self.advance(lines, end);
        self.rest = rest;
        line.get_mut(..kept).unwrap_or_default()
    }

    fn advance(&mut self, lines: u64, bytes: usize) {
        self.line += lines;
        self.offset += bytes as u64;
    }
}

/// Length of the physical line at the start of `text` without its end, and the offset of the next one.
fn physical_line(text: &[u8]) -> (usize, usize) {
    match memchr(b'\n', text) {
        Some(at) if at > 0 && text.get(at - 1) == Some(&b'\r') => (at - 1, at + 1),
        Some(at) => (at, at + 1),
        None if text.last() == Some(&b'\r') => (text.len() - 1, text.len()),
        None => (text.len(), text.len()),
    }
}

/// Splits a logical line at its colon and decodes the value.
fn split(line: &mut [u8]) -> Result<(&[u8], LdifValue<'_>), LdifErrorKind> {
    let colon = memchr(b':', line).ok_or(LdifErrorKind::MissingColon)?;
    let (name, value) = line.split_at_mut(colon);
    let name = name.trim_ascii();
    // A line with a tab before '#' is not a comment, but it has no attribute either.
    if name.is_empty() || name.first() == Some(&b'#') {
        return Err(LdifErrorKind::EmptyName);
    }
    let value = match value.get(1) {
        Some(b':') => {
            let text = value.get_mut(2..).unwrap_or_default().trim_ascii_start_mut();
            let bad = || LdifErrorKind::BadBase64(excerpt(name));
            if text.is_empty() {
                return Err(bad());
            }
            LdifValue::Plain(base64_text::decode_in_place(text).ok_or_else(bad)?)
        }
        Some(b'<') => {
            let url = value.get(2..).unwrap_or_default().trim_ascii();
            if url.is_empty() {
                return Err(LdifErrorKind::BadUrl {
                    url: String::new(),
                    reason: "missing".into(),
                });
            }
            LdifValue::Url(url)
        }
        _ => {
            let text = value.get(1..).unwrap_or_default();
            let start = text.iter().position(|b| !is_space(*b)).unwrap_or(text.len());
            LdifValue::Plain(text.get(start..).unwrap_or_default())
        }
    };
    Ok((name, value))
}

/// White space before a value is no part of it, as in slapd: people put tabs there.
const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

trait TrimStartMut {
    fn trim_ascii_start_mut(&mut self) -> &mut [u8];
}

impl TrimStartMut for [u8] {
    fn trim_ascii_start_mut(&mut self) -> &mut [u8] {
        let start = self.iter().position(|b| !b.is_ascii_whitespace()).unwrap_or(self.len());
        self.get_mut(start..).unwrap_or_default()
    }
}
