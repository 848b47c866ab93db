//! Who may connect, and how often: limits by source address, and the proxies that may speak for others.

use core::{fmt, net::IpAddr, str::FromStr};

use crate::{
    GlobalConfig,
    setting::{Handler, Level::Global, OWN, Setting, Statement},
    value::{global_field, parse_u32},
};

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
        // Shifting by all bits is no shift.
        let differing = (own ^ other).checked_shr(length - self.prefix);
        differing.unwrap_or(0) == 0
    }
}

impl FromStr for Network {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("\"{text}\" is neither an address nor a network");
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
    /// Failures from which a source is blocked; from half of them on it is delayed.
    pub count: u32,
    /// Time in which they are counted, and for which the source is blocked.
    pub seconds: u32,
}

pub(super) const ROWS: &[Setting] = &[
    Setting::new(Global, &["connection-limit"], &["olcConnectionLimit"])
        .takes("<n>", "0")
        .does(
            "Limits the connections that are open at the same time from one address, or from one IPv6 network of 64 bits; more are closed \
             at once. 0 is no limit. Behind a proxy that speaks its protocol the address is that of the client. Local sockets are not counted.",
        )
        .since(OWN)
        .like(&["200"])
        .obeyed(global_field!(connection_limit)),
    Setting::new(Global, &["bind-failure-limit"], &["olcBindFailureLimit"])
        .takes("<count>/<seconds>", "")
        .does(
            "Slows down the guessing of passwords. When half of `count` binds from one address, or one IPv6 network of 64 bits, have failed with \
             invalidCredentials within `seconds`, each further one waits for a second; at `count` they are refused with `busy` for `seconds`, \
             right or wrong. The 4,096 addresses that fail most are remembered. Local sockets are not counted.",
        )
        .since(OWN)
        .like(&["20/60"])
        .obeyed(Handler::Global {
            set: set_bind_failure_limit,
            get: |config, _| {
                let limit = config.bind_failure_limit.iter();
                limit.map(|limit| format!("{}/{}", limit.count, limit.seconds)).collect()
            },
        }),
    Setting::new(Global, &["proxy-trusted"], &["olcProxyTrusted"])
        .takes("<address>[/<prefix>] ...", "")
        .does(
            "Names the proxies that listeners `pldap://` and `pldaps://` take connections from; others are closed. Without it everybody \
             may say there where it comes from, as in slapd: then such a listener must be out of reach of all but proxies. May be repeated.",
        )
        .since(OWN)
        .like(&["192.0.2.1", "10.0.0.0/8", "2001:db8::/32"])
        .obeyed(Handler::Global {
            set: |config, statement| {
                for word in statement.some()? {
                    config.proxy_trusted.push(word.parse()?);
                }
                Ok(())
            },
            get: |config, _| config.proxy_trusted.iter().map(Network::to_string).collect(),
        }),
];

fn set_bind_failure_limit(config: &mut GlobalConfig, statement: &Statement<'_>) -> Result<(), String> {
    let text = statement.one()?;
    let parse = |text: &str| parse_u32(text).filter(|&number| number > 0);
    let limit = text.split_once('/').and_then(|(count, seconds)| {
        Some(BindFailureLimit {
            count: parse(count)?,
            seconds: parse(seconds)?,
        })
    });
    config.bind_failure_limit = Some(limit.ok_or_else(|| format!("\"{text}\" is not <count>/<seconds>"))?);
    Ok(())
}

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
