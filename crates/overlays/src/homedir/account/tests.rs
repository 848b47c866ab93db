//! Changes of entries, and what is done for them.

use ironbark_store::change::{Before, Marks};

use super::{super::path::PathRule, *};

fn names() -> Names {
    ["homeDirectory".into(), "uidNumber".into(), "gidNumber".into()]
}

fn config() -> HomedirConfig {
    HomedirConfig {
        rules: vec![PathRule::new("^(/homes/.+)$", "/srv$1").unwrap()],
        min_uid: 1000,
        ..HomedirConfig::default()
    }
}

fn attributes(home: &str, uid: &str, gid: &str) -> Vec<TextAttribute> {
    let held = [("homeDirectory", home), ("uidNumber", uid), ("gidNumber", gid)];
    let held = held.into_iter().filter(|(_, value)| !value.is_empty());
    held.map(|(name, value)| (name.into(), vec![value.into()])).collect()
}

fn effect(effect: Effect, gone: Gone, kept: Vec<TextAttribute>) -> RecordedEffect {
    RecordedEffect {
        effect,
        marks: Marks::default(),
        before: Before {
            entry_uuid: [1; 16],
            gone,
            kept,
        },
    }
}

fn add(attributes: Vec<TextAttribute>) -> RecordedEffect {
    let dn = "uid=ann,dc=x".into();
    effect(Effect::Add { dn, attributes }, Gone::Unknown, Vec::new())
}

fn delete(attributes: Vec<TextAttribute>) -> RecordedEffect {
    let dn = "uid=ann,dc=x".into();
    effect(Effect::Delete { dn }, Gone::Entry(attributes), Vec::new())
}

/// Replacements of single values, each with the former one.
fn modify(changes: &[(&str, &str, &str)], after: Vec<TextAttribute>) -> RecordedEffect {
    let values = |value: &str| match value {
        "" => Vec::new(),
        value => vec![value.into()],
    };
    let effects = changes.iter().map(|(attribute, _, new)| ValueChange::Replace {
        attribute: (*attribute).into(),
        values: values(new),
    });
    let gone = changes.iter().map(|(_, old, _)| values(old));
    let modify = Effect::Modify {
        dn: "uid=ann,dc=x".into(),
        changes: effects.collect(),
    };
    effect(modify, Gone::Values(gone.collect()), after)
}

/// In few words.
fn done(effects: Vec<RecordedEffect>) -> Vec<String> {
    let record = ChangeRecord {
        effects,
        ..ChangeRecord::default()
    };
    let text = |account: &Account| format!("{} {} {}", account.home.text(), account.uid, account.gid);
    let tasks = tasks(&record, &names(), &config());
    let words = tasks.iter().map(|task| match task {
        Task::Create(account) => format!("create {}", text(account)),
        Task::Change { from, to } => format!("change {} to {}", text(from), text(to)),
        Task::Remove(account) => format!("remove {}", text(account)),
    });
    words.collect()
}

#[test]
fn accounts_come_and_go() {
    let ann = || attributes("/homes/ann", "1001", "100");
    assert_eq!(done(vec![add(ann())]), ["create \"/srv/homes/ann\" 1001 100"]);
    assert_eq!(done(vec![delete(ann())]), ["remove \"/srv/homes/ann\" 1001 100"]);
    for other in [
        attributes("/homes/ann", "999", "100"),
        attributes("/homes/ann", "0", "100"),
        attributes("/homes/ann", "-1", "100"),
        attributes("/homes/ann", "4294967295", "100"),
        attributes("/homes/ann", "4294968297", "100"),
        attributes("/homes/ann", "1001", "4294967295"),
        attributes("/homes/ann", "1001", ""),
        attributes("/homes/ann", "", "100"),
        attributes("", "1001", "100"),
        attributes("/etc/ann", "1001", "100"),
        attributes("/homes/../ann", "1001", "100"),
    ] {
        assert_eq!(done(vec![add(other.clone()), delete(other)]), [""; 0]);
    }
}

#[test]
fn changes_know_what_they_do_not_name() {
    let moved = modify(
        &[("homeDirectory", "/homes/ann", "/homes/eve")],
        attributes("/homes/eve", "1001", "100"),
    );
    assert_eq!(
        done(vec![moved]),
        ["change \"/srv/homes/ann\" 1001 100 to \"/srv/homes/eve\" 1001 100"]
    );
    let given = modify(
        &[("uidNumber", "1001", "1002")],
        attributes("/homes/ann", "1002", "100"),
    );
    assert_eq!(
        done(vec![given]),
        ["change \"/srv/homes/ann\" 1001 100 to \"/srv/homes/ann\" 1002 100"]
    );
    let twice = modify(
        &[("uidNumber", "1001", "1002"), ("uidNumber", "1002", "1003")],
        attributes("/homes/ann", "1003", "100"),
    );
    assert_eq!(
        done(vec![twice]),
        ["change \"/srv/homes/ann\" 1001 100 to \"/srv/homes/ann\" 1003 100"]
    );
    let begun = modify(&[("gidNumber", "", "100")], attributes("/homes/ann", "1001", "100"));
    assert_eq!(done(vec![begun]), ["create \"/srv/homes/ann\" 1001 100"]);
    let partly = modify(&[("homeDirectory", "/homes/ann", "")], attributes("", "1001", "100"));
    assert_eq!(done(vec![partly]), [""; 0]);
    let wholly = modify(
        &[
            ("homeDirectory", "/homes/ann", ""),
            ("uidNumber", "1001", ""),
            ("gidNumber", "100", ""),
        ],
        Vec::new(),
    );
    assert_eq!(done(vec![wholly]), ["remove \"/srv/homes/ann\" 1001 100"]);
    // Without what it leaves, a change is no end of an account.
    let replaced = modify(
        &[
            ("homeDirectory", "/homes/ann", "/homes/eve"),
            ("uidNumber", "1001", "1002"),
            ("gidNumber", "100", "101"),
        ],
        Vec::new(),
    );
    assert_eq!(
        done(vec![replaced]),
        ["change \"/srv/homes/ann\" 1001 100 to \"/srv/homes/eve\" 1002 101"]
    );
    let unknown = modify(&[("homeDirectory", "/homes/ann", "/homes/eve")], Vec::new());
    assert_eq!(done(vec![unknown]), [""; 0]);
    let low = modify(&[("uidNumber", "1001", "0")], attributes("/homes/ann", "0", "100"));
    assert_eq!(done(vec![low]), [""; 0]);
    let other = modify(&[("cn", "a", "b")], Vec::new());
    assert_eq!(done(vec![other]), [""; 0]);
}

#[test]
fn an_entry_that_is_made_anew_keeps_its_directory() {
    let ann = || attributes("/homes/ann", "1001", "100");
    assert_eq!(done(vec![delete(ann()), add(ann())]), [""; 0]);
    let moved = vec![delete(ann()), add(attributes("/homes/eve", "1001", "100"))];
    assert_eq!(
        done(moved),
        ["change \"/srv/homes/ann\" 1001 100 to \"/srv/homes/eve\" 1001 100"]
    );
    let mut other = add(ann());
    other.before.entry_uuid = [2; 16];
    assert_eq!(
        done(vec![delete(ann()), other]),
        [
            "remove \"/srv/homes/ann\" 1001 100",
            "create \"/srv/homes/ann\" 1001 100"
        ]
    );
}
