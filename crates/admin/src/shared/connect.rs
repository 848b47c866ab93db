//! Connecting to the server that a URL names.

use std::{path::Path, time::Duration};

use ironbark_client::{Client, Options};
use ironbark_model::ldap_url::{LdapUrl, Scheme};

/// The usual place of slapd's socket.
const DEFAULT_SOCKET: &str = "/var/run/slapd/ldapi";

/// A connection to the server at `url`. `wait` is the longest wait for the connection and for an answer.
pub(crate) async fn connect(url: &str, wait: Duration) -> Result<Client, String> {
    let url = LdapUrl::parse(url).map_err(|error| error.to_string())?;
    let options = Options {
        connect_timeout: wait,
        operation_timeout: wait,
        ..Options::default()
    };
    let client = match url.scheme {
        Scheme::Ldap => {
            let host = if url.host.is_empty() { "127.0.0.1" } else { &url.host };
            let host = if host.contains(':') {
                format!("[{host}]")
            } else {
                host.to_owned()
            };
            let address = format!("{host}:{}", url.effective_port().unwrap_or(389));
            Client::connect_tcp(&address, options).await
        }
        Scheme::Ldapi => {
            let path = if url.host.is_empty() { DEFAULT_SOCKET } else { &url.host };
            Client::connect_unix(Path::new(path), options).await
        }
        Scheme::Ldaps => return Err("only ldap:// and ldapi:// are supported".to_owned()),
    };
    client.map_err(|error| error.to_string())
}
