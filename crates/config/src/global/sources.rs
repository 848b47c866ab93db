//! Limits of connections by source address, and proxies that may act for other addresses.

use crate::SettingError;
use core::{fmt, net::IpAddr, str::FromStr};
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_hold_what_begins_like_them() {
        let network = |text: &str| text.parse::<Network>().unwrap();
        let holds = |text: &str, address: &str| network(text).holds(address.parse().unwrap());
        assert!(holds("10.1.0.0/16", "10.1.255.9") && !holds("10.1.0.0/16", "10.2.0.0"));
        assert!(holds("0.0.0.0/0", "192.0.2.1") && !holds("0.0.0.0/0", "::1"));
        assert!(
            holds("::/0", "2001:db8::1")
                && holds("2001:db8::/33", "2001:db8:7fff::")
                && !holds("2001:db8::/33", "2001:db8:8000::")
        );
        assert!(holds("192.0.2.1", "192.0.2.1") && !holds("192.0.2.1", "192.0.2.2"));
        for (text, printed) in [
            ("10.0.0.0/8", "10.0.0.0/8"),
            ("10.0.0.1/32", "10.0.0.1"),
            ("::1", "::1"),
        ] {
            assert_eq!(network(text).to_string(), printed);
        }
        for text in ["", "10.0.0.0/33", "::/129", "10.0.0.0/", "host", "10.0.0.0/-1"] {
            assert!(text.parse::<Network>().is_err(), "{text}");
        }
    }
}

/// A network, or one address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Network {
    address: IpAddr,
    /// Leading bits that are compared.
    prefix: u32,
}

impl Network {
    /// Whether an address belongs to it.
    pub fn holds(&self, address: IpAddr) -> bool {
        let (own, other, length) = match (self.address, address) {
            (IpAddr::V4(own), IpAddr::V4(other)) => (u128::from(own.to_bits()), u128::from(other.to_bits()), 32),
            (IpAddr::V6(own), IpAddr::V6(other)) => (own.to_bits(), other.to_bits(), 128),
            _ => return false,
        };
        // A shift by all bits gives `None`: every address belongs to the network.
        let differing = (own ^ other).checked_shr(length - self.prefix);
        differing.unwrap_or(0) == 0
    }
}

impl FromStr for Network {
    type Err = SettingError;

    fn from_str(text: &str) -> Result<Self, SettingError> {
        let wrong = || SettingError::Wrong(format!("\"{text}\" is neither an address nor a network"));
        let (address, prefix) = text
            .split_once('/')
            .map_or((text, None), |(address, prefix)| (address, Some(prefix)));
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let length = if address.is_ipv4() { 32 } else { 128 };
        let prefix = match prefix {
            Some(digits) => digits
                .parse()
                .ok()
                .filter(|&prefix| prefix <= length)
                .ok_or_else(wrong)?,
            None => length,
        };
        Ok(Self { address, prefix })
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let length = if self.address.is_ipv4() { 32 } else { 128 };
        if self.prefix == length {
            write!(f, "{}", self.address)
        } else {
            write!(f, "{}/{}", self.address, self.prefix)
        }
    }
}

/// `bind-failure-limit`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BindFailureLimit {
    /// Number of failures after which a source is blocked. From half of this number on, it is delayed.
    pub count: u32,
    /// Time in which failures are counted, and for which the source is blocked.
    pub seconds: u32,
}
