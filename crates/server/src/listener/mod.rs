//! Listeners: the sockets of the `-h` URLs. All are bound before privileges are given up.

pub(crate) mod host_name;
mod inherited;
pub(crate) mod proxy;
pub mod url;

use std::{
    fs, io,
    net::{SocketAddr, ToSocketAddrs},
    os::unix::fs::{FileTypeExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::Arc,
};

use socket2::{Domain, Protocol, SockAddr, Socket, Type};

pub use self::inherited::Inherited;
use self::url::{ListenAddress, ListenerUrl, UrlError};

/// Which kinds of IP addresses are listened on (`-4`, `-6`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum AddressFamily {
    /// Both.
    #[default]
    Any,
    /// `-4`.
    V4,
    /// `-6`.
    V6,
}

/// One open listening socket.
#[derive(Debug)]
pub struct Listener {
    /// The URL that asked for it.
    pub url: Arc<str>,
    /// `IP=0.0.0.0:389` or `PATH=/run/slapd/ldapi`, as the log and cn=Monitor print it.
    pub name: Arc<str>,
    /// The socket, non-blocking.
    pub socket: Socket,
    /// Path of a local socket.
    pub path: Option<PathBuf>,
    /// The socket was passed to this process. Its file stays at the end.
    pub is_inherited: bool,
    /// Whether connections begin with a TLS handshake.
    pub is_tls: bool,
    /// Whether connections begin with a proxy's header.
    pub is_proxied: bool,
}

/// Why the server cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// A URL is refused.
    #[error("daemon: {0}")]
    Url(#[from] UrlError),
    /// `-h` with an empty list.
    #[error("daemon: no listeners to open")]
    NoUrl,
    /// A host name has no address of the wanted family.
    #[error("daemon: {url}: no address to listen on{}", .source.as_ref().map(|e| format!(": {e}")).unwrap_or_default())]
    NoAddress {
        /// The listener.
        url: String,
        /// The resolver's error.
        source: Option<io::Error>,
    },
    /// No socket of a URL could be bound.
    #[error("daemon: {url}: cannot listen on {address}: {source}")]
    Bind {
        /// The listener.
        url: String,
        /// The address or path.
        address: String,
        /// The system's error.
        source: io::Error,
    },
}

/// The open listeners. Dropping them removes the files of local sockets.
#[derive(Debug, Default)]
pub struct Listeners {
    /// In the order of the URLs.
    pub listeners: Vec<Listener>,
}

impl Listeners {
    /// Binds and listens on every URL, or takes its socket out of `inherited`. As in slapd, a URL with several
    /// addresses is served if one of them can be bound.
    pub fn open(urls: &[ListenerUrl], family: AddressFamily, mut inherited: Inherited) -> Result<Self, ListenError> {
        if urls.is_empty() {
            return Err(ListenError::NoUrl);
        }
        let mut open = Self::default();
        for url in urls {
            match &url.endpoint {
                ListenAddress::Tcp { host, port } => open.open_tcp(url, host.as_deref(), *port, family)?,
                ListenAddress::Local { path } => {
                    let failed = |source| ListenError::Bind {
                        url: url.text.clone(),
                        address: path.display().to_string(),
                        source,
                    };
                    let passed = inherited.at(path);
                    let is_inherited = passed.is_some();
                    let socket = match passed {
                        Some(socket) => socket.set_nonblocking(true).map(|()| socket),
                        None => bind_local(path, url.permissions),
                    };
                    let socket = socket.map_err(failed)?;
                    open.listeners.push(Listener {
                        url: url.text.as_str().into(),
                        name: format!("PATH={}", path.display()).into(),
                        socket,
                        path: Some(path.clone()),
                        is_inherited,
                        is_tls: false,
                        is_proxied: false,
                    });
                }
            }
        }
        inherited.report_unused();
        Ok(open)
    }

    fn open_tcp(
        &mut self,
        url: &ListenerUrl,
        host: Option<&str>,
        port: u16,
        family: AddressFamily,
    ) -> Result<(), ListenError> {
        let mut failure = ListenError::NoAddress {
            url: url.text.clone(),
            source: None,
        };
        let before = self.listeners.len();
        let addresses = resolve(host, port).map_err(|source| ListenError::NoAddress {
            url: url.text.clone(),
            source: Some(source),
        })?;
        for address in addresses.into_iter().filter(|address| family.admits(address)) {
            match bind_tcp(address).and_then(|socket| Ok((local_name(&socket)?, socket))) {
                Ok((name, socket)) => {
                    self.listeners.push(Listener {
                        url: url.text.as_str().into(),
                        name,
                        socket,
                        path: None,
                        is_inherited: false,
                        is_tls: url.is_tls,
                        is_proxied: url.is_proxied,
                    });
                }
                Err(source) => {
                    tracing::warn!(target: "any", "daemon: bind({address}) failed: {source}");
                    failure = ListenError::Bind {
                        url: url.text.clone(),
                        address: address.to_string(),
                        source,
                    };
                }
            }
        }
        if self.listeners.len() == before {
            Err(failure)
        } else {
            Ok(())
        }
    }
}

impl Drop for Listeners {
    fn drop(&mut self) {
        let own = self.listeners.iter().filter(|listener| !listener.is_inherited);
        for path in own.filter_map(|listener| listener.path.as_deref()) {
            // No harm is done if it has been removed already.
            let _ = fs::remove_file(path);
        }
    }
}

impl AddressFamily {
    fn admits(self, address: &SocketAddr) -> bool {
        match self {
            Self::Any => true,
            Self::V4 => address.is_ipv4(),
            Self::V6 => address.is_ipv6(),
        }
    }
}

/// `IP=127.0.0.1:389` or `IP=[::1]:389`, as slapd writes addresses.
pub(crate) fn address_name(address: SocketAddr) -> String {
    format!("IP={address}")
}

/// slapd's value.
const BACKLOG: i32 = 2048;

fn resolve(host: Option<&str>, port: u16) -> io::Result<Vec<SocketAddr>> {
    let Some(host) = host else {
        return Ok(vec![
            (std::net::Ipv4Addr::UNSPECIFIED, port).into(),
            (std::net::Ipv6Addr::UNSPECIFIED, port).into(),
        ]);
    };
    let mut addresses = Vec::new();
    for address in (host, port).to_socket_addrs()? {
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    Ok(addresses)
}

fn bind_tcp(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket)
}

fn local_name(socket: &Socket) -> io::Result<Arc<str>> {
    let address = socket
        .local_addr()?
        .as_socket()
        .ok_or(io::ErrorKind::AddrNotAvailable)?;
    Ok(address_name(address).into())
}

fn bind_local(path: &Path, permissions: u32) -> io::Result<Socket> {
    // A killed server may have left a socket behind. Any other kind of file is not ours to remove.
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.file_type().is_socket() => fs::remove_file(path)?,
        Ok(_) => {
            return Err(io::Error::new(
                io::ErrorKind::AlreadyExists,
                "a file that is not a socket is in the way",
            ));
        }
        Err(_) => {}
    }
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.set_nonblocking(true)?;
    socket.bind(&SockAddr::unix(path)?)?;
    // Set before `listen`, so that no client connects while the permissions still come from the umask.
    fs::set_permissions(path, fs::Permissions::from_mode(permissions))?;
    socket.listen(BACKLOG)?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(text: &str) -> Result<Listeners, ListenError> {
        Listeners::open(
            &ListenerUrl::parse_list(Some(text)).unwrap(),
            AddressFamily::Any,
            Inherited::default(),
        )
    }

    #[test]
    fn the_name_shows_the_port_that_the_system_chose() {
        let open = open("ldap://127.0.0.1:0/").unwrap();
        let name = &open.listeners[0].name;
        assert!(name.starts_with("IP=127.0.0.1:") && !name.ends_with(":0"), "{name}");
    }

    #[test]
    fn ipv6_names_have_brackets() {
        let address: SocketAddr = "[::1]:389".parse().unwrap();
        assert_eq!(address_name(address), "IP=[::1]:389");
    }

    #[test]
    fn families_can_be_chosen() {
        let urls = ListenerUrl::parse_list(Some("ldap://127.0.0.1:0/")).unwrap();
        assert!(matches!(
            Listeners::open(&urls, AddressFamily::V6, Inherited::default()),
            Err(ListenError::NoAddress { .. })
        ));
    }

    #[test]
    fn a_port_in_use_is_refused() {
        let first = open("ldap://127.0.0.1:0/").unwrap();
        let url = first.listeners[0].name.replace("IP=", "ldap://");
        assert!(matches!(open(&url), Err(ListenError::Bind { .. })));
    }

    #[test]
    fn stale_sockets_are_replaced_and_removed_at_the_end_but_files_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ldapi");
        let url = format!(
            "ldapi://{}/????x-mod=0700",
            path.display().to_string().replace('/', "%2F")
        );
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        let listeners = open(&url).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(&*listeners.listeners[0].name, format!("PATH={}", path.display()));
        drop(listeners);
        assert!(!path.exists());
        fs::write(&path, "precious").unwrap();
        assert!(open(&url).is_err());
        assert_eq!(fs::read(&path).unwrap(), b"precious");
    }
}
