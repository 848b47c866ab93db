//! How the other side of a session is named, in the table and below it.

use ironbark_client::SearchEntry;

/// The number in an attribute.
pub(super) fn number(entry: &SearchEntry, name: &str) -> Option<u64> {
    entry.text(name)?.parse().ok()
}

/// `rid` of a consumer here: cn=Monitor names its entry by it.
pub(super) fn rid_here(entry: &SearchEntry) -> String {
    let name = entry.text("cn").unwrap_or_default();
    name.rsplit(' ').next().unwrap_or_default().to_owned()
}

/// `rid` of a consumer elsewhere.
pub(super) fn rid_there(entry: &SearchEntry) -> String {
    format!("{:03}", number(entry, "ironbarkSyncRid").unwrap_or_default())
}

/// Server ID of a consumer elsewhere; 0: it has none.
pub(super) fn sid_there(entry: &SearchEntry) -> u64 {
    number(entry, "ironbarkSyncSid").unwrap_or_default()
}

/// The provider of a consumer here.
pub(super) fn provider(entry: &SearchEntry) -> String {
    let urls = entry.text("olmSRProviderURIList").filter(|text| !text.is_empty());
    format!("from {} rid={}", urls.as_deref().unwrap_or("-"), rid_here(entry))
}

/// A consumer elsewhere.
pub(super) fn follower(entry: &SearchEntry) -> String {
    let address = entry.text("monitorConnectionPeerAddress").unwrap_or_default();
    let address = address.trim_start_matches("IP=").trim_start_matches("PATH=");
    format!("to {address} rid={} sid={:03x}", rid_there(entry), sid_there(entry))
}

/// How much of the content comes, and whether places of entries are told, as both sides show it. `None`: a server that
/// does not show it.
pub(super) fn told(entry: &SearchEntry) -> Option<(String, String)> {
    let content = entry.text("ironbarkSyncContent").unwrap_or_default();
    Some((content, entry.text("ironbarkSyncPlaces")?))
}
