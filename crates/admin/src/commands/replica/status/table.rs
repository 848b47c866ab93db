//! What servers say of each other, as a table.

use std::collections::BTreeMap;

use ironbark_client::SearchEntry;
use ironbark_store::{ContextVector, Csn};

use super::{
    Server, State,
    lag::{Lag, newest},
    peer::{self, number},
};

type Row = [String; 8];

/// What all servers say, as a table.
pub(super) fn table(servers: &[Server]) -> String {
    let newest = newest(servers);
    let head = [
        "SERVER",
        "DATABASE",
        "PEER",
        "PHASE",
        "POSITION",
        "LAG",
        "PLACES",
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
            Lag::of(vector, &newest).to_string(),
            dash(),
            dash(),
        ]);
    }
    rows.extend(
        state
            .consumers
            .iter()
            .map(|(suffix, entry)| consumer(url, suffix, entry)),
    );
    rows.extend(state.sessions.iter().map(|entry| session(url, entry)));
    if !state.has_monitor {
        let told = "cn=Monitor cannot be read: who follows whom is not shown".to_owned();
        rows.push([url.to_owned(), dash(), dash(), dash(), dash(), dash(), dash(), told]);
    }
}

/// The row of a consumer here.
fn consumer(url: &str, suffix: &str, entry: &SearchEntry) -> Row {
    let text = |name: &str| entry.text(name).filter(|text| !text.is_empty());
    let phase = text("olmSRConnection").and_then(|_| text("olmSRSyncPhase"));
    [
        url.to_owned(),
        suffix.to_owned(),
        peer::provider(entry),
        phase.unwrap_or_else(|| "not connected".to_owned()),
        text("olmSRLastCookieRcvd")
            .as_deref()
            .map_or_else(dash, newest_of_cookie),
        dash(),
        places(entry),
        text("ironbarkSyncError").unwrap_or_else(dash),
    ]
}

/// The row of a consumer elsewhere that follows this server.
fn session(url: &str, entry: &SearchEntry) -> Row {
    let text = |name: &str| entry.text(name).filter(|text| !text.is_empty());
    let positions = entry.values("ironbarkSyncPosition").iter();
    let positions: Vec<String> = positions
        .map(|value| String::from_utf8_lossy(value).split(' ').take(1).collect())
        .collect();
    let lag = match (number(entry, "ironbarkSyncBehind"), number(entry, "ironbarkSyncLagMs")) {
        (Some(0), _) => "none".to_owned(),
        (Some(behind), millis) => {
            let millis = millis.unwrap_or_default();
            format!("{behind} changes, {}.{:03} s", millis / 1_000, millis % 1_000)
        }
        (None, _) => dash(),
    };
    [
        url.to_owned(),
        text("ironbarkSyncBase").unwrap_or_else(dash),
        peer::follower(entry),
        text("olmSRSyncPhase").unwrap_or_else(dash),
        Some(positions.join(" "))
            .filter(|all| !all.is_empty())
            .unwrap_or_else(dash),
        lag,
        places(entry),
        dash(),
    ]
}

/// Whether places of entries are told, and what keeps entries or values from the consumer.
fn places(entry: &SearchEntry) -> String {
    match peer::told(entry) {
        None => dash(),
        Some((content, places)) if content.is_empty() || content == "whole" => places,
        Some((content, places)) => format!("{places} ({content})"),
    }
}

fn dash() -> String {
    "-".to_owned()
}

/// The newest CSN of a cookie.
fn newest_of_cookie(cookie: &str) -> String {
    let csns = cookie.split(',').find_map(|part| part.strip_prefix("csn="));
    let newest = csns.into_iter().flat_map(|csns| csns.split(';')).max();
    newest.unwrap_or("-").to_owned()
}

/// Columns as wide as their widest text; the last one is as it is.
fn aligned(rows: &[Row]) -> String {
    let mut widths = [0; 8];
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

    #[test]
    fn what_keeps_entries_from_a_consumer_stands_beside_the_places() {
        let cell = |attributes: &[(&str, &str)]| {
            let attributes = attributes.iter();
            places(&SearchEntry {
                dn: "cn=x".to_owned(),
                attributes: attributes
                    .map(|(name, value)| ((*name).to_owned(), vec![value.as_bytes().to_vec()]))
                    .collect(),
                controls: Vec::new(),
            })
        };
        let (content, places) = ("ironbarkSyncContent", "ironbarkSyncPlaces");
        assert_eq!(cell(&[]), "-");
        assert_eq!(cell(&[(places, "unknown")]), "unknown");
        assert_eq!(cell(&[(content, "whole"), (places, "told")]), "told");
        assert_eq!(cell(&[(content, "rules"), (places, "part")]), "part (rules)");
    }

    #[test]
    fn the_position_is_the_newest_csn_of_the_cookie() {
        assert_eq!(newest_of_cookie("rid=001,sid=002,csn=a;c;b"), "c");
        assert_eq!(newest_of_cookie("rid=001"), "-");
    }
}
