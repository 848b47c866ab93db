//! `syncrepl`: a database follows another server (slapd.conf(5)).

mod read;
mod retry;

use std::time::Duration;

use ironbark_model::{Dn, ldap_url::UrlScope};

pub use self::retry::RetryStep;
use crate::connection::ConnectSettings;

/// One line `syncrepl`.
#[derive(Clone, PartialEq, Debug)]
pub struct Syncrepl {
    /// `rid`: number of the consumer, 0 to 999, which no other consumer of the server has.
    pub rid: u16,
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
    /// `interval`: time from the end of a refresh to the next one, if changes do not follow.
    pub interval: Duration,
    /// `retry`; empty: every hour without end.
    pub retry: Vec<RetryStep>,
    /// `sizelimit`; 0: none.
    pub size_limit: u32,
    /// `timelimit`, in seconds; 0: none.
    pub time_limit: u32,
    /// `schemachecking`.
    pub schema_checking: bool,
    /// The line in the form of cn=config, as it was written.
    text: String,
}

impl Syncrepl {
    /// The line in the form of cn=config.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Where the base is here.
    pub fn local_base(&self) -> &Dn {
        self.local_base.as_ref().unwrap_or(&self.base)
    }
}
