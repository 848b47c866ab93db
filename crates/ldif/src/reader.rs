//! The streaming reader: one record in memory at a time.

use std::{
    io::{BufRead, ErrorKind},
    sync::Arc,
};

use memchr::memchr;

use crate::{LdifError, LdifRecord, LdifValue, RecordLines, Resolver, Start, error::LdifErrorKind, record};

/// The most memory that a reader takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Bytes of one line, its folded lines included.
    pub max_line: usize,
    /// Bytes of one record.
    pub max_record: usize,
    /// Depth of `include:`.
    pub max_include_depth: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_line: 64 << 20,
            max_record: 256 << 20,
            max_include_depth: 16,
        }
    }
}

struct Source<'r> {
    input: Box<dyn BufRead + 'r>,
    file: Option<Arc<str>>,
    line: u64,
    offset: u64,
    /// The rest of a record after `include:`: its lines, and where they begin.
    pending: Option<(Vec<u8>, u64, u64)>,
}

/// Reads records from an input and the files that it includes.
///
/// After an error in a record the next call continues with the next record. After a read error reading ends.
pub struct LdifReader<'r, V> {
    sources: Vec<Source<'r>>,
    resolver: V,
    limits: Limits,
    modify_by_default: bool,
    raw: Vec<u8>,
}

impl<V> std::fmt::Debug for LdifReader<'_, V> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LdifReader")
            .field("depth", &self.sources.len())
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

impl<'r, V: Resolver> LdifReader<'r, V> {
    /// Reads `input`; URLs go through `resolver`.
    pub fn new(input: impl BufRead + 'r, resolver: V) -> Self {
        let source = Source {
            input: Box::new(input),
            file: None,
            line: 1,
            offset: 0,
            pending: None,
        };
        Self {
            sources: vec![source],
            resolver,
            limits: Limits::default(),
            modify_by_default: false,
            raw: Vec::new(),
        }
    }
    /// Sets other limits.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }
    /// As in ldapmodify: a record without `changetype:` that begins with `add:`, `delete:`, `replace:` or `increment:`
    /// is a modify.
    #[must_use]
    pub fn with_modify_by_default(mut self) -> Self {
        self.modify_by_default = true;
        self
    }
    /// The next record; `None` at the end.
    pub fn read(&mut self) -> Result<Option<LdifRecord>, LdifError> {
        loop {
            let Some((line, offset)) = self.read_raw()? else {
                return Ok(None);
            };
            let file = self.sources.last().and_then(|source| source.file.clone());
            let named = |mut error: LdifError| {
                error.file.clone_from(&file);
                error
            };
            let mut lines = RecordLines::new(&mut self.raw, line, offset);
            let include = match lines.start().map_err(named)? {
                Start::Empty => continue,
                Start::Dn(dn) => {
                    let record = record::build(dn, &mut lines, &mut self.resolver, self.modify_by_default);
                    return record.map(Some).map_err(named);
                }
                Start::Include(include) => include,
            };
            let (LdifValue::Plain(url) | LdifValue::Url(url)) = include.value;
            let bad = |kind| named(LdifError::at(include.number, include.offset, kind));
            if self.sources.len() > self.limits.max_include_depth {
                return Err(bad(LdifErrorKind::IncludeTooDeep(self.limits.max_include_depth)));
            }
            let url = String::from_utf8_lossy(url).into_owned();
            let input = self.resolver.open(&url).map_err(|error| {
                bad(LdifErrorKind::BadUrl {
                    url: url.clone(),
                    reason: error.to_string(),
                })
            })?;
            let (line, offset) = (lines.line(), lines.offset());
            let rest = lines.into_rest().to_vec();
            if let Some(source) = self.sources.last_mut().filter(|_| !rest.is_empty()) {
                source.pending = Some((rest, line, offset));
            }
            self.sources.push(Source {
                input,
                file: Some(url.into()),
                line: 1,
                offset: 0,
                pending: None,
            });
        }
    }

    /// Reads the bytes of the next record into `raw`. Returns where it begins.
    fn read_raw(&mut self) -> Result<Option<(u64, u64)>, LdifError> {
        loop {
            let Some(source) = self.sources.last_mut() else {
                return Ok(None);
            };
            if let Some((rest, line, offset)) = source.pending.take() {
                self.raw = rest;
                return Ok(Some((line, offset)));
            }
            self.raw.clear();
            match source.read_record(&mut self.raw, self.limits) {
                Ok(Some(start)) => return Ok(Some(start)),
                Ok(None) => {
                    self.sources.pop();
                }
                Err(mut error) => {
                    error.file.clone_from(&source.file);
                    if matches!(error.kind, LdifErrorKind::Read(_)) {
                        self.sources.clear();
                    }
                    return Err(error);
                }
            }
        }
    }
}

impl<V: Resolver> Iterator for LdifReader<'_, V> {
    type Item = Result<LdifRecord, LdifError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}

impl Source<'_> {
    /// Appends the lines up to the next blank line or the end to `raw`. Past a limit the rest of the record is read but
    /// not stored.
    fn read_record(&mut self, raw: &mut Vec<u8>, limits: Limits) -> Result<Option<(u64, u64)>, LdifError> {
        let mut start = (self.line, self.offset);
        let mut logical_line = (start, 0);
        let mut refused: Option<LdifError> = None;
        loop {
            let line_start = (self.line, self.offset);
            let kept_before = raw.len();
            let room = if refused.is_some() {
                0
            } else {
                limits.max_record.saturating_sub(raw.len())
            };
            let physical = self.read_line(raw, room.min(limits.max_line.saturating_add(2)))?;
            let line = raw.get(kept_before..).unwrap_or_default();
            let blank = physical.length == 0
                || (physical.length <= 2 && matches!(physical.head, [b'\n', _] | [b'\r', b'\n' | 0]));
            if blank {
                if let Some(error) = refused {
                    return Err(error);
                }
                raw.truncate(kept_before);
                match (raw.is_empty(), physical.length) {
                    (false, _) => return Ok(Some(start)),
                    (true, 0) => return Ok(None),
                    (true, _) => {
                        start = (self.line, self.offset);
                        continue;
                    }
                }
            }
            if line.first() == Some(&b' ') {
                logical_line.1 += physical.length;
            } else {
                logical_line = (line_start, physical.length);
            }
            if refused.is_none() && logical_line.1 > limits.max_line {
                let (line, offset) = logical_line.0;
                refused = Some(LdifError::at(line, offset, LdifErrorKind::LineTooLong(limits.max_line)));
            } else if refused.is_none() && physical.length > line.len() {
                refused = Some(LdifError::at(
                    start.0,
                    start.1,
                    LdifErrorKind::RecordTooLong(limits.max_record),
                ));
            }
            if refused.is_some() {
                raw.clear();
            }
        }
    }

    /// Reads one physical line and keeps at most `room` bytes of it.
    fn read_line(&mut self, raw: &mut Vec<u8>, room: usize) -> Result<Physical, LdifError> {
        let mut physical = Physical {
            length: 0,
            head: [0; 2],
        };
        let mut room = room;
        loop {
            let buffer = match self.input.fill_buf() {
                Ok(buffer) => buffer,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => {
                    return Err(LdifError::at(
                        self.line,
                        self.offset,
                        LdifErrorKind::Read(error.to_string()),
                    ));
                }
            };
            let newline = memchr(b'\n', buffer);
            let taken = newline.map_or(buffer.len(), |at| at + 1);
            let piece = buffer.get(..taken).unwrap_or_default();
            for (slot, &byte) in physical.head.iter_mut().skip(physical.length).zip(piece) {
                *slot = byte;
            }
            let kept = piece.len().min(room);
            raw.extend_from_slice(piece.get(..kept).unwrap_or_default());
            room -= kept;
            physical.length += taken;
            self.input.consume(taken);
            self.offset += taken as u64;
            if newline.is_some() || taken == 0 {
                self.line += u64::from(newline.is_some());
                return Ok(physical);
            }
        }
    }
}

/// A physical line: its length with its end, and its first two bytes.
struct Physical {
    length: usize,
    head: [u8; 2],
}
