//! Files of entries: names, checksums, and changes of several files with a crash at any point.

use std::{collections::BTreeMap, fs, path::Path};

use super::*;

fn path(text: &str) -> PathBuf {
    PathBuf::from(text)
}

fn put_step(file: &str, text: &str) -> JournalStep {
    JournalStep::Put {
        file: path(file),
        text: text.as_bytes().to_vec(),
    }
}

/// Files and their contents as a reader sees them.
fn seen(journal: &Journal, directory: &Path) -> BTreeMap<PathBuf, String> {
    let found = applied(list(directory, Path::new("top")).unwrap(), journal.steps().unwrap());
    let read = |found: Found| {
        let text = found
            .text
            .unwrap_or_else(|| fs::read(directory.join(&found.place)).unwrap());
        (found.file, String::from_utf8(text).unwrap())
    };
    found.into_iter().map(read).collect()
}

fn begin(directory: &Path) -> Journal {
    for (file, text) in [
        ("top.ldif", "top"),
        ("top/a.ldif", "a"),
        ("top/a/b.ldif", "b"),
        ("top/a/b/c.ldif", "c"),
        ("top/gone.ldif", "gone"),
    ] {
        put(&directory.join(file), text.as_bytes(), Durability::Synced).unwrap();
    }
    Journal::new(directory, "top.journal".into())
}

fn steps() -> Vec<JournalStep> {
    vec![
        put_step("top/gone/moved.ldif", "a, moved\nand in two lines"),
        JournalStep::Move {
            from: path("top/a"),
            to: path("top/gone/moved"),
        },
        JournalStep::Remove {
            file: path("top/a.ldif"),
        },
        put_step("top/gone/moved/b/c.ldif", "c, changed"),
        put_step("top/new.ldif", ""),
        JournalStep::Remove {
            file: path("top/new.ldif"),
        },
    ]
}

#[test]
fn an_interrupted_change_is_seen_whole_and_finished_whatever_was_done_of_it() {
    let expected: BTreeMap<PathBuf, String> = [
        ("top.ldif", "top"),
        ("top/gone.ldif", "gone"),
        ("top/gone/moved.ldif", "a, moved\nand in two lines"),
        ("top/gone/moved/b.ldif", "b"),
        ("top/gone/moved/b/c.ldif", "c, changed"),
    ]
    .map(|(file, text)| (path(file), text.to_owned()))
    .into();
    for done in 0..=steps().len() {
        let place = tempfile::tempdir().unwrap();
        let journal = begin(place.path());
        let before = seen(&journal, place.path());
        let mut draft = journal.begin().unwrap();
        for step in steps() {
            draft.add(step).unwrap();
        }
        assert_eq!(seen(&journal, place.path()), before, "a draft is no change");
        assert!(draft.publish().unwrap());
        for step in steps().iter().take(done) {
            journal.take(step, Durability::Later).unwrap();
        }
        assert_eq!(seen(&journal, place.path()), expected, "after {done} steps");
        journal.finish().unwrap();
        assert_eq!(journal.steps().unwrap(), []);
        assert_eq!(
            seen(&journal, place.path()),
            expected,
            "after {done} steps and the rest"
        );
        assert!(!place.path().join("top/a").exists());
    }
}

#[test]
fn a_draft_that_is_dropped_leaves_nothing_and_one_step_needs_no_journal() {
    let place = tempfile::tempdir().unwrap();
    let journal = begin(place.path());
    let before = seen(&journal, place.path());
    let mut draft = journal.begin().unwrap();
    for step in steps() {
        draft.add(step).unwrap();
    }
    drop(draft);
    assert_eq!(seen(&journal, place.path()), before);
    let mut draft = journal.begin().unwrap();
    draft.add(put_step("top/a/b.ldif", "changed")).unwrap();
    assert!(draft.commit().unwrap().is_none());
    assert_eq!(seen(&journal, place.path())[&path("top/a/b.ldif")], "changed");
    assert!(journal.begin().unwrap().commit().unwrap().is_none(), "nothing at all");
    let left: Vec<_> = fs::read_dir(place.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn what_cannot_be_finished_is_told_and_tried_again_before_the_next_change() {
    let place = tempfile::tempdir().unwrap();
    let journal = begin(place.path());
    fs::create_dir_all(place.path().join("top/x.ldif/obstacle")).unwrap();
    let mut draft = journal.begin().unwrap();
    draft.add(put_step("top/y.ldif", "y")).unwrap();
    draft.add(put_step("top/x.ldif", "x")).unwrap();
    let unfinished = draft.commit().unwrap().unwrap();
    assert_eq!(unfinished.file, place.path().join("top/x.ldif"));
    assert!(journal.begin().is_err());
    fs::remove_dir_all(place.path().join("top/x.ldif")).unwrap();
    journal.begin().unwrap();
    assert_eq!(seen(&journal, place.path())[&path("top/x.ldif")], "x");
}

#[test]
fn what_could_never_be_finished_is_refused_before() {
    let place = tempfile::tempdir().unwrap();
    let journal = begin(place.path());
    let before = seen(&journal, place.path());
    let long = "x".repeat(251);
    let deep = vec!["x".repeat(200); 21].join("/");
    fs::create_dir_all(place.path().join("top/b/someone's")).unwrap();
    let moved = |to: &str| JournalStep::Move {
        from: path("top/a"),
        to: path(to),
    };
    for step in [
        put_step(&format!("top/{long}.ldif"), ""),
        put_step(&format!("top/{deep}.ldif"), ""),
        moved(&format!("top/{}/{}", &deep[..4000], "x".repeat(200))),
        moved("top/b"),
    ] {
        let mut draft = journal.begin().unwrap();
        draft.add(put_step("top/new.ldif", "new")).unwrap();
        draft.add(step).unwrap_err();
        drop(draft);
        assert_eq!(seen(&journal, place.path()), before);
    }
}

#[test]
fn a_journal_that_is_none_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let journal = begin(place.path());
    for text in [
        "dn: top.ldif\nrubbish: x\n",
        "dn: top.ldif\nchangetype: delete\n",
        "rubbish\n",
    ] {
        fs::write(place.path().join("top.journal"), text).unwrap();
        let error = journal.finish().unwrap_err();
        assert_eq!(error.file, place.path().join("top.journal"), "{text}");
        assert_eq!(fs::read_to_string(place.path().join("top.ldif")).unwrap(), "top");
    }
}

#[test]
fn names_are_escaped_as_slapd_escapes_them() {
    assert_eq!(file_name(b"cn=a/b:c.d\\2C{1}"), "cn=a\\2Fb\\3Ac\\2Ed\\2C{1}");
    assert_eq!(file_of(Path::new("x/cn=a\\2Eb")), path("x/cn=a\\2Eb.ldif"));
}

#[test]
fn a_checksum_tells_whether_a_file_was_edited() {
    let values = [b"x".to_vec()];
    let written = text(b"cn=x", [(Cow::Borrowed("cn"), values.as_slice())].into_iter());
    let file = Path::new("cn=x.ldif");
    assert!(parse(file, &written).unwrap().is_as_written);
    let edited = String::from_utf8(written).unwrap().replace("cn: x", "cn: y");
    assert!(!parse(file, edited.as_bytes()).unwrap().is_as_written);
    assert!(
        parse(file, b"dn: cn=x\ncn: x\n").unwrap().is_as_written,
        "there is none"
    );
}
