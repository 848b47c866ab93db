//! Records that cannot be read, and those of other versions: nothing is written because of them.

use super::{
    super::file::ASIDE,
    neighbours::{PUTS, put},
    *,
};

#[test]
fn a_record_that_cannot_be_read_does_no_harm() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    crashed(directory);
    let whole = fs::read(record_file(directory)).unwrap();
    fs::remove_file(data(directory)).unwrap();
    fs::remove_file(record_file(directory)).unwrap();
    let database = begun(directory);
    fill(&database, 0..20);
    let wanted = content(&database);
    drop(database);
    let mut flipped = whole.clone();
    for place in [100, PAGE + 100] {
        flipped[place] ^= 1;
    }
    let unfinished = vec![0; whole.len()];
    let garbage = [
        b"IBCHKPT1 and then nothing".to_vec(),
        vec![0x55; 100],
        vec![0xff; 20_000],
        flipped,
    ];
    let cut = [1, 100, 207].map(|length| whole[..length].to_vec());
    for record in garbage.iter().chain(&cut) {
        fs::write(record_file(directory), record).unwrap();
        let database = open(directory);
        assert!(database.has_put_record_aside());
        assert_eq!(content(&database), wanted);
        assert!(fs::read(directory.join(ASIDE)).unwrap() == *record);
    }
    for record in [Vec::new(), unfinished] {
        fs::write(record_file(directory), record).unwrap();
        let database = open(directory);
        assert!(!database.has_put_record_aside() && !record_file(directory).exists());
        assert_eq!(content(&database), wanted);
    }
    // With a file that is not sound nothing is done.
    let mut file = fs::read(data(directory)).unwrap();
    file[2 * PAGE..].fill(0x55);
    fs::write(data(directory), &file).unwrap();
    for record in garbage {
        fs::write(record_file(directory), &record).unwrap();
        let error = refusal(directory);
        assert!(
            error.contains("data.mdb") && error.contains("ironbark restore"),
            "{error}"
        );
        assert!(bytes(directory) == (file.clone(), record));
    }
}

#[test]
fn a_record_of_a_newer_version_is_refused_and_left() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    crashed(directory);
    let mut record = fs::read(record_file(directory)).unwrap();
    for place in [0, PAGE] {
        record[place + 7] = b'3';
    }
    fs::write(record_file(directory), record).unwrap();
    let before = bytes(directory);
    let error = refusal(directory);
    assert!(
        error.contains("checkpoint.mdb") && error.contains("newer version"),
        "{error}"
    );
    assert!(bytes(directory) == before);
}

#[test]
fn a_record_of_a_former_version_proves_nothing() {
    for how in PUTS {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path();
        crashed(directory);
        of_former_version(directory);
        // The loss of some pages cannot be seen.
        let file = OpenOptions::new().write(true).open(data(directory)).unwrap();
        file.set_len(20 * PAGE as u64).unwrap();
        let before = bytes(directory);
        let error = refusal(directory);
        assert!(
            error.contains("data.mdb") && error.contains("cannot be read"),
            "{error}"
        );
        assert!(bytes(directory) == before);
        let (other, wanted) = another(0..10);
        put(&data(other.path()), directory, how);
        assert_eq!(found(directory), (false, wanted), "{how:?}");
        assert!(fs::read(directory.join(ASIDE)).unwrap() == before.1);
    }
}
