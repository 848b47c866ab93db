//! A line of the stats log, made of texts and numbers without formatting: there are three for each search.

use std::cell::RefCell;

use ironbark_model::filter::log::{LogFilter, PrintMemory};

use crate::request::context::RequestContext;

/// A line during its making. Each thread keeps the memory of one.
#[derive(Default)]
pub(super) struct Line {
    text: String,
    filter: PrintMemory,
}

/// Whether lines of the stats log are written anywhere. If not, this costs one load.
pub(super) fn is_enabled() -> bool {
    tracing::enabled!(target: "stats", tracing::Level::INFO)
}

/// Writes a line of an operation, if lines are written anywhere. It begins with `conn=1 op=2` and the text of the
/// session tracking control; `make` appends the rest.
pub(super) fn write(origin: &RequestContext, make: impl FnOnce(&mut Line)) {
    if !is_enabled() {
        return;
    }
    let mut line = LINE.take();
    line.text.clear();
    line.begin(origin);
    make(&mut line);
    tracing::info!(target: "stats", message = line.text.as_str());
    line.text.shrink_to(MAX_KEPT_OCTETS);
    LINE.set(line);
}

thread_local! {
    static LINE: RefCell<Line> = RefCell::default();
}

impl Line {
    fn begin(&mut self, origin: &RequestContext) {
        let tracked = origin.tracked.as_deref().unwrap_or_default();
        self.text("conn=").number(origin.connection);
        self.text(" op=").number(origin.operation);
        self.text(tracked).text(" ");
    }

    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        self.text.push_str(text);
        self
    }

    /// Octets as text, with what is not UTF-8 replaced.
    pub(super) fn octets(&mut self, octets: &[u8]) -> &mut Self {
        for chunk in octets.utf8_chunks() {
            self.text.push_str(chunk.valid());
            if !chunk.invalid().is_empty() {
                self.text.push(char::REPLACEMENT_CHARACTER);
            }
        }
        self
    }

    /// Names with a blank in between.
    pub(super) fn words<'a>(&mut self, words: impl Iterator<Item = &'a [u8]>) -> &mut Self {
        for (number, word) in words.enumerate() {
            if number > 0 {
                self.text.push(' ');
            }
            self.octets(word);
        }
        self
    }

    pub(super) fn number(&mut self, number: impl Into<u64>) -> &mut Self {
        self.text(itoa::Buffer::new().format(number.into()))
    }

    /// Microseconds, as slapd prints times: `0.000123`.
    pub(super) fn seconds(&mut self, micros: u64) -> &mut Self {
        let mut digits = itoa::Buffer::new();
        let fraction = digits.format(MICROS_PER_SECOND + micros % MICROS_PER_SECOND);
        let fraction = fraction.get(1..).unwrap_or_default();
        self.number(micros / MICROS_PER_SECOND).text(".").text(fraction)
    }

    pub(super) fn filter(&mut self, filter: &LogFilter<'_, '_>) -> &mut Self {
        // Writing to a string cannot fail.
        let _ = filter.write(&mut self.text, &mut self.filter);
        self
    }
}

const MICROS_PER_SECOND: u64 = 1_000_000;
/// Memory that stays after a long line.
const MAX_KEPT_OCTETS: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_six_digits_after_the_point() {
        for (micros, expected) in [
            (0, "0.000000"),
            (7, "0.000007"),
            (1_000_000, "1.000000"),
            (61_234_567, "61.234567"),
        ] {
            assert_eq!(Line::default().seconds(micros).text, expected);
        }
    }

    #[test]
    fn octets_that_are_no_text_are_replaced() {
        let mut line = Line::default();
        line.words([&b"cn"[..], b"s\xffn", "\u{e9}".as_bytes()].into_iter());
        assert_eq!(line.text, "cn s\u{fffd}n \u{e9}");
    }
}
