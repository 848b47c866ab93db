//! What a connection needs: where to, by TLS or not, and as who.

mod security;
mod words;

use std::{path::PathBuf, time::Duration};

use ironbark_model::ldap_url::LdapUrl;

pub use self::security::{BindSecurityProperties, SecurityFlags, SecurityWordError};
use crate::secret::Secret;

/// Settings of a connection, as of `syncrepl`, `idassert-bind` and their like (`slapd.conf(5)`, `slapd-ldap(5)`).
/// [`ConnectSettings::set`] fills them from slapd's words.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct ConnectSettings {
    /// Servers, tried in this order. Only scheme, host and port count.
    pub urls: Vec<LdapUrl>,
    /// Whether StartTLS is asked for. On `ldaps://` TLS is there already.
    pub start_tls: StartTls,
    /// TLS, for `ldaps://` and StartTLS.
    pub tls: TlsSettings,
    /// A `tls_*` word whose value has no meaning: the keyword, and what is wrong. As in slapd, no connection is made,
    /// not even one without TLS.
    pub unusable: Option<(&'static str, String)>,
    /// Authentication.
    pub bind: BindSettings,
    /// Options of the TCP socket.
    pub socket: SocketSettings,
    /// `network-timeout`: longest wait for a connection, and for each of its parts.
    pub connect_timeout: Option<Duration>,
    /// `timeout`: longest wait for the next response.
    pub operation_timeout: Option<Duration>,
}

/// `starttls`.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum StartTls {
    /// The connection stays as it is.
    #[default]
    No,
    /// If the server refuses StartTLS, the connection goes on without TLS. A failed handshake ends it.
    Yes,
    /// If the server refuses StartTLS, the connection ends.
    Critical,
}

/// The `tls_*` settings. Files are read for each attempt to connect.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct TlsSettings {
    /// `tls_cert`: PEM of the client's certificate, and of its issuers behind it.
    pub certificate_file: Option<PathBuf>,
    /// `tls_key`: PEM of its private key.
    pub key_file: Option<PathBuf>,
    /// `tls_cacert`: PEM of authorities, and of revocation lists.
    pub ca_certificate_file: Option<PathBuf>,
    /// `tls_cacertdir`: directories of such files, separated by semicolons. Without `tls_cacert` and `tls_cacertdir`
    /// the authorities are those of the system.
    pub ca_certificate_path: Option<String>,
    /// `tls_reqcert`.
    pub require_certificate: RequireCertificate,
    /// `tls_reqsan`.
    pub require_san: RequireSan,
    /// `tls_cipher_suite`: in the syntax of OpenSSL or GnuTLS.
    pub cipher_suite: Option<String>,
    /// `tls_ecname`: names of curves, separated by colons.
    pub curves: Option<String>,
    /// `tls_crlcheck`; `None`: not said, which is as `none`.
    pub crl_check: Option<ServerCrlCheck>,
    /// PEM of revocation lists. No word sets it: it may be `TLSCRLFile` of the server.
    pub crl_file: Option<PathBuf>,
    /// `tls_protocol_min`, in the form of the protocol: (3, 3) is TLS 1.2. Older versions than that do not exist here.
    pub protocol_min: (u8, u8),
    /// Weak certificates of servers are refused. No word sets it: it may be `tls-strict` of the server.
    pub is_strict: bool,
}

/// `tls_reqcert`: whether the server's certificate is checked (`ldap.conf(5)`, `TLS_REQCERT`).
///
/// A server always shows a certificate, with every cipher that exists here. So `never` and `allow` are the same, and
/// `try` and `demand` are.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum RequireCertificate {
    /// `never`: it is not checked.
    Never,
    /// `allow`: it is not checked.
    Allow,
    /// `try`: a wrong one ends the connection.
    Try,
    /// `demand`, `hard`: a wrong one ends the connection.
    #[default]
    Demand,
}

/// `tls_reqsan`: which names in the server's certificate count (`ldap.conf(5)`, `TLS_REQSAN`).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum RequireSan {
    /// `never`: only the last CN of the subject.
    Never,
    /// `allow`: the subjectAltName, and if it does not match, the CN.
    #[default]
    Allow,
    /// `try`: the subjectAltName; the CN only if there is no subjectAltName.
    Try,
    /// `demand`, `hard`: only the subjectAltName.
    Demand,
}

/// `tls_crlcheck`: which certificates of the server's chain must be on no revocation list. The lists stand in the files
/// of `tls_cacert` and `tls_cacertdir`.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum ServerCrlCheck {
    /// None.
    #[default]
    None,
    /// The server's own.
    Peer,
    /// The whole chain.
    All,
}

/// Authentication.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct BindSettings {
    /// `bindmethod`.
    pub method: BindMethod,
    /// `binddn`: the name of a simple bind.
    pub dn: String,
    /// `credentials`: the password of a simple bind or of a SASL mechanism.
    pub credentials: Secret,
    /// `saslmech`: names of mechanisms, separated by blanks. The first possible one is used, in the order of strength.
    /// Empty: the server is asked which it has.
    pub mechanisms: String,
    /// `authcid`: the name of the client for a SASL mechanism.
    pub authentication_id: String,
    /// `authzid`: the identity to assume, `dn:<DN>` or `u:<name>`; empty: the client's own.
    pub authorization_id: String,
    /// `realm`: for DIGEST-MD5; empty: the first one of the server.
    pub realm: String,
    /// `secprops`.
    pub security: BindSecurityProperties,
    /// The name of the channel binding that SCRAM uses. slapd has no setting for it.
    pub channel_binding: ChannelBindingType,
}

/// `bindmethod`.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum BindMethod {
    /// No bind request is sent: the connection is anonymous.
    #[default]
    None,
    /// Name and password; anonymous if both are empty.
    Simple,
    /// A SASL mechanism.
    Sasl,
}

/// Channel bindings of SCRAM's -PLUS mechanisms.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum ChannelBindingType {
    /// The hash of the server's certificate under the name `ldap`, which is libldap's. slapd takes only this name.
    #[default]
    OpenLdap,
    /// tls-server-end-point (RFC 5929 §4).
    ServerEndPoint,
    /// tls-exporter (RFC 9266), with TLS 1.3 alone.
    Exporter,
}

/// Options of a TCP socket. The system's own values apply where nothing is set.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SocketSettings {
    /// `keepalive`.
    pub keepalive: Keepalive,
    /// `tcp-user-timeout`: how long sent octets may stay unacknowledged.
    pub user_timeout: Option<Duration>,
}

/// `keepalive`: idle, probes and interval. `None`: the system's own value.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Keepalive {
    /// Idle time before the first probe.
    pub idle: Option<Duration>,
    /// Unanswered probes that end the connection.
    pub probes: Option<u32>,
    /// Time between probes.
    pub interval: Option<Duration>,
}
