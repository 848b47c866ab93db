//! `ironbark health`: an anonymous search of the root DSE, as a monitor would do it, or a check of the files.

use core::net::SocketAddr;
use std::{path::Path, time::Duration};

use clap::Args;
use ironbark_client::Search;
use ironbark_config::DatabaseConfig;
use ironbark_directory::open;
use ironbark_ldap_proto::{Filter, Scope};
use ironbark_runtime::Clock;
use ironbark_store::check::{self, Extent, Findings};

use super::backup::backed_up;
use crate::shared::{
    chosen::Chosen,
    connect::connect,
    open::open_to_read,
    owner::{self, Use},
    progress::Progress,
    target::Target,
};

/// Options of `ironbark health`.
#[derive(Debug, Args)]
pub(crate) struct Health {
    /// The server: ldap://host:port/ or ldapi://%2Fpath/
    #[arg(short = 'H', long, default_value = "ldap://127.0.0.1/", value_name = "URL")]
    url: String,
    /// Ask `/readyz` of the metrics listener at this address instead
    #[arg(
        long,
        value_name = "ADDRESS:PORT",
        num_args = 0..=1,
        default_missing_value = "127.0.0.1:9330",
        conflicts_with_all = ["url", "deep"]
    )]
    ready: Option<SocketAddr>,
    /// Longest wait in seconds
    #[arg(long, default_value_t = 5)]
    timeout: u64,
    /// Check every page, entry and index row of the files instead; a server may be using them
    #[arg(long, conflicts_with_all = ["url", "timeout"])]
    deep: bool,
    #[command(flatten)]
    target: Target,
}

impl Health {
    pub(super) fn run(&self) -> Result<(), String> {
        if self.deep {
            return self.check_files();
        }
        if let Some(address) = self.ready {
            let wait = Duration::from_secs(self.timeout.max(1));
            ironbark_server::ask_whether_ready(address, wait).map_err(|error| format!("{address}: {error}"))?;
            println!("{address}: ready");
            return Ok(());
        }
        if self.target.is_given() {
            return Err("-f, -F, -n and -b are for --deep".to_owned());
        }
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

    /// Checks the chosen database, or every database.
    ///
    /// # Errors
    /// An empty message: the findings have been printed.
    fn check_files(&self) -> Result<(), String> {
        let chosen = self.target.choose()?;
        let all = chosen.configuration.databases.iter();
        let databases: Vec<_> = if self.target.number.is_some() || self.target.base.is_some() {
            vec![backed_up(&chosen)?]
        } else {
            all.filter(|settings| settings.kind.has_indexes()).collect()
        };
        let mut sound = true;
        for settings in databases {
            sound &= check_database(settings, &chosen)?;
        }
        if sound { Ok(()) } else { Err(String::new()) }
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
        // The answer is complete; errors at the end of the connection do not matter.
        let _ = client.unbind().await;
        Ok(contexts)
    }
}

/// Checks a database and prints the findings. Returns whether there are none.
fn check_database(settings: &DatabaseConfig, chosen: &Chosen) -> Result<bool, String> {
    let file = settings.directory.join("data.mdb");
    let shown = file.display();
    if std::fs::metadata(&file).is_ok_and(|found| found.len() == 0) {
        println!("{shown}: nothing there yet");
        return Ok(true);
    }
    // LMDB trusts the pages, so they are checked first.
    let pages = owner::opening((&[settings], Use::Read), "ironbark", || {
        check::file_in_use(&open::options(settings))
    });
    let pages = pages.map_err(|error| error.to_string())?;
    if !pages.is_empty() {
        return Ok(tell(&file, &pages));
    }
    let Some(database) = open_to_read(settings, chosen, "ironbark")? else {
        println!("{shown}: nothing there yet");
        return Ok(true);
    };
    let failed = |error: ironbark_store::StoreError| format!("{shown}: {error}");
    let progress = Progress::entries(Some(database.stat().map_err(failed)?.entries));
    let report = database.check(Extent::Everything, &mut |count| progress.set(count));
    let report = report.map_err(failed)?;
    drop(progress);
    if !tell(&file, &report.findings) {
        return Ok(false);
    }
    let lacks = match (report.has_checksums, report.has_hash_key) {
        (true, true) => "",
        (true, false) => "a hash key of its own",
        (false, _) => "checksums and a hash key of its own",
    };
    let without = if lacks.is_empty() {
        String::new()
    } else {
        format!(" (without {lacks}: an older version made it; slapcat and slapadd make a file that has all)")
    };
    println!("{shown}: {} entries, sound{without}", report.entries);
    Ok(true)
}

/// Prints the findings. Returns whether there are none.
fn tell(file: &Path, findings: &Findings) -> bool {
    for text in findings.texts() {
        eprintln!("{}: {text}", file.display());
    }
    let more = findings.count() - findings.texts().len() as u64;
    if more > 0 {
        eprintln!("{}: and {more} more", file.display());
    }
    findings.is_empty()
}
