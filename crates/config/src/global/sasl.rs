//! SASL: mechanisms, how names become DNs, and who may act for whom.

use ironbark_model::PosixRegex;

use crate::word_set::word_set;

/// The `sasl-*` and `authz-*` settings.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SaslConfig {
    /// `sasl-host`: the name by which mechanisms call this server; `None`: the machine's.
    pub host: Option<String>,
    /// `sasl-realm`: part of the names of those who authenticate.
    pub realm: Option<String>,
    /// `sasl-secprops`.
    pub properties: SecurityProperties,
    /// `sasl-mechanisms`: which may be offered; `None`: all.
    pub mechanisms: Option<SaslMechanisms>,
    /// `sasl-cbinding`.
    pub channel_binding: ChannelBinding,
    /// `authz-policy`.
    pub authz_policy: AuthzPolicy,
    /// `authz-regexp`, in order.
    pub authz_regexps: Vec<AuthzRegexp>,
    /// `sasl-auxprops`, as written.
    pub auxprops: Option<String>,
}

word_set! {
    /// What a mechanism must have, or must not do, to be offered.
    SecurityFlags {
        /// Not susceptible to guessing from what passes over the wire.
        NO_DICTIONARY = 1, "nodict";
        /// Not sending passwords in the clear.
        NO_PLAIN = 2, "noplain";
        /// Not susceptible to attackers who change what passes.
        NO_ACTIVE = 4, "noactive";
        /// Handing the client's credentials on.
        PASS_CREDENTIALS = 8, "passcred";
        /// With forward secrecy.
        FORWARD_SECRECY = 16, "forwardsec";
        /// Not anonymous.
        NO_ANONYMOUS = 32, "noanonymous";
    }
}

word_set! {
    /// Mechanisms by their registered names.
    SaslMechanisms {
        /// RFC 5802 with SHA-512, bound to the TLS channel.
        SCRAM_SHA_512_PLUS = 1, "SCRAM-SHA-512-PLUS";
        /// RFC 5802 with SHA-512.
        SCRAM_SHA_512 = 2, "SCRAM-SHA-512";
        /// RFC 7677, bound to the TLS channel.
        SCRAM_SHA_256_PLUS = 4, "SCRAM-SHA-256-PLUS";
        /// RFC 7677.
        SCRAM_SHA_256 = 8, "SCRAM-SHA-256";
        /// RFC 5802, bound to the TLS channel.
        SCRAM_SHA_1_PLUS = 16, "SCRAM-SHA-1-PLUS";
        /// RFC 5802.
        SCRAM_SHA_1 = 32, "SCRAM-SHA-1";
        /// RFC 2831.
        DIGEST_MD5 = 64, "DIGEST-MD5";
        /// RFC 4422 appendix A.
        EXTERNAL = 128, "EXTERNAL";
        /// RFC 2195.
        CRAM_MD5 = 256, "CRAM-MD5";
        /// RFC 4616.
        PLAIN = 512, "PLAIN";
        /// What came before PLAIN.
        LOGIN = 1024, "LOGIN";
        /// RFC 4505.
        ANONYMOUS = 2048, "ANONYMOUS";
        /// RFC 4752.
        GSSAPI = 4096, "GSSAPI";
    }
}

/// `sasl-secprops`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SecurityProperties {
    /// What is demanded of a mechanism.
    pub flags: SecurityFlags,
    /// Least strength of what protects the connection: around the mechanism, or a security layer of its own.
    pub min_ssf: u32,
    /// Greatest strength of both.
    pub max_ssf: u32,
    /// The longest packet of such a layer that is taken.
    pub max_buffer: u32,
}

/// slapd's values: no limit, and 64 KiB.
pub(crate) const MAX_SSF: u32 = i32::MAX.unsigned_abs();

pub(crate) const MAX_BUFFER: u32 = 65_536;

impl Default for SecurityProperties {
    fn default() -> Self {
        Self {
            flags: SecurityFlags::NO_PLAIN.with(SecurityFlags::NO_ANONYMOUS),
            min_ssf: 0,
            max_ssf: MAX_SSF,
            max_buffer: MAX_BUFFER,
        }
    }
}

/// `sasl-cbinding`: whether mechanisms that bind themselves to the TLS channel are offered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ChannelBinding {
    /// `none`.
    #[default]
    None,
    /// `tls-endpoint`.
    TlsEndpoint,
}

/// `authz-policy`: whose rules decide who may act for whom.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum AuthzPolicy {
    /// Nobody's.
    #[default]
    None,
    /// `authzFrom` of the one acted for.
    From,
    /// `authzTo` of the one who acts.
    To,
    /// One of both.
    Any,
    /// Both.
    All,
}

/// `authz-regexp`.
#[derive(Clone, PartialEq, Debug)]
pub struct AuthzRegexp {
    /// What the name of a client must match.
    pub pattern: PosixRegex,
    /// A DN or an LDAP URL, with `$0` to `$9` for what was matched.
    pub replacement: String,
}
