//! The progress of long work: a bar or a counter on stderr, if stderr is a terminal.

use std::fmt::Write;

use indicatif::{ProgressBar, ProgressState, ProgressStyle};

/// A bar if the total is known, otherwise a counter. It is invisible without a terminal.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// Bytes of an input of `total` bytes, if that is known.
    pub(crate) fn bytes(total: Option<u64>) -> Self {
        Self::new(
            total,
            "{bar:30} {megabytes}/{total_megabytes} MB {megabytes_per_sec} MB/s {msg} eta {eta}",
            "{spinner} {megabytes} MB {megabytes_per_sec} MB/s {msg}",
        )
    }

    /// Entries out of `total`.
    pub(crate) fn entries(total: Option<u64>) -> Self {
        Self::new(
            total,
            "{bar:30} {human_pos}/{human_len} entries {whole_per_sec}/s eta {eta}",
            "{spinner} {human_pos} entries {whole_per_sec}/s",
        )
    }

    /// Shows nothing.
    pub(crate) fn hidden() -> Self {
        Self(ProgressBar::hidden())
    }

    fn new(total: Option<u64>, bar: &str, counter: &str) -> Self {
        let style = |template: &str| {
            let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
            KEYS.iter().fold(style, |style, (key, show)| style.with_key(key, *show))
        };
        Self(match total {
            Some(total) => ProgressBar::new(total).with_style(style(bar)),
            None => ProgressBar::no_length().with_style(style(counter)),
        })
    }

    /// Sets the progress.
    pub(crate) fn set(&self, position: u64) {
        self.0.set_position(position);
    }

    /// Sets the progress, and what it is of.
    pub(crate) fn set_of(&self, position: u64, total: u64) {
        if self.0.length() != Some(total) {
            self.0.set_length(total);
        }
        self.0.set_position(position);
    }

    /// Text beside the bar.
    pub(crate) fn message(&self, text: String) {
        if !self.0.is_hidden() {
            self.0.set_message(text);
        }
    }

    /// Prints a line on stderr without disturbing the bar.
    pub(crate) fn line(&self, text: &str) {
        self.0.suspend(|| eprintln!("{text}"));
    }
}

/// Shows a part of the progress.
type Show = fn(&ProgressState, &mut dyn Write);

/// Figures without fractions, which change too fast to be read. A failure to write shows as missing text.
const KEYS: [(&str, Show); 4] = [
    ("megabytes", |state, out| {
        let _ = write!(out, "{}", state.pos() / MEGABYTE);
    }),
    ("total_megabytes", |state, out| {
        let _ = write!(out, "{}", state.len().unwrap_or_default().div_ceil(MEGABYTE));
    }),
    ("megabytes_per_sec", |state, out| {
        let _ = write!(out, "{:.0}", state.per_sec() / 1e6);
    }),
    ("whole_per_sec", |state, out| {
        let _ = write!(out, "{:.0}", state.per_sec());
    }),
];

const MEGABYTE: u64 = 1_000_000;

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
