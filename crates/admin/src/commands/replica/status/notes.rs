//! What a server is not told by those that it follows: a line for each, with the reason, what it means, and what to do.

use ironbark_client::SearchEntry;

use super::{Server, peer};

/// What may follow where places of entries are not told.
const WITHOUT_PLACES: &str = "moves of subtrees, and names that are used twice at the same time, may leave the \
                              servers different. Let one server make such changes";
/// What a server does that gets a part.
const PART: &str = "it deletes only what is named as deleted and keeps the rest, so the servers may end different";

/// The lines about all servers.
pub(super) fn notes(servers: &[Server]) -> String {
    let mut notes = Vec::new();
    for server in servers {
        let Ok(state) = &server.state else { continue };
        let consumers = state.consumers.iter().filter_map(|(_, entry)| of_consumer(entry));
        let sessions = state.sessions.iter().filter_map(of_session);
        let all = consumers.chain(sessions);
        notes.extend(all.map(|(who, what)| format!("note: {} {who}: {what}\n", server.url)));
    }
    notes.concat()
}

/// Who a consumer here follows, and what it is not told.
fn of_consumer(entry: &SearchEntry) -> Option<(String, String)> {
    let (content, places) = peer::told(entry)?;
    let rid = peer::rid_here(entry);
    let what = match (&*places, &*content) {
        ("part", "filter") => without_filter(&rid),
        ("part", _) => format!(
            "access rules of the provider may hide entries from this server: {PART}. \
             Let its identity read everything there, then start it once with -c rid={rid}"
        ),
        ("none", "base") => format!("it copies a part of the tree and is not told places of entries: {WITHOUT_PLACES}"),
        ("none", _) => format!(
            "the provider does not tell places of entries, as slapd, or it has databases glued together: \
             {WITHOUT_PLACES}"
        ),
        _ => return None,
    };
    Some((peer::provider(entry), what))
}

/// Who follows a server, and what it is not told.
fn of_session(entry: &SearchEntry) -> Option<(String, String)> {
    let (content, places) = peer::told(entry)?;
    let identity = entry.text("monitorConnectionAuthzDN").unwrap_or_default();
    let who = format!("{} (\"{identity}\")", peer::follower(entry));
    let rid = peer::rid_there(entry);
    // Servers send an ID if several of them write.
    let writes = peer::sid_there(entry) != 0;
    let what = match (&*content, &*places, writes) {
        ("rules", "part", _) => format!(
            "access rules may hide entries from it: {PART}. \
             Let this identity read everything, then start the consumer once with -c rid={rid}"
        ),
        ("rules", _, true) => {
            "access rules may hide entries from it: what it does not see goes there, and then at all servers. \
             Let this identity read everything"
                .to_owned()
        }
        ("rules", _, false) => "access rules may hide entries from it: it copies a part".to_owned(),
        ("filter", "part", _) => without_filter(&rid),
        ("filter", _, true) => {
            "its filter may leave entries out: what ceases to match goes there, and then at all servers. \
             Take the filter out"
                .to_owned()
        }
        ("filter", _, false) => "its filter may leave entries out: it copies a part".to_owned(),
        ("base", _, true) => {
            format!("it copies a part of the tree and is not told places of entries: {WITHOUT_PLACES}")
        }
        ("base", _, false) => "it copies a part of the tree".to_owned(),
        ("values", _, true) => {
            "access rules may hide values from it: entries that are changed there come back without them. \
             Let this identity read everything"
                .to_owned()
        }
        ("values", _, false) => "access rules may hide values from it: it copies a part".to_owned(),
        ("glued", _, true) => {
            format!("databases are glued together here, so it is not told places of entries: {WITHOUT_PLACES}")
        }
        ("log", "unasked", true) => {
            format!("it follows the log, and does not ask for places of entries, as slapd: {WITHOUT_PLACES}")
        }
        ("whole", "unasked", true) => {
            format!("it does not ask for places of entries, as slapd: {WITHOUT_PLACES}")
        }
        _ => return None,
    };
    Some((who, what))
}

fn without_filter(rid: &str) -> String {
    format!(
        "its filter may leave entries out: {PART}. Take the filter out, then start the consumer once with -c rid={rid}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(attributes: &[(&str, &str)]) -> SearchEntry {
        let attributes = attributes.iter();
        SearchEntry {
            dn: "cn=x".to_owned(),
            attributes: attributes
                .map(|(name, value)| ((*name).to_owned(), vec![value.as_bytes().to_vec()]))
                .collect(),
            controls: Vec::new(),
        }
    }

    fn consumer(content: &str, places: &str) -> Option<(String, String)> {
        of_consumer(&entry(&[
            ("cn", "Consumer 007"),
            ("olmSRProviderURIList", "ldap://a"),
            ("ironbarkSyncContent", content),
            ("ironbarkSyncPlaces", places),
        ]))
    }

    fn session(content: &str, places: &str, sid: &str) -> Option<(String, String)> {
        of_session(&entry(&[
            ("monitorConnectionPeerAddress", "IP=127.0.0.1:1"),
            ("monitorConnectionAuthzDN", "cn=replicator"),
            ("ironbarkSyncRid", "7"),
            ("ironbarkSyncSid", sid),
            ("ironbarkSyncContent", content),
            ("ironbarkSyncPlaces", places),
        ]))
    }

    #[test]
    fn who_is_told_everything_has_no_line() {
        assert_eq!(consumer("whole", "told"), None);
        assert_eq!(session("whole", "told", "2"), None);
        for places in ["unasked", "unknown"] {
            assert_eq!(consumer("", places), None, "a copy, and one that has heard nothing yet");
        }
        assert_eq!(session("whole", "unasked", "0"), None, "a copy");
        assert_eq!(session("log", "unasked", "0"), None, "a copy that follows a log");
        assert_eq!(session("log", "told", "2"), None);
        assert_eq!(session("glued", "unasked", "0"), None);
        // A server that does not show it.
        assert_eq!(of_session(&entry(&[("ironbarkSyncRid", "7")])), None);
        assert_eq!(of_consumer(&entry(&[("cn", "Consumer 007")])), None);
    }

    #[test]
    fn each_reason_has_its_line() {
        let (who, what) = consumer("rules", "part").unwrap();
        assert_eq!(who, "from ldap://a rid=007");
        assert!(
            what.contains("access rules of the provider") && what.ends_with("-c rid=007"),
            "{what}"
        );
        for (content, places, told) in [
            ("filter", "part", "its filter"),
            ("base", "none", "a part of the tree"),
            ("", "none", "the provider does not tell places"),
        ] {
            let (_, what) = consumer(content, places).unwrap();
            assert!(what.contains(told), "{content} {places}: {what}");
        }
        let (who, what) = session("rules", "part", "2").unwrap();
        assert_eq!(who, "to 127.0.0.1:1 rid=007 sid=002 (\"cn=replicator\")");
        assert!(
            what.contains("named as deleted") && what.ends_with("-c rid=007"),
            "{what}"
        );
        for (content, places, sid, told) in [
            ("rules", "unasked", "2", "at all servers"),
            ("rules", "unasked", "0", "copies a part"),
            ("filter", "part", "2", "its filter"),
            ("filter", "unasked", "2", "at all servers"),
            ("filter", "unasked", "0", "copies a part"),
            ("base", "none", "2", "not told places"),
            ("base", "unasked", "0", "a part of the tree"),
            ("values", "told", "2", "come back without them"),
            ("values", "unasked", "0", "hide values"),
            ("glued", "none", "2", "glued together"),
            ("log", "unasked", "2", "it follows the log"),
            ("whole", "unasked", "2", "as slapd"),
        ] {
            let (_, what) = session(content, places, sid).unwrap();
            assert!(what.contains(told), "{content} {places} {sid}: {what}");
        }
    }
}
