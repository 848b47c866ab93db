//! Errors in a configuration, and notices for the operator about a valid one.

use std::fmt;

use ironbark_model::{ResultCode, schema::Source};

use crate::secret::masked;

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
    /// No setting has this keyword.
    #[error("{}: line {}: {}", location.file, location.line, masked(reason))]
    UnknownSetting {
        /// First physical line of the statement.
        location: Source,
        /// The keyword, as written.
        keyword: String,
        /// A whole sentence with the keyword, in slapd's words.
        reason: String,
    },
    /// A statement, an overlay or a line cannot be taken.
    #[error("{}: line {}: {subject}{error}", location.file, location.line)]
    Refused {
        /// First physical line of the statement.
        location: Source,
        /// What is refused.
        subject: ErrorSubject,
        /// Why.
        error: SettingError,
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

/// Why a setting, or a part of a configuration, is refused. The variant is the kind of fault; the text is for the
/// administrator. It is shown without the passwords that it quotes: it goes into logs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingError {
    /// The value is wrong, or contradicts another setting.
    #[error("{}", masked(.0))]
    Wrong(String),
    /// The setting is not allowed in this place.
    #[error("{}", masked(.0))]
    Misplaced(String),
    /// The statement names a part (an overlay, a module, a type of database) that neither OpenLDAP nor this server has.
    #[error("{0} is not known")]
    UnknownPart(String),
    /// The statement needs a part of OpenLDAP that this server does not have. The text names it, in the singular.
    #[error("{0} is not built yet")]
    MissingPart(String),
    /// The statement names a part of OpenLDAP that this server will not have. The text names it, and what serves in its
    /// place.
    #[error("{0}")]
    RefusedPart(String),
    /// The system does not give what the setting needs: a file, an address, a thread.
    #[error("{}", masked(.0))]
    Unavailable(String),
}

/// What an error or a notice is about. Displayed, it is the beginning of a message: `<keyword> `, or nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ErrorSubject {
    /// A statement, by its keyword as written; in cn=config the attribute.
    Setting(String),
    /// An overlay with all its settings. The text names it.
    Overlay,
    /// A line, a file or an entry that is no statement.
    Line,
}

impl ConfigError {
    /// Where it is, if it is about a statement.
    pub fn location(&self) -> Option<&Source> {
        match self {
            Self::Unreadable { .. } => None,
            Self::UnknownSetting { location, .. }
            | Self::Refused { location, .. }
            | Self::Definition { location, .. } => Some(location),
        }
    }

    /// The error without the place, for a client that has just sent the statement.
    pub fn message(&self) -> String {
        match self {
            Self::Unreadable { .. } => self.to_string(),
            Self::Refused { subject, error, .. } => format!("{subject}{error}"),
            Self::UnknownSetting { reason, .. } | Self::Definition { reason, .. } => masked(reason).into_owned(),
        }
    }

    /// The error without the place and the keyword, for a report that shows both.
    pub fn reason(&self) -> String {
        match self {
            Self::Refused { error, .. } => error.to_string(),
            Self::Unreadable { reason, .. } | Self::UnknownSetting { reason, .. } | Self::Definition { reason, .. } => {
                masked(reason).into_owned()
            }
        }
    }

    /// The result of a change of cn=config that this error ends, as in slapd.
    pub fn result_code(&self) -> ResultCode {
        match self {
            Self::Definition { .. } => ResultCode::INVALID_ATTRIBUTE_SYNTAX,
            Self::Refused { error, .. } => error.result_code(),
            Self::Unreadable { .. } | Self::UnknownSetting { .. } => ResultCode::OTHER,
        }
    }

    /// A refusal of the statement with this keyword.
    pub fn of_setting(location: &Source, keyword: &str, error: impl Into<SettingError>) -> Self {
        Self::Refused {
            location: location.clone(),
            subject: ErrorSubject::Setting(keyword.to_owned()),
            error: error.into(),
        }
    }

    /// A refusal of an overlay with all its settings.
    pub fn of_overlay(location: &Source, error: impl Into<SettingError>) -> Self {
        Self::Refused {
            location: location.clone(),
            subject: ErrorSubject::Overlay,
            error: error.into(),
        }
    }

    /// A refusal of a line or an entry that is no statement.
    pub(crate) fn of_line(location: &Source, error: impl Into<SettingError>) -> Self {
        Self::Refused {
            location: location.clone(),
            subject: ErrorSubject::Line,
            error: error.into(),
        }
    }
}

impl SettingError {
    /// The same kind of fault; the text says first what it is about.
    #[must_use]
    pub fn about(self, part: &str) -> Self {
        let longer = |text: String| format!("{part}: {text}");
        match self {
            Self::Wrong(text) => Self::Wrong(longer(text)),
            Self::Misplaced(text) => Self::Misplaced(longer(text)),
            Self::UnknownPart(text) => Self::UnknownPart(longer(text)),
            Self::MissingPart(text) => Self::MissingPart(longer(text)),
            Self::RefusedPart(text) => Self::RefusedPart(longer(text)),
            Self::Unavailable(text) => Self::Unavailable(longer(text)),
        }
    }

    /// The result of a change of cn=config that this error ends, as in slapd.
    pub fn result_code(&self) -> ResultCode {
        match self {
            Self::Wrong(_)
            | Self::Misplaced(_)
            | Self::UnknownPart(_)
            | Self::MissingPart(_)
            | Self::RefusedPart(_)
            | Self::Unavailable(_) => ResultCode::OTHER,
        }
    }
}

/// The usual fault: a wrong value.
impl From<String> for SettingError {
    fn from(text: String) -> Self {
        Self::Wrong(text)
    }
}

/// The usual fault: a wrong value.
impl From<&str> for SettingError {
    fn from(text: &str) -> Self {
        Self::Wrong(text.to_owned())
    }
}

impl fmt::Display for ErrorSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Setting(keyword) => write!(f, "<{keyword}> "),
            Self::Overlay | Self::Line => Ok(()),
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
    /// The part that it is about.
    pub subject: ErrorSubject,
    /// One line, without the subject.
    pub text: String,
    /// Why the log says it.
    pub kind: NoticeKind,
}

/// The reason of a notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoticeKind {
    /// The setting has no meaning here.
    Meaningless,
    /// The part is always there, so the statement changes nothing.
    BuiltIn,
    /// The statement uses a name or a form that has a successor.
    Old,
    /// An index is missing.
    Index,
    /// Somebody changed a file.
    Checksum,
    /// Anything else about a statement.
    Statement,
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            location,
            subject,
            text,
            ..
        } = self;
        write!(
            f,
            "{}: line {}: {subject}{}",
            location.file,
            location.line,
            masked(text)
        )
    }
}
