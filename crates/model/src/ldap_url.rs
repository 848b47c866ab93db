//! LDAP URLs (RFC 4516), with the `ldapi` scheme, the `children` scope and the listener extensions that slapd knows.
//!
//! The same type serves referrals, `-h` lists, memberURL and authz-regexp. The caller decides what a part means.

use std::fmt::{self, Display, Formatter, Write};

use crate::filter::hex_pair;

/// The scheme of an LDAP URL, which names the transport.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum UrlScheme {
    /// LDAP over TCP.
    Ldap,
    /// LDAP over TLS.
    Ldaps,
    /// LDAP over a Unix domain socket; the host part is its percent-encoded path.
    Ldapi,
}

impl UrlScheme {
    /// As written in a URL.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ldap => "ldap",
            Self::Ldaps => "ldaps",
            Self::Ldapi => "ldapi",
        }
    }
    /// 389, 636, or `None` for a socket path.
    pub const fn default_port(self) -> Option<u16> {
        match self {
            Self::Ldap => Some(389),
            Self::Ldaps => Some(636),
            Self::Ldapi => None,
        }
    }
}

/// The scope part.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum UrlScope {
    /// `base`.
    Base,
    /// `one`.
    OneLevel,
    /// `sub`.
    Subtree,
    /// `subordinate`, as OpenLDAP prints it. `subord` and `children` are read too.
    Children,
}

impl UrlScope {
    /// Reads a scope name, any case, long and short forms.
    pub fn from_name(name: &str) -> Option<Self> {
        const NAMES: [(&str, UrlScope); 8] = [
            ("base", UrlScope::Base),
            ("one", UrlScope::OneLevel),
            ("onelevel", UrlScope::OneLevel),
            ("sub", UrlScope::Subtree),
            ("subtree", UrlScope::Subtree),
            ("subord", UrlScope::Children),
            ("subordinate", UrlScope::Children),
            ("children", UrlScope::Children),
        ];
        NAMES
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|&(_, scope)| scope)
    }
    /// The name that is printed.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Base => "base",
            Self::OneLevel => "one",
            Self::Subtree => "sub",
            Self::Children => "subordinate",
        }
    }
}

/// One extension.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Extension {
    /// Whether it was marked with `!`.
    pub critical: bool,
    /// Its type, as written.
    pub name: String,
    /// Its value, decoded.
    pub value: Option<String>,
}

/// A parsed URL. All parts are percent-decoded.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct LdapUrl {
    /// Transport.
    pub scheme: UrlScheme,
    /// Host name or address (IPv6 without brackets); the socket path for `ldapi`; empty when not given.
    pub host: String,
    /// Port, if given.
    pub port: Option<u16>,
    /// DN; empty when not given.
    pub dn: String,
    /// Attributes to return; empty for all.
    pub attributes: Vec<String>,
    /// Scope, if given (RFC 4516: base otherwise).
    pub scope: Option<UrlScope>,
    /// Filter text, if given (RFC 4516: `(objectClass=*)` otherwise).
    pub filter: Option<String>,
    /// Extensions.
    pub extensions: Vec<Extension>,
}

/// Why a text is no LDAP URL.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LdapUrlError {
    /// Neither `ldap`, `ldaps` nor `ldapi` before `://`.
    #[error("not an LDAP URL")]
    BadScheme,
    /// A bad host, bracket or port.
    #[error("bad host or port")]
    BadHost,
    /// An attribute list with an empty member.
    #[error("bad attribute list")]
    BadAttributes,
    /// An unknown scope.
    #[error("bad scope")]
    BadScope,
    /// An empty filter part followed by nothing, or bytes that are no text.
    #[error("bad filter")]
    BadFilter,
    /// An extension without a name.
    #[error("bad extension")]
    BadExtension,
    /// `%` without two hexadecimal digits, or bytes that are not UTF-8.
    #[error("bad percent-encoding")]
    BadEncoding,
    /// More than four `?`.
    #[error("too many parts")]
    TooManyParts,
}

impl LdapUrl {
    /// A URL of which only the transport is set.
    pub fn new(scheme: UrlScheme) -> Self {
        Self {
            scheme,
            host: String::new(),
            port: None,
            dn: String::new(),
            attributes: Vec::new(),
            scope: None,
            filter: None,
            extensions: Vec::new(),
        }
    }
    /// Parses one URL; `URL:` before it and angle brackets round it are taken.
    pub fn parse(text: &str) -> Result<Self, LdapUrlError> {
        let text = text.trim();
        let text = text.strip_prefix('<').and_then(|t| t.strip_suffix('>')).unwrap_or(text);
        let text = match text.get(..4) {
            Some(prefix) if prefix.eq_ignore_ascii_case("url:") => text.get(4..).unwrap_or_default(),
            _ => text,
        };
        let (scheme, rest) = text.split_once("://").ok_or(LdapUrlError::BadScheme)?;
        let scheme = [UrlScheme::Ldap, UrlScheme::Ldaps, UrlScheme::Ldapi]
            .into_iter()
            .find(|known| known.name().eq_ignore_ascii_case(scheme))
            .ok_or(LdapUrlError::BadScheme)?;
        let mut url = Self::new(scheme);
        let host_end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (host, path) = rest.split_at(host_end);
        url.set_host(host)?;
        url.set_path(path.strip_prefix('/').unwrap_or(path))?;
        Ok(url)
    }
    /// Parses a list separated by white space, as `-h` takes it.
    pub fn parse_list(text: &str) -> Result<Vec<Self>, LdapUrlError> {
        text.split_ascii_whitespace().map(Self::parse).collect()
    }
    /// The port in use: the one given, or the scheme's.
    pub fn effective_port(&self) -> Option<u16> {
        self.port.or(self.scheme.default_port())
    }
    /// The extension of this name (any case).
    pub fn extension(&self, name: &str) -> Option<&Extension> {
        self.extensions
            .iter()
            .find(|extension| extension.name.eq_ignore_ascii_case(name))
    }
    /// The permission bits of a listener's `x-mod` extension, in octal (`x-mod=0777`) or as `-rwxrwxrwx`.
    pub fn socket_mode(&self) -> Option<u32> {
        let value = self.extension("x-mod")?.value.as_deref()?;
        if let Ok(mode) = u32::from_str_radix(value, 8) {
            return (mode <= 0o777).then_some(mode);
        }
        let symbols = value.strip_prefix('-').filter(|rest| rest.len() == 9)?;
        symbols
            .bytes()
            .zip(b"rwxrwxrwx")
            .try_fold(0, |mode, (byte, &expected)| match byte {
                b'-' => Some(mode << 1),
                _ if byte == expected => Some(mode << 1 | 1),
                _ => None,
            })
    }

    fn set_host(&mut self, text: &str) -> Result<(), LdapUrlError> {
        if self.scheme == UrlScheme::Ldapi {
            self.host = decode(text)?;
            return Ok(());
        }
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (address, after) = rest.split_once(']').ok_or(LdapUrlError::BadHost)?;
                let port = match after.strip_prefix(':') {
                    Some(port) => Some(port),
                    None if after.is_empty() => None,
                    None => return Err(LdapUrlError::BadHost),
                };
                (address, port)
            }
            None => match text.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (text, None),
            },
        };
        self.host = decode(host)?;
        // No host name or address holds these characters, and the printed URL would be another one. RFC 4516 has no
        // user before an `@`: it may have a password beside it, which errors and logs would print.
        if self
            .host
            .bytes()
            .any(|b| matches!(b, b'[' | b']' | b'/' | b'?' | b'@') || b.is_ascii_whitespace())
        {
            return Err(LdapUrlError::BadHost);
        }
        if let Some(port) = port {
            if port.is_empty() || !port.bytes().all(|b| b.is_ascii_digit()) {
                return Err(LdapUrlError::BadHost);
            }
            self.port = Some(port.parse().map_err(|_| LdapUrlError::BadHost)?);
        }
        Ok(())
    }

    fn set_path(&mut self, text: &str) -> Result<(), LdapUrlError> {
        let mut parts = text.split('?');
        self.dn = decode(parts.next().unwrap_or_default())?;
        if let Some(attributes) = parts.next().filter(|part| !part.is_empty()) {
            for attribute in attributes.split(',') {
                let attribute = decode(attribute)?;
                if attribute.is_empty() {
                    return Err(LdapUrlError::BadAttributes);
                }
                self.attributes.push(attribute);
            }
        }
        if let Some(scope) = parts.next().filter(|part| !part.is_empty()) {
            self.scope = Some(UrlScope::from_name(&decode(scope)?).ok_or(LdapUrlError::BadScope)?);
        }
        if let Some(filter) = parts.next().filter(|part| !part.is_empty()) {
            self.filter = Some(decode(filter)?);
        }
        if let Some(extensions) = parts.next().filter(|part| !part.is_empty()) {
            for extension in extensions.split(',') {
                self.extensions.push(parse_extension(extension)?);
            }
        }
        if parts.next().is_some() {
            Err(LdapUrlError::TooManyParts)
        } else {
            Ok(())
        }
    }
}

fn parse_extension(text: &str) -> Result<Extension, LdapUrlError> {
    let (critical, text) = match text.strip_prefix('!') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, Some(decode(value)?)),
        None => (text, None),
    };
    let name = decode(name)?;
    if name.is_empty() || name.contains(['=', '!']) {
        return Err(LdapUrlError::BadExtension);
    }
    Ok(Extension { critical, name, value })
}

fn decode(text: &str) -> Result<String, LdapUrlError> {
    if !text.contains('%') {
        return Ok(text.to_owned());
    }
    let mut plain = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let (Some(high), Some(low)) = (bytes.next(), bytes.next()) else {
                return Err(LdapUrlError::BadEncoding);
            };
            plain.push(hex_pair(high, low).ok_or(LdapUrlError::BadEncoding)?);
        } else {
            plain.push(byte);
        }
    }
    String::from_utf8(plain).map_err(|_| LdapUrlError::BadEncoding)
}

/// Percent-encodes the characters that RFC 3986 forbids, and `also`.
fn encode(text: &str, also: &[u8], f: &mut Formatter<'_>) -> fmt::Result {
    for byte in text.bytes() {
        let unreserved = byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@/".contains(&byte);
        if unreserved && !also.contains(&byte) {
            f.write_char(char::from(byte))?;
        } else {
            write!(f, "%{byte:02X}")?;
        }
    }
    Ok(())
}

impl Display for LdapUrl {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}://", self.scheme.name())?;
        match self.scheme {
            UrlScheme::Ldapi => encode(&self.host, b"/", f)?,
            _ if self.host.contains(':') => {
                f.write_char('[')?;
                encode(&self.host, b"", f)?;
                f.write_char(']')?;
            }
            _ => encode(&self.host, b"", f)?,
        }
        if let Some(port) = self.port {
            write!(f, ":{port}")?;
        }
        f.write_char('/')?;
        encode(&self.dn, b"", f)?;
        let parts = [
            !self.attributes.is_empty(),
            self.scope.is_some(),
            self.filter.as_ref().is_some_and(|filter| !filter.is_empty()),
            !self.extensions.is_empty(),
        ];
        let last = parts.iter().rposition(|&given| given).map_or(0, |index| index + 1);
        for part in 0..last {
            f.write_char('?')?;
            match part {
                0 => self.write_list(f)?,
                1 => f.write_str(self.scope.map_or("", UrlScope::name))?,
                2 => encode(self.filter.as_deref().unwrap_or_default(), b"", f)?,
                _ => self.write_extensions(f)?,
            }
        }
        Ok(())
    }
}

impl LdapUrl {
    fn write_list(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (index, attribute) in self.attributes.iter().enumerate() {
            if index > 0 {
                f.write_char(',')?;
            }
            encode(attribute, b",", f)?;
        }
        Ok(())
    }
    fn write_extensions(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (index, extension) in self.extensions.iter().enumerate() {
            if index > 0 {
                f.write_char(',')?;
            }
            if extension.critical {
                f.write_char('!')?;
            }
            encode(&extension.name, b",", f)?;
            if let Some(value) = &extension.value {
                f.write_char('=')?;
                encode(value, b",", f)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn rfc_4516_examples_survive_a_round_trip() {
        for text in [
            "ldap:///o=University%20of%20Michigan,c=US",
            "ldap://ldap1.example.net/o=University%20of%20Michigan,c=US",
            "ldap://ldap1.example.net/o=University%20of%20Michigan,c=US?postalAddress",
            "ldap://ldap1.example.net:6666/o=University%20of%20Michigan,c=US??sub?(cn=Babs%20Jensen)",
            "ldap://ldap2.example.com/o=Question%3F,c=US?mail",
            "ldap://ldap3.example.com/o=Babsco,c=US???(four-octet=%5C00%5C00%5C00%5C04)",
            "ldap://ldap.example.com/o=An%20Example%5C2C%20Inc.,c=US",
            "ldap:///??sub??e-bindname=cn=Manager%2Ccn=Foo",
            "ldap:///??sub??!e-bindname=cn=Manager%2Ccn=Foo",
            "ldapi://%2Ftmp%2Fsock/????x-mod=0777",
            "ldaps://[::1]:636/",
            "ldap:///dc=a?cn,sn?subordinate",
        ] {
            assert_eq!(LdapUrl::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn parts_are_decoded() {
        let url = LdapUrl::parse("LDAP://Host:1389/o=a%20b?cn,mail?ONE?(cn=a%3f)?!x=1%2c2,y").unwrap();
        assert_eq!(
            (url.host.as_str(), url.port, url.dn.as_str()),
            ("Host", Some(1389), "o=a b")
        );
        assert_eq!(url.attributes, ["cn", "mail"]);
        assert_eq!(
            (url.scope, url.filter.as_deref()),
            (Some(UrlScope::OneLevel), Some("(cn=a?)"))
        );
        assert_eq!(url.extension("X").unwrap().value.as_deref(), Some("1,2"));
        assert_eq!(url.extension("y").unwrap().value, None);
    }

    #[test]
    fn listener_lists_and_modes() {
        let urls = LdapUrl::parse_list("ldap:// ldaps:/// ldapi://%2Frun%2Fldapi/????x-mod=-rwxrw-r--").unwrap();
        assert_eq!(urls.len(), 3);
        assert_eq!(urls[0].effective_port(), Some(389));
        assert_eq!(
            (urls[2].host.as_str(), urls[2].socket_mode()),
            ("/run/ldapi", Some(0o764))
        );
    }

    #[test]
    fn prefixes_and_brackets_are_taken() {
        assert_eq!(
            LdapUrl::parse("<URL:ldap://a/dc=b>").unwrap().to_string(),
            "ldap://a/dc=b"
        );
    }

    /// RFC 4516 §2.
    #[test]
    fn malformed_urls_are_refused() {
        for (text, error) in [
            ("http://a/", LdapUrlError::BadScheme),
            ("ldap:a", LdapUrlError::BadScheme),
            ("ldap://a:b/", LdapUrlError::BadHost),
            ("ldap://secret@a/", LdapUrlError::BadHost),
            ("ldap://user:secret@a:389/", LdapUrlError::BadHost),
            ("ldap://a:/", LdapUrlError::BadHost),
            ("ldap://a:70000/", LdapUrlError::BadHost),
            ("ldap://[::1/", LdapUrlError::BadHost),
            ("ldap://a/?cn,,sn", LdapUrlError::BadAttributes),
            ("ldap://a/??deep", LdapUrlError::BadScope),
            ("ldap://a/%2", LdapUrlError::BadEncoding),
            ("ldap://a/%ff", LdapUrlError::BadEncoding),
            ("ldap://a/????!", LdapUrlError::BadExtension),
            ("ldap://a/?????", LdapUrlError::TooManyParts),
        ] {
            assert_eq!(LdapUrl::parse(text), Err(error), "{text}");
        }
    }

    proptest! {
        /// RFC 4516 §2.
        #[test]
        fn what_parses_prints_to_an_equal_url(text in "(ldap|ldaps|ldapi)://[a-z%/?2F5:,=! ]{0,40}") {
            if let Ok(url) = LdapUrl::parse(&text) {
                prop_assert_eq!(LdapUrl::parse(&url.to_string()), Ok(url));
            }
        }

        #[test]
        fn any_text_is_answered(text in ".{0,60}") {
            let _ = LdapUrl::parse(&text);
        }
    }
}
