//! The settings that bound connections, read from the configuration in force.

use std::time::Duration;

use ironbark_config::BindFailureLimit;
use ironbark_directory::Configuration;

/// Limits of one connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Limits {
    /// `sockbuf_max_incoming[_auth]`: longest message in bytes, before and after a bind.
    pub(crate) message_bytes: PerIdentity,
    /// `conn_max_pending[_auth]`: operations under way, before and after a bind.
    pub(crate) operations: PerIdentity,
    /// Bytes held for all clients together.
    pub(crate) held_bytes: usize,
    /// `connection-limit`; 0: none.
    pub(crate) connections_per_source: u32,
    /// `bind-failure-limit`.
    pub(crate) bind_failures: Option<BindFailureLimit>,
    /// `idletimeout`.
    pub(crate) idle: Option<Duration>,
    /// `writetimeout`.
    pub(crate) write: Option<Duration>,
}

/// A limit for anonymous connections and one for the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PerIdentity {
    pub(crate) anonymous: usize,
    pub(crate) authenticated: usize,
}

impl PerIdentity {
    pub(crate) fn of(self, is_anonymous: bool) -> usize {
        if is_anonymous {
            self.anonymous
        } else {
            self.authenticated
        }
    }
}

impl Limits {
    pub(crate) fn of(configuration: &Configuration) -> Self {
        let settings = &configuration.settings;
        let size = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        let count = |count: i32| usize::try_from(count).unwrap_or_default().max(1);
        let seconds = |seconds: i32| {
            let seconds = u64::try_from(seconds).ok().filter(|seconds| *seconds != 0);
            seconds.map(Duration::from_secs)
        };
        let longest = size(settings.max_incoming.max(settings.max_incoming_authenticated));
        Self {
            held_bytes: longest.saturating_mul(HELD_MESSAGES).max(MIN_HELD_BYTES),
            message_bytes: PerIdentity {
                anonymous: size(settings.max_incoming),
                authenticated: size(settings.max_incoming_authenticated),
            },
            operations: PerIdentity {
                anonymous: count(settings.max_pending),
                authenticated: count(settings.max_pending_authenticated),
            },
            connections_per_source: settings.connection_limit,
            bind_failures: settings.bind_failure_limit,
            idle: seconds(settings.idle_timeout_s),
            write: seconds(settings.write_timeout_s),
        }
    }
}

/// All clients together may make the server hold so many of the longest messages.
const HELD_MESSAGES: usize = 64;
const MIN_HELD_BYTES: usize = 64 << 20;
