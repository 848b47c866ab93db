//! The file of figures: `tools` and the versions of the tools, then a line `name instructions` for each operation.

use std::fmt;

use anyhow::{Context, Result, bail};

/// Instructions of operations, and the tools that counted them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Figures {
    /// Compiler, valgrind and C library: other versions give other counts.
    pub(super) tools: String,
    /// Operations in the order of their execution, with the instructions of a single one.
    pub(super) operations: Vec<(String, u64)>,
}

impl Figures {
    /// Reads the file; skips empty lines and lines that begin with `#`.
    pub(super) fn read(text: &str) -> Result<Self> {
        let mut figures = Self::default();
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let (name, rest) = line.split_once(' ').with_context(|| format!("no figure: {line}"))?;
            if name == TOOLS {
                rest.clone_into(&mut figures.tools);
                continue;
            }
            if figures.of(name).is_some() {
                bail!("{name} is there twice");
            }
            let count = rest
                .trim_start()
                .parse()
                .with_context(|| format!("no number: {line}"))?;
            figures.operations.push((name.to_owned(), count));
        }
        Ok(figures)
    }

    /// The figure of an operation.
    pub(super) fn of(&self, name: &str) -> Option<u64> {
        let found = self.operations.iter().find(|(known, _)| known == name);
        found.map(|(_, count)| *count)
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{HEADER}\n{TOOLS} {}", self.tools)?;
        for (name, count) in &self.operations {
            writeln!(f, "{name:<30} {count:>10}")?;
        }
        Ok(())
    }
}

const TOOLS: &str = "tools";
const HEADER: &str =
    "# Instructions that one operation takes. `cargo xtask instructions` counts them and compares, and writes this file
# when it is called with --accept; crates/directory/benches/instructions has the operations.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let figures = Figures {
            tools: "rustc 1.95.0, valgrind-3.19.0".to_owned(),
            operations: vec![("decode".to_owned(), 12), ("match".to_owned(), 3_456_789)],
        };
        assert_eq!(Figures::read(&figures.to_string()).unwrap(), figures);
    }

    #[test]
    fn lines_that_are_no_figures_are_refused() {
        for text in ["decode", "decode many", "decode 1\ndecode 2"] {
            assert!(Figures::read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_figures_of_the_repository_are_as_they_are_written() {
        let text = include_str!("../../../data/instructions.txt");
        let figures = Figures::read(text).unwrap();
        assert!(!figures.operations.is_empty());
        assert_eq!(figures.to_string(), text);
    }
}
