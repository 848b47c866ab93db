//! `ironbark advise`: reads the record of searches from cn=Monitor, and says which indexes would pay.

mod report;

use std::{path::PathBuf, time::Duration};

use clap::Args;
use ironbark_advisor::index::{self, DatabaseStatistics, Index, Kind, SearchStatistics, Term};
use ironbark_client::{Client, Search, SearchEntry};
use ironbark_ldap_proto::{Filter, Scope};

use crate::shared::connect::connect;

/// Options of `ironbark advise`.
#[derive(Debug, Args)]
pub(crate) struct Advise {
    /// The server: ldap://host:port/ or ldapi://%2Fpath/
    #[arg(short = 'H', long, default_value = "ldap://127.0.0.1/", value_name = "URL")]
    url: String,
    /// A name that may read cn=Monitor; anonymous without it
    #[arg(short = 'D', long, value_name = "DN")]
    bind_dn: Option<String>,
    /// The password
    #[arg(short = 'w', long, requires = "bind_dn", conflicts_with = "password_file")]
    password: Option<String>,
    /// A file whose whole content is the password
    #[arg(short = 'y', long, requires = "bind_dn", value_name = "FILE")]
    password_file: Option<PathBuf>,
    /// Average number of entries that a search must read in vain to be worth an index
    #[arg(long, default_value_t = index::THRESHOLD, value_name = "ENTRIES")]
    threshold: u64,
    /// Longest wait for an answer in seconds
    #[arg(long, default_value_t = 10)]
    timeout: u64,
}

/// The entry of the server's record.
const BASE: &str = "cn=Ironbark,cn=Monitor";

impl Advise {
    pub(super) fn run(&self) -> Result<(), String> {
        let password = match &self.password_file {
            Some(path) => std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?,
            None => self.password.clone().unwrap_or_default().into_bytes(),
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| error.to_string())?;
        let entries = runtime
            .block_on(self.read(&password))
            .map_err(|error| format!("{}: {error}", self.url))?;
        let databases = databases(&entries);
        if databases.is_empty() {
            return Err(format!(
                "{}: {BASE} shows no database: configure cn=Monitor (database monitor), and let this user read it",
                self.url
            ));
        }
        let advice = index::advise(&databases, self.threshold);
        print!("{}", report::text(&databases, &advice));
        Ok(())
    }

    async fn read(&self, password: &[u8]) -> Result<Vec<SearchEntry>, String> {
        let client = connect(&self.url, Duration::from_secs(self.timeout.max(1))).await?;
        if let Some(name) = &self.bind_dn {
            let bound = client.simple_bind(name, password, &[]).await;
            let bound = bound.map_err(|error| error.to_string())?;
            bound.success().map_err(|error| format!("{name}: {error}"))?;
        }
        let entries = entries(&client).await?;
        // The answer is complete; errors at the end of the connection do not matter.
        let _ = client.unbind().await;
        Ok(entries)
    }
}

async fn entries(client: &Client) -> Result<Vec<SearchEntry>, String> {
    let filter = Filter::parse(b"(objectClass=*)", 1).map_err(|error| error.to_string())?;
    let search = Search::new(BASE, Scope::WholeSubtree, filter).with_attributes(&["*", "+"]);
    let answer = client.search(&search, &[]).map_err(|error| error.to_string())?;
    let outcome = answer.collect().await.map_err(|error| error.to_string())?;
    outcome.result.success().map_err(|error| format!("{BASE}: {error}"))?;
    Ok(outcome.entries)
}

/// The databases in these entries, with their indexes and searches.
fn databases(entries: &[SearchEntry]) -> Vec<DatabaseStatistics> {
    let number = |entry: &SearchEntry, attribute: &str| -> u64 {
        let text = entry.text(attribute);
        text.and_then(|text| text.parse().ok()).unwrap_or_default()
    };
    let texts = |entry: &SearchEntry, attribute: &str| -> Vec<String> {
        let values = entry.values(attribute).iter();
        values
            .map(|value| String::from_utf8_lossy(value).into_owned())
            .collect()
    };
    let mut databases: Vec<DatabaseStatistics> = Vec::new();
    for entry in entries.iter().filter(|entry| entry.dn.contains("cn=Indexes,")) {
        let Some(suffix) = entry.text("namingContexts") else {
            continue;
        };
        let name = entry.text("cn").unwrap_or_default();
        databases.push(DatabaseStatistics {
            suffix,
            number: name.trim_start_matches("Context ").to_owned(),
            entries: number(entry, "olmMDBEntries"),
            indexes: texts(entry, "ironbarkIndex")
                .iter()
                .filter_map(|text| Index::parse(text))
                .collect(),
            searches: Vec::new(),
        });
    }
    for entry in entries {
        let (Some(filter), Some(suffix)) = (entry.text("ironbarkFilter"), entry.text("namingContexts")) else {
            continue;
        };
        let asked = SearchStatistics {
            filter,
            terms: texts(entry, "ironbarkFilterTerm")
                .iter()
                .filter_map(|text| term(text))
                .collect(),
            searches: number(entry, "ironbarkSearches"),
            candidates: Some(number(entry, "ironbarkCandidates")),
            entries: number(entry, "ironbarkEntries"),
        };
        if let Some(database) = databases.iter_mut().find(|database| database.suffix == suffix) {
            database.searches.push(asked);
        }
    }
    databases
}

/// `sn equality unindexed`.
fn term(text: &str) -> Option<(Term, bool)> {
    let mut words = text.split(' ');
    let (attribute, kind, outcome) = (words.next()?, words.next()?, words.next()?);
    let term = Term {
        attribute: attribute.to_owned(),
        kind: Kind::of_match(kind)?,
    };
    Some((term, outcome == "indexed"))
}
