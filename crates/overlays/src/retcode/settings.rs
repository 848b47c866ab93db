//! Settings of slapo-retcode(5).

use ironbark_config::{DatabaseConfig, Operations, SettingError, overlay::OverlaySettings, value::parse_u32};
use ironbark_model::{Dn, ResultCode};

/// Which requests get which answers.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct RetcodeConfig {
    /// `retcode-parent`; `None`: the suffix of the database.
    pub(super) parent: Option<Dn>,
    /// `retcode-item`, one each.
    pub(super) items: Vec<Item>,
    /// `retcode-indir`: entries of the database describe answers.
    pub(super) in_directory: bool,
    /// `retcode-sleep`, seconds; negative: a random time up to this.
    pub(super) sleep_s: i32,
}

/// A virtual entry, and the answer to requests that name it.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Item {
    /// As written, word by word.
    pub(super) words: Vec<String>,
    /// One RDN.
    pub(super) rdn: Dn,
    pub(super) code: u32,
    /// The operations that it applies to.
    pub(super) operations: Operations,
    pub(super) text: Option<String>,
    pub(super) matched: Option<Dn>,
    pub(super) referrals: Vec<String>,
    /// Seconds before the answer; negative: a random time up to this.
    pub(super) sleep_s: i32,
    pub(super) notice: Option<Notice>,
    pub(super) closes: Option<Closes>,
}

/// The answer is an unsolicited notification.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Notice {
    /// Its name; `0`: the operation's own response, with message ID zero.
    pub(super) oid: String,
    pub(super) data: Option<Vec<u8>>,
}

/// When the connection is closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Closes {
    /// Instead of an answer.
    Before,
    /// After the answer.
    After,
}

impl OverlaySettings for RetcodeConfig {
    fn looked_up(&self) -> Vec<String> {
        Vec::new()
    }

    fn check(&self, database: &DatabaseConfig, notices: &mut Vec<String>) -> Result<(), SettingError> {
        if self.parent.is_none() && !self.items.is_empty() && database.suffixes.is_empty() {
            return Err("either \"retcode-parent\" or \"suffix\" must be defined".into());
        }
        for item in self.items.iter().filter(|item| !item.referrals.is_empty()) {
            if item.code != ResultCode::REFERRAL.0 {
                notices.push(format!(
                    "\"ref\" of {} is not sent: its result code is no referral",
                    item.rdn.pretty()
                ));
            }
        }
        Ok(())
    }
}

/// A result code: a number in the notations of C, in the range of a client's `int`.
pub(super) fn parse_code(text: &str) -> Option<u32> {
    parse_u32(text).filter(|code| *code <= i32::MAX.unsigned_abs())
}
