//! `syncrepl`: a database follows another server (slapd.conf(5)).

mod read;
mod retry;
#[cfg(test)]
mod tests;

use std::time::Duration;

use ironbark_model::{Dn, ldap_url::UrlScope};

pub use self::retry::RetryStep;
use crate::{SettingError, connection::ConnectSettings, secret::Secret};

/// `filter` of a line without it.
const EVERYTHING: &str = "(objectclass=*)";

/// Lines that may stand before another one with the same `rid`: [`Syncrepl::number`] has 16 bits.
const MOST_TWINS: u16 = 63;

/// One line `syncrepl`.
#[derive(Clone, PartialEq, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a word of the line, or what it comes to"
)]
pub struct Syncrepl {
    /// `rid`: number of the consumer, 0 to 999. Two lines should not have the same one.
    pub rid: u16,
    /// Lines before it in its database that have the same `rid`.
    pub(crate) twins_before: u16,
    /// `provider`, and who this server is there.
    pub connection: ConnectSettings,
    /// `searchbase`.
    pub base: Dn,
    /// `scope`.
    pub scope: UrlScope,
    /// `filter`.
    pub filter: String,
    /// `attrs`; empty: all, operational ones included.
    pub attributes: Vec<Box<str>>,
    /// `exattrs`: these are not replicated.
    pub excluded: Vec<Box<str>>,
    /// `suffixmassage`: where the base is here; `None`: where it is at the provider.
    pub local_base: Option<Dn>,
    /// `type=refreshAndPersist`: changes follow the refresh.
    pub persists: bool,
    /// `type=dirSync`: the provider is Active Directory, and tells changes by its DirSync control.
    pub dir_sync: bool,
    /// `interval`: time from the end of a refresh to the next one, if changes do not follow.
    pub interval: Duration,
    /// `retry`; empty: every hour without end.
    pub retry: Vec<RetryStep>,
    /// `syncdata`: once the content is here, changes come from the provider's log.
    pub log: Option<LogSource>,
    /// `sizelimit`; 0: none.
    pub size_limit: u32,
    /// `timelimit`, in seconds; 0: none.
    pub time_limit: u32,
    /// `schemachecking`.
    pub schema_checking: bool,
    /// Whether the provider is this server itself, and the base its own database. The server finds out; such a line
    /// has no effect, so that all servers may have the same lines.
    pub is_own: bool,
    /// The line in the form of cn=config, as it was written. It has the password.
    text: Secret,
}

/// The form of a provider's log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogKind {
    /// `syncdata=accesslog`: that of slapd's overlay accesslog.
    Accesslog,
    /// `syncdata=changelog`: that of Sun's servers and of 389 Directory Server (draft-good-ldap-changelog).
    Changelog,
}

/// Where a provider logs changes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogSource {
    /// `syncdata`.
    pub kind: LogKind,
    /// `logbase`.
    pub base: Dn,
    /// `logfilter`.
    pub filter: String,
    /// `strictrefresh`: the server takes no clients while the content is refreshed because the log has a gap.
    pub strict_refresh: bool,
}

impl Syncrepl {
    /// The line in the form of cn=config.
    pub fn text(&self) -> &str {
        // It was made of a string.
        std::str::from_utf8(&self.text.0).unwrap_or_default()
    }

    /// A number that no other line of its database has: the `rid`, and 1,000 more for each line before it with the same
    /// one.
    pub fn number(&self) -> u16 {
        self.rid + 1000 * self.twins_before
    }

    /// Takes its place behind other lines of its database.
    ///
    /// # Errors
    /// Too many of them have its `rid`.
    pub(crate) fn stands_behind(&mut self, others: &[Self]) -> Result<(), SettingError> {
        let twins = others.iter().filter(|other| other.rid == self.rid).count();
        let twins = u16::try_from(twins).ok().filter(|twins| *twins <= MOST_TWINS);
        self.twins_before = twins.ok_or_else(|| format!("too many lines have rid={:03}", self.rid))?;
        Ok(())
    }

    /// Whether its base is in a database with these suffixes.
    ///
    /// # Errors
    /// It is not.
    pub(crate) fn check_base(&self, suffixes: &[Dn]) -> Result<(), SettingError> {
        let base = self.local_base();
        if suffixes.iter().any(|suffix| base.is_within(suffix)) {
            return Ok(());
        }
        let what = if self.local_base.is_some() { "Massage" } else { "Base" };
        let name = base.pretty();
        Err(format!("{what} DN \"{name}\" is not within the database naming context").into())
    }

    /// Whether it can be a consumer of cn=config: entries of a configuration are taken as they are, and all of them.
    ///
    /// # Errors
    /// It leaves something out.
    pub(crate) fn check_for_config(&self) -> Result<(), SettingError> {
        let is_whole = self.attributes.is_empty() && self.excluded.is_empty() && self.other_kind().is_none();
        if is_whole && self.filter.eq_ignore_ascii_case(EVERYTHING) {
            return Ok(());
        }
        Err("database config takes neither filter nor attrs nor exattrs nor syncdata=changelog nor type=dirSync".into())
    }

    /// `syncdata=changelog`.
    pub fn follows_changelog(&self) -> bool {
        self.log.as_ref().is_some_and(|log| log.kind == LogKind::Changelog)
    }

    /// The word that says that the provider is a server of another kind: its changes have no CSNs.
    pub fn other_kind(&self) -> Option<&'static str> {
        if self.dir_sync {
            Some("type=dirSync")
        } else if self.follows_changelog() {
            Some("syncdata=changelog")
        } else {
            None
        }
    }

    fn is_whole_subtree(&self) -> bool {
        self.scope == UrlScope::Subtree && self.filter.eq_ignore_ascii_case(EVERYTHING)
    }

    /// Where the base is here.
    pub fn local_base(&self) -> &Dn {
        self.local_base.as_ref().unwrap_or(&self.base)
    }
}
