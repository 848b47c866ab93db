//! What is wrong with a configuration, and what an operator should know about one that is right.

use ironbark_model::schema::Source;

/// Why a configuration was refused. The fault is always the configuration's (or its file's).
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The main file cannot be read.
    #[error("{path}: {reason}")]
    Unreadable {
        /// As given.
        path: String,
        /// What the system said.
        reason: String,
    },
    /// A statement is wrong, or asks for a part that is not built.
    #[error("{}: line {}: {reason}", location.file, location.line)]
    Refused {
        /// First physical line of the statement.
        location: Source,
        /// Begins with `<keyword>` where one statement is at fault.
        reason: String,
    },
}

impl ConfigError {
    /// A refusal of the statement at `location`.
    pub fn refused(location: &Source, reason: impl Into<String>) -> Self {
        Self::Refused {
            location: location.clone(),
            reason: reason.into(),
        }
    }
}

/// Something in an accepted configuration that the log must say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// The statement it is about.
    pub location: Source,
    /// One line.
    pub text: String,
}

impl std::fmt::Display for Notice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: line {}: {}", self.location.file, self.location.line, self.text)
    }
}
