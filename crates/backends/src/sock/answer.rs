//! What the program answers, as slapd reads it: paragraphs of lines, each an entry in LDIF or the result.

use ironbark_directory::OperationResult;
use ironbark_model::ResultCode;

/// A part of an answer.
#[derive(PartialEq, Eq, Debug)]
pub enum AnswerPart {
    /// An entry in LDIF.
    Entry(Vec<u8>),
    /// The result: what follows is not looked at.
    Result(OperationResult),
    /// `CONTINUE`: the operation goes on as if nobody had been asked. Only an overlay can do so.
    Continue,
}

/// Reads an answer as it comes. It holds one paragraph at most.
#[derive(Debug, Default)]
pub struct AnswerReader {
    /// Octets that have come and make no line yet.
    line: Vec<u8>,
    /// The lines of the paragraph.
    paragraph: Vec<u8>,
}

/// A paragraph has more than [`MOST_OCTETS`].
#[derive(PartialEq, Eq, Debug)]
pub struct TooLong;

impl AnswerReader {
    /// Takes octets; those behind the next part are left in `octets`. `None`: all of them are taken.
    ///
    /// # Errors
    /// A paragraph or a line is too long.
    pub fn read(&mut self, octets: &mut &[u8]) -> Result<Option<AnswerPart>, TooLong> {
        while let Some(end) = octets.iter().position(|octet| *octet == b'\n') {
            let (line, rest) = octets.split_at_checked(end + 1).unwrap_or_default();
            *octets = rest;
            self.take(line)?;
            if let Some(part) = self.end_line() {
                return Ok(Some(part));
            }
        }
        let rest = std::mem::take(octets);
        self.take(rest)?;
        Ok(None)
    }

    /// The program has said all. Without a result the answer is `other`, as in slapd.
    pub fn end(mut self) -> AnswerPart {
        if !self.line.is_empty()
            && let Some(part) = self.end_line()
        {
            return part;
        }
        AnswerPart::Result(result(&self.paragraph))
    }

    fn take(&mut self, octets: &[u8]) -> Result<(), TooLong> {
        if self.line.len() + self.paragraph.len() + octets.len() > MOST_OCTETS {
            return Err(TooLong);
        }
        self.line.extend_from_slice(octets);
        Ok(())
    }

    /// A line is complete.
    fn end_line(&mut self) -> Option<AnswerPart> {
        let line = std::mem::take(&mut self.line);
        if line.first() == Some(&b'#') || begins(&line, b"DEBUG:") {
            return None;
        }
        if begins(&line, b"CONTINUE") {
            return Some(AnswerPart::Continue);
        }
        if line != b"\n" {
            self.paragraph.extend_from_slice(&line);
            return None;
        }
        let paragraph = std::mem::take(&mut self.paragraph);
        Some(if begins(&paragraph, RESULT) {
            AnswerPart::Result(result(&paragraph))
        } else {
            AnswerPart::Entry(paragraph)
        })
    }
}

/// Reads a result. What is no number is no code; lines that nobody knows are passed over.
fn result(paragraph: &[u8]) -> OperationResult {
    let mut result = OperationResult::new(ResultCode::OTHER, "");
    if !begins(paragraph, RESULT) {
        return result;
    }
    for line in paragraph.split(|octet| *octet == b'\n').skip(1) {
        let value = line.splitn(2, |octet| *octet == b':').nth(1);
        let Some(value) = value.map(<[u8]>::trim_ascii) else {
            continue;
        };
        let text = || String::from_utf8_lossy(value).into_owned();
        if begins(line, b"code") {
            let code = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
            result.code = code.map_or(result.code, ResultCode);
        } else if begins(line, b"matched") {
            result.matched_dn = text();
        } else if begins(line, b"info") {
            result.diagnostic_message = text().into();
        }
    }
    result
}

fn begins(line: &[u8], word: &[u8]) -> bool {
    line.get(..word.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(word))
}

const RESULT: &[u8] = b"RESULT";
/// Octets of one paragraph or line.
pub const MOST_OCTETS: usize = 8 << 20;
