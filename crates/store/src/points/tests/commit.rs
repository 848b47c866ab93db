//! What readers see at each point of a commit and of their own way to a snapshot: version, content and numbers agree.

use std::{cell::RefCell, fs::OpenOptions, os::unix::fs::FileExt, rc::Rc, sync::Arc};

use super::{
    hook::looking_on,
    model::{Act, Model, Step, read},
};
use crate::{
    Database, HeldSnapshot, Version,
    common::{add, dn, options, schema},
    points::Point,
};

/// Place of the number of the last commit in `lock.mdb`: LMDB's new readers take it from there.
const LAST_COMMIT: u64 = 8;

struct Site {
    database: Arc<Database>,
    folder: tempfile::TempDir,
}

/// What a snapshot shows.
type Seen = (Version, Model);

impl Site {
    /// Entries that share a set.
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let database = Arc::new(Database::open(options(folder.path()), schema()).unwrap());
        let base = [("objectClass", "domain"), ("dc", "example")];
        let mut write = database.write().unwrap();
        write.apply_effect(&add("dc=example,dc=com", &base)).unwrap();
        for entry in 0..4 {
            write.apply_effect(&step(Act::Add, entry, 0, 5).effect()).unwrap();
        }
        write.commit().unwrap();
        assert_eq!(read(&database).1, 1);
        Self { database, folder }
    }

    /// Gives a number to an attribute and to a set: the value is one that no set has.
    fn commit(database: &Database, option: u8, value: u8) {
        let mut write = database.write().unwrap();
        for entry in 0..4 {
            write
                .apply_effect(&step(Act::Set, entry, option, value).effect())
                .unwrap();
        }
        write.commit().unwrap();
    }
}

fn step(act: Act, entry: u8, option: u8, value: u8) -> Step {
    Step {
        act,
        entry,
        option,
        value,
    }
}

fn seen(held: &HeldSnapshot) -> Seen {
    (held.version(), Model::shown(held.view()))
}

/// What a new snapshot shows.
fn newest(database: &Arc<Database>) -> Seen {
    let held = database.hold().unwrap();
    let snapshot = database.snapshot().unwrap();
    let seen = seen(&held);
    assert_eq!(seen, (snapshot.version(), Model::shown(snapshot.view())));
    seen
}

/// Sets and attributes that a new snapshot knows of, beyond those that it can hold.
fn known_too_early(database: &Database) -> (u64, u64) {
    let snapshot = database.snapshot().unwrap();
    let tables = &database.ground.tables;
    let sets = snapshot.numbering.sets.count() as u64 - tables.sets.len(&snapshot.txn).unwrap();
    let attributes = snapshot.numbering.catalog.texts().len() as u64;
    (sets, attributes - tables.attributes.len(&snapshot.txn).unwrap())
}

#[test]
fn at_each_point_of_a_commit_readers_see_one_version_of_all() {
    let site = Site::new();
    let old = site.database.hold().unwrap();
    let before = seen(&old);
    let points = Rc::new(RefCell::new(Vec::new()));
    let (database, passed, expected) = (Arc::clone(&site.database), Rc::clone(&points), before.clone());
    let look = move |point| {
        passed.borrow_mut().push(point);
        let now = newest(&database);
        let early = known_too_early(&database);
        match point {
            Point::Begun | Point::Written => assert_eq!((&now, early), (&expected, (0, 0)), "{point:?}"),
            // Readers may need these from one moment to the next.
            Point::Published => assert_eq!((&now, early), (&expected, (1, 1))),
            _ => {
                assert!(now.0 != expected.0 && now.1 != expected.1, "{point:?}");
                assert_eq!(early, (0, 0));
            }
        }
    };
    looking_on(look, || Site::commit(&site.database, 1, 4));
    assert_eq!(
        *points.borrow(),
        [Point::Begun, Point::Written, Point::Published, Point::Committed]
    );
    assert_eq!(seen(&old), before, "a snapshot stays as it was");
    assert!(!old.is_current());
}

#[test]
fn between_the_meta_page_and_its_number_for_readers_a_snapshot_is_of_the_former_version() {
    let site = Site::new();
    let before = newest(&site.database);
    let path = site.folder.path().join("lock.mdb");
    let file = OpenOptions::new().read(true).write(true).open(path).unwrap();
    let (database, expected) = (Arc::clone(&site.database), before.clone());
    let look = move |point| {
        if point != Point::Committed {
            return;
        }
        // As it was a moment ago: the meta page is written, and new readers are not told of it.
        let mut number = [0; 8];
        file.read_exact_at(&mut number, LAST_COMMIT).unwrap();
        let former = u64::from_ne_bytes(number) - 1;
        file.write_all_at(&former.to_ne_bytes(), LAST_COMMIT).unwrap();
        let held = database.hold().unwrap();
        assert_eq!(seen(&held), expected, "its version is that of what it shows");
        assert!(!held.is_current(), "it has to be taken anew");
        file.write_all_at(&number, LAST_COMMIT).unwrap();
        assert_ne!(newest(&database), expected);
    };
    looking_on(look, || Site::commit(&site.database, 1, 4));
    assert_ne!(newest(&site.database), before);
}

#[test]
fn a_commit_between_a_snapshot_and_the_question_what_its_numbers_are() {
    let site = Site::new();
    let before = newest(&site.database);
    let database = Arc::clone(&site.database);
    let look = move |point| {
        assert_eq!(point, Point::SnapshotTaken);
        Site::commit(&database, 1, 4);
    };
    let held = looking_on(look, || site.database.hold().unwrap());
    assert_eq!(seen(&held), before);
    assert!(!held.is_current());
    assert_ne!(newest(&site.database), before);
    assert_eq!(known_too_early(&site.database), (0, 0));
}

#[test]
fn a_reader_that_loads_is_overtaken_by_another_one() {
    let site = Site::new();
    // A handle that has to load what the other one commits.
    let other = Arc::new(site.database.under(schema(), vec![dn("dc=example,dc=com")]).unwrap());
    Site::commit(&site.database, 1, 4);
    let expected = newest(&site.database);
    let (database, overtaking) = (Arc::clone(&site.database), Arc::clone(&other));
    let points = Rc::new(RefCell::new(Vec::new()));
    let passed = Rc::clone(&points);
    let look = move |point| {
        passed.borrow_mut().push(point);
        if point == Point::Loaded {
            Site::commit(&database, 2, 3);
            assert_eq!(newest(&overtaking), newest(&database));
        }
    };
    let held = looking_on(look, || other.hold().unwrap());
    assert_eq!(*points.borrow(), [Point::SnapshotTaken, Point::Loaded]);
    assert_eq!(seen(&held), expected);
    assert_eq!(newest(&other), newest(&site.database));
    assert_eq!((known_too_early(&other), read(&other).1), ((0, 0), 3));
    // The next transaction of that handle gives numbers that nobody has given.
    Site::commit(&other, 3, 2);
    assert_eq!(newest(&other), newest(&site.database));
    assert_eq!(read(&site.database).1, 4);
}

#[test]
fn a_commit_publishes_what_it_began_with_if_a_reader_of_an_older_commit_was_quicker() {
    let site = Site::new();
    let other = Arc::new(site.database.under(schema(), vec![dn("dc=example,dc=com")]).unwrap());
    Site::commit(&site.database, 1, 4);
    let older = other.env.clone().static_read_txn().unwrap();
    Site::commit(&site.database, 2, 3);
    // Writer and reader load what they see, begin with the same, and the reader is the first to publish it.
    let reading = Arc::clone(&other);
    let look = move |point| {
        if point == Point::Loaded {
            let tables = &reading.ground.tables;
            let numbering = reading.numbering.of_transaction(&older, older.id(), tables).unwrap();
            assert_eq!(numbering.sets.count(), 2);
        }
    };
    let write = looking_on(look, || other.write().unwrap());
    assert_eq!(other.numbering.newest().sets.count(), 2);
    write.commit().unwrap();
    assert_eq!(newest(&other), newest(&site.database));
    assert_eq!(read(&other).1, 3);
}
