//! Who asks: the peer of a connection, how well it is protected, whom it speaks for.

use core::net::IpAddr;

use ironbark_model::Dn;

/// The peer of a connection, as the access log and access rules name it.
#[derive(Clone, Debug)]
pub struct Peer {
    /// `IP=127.0.0.1:12345` or `PATH=/run/ldapi`, as slapd's log prints it.
    pub name: Box<str>,
    /// Our side, in the same form.
    pub socket_name: Box<str>,
    /// The listener's URL.
    pub listener_url: Box<str>,
    /// Its name in lower case as `reverse-lookup` finds it, else `unknown`; `local` on a local socket. `None` where
    /// nobody has connected.
    pub domain: Option<Box<str>>,
    /// Address, for ldap://.
    pub address: Option<IpAddr>,
    /// User and group of the process, for ldapi://.
    pub credentials: Option<(u32, u32)>,
}

/// Who is counted as one: an IPv4 address, or an IPv6 network of 64 bits, which one customer has.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
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

/// Where connections come from that are to take turns with others: what one user or customer has.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Source {
    /// By the network.
    Address(SourceAddress),
    /// By the local socket: the user of the process.
    User(u32),
    /// By no socket.
    Unknown,
}

impl Peer {
    /// Where it comes from.
    pub fn source(&self) -> Source {
        match (self.address, self.credentials) {
            (Some(address), _) => Source::Address(SourceAddress::from(address)),
            (None, Some((user, _))) => Source::User(user),
            (None, None) => Source::Unknown,
        }
    }
}

/// Security strength factors, as `security` and access rules use them: about the length of keys in bits, 1 for
/// integrity alone.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Strength {
    /// The highest of the others.
    pub ssf: u32,
    /// Of the socket: `localSSF` for ldapi://.
    pub transport: u32,
    /// Of TLS.
    pub tls: u32,
    /// Of a SASL security layer.
    pub sasl: u32,
}

impl Strength {
    /// Of a connection that its socket alone protects.
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
    /// The identity that authenticated, when it acts for another one, `dn`.
    pub authentication_dn: Option<Dn>,
    /// The SASL mechanism by which it authenticated.
    pub mechanism: Option<&'static str>,
}

/// What a TLS handshake has told.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TlsChannel {
    /// DER of the subject of the client's certificate, if it has shown one that is trusted.
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
