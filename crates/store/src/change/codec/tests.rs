//! Records are read back as they were written, their bytes are as documented, and hostile bytes do no harm.

use proptest::prelude::*;

use super::*;

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
    (effect, any::<[u8; 16]>(), any::<[bool; 2]>()).prop_map(|((effect, gone), entry_uuid, [internal, silent])| {
        RecordedEffect {
            effect,
            marks: Marks { internal, silent },
            before: Before { entry_uuid, gone },
        }
    })
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
    );
    (head, who, rest).prop_map(
        move |(head, (author, authenticated, kind), (request, effects, requested, cookie))| {
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
            }
        },
    )
}

proptest! {
    #[test]
    fn what_is_written_is_read(record in records()) {
        let mut bytes = Vec::new();
        record.encode(&mut bytes);
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
            },
        }],
        requested: vec![RequestedChange::AsApplied(0)],
        cookie: vec![csn],
        ..ChangeRecord::default()
    };
    let mut bytes = Vec::new();
    record.encode(&mut bytes);
    let csn_bytes = csn.octets();
    assert_eq!(
        csn_bytes, *b"\x01\x09\xb0\x64\xd8\x45\xe0\x00\x00\x00\x01\x00\x00\x02\x00\x0a",
        "{csn_bytes:02x?}"
    );
    let expected = [
        &b"\x02\x01\x02\x03\x04\x05\x06\x07\x08\x81\x2c"[..],
        &[0; 16],
        &csn_bytes,
        b"\x03\xff\xff\xff\xff\xff\xff\xff\xff\x03\x01u\x00",
        b"\x01\x02\x05",
        &[9; 16],
        b"\x04dc=a\x01\x03\x02cn\x01\x01x\x01\x01y",
        b"\x07\x07\x01\x01p\x01\x031.2\x01\x01\x05\x00\x01",
        &csn_bytes,
    ];
    assert_eq!(bytes, expected.concat());
}

#[test]
fn a_later_version_is_told_apart() {
    assert!(
        ChangeRecord::decode(&[3, 1])
            .unwrap_err()
            .to_string()
            .contains("later version")
    );
}
