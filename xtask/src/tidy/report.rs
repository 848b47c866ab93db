//! The findings of the rules, and how they are shown.

use std::fmt;

/// One breach of one rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) rule: &'static str,
    /// Relative to the repository.
    pub(crate) path: String,
    /// Counted from 1.
    pub(crate) line: usize,
    /// The unit for counting exceptions: the path, or `path::function`.
    pub(crate) target: String,
    /// How big the breach is, for rules about size.
    pub(crate) size: Option<usize>,
    pub(crate) reason: String,
    /// A warning is shown but does not fail.
    pub(crate) is_warning: bool,
}

/// All findings, in the order of path and line.
#[derive(Debug)]
pub(crate) struct Report {
    findings: Vec<Finding>,
}

impl Finding {
    /// A finding about a place in a file.
    pub(crate) fn new(rule: &'static str, path: &str, line: usize, reason: impl Into<String>) -> Self {
        Self {
            rule,
            path: path.to_owned(),
            line,
            target: path.to_owned(),
            size: None,
            reason: reason.into(),
            is_warning: false,
        }
    }

    /// The same as a warning: it is shown but does not fail.
    pub(crate) fn warning(self) -> Self {
        Self {
            is_warning: true,
            ..self
        }
    }

    /// The same for an item inside the file.
    pub(crate) fn of_item(mut self, item: &str) -> Self {
        self.target = format!("{}::{item}", self.path);
        self
    }

    /// The same with a size.
    pub(crate) fn sized(self, size: usize) -> Self {
        Self {
            size: Some(size),
            ..self
        }
    }

    /// Only place and rule, for the tests of the rules.
    #[cfg(test)]
    pub(crate) fn summary(&self) -> String {
        let warning = if self.is_warning { " (warning)" } else { "" };
        format!("{}:{}: {}{warning}", self.path, self.line, self.rule)
    }
}

impl Report {
    pub(crate) fn new(mut findings: Vec<Finding>) -> Self {
        findings.sort_by(|a, b| (&a.path, a.line, a.rule).cmp(&(&b.path, b.line, b.rule)));
        Self { findings }
    }

    #[cfg(test)]
    pub(crate) fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// True when nothing but warnings was found.
    pub(crate) fn is_clean(&self) -> bool {
        self.findings.iter().all(|finding| finding.is_warning)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for finding in &self.findings {
            let warning = if finding.is_warning { "warning: " } else { "" };
            writeln!(
                f,
                "{}:{}: {warning}{}: {}",
                finding.path, finding.line, finding.rule, finding.reason
            )?;
        }
        let warnings = self.findings.iter().filter(|finding| finding.is_warning).count();
        writeln!(
            f,
            "tidy: {} errors, {warnings} warnings",
            self.findings.len() - warnings
        )
    }
}
