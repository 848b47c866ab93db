//! The progress of long work: a bar or a counter on stderr, if stderr is a terminal.

use indicatif::{ProgressBar, ProgressStyle};

/// A bar if the total is known, otherwise a counter. It is invisible without a terminal.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// Bytes of an input of `total` bytes, if that is known.
    pub(crate) fn bytes(total: Option<u64>) -> Self {
        Self::new(
            total,
            "{bar:30} {bytes}/{total_bytes} {binary_bytes_per_sec} {msg} eta {eta}",
            "{spinner} {bytes} {binary_bytes_per_sec} {msg}",
        )
    }

    /// Entries out of `total`.
    pub(crate) fn entries(total: Option<u64>) -> Self {
        Self::new(
            total,
            "{bar:30} {human_pos}/{human_len} entries {per_sec} eta {eta}",
            "{spinner} {human_pos} entries {per_sec}",
        )
    }

    /// Shows nothing.
    pub(crate) fn hidden() -> Self {
        Self(ProgressBar::hidden())
    }

    fn new(total: Option<u64>, bar: &str, counter: &str) -> Self {
        let style =
            |template: &str| ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
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

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
