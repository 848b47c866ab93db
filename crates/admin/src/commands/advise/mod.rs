//! `ironbark advise`: reads the record of searches from cn=Monitor, and says which indexes would pay.

mod report;

use clap::Args;
use ironbark_advisor::index::{self, DatabaseStatistics, Index, IndexType, SearchStatistics, Term};
use ironbark_client::{Client, Search, SearchEntry};
use ironbark_ldap_proto::{Filter, ResultCode, Scope};

use crate::shared::access_options::ServerOptions;

/// Options of `ironbark advise`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Advise {
    #[command(flatten)]
    server: ServerOptions,
    /// Average number of entries that a search must read in vain to be worth an index
    #[arg(long, default_value_t = index::THRESHOLD, value_name = "ENTRIES")]
    threshold: u64,
}

const EXAMPLES: &str = "Examples:
  ironbark advise -ZZ --ca-file directory/tls/ca.crt -D cn=admin,o=Example -W
  ironbark advise -H ldapi:/// -Y EXTERNAL";

/// The entry of the server's record.
const BASE: &str = "cn=Ironbark,cn=Monitor";

impl Advise {
    pub(super) fn run(&self) -> Result<(), String> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| error.to_string())?;
        let (url, entries) = runtime.block_on(self.read())?;
        let databases = databases(&entries);
        if databases.is_empty() {
            return Err(format!("{url}: {NOTHING}"));
        }
        let advice = index::advise(&databases, self.threshold);
        print!("{}", report::text(&databases, &advice));
        Ok(())
    }

    async fn read(&self) -> Result<(String, Vec<SearchEntry>), String> {
        let (url, client) = self.server.connect().await?;
        let entries = entries(&client).await.map_err(|error| format!("{url}: {error}"))?;
        // The answer is complete; errors at the end of the connection do not matter.
        let _ = client.unbind().await;
        Ok((url, entries))
    }
}

/// What is to be done if nothing is shown.
const NOTHING: &str = "cn=Ironbark,cn=Monitor shows no database to this identity: the server needs `database monitor`, \
     with an access rule that lets this identity read it";

async fn entries(client: &Client) -> Result<Vec<SearchEntry>, String> {
    let filter = Filter::parse(b"(objectClass=*)", 1).map_err(|error| error.to_string())?;
    let search = Search::new(BASE, Scope::WholeSubtree, filter).with_attributes(&["*", "+"]);
    let answer = client.search(&search, &[]).map_err(|error| error.to_string())?;
    let outcome = answer.collect().await.map_err(|error| error.to_string())?;
    match outcome.result.code {
        // As access rules hide it, too.
        ResultCode::NO_SUCH_OBJECT | ResultCode::INSUFFICIENT_ACCESS_RIGHTS => return Ok(Vec::new()),
        _ => outcome.result.success().map_err(|error| format!("{BASE}: {error}"))?,
    };
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
        kind: IndexType::of_match(kind)?,
    };
    Some((term, outcome == "indexed"))
}
