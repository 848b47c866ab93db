//! The text of a line during formatting. Control characters are escaped. Octets behind [`MAX_OCTETS`] are counted, not
//! kept.

use std::fmt::{self, Write};

/// Appends the text of one line to a string. Line ends and control characters from a client cannot forge lines, and no
/// request makes a line longer than about [`MAX_OCTETS`].
pub(super) struct LineText<'a> {
    line: &'a mut String,
    /// Line ends that are dropped if nothing follows them in the field.
    line_ends: usize,
    /// Octets that did not fit, counted before escaping.
    left_out: usize,
}

impl<'a> LineText<'a> {
    pub(super) fn new(line: &'a mut String) -> Self {
        line.clear();
        Self {
            line,
            line_ends: 0,
            left_out: 0,
        }
    }

    /// Ends a field: line ends behind it are dropped.
    pub(super) fn end_field(&mut self) {
        self.line_ends = 0;
    }

    /// Ends the line. Appends how much of it is missing.
    pub(super) fn end(self) {
        if self.left_out > 0 {
            let _ = write!(self.line, "... ({} octets left out)", self.left_out);
        }
    }

    fn room(&self) -> usize {
        if self.left_out > 0 {
            return 0;
        }
        MAX_OCTETS.saturating_sub(self.line.len())
    }

    fn put(&mut self, character: char) {
        let octets = character.len_utf8();
        let is_escaped = breaks(character);
        let length = if is_escaped { octets * ESCAPED } else { octets };
        if length > self.room() {
            self.left_out += octets;
        } else if is_escaped {
            for octet in character.encode_utf8(&mut [0; 4]).bytes() {
                // Writing to a string cannot fail.
                let _ = write!(self.line, "\\{octet:02X}");
            }
        } else {
            self.line.push(character);
        }
    }

    /// Writes the line ends that were held back: more text follows them.
    fn put_line_ends(&mut self) {
        let fitting = self.line_ends.min(self.room() / ESCAPED);
        for _ in 0..fitting {
            self.put('\n');
        }
        self.left_out += self.line_ends - fitting;
        self.line_ends = 0;
    }
}

impl Write for LineText<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.line_ends == 0 && text.len() <= self.room() && is_plain(text) {
            self.line.push_str(text);
            return Ok(());
        }
        let kept = text.trim_end_matches('\n');
        if !kept.is_empty() {
            self.put_line_ends();
        }
        let mut rest = kept.chars();
        while self.room() > 0
            && let Some(character) = rest.next()
        {
            self.put(character);
        }
        self.left_out += rest.as_str().len();
        self.line_ends += text.len() - kept.len();
        Ok(())
    }
}

/// Nearly all text is plain ASCII. The octets of a piece are looked at together, which is faster than one by one.
fn is_plain(text: &str) -> bool {
    let is_plain = |octet: &u8| matches!(octet, b' '..=b'~' | b'\t');
    let mut pieces = text.as_bytes().chunks(PIECE);
    pieces.all(|piece| piece.iter().fold(true, |all, octet| all & is_plain(octet)))
}

/// Whether a character breaks a line, or is a command to a terminal.
fn breaks(character: char) -> bool {
    character.is_control() && character != '\t' || matches!(character, LINE_SEPARATOR | PARAGRAPH_SEPARATOR)
}

const LINE_SEPARATOR: char = '\u{2028}';
const PARAGRAPH_SEPARATOR: char = '\u{2029}';

/// Octets of a line's text. slapd's lines end after 4,096.
const MAX_OCTETS: usize = 64 << 10;
/// Octets of a piece of text.
const PIECE: usize = 64;
/// Octets of an escaped octet.
const ESCAPED: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    fn line(pieces: &[&str]) -> String {
        let mut line = String::new();
        let mut text = LineText::new(&mut line);
        for piece in pieces {
            text.write_str(piece).unwrap();
        }
        text.end_field();
        text.end();
        line
    }

    #[test]
    fn controls_are_escaped_and_line_ends_at_the_end_are_dropped() {
        for (pieces, expected) in [
            (&["plain"][..], "plain"),
            (&["tab\tand ü stay"], "tab\tand ü stay"),
            (&["two\nlines\n\n"], "two\\0Alines"),
            (&["one\n", "\n", "two"], "one\\0A\\0Atwo"),
            (&["\u{0}\u{1f}\u{7f}"], "\\00\\1F\\7F"),
            (&["\u{85}\u{2028}\u{9b}1m"], "\\C2\\85\\E2\\80\\A8\\C2\\9B1m"),
            (&["\r\n"], "\\0D"),
            (&["\n"], ""),
        ] {
            assert_eq!(line(pieces), expected, "{pieces:?}");
        }
    }

    #[test]
    fn a_long_line_is_cut_at_a_characters_border_and_says_what_is_missing() {
        let whole = "x".repeat(MAX_OCTETS);
        assert_eq!(line(&[&whole]), whole);
        assert_eq!(line(&[&whole, "yz"]), format!("{whole}... (2 octets left out)"));
        assert_eq!(line(&[&whole, "y\n", "z"]), format!("{whole}... (3 octets left out)"));
        let odd = "ü".repeat(MAX_OCTETS);
        let cut = format!(
            "x{}... ({} octets left out)",
            "ü".repeat(MAX_OCTETS / 2 - 1),
            MAX_OCTETS + 2
        );
        assert_eq!(line(&["x", &odd]), cut, "no half of a character");
        let ends = line(&[&"\n".repeat(15_000_000), "\""]);
        let fitting = MAX_OCTETS / ESCAPED;
        assert_eq!(
            ends.len(),
            fitting * ESCAPED + format!("... ({} octets left out)", 15_000_001 - fitting).len()
        );
        // Text that comes after a gap is not appended.
        let gap = line(&[&"x".repeat(MAX_OCTETS - 1), "ü", "y"]);
        assert!(gap.ends_with("x... (3 octets left out)"), "{}", &gap[MAX_OCTETS - 10..]);
    }

    #[test]
    fn memory_does_not_grow_with_what_is_left_out() {
        let mut kept = String::new();
        let mut text = LineText::new(&mut kept);
        for _ in 0..1_000 {
            write!(text, "{:?}", "\u{1}x".repeat(10_000)).unwrap();
        }
        text.end();
        assert!(kept.capacity() <= 4 * MAX_OCTETS, "{}", kept.capacity());
    }
}
