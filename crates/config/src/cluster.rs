//! `cluster`: a database is one of several copies, which take their changes from a log in etcd.

use std::time::Duration;

use crate::{
    SettingError,
    connection::{ConnectSettings, TlsSettings},
    reader::quote_value,
    secret::Secret,
    statement::Statement,
    value::parse_u32,
    words::quoted_after,
};

/// What all keys of all clusters begin with, unless `prefix` says otherwise.
const PREFIX: &str = "/ironbark";
/// How long a write waits for the log.
const TIMEOUT: Duration = Duration::from_secs(5);
/// A quarter of etcd's usual quota, in bytes.
const ROOM: u64 = 512 << 20;
/// The longest `timeout` and `age`.
const MOST_SECONDS: u32 = 3600;

/// One line `cluster`.
#[derive(Clone, PartialEq, Debug)]
pub struct ClusterConfig {
    /// The members of etcd, as host and port, in the order of preference.
    pub endpoints: Vec<Endpoint>,
    /// `prefix`: what the names of all keys begin with. It ends without a slash.
    pub prefix: String,
    /// `user` and `password` of etcd.
    pub user: Option<(String, Secret)>,
    /// `timeout`: how long a write waits for the log.
    pub timeout: Duration,
    /// `room`, in bytes: when etcd takes more, the older half of the log is deleted.
    pub room: u64,
    /// `age`: reads of a database that may be older are refused. `None`: they are answered.
    pub age: Option<Duration>,
    /// `copy`: host and port at which this server waits for a copy of another server's database. `None`: the address
    /// from which it reaches etcd, and any port.
    pub copy: Option<(String, u16)>,
    /// `tls_cert`, `tls_key`, `tls_cacert` and the like.
    pub tls: TlsSettings,
    /// The line in the form of cn=config, as it was written. It has the password.
    text: Secret,
}

/// A member of etcd.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Endpoint {
    /// Whether it is reached by TLS.
    pub is_secure: bool,
    /// Host name or address.
    pub host: String,
    /// Port.
    pub port: u16,
}

impl std::fmt::Display for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let scheme = if self.is_secure { "https" } else { "http" };
        let (open, close) = if self.host.contains(':') { ("[", "]") } else { ("", "") };
        write!(f, "{scheme}://{open}{}{close}:{}", self.host, self.port)
    }
}

impl ClusterConfig {
    /// Reads a line.
    ///
    /// # Errors
    /// An endpoint or a word is wrong.
    pub fn parse(statement: &Statement<'_>) -> Result<Self, SettingError> {
        Self::of_words(statement.some()?)
    }

    /// Reads the words of a line: the URLs, then options.
    ///
    /// # Errors
    /// An endpoint or a word is wrong.
    pub fn of_words(words: &[String]) -> Result<Self, SettingError> {
        let mut words = words.iter();
        let first = words.next().map(AsRef::as_ref).unwrap_or_default();
        let endpoints = endpoints(first)?;
        let mut line = Self {
            endpoints,
            prefix: PREFIX.to_owned(),
            user: None,
            timeout: TIMEOUT,
            room: ROOM,
            copy: None,
            age: None,
            tls: TlsSettings::default(),
            text: Secret::default(),
        };
        let (mut user, mut password, mut connection) = (None, None, ConnectSettings::default());
        let mut shown = vec![quote_value(first)];
        for word in words {
            let (keyword, value) = word
                .split_once('=')
                // The word may be the rest of a password with a blank.
                .ok_or("a word is not keyword=value; values with blanks need quotation marks")?;
            shown.push(quoted_after(&format!("{keyword}="), value));
            let known = keyword.to_ascii_lowercase();
            match known.as_str() {
                "prefix" => line.prefix = prefix(value)?,
                "user" => user = Some(value.to_owned()),
                "password" => password = Some(Secret(value.as_bytes().to_vec())),
                "room" => line.room = room(value)?,
                "age" => line.age = Some(seconds("age", value)?),
                "copy" => line.copy = Some(copy(value)?),
                "timeout" => line.timeout = seconds("timeout", value)?,
                _ if known.starts_with("tls_") && connection.set(keyword, value)? => {}
                _ => return Err(format!("unable to parse \"{keyword}\"").into()),
            }
        }
        if let Some((keyword, reason)) = connection.unusable {
            return Err(format!("{keyword}: {reason}").into());
        }
        line.tls = connection.tls;
        line.user = match (user, password) {
            (None, None) => None,
            (Some(user), Some(password)) => Some((user, password)),
            _ => return Err("user and password belong together".into()),
        };
        line.text = Secret(shown.join(" ").into_bytes());
        Ok(line)
    }

    /// The line as cn=config shows it.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.text.0).into_owned()
    }
}

/// URLs that are separated by commas.
fn endpoints(text: &str) -> Result<Vec<Endpoint>, SettingError> {
    text.split(',')
        .filter(|url| !url.is_empty())
        .map(endpoint)
        .collect::<Result<Vec<_>, _>>()
        .and_then(|all| {
            if all.is_empty() {
                Err("no member of etcd is named".into())
            } else {
                Ok(all)
            }
        })
}

/// Host and port.
fn copy(value: &str) -> Result<(String, u16), SettingError> {
    place(value).ok_or_else(|| format!("copy: \"{value}\" is not host:port").into())
}

fn endpoint(url: &str) -> Result<Endpoint, SettingError> {
    let wrong = || SettingError::Wrong(format!("\"{url}\" is not http://host:port or https://host:port"));
    let (scheme, at) = url.split_once("://").ok_or_else(wrong)?;
    let is_secure = match scheme {
        "http" => false,
        "https" => true,
        _ => return Err(wrong()),
    };
    let (host, port) = place(at.strip_suffix('/').unwrap_or(at)).ok_or_else(wrong)?;
    Ok(Endpoint { is_secure, host, port })
}

/// `host:port`, `[address]:port`.
fn place(text: &str) -> Option<(String, u16)> {
    let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, rest)) => (address, rest.strip_prefix(':')?),
        None => text.rsplit_once(':')?,
    };
    let is_host =
        !host.is_empty() && !host.contains(['/', '@', '?', '#', ' ']) && (text.starts_with('[') || !host.contains(':'));
    let port = port.parse().ok().filter(|port| *port != 0 && is_host)?;
    Some((host.to_owned(), port))
}

fn prefix(value: &str) -> Result<String, SettingError> {
    let value = value.trim_end_matches('/');
    if value.is_empty() || value.bytes().any(|octet| octet.is_ascii_control()) {
        return Err("prefix: a name such as /ironbark is needed".into());
    }
    Ok(value.to_owned())
}

fn seconds(keyword: &str, value: &str) -> Result<Duration, SettingError> {
    let seconds = parse_u32(value).filter(|seconds| (1..=MOST_SECONDS).contains(seconds));
    let seconds = seconds.ok_or_else(|| format!("{keyword}: \"{value}\" is not 1 to {MOST_SECONDS} seconds"))?;
    Ok(Duration::from_secs(seconds.into()))
}

/// MiB.
fn room(value: &str) -> Result<u64, SettingError> {
    let size = parse_u32(value).filter(|size| *size > 0);
    let size = size.ok_or_else(|| format!("room: \"{value}\" is not a number of MiB"))?;
    Ok(u64::from(size) << 20)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn members_are_urls_with_host_and_port() {
        let all = endpoints("http://a.example:2379,https://[::1]:1,http://10.0.0.1:2379/").unwrap();
        let shown: Vec<_> = all.iter().map(ToString::to_string).collect();
        assert_eq!(
            shown,
            ["http://a.example:2379", "https://[::1]:1", "http://10.0.0.1:2379"]
        );
        for wrong in [
            "",
            ",",
            "a:1",
            "ldap://a:1",
            "http://a",
            "http://:1",
            "http://a:0",
            "http://a:x",
            "http://u@a:1",
            "http://a:1/x",
            "http://::1:1",
        ] {
            assert!(endpoints(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_place_for_copies_has_host_and_port() {
        assert_eq!(copy("[::1]:4000").unwrap(), ("::1".to_owned(), 4000));
        for wrong in ["", "4000", "a:", "a:0", "::1:4000", "http://a:1"] {
            assert!(copy(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_prefix_ends_without_a_slash_and_is_not_empty() {
        assert_eq!(prefix("/x/").unwrap(), "/x");
        assert!(prefix("/").is_err());
        assert!(prefix("a\nb").is_err());
    }

    #[test]
    fn a_write_waits_for_a_second_at_least() {
        assert_eq!(seconds("timeout", "3").unwrap(), Duration::from_secs(3));
        for wrong in ["0", "x", "3601", ""] {
            assert!(seconds("age", wrong).is_err(), "{wrong}");
        }
    }
}
