//! The URLs of `-h`: `ldap://host:port/`, `ldapi://%2Fpath/????x-mod=0770`.

use std::path::PathBuf;

use ironbark_config::secret::masked;

/// Where a listener listens.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ListenAddress {
    /// TCP. No host means every address of the machine.
    Tcp {
        /// Name, IPv4 or IPv6 address (without brackets).
        host: Option<String>,
        /// Port; 0 lets the system choose.
        port: u16,
    },
    /// A socket in the file system.
    Local {
        /// Its path.
        path: PathBuf,
    },
}

/// A parsed listener URL.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ListenerUrl {
    /// As it was given.
    pub text: String,
    /// Where to listen.
    pub endpoint: ListenAddress,
    /// `x-mod`: file permissions of a local socket. slapd's default is 0777.
    pub permissions: u32,
    /// `ldaps://`: connections begin with a TLS handshake.
    pub is_tls: bool,
    /// `pldap://`, `pldaps://`: connections begin with a proxy's header.
    pub is_proxied: bool,
}

/// Why a URL of `-h` is refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum UrlError {
    /// Not `scheme://...` with a scheme of LDAP.
    #[error("listen URL \"{}\" parse error: the scheme must be ldap://, ldaps://, ldapi://, pldap:// or pldaps://", masked(.0))]
    Scheme(String),
    /// A bad escape, host, port or path.
    #[error("listen URL \"{}\" parse error: {}", masked(.0), .1)]
    Malformed(String, &'static str),
}

impl ListenerUrl {
    /// Parses one URL.
    pub fn parse(text: &str) -> Result<Self, UrlError> {
        let malformed = |why| UrlError::Malformed(text.to_owned(), why);
        let (scheme, rest) = text
            .split_once("://")
            .ok_or_else(|| UrlError::Scheme(text.to_owned()))?;
        let (local, is_tls, is_proxied) = match scheme.to_ascii_lowercase().as_str() {
            "ldap" => (false, false, false),
            "ldaps" => (false, true, false),
            "ldapi" => (true, false, false),
            "pldap" => (false, false, true),
            "pldaps" => (false, true, true),
            _ => return Err(UrlError::Scheme(text.to_owned())),
        };
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, tail) = rest.split_at(end);
        let mut parts = tail.strip_prefix('/').unwrap_or(tail).split('?');
        if parts.next().is_some_and(|dn| !dn.is_empty()) {
            return Err(malformed("a listener has no DN"));
        }
        let permissions = parts
            .nth(3)
            .map_or(Ok(None), permissions)
            .map_err(malformed)?
            .unwrap_or(DEFAULT_PERMISSIONS);
        let endpoint = if local {
            local_endpoint(authority)
        } else {
            tcp_endpoint(authority, if is_tls { DEFAULT_TLS_PORT } else { DEFAULT_PORT })
        }
        .map_err(malformed)?;
        Ok(Self {
            text: text.to_owned(),
            endpoint,
            permissions,
            is_tls,
            is_proxied,
        })
    }

    /// Parses the list of URLs of `-h`, which are separated by spaces; `None` is slapd's default, `ldap:///`.
    pub fn parse_list(text: Option<&str>) -> Result<Vec<Self>, UrlError> {
        text.unwrap_or("ldap:///")
            .split_ascii_whitespace()
            .map(Self::parse)
            .collect()
    }
}

/// Where Debian's slapd listens for `ldapi:///`.
pub const DEFAULT_LOCAL_PATH: &str = "/var/run/slapd/ldapi";

const DEFAULT_PERMISSIONS: u32 = 0o777;
const DEFAULT_PORT: u16 = 389;
const DEFAULT_TLS_PORT: u16 = 636;

fn local_endpoint(authority: &str) -> Result<ListenAddress, &'static str> {
    let path = percent_decode(authority)?;
    let path = if path.is_empty() {
        DEFAULT_LOCAL_PATH.to_owned()
    } else {
        path
    };
    // sockaddr_un holds 108 bytes with the final zero.
    if path.len() > 107 {
        return Err("domain socket path too long");
    }
    Ok(ListenAddress::Local {
        path: PathBuf::from(path),
    })
}

fn tcp_endpoint(authority: &str, default_port: u16) -> Result<ListenAddress, &'static str> {
    let (host, port) = if let Some(rest) = authority.strip_prefix('[') {
        let (host, after) = rest.split_once(']').ok_or("an IPv6 address ends with a bracket")?;
        (host.to_owned(), after)
    } else {
        let colon = authority.find(':').unwrap_or(authority.len());
        let (host, after) = authority.split_at(colon);
        (percent_decode(host)?, after)
    };
    let port = match port.strip_prefix(':') {
        Some("") => default_port,
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            digits.parse().map_err(|_| "port out of range")?
        }
        Some(_) => return Err("the port must be a number"),
        None if port.is_empty() => default_port,
        None => return Err("characters after the host"),
    };
    let host = (!host.is_empty() && host != "*").then_some(host);
    Ok(ListenAddress::Tcp { host, port })
}

/// The permissions in the extensions of a URL: `x-mod=0770`, `x-mod=770` or `x-mod=-rwxrwx---`.
fn permissions(extensions: &str) -> Result<Option<u32>, &'static str> {
    let mut permissions = None;
    for extension in extensions.split(',').filter(|extension| !extension.is_empty()) {
        let extension = extension.strip_prefix('!').unwrap_or(extension);
        let (name, value) = extension.split_once('=').ok_or("unknown URL extension")?;
        if !name.eq_ignore_ascii_case("x-mod") {
            return Err("unknown URL extension");
        }
        let mode = mode(&percent_decode(value)?).ok_or("x-mod must be octal digits or of the form -rwxrwxrwx")?;
        permissions = Some(mode);
    }
    Ok(permissions)
}

fn mode(text: &str) -> Option<u32> {
    let octal = match text.len() {
        3 => text,
        4 => text.strip_prefix('0')?,
        10 => {
            return text
                .bytes()
                .zip(*b"-rwxrwxrwx")
                .skip(1)
                .try_fold(0, |mode, (byte, letter)| match byte {
                    b'-' => Some(mode << 1),
                    byte if byte == letter => Some(mode << 1 | 1),
                    _ => None,
                });
        }
        _ => return None,
    };
    octal
        .bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| u32::from_str_radix(octal, 8).ok())
        .flatten()
}

fn percent_decode(text: &str) -> Result<String, &'static str> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let mut digit = || bytes.next().and_then(|digit| char::from(digit).to_digit(16));
            let (high, low) = digit()
                .zip(digit())
                .ok_or("a percent sign needs two hexadecimal digits")?;
            decoded.push(u8::try_from(high * 16 + low).map_err(|_| "escape out of range")?);
        } else {
            decoded.push(byte);
        }
    }
    if decoded.contains(&0) {
        return Err("a zero byte");
    }
    String::from_utf8(decoded).map_err(|_| "not UTF-8")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tcp(text: &str) -> (Option<String>, u16) {
        match ListenerUrl::parse(text).unwrap().endpoint {
            ListenAddress::Tcp { host, port } => (host, port),
            ListenAddress::Local { .. } => panic!("{text} is TCP"),
        }
    }

    #[test]
    fn tcp_urls_have_defaults() {
        assert_eq!(tcp("ldap:///"), (None, 389));
        assert_eq!(tcp("ldap://"), (None, 389));
        assert_eq!(tcp("ldap://*:390"), (None, 390));
        assert_eq!(tcp("LDAP://127.0.0.1:9011/"), (Some("127.0.0.1".to_owned()), 9011));
        assert_eq!(tcp("ldap://[::1]:0/"), (Some("::1".to_owned()), 0));
        assert_eq!(tcp("ldap://[::1]"), (Some("::1".to_owned()), 389));
    }

    #[test]
    fn tls_has_a_port_of_its_own() {
        assert_eq!(tcp("ldaps:///"), (None, 636));
        assert_eq!(tcp("ldaps://[::1]:1636/"), (Some("::1".to_owned()), 1636));
        assert!(ListenerUrl::parse("LDAPS://").unwrap().is_tls);
        assert!(!ListenerUrl::parse("ldap://").unwrap().is_tls);
        assert_eq!(tcp("pldap://"), (None, 389));
        assert_eq!(tcp("PLDAPS://h"), (Some("h".to_owned()), 636));
        let of = |text| ListenerUrl::parse(text).map(|url| (url.is_tls, url.is_proxied));
        assert_eq!(of("pldap://"), Ok((false, true)));
        assert_eq!(of("pldaps://"), Ok((true, true)));
        assert_eq!(of("ldaps://"), Ok((true, false)));
    }

    #[test]
    fn local_urls_have_paths_and_permissions() {
        let url = ListenerUrl::parse("ldapi://%2Ftmp%2Fa%20b/????x-mod=0770").unwrap();
        assert_eq!(
            url.endpoint,
            ListenAddress::Local {
                path: "/tmp/a b".into()
            }
        );
        assert_eq!(url.permissions, 0o770);
        let url = ListenerUrl::parse("ldapi:///").unwrap();
        assert_eq!(
            url.endpoint,
            ListenAddress::Local {
                path: DEFAULT_LOCAL_PATH.into()
            }
        );
        assert_eq!(url.permissions, 0o777);
        assert_eq!(
            ListenerUrl::parse("ldapi:///????!x-mod=-rwxr-x--x")
                .unwrap()
                .permissions,
            0o751
        );
    }

    #[test]
    fn bad_urls_are_refused() {
        let refused = |text| ListenerUrl::parse(text).unwrap_err();
        assert!(matches!(refused("foo://x"), UrlError::Scheme(_)));
        assert!(matches!(refused("localhost:389"), UrlError::Scheme(_)));
        for text in [
            "ldap://h:x/",
            "ldap://h:70000/",
            "ldap://[::1",
            "ldap:///dc=x",
            "ldapi://%2/",
            "ldapi://%00/",
        ] {
            assert!(matches!(refused(text), UrlError::Malformed(..)), "{text}");
        }
        assert!(matches!(refused("ldapi:///????x-mod=999"), UrlError::Malformed(..)));
        assert!(matches!(refused("ldapi:///????x-foo=1"), UrlError::Malformed(..)));
        let long = format!("ldapi://{}/", "a".repeat(108));
        assert!(matches!(refused(&long), UrlError::Malformed(..)));
    }

    #[test]
    fn lists_are_split_at_spaces() {
        let urls = ListenerUrl::parse_list(Some(" ldap://127.0.0.1:1/  ldapi://%2Fx ")).unwrap();
        assert_eq!(urls.len(), 2);
        assert_eq!(ListenerUrl::parse_list(None).unwrap().len(), 1);
    }
}
