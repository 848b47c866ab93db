//! The requester: the peer of a connection, its protection, its identity.

use core::net::IpAddr;

use ironbark_model::Dn;

/// The peer of a connection, as the access log and access rules name it.
#[derive(Clone, Debug)]
pub struct Peer {
    /// `IP=127.0.0.1:12345` or `PATH=/run/ldapi`, as slapd's log prints it.
    pub name: Box<str>,
    /// Our end of the connection, in the same form.
    pub socket_name: Box<str>,
    /// The listener's URL.
    pub listener_url: Box<str>,
    /// Its name in lower case as `reverse-lookup` finds it, otherwise `unknown`; `local` on a local socket. `None` if
    /// nobody has connected.
    pub domain: Option<Box<str>>,
    /// Address, for ldap://.
    pub address: Option<IpAddr>,
    /// User and group of the process, for ldapi://.
    pub credentials: Option<(u32, u32)>,
}

/// The unit for counting clients: an IPv4 address, or an IPv6 network of 64 bits, which a single customer has.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SourceAddress(u128);

impl From<IpAddr> for SourceAddress {
    fn from(address: IpAddr) -> Self {
        Self(match address {
            IpAddr::V4(address) => address.to_ipv6_mapped().to_bits(),
            IpAddr::V6(address) => match address.to_ipv4_mapped() {
                Some(_) => address.to_bits(),
                None => address.to_bits() >> 64 << 64,
            },
        })
    }
}

/// The source of connections, for taking turns: the connections of one user or customer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ConnectionSource {
    /// By the network.
    Address(SourceAddress),
    /// By the local socket: the user of the process.
    User(u32),
    /// Without a socket.
    Unknown,
    /// The server itself, and what comes from other servers.
    Server,
}

impl Peer {
    /// The source of the connection.
    pub fn source(&self) -> ConnectionSource {
        match (self.address, self.credentials) {
            (Some(address), _) => ConnectionSource::Address(SourceAddress::from(address)),
            (None, Some((user, _))) => ConnectionSource::User(user),
            (None, None) => ConnectionSource::Unknown,
        }
    }
}

/// Security strength factors, as `security` and access rules use them: the approximate key length in bits, 1 for
/// integrity alone.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Strength {
    /// The highest of the following.
    pub ssf: u32,
    /// Of the socket: `localSSF` for ldapi://.
    pub transport: u32,
    /// Of TLS.
    pub tls: u32,
    /// Of a SASL security layer.
    pub sasl: u32,
}

impl Strength {
    /// The strength of a connection that only its socket protects.
    pub fn of_transport(transport: u32) -> Self {
        Self {
            ssf: transport,
            transport,
            ..Self::default()
        }
    }
}

/// The authorization identity of a connection (RFC 4513 §4). Immutable: a bind replaces it.
#[derive(Clone, Debug, Default)]
pub struct Identity {
    /// Authorization DN; the root DN for anonymous.
    pub dn: Dn,
    /// The identity that authenticated, if it acts for another one, `dn`.
    pub authentication_dn: Option<Dn>,
    /// The SASL mechanism by which it authenticated.
    pub mechanism: Option<&'static str>,
    /// A tool of this machine, which could change the files as well: no rule and no restriction binds it.
    pub is_tool: bool,
}

/// Facts from a TLS handshake.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TlsChannel {
    /// DER of the subject of the client's certificate, if the client has shown a trusted one.
    pub subject: Option<Vec<u8>>,
    /// Channel binding tls-server-end-point (RFC 5929 §4): the hash of our certificate.
    pub endpoint: Option<Vec<u8>>,
    /// Channel binding tls-exporter (RFC 9266).
    pub exporter: Option<[u8; 32]>,
}

impl Identity {
    /// Whether no one has bound.
    pub fn is_anonymous(&self) -> bool {
        self.dn.depth() == 0
    }
}
