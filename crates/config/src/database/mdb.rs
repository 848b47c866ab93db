//! Rows of the store (slapd-mdb(5)).

use crate::{
    database::{IndexKinds, IndexSetting},
    word_set::word_set,
};

/// How the files of a database are used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MdbConfig {
    /// `maxsize` in bytes; `None`: the disk is the limit.
    pub max_size: Option<u64>,
    /// `maxreaders`.
    pub max_readers: u32,
    /// `maxentrysize` in bytes; 0: no limit. Larger entries: adminLimitExceeded.
    pub max_entry_size: u64,
    /// `mode` of the files.
    pub mode: u32,
    /// `envflags`, `dbnosync`.
    pub flags: EnvironmentFlags,
    /// `checkpoint`; only for `nosync`.
    pub checkpoint: Option<CheckpointInterval>,
    /// `changelog-size` in bytes; `None`: not set.
    pub change_log_octets: Option<u64>,
    /// `changelog-age` in seconds; `None`: not set.
    pub change_log_age_s: Option<u32>,
    /// `index default`: the kinds of attributes that name none.
    pub default_index: IndexKinds,
    /// `index`, in order; objectClass eq is there even if it is not listed.
    pub indexes: Vec<IndexSetting>,
}

/// When a database that does not flush each commit (`nosync`) is flushed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CheckpointInterval {
    /// After this many kilobytes written; 0: never.
    pub kilobytes: u32,
    /// After this many minutes; 0: never.
    pub minutes: u32,
}

impl Default for MdbConfig {
    fn default() -> Self {
        Self {
            max_size: None,
            max_readers: 126,
            max_entry_size: 0,
            mode: 0o600,
            flags: EnvironmentFlags::default(),
            checkpoint: None,
            change_log_octets: None,
            change_log_age_s: None,
            default_index: IndexKinds::default(),
            indexes: Vec::new(),
        }
    }
}

word_set! {
    /// `envflags`.
    EnvironmentFlags {
        /// No flush at commit.
        NO_SYNC = 1, "nosync";
        /// No flush of the meta page.
        NO_META_SYNC = 2, "nometasync";
        /// Writable map.
        WRITE_MAP = 4, "writemap";
        /// Asynchronous flush of a writable map.
        MAP_ASYNC = 8, "mapasync";
        /// No read-ahead.
        NO_READ_AHEAD = 16, "nordahead";
    }
}
