//! Connecting to the server that a URL names.

use std::time::Duration;

use ironbark_client::{Client, ConnectSettings};
use ironbark_model::ldap_url::{LdapUrl, Scheme};

/// A connection to the server at `url`. `wait` is the longest wait for the connection and for an answer.
pub(crate) async fn connect(url: &str, wait: Duration) -> Result<Client, String> {
    let url = LdapUrl::parse(url).map_err(|error| error.to_string())?;
    if url.scheme == Scheme::Ldaps {
        return Err("only ldap:// and ldapi:// are supported".to_owned());
    }
    let settings = ConnectSettings {
        urls: vec![url],
        connect_timeout: Some(wait),
        operation_timeout: Some(wait),
        ..ConnectSettings::default()
    };
    Client::connect(&settings).await.map_err(|error| error.to_string())
}
