//! What servers say of each other, as a table.

use std::collections::BTreeMap;

use ironbark_client::SearchEntry;
use ironbark_store::{ContextVector, Csn};

use super::{
    Server, State,
    peer::{self, number},
};

type Row = [String; 8];

/// What all servers say, as a table.
pub(super) fn table(servers: &[Server]) -> String {
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
            lag(vector, &newest),
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

    fn vector(texts: &[&str]) -> ContextVector {
        let csns = texts
            .iter()
            .map(|text| Csn::parse(format!("202001010000{text}#000000").as_bytes()).unwrap());
        csns.collect()
    }

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
