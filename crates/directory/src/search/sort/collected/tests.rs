//! The order of keys as octets, and the limits of memory.
#![allow(clippy::expect_used, reason = "a panic fails the test")]

use ironbark_model::ResultCode;

use super::*;

type Keys<'k> = &'k [(Option<&'k [u8]>, bool)];

fn collect(collected: &mut Collected, keys: Keys<'_>, id: EntryId) -> Result<(), OperationError> {
    let mut entry = collected.begin();
    for (key, is_reverse) in keys {
        entry.add(key.map(<[u8]>::to_vec).as_ref(), *is_reverse)?;
    }
    entry.finish(1, id)
}

fn order(collected: &Collected) -> Vec<EntryId> {
    (0..collected.len())
        .filter_map(|at| collected.get(at))
        .map(|(_, id)| id)
        .collect()
}

#[test]
fn octets_have_the_order_of_the_keys() {
    let values: [Option<&[u8]>; 9] = [
        Some(b""),
        Some(b"\0"),
        Some(b"\0\0"),
        Some(b"\0\x01"),
        Some(b"a"),
        Some(b"a\0"),
        Some(b"a\0b"),
        Some(b"ab"),
        None,
    ];
    for is_reverse in [false, true] {
        let mut collected = Collected::default();
        let mut expected: Vec<(usize, usize, EntryId)> = Vec::new();
        for (number, second) in (0..values.len()).rev().enumerate() {
            for first in 0..values.len() {
                let id = (number * values.len() + first) as EntryId;
                let keys = [(values[first], is_reverse), (values[second], false)];
                collect(&mut collected, &keys, id).expect("there is room");
                let first = if is_reverse { values.len() - first } else { first };
                expected.push((first, second, id));
            }
        }
        expected.sort_unstable();
        assert!(collected.order(None));
        let expected: Vec<EntryId> = expected.into_iter().map(|(_, _, id)| id).collect();
        assert_eq!(order(&collected), expected, "{is_reverse}");
        collected.truncate(10).expect("there is room");
        collect(&mut collected, &[(Some(b""), is_reverse), (Some(b""), false)], 1_000).expect("there is room");
        assert!(collected.order(None));
        let at = order(&collected).iter().position(|id| *id == 1_000);
        assert_eq!(
            at,
            Some(if is_reverse { 10 } else { 1 }),
            "behind its equal, if that is still there"
        );
    }
}

#[test]
fn what_is_given_up_holds_nothing() {
    let mut collected = Collected::default();
    collected
        .begin()
        .add(Some(&b"abc".to_vec()), false)
        .expect("there is room");
    assert_eq!(collected.octets(), 0);
}

#[test]
fn octets_have_a_limit() {
    let mut collected = Collected::default();
    let key = vec![b'a'; 8 << 20];
    let mut count = 0;
    let error = loop {
        match collect(&mut collected, &[(Some(&key), false)], count) {
            Ok(()) => count += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(error.result_code, ResultCode::ADMIN_LIMIT_EXCEEDED);
    assert!((30..32).contains(&count) && collected.octets() <= LIMIT, "{count}");
    collected.forget_keys();
    assert!(collected.octets() < 1_000);
}

#[test]
fn long_keys_cost_more_to_compare() {
    let spent = |length: usize| {
        let mut collected = Collected::default();
        for id in 0..100 {
            collect(&mut collected, &[(Some(&vec![b'a'; length]), false)], id).expect("there is room");
        }
        let budget = Budget::new(1 << 30);
        assert!(collected.order(Some(&budget)));
        (1 << 30) - budget.left()
    };
    assert!(spent(20_000) > 10 * spent(10), "{} {}", spent(20_000), spent(10));
}

#[test]
fn entries_follow_their_databases_to_other_numbers_and_none_is_left_behind() {
    let mut collected = Collected::default();
    for (context, id) in [(3, 7), (5, 8), (3, 9)] {
        collected.begin().finish(context, id).unwrap();
    }
    assert!(collected.renumber(&[(3, 2), (5, 3)]));
    let all: Vec<_> = (0..3).filter_map(|at| collected.get(at)).collect();
    assert_eq!(all, [(2, 7), (3, 8), (2, 9)]);
    assert!(!collected.renumber(&[(3, 3)]), "the database 2 is gone");
}
