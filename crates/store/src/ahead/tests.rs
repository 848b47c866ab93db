//! Both walks find the same; what is damaged is left to LMDB.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "tests"
)]

use std::{os::unix::fs::FileExt, sync::Arc};

use proptest::prelude::*;

use super::*;
use crate::{
    Database, DatabaseOptions, HeldSnapshot, ValueChange,
    check::file::PageFile,
    common::{Store, add, modify, options, schema, store, store_with, values},
    posting::{IdSet, list},
};

/// Numbers that look random, the same each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

const PEOPLE: u64 = 3000;

/// What entry `n` has; `round` changes some of it.
fn lines(n: u64, round: u64) -> Vec<(&'static str, String)> {
    vec![
        ("uid", format!("u{n}")),
        ("sn", format!("Family {}", n % 700)),
        ("cn", format!("Given {n} Family {}", n % 700)),
        ("level", format!("{}", n * 7 + round)),
        ("born", format!("19{:02}0101{:06}Z", n % 100, n % 60)),
        // Longer than a key, and alike at its beginning.
        (
            "word",
            format!("{}{n}", "long ".repeat(if n.is_multiple_of(50) { 60 } else { 3 })),
        ),
    ]
}

/// People; each hundredth has a record on pages of its own.
fn populated() -> Store {
    let store = store();
    store.people();
    for some in (0..PEOPLE).collect::<Vec<_>>().chunks(500) {
        let adds: Vec<_> = some
            .iter()
            .map(|&n| {
                let (lines, long) = (lines(n, 0), "x".repeat(if n.is_multiple_of(100) { 6000 } else { 30 }));
                let mut all = vec![("objectClass", "inetOrgPerson"), ("description", &long)];
                all.extend(lines.iter().map(|(name, value)| (*name, value.as_str())));
                add(&format!("uid=u{n},ou=people,dc=example,dc=com"), &all)
            })
            .collect();
        store.apply(&adds).unwrap();
    }
    store
}

/// The list of `(attribute=value)`.
fn list_of(held: &HeldSnapshot, attribute: &str, value: &str) -> EqualityList {
    let schema = schema();
    let asked = schema.attribute_description(attribute.as_bytes()).unwrap();
    let rule = schema.attribute_type(asked.attribute_type).equality.unwrap();
    let mut normal = Vec::new();
    rule.assertion(&schema, value.as_bytes(), &mut normal).unwrap();
    held.view().equality_list(&asked, rule, &normal).unwrap()
}

/// Some assertion: two of three are about values that entries have.
fn assertion(held: &HeldSnapshot, numbers: &mut Numbers, round: u64) -> EqualityList {
    let (n, which) = (numbers.below(PEOPLE * 3 / 2), numbers.below(6));
    let (attribute, value) = &lines(n, round.saturating_sub(numbers.below(2)))[which as usize];
    list_of(held, attribute, value)
}

fn held(store: &Arc<Database>) -> HeldSnapshot {
    store.hold().unwrap()
}

fn rows_ahead(held: &HeldSnapshot) -> &RowsAhead {
    let view = held.view();
    view.ahead.unwrap().get_or_make(view.txn, view.tables()).unwrap()
}

/// Looks up lists and the records of their entries in both ways. Returns how many look-ups both ways have answered.
fn compare(held: &HeldSnapshot, lists: &[EqualityList]) -> usize {
    let (ahead, view) = (rows_ahead(held), held.view());
    let found = held.look_ahead(lists);
    let mut answered = 0;
    for (place, list) in lists.iter().enumerate() {
        let expected = list::sole(view.txn, &view.tables().index, &list.0).unwrap();
        match (ahead.sole(&list.0), &expected) {
            (Some(id), Some(IdSet::One(one))) => {
                assert_eq!(id, *one);
                assert!(found.contains(place));
                let row = view
                    .tables()
                    .entries
                    .get(view.txn, varint::Key::new(id).bytes())
                    .unwrap();
                if let Some(record) = ahead.record(view.txn, id) {
                    assert_eq!(Some(record), row, "entry {id}");
                    answered += 1;
                }
                answered += 1;
            }
            (None, _) => assert!(!found.contains(place)),
            (found, expected) => panic!("{found:?} instead of {expected:?}"),
        }
    }
    answered
}

#[test]
fn a_million_look_ups_find_what_lmdb_finds_while_entries_change() {
    const ROUNDS: u64 = 20;
    const LOOKS: usize = 1600;
    let Store {
        database,
        directory: _directory,
    } = populated();
    let database = Arc::new(database);
    let mut numbers = Numbers(1);
    let (mut made, mut answered) = (0, 0);
    for round in 0..ROUNDS {
        let snapshot = held(&database);
        // The snapshot stays what it is while others write.
        let mut write = database.write().unwrap();
        for n in (round..PEOPLE).step_by(17) {
            let change = ValueChange::Replace {
                attribute: "level".into(),
                values: values(&[&lines(n, round + 1)[3].1]),
            };
            write
                .apply_effect(&modify(&format!("uid=u{n},ou=people,dc=example,dc=com"), vec![change]))
                .unwrap();
        }
        let mut write = Some(write);
        for look in 0..LOOKS {
            if look == LOOKS / 2 {
                write.take().unwrap().commit().unwrap();
            }
            let lists: Vec<_> = (0..LANES).map(|_| assertion(&snapshot, &mut numbers, round)).collect();
            answered += compare(&snapshot, &lists);
            made += LANES;
            let ids: Vec<_> = (0..LANES).map(|_| numbers.below(PEOPLE * 2)).collect();
            let (ahead, view) = (rows_ahead(&snapshot), snapshot.view());
            ahead.look_at_candidates(view.txn, &ids);
            for id in ids {
                let row = view
                    .tables()
                    .entries
                    .get(view.txn, varint::Key::new(id).bytes())
                    .unwrap();
                if let Some(record) = ahead.candidates.get(|known| *known == id) {
                    assert_eq!(ahead.pages.of(view.txn).bytes(record), row);
                    answered += 1;
                }
                made += 1;
            }
        }
    }
    assert!(made >= 1_000_000, "{made}");
    // The rest is absent, has several entries, or is the last row of its leaf.
    assert!(answered * 10 > made * 4, "{answered} of {made}");
}

#[test]
fn nearly_all_single_entries_are_found() {
    let Store {
        database,
        directory: _directory,
    } = populated();
    let snapshot = held(&Arc::new(database));
    let all: Vec<_> = (0..PEOPLE)
        .map(|n| list_of(&snapshot, "uid", &format!("u{n}")))
        .collect();
    let answered: usize = all.chunks(LANES).map(|some| compare(&snapshot, some)).sum();
    assert!(answered as u64 > 2 * PEOPLE * 9 / 10, "{answered} of {}", 2 * PEOPLE);
}

#[test]
fn nothing_is_looked_up_ahead_where_the_kernel_does_not_read_ahead() {
    let Store {
        database,
        directory: _directory,
    } = store_with(|options| options.no_read_ahead = true);
    assert!(!database.looks_ahead());
    let snapshot = held(&Arc::new(database));
    assert!(
        snapshot
            .view()
            .ahead
            .unwrap()
            .get_or_make(snapshot.view().txn, snapshot.view().tables())
            .is_none()
    );
    assert_eq!(
        snapshot.look_ahead(&[EqualityList(ListName::from_slice(b"x"))]),
        FoundAhead::default()
    );
}

#[test]
fn an_empty_database_is_looked_up_too() {
    let Store {
        database,
        directory: _directory,
    } = store();
    assert!(database.looks_ahead());
    let snapshot = held(&Arc::new(database));
    let list = EqualityList(ListName::from_slice(&[1, 1, 2, 3, 4, 5, 6]));
    assert_eq!(snapshot.look_ahead(&[list]), FoundAhead::default());
}

/// A file's bytes, and the trees that its last commit has.
struct Image {
    bytes: Vec<u8>,
    page_size: usize,
    index: Root,
    entries: Root,
    keys: Vec<Vec<u8>>,
}

fn image() -> &'static Image {
    static IMAGE: std::sync::LazyLock<Image> = std::sync::LazyLock::new(|| {
        let Store { database, directory } = populated();
        let snapshot = held(&Arc::new(database));
        let (ahead, view) = (rows_ahead(&snapshot), snapshot.view());
        let rows = view.tables().index.iter(view.txn).unwrap().map(Result::unwrap);
        Image {
            bytes: std::fs::read(directory.path().join("data.mdb")).unwrap(),
            page_size: PageFile::open(&directory.path().join("data.mdb"))
                .unwrap()
                .unwrap()
                .page_size(),
            index: ahead.index,
            entries: ahead.entries,
            keys: rows.step_by(97).map(|(key, _)| key.to_vec()).collect(),
        }
    });
    &IMAGE
}

/// Walks in a file of these bytes. Returns how many keys were found.
fn walk_in(image: &Image, bytes: &[u8]) -> usize {
    let pages = Mapped::over(bytes, image.page_size).unwrap();
    let mut found = 0;
    for (root, keys) in [
        (&image.index, image.keys.as_slice()),
        (&image.entries, &[vec![5], vec![0x83, 0xe8]]),
    ] {
        for some in keys.chunks(LANES) {
            for lane in walk::descend(pages, root, some.iter().map(Vec::as_slice)) {
                let Some(node) = lane.node() else { continue };
                let value = pages.place(node).and_then(|place| pages.bytes(place));
                found += usize::from(node.key == some[lane.number].as_slice() && value.is_some());
            }
        }
    }
    found
}

#[test]
fn pages_that_are_sound_are_walked() {
    let image = image();
    assert_eq!(walk_in(image, &image.bytes), image.keys.len() + 2);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]
    /// Every byte that is read lies in the file, or the walk would panic or be caught as a fault.
    #[test]
    fn damaged_pages_are_left_to_lmdb(
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..400),
        headers: bool,
        cut in any::<prop::sample::Index>(),
        is_cut: bool,
    ) {
        let image = image();
        let mut bytes = image.bytes.clone();
        for (place, byte) in damage {
            let at = place.index(bytes.len());
            // Headers and places of nodes are where damage leads elsewhere.
            let at = if headers { at - at % image.page_size + at % 64 } else { at };
            bytes[at] = byte;
        }
        if is_cut {
            let pages = cut.index(bytes.len() / image.page_size);
            bytes.truncate((pages + 1) * image.page_size);
        }
        let found = walk_in(image, &bytes);
        prop_assert!(found <= image.keys.len() + 2);
    }
}

#[test]
fn a_tree_with_other_roots_does_not_agree() {
    let Store {
        database,
        directory: _directory,
    } = populated();
    let tables = Tables {
        index: database.ground.tables.names,
        ..database.ground.tables
    };
    assert!(map_of(&database.env, &database.ground.tables).unwrap().is_some());
    assert!(map_of(&database.env, &tables).unwrap().is_none());
}

/// Where the map begins is not computed from what a page says, which may be damaged.
#[test]
fn a_page_with_a_wrong_number_does_not_move_the_map() {
    let Store { database, directory } = populated();
    drop(database);
    let path = directory.path().join("data.mdb");
    let file = PageFile::open(&path).unwrap().unwrap();
    let root = file.newest().unwrap().unwrap().main.page.unwrap();
    let place = root * file.page_size() as u64;
    let looks_ahead = |number: u64| {
        let data = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        data.write_all_at(&number.to_ne_bytes(), place).unwrap();
        let options = DatabaseOptions {
            read_only: true,
            ..options(directory.path())
        };
        Database::open(options, schema()).unwrap().looks_ahead()
    };
    for number in [0, root - 1, root + 1, root + 3000, 1 << 34, 1 << 50, u64::MAX] {
        assert!(looks_ahead(number), "{number}");
    }
}
