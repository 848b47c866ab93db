//! What a check has found wrong.

/// What is wrong, in the order in which it was found.
#[derive(Clone, Debug, Default)]
pub struct CheckFindings {
    texts: Vec<String>,
    count: u64,
}

/// Texts that are kept; the rest are counted.
const KEPT: usize = 100;
/// A check ends after so many findings: more would say nothing new.
const ENOUGH: u64 = 1000;

impl CheckFindings {
    /// Adds one.
    pub(crate) fn add(&mut self, text: impl Into<String>) {
        if self.texts.len() < KEPT {
            self.texts.push(text.into());
        }
        self.count += 1;
    }
    /// Whether it is pointless to go on.
    pub(crate) fn is_enough(&self) -> bool {
        self.count >= ENOUGH
    }
    /// The first hundred.
    pub fn texts(&self) -> &[String] {
        &self.texts
    }
    /// All of them in a line: the first, and how many more there are. `None`: nothing is wrong.
    pub fn in_short(&self) -> Option<String> {
        let first = self.texts.first()?;
        Some(match self.count.saturating_sub(1) {
            0 => first.clone(),
            more => format!("{first}; and {more} more"),
        })
    }
    /// The number of findings, including those whose text was not kept.
    pub fn count(&self) -> u64 {
        self.count
    }
    /// Whether nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}
