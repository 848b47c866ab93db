//! Physical lines joined into logical ones.
//!
//! The rules of slapd: a line that begins with white space continues the one before; so does any line after one that
//! ends in a single backslash; a comment is recognised only after joining, so a continuation of a comment is comment;
//! an `include` line is never continued.

/// The logical lines of a file, each with the number of its first physical line, from 1.
pub(super) fn logical_lines(bytes: &[u8]) -> LogicalLines<'_> {
    LogicalLines {
        rest: Some(bytes),
        physical: 0,
        pending: None,
    }
}

pub(super) struct LogicalLines<'a> {
    /// The unread rest; `None` after the last line.
    rest: Option<&'a [u8]>,
    physical: u32,
    pending: Option<(u32, Vec<u8>)>,
}

impl Iterator for LogicalLines<'_> {
    type Item = (u32, Vec<u8>);

    fn next(&mut self) -> Option<Self::Item> {
        while let Some(line) = self.physical_line() {
            let number = self.physical;
            let Some((first, pending)) = &mut self.pending else {
                self.pending = Some((number, line.to_vec()));
                continue;
            };
            match continuation(pending, line) {
                Continuation::Escaped => {
                    pending.pop();
                    pending.extend_from_slice(line);
                }
                Continuation::Indented => {
                    if pending.iter().all(u8::is_ascii_whitespace) {
                        *first = number;
                    }
                    pending.push(b' ');
                    pending.extend_from_slice(line.get(1..).unwrap_or_default());
                }
                Continuation::None => return self.pending.replace((number, line.to_vec())),
            }
        }
        self.pending.take()
    }
}

impl<'a> LogicalLines<'a> {
    fn physical_line(&mut self) -> Option<&'a [u8]> {
        let rest = self.rest?;
        let (line, rest) = match rest.iter().position(|&byte| byte == b'\n') {
            Some(end) => (rest.get(..end).unwrap_or_default(), rest.get(end + 1..)),
            None if rest.is_empty() => {
                self.rest = None;
                return None;
            }
            None => (rest, None),
        };
        self.rest = rest;
        self.physical = self.physical.saturating_add(1);
        Some(line.strip_suffix(b"\r").unwrap_or(line))
    }
}

enum Continuation {
    Escaped,
    Indented,
    None,
}

fn continuation(pending: &[u8], line: &[u8]) -> Continuation {
    let is_include = pending
        .get(..7)
        .is_some_and(|word| word.eq_ignore_ascii_case(b"include"));
    if is_include {
        Continuation::None
    } else if pending.ends_with(b"\\") && !pending.ends_with(b"\\\\") {
        Continuation::Escaped
    } else if line
        .first()
        .is_some_and(|&first| matches!(first, b' ' | b'\t' | b'\r' | 0x0b | 0x0c))
    {
        Continuation::Indented
    } else {
        Continuation::None
    }
}
