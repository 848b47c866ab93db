//! `ironbark replica status`: the naming contexts of servers and their consumers, from `contextCSN` and cn=Monitor.

use std::{collections::BTreeMap, time::Duration};

use ironbark_client::{Client, ConnectSettings, Search, SearchEntry};
use ironbark_ldap_proto::{Filter, ResultCode, Scope};
use ironbark_store::{ContextVector, Csn};

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
    /// Whether cn=Monitor can be read.
    has_monitor: bool,
}

/// Shows the table, once or again and again.
pub(super) async fn run(urls: &[String], settings: &ConnectSettings, watch: Option<Duration>) -> Result<(), String> {
    loop {
        let mut servers = Vec::with_capacity(urls.len());
        for url in urls {
            servers.push(Server {
                url: url.clone(),
                state: ask(url, settings).await,
            });
        }
        let text = table(&servers);
        let Some(pause) = watch else {
            print!("{text}");
            let failed = servers.iter().any(|server| server.state.is_err());
            return if failed { Err(String::new()) } else { Ok(()) };
        };
        // Clears the screen.
        print!("\x1b[2J\x1b[H{text}");
        tokio::time::sleep(pause).await;
    }
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
    let state = State {
        vectors,
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

type Row = [String; 7];

/// What all servers say, as a table.
fn table(servers: &[Server]) -> String {
    // The newest of each naming context.
    let mut newest = BTreeMap::<String, ContextVector>::new();
    for state in servers.iter().filter_map(|server| server.state.as_ref().ok()) {
        for (suffix, vector) in &state.vectors {
            newest.entry(suffix.to_ascii_lowercase()).or_default().merge_all(vector);
        }
    }
    let head = [
        "SERVER",
        "DATABASE",
        "PROVIDER",
        "PHASE",
        "POSITION",
        "LAG",
        "LAST ERROR",
    ];
    let mut rows: Vec<Row> = vec![head.map(str::to_owned)];
    for server in servers {
        match &server.state {
            Ok(state) => of_server(&server.url, state, &newest, &mut rows),
            Err(error) => rows.push([
                server.url.clone(),
                dash(),
                dash(),
                "unreachable".to_owned(),
                dash(),
                dash(),
                error.clone(),
            ]),
        }
    }
    aligned(&rows)
}

/// The rows of a server that answers.
fn of_server(url: &str, state: &State, newest: &BTreeMap<String, ContextVector>, rows: &mut Vec<Row>) {
    for (suffix, vector) in &state.vectors {
        let newest = newest.get(&suffix.to_ascii_lowercase()).cloned().unwrap_or_default();
        let last = vector.iter().max().map_or_else(dash, Csn::text);
        rows.push([
            url.to_owned(),
            suffix.clone(),
            dash(),
            "(contextCSN)".to_owned(),
            last,
            lag(vector, &newest),
            dash(),
        ]);
    }
    for (suffix, consumer) in &state.consumers {
        let text = |name: &str| consumer.text(name).filter(|text| !text.is_empty());
        let phase = text("olmSRConnection").and_then(|_| text("olmSRSyncPhase"));
        let name = consumer.text("cn").unwrap_or_default();
        let rid = name.rsplit(' ').next().unwrap_or_default();
        rows.push([
            url.to_owned(),
            suffix.clone(),
            format!("{} rid={rid}", text("olmSRProviderURIList").unwrap_or_else(dash)),
            phase.unwrap_or_else(|| "not connected".to_owned()),
            text("olmSRLastCookieRcvd")
                .as_deref()
                .map_or_else(dash, newest_of_cookie),
            dash(),
            text("ironbarkSyncError").unwrap_or_else(dash),
        ]);
    }
    if !state.has_monitor {
        let told = "cn=Monitor cannot be read: its consumers are not shown".to_owned();
        rows.push([url.to_owned(), dash(), dash(), dash(), dash(), dash(), told]);
    }
}

fn dash() -> String {
    "-".to_owned()
}

/// How far a vector is behind another one, by the times of their CSNs.
fn lag(vector: &ContextVector, newest: &ContextVector) -> String {
    let mut behind = None;
    for csn in newest.iter() {
        let Some(own) = vector.of_server(csn.server_id()) else {
            return format!("lacks server {:03x}", csn.server_id());
        };
        if own < csn {
            let micros = csn
                .unix_micros()
                .saturating_sub(own.unix_micros())
                .max(0)
                .unsigned_abs();
            behind = behind.max(Some(micros));
        }
    }
    behind.map_or_else(
        || "none".to_owned(),
        |micros| format!("{}.{:03} s", micros / 1_000_000, micros / 1_000 % 1_000),
    )
}

/// The newest CSN of a cookie.
fn newest_of_cookie(cookie: &str) -> String {
    let csns = cookie.split(',').find_map(|part| part.strip_prefix("csn="));
    let newest = csns.into_iter().flat_map(|csns| csns.split(';')).max();
    newest.unwrap_or("-").to_owned()
}

/// Columns as wide as their widest text; the last one is as it is.
fn aligned(rows: &[Row]) -> String {
    let mut widths = [0; 7];
    for row in rows {
        for (width, text) in widths.iter_mut().zip(row) {
            *width = text.chars().count().max(*width);
        }
    }
    let mut out = String::new();
    for row in rows {
        let cells = row.iter().zip(widths).map(|(text, width)| format!("{text:width$}"));
        let line = cells.collect::<Vec<_>>().join("  ");
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vector(texts: &[&str]) -> ContextVector {
        let csns = texts
            .iter()
            .map(|text| Csn::parse(format!("202001010000{text}#000000").as_bytes()).unwrap());
        csns.collect()
    }

    #[test]
    fn the_lag_is_that_of_the_server_that_is_furthest_behind() {
        let newest = vector(&["05.000000Z#000000#001", "09.500000Z#000000#002"]);
        assert_eq!(lag(&newest, &newest), "none");
        let other = vector(&["04.000000Z#000000#001", "01.000000Z#000000#002"]);
        assert_eq!(lag(&other, &newest), "8.500 s");
        assert_eq!(lag(&vector(&["05.000000Z#000000#001"]), &newest), "lacks server 002");
        assert_eq!(newest_of_cookie("rid=001,sid=002,csn=a;c;b"), "c");
        assert_eq!(newest_of_cookie("rid=001"), "-");
    }
}
