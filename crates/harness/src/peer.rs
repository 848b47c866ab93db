//! Directories that send each other their entries without a network.

use std::{collections::BTreeMap, sync::Arc};

use ironbark_directory::{
    AttributeChoice, Incoming, NamingContext, OperationError, OutcomeKind, ReplicaMapping, ReplicaOutcome, Replicated,
    ReplicatedEntry, replicate,
};
use ironbark_model::Dn;
use ironbark_store::{ChangeRecord, ContextVector, Csn, DitScope, Effect, Record, View};

use crate::Site;

/// Settings of a database that keeps its log.
pub const LINES: &str = "changelog-size 100000000\nenvflags nosync";

/// The database of a site.
pub fn context(site: &Site) -> Arc<NamingContext> {
    let configuration = site.directory.configuration();
    Arc::clone(configuration.contexts.first().expect("a database"))
}

/// Reads the database as it is.
pub fn view<T>(site: &Site, read: impl FnOnce(View<'_>) -> T) -> T {
    let context = context(site);
    let snapshot = context.database().expect("a store").snapshot().expect("readable");
    read(snapshot.view())
}

/// A name by the schema of a site.
pub fn dn(site: &Site, text: &str) -> Dn {
    Dn::parse(&site.directory.configuration().schema, text.as_bytes()).expect("a DN")
}

/// What a consumer of everything maps.
pub fn mapping(site: &Site) -> ReplicaMapping {
    ReplicaMapping {
        line: 1,
        remote_base: dn(site, "dc=ex"),
        local_base: dn(site, "dc=ex"),
        scope: DitScope::Subtree,
        filter: "".into(),
        attributes: AttributeChoice::default(),
        schema_checking: false,
        needs_csn: true,
        multi_provider: false,
        is_sole: false,
        merges_values: false,
        own_csns: false,
        author: dn(site, "cn=root,dc=ex"),
    }
}

/// Where others write, too.
pub fn shared(site: &Site) -> ReplicaMapping {
    ReplicaMapping {
        multi_provider: true,
        ..mapping(site)
    }
}

/// All entries as a provider sends them.
pub fn entries_of(site: &Site) -> Vec<ReplicatedEntry> {
    view(site, all_entries)
}

fn all_entries(view: View<'_>) -> Vec<ReplicatedEntry> {
    let mut entries = Vec::new();
    for record in view.entries(0).expect("readable") {
        let record = record.expect("readable");
        if record.is_glue() {
            continue;
        }
        let attributes = record.attributes().map(|held| {
            let values = held.to_attribute().expect("readable").values;
            (String::from_utf8_lossy(held.name()).into(), values)
        });
        let attributes: Vec<_> = attributes.collect();
        let entry = ReplicatedEntry {
            uuid: uuid_octets(&value(&attributes, "entryUUID")),
            dn: view.dn(record.id).expect("readable").pretty().into(),
            attributes,
        };
        entries.push(entry);
    }
    entries
}

fn value(attributes: &[(Box<str>, Vec<Vec<u8>>)], name: &str) -> String {
    let found = attributes.iter().find(|(known, _)| &**known == name);
    let values = &found.expect("there").1;
    String::from_utf8_lossy(values.first().expect("a value")).into_owned()
}

/// An `entryUUID` as octets.
pub fn uuid_octets(text: &str) -> [u8; 16] {
    let number = u128::from_str_radix(&text.replace('-', ""), 16);
    number.expect("a UUID").to_be_bytes()
}

/// The `entryCSN`.
pub fn csn_of(entry: &ReplicatedEntry) -> Csn {
    Csn::parse(value(&entry.attributes, "entryCSN").as_bytes()).expect("a CSN")
}

/// The entry of this name.
pub fn entry(site: &Site, name: &str) -> ReplicatedEntry {
    let mut entries = entries_of(site).into_iter();
    entries.find(|entry| &*entry.dn == name).expect("there")
}

/// An entry that its provider never had in this form.
pub fn made(name: &str, uuid: u8, csn: &str, lines: &[(&str, &str)]) -> ReplicatedEntry {
    let mut attributes: Vec<(Box<str>, Vec<Vec<u8>>)> = Vec::new();
    for (name, value) in lines.iter().chain(&[("entryCSN", csn)]) {
        match attributes.iter_mut().find(|(known, _)| **known == **name) {
            Some((_, values)) => values.push(value.as_bytes().to_vec()),
            None => attributes.push(((*name).into(), vec![value.as_bytes().to_vec()])),
        }
    }
    ReplicatedEntry {
        uuid: [uuid; 16],
        dn: name.into(),
        attributes,
    }
}

/// A person with this name.
pub fn person(name: &str, uuid: u8, csn: &str) -> ReplicatedEntry {
    let cn = name.split([',', '=']).nth(1).expect("a name");
    let class = [("objectClass", "person"), ("structuralObjectClass", "person")];
    made(name, uuid, csn, &[class[0], ("cn", cn), ("sn", "s"), class[1]])
}

/// A CSN of a server, some microseconds after the time of the clock.
pub fn csn(server: u16, micros: u32) -> String {
    format!("20260102030405.{micros:06}Z#000000#{server:03x}#000000")
}

/// A CSN from its text.
pub fn parsed(text: &str) -> Csn {
    Csn::parse(text.as_bytes()).expect("a CSN")
}

/// A message of a provider without CSN, outside of a refresh.
pub fn message(mapping: ReplicaMapping, incoming: Incoming) -> Replicated {
    Replicated {
        incoming,
        via: 9,
        csn: None,
        in_refresh: false,
        cookie: Vec::new(),
        step: None,
        mapping: Arc::new(mapping),
        session: Default::default(),
    }
}

/// Sends a message, and waits until it is applied.
pub fn send(site: &Site, change: Replicated) -> Result<ReplicaOutcome, OperationError> {
    let receiver = replicate(&site.directory, &context(site), Arc::new(change))?;
    receiver.blocking_recv().expect("an end")
}

/// Sends an entry as a refresh does.
pub fn refresh(site: &Site, mapping: ReplicaMapping, entry: &ReplicatedEntry) -> OutcomeKind {
    let sent = send(site, message(mapping, Incoming::Entry(entry.clone())));
    sent.expect("applied").kind
}

/// Sends a delete.
pub fn delete(site: &Site, mapping: ReplicaMapping, uuid: [u8; 16], csn: Option<Csn>) -> OutcomeKind {
    let change = Replicated {
        csn,
        ..message(mapping, Incoming::Delete { uuid })
    };
    send(site, change).expect("applied").kind
}

/// The log of changes.
pub fn rows(site: &Site) -> Vec<ChangeRecord> {
    view(site, |view| {
        let rows = view.changes(0).expect("readable");
        rows.collect::<Result<_, _>>().expect("readable")
    })
}

/// The UUIDs that the log says are gone, with the CSNs of their last deletes.
pub fn deletes_of(site: &Site) -> BTreeMap<[u8; 16], Csn> {
    let mut gone = BTreeMap::new();
    for record in rows(site) {
        for recorded in &record.effects {
            let uuid = recorded.before.entry_uuid;
            match recorded.effect {
                Effect::Delete { .. } if uuid != [0; 16] => {
                    gone.insert(uuid, record.csn);
                }
                Effect::Add { .. } => {
                    gone.remove(&uuid);
                }
                _ => {}
            }
        }
        gone.extend(record.buried.iter().map(|uuid| (*uuid, record.csn)));
    }
    gone
}

/// The context CSNs.
pub fn vector(site: &Site) -> ContextVector {
    let vector = view(site, |view| view.context_vector()).expect("readable");
    vector.unwrap_or_default()
}

/// A digest of all entries.
pub fn content(site: &Site) -> [u8; 32] {
    view(site, |view| view.content_digest()).expect("readable")
}

/// The CSN of the delete of an entry, if the log has it.
pub fn tombstone(site: &Site, uuid: [u8; 16]) -> Option<Csn> {
    let tombstone = view(site, |view| view.tombstone(&uuid)).expect("readable");
    tombstone.map(|(csn, _)| csn)
}

/// The names of all entries, glue with an asterisk.
pub fn names(site: &Site) -> Vec<String> {
    let name = |view: View<'_>, record: Record<'_>| {
        let glue = if record.is_glue() { "*" } else { "" };
        format!("{}{glue}", view.dn(record.id).expect("readable").pretty())
    };
    let mut names: Vec<_> = view(site, |view| {
        let records = view.entries(0).expect("readable");
        records.map(|record| name(view, record.expect("readable"))).collect()
    });
    names.sort_unstable();
    names
}
