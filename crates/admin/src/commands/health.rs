//! `ironbark health`: an anonymous search of the root DSE, as a monitor would do it, or a check of the files.

use core::net::SocketAddr;
use std::path::Path;

use clap::Args;
use ironbark_config::DatabaseConfig;
use ironbark_directory::open;
use ironbark_runtime::Clock;
use ironbark_store::check::{self, CheckFindings, Extent};

use super::backup::backed_up;
use crate::shared::{
    access_options::ServerOptions,
    chosen::Chosen,
    colour::{bad, good},
    open::open_to_read,
    owner::{self, Use},
    progress::Progress,
    replicas::contexts,
    target::Target,
};

/// Options of `ironbark health`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, mut_arg("timeout", |timeout| timeout.default_value("5")))]
pub(crate) struct Health {
    #[command(flatten)]
    server: ServerOptions,
    /// Ask `/readyz` of the metrics listener at this address instead
    #[arg(
        long,
        value_name = "ADDRESS:PORT",
        num_args = 0..=1,
        default_missing_value = "127.0.0.1:9330",
        conflicts_with_all = ["url", "deep"]
    )]
    ready: Option<SocketAddr>,
    /// Check every page, entry and index row of the files instead; a server may be using them
    #[arg(long, conflicts_with_all = ["url", "timeout"])]
    deep: bool,
    #[command(flatten)]
    target: Target,
}

const EXAMPLES: &str = "Examples:
  ironbark health
  ironbark health -H ldaps://ldap.example.com/ --ca-file ca.crt
  ironbark health --ready
  ironbark health --deep -f directory/slapd.conf";

impl Health {
    pub(super) fn run(&self) -> Result<(), String> {
        if self.deep {
            return self.check_files();
        }
        if let Some(address) = self.ready {
            let wait = self.server.timeout();
            ironbark_server::ask_whether_ready(address, wait).map_err(|error| format!("{address}: {}", bad(error)))?;
            anstream::println!("{address}: {}", good("ready"));
            return Ok(());
        }
        if self.target.is_given() {
            return Err("-f, -F, -n and -b are for --deep".to_owned());
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| error.to_string())?;
        let clock = Clock::system();
        let start = clock.monotonic().nanos();
        let (url, contexts) = runtime.block_on(self.ask())?;
        let micros = clock.monotonic().nanos().saturating_sub(start) / 1000;
        let contexts = contexts.join("; ");
        anstream::println!("{url}: {} in {micros} us; naming contexts: {contexts}", good("ok"));
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

    /// The server's URL, and the naming contexts of its root DSE.
    async fn ask(&self) -> Result<(String, Vec<String>), String> {
        let (url, client) = self.server.connect().await?;
        let contexts = contexts(&client).await.map_err(|error| format!("{url}: {error}"))?;
        // The answer is complete; errors at the end of the connection do not matter.
        let _ = client.unbind().await;
        Ok((url, contexts))
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
    let pages = owner::opening(&[settings], Use::Read, "ironbark", || {
        check::file_in_use(&open::options(settings))
    });
    let pages = pages.map_err(|error| error.to_string())?;
    if !pages.is_empty() {
        return Ok(tell(&file, &pages));
    }
    let Some(database) = open_to_read(settings, chosen)? else {
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
    anstream::println!("{shown}: {} entries, {}{without}", report.entries, good("sound"));
    Ok(true)
}

/// Prints the findings. Returns whether there are none.
fn tell(file: &Path, findings: &CheckFindings) -> bool {
    for text in findings.texts() {
        anstream::eprintln!("{}: {}", file.display(), bad(text));
    }
    let more = findings.count() - findings.texts().len() as u64;
    if more > 0 {
        eprintln!("{}: and {more} more", file.display());
    }
    findings.is_empty()
}
