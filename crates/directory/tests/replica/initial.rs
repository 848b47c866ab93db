//! The first refresh of an empty database, which is loaded at once.

use std::sync::Arc;

use ironbark_directory::{
    Incoming, InitialLoad, OperationError, ReplicaMapping, Replicated, ReplicatedEntry, begin_initial_load,
};
use ironbark_store::{ContextVector, Csn, DitScope};

use ironbark_harness::{
    Site,
    peer::{
        LINES, content, context, csn, entries_of, entry, mapping, message, names, parsed, person, refresh, rows, send,
        shared, vector, view,
    },
};

fn begin(site: &Site, mapping: ReplicaMapping) -> Option<InitialLoad> {
    begin_initial_load(&site.directory, &context(site), &Arc::new(mapping))
}

/// Loads entries.
fn load(site: &Site, entries: Vec<ReplicatedEntry>, covered: &ContextVector) -> Result<(), OperationError> {
    load_with(site, entries, &[], covered)
}

/// Loads entries, and the ends of others.
fn load_with(
    site: &Site,
    entries: Vec<ReplicatedEntry>,
    gone: &[([u8; 16], Csn)],
    covered: &ContextVector,
) -> Result<(), OperationError> {
    let mut load = begin(site, mapping(site)).expect("an empty database");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        for entry in entries {
            load.add(entry).await?;
        }
        for (uuid, csn) in gone {
            load.bury(*uuid, *csn)?;
        }
        load.install(covered).await
    })
}

fn provider() -> Site {
    let mut provider = Site::open_server(1, LINES);
    provider.populate();
    provider
}

#[test]
fn an_empty_database_gets_the_providers_entries_and_its_vector() {
    let mut provider = provider();
    let consumer = Site::open_server(2, LINES);
    load(&consumer, entries_of(&provider), &vector(&provider)).expect("loaded");
    assert_eq!(content(&consumer), content(&provider));
    assert_eq!(vector(&consumer), vector(&provider));
    assert!(rows(&consumer).is_empty(), "no change of the log made them");
    assert!(begin(&consumer, mapping(&consumer)).is_none(), "it has entries now");
    // From here on it is a replica like any other.
    assert_eq!(provider.modify("cn=a,ou=p,dc=ex", "replace: sn\nsn: new").code, 0);
    refresh(&consumer, mapping(&consumer), &entry(&provider, "cn=a,ou=p,dc=ex"));
    assert_eq!(content(&consumer), content(&provider));
    assert_eq!(rows(&consumer).len(), 1);
}

/// Who follows the consumer must hear of them, too.
#[test]
fn ends_of_entries_become_tombstones_unless_the_entry_was_sent() {
    let provider = provider();
    let consumer = Site::open_server(2, LINES);
    let entries = entries_of(&provider);
    let (sent, end) = (entries.last().expect("an entry").uuid, parsed(&csn(1, 9)));
    load_with(&consumer, entries, &[([9; 16], end), (sent, end)], &vector(&provider)).expect("loaded");
    assert_eq!(content(&consumer), content(&provider));
    let ended = |uuid| {
        view(&consumer, |view| {
            view.tombstone(&uuid).expect("readable").map(|(csn, _)| csn)
        })
    };
    assert_eq!((ended([9; 16]), ended(sent)), (Some(end), None));
}

/// The provider is still being filled itself.
#[test]
fn entries_that_the_providers_vector_does_not_cover_wait_for_its_cookie() {
    let provider = provider();
    let consumer = Site::open_server(2, LINES);
    load(&consumer, entries_of(&provider), &ContextVector::default()).expect("loaded");
    let is_uncovered = || view(&consumer, |view| view.first_uncovered().expect("readable").is_some());
    assert!(is_uncovered(), "a vector of the entries would say too much");
    let cookie = Replicated {
        cookie: vector(&provider).iter().collect(),
        ..message(shared(&consumer), Incoming::Nothing)
    };
    send(&consumer, cookie).expect("taken");
    assert!(!is_uncovered());
    assert_eq!(vector(&consumer), vector(&provider));
}

#[test]
fn superiors_may_come_behind_their_subordinates() {
    let provider = provider();
    let consumer = Site::open_server(2, LINES);
    let mut entries = entries_of(&provider);
    entries.reverse();
    load(&consumer, entries, &vector(&provider)).expect("loaded");
    assert_eq!(content(&consumer), content(&provider));
}

#[test]
fn what_cannot_be_loaded_at_once_leaves_the_database_as_it_was() {
    let provider = provider();
    let consumer = Site::open_server(2, LINES);
    let whole = entries_of(&provider);
    let covered = vector(&provider);
    let with = |entry: ReplicatedEntry| whole.iter().cloned().chain([entry]).collect::<Vec<_>>();
    let twice = with(whole.last().expect("an entry").clone());
    let same_name = with(person("cn=a,ou=p,dc=ex", 77, &csn(1, 9)));
    let without_superior = with(person("cn=x,ou=none,dc=ex", 78, &csn(1, 9)));
    let outside = with(person("cn=x,dc=other", 79, &csn(1, 9)));
    let unknown = {
        let mut entry = person("cn=y,dc=ex", 80, &csn(1, 9));
        entry.attributes.push(("nonsense".into(), vec![b"x".to_vec()]));
        with(entry)
    };
    let ahead = with(person("cn=z,dc=ex", 81, "20990101000000.000000Z#000000#001#000000"));
    for entries in [twice, same_name, without_superior, outside, unknown, ahead] {
        let last = entries.last().expect("an entry").dn.clone();
        assert!(load(&consumer, entries, &covered).is_err(), "{last}");
        assert!(names(&consumer).is_empty(), "{last}");
        assert!(vector(&consumer).is_empty(), "{last}");
    }
    let far: Csn = parsed("20990101000000.000000Z#000000#001#000000");
    assert!(load(&consumer, whole.clone(), &std::iter::once(far).collect()).is_err());
    // The refusals were no obstacle.
    load(&consumer, whole, &covered).expect("loaded");
    assert_eq!(content(&consumer), content(&provider));
}

#[test]
fn a_database_that_gets_an_entry_meanwhile_keeps_it() {
    let provider = provider();
    let mut consumer = Site::open_server(2, LINES);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime");
    let mut load = begin(&consumer, mapping(&consumer)).expect("an empty database");
    assert!(begin(&consumer, mapping(&consumer)).is_none(), "one at a time");
    consumer.become_("cn=root,dc=ex");
    consumer.must_add("dc=ex", "objectClass: domain");
    let ended = runtime.block_on(async {
        for entry in entries_of(&provider) {
            load.add(entry).await?;
        }
        load.install(&vector(&provider)).await
    });
    assert!(ended.is_err());
    assert_eq!(names(&consumer), ["dc=ex"]);
}

#[test]
fn only_a_whole_and_plain_replica_is_loaded_at_once() {
    let plain = Site::open_server(2, LINES);
    for mapping in [
        ReplicaMapping {
            filter: "(sn=a)".into(),
            ..mapping(&plain)
        },
        ReplicaMapping {
            scope: DitScope::OneLevel,
            ..mapping(&plain)
        },
        ReplicaMapping {
            schema_checking: true,
            ..mapping(&plain)
        },
        ReplicaMapping {
            local_base: ironbark_harness::peer::dn(&plain, "ou=p,dc=ex"),
            ..mapping(&plain)
        },
    ] {
        assert!(begin(&plain, mapping).is_none());
    }
    assert!(begin(&plain, mapping(&plain)).is_some());
    let had_entries = provider();
    assert!(begin(&had_entries, mapping(&had_entries)).is_none());
    let without_log = Site::open_server(2, "");
    assert!(begin(&without_log, mapping(&without_log)).is_none());
    assert_eq!(view(&plain, |view| view.entry_count()).expect("readable"), 0);
}
