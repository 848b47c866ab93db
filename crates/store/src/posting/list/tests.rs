//! A posting list behaves as a set, whatever the order of changes.

use std::collections::BTreeSet;

use heed::EnvOpenOptions;
use proptest::prelude::*;

use super::*;
use crate::posting::Cursor;
use crate::tables::{Environment, TABLE_COUNT, Tables};

fn environment() -> (tempfile::TempDir, Environment, Tables) {
    let directory = tempfile::tempdir().unwrap();
    let mut options = EnvOpenOptions::new().read_txn_without_tls();
    options.map_size(64 << 20).max_dbs(TABLE_COUNT);
    // SAFETY: the directory is this test's own; no other process maps the file.
    #[allow(unsafe_code)]
    let env = unsafe { options.open(directory.path()).unwrap() };
    let tables = Tables::create(&env).unwrap();
    (directory, env, tables)
}

fn ids(txn: &RoTxn<'_>, table: &Table, list: &[u8]) -> BTreeSet<u64> {
    let mut all = BTreeSet::new();
    for row in table.prefix_iter(txn, list).unwrap() {
        let (key, value) = row.unwrap();
        let first = first_of(list, key).unwrap();
        assert!(value.len() <= MAX_BYTES);
        for &(from, to) in Runs::decode(first, value).unwrap().as_slice() {
            for id in from..=to {
                assert!(all.insert(id), "{id} twice");
            }
        }
    }
    all
}

fn read(txn: &RoTxn<'_>, table: &Table, list: &[u8]) -> Result<IdSet, StoreError> {
    let mut set = IdSet::Nothing;
    read_into(txn, table, list, &mut set)?;
    Ok(set)
}

#[test]
fn a_list_grows_by_chunks_and_shrinks_to_nothing() {
    let (_directory, env, tables) = environment();
    let mut txn = env.write_txn().unwrap();
    let mut expected = BTreeSet::new();
    for i in 0..6000u64 {
        let id = i * 1000 + (i * 7919) % 997 + 1;
        insert(&mut txn, &tables.index, b"k", id).unwrap();
        expected.insert(id);
    }
    assert_eq!(ids(&txn, &tables.index, b"k"), expected);
    let estimate = estimate(&txn, &tables.index, b"k", 0).unwrap();
    assert!(!estimate.complete || estimate.count == 6000);
    assert!((5000..7000).contains(&estimate.count), "{estimate:?}");
    let read = read(&txn, &tables.index, b"k").unwrap();
    assert_eq!(read.len(), 6000);
    for &id in &expected {
        remove(&mut txn, &tables.index, b"k", id).unwrap();
    }
    assert!(tables.index.is_empty(&txn).unwrap());
}

#[test]
fn lists_with_one_id_and_neighbouring_keys_keep_apart() {
    let (_directory, env, tables) = environment();
    let mut txn = env.write_txn().unwrap();
    insert(&mut txn, &tables.index, b"ka", 5).unwrap();
    insert(&mut txn, &tables.index, b"kb", 6).unwrap();
    insert(&mut txn, &tables.index, b"kc", 6).unwrap();
    assert!(matches!(sole(&txn, &tables.index, b"kb").unwrap(), Some(IdSet::One(6))));
    assert!(matches!(
        sole(&txn, &tables.index, b"kbb").unwrap(),
        Some(IdSet::Nothing)
    ));
    remove(&mut txn, &tables.index, b"kb", 5).unwrap();
    assert_eq!(ids(&txn, &tables.index, b"kb").len(), 1);
    let mut set = IdSet::Nothing;
    read_prefix(&txn, &tables.index, b"k", 1, &mut set).unwrap();
    assert_eq!(set.len(), 2);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn a_list_is_a_set(
        changes in proptest::collection::vec((0u8..4, 1u64..4000, 1u64..1 << 40), 1..1500),
    ) {
        let (_directory, env, tables) = environment();
        let mut txn = env.write_txn().unwrap();
        let mut expected = BTreeSet::new();
        for (kind, near, far) in changes {
            match kind {
                0 => {
                    insert(&mut txn, &tables.index, b"k", far).unwrap();
                    expected.insert(far);
                }
                1 | 2 => {
                    insert(&mut txn, &tables.index, b"k", near).unwrap();
                    expected.insert(near);
                }
                _ => {
                    remove(&mut txn, &tables.index, b"k", near).unwrap();
                    expected.remove(&near);
                }
            }
        }
        prop_assert_eq!(ids(&txn, &tables.index, b"k"), expected.clone());
        let set = read(&txn, &tables.index, b"k").unwrap();
        prop_assert_eq!(set.len(), expected.len() as u64);
        prop_assert!(expected.iter().all(|&id| set.contains(id)));
    }
    #[test]
    fn a_cursor_reads_and_sifts(
        ids in prop_oneof![
            proptest::collection::btree_set(1u64..400_000, 0..5000),
            proptest::collection::btree_set(1u64..9000, 0..6000),
            proptest::collection::btree_set(1u64..1 << 40, 0..3000),
        ],
        asked in prop_oneof![
            proptest::collection::btree_set(0u64..400_000, 0..400),
            proptest::collection::btree_set(0u64..9500, 0..3000),
            proptest::collection::btree_set(any::<u64>(), 0..40),
        ],
        most in 1usize..300,
        step in 1usize..300,
    ) {
        let (_directory, env, tables) = environment();
        let mut txn = env.write_txn().unwrap();
        let list: Vec<u64> = ids.iter().copied().collect();
        insert_sorted(&mut txn, &tables.index, b"k", &list).unwrap();
        for neighbour in [b"j", b"l"] {
            insert_sorted(&mut txn, &tables.index, neighbour, &[1, 7, 1 << 41]).unwrap();
        }
        txn.commit().unwrap();
        let txn = env.read_txn().unwrap();
        let open = || Cursor::new(&txn, tables.index, b"k"[..].into());
        let (mut cursor, mut from) = (open(), 0);
        for &id in asked.iter().filter(|id| **id < u64::MAX) {
            if id < from {
                continue;
            }
            let mut read = Vec::new();
            cursor.read(id, most, &mut read).unwrap();
            prop_assert_eq!(&read, &ids.range(id..).take(most).copied().collect::<Vec<_>>(), "{}", id);
            from = read.last().map_or(from, |last| last + 1);
        }
        let (mut cursor, mut sifted) = (open(), Vec::new());
        let asked: Vec<u64> = asked.into_iter().collect();
        for part in asked.chunks(step) {
            let mut part = part.to_vec();
            cursor.sift(&mut part).unwrap();
            sifted.append(&mut part);
        }
        prop_assert_eq!(sifted, asked.into_iter().filter(|id| ids.contains(id)).collect::<Vec<_>>());
        let limit = ids.len() as u64;
        prop_assert!(!exceeds(&txn, &tables.index, b"k", limit).unwrap());
        prop_assert!(limit == 0 || exceeds(&txn, &tables.index, b"k", limit - 1).unwrap());
    }
    #[test]
    fn insert_sorted_is_insert(
        first in proptest::collection::btree_set(1u64..100_000, 0..2000),
        second in proptest::collection::btree_set(1u64..100_000, 0..2000),
    ) {
        let (_directory, env, tables) = environment();
        let mut txn = env.write_txn().unwrap();
        for part in [&first, &second] {
            let part: Vec<u64> = part.iter().copied().collect();
            insert_sorted(&mut txn, &tables.index, b"k", &part).unwrap();
        }
        prop_assert_eq!(ids(&txn, &tables.index, b"k"), first.union(&second).copied().collect());
    }
}
