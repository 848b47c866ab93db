//! `loglevel` and the log file.

use crate::{SettingError, statement::Statement, value::Value};

/// The prefix of a line in the log file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LogFileFormat {
    /// As on stderr: a hexadecimal timestamp and the thread.
    #[default]
    Debug,
    /// As syslog writes it, in UTC.
    SyslogUtc,
    /// As syslog writes it, in local time.
    SyslogLocal,
    /// With the timestamp of RFC 3339 in UTC.
    Rfc3339Utc,
    /// A JSON object a line. Ironbark's own.
    Json,
}

/// When a new log file begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogRotation {
    /// Old files that are kept, 1 to 99.
    pub keep: u32,
    /// Size at which a file is full; 0: any.
    pub max_megabytes: u32,
    /// Age at which a file is full; 0: any. Not 0 if the size is.
    pub max_hours: u32,
}

impl LogFileFormat {
    const NAMES: [(&'static str, Self); 6] = [
        ("debug", Self::Debug),
        ("default", Self::Debug),
        ("syslog-utc", Self::SyslogUtc),
        ("syslog-localtime", Self::SyslogLocal),
        ("rfc3339-utc", Self::Rfc3339Utc),
        ("json", Self::Json),
    ];
}

impl Value for LogFileFormat {
    fn parse(statement: &Statement<'_>) -> Result<Self, SettingError> {
        let text = statement.one()?;
        let named = Self::NAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(text));
        named
            .map(|&(_, format)| format)
            .ok_or_else(|| format!("unknown format \"{text}\"").into())
    }
    fn text(&self) -> Vec<String> {
        Self::NAMES
            .iter()
            .find(|(_, format)| format == self)
            .map(|(name, _)| (*name).to_owned())
            .into_iter()
            .collect()
    }
}
