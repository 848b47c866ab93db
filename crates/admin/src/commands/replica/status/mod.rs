//! `ironbark replica status`: the naming contexts of servers, their consumers, and who follows them, from `contextCSN`
//! and cn=Monitor.

mod lag;
mod notes;
mod peer;
mod table;

use std::{
    collections::BTreeMap,
    io::{self, IsTerminal as _, Write as _},
    time::Duration,
};

use futures_util::future::join_all;
use ironbark_client::{Client, ConnectSettings, Search, SearchEntry};
use ironbark_ldap_proto::{Filter, ResultCode, Scope};
use ironbark_store::{ContextVector, Csn};

use self::{lag::is_well, notes::notes, table::table};
use crate::shared::replicas::{connect, contexts, read_one};

/// What one server says.
struct Server {
    url: String,
    state: Result<State, String>,
}

struct State {
    /// Context vectors of the naming contexts that have one.
    vectors: Vec<(String, ContextVector)>,
    /// Entries of consumers, each with its naming context.
    consumers: Vec<(String, SearchEntry)>,
    /// Entries of those that follow this server.
    sessions: Vec<SearchEntry>,
    /// Whether cn=Monitor can be read.
    has_monitor: bool,
}

/// Shows the table, once or again and again. Once, the text of an error is empty if something is wrong; `max_lag` says
/// from which lag on it is.
pub(super) async fn run(
    urls: &[String],
    settings: &ConnectSettings,
    watch: Option<Duration>,
    max_lag: Option<Duration>,
) -> Result<(), String> {
    let is_terminal = io::stdout().is_terminal();
    loop {
        // All at once: the time of one that does not answer is not added to that of the others.
        let states = join_all(urls.iter().map(|url| ask(url, settings))).await;
        let servers: Vec<Server> = urls
            .iter()
            .zip(states)
            .map(|(url, state)| Server {
                url: url.clone(),
                state,
            })
            .collect();
        let text = table(&servers) + &notes(&servers);
        let Some(pause) = watch else {
            print!("{text}");
            return is_well(&servers, max_lag).then_some(()).ok_or_else(String::new);
        };
        let shown = if is_terminal {
            redrawn(&text)
        } else {
            format!("{text}\n")
        };
        let mut out = io::stdout().lock();
        match out.write_all(shown.as_bytes()).and_then(|()| out.flush()) {
            Ok(()) => {}
            // Nobody reads any more.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
            Err(error) => return Err(error.to_string()),
        }
        drop(out);
        tokio::time::sleep(pause).await;
    }
}

/// The text for a terminal that shows an older one: each line is overwritten, which does not flicker, and what stood
/// below is cleared.
fn redrawn(text: &str) -> String {
    format!("\x1b[H{}\x1b[J", text.replace('\n', "\x1b[K\n"))
}

async fn ask(url: &str, settings: &ConnectSettings) -> Result<State, String> {
    let (_, client) = connect(url, settings).await?;
    let mut vectors = Vec::new();
    for base in contexts(&client).await? {
        // One that cannot be read has nothing to be told.
        let Ok(entry) = read_one(&client, &base, &["contextCSN"]).await else {
            continue;
        };
        let csns = entry.values("contextCSN").iter().filter_map(|text| Csn::parse(text));
        let vector: ContextVector = csns.collect();
        if !vector.is_empty() {
            vectors.push((base, vector));
        }
    }
    let entries = monitored(&client).await?;
    let has_monitor = entries.is_some();
    let entries = entries.unwrap_or_default();
    let suffixes: BTreeMap<String, String> = entries
        .iter()
        .filter_map(|entry| Some((entry.dn.to_ascii_lowercase(), entry.text("namingContexts")?)))
        .collect();
    let is_consumer = |entry: &&SearchEntry| {
        let mut classes = entry.values("objectClass").iter();
        classes.any(|name| name.eq_ignore_ascii_case(b"olmSyncReplInstance"))
    };
    let with_suffix = |entry: &SearchEntry| {
        let superior = entry.dn.split_once(',');
        let suffix = superior.and_then(|(_, superior)| suffixes.get(&superior.to_ascii_lowercase()));
        (suffix.cloned().unwrap_or_default(), entry.clone())
    };
    let is_session = |entry: &&SearchEntry| entry.text("ironbarkSyncRid").is_some();
    let state = State {
        vectors,
        sessions: entries.iter().filter(is_session).cloned().collect(),
        consumers: entries.iter().filter(is_consumer).map(with_suffix).collect(),
        has_monitor,
    };
    // The answer is complete; errors at the end of the connection do not matter.
    let _ = client.unbind().await;
    Ok(state)
}

/// The databases of cn=Monitor and what is below them. `None`: there is none, or it is hidden.
async fn monitored(client: &Client) -> Result<Option<Vec<SearchEntry>>, String> {
    let filter = Filter::Present(b"objectClass".into());
    let search = Search::new("cn=Databases,cn=Monitor", Scope::WholeSubtree, filter);
    let search = search.with_attributes(&["*", "+"]);
    let stream = client.search(&search, &[]).map_err(|error| error.to_string())?;
    let outcome = stream.collect().await.map_err(|error| error.to_string())?;
    match outcome.result.code {
        ResultCode::SUCCESS => Ok(Some(outcome.entries)),
        ResultCode::NO_SUCH_OBJECT | ResultCode::INSUFFICIENT_ACCESS_RIGHTS => Ok(None),
        _ => Err(format!("cn=Monitor: {}", outcome.result)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shorter_table_leaves_nothing_of_a_longer_one() {
        assert_eq!(redrawn("a\nb\n"), "\x1b[Ha\x1b[K\nb\x1b[K\n\x1b[J");
    }
}
