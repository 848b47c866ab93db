//! Refusals of schema definitions: place, element and reason.

use std::fmt;

use super::Source;

/// One refused definition.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub struct SchemaError {
    /// Where the definition was read.
    pub source_of: Source,
    /// What it defines, as `attribute type mail`.
    pub element: String,
    /// Why it was refused.
    pub reason: String,
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.source_of.file)?;
        if self.source_of.line > 0 {
            write!(f, ": line {}", self.source_of.line)?;
        }
        write!(f, ": {}: {}", self.element, self.reason)
    }
}

/// All refusals of a batch, in the order of the definitions; one line each.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub struct SchemaErrors(pub Vec<SchemaError>);

impl fmt::Display for SchemaErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, error) in self.0.iter().enumerate() {
            if position > 0 {
                f.write_str("\n")?;
            }
            error.fmt(f)?;
        }
        Ok(())
    }
}

impl From<SchemaError> for SchemaErrors {
    fn from(error: SchemaError) -> Self {
        Self(vec![error])
    }
}
