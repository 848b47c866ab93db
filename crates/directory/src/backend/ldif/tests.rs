//! The files follow change records, and an undone change restores them.

use std::{collections::BTreeMap, fs, path::Path};

use ironbark_config::{MemoryFiles, Registry};
use ironbark_store::{Csn, ValueChange, WriteTransaction};

use super::*;
use crate::backend::open;

fn settings(directory: &Path) -> (DatabaseConfig, Arc<Schema>) {
    let text = format!("database ldif\nsuffix cn=x\ndirectory {}\n", directory.display());
    let read = ironbark_config::load(
        "slapd.conf",
        &MemoryFiles::file("slapd.conf", text),
        &Registry::default(),
    )
    .unwrap();
    (read.databases[0].clone(), read.schema)
}

fn contents(directory: &Path) -> BTreeMap<PathBuf, String> {
    let found = entry_files::list(directory, Path::new("cn=x")).unwrap().into_iter();
    let read = |file: PathBuf| {
        let text = fs::read_to_string(directory.join(&file)).unwrap();
        (file, text)
    };
    found.map(|found| read(found.file)).collect()
}

fn add(dn: &str, rdn: (&str, &str)) -> Effect {
    Effect::Add {
        dn: dn.into(),
        attributes: vec![
            ("objectClass".into(), vec![b"extensibleObject".to_vec()]),
            (rdn.0.into(), vec![rdn.1.into()]),
        ],
    }
}

fn apply(transaction: &mut WriteTransaction<'_>, record: &ChangeRecord) {
    for RecordedEffect { effect, .. } in &record.effects {
        transaction.apply_effect(effect).unwrap();
    }
}

fn record(effects: Vec<Effect>) -> ChangeRecord {
    ChangeRecord {
        effects: effects.into_iter().map(Into::into).collect(),
        ..ChangeRecord::default()
    }
}

/// Renames a subtree, changes entries inside and outside of it, adds one entry and deletes another.
fn change() -> ChangeRecord {
    let description = |dn: &str| Effect::Modify {
        dn: dn.into(),
        changes: vec![ValueChange::Add {
            attribute: "description".into(),
            values: vec![b"changed".to_vec()],
        }],
    };
    record(vec![
        Effect::Rename {
            dn: "cn=a,cn=x".into(),
            new_dn: "cn=b,cn=c,cn=x".into(),
            changes: Vec::new(),
        },
        description("cn=leaf,cn=b,cn=c,cn=x"),
        description("cn=c,cn=x"),
        add("cn=new,cn=b,cn=c,cn=x", ("cn", "new")),
        Effect::Delete {
            dn: "cn=gone,cn=x".into(),
        },
    ])
}

#[test]
fn files_follow_a_change_and_what_cannot_be_committed_is_taken_back() {
    let place = tempfile::tempdir().unwrap();
    let (settings, schema) = settings(place.path());
    let opened = open::database(&settings, &schema).unwrap();
    let files = opened.files.as_ref().unwrap();
    let first = record(vec![
        add("cn=x", ("cn", "x")),
        add("cn=a,cn=x", ("cn", "a")),
        add("cn=leaf,cn=a,cn=x", ("cn", "leaf")),
        add("cn=c,cn=x", ("cn", "c")),
        add("cn=gone,cn=x", ("cn", "gone")),
    ]);
    let mut transaction = opened.database.write().unwrap();
    apply(&mut transaction, &first);
    files
        .write(&transaction.view(), &first, &ContextVector::default())
        .unwrap();
    transaction.commit().unwrap();
    let before = contents(place.path());
    assert_eq!(before.len(), 5);

    let mut transaction = opened.database.write().unwrap();
    apply(&mut transaction, &change());
    files
        .write(&transaction.view(), &change(), &ContextVector::default())
        .unwrap();
    drop(transaction);
    let names: Vec<_> = contents(place.path()).into_keys().collect();
    let expected = [
        "cn=x.ldif",
        "cn=x/cn=c.ldif",
        "cn=x/cn=c/cn=b.ldif",
        "cn=x/cn=c/cn=b/cn=leaf.ldif",
        "cn=x/cn=c/cn=b/cn=new.ldif",
    ];
    assert!(
        expected.iter().all(|name| names.contains(&PathBuf::from(name))),
        "{names:?}"
    );
    assert_eq!(names.len(), 5, "{names:?}");
    let changed = contents(place.path());
    for name in ["cn=x/cn=c.ldif", "cn=x/cn=c/cn=b/cn=leaf.ldif"] {
        assert!(changed[Path::new(name)].contains("description: changed\n"), "{name}");
    }

    let snapshot = opened.database.snapshot().unwrap();
    files.write_back(&snapshot.view(), &change()).unwrap();
    assert_eq!(contents(place.path()), before);
}

#[test]
fn files_follow_glue() {
    let place = tempfile::tempdir().unwrap();
    let (settings, schema) = settings(place.path());
    let opened = open::database(&settings, &schema).unwrap();
    let files = opened.files.as_ref().unwrap();
    let make = |record: &ChangeRecord| {
        let mut transaction = opened.database.write().unwrap();
        apply(&mut transaction, record);
        files
            .write(&transaction.view(), record, &ContextVector::default())
            .unwrap();
        transaction.commit().unwrap();
        contents(place.path())
    };
    let delete = |dn: &str| Effect::Delete { dn: dn.into() };
    let before = make(&record(vec![
        add("cn=x", ("cn", "x")),
        add("cn=a,cn=x", ("cn", "a")),
        add("cn=leaf,cn=a,cn=x", ("cn", "leaf")),
    ]));
    let glued = make(&record(vec![delete("cn=a,cn=x")]));
    assert_eq!(glued.len(), 3);
    assert!(glued[Path::new("cn=x/cn=a.ldif")].contains("objectClass: glue\n"));
    let gone = make(&record(vec![delete("cn=leaf,cn=a,cn=x")]));
    assert_eq!(gone.len(), 1, "{gone:?}");
    let again = vec![
        Effect::glue("cn=a,cn=x".into()),
        add("cn=leaf,cn=a,cn=x", ("cn", "leaf")),
    ];
    assert_eq!(make(&record(again)), glued);
    assert_eq!(make(&record(vec![add("cn=a,cn=x", ("cn", "a"))])), before);
}

#[test]
fn one_process_writes_and_others_read() {
    let place = tempfile::tempdir().unwrap();
    let (settings, schema) = settings(place.path());
    let opened = open::database(&settings, &schema).unwrap();
    let refused = open::database(&settings, &schema).unwrap_err().to_string();
    assert!(
        refused.starts_with("database cn=x: ")
            && refused.contains(&format!("in use by process {}", std::process::id())),
        "{refused}"
    );
    assert!(open::to_read(&settings, &schema).unwrap().is_some());
    drop(opened);
    open::database(&settings, &schema).unwrap();
}

#[test]
fn the_context_vector_is_in_the_topmost_file_with_each_change() {
    let place = tempfile::tempdir().unwrap();
    let (settings, schema) = settings(place.path());
    let opened = open::database(&settings, &schema).unwrap();
    let files = opened.files.as_ref().unwrap();
    let csn = |second: u8| Csn::parse(format!("202601010000{second:02}.000000Z#000000#001#000000").as_bytes()).unwrap();
    let mut transaction = opened.database.write().unwrap();
    let first = record(vec![add("cn=x", ("cn", "x")), add("cn=a,cn=x", ("cn", "a"))]);
    apply(&mut transaction, &first);
    files
        .write(&transaction.view(), &first, &ContextVector::default())
        .unwrap();
    transaction.commit().unwrap();
    let top = || contents(place.path())[Path::new("cn=x.ldif")].clone();
    assert!(!top().contains("contextCSN"), "the database has none: {}", top());

    let delete = Effect::Delete { dn: "cn=a,cn=x".into() };
    let change = record(vec![delete]);
    let mut transaction = opened.database.write().unwrap();
    transaction.merge_context([csn(1)]).unwrap();
    transaction.commit().unwrap();
    let mut transaction = opened.database.write().unwrap();
    apply(&mut transaction, &change);
    let vector = [csn(2)].into_iter().collect();
    files.write(&transaction.view(), &change, &vector).unwrap();
    assert!(top().contains(&format!("contextCSN: {}\n", csn(2).text())), "{}", top());
    drop(transaction);
    let snapshot = opened.database.snapshot().unwrap();
    files.write_back(&snapshot.view(), &change).unwrap();
    assert!(top().contains(&format!("contextCSN: {}\n", csn(1).text())), "{}", top());
    assert_eq!(top().matches("contextCSN").count(), 1);
}
