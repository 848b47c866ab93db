//! Errors in a configuration, and notices for the operator about a valid one.

use ironbark_model::schema::Source;

/// Why a configuration was refused. The fault is always the configuration's (or its file's).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The main file cannot be read.
    #[error("{path}: {reason}")]
    Unreadable {
        /// As given.
        path: String,
        /// The system's error.
        reason: String,
    },
    /// A statement is wrong, or needs a part that is not supported.
    #[error("{}: line {}: {reason}", location.file, location.line)]
    Refused {
        /// First physical line of the statement.
        location: Source,
        /// Begins with `<keyword>` if one statement is at fault.
        reason: String,
    },
    /// A definition of the schema is wrong.
    #[error("{}: line {}: {reason}", location.file, location.line)]
    Definition {
        /// First physical line of the definition; in cn=config the entry, the attribute and the number of the value.
        location: Source,
        /// Begins with the kind of the definition.
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

    /// The error, without the place.
    pub fn reason(&self) -> &str {
        match self {
            Self::Unreadable { reason, .. } | Self::Refused { reason, .. } | Self::Definition { reason, .. } => reason,
        }
    }

    /// Whether the statement names an unsupported or unknown part. Such an error is no mistake in the statement.
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

/// The treatment of an error: `Err` ends the reading, `Ok` continues with the valid parts.
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

/// The subject of a notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoticeKind {
    /// A setting without meaning here.
    Meaningless,
    /// A needed index.
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
