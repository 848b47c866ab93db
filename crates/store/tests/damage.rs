//! Damaged files are refused with a message, and no damage ends the process.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "tests"
)]

use crate::common;

use std::{
    fs::{self, OpenOptions},
    ops::ControlFlow,
    os::unix::{fs::FileExt, process::ExitStatusExt},
    path::Path,
    process::Command,
};

use common::*;
use ironbark_store::{
    ChangeRecord, Database, DatabaseOptions, LogMode,
    check::{self, Extent},
    fault::{self, Maps},
};

/// Entries enough for trees of several levels, some with long values.
fn filled(directory: &Path, entries: u32) {
    let database = Database::open(options(directory), schema()).unwrap();
    let mut write = database.write().unwrap();
    let base = "dc=example,dc=com";
    write
        .apply_effect(&add(base, &[("objectClass", "domain"), ("dc", "example")]))
        .unwrap();
    for n in 0..entries {
        let (cn, long) = (format!("person {n}"), "x".repeat(if n % 50 == 0 { 9000 } else { 40 }));
        let lines = [
            ("objectClass", "person"),
            ("cn", &*cn),
            ("sn", "s"),
            ("description", &*long),
        ];
        write.apply_effect(&add(&format!("cn={cn},{base}"), &lines)).unwrap();
    }
    write.commit().unwrap();
    // Makes pages of earlier commits free.
    for n in (0..entries).step_by(3) {
        let mut write = database.write().unwrap();
        let effect = ironbark_store::Effect::Delete {
            dn: format!("cn=person {n},{base}").into(),
        };
        write.apply_effect(&effect).unwrap();
        write.commit().unwrap();
    }
    database.sync().unwrap();
}

#[test]
fn a_file_that_was_cut_off_is_refused_and_the_message_says_what_to_do() {
    let directory = tempfile::tempdir().unwrap();
    filled(directory.path(), 300);
    let file = directory.path().join("data.mdb");
    let whole = fs::metadata(&file).unwrap().len();
    for length in [whole / 2, 3 * 4096, 8192, 5000, 4096] {
        let cut = tempfile::tempdir().unwrap();
        fs::copy(&file, cut.path().join("data.mdb")).unwrap();
        let copy = OpenOptions::new()
            .write(true)
            .open(cut.path().join("data.mdb"))
            .unwrap();
        copy.set_len(length).unwrap();
        for read_only in [true, false] {
            let mut options = options(cut.path());
            options.read_only = read_only;
            let error = Database::open(options, schema()).unwrap_err().to_string();
            assert!(error.contains("data.mdb: the file is truncated"), "{length}: {error}");
            assert!(error.contains("ironbark restore"), "{error}");
        }
    }
}

/// LMDB would write the next page over the first one of the file.
#[test]
fn a_last_page_that_has_no_next_one_is_not_taken_for_a_free_one() {
    let directory = tempfile::tempdir().unwrap();
    filled(directory.path(), 30);
    let file = directory.path().join("data.mdb");
    let mut bytes = fs::read(&file).unwrap();
    for page in [0, 4096] {
        bytes[page + 136..page + 144].copy_from_slice(&u64::MAX.to_ne_bytes());
    }
    fs::write(&file, bytes).unwrap();
    let found = findings(directory.path());
    assert!(found.iter().any(|finding| finding.contains("truncated")), "{found:?}");
}

#[test]
fn where_a_file_may_be_cut_off_nothing_is_missing() {
    let directory = tempfile::tempdir().unwrap();
    filled(directory.path(), 300);
    let file = directory.path().join("data.mdb");
    let (whole, wanted) = (fs::metadata(&file).unwrap().len(), digest(directory.path()));
    let mut refused = 0;
    for length in (2 * 4096..whole).rev().step_by(1000).take(300) {
        let cut = tempfile::tempdir().unwrap();
        fs::copy(&file, cut.path().join("data.mdb")).unwrap();
        let copy = OpenOptions::new()
            .write(true)
            .open(cut.path().join("data.mdb"))
            .unwrap();
        copy.set_len(length).unwrap();
        if Database::open(options(cut.path()), schema()).is_err() {
            refused += 1;
            continue;
        }
        assert_eq!(
            (findings(cut.path()), digest(cut.path())),
            (Vec::new(), wanted),
            "{length}"
        );
    }
    assert!(refused > 200, "{refused}");
}

#[test]
fn a_file_that_ends_in_free_pages_which_were_never_written_is_whole() {
    let directory = tempfile::tempdir().unwrap();
    filled(directory.path(), 300);
    let file = directory.path().join("data.mdb");
    // LMDB itself may leave a file like this: the last page is free and lies beyond the end of the file.
    let open = OpenOptions::new().read(true).write(true).open(&file).unwrap();
    let whole = open.metadata().unwrap().len();
    let number = |place| {
        let mut bytes = [0; 8];
        open.read_exact_at(&mut bytes, place).unwrap();
        u64::from_ne_bytes(bytes)
    };
    let (first, second) = (number(144), number(4096 + 144));
    let meta = if first > second { 0 } else { 4096 };
    open.write_all_at(&(whole / 4096).to_ne_bytes(), meta + 136).unwrap();
    let refused = Database::open(options(directory.path()), schema()).unwrap_err();
    assert!(refused.to_string().contains("truncated"), "{refused}");
    // Damages the newest list of free pages.
    let root = number(meta + 80);
    let mut page = vec![0; 4096];
    open.read_exact_at(&mut page, root * 4096).unwrap();
    assert_eq!(page[10] & 2, 2, "one leaf is enough for so few lists");
    let node = usize::from(u16::from_ne_bytes([page[16], page[17]]));
    let list = node + 8 + 8;
    let count = u64::from_ne_bytes(page[list..list + 8].try_into().unwrap());
    assert!(count > 0);
    page[list + 8..list + 16].copy_from_slice(&(whole / 4096).to_ne_bytes());
    open.write_all_at(&page, root * 4096).unwrap();
    Database::open(options(directory.path()), schema()).unwrap();
}

const DIRECTORY: &str = "IRONBARK_STORE_FAULT_DIRECTORY";

/// Not a test of its own: the reader whose file the test below cuts off.
#[test]
fn reader_of_a_file_that_shrinks() {
    let Some(directory) = std::env::var_os(DIRECTORY) else {
        return;
    };
    fault::watch(Maps::open(), |text| eprintln!("told: {text}")).unwrap();
    let directory = Path::new(&directory);
    let database = Database::open(options(directory), schema()).unwrap();
    let file = OpenOptions::new().write(true).open(directory.join("data.mdb")).unwrap();
    file.set_len(8192).unwrap();
    let snapshot = database.snapshot().unwrap();
    for record in snapshot.view().entries(0).unwrap() {
        assert!(record.is_ok());
    }
}

#[test]
fn a_file_that_shrinks_while_it_is_read_is_named_before_the_process_ends() {
    let directory = tempfile::tempdir().unwrap();
    filled(directory.path(), 300);
    let ended = Command::new(std::env::current_exe().unwrap())
        .args(["damage::reader_of_a_file_that_shrinks", "--exact", "--nocapture"])
        .env(DIRECTORY, directory.path())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.signal(), Some(7), "{told}");
    let file = directory.path().join("data.mdb");
    assert!(
        told.contains(&format!("told: {}: the file is truncated", file.display())),
        "{told}"
    );
}

/// Entries with values of every form: inline, packed, shared, external; a subordinate of a subordinate.
fn of_every_form(directory: &Path) {
    let database = Database::open(options(directory), schema()).unwrap();
    let base = "dc=example,dc=com";
    let mut write = database.write().unwrap();
    let top = [("objectClass", "domain"), ("dc", "example")];
    write.apply_effect(&add(base, &top)).unwrap();
    let group = format!("cn=all,{base}");
    let members: Vec<String> = (0..100)
        .map(|n| format!("cn=a person with a long name {n},{base}"))
        .collect();
    let mut lines = vec![("objectClass", "groupOfNames"), ("cn", "all")];
    lines.extend(members.iter().map(|member| ("member", &**member)));
    write.apply_effect(&add(&group, &lines)).unwrap();
    for n in 0..200 {
        let (cn, uid) = (format!("person {n}"), format!("u{n}"));
        let lines = [
            ("objectClass", "inetOrgPerson"),
            ("objectClass", "organizationalPerson"),
            ("cn", &*cn),
            ("sn", "s"),
            ("uid", &*uid),
            ("entryUUID", &*format!("00000000-0000-4000-8000-{n:012}")),
        ];
        write.apply_effect(&add(&format!("cn={cn},{base}"), &lines)).unwrap();
    }
    let below = [("objectClass", "person"), ("cn", "below"), ("sn", "s")];
    write
        .apply_effect(&add(&format!("cn=below,cn=person 7,{base}"), &below))
        .unwrap();
    write.commit().unwrap();
    database.sync().unwrap();
}

/// The findings of all checks in a file that nobody writes to.
fn findings(directory: &Path) -> Vec<String> {
    let file = match check::file(&directory.join("data.mdb")) {
        Ok(found) => found,
        Err(error) => return vec![error.to_string()],
    };
    if !file.is_empty() {
        return file.texts().to_vec();
    }
    match Database::open(options(directory), schema()) {
        Ok(database) => match database.check(Extent::Everything, &mut |_| {}) {
            Ok(report) => report.findings.texts().to_vec(),
            Err(error) => vec![error.to_string()],
        },
        Err(error) => vec![error.to_string()],
    }
}

fn digest(directory: &Path) -> [u8; 32] {
    let database = Database::open(options(directory), schema()).unwrap();
    let snapshot = database.snapshot().unwrap();
    snapshot.view().digest().unwrap()
}

/// A copy of a data file with one bit flipped.
fn flipped(file: &Path, bit: u64) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    let path = copy.path().join("data.mdb");
    fs::copy(file, &path).unwrap();
    let open = OpenOptions::new().read(true).write(true).open(&path).unwrap();
    let mut byte = [0];
    open.read_exact_at(&mut byte, bit / 8).unwrap();
    byte[0] ^= 1 << (bit % 8);
    open.write_all_at(&byte, bit / 8).unwrap();
    copy
}

/// The findings after a bit behind some bytes is flipped. The bytes may occur at several places: the place in use
/// counts.
fn findings_behind(file: &Path, bytes: &[u8], behind: u64) -> (Vec<String>, tempfile::TempDir) {
    let content = fs::read(file).unwrap();
    let places = content.windows(bytes.len()).enumerate();
    for (place, _) in places.filter(|(_, found)| *found == bytes) {
        let copy = flipped(file, (place as u64 + behind) * 8);
        let found = findings(copy.path());
        if !found.is_empty() {
            return (found, copy);
        }
    }
    panic!("nothing is found");
}

#[test]
fn a_sound_database_is_found_sound_offline_and_in_use() {
    for fill in [of_every_form, |directory: &Path| filled(directory, 400)] {
        let directory = tempfile::tempdir().unwrap();
        fill(directory.path());
        assert_eq!(findings(directory.path()), Vec::<String>::new());
        let found = check::file_in_use(&options(directory.path())).unwrap();
        assert!(found.is_empty(), "{found:?}");
    }
}

#[test]
fn no_flipped_bit_changes_what_is_read_unnoticed() {
    let directory = tempfile::tempdir().unwrap();
    of_every_form(directory.path());
    let file = directory.path().join("data.mdb");
    let (whole, bits) = (digest(directory.path()), fs::metadata(&file).unwrap().len() * 8);
    let mut noticed = 0;
    let mut state = 1u64;
    for _ in 0..400 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let bit = (state >> 16) % bits;
        let copy = flipped(&file, bit);
        if findings(copy.path()).is_empty() {
            assert_eq!(digest(copy.path()), whole, "bit {bit}");
        } else {
            noticed += 1;
        }
    }
    // The other bits lie in pages and parts of pages that hold nothing.
    assert!(noticed > 100, "{noticed}");
}

#[test]
fn a_changed_value_is_found_and_not_written_again() {
    let directory = tempfile::tempdir().unwrap();
    of_every_form(directory.path());
    let file = directory.path().join("data.mdb");
    // The value of uid: that of cn stands in the name alone.
    let (found, copy) = findings_behind(&file, b"\x04\x03u77", 4);
    assert!(found[0].ends_with("the checksum of its record is wrong"), "{found:?}");
    assert_eq!(found.len(), 1, "{found:?}");
    let database = Database::open(options(copy.path()), schema()).unwrap();
    let snapshot = database.snapshot().unwrap();
    let record = |name: &str| {
        let ironbark_store::Location::Entry(id) = snapshot.view().locate(&dn(name)).unwrap() else {
            panic!("not there");
        };
        snapshot.view().record(id).unwrap().unwrap()
    };
    let (damaged, sound) = ("cn=person 77,dc=example,dc=com", "cn=person 78,dc=example,dc=com");
    assert!(record(damaged).verify().is_err());
    assert!(record(sound).verify().is_ok());
    let change = ironbark_store::ValueChange::Add {
        attribute: "description".into(),
        values: values(&["new"]),
    };
    let mut write = database.write().unwrap();
    assert!(write.apply_effect(&modify(damaged, vec![change.clone()])).is_err());
    drop(write);
    let mut write = database.write().unwrap();
    write.apply_effect(&modify(sound, vec![change])).unwrap();
    write.commit().unwrap();
}

#[test]
fn a_changed_member_of_a_big_set_is_found() {
    let directory = tempfile::tempdir().unwrap();
    of_every_form(directory.path());
    let file = directory.path().join("data.mdb");
    let (found, _copy) = findings_behind(&file, b"cn=a person with a long name 42,", 10);
    assert!(found[0].contains("attribute member: "), "{found:?}");
}

#[test]
fn rows_of_an_index_and_names_that_disagree_with_entries_are_named() {
    let directory = tempfile::tempdir().unwrap();
    of_every_form(directory.path());
    let file = directory.path().join("data.mdb");
    // The key of a name: the number of the superior and the name.
    let (found, _copy) = findings_behind(&file, b"\x0acn=below", 8);
    assert!(
        found
            .iter()
            .any(|text| text.contains("its name, \"cn=below\", leads nowhere")),
        "{found:?}"
    );
    // The list of everybody's sn: one chunk of one run, whose length is 201 members less one.
    let (found, _copy) = findings_behind(&file, &[3, 0x80, 201, 0x80, 200], 4);
    assert!(found.iter().any(|text| text.starts_with("index ")), "{found:?}");
}

/// A copy of a file of an older format, with 32 entries.
fn of_format(number: u32) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let old = format!("{}/tests/data/format-{number}.mdb", env!("CARGO_MANIFEST_DIR"));
    fs::copy(old, directory.path().join("data.mdb")).unwrap();
    directory
}

#[test]
fn a_file_of_an_older_format_is_read_as_it_is_and_has_a_log_from_its_first_writer_on() {
    for number in [1, 2] {
        let directory = of_format(number);
        let reading = || DatabaseOptions {
            read_only: true,
            ..options(directory.path())
        };
        let seen = |options: DatabaseOptions| {
            let database = Database::open(options, schema()).unwrap();
            let snapshot = database.snapshot().unwrap();
            let view = snapshot.view();
            let rows = view.changes(0).unwrap().count();
            assert_eq!(
                (view.follower("x").unwrap(), view.is_restored().unwrap()),
                (None, false)
            );
            (view.digest().unwrap(), view.log_state().unwrap(), rows)
        };
        let before = fs::read(directory.path().join("data.mdb")).unwrap();
        let (digest, log, rows) = seen(reading());
        assert_eq!((log.first, rows), (None, 0));
        assert_eq!(
            fs::read(directory.path().join("data.mdb")).unwrap(),
            before,
            "only read"
        );
        assert_eq!(seen(options(directory.path())), (digest, log, 0));
        assert_ne!(fs::read(directory.path().join("data.mdb")).unwrap(), before);
        assert_eq!(seen(reading()), (digest, log, 0));
        let database = Database::open(options(directory.path()), schema()).unwrap();
        let mut write = database.write().unwrap();
        write.log(LogMode::Rows);
        let dn = "cn=all,dc=example,dc=com".into();
        let effect = ironbark_store::Effect::Delete { dn };
        write.apply_effect(&effect).unwrap();
        let mut record = ChangeRecord {
            effects: vec![effect.into()],
            ..ChangeRecord::default()
        };
        write.record(&mut record).unwrap();
        write.commit().unwrap();
        drop(database);
        let (_, now, rows) = seen(reading());
        assert_eq!((now.first, now.last, rows), (Some(log.last + 1), log.last + 1, 1));
        assert!(findings(directory.path()).is_empty());
    }
}

#[test]
fn a_file_without_checksums_goes_on_as_it_was() {
    older_files_go_on(1, false);
}

#[test]
fn a_file_from_before_the_log_keeps_its_checksums() {
    older_files_go_on(2, true);
}

fn older_files_go_on(number: u32, has_checksums: bool) {
    let directory = of_format(number);
    for round in 0..2 {
        let database = Database::open(options(directory.path()), schema()).unwrap();
        let name = format!("cn=new {round},dc=example,dc=com");
        let lines = [
            ("objectClass", "person"),
            ("cn", "new"),
            ("sn", "s"),
            ("description", "one of a kind"),
        ];
        let members: Vec<String> = (0..40)
            .map(|n| format!("cn=new {round}{n},dc=example,dc=com"))
            .collect();
        let members: Vec<&str> = members.iter().map(String::as_str).collect();
        let more = ironbark_store::ValueChange::Add {
            attribute: "member".into(),
            values: values(&members),
        };
        let mut write = database.write().unwrap();
        write.apply_effect(&add(&name, &lines)).unwrap();
        write
            .apply_effect(&modify("cn=all,dc=example,dc=com", vec![more]))
            .unwrap();
        write.commit().unwrap();
        database.reindex(&[], &mut |_| ControlFlow::Continue(())).unwrap();
        let report = database.check(Extent::Everything, &mut |_| {}).unwrap();
        assert_eq!(report.findings.texts(), Vec::<String>::new());
        assert_eq!((report.entries, report.has_checksums), (33 + round, has_checksums));
        assert!(!report.has_hash_key);
        drop(database);
        assert!(findings(directory.path()).is_empty());
    }
}

#[test]
fn a_file_full_of_wrong_bytes_is_read_to_its_end() {
    let directory = tempfile::tempdir().unwrap();
    of_every_form(directory.path());
    let whole = fs::read(directory.path().join("data.mdb")).unwrap();
    let mut state = 7u64;
    let mut random = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 16) as usize
    };
    let path = directory.path().join("wrong");
    for round in 0..300 {
        let mut wrong = whole.clone();
        for _ in 0..1 << (round % 8) {
            // Mostly heads of pages and of nodes, where numbers are.
            let page = random() % (wrong.len() / 4096) * 4096;
            let place = page + random() % if round % 2 == 0 { 64 } else { 4096 };
            let values = [0, 1, 0x7f, 0x80, 0xff, random() as u8];
            wrong[place] = values[random() % values.len()];
        }
        fs::write(&path, &wrong).unwrap();
        let _ = check::file(&path);
    }
}
