//! `ironbark health`: an anonymous search of the root DSE, as a monitor would do it.

use std::time::Duration;

use clap::Args;
use ironbark_client::Search;
use ironbark_ldap_proto::{Filter, Scope};
use ironbark_runtime::Clock;

use super::connect::connect;

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
        let client = connect(&self.url, Duration::from_secs(self.timeout.max(1))).await?;
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
