//! Settings of the whole server, and their rows.

mod connection_tls;
pub(crate) mod features;
pub(crate) mod log;
pub(crate) mod sasl;
pub(crate) mod server_id;
pub(crate) mod sources;
pub(crate) mod tls;

use core::net::SocketAddr;
use std::path::PathBuf;

use ironbark_model::Dn;

use crate::{log_level::LogLevel, statement::Kept};

pub use features::{Allow, Disallow, MAX_FILTER_DEPTH};
pub use log::{LogFileFormat, LogRotation};
pub use sasl::{
    AuthzPolicy, AuthzRegexp, ChannelBinding, SaslConfig, SaslMechanisms, SecurityFlags, SecurityProperties,
};
pub use server_id::ServerId;
pub use sources::{BindFailureLimit, Network};
pub use tls::{ClientCrlCheck, ProtocolVersion, TlsConfig, VerifyClient};

/// Settings of the server as a whole. `Default` is slapd without a configuration file.
#[derive(Clone, PartialEq, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is one setting of slapd.conf")]
pub struct GlobalConfig {
    /// `allow`.
    pub allow: Allow,
    /// `disallow`.
    pub disallow: Disallow,
    /// `argsfile`.
    pub args_file: Option<PathBuf>,
    /// `pidfile`.
    pub pid_file: Option<PathBuf>,
    /// `conn_max_pending`: requests waiting on an anonymous connection. Below 1: one.
    pub max_pending: i32,
    /// `conn_max_pending_auth`: on an authenticated one.
    pub max_pending_authenticated: i32,
    /// `connection-limit`: connections from one address; 0: any number.
    pub connection_limit: u32,
    /// `bind-failure-limit`.
    pub bind_failure_limit: Option<BindFailureLimit>,
    /// `proxy-trusted`; empty: everybody.
    pub proxy_trusted: Vec<Network>,
    /// `defaultsearchbase`.
    pub default_search_base: Option<Dn>,
    /// `reverse-lookup`.
    pub reverse_lookup: bool,
    /// `gentlehup`.
    pub gentle_hup: bool,
    /// `sighup reload`.
    pub reloads_on_hangup: bool,
    /// `idletimeout`; 0 or negative: none.
    pub idle_timeout_s: i32,
    /// `writetimeout`; 0 or negative: none.
    pub write_timeout_s: i32,
    /// `localSSF`. As in slapd, a negative number is the unsigned one of the same bits, and more than any other.
    pub local_ssf: i32,
    /// `logfile`.
    pub log_file: Option<PathBuf>,
    /// `logfile-only`: no output to stderr and syslog.
    pub log_file_only: bool,
    /// `logfile-format`.
    pub log_file_format: LogFileFormat,
    /// `logfile-rotate`.
    pub log_rotation: Option<LogRotation>,
    /// `loglevel`; `None`: the levels of the command line, or `stats`.
    pub log_level: Option<LogLevel>,
    /// `slowlog`: operations that take at least so many milliseconds are logged; 0: none.
    pub slow_log_ms: u32,
    /// `metrics-listener`: the address for Prometheus.
    pub metrics_listener: Option<SocketAddr>,
    /// `maxfilterdepth`.
    pub max_filter_depth: u32,
    /// `moduleload`, as written.
    pub modules: Vec<String>,
    /// `password-hash`: schemes with their braces, as written; each new password is stored once per scheme.
    pub password_hash: Vec<String>,
    /// `password-crypt-salt-format`: holds exactly one `%s` or `%.<n>s`.
    pub crypt_salt_format: String,
    /// `referral`: LDAP URLs.
    pub referrals: Vec<String>,
    /// `rootDSE`: LDIF files.
    pub root_dse_files: Vec<PathBuf>,
    /// The `sasl-*` and `authz-*` settings.
    pub sasl: SaslConfig,
    /// `serverID`.
    pub server_ids: Vec<ServerId>,
    /// `sockbuf_max_incoming`: bytes of a message on an anonymous connection.
    pub max_incoming: u64,
    /// `sockbuf_max_incoming_auth`: on an authenticated one.
    pub max_incoming_authenticated: u64,
    /// The `TLS*` settings.
    pub tls: TlsConfig,
    /// TLS is configured and cannot be offered: certificate and key are no pair yet. The server says so, not a setting.
    pub lacks_tls: bool,
    /// `threads`; `None`: as many as the machine has cores.
    pub threads: Option<u32>,
    /// `tool-threads`, below 1: one; `None`: as many as the machine has cores.
    pub tool_threads: Option<i32>,
    /// Settings without meaning here.
    pub(crate) kept: Kept,
}

impl Default for GlobalConfig {
    fn default() -> Self {
        Self {
            allow: Allow::default(),
            disallow: Disallow::default(),
            args_file: None,
            pid_file: None,
            max_pending: 100,
            max_pending_authenticated: 1000,
            connection_limit: 0,
            bind_failure_limit: None,
            proxy_trusted: Vec::new(),
            default_search_base: None,
            reverse_lookup: false,
            gentle_hup: false,
            reloads_on_hangup: false,
            idle_timeout_s: 0,
            write_timeout_s: 0,
            local_ssf: 71,
            log_file: None,
            log_file_only: false,
            log_file_format: LogFileFormat::default(),
            log_rotation: None,
            log_level: None,
            slow_log_ms: 0,
            metrics_listener: None,
            max_filter_depth: 1000,
            modules: Vec::new(),
            password_hash: vec!["{SSHA}".to_owned()],
            crypt_salt_format: "%s".to_owned(),
            referrals: Vec::new(),
            root_dse_files: Vec::new(),
            sasl: SaslConfig::default(),
            server_ids: Vec::new(),
            max_incoming: 262_143,
            max_incoming_authenticated: 16_777_215,
            tls: TlsConfig::default(),
            lacks_tls: false,
            threads: None,
            tool_threads: None,
            kept: Kept::default(),
        }
    }
}
