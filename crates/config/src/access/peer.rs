//! `peername`, `sockname`, `sockurl`, `domain`: the two ends of a connection.

use crate::SettingError;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{
    template::{RegexTemplate, Template},
    words::Styled,
};

/// How a property of the connection is compared.
#[derive(Clone, PartialEq, Debug)]
pub enum TextPattern {
    /// `*`: any text.
    Anything,
    /// Equal but for case.
    Exact(String),
    /// Equal but for case, after submatches are inserted.
    Expanded(Template),
    /// A match.
    Regex(RegexTemplate),
}

/// The source of a connection.
#[derive(Clone, PartialEq, Debug)]
pub enum PeerPattern {
    /// `IP=...` or `PATH=...` as a whole.
    Text(TextPattern),
    /// `ip` and `ipv6`.
    Address(AddressPattern),
    /// `path`: the path of a socket, compared exactly.
    Path(String),
}

/// An address with a mask, and a port.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AddressPattern {
    /// As it was written.
    pub text: String,
    /// The client's address after applying the mask.
    pub address: IpAddr,
    /// Of the same kind.
    pub mask: IpAddr,
    /// Port of the client; `None`: any.
    pub port: Option<u16>,
}

impl AddressPattern {
    /// Whether it holds a client's address.
    pub fn holds(&self, address: IpAddr, port: u16) -> bool {
        let is_inside = match (address, self.mask, self.address) {
            (IpAddr::V4(address), IpAddr::V4(mask), IpAddr::V4(wanted)) => {
                Ipv4Addr::from_bits(address.to_bits() & mask.to_bits()) == wanted
            }
            (IpAddr::V6(address), IpAddr::V6(mask), IpAddr::V6(wanted)) => {
                Ipv6Addr::from_bits(address.to_bits() & mask.to_bits()) == wanted
            }
            _ => false,
        };
        is_inside && self.port.is_none_or(|wanted| wanted == port)
    }

    /// `<address>[%<mask>][{<port>}]`.
    fn parse(text: &str, is_v6: bool) -> Result<Self, SettingError> {
        let (rest, port) = text
            .split_once('{')
            .map_or((text, None), |(rest, port)| (rest, Some(port)));
        let (address, mask) = rest
            .split_once('%')
            .map_or((rest, None), |(address, mask)| (address, Some(mask)));
        let parse = |text: &str| -> Option<IpAddr> {
            if is_v6 {
                text.parse().ok().map(IpAddr::V6)
            } else {
                text.parse().ok().map(IpAddr::V4)
            }
        };
        let all = if is_v6 {
            IpAddr::V6(Ipv6Addr::from_bits(u128::MAX))
        } else {
            IpAddr::V4(Ipv4Addr::BROADCAST)
        };
        let port = port.map(|port| {
            let digits = port.strip_suffix('}').and_then(|digits| digits.parse().ok());
            digits.ok_or_else(|| format!("illegal peername port specification \"{{{port}\""))
        });
        Ok(Self {
            text: text.to_owned(),
            address: parse(address).ok_or_else(|| format!("illegal peername address \"{address}\""))?,
            mask: match mask {
                None => all,
                Some(mask) => parse(mask).ok_or_else(|| format!("illegal peername address mask \"{mask}\""))?,
            },
            port: port.transpose()?,
        })
    }
}

impl TextPattern {
    /// With one of the styles `exact`, `expand` and `regex`.
    pub(super) fn parse(styled: &Styled<'_>) -> Result<Self, SettingError> {
        let value = styled.some_value()?;
        let style = styled.style.as_deref().unwrap_or("exact");
        let pattern = match style {
            "" | "exact" | "base" | "baseobject" | "expand" | "regex" if value == "*" => Self::Anything,
            "" | "exact" | "base" | "baseobject" => Self::Exact(value.to_owned()),
            "expand" => Self::Expanded(Template::parse(value)),
            "regex" => Self::Regex(RegexTemplate::parse(value)?),
            _ => return Err(styled.inappropriate()),
        };
        Ok(pattern)
    }

    /// The style's name, as slapd prints it, and the pattern.
    pub(super) fn words(&self) -> (&'static str, &str) {
        match self {
            Self::Anything => ("exact", "*"),
            Self::Exact(text) => ("exact", text),
            Self::Expanded(template) => ("expand", template.as_str()),
            Self::Regex(regex) => ("regex", regex.as_str()),
        }
    }
}

impl PeerPattern {
    pub(super) fn parse(styled: &Styled<'_>) -> Result<Self, SettingError> {
        let value = styled.some_value()?;
        Ok(match styled.style.as_deref() {
            Some("ip") => Self::Address(AddressPattern::parse(value, false)?),
            Some("ipv6") => Self::Address(AddressPattern::parse(value, true)?),
            Some("path") => Self::Path(value.to_owned()),
            _ => Self::Text(TextPattern::parse(styled)?),
        })
    }

    pub(super) fn words(&self) -> (&'static str, &str) {
        match self {
            Self::Text(pattern) => pattern.words(),
            Self::Address(pattern) if pattern.address.is_ipv4() => ("ip", &pattern.text),
            Self::Address(pattern) => ("ipv6", &pattern.text),
            Self::Path(path) => ("path", path),
        }
    }
}
