//! Indexes that are needed because of the configuration itself.

use ironbark_config::{IndexKinds, Setting, overlay};

use crate::{
    finding::{FindingClass, Findings},
    written::WrittenConfiguration,
};

/// The attribute that replication looks up. The log of changes tells what has changed since a CSN.
const REPLICATED: &str = "entryUUID";

/// Adds the missing indexes that overlays and replication need for their look-ups.
pub(super) fn find(written: &WrittenConfiguration, findings: &mut Findings) {
    let schema = &*written.configuration.schema;
    for (position, database) in written.configuration.databases.iter().enumerate() {
        if !database.kind.has_indexes() || database.disabled {
            continue;
        }
        for (overlay, attribute) in overlay::missing_indexes(database, schema) {
            let reason = format!(
                "overlay {} looks {attribute} up with each write, and reads all entries without an eq index",
                overlay.name()
            );
            let place = written.database(position);
            findings.note(
                FindingClass::Missing,
                place,
                written.name("index"),
                reason,
                advice(written, &attribute),
            );
        }
        if !is_replicated(written, position) {
            continue;
        }
        if !overlay::is_indexed(database, schema, REPLICATED, IndexKinds::EQUALITY) {
            findings.note(
                FindingClass::Missing,
                written.database(position),
                written.name("index"),
                format!("replication looks entries up by {REPLICATED}"),
                advice(written, REPLICATED),
            );
        }
    }
}

fn advice(written: &WrittenConfiguration, attribute: &str) -> String {
    format!("write {}", written.line("index", &format!("{attribute} eq")))
}

/// Whether a database is a provider or a consumer.
fn is_replicated(written: &WrittenConfiguration, position: usize) -> bool {
    written.of_database(position).any(|statement| {
        let argument = statement.line.arguments.first().map(String::as_str).unwrap_or_default();
        let name = argument.rsplit('}').next().unwrap_or_default();
        match statement.row.map(Setting::name) {
            Some("syncrepl") => true,
            Some("overlay") => name.eq_ignore_ascii_case("syncprov"),
            _ => false,
        }
    })
}
