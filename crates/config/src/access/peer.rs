//! `peername`, `sockname`, `sockurl`, `domain`: the two ends of a connection.

use crate::{SettingError, statement::Statement};
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

    /// `<address>[%<mask>][{<port>}]`. As slapd reads it, what is no IPv4 address is 255.255.255.255: as an address it
    /// is no client's, and as a mask it is that of one client.
    fn parse(statement: &Statement<'_>, text: &str, is_v6: bool) -> Result<Self, SettingError> {
        let (rest, port) = text
            .split_once('{')
            .map_or((text, None), |(rest, port)| (rest, Some(port)));
        let (address, mask) = rest
            .split_once('%')
            .map_or((rest, None), |(address, mask)| (address, Some(mask)));
        let parse = |what: &str, text: &str| -> Result<IpAddr, SettingError> {
            if is_v6 {
                let address = text.parse().map(IpAddr::V6);
                return address.map_err(|_| format!("illegal peername {what} \"{text}\"").into());
            }
            Ok(IpAddr::V4(ipv4(text).unwrap_or_else(|| {
                statement.notice(format!(
                    "peername {what} \"{text}\" is no IPv4 address, and stands for 255.255.255.255; a network is \
                     written as 192.0.2.0%255.255.255.0"
                ));
                Ipv4Addr::BROADCAST
            })))
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
            address: parse("address", address)?,
            mask: mask.map_or(Ok(all), |mask| parse("address mask", mask))?,
            port: port.transpose()?,
        })
    }
}

/// An IPv4 address in the forms of inet_addr: one to four numbers, the last of which fills what is left; in octal after
/// `0`, in hexadecimal after `0x`.
fn ipv4(text: &str) -> Option<Ipv4Addr> {
    let number = |digits: &str| match digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
        Some(digits) => parse_digits(digits, 16),
        None if digits.len() > 1 && digits.starts_with('0') => parse_digits(digits, 8),
        None => parse_digits(digits, 10),
    };
    let mut parts = text.split('.').rev();
    let mut bits = number(parts.next()?)?;
    let above: Vec<u32> = parts.map(number).collect::<Option<_>>()?;
    let room = 32_u32
        .checked_sub(8 * u32::try_from(above.len()).ok()?)
        .filter(|room| *room > 0)?;
    if room < 32 && bits >> room != 0 {
        return None;
    }
    for (part, shift) in above.into_iter().zip((room..32).step_by(8)) {
        bits |= u32::from(u8::try_from(part).ok()?) << shift;
    }
    Some(Ipv4Addr::from_bits(bits))
}

/// Digits alone: no sign.
fn parse_digits(digits: &str, radix: u32) -> Option<u32> {
    let is_number = digits.chars().all(|digit| digit.is_digit(radix));
    is_number.then(|| u32::from_str_radix(digits, radix).ok()).flatten()
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
    pub(super) fn parse(statement: &Statement<'_>, styled: &Styled<'_>) -> Result<Self, SettingError> {
        let value = styled.some_value()?;
        Ok(match styled.style.as_deref() {
            Some("ip") => Self::Address(AddressPattern::parse(statement, value, false)?),
            Some("ipv6") => Self::Address(AddressPattern::parse(statement, value, true)?),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_the_forms_of_inet_addr() {
        for (text, address) in [
            ("127.0.0.1", Some([127, 0, 0, 1])),
            ("10.1", Some([10, 0, 0, 1])),
            ("10.1.258", Some([10, 1, 1, 2])),
            ("10", Some([0, 0, 0, 10])),
            ("0x7f000001", Some([127, 0, 0, 1])),
            ("010.0.0.0x1F", Some([8, 0, 0, 31])),
            ("255.255.255.255", Some([255; 4])),
            ("127.0.0.1/8", None),
            ("300.1.1.1", None),
            ("1.1.1.256", None),
            ("1.1.65536", None),
            ("1.16777216", None),
            ("4294967296", None),
            ("1.2.3.4.5", None),
            ("1..2", None),
            ("+1.2.3.4", None),
            ("09.1.1.1", None),
            ("localhost", None),
            ("", None),
        ] {
            assert_eq!(ipv4(text).map(|address| address.octets()), address, "{text}");
        }
    }
}
