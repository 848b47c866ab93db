//! Record-aligned blocks of a big input, so that several threads can parse it.

use std::io::Read;

use memchr::{memchr, memchr_iter, memmem, memrchr_iter};

use crate::{LdifError, RecordLines, error::LdifErrorKind};

/// Some whole records of an input.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// Line number of the first byte, from 1.
    pub first_line: u64,
    /// Offset of the first byte in the input.
    pub first_offset: u64,
    /// The bytes. The last record may lack its blank line.
    pub bytes: Vec<u8>,
}

impl Block {
    /// The records of this block. Their lines are unfolded and decoded in place: parse a block once.
    pub fn records(&mut self) -> Records<'_> {
        Records::new(&mut self.bytes, self.first_line, self.first_offset)
    }
}

/// Splits an input into blocks.
///
/// Memory: one block of about `block_size` bytes. A bigger record makes a bigger block, of at most `max_record` bytes.
#[derive(Debug)]
pub struct Blocks<R> {
    reader: R,
    block_size: usize,
    max_record: usize,
    carry: Vec<u8>,
    line: u64,
    offset: u64,
    ended: bool,
}

impl<R: Read> Blocks<R> {
    /// Blocks of about `block_size` bytes (at least 4096); a record bigger than `max_record` bytes is an error.
    pub fn new(reader: R, block_size: usize, max_record: usize) -> Self {
        let block_size = block_size.max(4096);
        Self {
            reader,
            block_size,
            max_record: max_record.max(block_size),
            carry: Vec::new(),
            line: 1,
            offset: 0,
            ended: false,
        }
    }
    /// Reads the next block into `block`, reusing its memory. False at the end.
    pub fn next_into(&mut self, block: &mut Block) -> Result<bool, LdifError> {
        block.bytes.clear();
        block.bytes.append(&mut self.carry);
        block.first_line = self.line;
        block.first_offset = self.offset;
        let mut wanted = self.block_size;
        loop {
            self.fill(&mut block.bytes, wanted)?;
            let end = if self.ended {
                Some(block.bytes.len())
            } else {
                last_boundary(&block.bytes)
            };
            if let Some(end) = end {
                self.carry.extend_from_slice(block.bytes.get(end..).unwrap_or_default());
                block.bytes.truncate(end);
                self.line += memchr_iter(b'\n', &block.bytes).count() as u64;
                self.offset += end as u64;
                return Ok(end > 0);
            }
            if wanted >= self.max_record {
                return Err(LdifError::at(
                    self.line,
                    self.offset,
                    LdifErrorKind::RecordTooLong(self.max_record),
                ));
            }
            wanted = wanted.saturating_mul(2).min(self.max_record);
        }
    }
    fn fill(&mut self, bytes: &mut Vec<u8>, wanted: usize) -> Result<(), LdifError> {
        let missing = wanted.saturating_sub(bytes.len());
        let read = self.reader.by_ref().take(missing as u64).read_to_end(bytes);
        let read =
            read.map_err(|error| LdifError::at(self.line, self.offset, LdifErrorKind::Read(error.to_string())))?;
        self.ended = read < missing;
        Ok(())
    }
}

impl<R: Read> Iterator for Blocks<R> {
    type Item = Result<Block, LdifError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut block = Block::default();
        match self.next_into(&mut block) {
            Ok(true) => Some(Ok(block)),
            Ok(false) => None,
            Err(error) => Some(Err(error)),
        }
    }
}

/// The offset after the last blank line.
fn last_boundary(bytes: &[u8]) -> Option<usize> {
    memrchr_iter(b'\n', bytes).find_map(|at| {
        let blank = match at.checked_sub(1).and_then(|before| bytes.get(before)) {
            Some(b'\n') => true,
            Some(b'\r') => at.checked_sub(2).and_then(|before| bytes.get(before)) == Some(&b'\n'),
            _ => false,
        };
        blank.then_some(at + 1)
    })
}

/// The records of a piece of memory, one after the other.
#[derive(Debug)]
pub struct Records<'b> {
    rest: &'b mut [u8],
    line: u64,
    offset: u64,
    /// Lines may end in CRLF.
    carriage_returns: bool,
    blank: memmem::Finder<'static>,
}

impl<'b> Records<'b> {
    /// `line` and `offset` say where `bytes` begins.
    pub fn new(bytes: &'b mut [u8], line: u64, offset: u64) -> Self {
        Self {
            carriage_returns: memchr(b'\r', bytes).is_some(),
            blank: memmem::Finder::new(b"\n\n"),
            rest: bytes,
            line,
            offset,
        }
    }

    /// Length and number of lines of the record at the start of `text`.
    fn record_end(&self, text: &[u8]) -> (usize, u64) {
        if !self.carriage_returns {
            let end = self.blank.find(text).map_or(text.len(), |at| at + 1);
            let record = text.get(..end).unwrap_or_default();
            return (end, memchr_iter(b'\n', record).count() as u64);
        }
        let (mut end, mut lines) = (0, 0);
        while end < text.len() {
            let tail = text.get(end..).unwrap_or_default();
            if blank_line(tail) > 0 {
                break;
            }
            lines += 1;
            end += memchr(b'\n', tail).map_or(tail.len(), |at| at + 1);
        }
        (end, lines)
    }
}

impl<'b> Iterator for Records<'b> {
    type Item = RecordLines<'b>;

    fn next(&mut self) -> Option<RecordLines<'b>> {
        let mut rest = std::mem::take(&mut self.rest);
        loop {
            let blank = blank_line(rest);
            if blank == 0 {
                break;
            }
            rest = rest.split_at_mut(blank).1;
            self.line += 1;
            self.offset += blank as u64;
        }
        if rest.is_empty() {
            return None;
        }
        let (end, lines) = self.record_end(rest);
        let (record, rest) = rest.split_at_mut(end);
        let lines_of_record = RecordLines::new(record, self.line, self.offset);
        self.rest = rest;
        self.line += lines;
        self.offset += end as u64;
        Some(lines_of_record)
    }
}

/// Length of the blank line at the start of `text`; 0 when there is none.
fn blank_line(text: &[u8]) -> usize {
    match text {
        [b'\n', ..] => 1,
        [b'\r', b'\n', ..] => 2,
        [b'\r'] => 1,
        _ => 0,
    }
}
