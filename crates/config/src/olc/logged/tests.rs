//! What a log tells, made on a tree: order, numbers, what is here already, what is missing.

use ironbark_model::ResultCode;

use super::*;
use crate::{
    load as load_file,
    olc::{AttributeChangeKind, load, render},
    test_overlay::registry,
    test_schema::with_schema,
};

const TEXT: &str = "database config\nrootpw secret\n\
                    database mdb\nsuffix o=one\nrootdn cn=a\ndirectory /srv/one\n\
                    database mdb\nsuffix o=two\nrootdn cn=a\ndirectory /srv/two\n";

/// A tree whose databases have UUIDs, and the CSN 10.
fn tree() -> Tree {
    let file = load_file("slapd.conf", &with_schema("slapd.conf", TEXT), registry()).unwrap();
    let mut tree = render(&file);
    for child in &mut tree.root.children {
        let uuid = format!("uuid-{}", child.name);
        child.set("entryUUID", vec![uuid.into_bytes()]);
        child.set("entryCSN", vec![csn(10).into_bytes()]);
    }
    tree
}

fn csn(number: u32) -> String {
    format!("20261122000000.{number:06}Z#000000#001#000000")
}

fn dn(text: &str) -> Dn {
    Dn::parse(&load(&tree()).unwrap().schema, text.as_bytes()).unwrap()
}

fn logged(uuid: &str, number: u32, change: OlcLogOperation) -> OlcLogEntry {
    OlcLogEntry {
        uuid: (!uuid.is_empty()).then(|| uuid.to_owned()),
        csn: csn(number),
        author: Some("cn=there".to_owned()),
        time: Some("20261122000001Z".to_owned()),
        change,
    }
}

fn modify(uuid: &str, number: u32, name: &str, changes: &[(AttributeChangeKind, &str, &str)]) -> OlcLogEntry {
    let modifications = changes.iter().map(|(kind, attribute, value)| AttributeChange {
        kind: *kind,
        attribute: (*attribute).to_owned(),
        values: vec![value.as_bytes().to_vec()],
    });
    let (dn, modifications) = (dn(name), modifications.collect());
    logged(uuid, number, OlcLogOperation::Modify { dn, modifications })
}

fn delete(uuid: &str, number: u32, name: &str) -> OlcLogEntry {
    logged(uuid, number, OlcLogOperation::Delete { dn: dn(name) })
}

fn add(schema: &Schema, number: u32, name: &str, attributes: &[(&str, &str)]) -> OlcLogEntry {
    let mut entry = Entry::new(Dn::parse(schema, name.as_bytes()).unwrap());
    for (name, value) in attributes {
        let description = schema.attribute_description(name.as_bytes()).unwrap();
        let values = vec![value.as_bytes().to_vec()];
        entry.attributes.push(ironbark_model::Attribute { description, values });
    }
    logged("uuid-new", number, OlcLogOperation::Add(entry))
}

fn database(schema: &Schema, number: u32, name: &str, value: &str) -> OlcLogEntry {
    let attributes = [
        ("objectClass", "olcMdbConfig"),
        ("olcDatabase", value),
        ("olcSuffix", "o=new"),
        ("olcDbDirectory", "/srv/new"),
        ("entryUUID", "uuid-new"),
    ];
    add(schema, number, name, &attributes)
}

/// Numbers and suffixes of the databases.
fn databases(tree: &Tree) -> Vec<String> {
    let shown = tree.root.children.iter().filter_map(|child| {
        let suffix = child.texts("olcSuffix").next()?;
        Some(format!("{} {suffix}", child.name))
    });
    shown.collect()
}

#[track_caller]
fn replayed(tree: &Tree, changes: &[OlcLogEntry]) -> Tree {
    let schema = load(tree).unwrap().schema;
    let outcome = tree.replay(&schema, changes).unwrap();
    outcome.unwrap_or_else(|| tree.clone())
}

#[test]
fn an_entry_makes_room_for_one_that_is_added_before_it() {
    let tree = tree();
    let schema = load(&tree).unwrap().schema;
    let added = replayed(
        &tree,
        &[database(&schema, 20, "olcDatabase={1}mdb,cn=config", "{1}mdb")],
    );
    assert_eq!(databases(&added), ["{1}mdb o=new", "{2}mdb o=one", "{3}mdb o=two"]);
    // The request left the number out; the entry has it.
    let without = database(&schema, 20, "olcDatabase=mdb,cn=config", "{2}mdb");
    assert_eq!(
        databases(&replayed(&tree, &[without])),
        ["{1}mdb o=one", "{2}mdb o=new", "{3}mdb o=two"]
    );
    // Told twice, it is there once.
    let again = database(&schema, 20, "olcDatabase={1}mdb,cn=config", "{1}mdb");
    assert_eq!(databases(&replayed(&added, &[again])), databases(&added));
}

#[test]
fn entries_are_found_by_their_uuid_and_by_name_without_one() {
    let tree = tree();
    let size = [(AttributeChangeKind::Replace, "olcSizeLimit", "7")];
    // It had another number there.
    let by_uuid = modify("UUID-{2}mdb", 20, "olcDatabase={1}mdb,cn=config", &size);
    let by_name = modify("", 20, "olcDatabase={1}mdb,cn=config", &size);
    for (change, held) in [(by_uuid, 2), (by_name, 1)] {
        let changed = replayed(&tree, &[change]);
        let node = changed
            .root
            .children
            .iter()
            .find(|child| child.name == format!("{{{held}}}mdb"))
            .unwrap();
        assert_eq!(node.texts("olcSizeLimit").collect::<Vec<_>>(), ["7"]);
        assert_eq!(node.texts("entryCSN").collect::<Vec<_>>(), [csn(20)]);
        assert_eq!(node.texts("modifiersName").collect::<Vec<_>>(), ["cn=there"]);
        assert_eq!(node.texts("modifyTimestamp").collect::<Vec<_>>(), ["20261122000001Z"]);
    }
}

#[test]
fn what_is_here_already_or_is_newer_stays_and_values_do_not_matter() {
    let tree = tree();
    let (name, uuid) = ("olcDatabase={1}mdb,cn=config", "uuid-{1}mdb");
    let limit = [(AttributeChangeKind::Replace, "olcSizeLimit", "7")];
    for number in [9, 10] {
        let change = modify(uuid, number, name, &limit);
        let schema = load(&tree).unwrap().schema;
        assert_eq!(tree.replay(&schema, &[change]).unwrap(), None, "{number}");
    }
    // As slapd's consumer: a value that is there, or is missing, is as it should be.
    let values = [
        (AttributeChangeKind::Add, "olcSuffix", "o=one"),
        (AttributeChangeKind::Delete, "olcLimits", "{4}"),
        (AttributeChangeKind::Add, "olcLimits", "users size=5"),
    ];
    let changed = replayed(&tree, &[modify(uuid, 20, name, &values)]);
    let node = changed
        .root
        .children
        .iter()
        .find(|child| child.name == "{1}mdb")
        .unwrap();
    assert_eq!(node.texts("olcSuffix").collect::<Vec<_>>(), ["o=one"]);
    assert_eq!(node.texts("olcLimits").collect::<Vec<_>>(), ["{0}users size=5"]);
}

#[test]
fn another_number_and_a_delete_move_the_others() {
    let tree = tree();
    let (dn, new_rdn) = (dn("olcDatabase={2}mdb,cn=config"), dn("olcDatabase={1}mdb"));
    let moved = logged("uuid-{2}mdb", 20, OlcLogOperation::ModifyDn { dn, new_rdn });
    let moved = replayed(&tree, &[moved]);
    assert_eq!(databases(&moved), ["{1}mdb o=two", "{2}mdb o=one"]);
    let gone = delete("uuid-{2}mdb", 21, "olcDatabase={1}mdb,cn=config");
    assert_eq!(
        databases(&replayed(&moved, std::slice::from_ref(&gone))),
        ["{1}mdb o=one"]
    );
    // One that is not here is gone; without UUID a newer entry of the name is another one.
    for change in [
        delete("uuid-other", 21, "olcDatabase={1}mdb,cn=config"),
        delete("", 9, "olcDatabase={1}mdb,cn=config"),
        delete("uuid-{0}config", 21, "olcDatabase={0}config,cn=config"),
    ] {
        assert_eq!(databases(&replayed(&tree, &[change])), databases(&tree));
    }
}

#[test]
fn a_change_of_an_entry_that_is_not_here_asks_for_a_refresh() {
    let tree = tree();
    let schema = load(&tree).unwrap().schema;
    let limit = [(AttributeChangeKind::Replace, "olcSizeLimit", "7")];
    let overlay = [("objectClass", "olcOverlayConfig"), ("olcOverlay", "{0}sample")];
    let (name, new_rdn) = (dn("olcDatabase={1}mdb,cn=config"), dn("olcDatabase={2}mdb"));
    for change in [
        modify("uuid-other", 20, "olcDatabase={1}mdb,cn=config", &limit),
        modify("", 20, "olcDatabase={7}mdb,cn=config", &limit),
        logged("uuid-other", 20, OlcLogOperation::ModifyDn { dn: name, new_rdn }),
        add(
            &schema,
            20,
            "olcOverlay={0}sample,olcDatabase={7}mdb,cn=config",
            &overlay,
        ),
    ] {
        let error = tree.replay(&schema, &[change]).unwrap_err();
        assert_eq!(error.result_code, ResultCode::SYNC_REFRESH_REQUIRED, "{error}");
    }
}
