//! Entries that are found by their UUID, and what of them is changed.

use std::sync::Arc;

use ironbark_directory::{
    AttributeChoice, Incoming, OutcomeKind, PLACE_ATTRIBUTE, ReplicaMapping, ReplicaSession, Replicated, replicate,
    room_for_replica,
};
use ironbark_model::ResultCode;
use ironbark_store::{ChangeKind, ChangeRecord, Effect, ValueChange};

use ironbark_harness::{
    Site,
    peer::{
        LINES, content, context, csn, csn_of, dn, entries_of, entry, made, mapping, message, names, parsed, person,
        refresh, rows, send, shared, vector,
    },
};

/// A provider with a few people, and a consumer that has them.
fn pair() -> (Site, Site) {
    let mut provider = Site::open_server(1, LINES);
    provider.populate();
    let consumer = Site::open_server(2, LINES);
    for sent in entries_of(&provider) {
        assert_eq!(refresh(&consumer, mapping(&consumer), &sent), OutcomeKind::Added);
    }
    (provider, consumer)
}

#[test]
fn a_refresh_gives_the_providers_entries_and_moves_the_vector_at_its_end() {
    let (provider, consumer) = pair();
    assert_eq!(content(&consumer), content(&provider));
    assert!(vector(&consumer).is_empty(), "others of the refresh may still come");
    for (row, sent) in rows(&consumer).iter().zip(entries_of(&provider)) {
        assert_eq!((row.via, row.csn), (9, csn_of(&sent)));
    }
    let end = Replicated {
        cookie: vector(&provider).iter().collect(),
        via: 0,
        ..message(mapping(&consumer), Incoming::Nothing)
    };
    assert_eq!(send(&consumer, end.clone()).expect("applied").kind, OutcomeKind::Noted);
    assert_eq!(vector(&consumer), vector(&provider));
    let count = rows(&consumer).len();
    let last = rows(&consumer).pop().expect("the row of the cookie");
    assert_eq!((last.effects.len(), last.via), (0, ChangeRecord::UNKNOWN_PEER));
    assert_eq!(Some(last.csn), last.cookie.first().copied());
    assert_eq!(send(&consumer, end).expect("applied").kind, OutcomeKind::Noted);
    assert_eq!(
        rows(&consumer).len(),
        count,
        "a cookie that says nothing new has no row"
    );
}

#[test]
fn what_is_equal_or_older_is_not_written() {
    let (mut provider, consumer) = pair();
    let old = entry(&provider, "cn=a,ou=p,dc=ex");
    assert_eq!(refresh(&consumer, mapping(&consumer), &old), OutcomeKind::Same);
    assert_eq!(provider.modify("cn=a,ou=p,dc=ex", "add: description\nd: x").code, 0);
    let new = entry(&provider, "cn=a,ou=p,dc=ex");
    assert_eq!(refresh(&consumer, mapping(&consumer), &new), OutcomeKind::Modified);
    let count = rows(&consumer).len();
    assert_eq!(refresh(&consumer, mapping(&consumer), &old), OutcomeKind::Older);
    assert_eq!(refresh(&consumer, mapping(&consumer), &new), OutcomeKind::Same);
    assert_eq!(rows(&consumer).len(), count);
    assert_eq!(content(&consumer), content(&provider));
}

#[test]
fn only_what_differs_is_changed_and_a_spelling_is_a_difference() {
    let (mut provider, consumer) = pair();
    let name = "cn=a,ou=p,dc=ex";
    let change = "add: description\nd: one\nd: Two\nd: three\n-\nreplace: sn\nsn: S";
    assert_eq!(provider.modify(name, change).code, 0);
    refresh(&consumer, mapping(&consumer), &entry(&provider, name));
    assert_eq!(
        provider
            .modify(name, "replace: description\nd: two\nd: three\nd: four")
            .code,
        0
    );
    assert_eq!(
        refresh(&consumer, mapping(&consumer), &entry(&provider, name)),
        OutcomeKind::Modified
    );
    let last = rows(&consumer).pop().expect("a row");
    let Some(Effect::Modify { changes, .. }) = last.effects.first().map(|recorded| &recorded.effect) else {
        panic!("{last:?}");
    };
    let of = |name: &str| {
        changes
            .iter()
            .filter(|change| change.attribute() == name)
            .collect::<Vec<_>>()
    };
    let values = |values: &[&str]| values.iter().map(|value| value.as_bytes().to_vec()).collect::<Vec<_>>();
    let attribute: Box<str> = "description".into();
    let gone = values(&["one", "Two"]);
    let new = values(&["two", "four"]);
    assert_eq!(
        of("description"),
        [
            &ValueChange::Delete {
                attribute: attribute.clone(),
                values: gone
            },
            &ValueChange::Add { attribute, values: new },
        ]
    );
    assert!(of("sn").is_empty() && of("cn").is_empty() && of("createTimestamp").is_empty());
    assert_eq!(content(&consumer), content(&provider));
}

#[test]
fn a_rename_is_found_by_uuid_and_takes_what_is_below_along() {
    let (mut provider, consumer) = pair();
    provider.must_add("ou=q,dc=ex", "objectClass: organizationalUnit");
    assert_eq!(provider.rename("ou=p,dc=ex", "ou=r", Some("ou=q,dc=ex")).code, 0);
    refresh(&consumer, mapping(&consumer), &entry(&provider, "ou=q,dc=ex"));
    let moved = entry(&provider, "ou=r,ou=q,dc=ex");
    assert_eq!(refresh(&consumer, mapping(&consumer), &moved), OutcomeKind::Renamed);
    assert_eq!(content(&consumer), content(&provider));
    assert_eq!(rows(&consumer).pop().expect("a row").kind, ChangeKind::ModifyDn);
    // A name that is only spelt in another way.
    assert_eq!(provider.rename("cn=a,ou=r,ou=q,dc=ex", "cn=A", None).code, 0);
    let spelt = entry(&provider, "cn=A,ou=r,ou=q,dc=ex");
    assert_eq!(refresh(&consumer, mapping(&consumer), &spelt), OutcomeKind::Renamed);
    assert_eq!(names(&consumer), names(&provider));
}

#[test]
fn a_covered_change_does_nothing_but_its_cookie_is_taken_in() {
    let consumer = Site::open_server(2, LINES);
    let top = made("dc=ex", 1, &csn(1, 1), &[("objectClass", "domain"), ("dc", "ex")]);
    refresh(&consumer, mapping(&consumer), &top);
    let persist = |sent: &Incoming, number: u32, cookie: &[String]| {
        let change = Replicated {
            csn: Some(parsed(&csn(1, number))),
            cookie: cookie.iter().map(|csn| parsed(csn)).collect(),
            ..message(mapping(&consumer), sent.clone())
        };
        send(&consumer, change).expect("applied").kind
    };
    let added = Incoming::Entry(person("cn=a,dc=ex", 2, &csn(1, 5)));
    let deleted = Incoming::Delete { uuid: [2; 16] };
    assert_eq!(persist(&added, 5, &[csn(1, 5)]), OutcomeKind::Added);
    assert_eq!(persist(&deleted, 6, &[csn(1, 6)]), OutcomeKind::Deleted);
    assert_eq!(persist(&added, 5, &[csn(1, 5), csn(3, 4)]), OutcomeKind::Covered);
    assert_eq!(names(&consumer), ["dc=ex"]);
    let taken: Vec<String> = vector(&consumer).iter().map(ironbark_store::Csn::text).collect();
    assert_eq!(taken, [csn(1, 6), csn(3, 4)]);
    assert_eq!(persist(&deleted, 6, &[]), OutcomeKind::Covered);
    // A refresh tells no CSN: the entry is missing here, whatever the vector says.
    assert_eq!(
        refresh(&consumer, mapping(&consumer), &person("cn=b,dc=ex", 3, &csn(1, 2))),
        OutcomeKind::Added
    );
}

#[test]
fn attributes_that_were_not_asked_for_are_left_alone() {
    let (mut provider, mut consumer) = pair();
    let name = "cn=a,ou=p,dc=ex";
    assert_eq!(
        consumer
            .modify(name, "add: description\nd: here\n-\nadd: seeAlso\ns: dc=ex")
            .code,
        0
    );
    provider.clock.advance(std::time::Duration::from_secs(1));
    let change = "add: description\nd: there\n-\nadd: telephoneNumber\nt: 1";
    assert_eq!(provider.modify(name, change).code, 0);
    let excluded = ReplicaMapping {
        attributes: AttributeChoice {
            excluded: vec!["description".into(), "seeAlso".into(), "entryCSN".into()],
            ..AttributeChoice::default()
        },
        ..mapping(&consumer)
    };
    assert_eq!(
        refresh(&consumer, excluded, &entry(&provider, name)),
        OutcomeKind::Modified
    );
    let held = |consumer: &mut Site| consumer.read(name, &["description", "seeAlso", "telephoneNumber"]);
    let expected = "description: here\nseeAlso: dc=ex\ntelephoneNumber: 1\n";
    assert_eq!(held(&mut consumer).as_deref(), Some(expected));
    assert_eq!(
        csn_of(&entry(&consumer, name)),
        csn_of(&entry(&provider, name)),
        "never left out"
    );
    provider.clock.advance(std::time::Duration::from_secs(1));
    assert_eq!(
        provider
            .modify(name, "delete: telephoneNumber\n-\nreplace: sn\nsn: t")
            .code,
        0
    );
    let only = ReplicaMapping {
        attributes: AttributeChoice {
            attributes: vec!["sn".into(), "+".into()],
            ..AttributeChoice::default()
        },
        ..mapping(&consumer)
    };
    assert_eq!(refresh(&consumer, only, &entry(&provider, name)), OutcomeKind::Modified);
    assert_eq!(held(&mut consumer).as_deref(), Some(expected));
    assert_eq!(consumer.read(name, &["sn"]).as_deref(), Some("sn: t\n"));
}

#[test]
fn names_at_the_providers_base_become_names_here() {
    let consumer = Site::open_server(2, LINES);
    let massaged = ReplicaMapping {
        remote_base: dn(&consumer, "o=there"),
        ..mapping(&consumer)
    };
    let top = made("o=there", 1, &csn(1, 1), &[("objectClass", "domain"), ("dc", "ex")]);
    let lines = [
        ("objectClass", "groupOfUniqueNames"),
        ("cn", "g"),
        ("uniqueMember", "cn=x,o=there#'01'B"),
        ("uniqueMember", "cn=x,o=elsewhere"),
        ("seeAlso", "O=There"),
        ("seeAlso", "o=not,c=de"),
        ("description", "cn=x,o=there"),
    ];
    refresh(&consumer, massaged.clone(), &top);
    refresh(&consumer, massaged, &made("cn=g,o=there", 2, &csn(1, 2), &lines));
    assert_eq!(names(&consumer), ["cn=g,dc=ex", "dc=ex"]);
    let mut consumer = consumer;
    let read = consumer.read("cn=g,dc=ex", &["uniqueMember", "seeAlso", "description"]);
    let expected = "uniqueMember: cn=x,dc=ex#'01'B\nuniqueMember: cn=x,o=elsewhere\nseeAlso: dc=ex\n\
                    seeAlso: o=not,c=de\ndescription: cn=x,o=there\n";
    assert_eq!(read.as_deref(), Some(expected));
}

#[test]
fn what_lies_outside_or_cannot_be_stored_is_refused_and_names_the_entry() {
    let (_provider, consumer) = pair();
    let refused = |mapping: ReplicaMapping, sent| {
        let error = send(&consumer, message(mapping, Incoming::Entry(sent))).expect_err("refused");
        (error.result_code, error.diagnostic_message.into_owned())
    };
    let before = (content(&consumer), rows(&consumer).len());
    let below = ReplicaMapping {
        remote_base: dn(&consumer, "ou=p,dc=ex"),
        local_base: dn(&consumer, "ou=p,dc=ex"),
        ..mapping(&consumer)
    };
    let (code, text) = refused(below.clone(), person("cn=z,dc=ex", 7, &csn(1, 1)));
    assert_eq!(code, ResultCode::UNWILLING_TO_PERFORM);
    assert!(text.contains("cn=z,dc=ex"), "{text}");
    // The UUID of an entry outside is not a way to it.
    let mut stolen = entry(&consumer, "dc=ex");
    stolen.dn = "cn=z,ou=p,dc=ex".into();
    assert!(refused(below, stolen).1.contains("is that of \"dc=ex\""));
    let with = |attribute: &str, value: &str| {
        let mut sent = person("cn=z,dc=ex", 7, &csn(1, 1));
        sent.attributes
            .push((attribute.into(), vec![value.as_bytes().to_vec()]));
        sent
    };
    let (code, text) = refused(mapping(&consumer), with("unheardOf", "1"));
    assert_eq!(code, ResultCode::UNDEFINED_ATTRIBUTE_TYPE);
    assert!(text.contains("cn=z,dc=ex") && text.contains("unheardOf"), "{text}");
    let mut nameless = with("description", "1");
    nameless.dn = "nonsense".into();
    assert_eq!(refused(mapping(&consumer), nameless).0, ResultCode::INVALID_DN_SYNTAX);
    let mut csnless = with("description", "1");
    csnless.attributes.retain(|(name, _)| &**name != "entryCSN");
    assert!(refused(mapping(&consumer), csnless).1.contains("no valid entryCSN"));
    let strange = "00000000-0000-0000-0000-000000000001";
    assert!(
        refused(mapping(&consumer), with("entryUUID", strange))
            .1
            .contains("not that of the message")
    );
    let checked = ReplicaMapping {
        schema_checking: true,
        ..mapping(&consumer)
    };
    let (code, text) = refused(checked.clone(), with("ou", "not of a person"));
    assert_eq!(code, ResultCode::OBJECT_CLASS_VIOLATION);
    assert!(text.contains("cn=z,dc=ex"), "{text}");
    assert_eq!(
        refused(checked, with("seeAlso", "no name")).0,
        ResultCode::INVALID_ATTRIBUTE_SYNTAX
    );
    assert_eq!((content(&consumer), rows(&consumer).len()), before);
    let unchecked = refresh(&consumer, mapping(&consumer), &with("ou", "not of a person"));
    assert_eq!(unchecked, OutcomeKind::Added);
}

#[test]
fn a_csn_far_ahead_of_the_clock_is_refused_wherever_it_stands() {
    let consumer = Site::open_server(2, LINES);
    let far = "20260105030405.000000Z#000000#001#000000";
    let in_entry = message(mapping(&consumer), Incoming::Entry(person("dc=ex", 1, far)));
    let in_cookie = Replicated {
        cookie: vec![parsed(far)],
        ..message(mapping(&consumer), Incoming::Nothing)
    };
    let in_delete = Replicated {
        csn: Some(parsed(far)),
        ..message(mapping(&consumer), Incoming::Delete { uuid: [1; 16] })
    };
    // Told with a revision: the last one of the server that made it.
    let mut revised = person("dc=ex", 1, &csn(2, 1).replace("#002#000000", "#002#001001"));
    let place = format!("1 - - {far}").into_bytes();
    revised.attributes.push((PLACE_ATTRIBUTE.into(), vec![place]));
    let in_place = message(shared(&consumer), Incoming::Entry(revised));
    for change in [in_entry, in_cookie, in_delete, in_place] {
        let error = send(&consumer, change).expect_err("three days ahead");
        assert_eq!(error.result_code, ResultCode::UNWILLING_TO_PERFORM);
    }
    assert!(rows(&consumer).is_empty());
}

#[test]
fn nothing_behind_a_refused_message_is_executed() {
    let consumer = Site::open_server(2, LINES);
    let session = ReplicaSession::default();
    let send = |number: u64, change: Replicated| {
        let change = Replicated {
            session: (session.clone(), number),
            ..change
        };
        let queued = replicate(&consumer.directory, &context(&consumer), Arc::new(change));
        queued.expect("queued")
    };
    let entry = |uuid, micros| {
        let name = format!("cn=n{uuid},dc=ex");
        message(
            mapping(&consumer),
            Incoming::Entry(person(&name, uuid, &csn(1, micros))),
        )
    };
    let far = Replicated {
        cookie: vec![parsed("20260105030405.000000Z#000000#001#000000")],
        ..entry(2, 2)
    };
    let behind = Replicated {
        cookie: vec![parsed(&csn(1, 3))],
        ..entry(3, 3)
    };
    let outcomes = [send(0, entry(1, 1)), send(1, far), send(2, behind)];
    let outcomes = outcomes.map(|receiver| receiver.blocking_recv().expect("an end").is_ok());
    assert_eq!(outcomes, [true, false, false]);
    assert_eq!(names(&consumer), ["cn=n1,dc=ex", "dc=ex*"]);
    assert!(
        vector(&consumer).is_empty(),
        "the last cookie would cover what is not here"
    );
}

#[test]
fn a_database_without_a_log_is_no_replica() {
    let site = Site::open("");
    let change = message(mapping(&site), Incoming::Nothing);
    let error = send(&site, change).expect_err("refused");
    assert_eq!(error.result_code, ResultCode::UNWILLING_TO_PERFORM);
    assert!(error.diagnostic_message.contains("changelog-size"), "{error:?}");
}

#[test]
fn entries_without_a_csn_are_compared_by_content_and_stamped_here() {
    let consumer = Site::open_server(2, LINES);
    let plain = ReplicaMapping {
        needs_csn: false,
        ..mapping(&consumer)
    };
    let without = |description: &str| {
        let lines = [("objectClass", "domain"), ("dc", "ex"), ("description", description)];
        let mut sent = made("dc=ex", 1, "", &lines);
        sent.attributes.retain(|(name, _)| &**name != "entryCSN");
        sent
    };
    assert_eq!(refresh(&consumer, plain.clone(), &without("a")), OutcomeKind::Added);
    let first = csn_of(&entry(&consumer, "dc=ex"));
    assert_eq!(refresh(&consumer, plain.clone(), &without("a")), OutcomeKind::Same);
    assert_eq!(refresh(&consumer, plain, &without("b")), OutcomeKind::Modified);
    let second = csn_of(&entry(&consumer, "dc=ex"));
    assert!(second > first && second.server_id() == 2);
    assert!(vector(&consumer).covers(second), "an own change");
}

/// Wakes the thread that waits.
struct Waker(std::thread::Thread);

impl std::task::Wake for Waker {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

#[test]
fn a_full_queue_says_so_and_tells_when_there_is_room() {
    let (_provider, consumer) = pair();
    let context = context(&consumer);
    let mut sent = person("cn=z,dc=ex", 7, &csn(1, 50));
    sent.attributes.push(("description".into(), vec![vec![b'x'; 8 << 20]]));
    let change = Arc::new(message(mapping(&consumer), Incoming::Entry(sent)));
    // The writer waits meanwhile.
    let transaction = context.database().expect("a store").write().expect("a transaction");
    let mut waiting = Vec::new();
    let refused = loop {
        match replicate(&consumer.directory, &context, Arc::clone(&change)) {
            Ok(receiver) => waiting.push(receiver),
            Err(error) => break error,
        }
    };
    assert_eq!(refused.result_code, ResultCode::BUSY);
    assert!(waiting.len() > 1);
    let waker = std::task::Waker::from(Arc::new(Waker(std::thread::current())));
    let mut polling = std::task::Context::from_waker(&waker);
    let mut room = std::pin::pin!(room_for_replica(&context, &change));
    assert!(room.as_mut().poll(&mut polling).is_pending());
    drop(transaction);
    while room.as_mut().poll(&mut polling).is_pending() {
        std::thread::park();
    }
    for receiver in waiting {
        assert!(receiver.blocking_recv().expect("an end").is_ok());
    }
}
