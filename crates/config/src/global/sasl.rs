//! SASL: mechanisms, mappings from names to DNs, and permissions to act for others.

use ironbark_model::PosixRegex;

use crate::word_set::word_set;

/// The `sasl-*` and `authz-*` settings.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SaslConfig {
    /// `sasl-host`: the server's name in mechanisms; `None`: the machine's name.
    pub host: Option<String>,
    /// `sasl-realm`: part of the names of authenticated users.
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
    /// Properties that a mechanism must have to be offered.
    SecurityFlags {
        /// An observer of the network cannot guess passwords.
        NO_DICTIONARY = 1, "nodict";
        /// It does not send passwords in the clear.
        NO_PLAIN = 2, "noplain";
        /// An attacker who changes messages cannot break it.
        NO_ACTIVE = 4, "noactive";
        /// It passes the client's credentials on.
        PASS_CREDENTIALS = 8, "passcred";
        /// It has forward secrecy.
        FORWARD_SECRECY = 16, "forwardsec";
        /// It is not anonymous.
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
        /// The predecessor of PLAIN.
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
    /// The demanded properties of a mechanism.
    pub flags: SecurityFlags,
    /// Least strength of the connection's protection: around the mechanism, or by a security layer of its own.
    pub min_ssf: u32,
    /// Greatest strength of both.
    pub max_ssf: u32,
    /// The longest packet of such a layer that is accepted.
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

/// `sasl-cbinding`: whether mechanisms with binding to the TLS channel are offered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ChannelBinding {
    /// `none`.
    #[default]
    None,
    /// `tls-endpoint`.
    TlsEndpoint,
}

/// `authz-policy`: whose rules decide about acting for others.
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
    /// The pattern for the name of a client.
    pub pattern: PosixRegex,
    /// A DN or an LDAP URL, with `$0` to `$9` for the submatches.
    pub replacement: String,
}
