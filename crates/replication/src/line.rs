//! One line `syncrepl` of a database, in the form that a session needs.

use std::{sync::Arc, time::Duration};

use ironbark_client::ConnectSettings;
use ironbark_directory::ReplicaMapping;
use ironbark_ldap_proto::Scope;

use crate::{Changelog, DirSync};

/// One line `syncrepl` of a database (`slapd.conf(5)`).
#[derive(Clone, PartialEq, Debug)]
pub struct SyncreplLine {
    /// Naming context of the database.
    pub suffix: String,
    /// `rid`.
    pub rid: u16,
    /// A number that no other line of the database has; it is above 999 if an earlier one has the same `rid`.
    pub number: u16,
    /// The server's own ID, if several servers write to the database (`multiprovider`).
    pub sid: Option<u16>,
    /// Where the provider is, and who this server is there.
    pub connection: ConnectSettings,
    /// What is asked for.
    pub request: SyncSearch,
    /// `syncdata=accesslog`: the search for changes in the provider's log.
    pub log: Option<SyncSearch>,
    /// `syncdata=changelog`: the provider's log has numbers, and there is no content synchronization (RFC 4533).
    pub changelog: Option<Changelog>,
    /// `type=dirSync`: the provider is Active Directory.
    pub dir_sync: Option<DirSync>,
    /// What becomes of it here.
    pub mapping: Arc<ReplicaMapping>,
    /// `type=refreshAndPersist`: changes follow the refresh.
    pub persists: bool,
    /// `strictrefresh`: no clients while the content is refreshed because the log has a gap.
    pub strict_refresh: bool,
    /// `interval`: time between the end of a refresh and the next one, if changes do not follow.
    pub interval: Duration,
    /// `retry`: seconds, and how often; `None`: without end.
    pub retries: Vec<(u32, Option<u32>)>,
    /// `timeout`: longest wait for the next message of a refresh. `None`: no limit, as a provider may look for long.
    pub patience: Option<Duration>,
}

impl SyncreplLine {
    /// What names the consumer in this server: its database and its number.
    pub(crate) fn key(&self) -> (String, u16) {
        (self.suffix.clone(), self.number)
    }
}

/// The search at the provider.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SyncSearch {
    /// `searchbase`.
    pub base: String,
    /// `scope`.
    pub scope: Scope,
    /// `filter`.
    pub filter: String,
    /// `attrs`, and those without which an entry cannot be kept. Empty: all.
    pub attributes: Vec<String>,
    /// `sizelimit`; 0: none.
    pub size_limit: u32,
    /// `timelimit`, in seconds; 0: none.
    pub time_limit: u32,
}
