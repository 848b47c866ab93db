//! Settings of slapo-homedir(5).

use std::path::PathBuf;

use ironbark_config::{DatabaseConfig, SettingError, database::EntryPlace, overlay::OverlaySettings};

use super::path::PathRule;

/// Where home directories are, and what happens to them.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct HomedirConfig {
    /// `homedir-skeleton-path`: new directories are copies of it.
    pub(super) skeleton: PathBuf,
    /// `homedir-min-uidnumber`.
    pub(super) min_uid: u32,
    /// `homedir-regexp`, in order.
    pub(super) rules: Vec<PathRule>,
    /// `homedir-delete-style`.
    pub(super) style: DeleteStyle,
    /// `homedir-archive-path`.
    pub(super) archive: Option<PathBuf>,
}

/// What happens to the directory of an account that is gone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum DeleteStyle {
    Ignore,
    Delete,
    Archive,
}

impl DeleteStyle {
    const ALL: [Self; 3] = [Self::Ignore, Self::Delete, Self::Archive];

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Ignore => "IGNORE",
            Self::Delete => "DELETE",
            Self::Archive => "ARCHIVE",
        }
    }

    pub(super) fn of(word: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|style| style.word().eq_ignore_ascii_case(word))
    }
}

impl Default for HomedirConfig {
    fn default() -> Self {
        Self {
            skeleton: PathBuf::from("/etc/skel"),
            min_uid: 100,
            rules: Vec::new(),
            style: DeleteStyle::Ignore,
            archive: None,
        }
    }
}

impl OverlaySettings for HomedirConfig {
    fn check(&self, database: &DatabaseConfig, notices: &mut Vec<String>) -> Result<(), SettingError> {
        if matches!(database.kind.entries, EntryPlace::Files | EntryPlace::Memory) {
            return Err(SettingError::Unavailable(format!(
                "overlay homedir needs a database with a log of changes; {} has none",
                database.kind.name
            )));
        }
        if self.rules.is_empty() {
            notices.push("without homedir-regexp it does nothing".to_owned());
        }
        if self.style == DeleteStyle::Archive && self.archive.is_none() {
            notices.push("without homedir-archive-path no home directory is archived, and none is deleted".to_owned());
        }
        Ok(())
    }
}
