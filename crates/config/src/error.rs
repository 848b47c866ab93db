//! What is wrong with a configuration, and what an operator should know about one that is right.

use ironbark_model::schema::Source;

/// Why a configuration was refused. The fault is always the configuration's (or its file's).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
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
    /// A definition of the schema is wrong.
    #[error("{}: line {}: {reason}", location.file, location.line)]
    Definition {
        /// First physical line of the definition; in cn=config the entry, the attribute and the number of the value.
        location: Source,
        /// Begins with what the definition is of.
        reason: String,
    },
}

impl ConfigError {
    /// Where it is, if it is about a statement.
    pub fn location(&self) -> Option<&Source> {
        match self {
            Self::Unreadable { .. } => None,
            Self::Refused { location, .. } | Self::Definition { location, .. } => Some(location),
        }
    }

    /// What is wrong, without the place.
    pub fn reason(&self) -> &str {
        match self {
            Self::Unreadable { reason, .. } | Self::Refused { reason, .. } | Self::Definition { reason, .. } => reason,
        }
    }

    /// Whether a part is asked for that is not built yet or that nobody knows, rather than wrongly asked for.
    pub fn is_about_missing_part(&self) -> bool {
        ["not built yet", "is not known"]
            .iter()
            .any(|text| self.reason().contains(text))
    }

    /// A refusal of the statement at `location`.
    pub fn refused(location: &Source, reason: impl Into<String>) -> Self {
        Self::Refused {
            location: location.clone(),
            reason: reason.into(),
        }
    }
}

/// What becomes of an error: `Err` ends the reading there, `Ok` lets it go on with what can be understood.
pub(crate) type Complain<'a> = dyn FnMut(ConfigError) -> Result<(), ConfigError> + 'a;

/// Something in an accepted configuration that the log must say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// The statement it is about.
    pub location: Source,
    /// One line.
    pub text: String,
    /// What it is about.
    pub kind: NoticeKind,
}

/// What a notice is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoticeKind {
    /// A setting without meaning here.
    Meaningless,
    /// An index that is needed.
    Index,
    /// A file that somebody changed.
    Checksum,
    /// Anything else about a statement.
    Statement,
}

impl std::fmt::Display for Notice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: line {}: {}", self.location.file, self.location.line, self.text)
    }
}
