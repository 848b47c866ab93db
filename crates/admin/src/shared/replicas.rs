//! What the commands about replication read of each server.

use ironbark_client::{Client, ConnectSettings, Search, SearchEntry};
use ironbark_config::secret::masked;
use ironbark_ldap_proto::{Filter, Scope};
use ironbark_model::ldap_url::LdapUrl;

use super::{access_options::connect_to, wanted};

/// A connection to the server at `url`, and what the URL says.
///
/// # Errors
/// The message, with the URL.
pub(crate) async fn connect(url: &str, settings: &ConnectSettings) -> Result<(LdapUrl, Client), String> {
    let parsed = wanted::url(url)?;
    let client = connect_to(&parsed, settings).await;
    let client = client.map_err(|error| format!("{}: {error}", masked(url)))?;
    Ok((parsed, client))
}

/// The naming contexts of the root DSE.
///
/// # Errors
/// The message, without the URL.
pub(crate) async fn contexts(client: &Client) -> Result<Vec<String>, String> {
    let root = read_one(client, "", &["namingContexts"]).await?;
    let texts = root.values("namingContexts").iter();
    Ok(texts.map(|text| String::from_utf8_lossy(text).into_owned()).collect())
}

/// One entry.
///
/// # Errors
/// The message, without the URL: it is not there, or cannot be read.
pub(crate) async fn read_one(client: &Client, base: &str, attributes: &[&str]) -> Result<SearchEntry, String> {
    let filter = Filter::Present(b"objectClass".into());
    let search = Search::new(base, Scope::BaseObject, filter).with_attributes(attributes);
    let stream = client.search(&search, &[]).map_err(|error| error.to_string())?;
    let outcome = stream.collect().await.map_err(|error| error.to_string())?;
    outcome.result.success().map_err(|error| error.to_string())?;
    let found = outcome.entries.into_iter().next();
    found.ok_or_else(|| "this identity may not read it".to_owned())
}
