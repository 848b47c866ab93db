//! A naming context of this server as a part of a cluster: what all parts of its session use.

use std::{path::Path, sync::Arc, time::Duration};

use ironbark_config::cluster::ClusterConfig;
use ironbark_directory::Seat;
use ironbark_runtime::{Clock, MonotonicTime, process::host_name};
use ironbark_store::ClusterLogPlace;
use tokio::time::sleep;

use crate::{
    etcd::{Etcd, Token},
    keys::Keys,
    log::{ServerId, Shared},
};

/// How often a change is sent while its writer waits. A member of etcd without a leader says nothing for long.
const TRIES: u32 = 8;
/// The first and the longest wait before etcd is tried again.
const AGAIN: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(2));

/// The naming context, and how its part of etcd is reached.
pub(crate) struct Membership {
    pub(crate) suffix: String,
    pub(crate) keys: Keys,
    pub(crate) config: Arc<ClusterConfig>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) seat: Seat,
    /// This host, and the folder of the server's entries. Empty: it has none.
    pub(crate) place: String,
    token: Token,
}

impl Membership {
    /// That of the naming context with this normalized suffix, which is at `place`.
    /// `belongs`: it has been of a log. `folder`: where the server has entries.
    pub(crate) fn new(
        suffix: &str,
        config: Arc<ClusterConfig>,
        id: ServerId,
        place: ClusterLogPlace,
        belongs: bool,
        seat: Seat,
        folder: Option<&Path>,
    ) -> Self {
        let absolute = folder.map(|folder| std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned()));
        let named = absolute.map(|folder| format!("{}:{}", host_name(), folder.display()));
        Self {
            suffix: suffix.to_owned(),
            place: named.unwrap_or_default(),
            keys: Keys::of(&config.prefix, suffix),
            shared: Arc::new(Shared::new(id, config.timeout, place, belongs)),
            config,
            seat,
            token: Token::default(),
        }
    }

    /// A connection to etcd. All of them share the proof of the user.
    pub(crate) fn etcd(&self) -> Etcd {
        Etcd::new(Arc::clone(&self.config)).sharing(&self.token)
    }

    /// One whose attempts are short enough to be repeated while somebody waits.
    pub(crate) fn impatient_etcd(&self) -> Etcd {
        self.etcd().with_attempts_of(self.config.timeout / TRIES)
    }
}

/// This server, for people.
pub(crate) fn own_name() -> String {
    format!("{}[{}]", host_name(), std::process::id())
}

/// The waits of what fails again and again, and what it said last.
pub(crate) struct Failures<'m> {
    member: &'m Membership,
    clock: Clock,
    begun: MonotonicTime,
    wait: Duration,
    said: String,
}

impl<'m> Failures<'m> {
    pub(crate) fn of(member: &'m Membership) -> Self {
        let clock = Clock::system();
        Self {
            member,
            begun: clock.monotonic(),
            clock,
            wait: AGAIN.0,
            said: String::new(),
        }
    }

    /// An attempt begins.
    pub(crate) fn begin(&mut self) {
        self.begun = self.clock.monotonic();
    }

    /// Says why an attempt has ended, unless that was said last.
    pub(crate) fn say(&mut self, text: String) {
        if text != self.said {
            tracing::warn!(target: "any", "cluster: {}: {text}", self.member.suffix);
            self.said = text;
        }
    }

    /// Says it, and waits before the next attempt; longer than the time before, unless the attempt was a long one.
    pub(crate) async fn wait(&mut self, text: String) {
        self.say(text);
        if self.clock.monotonic().saturating_since(self.begun) > AGAIN.1 {
            self.wait = AGAIN.0;
        }
        sleep(self.wait).await;
        self.wait = (self.wait * 2).min(AGAIN.1);
    }

    /// The same after an attempt that took much from others: up to `longest`.
    pub(crate) async fn wait_longer(&mut self, text: String, longest: Duration) {
        self.say(text);
        sleep((self.wait * 8).min(longest)).await;
        self.wait = (self.wait * 2).min(AGAIN.1);
    }
}
