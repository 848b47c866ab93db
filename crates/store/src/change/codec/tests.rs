//! Records are read back as they were written, their bytes are as documented, and hostile bytes do no harm.

use proptest::prelude::*;

use super::*;
use crate::{
    change::{
        Before, ChangeKind, Effect, Gone, Marks, RecordedEffect, RequestFacts, RequestedChange, RequestedControl,
        RequestedKind, RequestedModification, TextAttribute, ValueChange,
    },
    csn::{Csn, OCTETS},
};

fn text() -> impl Strategy<Value = Box<str>> {
    ".{0,12}".prop_map(Into::into)
}

fn values() -> impl Strategy<Value = Vec<Vec<u8>>> {
    proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..20), 0..4)
}

fn attributes() -> impl Strategy<Value = Vec<TextAttribute>> {
    proptest::collection::vec((text(), values()), 0..4)
}

fn csn() -> impl Strategy<Value = Csn> {
    any::<[u8; OCTETS]>().prop_map(|octets| Csn::from_octets(&octets))
}

/// Value changes, and the values that they have removed where these are known.
fn changes() -> impl Strategy<Value = (Vec<ValueChange>, Gone)> {
    let change = (0u8..3, text(), values(), values()).prop_map(|(kind, attribute, values, gone)| match kind {
        0 => (ValueChange::Add { attribute, values }, Vec::new()),
        1 => (ValueChange::Delete { attribute, values }, gone),
        _ => (ValueChange::Replace { attribute, values }, gone),
    });
    (proptest::collection::vec(change, 0..4), any::<bool>()).prop_map(|(pairs, is_known)| {
        let (changes, gone) = pairs.into_iter().unzip();
        (changes, if is_known { Gone::Values(gone) } else { Gone::Unknown })
    })
}

fn effects() -> impl Strategy<Value = RecordedEffect> {
    let effect = prop_oneof![
        (text(), attributes()).prop_map(|(dn, attributes)| (Effect::Add { dn, attributes }, Gone::Unknown)),
        (text(), changes()).prop_map(|(dn, (changes, gone))| (Effect::Modify { dn, changes }, gone)),
        (text(), text(), changes())
            .prop_map(|(dn, new_dn, (changes, gone))| (Effect::Rename { dn, new_dn, changes }, gone)),
        (text(), attributes()).prop_map(|(dn, attributes)| (Effect::Delete { dn }, Gone::Entry(attributes))),
        text().prop_map(|dn| (Effect::Delete { dn }, Gone::Unknown)),
    ];
    (effect, any::<[u8; 16]>(), any::<[bool; 2]>(), attributes()).prop_map(
        |((effect, gone), entry_uuid, [internal, silent], kept)| RecordedEffect {
            effect,
            marks: Marks { internal, silent },
            before: Before { entry_uuid, gone, kept },
        },
    )
}

fn requested() -> impl Strategy<Value = RequestedChange> {
    let kinds = [
        RequestedKind::Add,
        RequestedKind::Delete,
        RequestedKind::Replace,
        RequestedKind::Increment,
    ];
    let modification = (0usize..4, text(), values()).prop_map(move |(kind, attribute, values)| RequestedModification {
        kind: kinds[kind],
        attribute,
        values,
    });
    let modifications = proptest::collection::vec(modification, 0..4);
    prop_oneof![
        (0usize..300).prop_map(RequestedChange::AsApplied),
        (text(), attributes()).prop_map(|(dn, attributes)| RequestedChange::Add { dn, attributes }),
        (text(), modifications).prop_map(|(dn, modifications)| RequestedChange::Modify { dn, modifications }),
        (text(), text(), any::<bool>(), proptest::option::of(text())).prop_map(
            |(dn, new_rdn, delete_old_rdn, new_superior)| RequestedChange::ModifyDn {
                dn,
                new_rdn,
                delete_old_rdn,
                new_superior
            }
        ),
        text().prop_map(|dn| RequestedChange::Delete { dn }),
        (text(), attributes()).prop_map(|(dn, attributes)| RequestedChange::Former { dn, attributes }),
    ]
}

fn facts() -> impl Strategy<Value = RequestFacts> {
    let control = (text(), any::<bool>()).prop_map(|(oid, critical)| RequestedControl { oid, critical });
    let controls = proptest::collection::vec(control, 0..3);
    (any::<[u64; 2]>(), text(), controls).prop_map(|([connection, operation], peer_name, controls)| RequestFacts {
        connection,
        operation,
        peer_name,
        controls,
    })
}

fn records() -> impl Strategy<Value = ChangeRecord> {
    let kinds = [
        ChangeKind::Add,
        ChangeKind::Delete,
        ChangeKind::Modify,
        ChangeKind::ModifyDn,
    ];
    let head = (any::<[u64; 2]>(), any::<[u8; 16]>(), csn(), any::<u16>(), any::<i64>());
    let who = (text(), text(), 0usize..4);
    let rest = (
        proptest::option::of(facts()),
        proptest::collection::vec(effects(), 0..5),
        proptest::collection::vec(requested(), 0..3),
        proptest::collection::vec(csn(), 0..3),
        (
            proptest::collection::vec(any::<[u8; 16]>(), 0..3),
            proptest::collection::vec((text(), proptest::collection::vec(any::<u8>(), 0..20)), 0..3),
            proptest::collection::vec(any::<u16>(), 0..3),
            proptest::option::of(csn()),
        ),
    );
    (head, who, rest).prop_map(
        move |(
            head,
            (author, authenticated, kind),
            (request, effects, requested, cookie, (buried, notes, forgotten, revised_by)),
        )| {
            let ([generation, sequence], predecessor, csn, via, unix_micros) = head;
            ChangeRecord {
                position: Position { generation, sequence },
                predecessor,
                csn,
                via,
                unix_micros,
                author,
                authenticated,
                request,
                kind: kinds[kind],
                effects,
                requested,
                cookie,
                buried,
                notes,
                forgotten,
                revised_by,
            }
        },
    )
}

proptest! {
    #[test]
    fn what_is_written_is_read(record in records()) {
        let mut bytes = record.encode();
        prop_assert_eq!(ChangeRecord::decode(&bytes).unwrap(), record);
        for cut in 0..bytes.len() {
            prop_assert!(ChangeRecord::decode(&bytes[..cut]).is_err());
        }
        bytes.push(0);
        prop_assert!(ChangeRecord::decode(&bytes).is_err());
    }

    #[test]
    fn hostile_bytes_are_refused(mut bytes in proptest::collection::vec(any::<u8>(), 0..120)) {
        let _ = ChangeRecord::decode(&bytes);
        if let Some(first) = bytes.first_mut() { *first = VERSION; }
        let _ = ChangeRecord::decode(&bytes);
    }
}

#[test]
fn the_encoding_is_as_documented() {
    let replace = ValueChange::Replace {
        attribute: "cn".into(),
        values: vec![b"x".to_vec()],
    };
    let csn = Csn::parse(b"19700101000000.000000Z#000001#00a#000002").unwrap();
    let record = ChangeRecord {
        position: Position {
            generation: 0x0102_0304_0506_0708,
            sequence: 300,
        },
        csn,
        via: 3,
        unix_micros: -1,
        author: "u".into(),
        request: Some(RequestFacts {
            connection: 7,
            operation: 1,
            peer_name: "p".into(),
            controls: vec![RequestedControl {
                oid: "1.2".into(),
                critical: true,
            }],
        }),
        effects: vec![RecordedEffect {
            effect: Effect::Modify {
                dn: "dc=a".into(),
                changes: vec![replace],
            },
            marks: Marks {
                internal: true,
                silent: false,
            },
            before: Before {
                entry_uuid: [9; 16],
                gone: Gone::Values(vec![vec![b"y".to_vec()]]),
                kept: vec![("sn".into(), vec![b"z".to_vec()])],
            },
        }],
        requested: vec![RequestedChange::AsApplied(0)],
        cookie: vec![csn],
        ..ChangeRecord::default()
    };
    let csn_bytes = csn.octets();
    assert_eq!(
        csn_bytes, *b"\x01\x09\xb0\x64\xd8\x45\xe0\x00\x00\x00\x01\x00\x00\x02\x00\x0a",
        "{csn_bytes:02x?}"
    );
    let expected = [
        &b"\x03\xf6\x01\x02\x03\x04\x05\x06\x07\x08\x81\x2c"[..],
        &csn_bytes,
        b"\x03\x01\x04u\x00",
        b"\x01\x75",
        &[9; 16],
        b"\x10dc=a\x01\x03\x08cn\x01\x04x\x01\x04y\x01\x08sn\x01\x04z",
        b"\x07\x07\x01\x04p\x01\x0c1.2\x01\x01\x05\x00\x01",
        &csn_bytes,
    ];
    assert_eq!(record.encode(), expected.concat());
}

/// A modification as clients make them: an old and a new value, and what the server writes of it.
fn modification(number: u64) -> ChangeRecord {
    let csn = |number: u64| Csn::parse(format!("20260101000000.{number:06}Z#000000#001#000000").as_bytes()).unwrap();
    let author = "cn=admin,dc=example,dc=com";
    let changes = [
        ("description", format!("value {number}"), format!("former {number}")),
        ("entryCSN", csn(number).text(), csn(number + 500).text()),
        ("modifiersName", author.to_owned(), author.to_owned()),
        (
            "modifyTimestamp",
            "20260101000000Z".to_owned(),
            "20250101000000Z".to_owned(),
        ),
    ];
    let gone = changes
        .iter()
        .map(|(_, _, former)| vec![former.clone().into_bytes()])
        .collect();
    let changes = changes.map(|(attribute, value, _)| ValueChange::Replace {
        attribute: attribute.into(),
        values: vec![value.into_bytes()],
    });
    ChangeRecord {
        position: Position {
            generation: 7,
            sequence: number,
        },
        csn: csn(number),
        unix_micros: csn(number).unix_micros(),
        author: author.into(),
        authenticated: author.into(),
        effects: vec![RecordedEffect {
            effect: Effect::Modify {
                dn: format!("uid=user{number},ou=people,dc=example,dc=com").into(),
                changes: changes.to_vec(),
            },
            marks: Marks::default(),
            before: Before {
                entry_uuid: [9; 16],
                gone: Gone::Values(gone),
                kept: Vec::new(),
            },
        }],
        requested: vec![RequestedChange::Modify {
            dn: format!("uid=user{number},ou=people,dc=example,dc=com").into(),
            modifications: vec![RequestedModification {
                kind: RequestedKind::Replace,
                attribute: "description".into(),
                values: vec![format!("value {number}").into()],
            }],
        }],
        ..ChangeRecord::default()
    }
}

#[test]
fn what_repeats_in_a_row_takes_a_byte() {
    let (mut row, mut shared, mut lengths) = (Vec::new(), Shared::default(), Vec::new());
    for number in 1..=3 {
        let before = row.len();
        modification(number).append(&mut row, &mut shared);
        lengths.push(row.len() - before);
    }
    assert!(lengths[0] < 280 && lengths[1] < 125, "{lengths:?}");
    let (mut at, mut shared) = (0, Shared::default());
    for number in 1..=3 {
        assert_eq!(
            ChangeRecord::take(&row, &mut at, &mut shared),
            Some(modification(number))
        );
    }
    assert_eq!(at, row.len());
}

#[test]
fn a_reference_to_nothing_is_refused() {
    let mut bytes = vec![VERSION, 2];
    bytes.extend_from_slice(&[0; OCTETS]);
    // The author is the text of a place that remembers none.
    bytes.extend_from_slice(&[0, 5, 0]);
    assert!(ChangeRecord::decode(&bytes).is_err());
}

#[test]
fn a_later_version_is_told_apart() {
    assert!(
        ChangeRecord::decode(&[VERSION + 1, 1])
            .unwrap_err()
            .to_string()
            .contains("later version")
    );
}
