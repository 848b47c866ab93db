//! The header of the PROXY protocol, version 2. A proxy sends it before any data of its client (`pldap://`,
//! `pldaps://`).
//!
//! Nothing behind the header is read. The bound is slapd's: 520 octets of options behind the addresses.

use std::{
    future::poll_fn,
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    pin::Pin,
    time::Duration,
};

use ironbark_config::Network;
use tokio::io::{AsyncRead, ReadBuf};

/// The real source of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Source {
    /// From a client of the proxy.
    Client(SocketAddr),
    /// From the proxy itself (LOCAL), or from a client whose address we cannot use.
    Proxy,
}

/// Why a header is refused, in slapd's words where slapd has some.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProxyError {
    #[error("header read failed ({0})")]
    Read(#[from] io::Error),
    #[error("header read insufficient data")]
    Ended,
    #[error("invalid header signature")]
    Signature,
    #[error("invalid header version {0:x}")]
    Version(u8),
    #[error("invalid command {0:x}")]
    Command(u8),
    #[error("unsupported protocol {0:x}")]
    Family(u8),
    #[error("address length {0} too small, expecting {1}")]
    Addresses(usize, usize),
    #[error("options size {0} too big")]
    Options(usize),
    #[error("no header within {} seconds", .0.as_secs())]
    Late(Duration),
}

/// Whether a proxy at this address is trusted. An empty list trusts every address.
pub(crate) fn is_trusted(trusted: &[Network], address: Option<IpAddr>) -> bool {
    trusted.is_empty() || address.is_some_and(|address| trusted.iter().any(|network| network.holds(address)))
}

/// Reads exactly one header, unless that takes too long.
pub(crate) async fn read(socket: &mut (impl AsyncRead + Unpin)) -> Result<Source, ProxyError> {
    match tokio::time::timeout(MAX_WAIT, read_header(socket)).await {
        Ok(result) => result,
        Err(_) => Err(ProxyError::Late(MAX_WAIT)),
    }
}

pub(crate) async fn read_header(socket: &mut (impl AsyncRead + Unpin)) -> Result<Source, ProxyError> {
    let mut start = [0; START];
    fill(socket, &mut start).await?;
    let header = Header::parse(start)?;
    let mut rest = [0; MAX_ADDRESSES + MAX_OPTIONS];
    let rest = rest
        .get_mut(..header.length)
        .ok_or(ProxyError::Options(header.length))?;
    fill(socket, rest).await?;
    header.source(rest)
}

async fn fill(socket: &mut (impl AsyncRead + Unpin), buffer: &mut [u8]) -> Result<(), ProxyError> {
    let mut buffer = ReadBuf::new(buffer);
    while buffer.remaining() != 0 {
        let before = buffer.filled().len();
        poll_fn(|cx| Pin::new(&mut *socket).poll_read(cx, &mut buffer)).await?;
        if buffer.filled().len() == before {
            return Err(ProxyError::Ended);
        }
    }
    Ok(())
}

/// The first sixteen octets.
#[derive(Clone, Copy, Debug)]
struct Header {
    /// Whether the connection belongs to a client, not to the proxy itself.
    is_clients: bool,
    family: u8,
    /// Octets that follow.
    length: usize,
}

impl Header {
    fn parse(start: [u8; START]) -> Result<Self, ProxyError> {
        let [signature @ .., command, family, high, low] = start;
        if signature != SIGNATURE {
            return Err(ProxyError::Signature);
        }
        if command & 0xf0 != 0x20 {
            return Err(ProxyError::Version(command & 0xf0));
        }
        let header = Self {
            is_clients: match command & 0x0f {
                0 => false,
                1 => true,
                other => return Err(ProxyError::Command(other)),
            },
            family,
            length: usize::from(u16::from_be_bytes([high, low])),
        };
        let addresses = header.addresses()?;
        if header.length < addresses {
            return Err(ProxyError::Addresses(header.length, addresses));
        }
        let options = header.length - addresses;
        if options > MAX_OPTIONS {
            return Err(ProxyError::Options(options));
        }
        Ok(header)
    }

    /// Octets of the two addresses.
    fn addresses(self) -> Result<usize, ProxyError> {
        match self.family {
            _ if !self.is_clients => Ok(0),
            UNSPECIFIED => Ok(0),
            TCP_4 => Ok(12),
            TCP_6 => Ok(36),
            LOCAL_STREAM => Ok(MAX_ADDRESSES),
            other => Err(ProxyError::Family(other)),
        }
    }

    /// The source address comes first; the two ports come behind the addresses.
    fn source(self, rest: &[u8]) -> Result<Source, ProxyError> {
        let short = || ProxyError::Addresses(rest.len(), self.addresses().unwrap_or(0));
        let port = |at: usize| {
            let octets = rest.get(at..at + 2).and_then(|octets| octets.try_into().ok());
            octets.map(u16::from_be_bytes).ok_or_else(short)
        };
        let address = match self.family {
            TCP_4 if self.is_clients => {
                let octets: [u8; 4] = *rest.first_chunk().ok_or_else(short)?;
                (IpAddr::V4(Ipv4Addr::from(octets)), port(8)?)
            }
            TCP_6 if self.is_clients => {
                let octets: [u8; 16] = *rest.first_chunk().ok_or_else(short)?;
                (IpAddr::V6(Ipv6Addr::from(octets)), port(32)?)
            }
            _ => return Ok(Source::Proxy),
        };
        Ok(Source::Client(address.into()))
    }
}

const SIGNATURE: [u8; 12] = *b"\r\n\r\n\0\r\nQUIT\n";
const START: usize = 16;
/// The length for two local sockets.
const MAX_ADDRESSES: usize = 216;
const MAX_OPTIONS: usize = 520;
/// The longest possible header.
pub(crate) const MAX_HEADER: usize = START + MAX_ADDRESSES + MAX_OPTIONS;
const UNSPECIFIED: u8 = 0;
const TCP_4: u8 = 0x11;
const TCP_6: u8 = 0x21;
const LOCAL_STREAM: u8 = 0x31;
/// A proxy sends the header at once.
const MAX_WAIT: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    fn header(command: u8, family: u8, rest: &[u8]) -> Vec<u8> {
        let length = u16::try_from(rest.len()).unwrap().to_be_bytes();
        [&SIGNATURE[..], &[command, family], &length, rest].concat()
    }

    fn read_all(octets: &[u8]) -> (Result<Source, String>, usize) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        let mut input = octets;
        let read = runtime.block_on(read(&mut input)).map_err(|error| error.to_string());
        (read, input.len())
    }

    #[test]
    fn addresses_are_taken_and_options_skipped() {
        let four = [192, 0, 2, 7, 10, 0, 0, 1, 0x12, 0x34, 1, 0x85];
        let expected = Ok(Source::Client("192.0.2.7:4660".parse().unwrap()));
        assert_eq!(read_all(&header(0x21, 0x11, &four)), (expected.clone(), 0));
        let with_options = [&four[..], &[4, 0, 1, 0]].concat();
        let behind = [&header(0x21, 0x11, &with_options)[..], b"0\x0c"].concat();
        assert_eq!(read_all(&behind), (expected, 2));
        let mut six = [0; 36];
        six[..2].copy_from_slice(&[0x20, 1]);
        six[15] = 9;
        six[32..34].copy_from_slice(&[1, 0]);
        let expected = Ok(Source::Client("[2001::9]:256".parse().unwrap()));
        assert_eq!(read_all(&header(0x21, 0x21, &six)).0, expected);
    }

    #[test]
    fn connections_without_an_address_are_the_proxys() {
        for octets in [
            header(0x20, 0, &[]),
            header(0x20, 0x11, &[1; 12]),
            header(0x20, 0xff, &[1; 520]),
            header(0x21, 0, &[9; 30]),
            header(0x21, 0x31, &[b'a'; 216]),
        ] {
            assert_eq!(read_all(&octets), (Ok(Source::Proxy), 0));
        }
    }

    #[test]
    fn what_is_malformed_is_refused() {
        let refused = |octets: &[u8]| read_all(octets).0.unwrap_err();
        assert_eq!(
            refused(b"0\x0c\x02\x01\x01`\x07\x02\x01\x03\x04\0\x80\0aaa"),
            "invalid header signature"
        );
        assert_eq!(
            refused(b"PROXY TCP4 192.0.2.7 10.0.0.1 1 2\r\n"),
            "invalid header signature"
        );
        assert_eq!(refused(&header(0x11, 0x11, &[0; 12])), "invalid header version 10");
        assert_eq!(refused(&header(0x22, 0x11, &[0; 12])), "invalid command 2");
        assert_eq!(refused(&header(0x21, 0x12, &[0; 12])), "unsupported protocol 12");
        assert_eq!(
            refused(&header(0x21, 0x11, &[0; 11])),
            "address length 11 too small, expecting 12"
        );
        assert_eq!(refused(&header(0x21, 0x11, &[0; 12 + 521])), "options size 521 too big");
        assert_eq!(
            refused(&header(0x20, 0, &vec![0; 60_000])),
            "options size 60000 too big"
        );
        assert_eq!(
            refused(&header(0x21, 0x11, &[0; 12])[..20]),
            "header read insufficient data"
        );
        assert_eq!(refused(&[]), "header read insufficient data");
    }

    #[test]
    fn any_octets_are_a_header_or_are_refused() {
        proptest::proptest!(|(rest in proptest::collection::vec(0_u8..=255, 0..64), command in 0_u8..=255, family in 0_u8..=255)| {
            let mut octets = header(command, family, &rest);
            let _ = read_all(&octets);
            octets.truncate(rest.len());
            let _ = read_all(&octets);
        });
    }

    #[test]
    fn networks_are_trusted_by_prefix() {
        let trusted: Vec<Network> = ["10.0.0.0/8", "::1"].iter().map(|text| text.parse().unwrap()).collect();
        let is = |address: &str| is_trusted(&trusted, Some(address.parse().unwrap()));
        assert!(is("10.1.2.3") && is("::1") && !is("11.0.0.1") && !is("::2"));
        assert!(is_trusted(&[], None) && !is_trusted(&trusted, None));
    }
}
