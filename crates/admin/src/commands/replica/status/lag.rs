//! How far servers are behind, and the exit status that follows.

use std::{collections::BTreeMap, fmt, time::Duration};

use ironbark_client::SearchEntry;
use ironbark_store::ContextVector;

use super::{Server, peer::number};

/// How far a vector is behind another one, by the times of their CSNs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Lag {
    None,
    Micros(u64),
    /// It has nothing of the server with this ID.
    Lacks(u16),
}

impl Lag {
    pub(super) fn of(vector: &ContextVector, newest: &ContextVector) -> Self {
        let mut behind = Self::None;
        for csn in newest.iter() {
            let Some(own) = vector.of_server(csn.server_id()) else {
                return Self::Lacks(csn.server_id());
            };
            if own < csn {
                let micros = csn.unix_micros().saturating_sub(own.unix_micros());
                let micros = micros.max(0).unsigned_abs();
                behind = match behind {
                    Self::Micros(most) => Self::Micros(most.max(micros)),
                    _ => Self::Micros(micros),
                };
            }
        }
        behind
    }

    fn is_over(self, most: Duration) -> bool {
        match self {
            Self::None => false,
            Self::Micros(micros) => Duration::from_micros(micros) > most,
            Self::Lacks(_) => true,
        }
    }
}

impl fmt::Display for Lag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Micros(micros) => write!(f, "{}.{:03} s", micros / 1_000_000, micros / 1_000 % 1_000),
            Self::Lacks(server) => write!(f, "lacks server {server:03x}"),
        }
    }
}

/// The newest vector of each naming context, by its name in small letters.
pub(super) fn newest(servers: &[Server]) -> BTreeMap<String, ContextVector> {
    let mut newest = BTreeMap::<String, ContextVector>::new();
    for state in servers.iter().filter_map(|server| server.state.as_ref().ok()) {
        for (suffix, vector) in &state.vectors {
            newest.entry(suffix.to_ascii_lowercase()).or_default().merge_all(vector);
        }
    }
    newest
}

/// Whether all servers answer, the last attempt of each consumer succeeded, and nobody is behind by more than `most`.
pub(super) fn is_well(servers: &[Server], most: Option<Duration>) -> bool {
    let newest = newest(servers);
    servers.iter().all(|server| {
        let Ok(state) = &server.state else { return false };
        let is_refused = |entry: &SearchEntry| entry.text("ironbarkSyncError").is_some_and(|error| !error.is_empty());
        let is_late = |(suffix, vector): &(String, ContextVector)| {
            let newest = newest.get(&suffix.to_ascii_lowercase());
            newest
                .zip(most)
                .is_some_and(|(newest, most)| Lag::of(vector, newest).is_over(most))
        };
        let follows_late = |entry: &SearchEntry| {
            let lag = number(entry, "ironbarkSyncLagMs").map(Duration::from_millis);
            number(entry, "ironbarkSyncBehind") != Some(0) && lag.zip(most).is_some_and(|(lag, most)| lag > most)
        };
        !state.consumers.iter().any(|(_, entry)| is_refused(entry))
            && !state.vectors.iter().any(is_late)
            && !state.sessions.iter().any(follows_late)
    })
}

#[cfg(test)]
mod tests {
    use ironbark_store::Csn;

    use super::*;
    use crate::commands::replica::status::State;

    fn vector(texts: &[&str]) -> ContextVector {
        let csns = texts
            .iter()
            .map(|text| Csn::parse(format!("202001010000{text}#000000").as_bytes()).unwrap());
        csns.collect()
    }

    #[test]
    fn the_lag_is_that_of_the_server_that_is_furthest_behind() {
        let newest = vector(&["05.000000Z#000000#001", "09.500000Z#000000#002"]);
        let lag = |vector: &ContextVector| Lag::of(vector, &newest).to_string();
        assert_eq!(lag(&newest), "none");
        assert_eq!(
            lag(&vector(&["04.000000Z#000000#001", "01.000000Z#000000#002"])),
            "8.500 s"
        );
        assert_eq!(lag(&vector(&["05.000000Z#000000#001"])), "lacks server 002");
    }

    fn entry(name: &str, value: &str) -> SearchEntry {
        SearchEntry {
            dn: "cn=x".to_owned(),
            attributes: vec![(name.to_owned(), vec![value.as_bytes().to_vec()])],
            controls: Vec::new(),
        }
    }

    #[test]
    fn a_refusal_counts_always_and_a_lag_from_the_limit_on() {
        let new = vector(&["05.000000Z#000000#001"]);
        let old = vector(&["01.000000Z#000000#001"]);
        let server = |vector: &ContextVector, consumers, sessions| Server {
            url: String::new(),
            state: Ok(State {
                vectors: vec![("dc=x".to_owned(), vector.clone())],
                consumers,
                sessions,
                has_monitor: true,
            }),
        };
        let late = [
            server(&new, Vec::new(), Vec::new()),
            server(&old, Vec::new(), Vec::new()),
        ];
        let seconds = |count| Some(Duration::from_secs(count));
        assert!(is_well(&late, None) && is_well(&late, seconds(4)) && !is_well(&late, seconds(3)));
        let refused = vec![("dc=x".to_owned(), entry("ironbarkSyncError", "bind: 49"))];
        assert!(!is_well(&[server(&new, refused, Vec::new())], None));
        let sessions = vec![entry("ironbarkSyncLagMs", "5000")];
        let follows = [server(&new, Vec::new(), sessions)];
        assert!(is_well(&follows, None) && is_well(&follows, seconds(5)) && !is_well(&follows, seconds(4)));
        let gone = Server {
            url: String::new(),
            state: Err("gone".to_owned()),
        };
        assert!(!is_well(&[gone], None));
    }
}
