//! `ironbark health`: an anonymous search of the root DSE, as a monitor would do it.

use std::{path::Path, time::Duration};

use clap::Args;
use ironbark_client::{Client, Options, Search};
use ironbark_ldap_proto::{Filter, Scope};
use ironbark_model::ldap_url::{LdapUrl, Scheme};
use ironbark_runtime::Clock;

/// Options of `ironbark health`.
#[derive(Debug, Args)]
pub(crate) struct Health {
    /// The server: ldap://host:port/ or ldapi://%2Fpath/
    #[arg(short = 'H', long, default_value = "ldap://127.0.0.1/", value_name = "URL")]
    url: String,
    /// Seconds to wait at most
    #[arg(long, default_value_t = 5)]
    timeout: u64,
}

/// Where slapd puts its socket.
const DEFAULT_SOCKET: &str = "/var/run/slapd/ldapi";

impl Health {
    pub(super) fn run(&self) -> Result<(), String> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| error.to_string())?;
        let clock = Clock::system();
        let start = clock.monotonic().nanos();
        let contexts = runtime
            .block_on(self.ask())
            .map_err(|error| format!("{}: {error}", self.url))?;
        let micros = clock.monotonic().nanos().saturating_sub(start) / 1000;
        println!(
            "{}: ok in {micros} us; naming contexts: {}",
            self.url,
            contexts.join("; ")
        );
        Ok(())
    }

    /// The naming contexts of the root DSE.
    async fn ask(&self) -> Result<Vec<String>, String> {
        let url = LdapUrl::parse(&self.url).map_err(|error| error.to_string())?;
        let wait = Duration::from_secs(self.timeout.max(1));
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
        let client = client.map_err(|error| error.to_string())?;
        let filter = Filter::parse(b"(objectClass=*)", 1).map_err(|error| error.to_string())?;
        let search = Search::new("", Scope::BaseObject, filter).with_attributes(&["namingContexts"]);
        let outcome = client
            .search(&search, &[])
            .map_err(|error| error.to_string())?
            .collect()
            .await;
        let outcome = outcome.map_err(|error| error.to_string())?;
        let result = outcome.result.success().map_err(|error| error.to_string());
        result?;
        let entry = outcome.entries.first().ok_or("the root DSE is not readable")?;
        let values = entry.values("namingContexts").iter();
        let contexts = values
            .map(|value| String::from_utf8_lossy(value).into_owned())
            .collect();
        // The answer is here; how the connection ends does not matter.
        let _ = client.unbind().await;
        Ok(contexts)
    }
}
