//! Settings of slapo-accesslog(5).

use ironbark_config::{DatabaseConfig, SettingError, database::EntryPlace, kinds::CONFIG, overlay::OverlaySettings};
use ironbark_model::Dn;

/// What is logged, and where.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct AccesslogConfig {
    /// `logdb`: the suffix of the database of the log.
    pub(super) log_db: Option<Dn>,
    /// `logops`.
    pub(super) operations: Operations,
    /// `logbase`.
    pub(super) bases: Vec<LogBase>,
    /// `logold`: a filter.
    pub(super) old: Option<String>,
    /// `logoldattr`: names of attributes.
    pub(super) old_attributes: Vec<String>,
    /// `logpurge`.
    pub(super) purge: Option<Purge>,
    /// `logpurgebatch`.
    pub(super) purge_batch: Option<u32>,
    /// `logsuccess`.
    pub(super) success: bool,
    /// `accesslog-lag`: milliseconds.
    pub(super) lag_ms: u32,
}

/// Operations that are logged below a base.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct LogBase {
    pub(super) operations: Operations,
    /// As written.
    pub(super) words: String,
    pub(super) base: Dn,
}

/// When old entries go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Purge {
    /// Seconds.
    pub(super) age_s: u64,
    /// Seconds.
    pub(super) interval_s: u64,
}

/// A set of operations.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Operations(u16);

impl Operations {
    pub(super) const ADD: Self = Self(1);
    pub(super) const DELETE: Self = Self(2);
    pub(super) const MODIFY: Self = Self(4);
    pub(super) const MODRDN: Self = Self(8);
    pub(super) const COMPARE: Self = Self(0x10);
    pub(super) const SEARCH: Self = Self(0x20);
    pub(super) const BIND: Self = Self(0x40);
    pub(super) const UNBIND: Self = Self(0x80);
    pub(super) const ABANDON: Self = Self(0x100);
    pub(super) const EXTENDED: Self = Self(0x200);
    /// All changes.
    pub(super) const WRITES: Self = Self(0xf);
    const UNKNOWN: Self = Self(0x400);

    /// The words, in the order in which slapd prints them.
    const WORDS: &'static [(&'static str, Self)] = &[
        ("all", Self(0x7ff)),
        ("writes", Self::WRITES),
        ("session", Self(0x1c0)),
        ("reads", Self(0x30)),
        ("add", Self::ADD),
        ("delete", Self::DELETE),
        ("modify", Self::MODIFY),
        ("modrdn", Self::MODRDN),
        ("compare", Self::COMPARE),
        ("search", Self::SEARCH),
        ("bind", Self::BIND),
        ("unbind", Self::UNBIND),
        ("abandon", Self::ABANDON),
        ("extended", Self::EXTENDED),
        ("unknown", Self::UNKNOWN),
    ];

    /// Whether all of `other` are among them.
    pub(super) fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether they are all changes.
    pub(super) fn is_writes(self) -> bool {
        self.0 & !Self::WRITES.0 == 0
    }

    /// Both together.
    pub(super) fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Adds what a word means.
    ///
    /// # Errors
    /// It is unknown.
    pub(super) fn add(&mut self, word: &str) -> Result<(), SettingError> {
        let found = Self::WORDS.iter().find(|(name, _)| name.eq_ignore_ascii_case(word));
        let (_, operations) = found.ok_or_else(|| format!("unknown operation \"{word}\""))?;
        self.0 |= operations.0;
        Ok(())
    }

    /// As slapd prints them: a word for each set that is complete.
    pub(super) fn words(self) -> Vec<String> {
        let mut rest = self.0;
        let mut words = Vec::new();
        for (word, operations) in Self::WORDS {
            if self.contains(*operations) && rest & operations.0 != 0 {
                words.push((*word).to_owned());
                rest &= !operations.0;
            }
        }
        words
    }
}

impl OverlaySettings for AccesslogConfig {
    fn check(&self, database: &DatabaseConfig, _: &mut Vec<String>) -> Result<(), SettingError> {
        if self.log_db.is_none() {
            return Err("accesslog: \"logdb <suffix>\" missing or invalid".into());
        }
        match database.kind.entries {
            EntryPlace::Store | EntryPlace::Files => Ok(()),
            EntryPlace::Memory if database.kind == &CONFIG => Ok(()),
            _ => Err(SettingError::Unavailable(format!(
                "overlay accesslog needs a database with stored entries; {} has none",
                database.kind.name
            ))),
        }
    }
}
