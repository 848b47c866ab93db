//! How far long work has come: a bar or a counter on stderr, when stderr is a terminal.

use indicatif::{ProgressBar, ProgressStyle};

/// A bar when the total is known, a counter otherwise; invisible where there is no terminal.
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

    /// What is done so far.
    pub(crate) fn set(&self, position: u64) {
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
