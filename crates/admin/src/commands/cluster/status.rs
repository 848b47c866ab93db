//! `ironbark cluster status`: a cluster as etcd shows it.

use std::fmt::Write as _;

use ironbark_cluster::{ClusterNode, Overview, chain_text};
use ironbark_runtime::Clock;
use ironbark_store::ClusterLogPlace;

use super::{member, settings};
use crate::shared::{colour::bad, target::Target};

/// A server that has told nothing for so many seconds is taken for gone.
const GONE_S: i64 = 30;

/// Shows the state of the database's cluster.
///
/// # Errors
/// It is part of no cluster, etcd does not answer, or not all is well: then the message is empty, since it was shown.
pub(super) fn run(target: &Target) -> Result<(), String> {
    let loaded = target.configuration()?;
    let chosen = loaded.is_none().then(|| target.choose()).transpose()?;
    let (suffix, config) = match (&loaded, &chosen) {
        (Some(loaded), _) => member(&loaded.configuration.config)?,
        (None, Some(chosen)) => member(settings(chosen)?)?,
        (None, None) => return Err("no database".to_owned()),
    };
    let normalized = String::from_utf8_lossy(suffix.normalized()).into_owned();
    let overview = Overview::of(config, &normalized).map_err(|error| error.to_string())?;
    let (text, is_well) = shown(suffix.pretty(), &overview, Clock::system().now().unix_seconds());
    anstream::print!("{text}");
    if is_well { Ok(()) } else { Err(String::new()) }
}

/// The text, and whether all is well.
fn shown(suffix: &str, overview: &Overview, now: i64) -> (String, bool) {
    let mut text = format!("{suffix}\n");
    let mut is_well = true;
    let end = overview.end.unwrap_or_default();
    let mut line = |title: &str, what: &str| {
        // A String takes everything.
        let _ = writeln!(text, "  {title:<8}  {what}");
    };
    match (overview.end, overview.first) {
        (None, _) => {
            is_well = false;
            line("log", "there is none yet: no server has begun it");
        }
        (Some(place), first) => {
            let first = match first {
                Some(first) => format!("from change {first} on"),
                None if overview.is_tree => "the newest state is in etcd".to_owned(),
                None => "no changes in etcd".to_owned(),
            };
            line(
                "log",
                &format!(
                    "ends with change {}, digest {}; {first}; generation {:016x}",
                    place.position.sequence,
                    digest(&chain_text(&place)),
                    place.position.generation
                ),
            );
        }
    }
    if overview.waiting > 0 {
        line("turns", &format!("{} servers wait for theirs", overview.waiting));
    }
    for (url, member) in &overview.members {
        match member {
            Ok(member) => {
                let role = if member.is_leader { "leads" } else { "follows" };
                let mib = member.in_use >> 20;
                line("etcd", &format!("{url}  {}, {role}, {mib} MiB in use", member.version));
            }
            Err(why) => {
                is_well = false;
                line("etcd", &format!("{url}  {why}"));
            }
        }
    }
    for server in &overview.servers {
        let (state, is_fine) = state(server, &end, now);
        is_well &= is_fine;
        line("server", &format!("{}  {state}", server.name));
    }
    if !overview.servers.iter().any(|server| is_there(server, now)) {
        is_well = false;
        line("server", &bad("none is running").to_string());
    }
    (text, is_well)
}

/// Whether a server runs, by its last word.
fn is_there(server: &ClusterNode, now: i64) -> bool {
    !server.has_ended && now.saturating_sub(server.at) <= GONE_S
}

/// What a server is doing, and whether that is well. One that is gone may have been stopped.
fn state(server: &ClusterNode, end: &ClusterLogPlace, now: i64) -> (String, bool) {
    let ago = now.saturating_sub(server.at).max(0);
    if server.has_ended {
        return (
            format!("was stopped {ago} s ago; it had change {}", server.position),
            true,
        );
    }
    if !is_there(server, now) {
        return (
            format!("not heard of for {ago} s; it had change {}", server.position),
            true,
        );
    }
    if let Some((octets, of)) = server.copied {
        let (octets, of) = (octets / 1_000_000, of / 1_000_000);
        return (format!("gets a copy of the database: {octets} of {of} MB"), false);
    }
    if !server.is_ready {
        return (
            format!(
                "{}; it has change {}; its log says why",
                bad("is not ready"),
                server.position
            ),
            false,
        );
    }
    let digest = digest(&server.chain);
    match end.position.sequence.saturating_sub(server.position) {
        0 if server.position == end.position.sequence && !digest.is_empty() && server.chain != chain_text(end) => (
            format!(
                "has change {}, but other changes than the log: digest {digest}",
                server.position
            ),
            false,
        ),
        0 => (format!("has change {}, digest {digest}", server.position), true),
        behind => (
            format!("has change {}, {behind} behind {ago} s ago", server.position),
            true,
        ),
    }
}

/// The beginning of a digest, which is enough to tell two apart.
fn digest(chain: &str) -> &str {
    chain.get(..8).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use ironbark_cluster::read_place;

    use super::*;

    fn node(position: u64, is_ready: bool, at: i64) -> ClusterNode {
        ClusterNode {
            name: "a[1]".to_owned(),
            position,
            chain: "00000000000000000000000000000007".to_owned(),
            is_ready,
            is_of_log: true,
            copied: None,
            has_ended: false,
            at,
        }
    }

    fn end() -> ClusterLogPlace {
        read_place(b"1 7 7").unwrap()
    }

    #[test]
    fn when_no_server_runs_all_is_not_well() {
        let of = |servers: Vec<ClusterNode>| Overview {
            end: Some(end()),
            first: Some(1),
            is_tree: false,
            waiting: 0,
            members: Vec::new(),
            servers,
        };
        let stopped = ClusterNode {
            has_ended: true,
            ..node(7, false, 99)
        };
        let (text, is_well) = shown("dc=x", &of(vec![stopped, node(7, true, 60)]), 100);
        assert!(!is_well && text.contains("none is running"), "{text}");
        assert!(text.contains("a[1]  was stopped 1 s ago; it had change 7\n"), "{text}");
        assert!(!shown("dc=x", &of(Vec::new()), 100).1);
        let one = ClusterNode {
            has_ended: true,
            ..node(7, false, 99)
        };
        assert!(
            shown("dc=x", &of(vec![one, node(7, true, 99)]), 100).1,
            "the others go on"
        );
    }

    #[test]
    fn only_a_server_that_is_there_and_does_not_follow_is_not_well() {
        let not_ready = format!("{}; it has change 5; its log says why", bad("is not ready"));
        for (server, wanted, is_well) in [
            (node(7, true, 100), "has change 7, digest 00000000", true),
            (node(5, true, 99), "has change 5, 2 behind 1 s ago", true),
            (node(5, false, 99), not_ready.as_str(), false),
            (node(5, false, 50), "not heard of for 50 s; it had change 5", true),
        ] {
            assert_eq!(state(&server, &end(), 100), (wanted.to_owned(), is_well));
        }
        let other = ClusterNode {
            chain: "ff000000000000000000000000000000".to_owned(),
            ..node(7, true, 100)
        };
        let wanted = "has change 7, but other changes than the log: digest ff000000";
        assert_eq!(state(&other, &end(), 100), (wanted.to_owned(), false));
    }
}
