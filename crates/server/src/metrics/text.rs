//! The text format of Prometheus (version 0.0.4).

use std::fmt::{Display, Write as _};

/// The value of `Content-Type` for the format.
pub(super) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// A page of figures.
#[derive(Default)]
pub(super) struct Page(String);

/// Samples of one name.
pub(super) struct Family<'p> {
    page: &'p mut String,
    name: &'static str,
}

impl Page {
    /// A number that only increases; its name ends with `_total`.
    pub(super) fn counter(&mut self, name: &'static str, help: &str) -> Family<'_> {
        self.family(name, "counter", help)
    }

    /// A number that increases and decreases.
    pub(super) fn gauge(&mut self, name: &'static str, help: &str) -> Family<'_> {
        self.family(name, "gauge", help)
    }

    /// Numbers of observations up to limits.
    pub(super) fn histogram(&mut self, name: &'static str, help: &str) -> Family<'_> {
        self.family(name, "histogram", help)
    }

    fn family(&mut self, name: &'static str, kind: &str, help: &str) -> Family<'_> {
        // Writing to a string cannot fail, here and below.
        let _ = write!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
        Family {
            page: &mut self.0,
            name,
        }
    }

    pub(super) fn finish(self) -> String {
        self.0
    }
}

impl Family<'_> {
    /// One number.
    pub(super) fn sample(&mut self, labels: &[(&str, &str)], value: impl Display) {
        self.line("", labels, value);
    }

    /// A distribution: limits (a text, with the number of observations up to it), then sum and number of all
    /// observations.
    pub(super) fn distribution(
        &mut self,
        labels: &[(&str, &str)],
        buckets: impl Iterator<Item = (String, u64)>,
        sum: impl Display,
        count: u64,
    ) {
        let infinite = std::iter::once(("+Inf".to_owned(), count));
        for (limit, count) in buckets.chain(infinite) {
            let labels: Vec<_> = labels.iter().copied().chain([("le", limit.as_str())]).collect();
            self.line("_bucket", &labels, count);
        }
        self.line("_sum", labels, sum);
        self.line("_count", labels, count);
    }

    fn line(&mut self, suffix: &str, labels: &[(&str, &str)], value: impl Display) {
        let _ = write!(self.page, "{}{suffix}", self.name);
        for (number, (label, text)) in labels.iter().enumerate() {
            let _ = write!(self.page, "{}{label}=\"", if number == 0 { '{' } else { ',' });
            for character in text.chars() {
                match character {
                    '\\' => self.page.push_str("\\\\"),
                    '"' => self.page.push_str("\\\""),
                    '\n' => self.page.push_str("\\n"),
                    other => self.page.push(other),
                }
            }
            self.page.push('"');
        }
        if !labels.is_empty() {
            self.page.push('}');
        }
        let _ = writeln!(self.page, " {value}");
    }
}

/// Microseconds as seconds.
pub(super) fn seconds(micros: u64) -> String {
    format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_have_the_form_of_the_format() {
        let mut page = Page::default();
        let mut family = page.counter("x_total", "What it is.");
        family.sample(&[], 1);
        family.sample(&[("a", "b"), ("suffix", "o=\"a\\b\"\n")], 2);
        let limits = [("1".to_owned(), 3), ("2".to_owned(), 4)];
        page.histogram("y_seconds", "How long.")
            .distribution(&[("a", "b")], limits.into_iter(), seconds(1_500_000), 5);
        assert_eq!(
            page.finish(),
            "# HELP x_total What it is.\n# TYPE x_total counter\nx_total 1\nx_total{a=\"b\",suffix=\"o=\\\"a\\\\b\\\"\\n\"} 2\n\
             # HELP y_seconds How long.\n# TYPE y_seconds histogram\ny_seconds_bucket{a=\"b\",le=\"1\"} 3\n\
             y_seconds_bucket{a=\"b\",le=\"2\"} 4\ny_seconds_bucket{a=\"b\",le=\"+Inf\"} 5\ny_seconds_sum{a=\"b\"} 1.500000\n\
             y_seconds_count{a=\"b\"} 5\n"
        );
    }
}
