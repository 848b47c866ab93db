//! LDIF for comparison in tests. This reader is independent of the code under test.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use similar::TextDiff;

/// LDIF records without the differences between two correct outputs: folding, comments, the version line, needless
/// base64 and the number of blank lines. The order of records, attributes and values is kept until
/// [`NormalizedLdif::sorted`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NormalizedLdif {
    records: Vec<Record>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Record {
    /// Lower-cased DN, for sorting.
    key: String,
    lines: Vec<String>,
}

impl NormalizedLdif {
    /// Attributes whose values always differ between two servers.
    pub const VOLATILE: [&str; 5] = [
        "entryUUID",
        "entryCSN",
        "createTimestamp",
        "modifyTimestamp",
        "contextCSN",
    ];

    /// Reads LDIF.
    pub fn new(text: &str) -> Self {
        let mut records: Vec<Record> = Vec::new();
        let mut lines: Vec<String> = Vec::new();
        for line in unfold(text).into_iter().chain([String::new()]) {
            if line.is_empty() {
                if !lines.is_empty() {
                    records.push(Record::new(std::mem::take(&mut lines)));
                }
            } else if !line.starts_with('#') && (!lines.is_empty() || !line.starts_with("version:")) {
                lines.push(plain(&line));
            }
        }
        Self { records }
    }

    /// Removes the lines of some attributes, whatever their options.
    #[must_use]
    pub fn without(mut self, attributes: &[&str]) -> Self {
        for record in &mut self.records {
            record.lines.retain(|line| {
                let name = line.split([':', ';']).next().unwrap_or_default();
                !attributes.iter().any(|attribute| attribute.eq_ignore_ascii_case(name))
            });
        }
        self
    }

    /// Sorts records by DN, and the attributes and values in each record.
    #[must_use]
    pub fn sorted(mut self) -> Self {
        for record in &mut self.records {
            if let Some((_, rest)) = record.lines.split_first_mut() {
                rest.sort_by_cached_key(|line| (line.to_lowercase(), line.clone()));
            }
        }
        self.records.sort();
        self
    }

    /// The number of records.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether there are no records.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }
}

impl Record {
    fn new(lines: Vec<String>) -> Self {
        Self {
            key: lines.first().map(|line| line.to_lowercase()).unwrap_or_default(),
            lines,
        }
    }
}

impl fmt::Display for NormalizedLdif {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, record) in self.records.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            for line in &record.lines {
                writeln!(f, "{line}")?;
            }
        }
        Ok(())
    }
}

/// Fails with a readable difference when two texts of LDIF differ. The order of records, attributes and values counts.
#[track_caller]
pub fn assert_ldif_eq(expected: &str, actual: &str) {
    let (expected, actual) = (
        NormalizedLdif::new(expected).to_string(),
        NormalizedLdif::new(actual).to_string(),
    );
    assert!(
        expected == actual,
        "{}",
        difference("expected", &expected, "actual", &actual)
    );
}

/// The difference of two texts as a unified diff; empty when they are equal.
pub fn difference(left_name: &str, left: &str, right_name: &str, right: &str) -> String {
    TextDiff::from_lines(left, right)
        .unified_diff()
        .context_radius(4)
        .header(left_name, right_name)
        .to_string()
}

/// Joins folded lines (RFC 2849: a line that starts with a blank continues the line before).
fn unfold(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        match (line.strip_prefix(' '), lines.last_mut()) {
            (Some(rest), Some(last)) => last.push_str(rest),
            _ => lines.push(line.to_owned()),
        }
    }
    lines
}

/// Writes a value in base64 as plain text if it needs no base64.
fn plain(line: &str) -> String {
    let decoded = line
        .split_once(":: ")
        .filter(|(name, _)| !name.contains([' ', ':']))
        .and_then(|(name, value)| {
            let text = String::from_utf8(STANDARD.decode(value.trim()).ok()?).ok()?;
            let is_safe = !text.is_empty()
                && !text.starts_with([' ', ':', '<'])
                && !text.ends_with(' ')
                && text
                    .bytes()
                    .all(|byte| byte.is_ascii() && !matches!(byte, 0 | b'\n' | b'\r'));
            is_safe.then(|| format!("{name}: {text}"))
        });
    decoded.unwrap_or_else(|| line.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "version: 1\n\n# comment\n that goes on\ndn: cn=B,dc=x\ncn: B\nsn:: Zm9v\ndescription: lo\n ng\n\n\n\ndn: cn=a,dc=x\nsn: z\ncn: a\n";

    #[test]
    fn what_does_not_matter_is_gone() {
        let two = "dn: cn=B,dc=x\ncn: B\nsn: foo\ndescription: long\n\ndn: cn=a,dc=x\nsn: z\ncn: a\n";
        assert_eq!(NormalizedLdif::new(ONE).to_string(), two);
        assert_eq!(NormalizedLdif::new(ONE).len(), 2);
        assert!(NormalizedLdif::new("# nothing\n").is_empty());
        assert_ldif_eq(ONE, two);
    }

    #[test]
    fn base64_stays_where_it_is_needed() {
        for line in [
            "cn:: w6Q=",
            "cn:: IGE=",
            "cn:: YSA=",
            "cn:: YQo=",
            "cn: a:: b",
            "cn:: ***",
        ] {
            assert_eq!(
                NormalizedLdif::new(&format!("dn: x\n{line}\n")).to_string(),
                format!("dn: x\n{line}\n")
            );
        }
    }

    #[test]
    fn order_counts_until_it_is_sorted_away() {
        let other = "dn: cn=a,dc=x\ncn: a\nsn: z\n\ndn: cn=B,dc=x\ndescription: long\nsn: foo\ncn: B\n";
        let (one, other) = (NormalizedLdif::new(ONE), NormalizedLdif::new(other));
        assert_ne!(one, other);
        assert_eq!(one.sorted(), other.sorted());
    }

    #[test]
    fn attributes_are_left_out_with_their_options() {
        let text = "dn: x\nentryUUID: 1\nentryuuid;x-a: 2\nentryUUIDs: 3\n";
        assert_eq!(
            NormalizedLdif::new(text).without(&NormalizedLdif::VOLATILE).to_string(),
            "dn: x\nentryUUIDs: 3\n"
        );
    }

    #[test]
    #[should_panic(expected = "-sn: y\n+sn: z\n")]
    fn a_difference_is_shown_as_lines() {
        assert_ldif_eq("dn: x\nsn: y\n", "dn: x\nsn: z\n");
    }
}
