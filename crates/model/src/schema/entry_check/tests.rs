//! Entries that object classes allow and refuse; the texts are those of slapd.

use std::sync::Arc;

use super::*;
use crate::schema::{SchemaBuilder, file};

const SCHEMA: &str = "\
attributetype ( 1.2.1.1 NAME 'sn' SUP name )
attributetype ( 1.2.1.2 NAME 'mail' SUP name )
attributetype ( 1.2.1.3 NAME 'c' SUP name SINGLE-VALUE )
attributetype ( 1.2.1.4 NAME 'c-l' SUP name COLLECTIVE )
objectclass ( 1.2.2.1 NAME 'person' SUP top STRUCTURAL MUST ( sn $ cn ) MAY ( userPassword $ description ) )
objectclass ( 1.2.2.2 NAME 'employee' SUP person STRUCTURAL MAY ( mail $ c ) )
objectclass ( 1.2.2.3 NAME 'device' SUP top STRUCTURAL MUST cn )
objectclass ( 1.2.2.4 NAME 'mailbox' AUXILIARY MAY mail )
objectclass ( 1.2.2.5 NAME 'thing' SUP top ABSTRACT MUST cn )
objectclass ( 1.2.2.6 NAME 'realThing' SUP thing STRUCTURAL )
objectclass ( 1.2.2.7 NAME 'oldThing' OBSOLETE SUP top AUXILIARY )
objectclass ( 1.2.2.8 NAME 'ruled' SUP top STRUCTURAL MAY ( cn $ seeAlso ) )
ditcontentrule ( 1.2.2.8 NAME 'rule' AUX mailbox MUST uid MAY c NOT seeAlso )
";

fn schema() -> Arc<Schema> {
    let mut builder = SchemaBuilder::new();
    file::read(&mut builder, SCHEMA, &"test".into()).expect("reads");
    builder.build().expect("valid")
}

fn check_with(check: EntryCheck, classes: &str, attributes: &str) -> Result<String, (ResultCode, String)> {
    let schema = schema();
    let descriptions: Vec<AttributeDescription> = attributes
        .split(' ')
        .filter(|name| !name.is_empty())
        .chain(["objectClass"])
        .map(|name| schema.attribute_description(name.as_bytes()).expect(name))
        .collect();
    let mut checked: Vec<CheckedAttribute<'_>> = Vec::new();
    for description in &descriptions {
        match checked.iter_mut().find(|known| known.description == description) {
            Some(known) => known.value_count += 1,
            None => checked.push(CheckedAttribute {
                description,
                value_count: 1,
            }),
        }
    }
    let classes = classes.split(' ').filter(|name| !name.is_empty()).map(str::as_bytes);
    match check.check(&schema, classes, &checked) {
        Ok(class) => Ok(schema.object_class(class).name().to_owned()),
        Err(error) => Err((error.result_code, error.diagnostic_message)),
    }
}

#[test]
fn allowed_entries_and_their_structural_class() {
    for (classes, attributes, expected) in [
        ("top person", "cn sn", "person"),
        ("person employee top", "cn sn mail c", "employee"),
        ("EMPLOYEE", "cn sn mail", "employee"),
        ("1.2.2.3", "cn", "device"),
        ("device mailbox", "cn mail", "device"),
        ("device extensibleObject", "cn mail sn uidNumber", "device"),
        ("thing realThing", "cn", "realThing"),
        ("device", "cn;lang-en", "device"),
        ("device", "cn createTimestamp entryUUID", "device"),
        ("ruled mailbox", "uid c mail", "ruled"),
        ("ruled extensibleObject", "uid", "ruled"),
    ] {
        assert_eq!(
            check_with(EntryCheck::default(), classes, attributes),
            Ok(expected.to_owned()),
            "{classes}: {attributes}"
        );
    }
}

#[test]
fn refused_entries() {
    for (classes, attributes, expected) in [
        ("", "cn", "no objectClass attribute"),
        ("top", "cn", "no structural object class provided"),
        ("mailbox", "mail", "no structural object class provided"),
        ("thing", "cn", "no structural object class provided"),
        (
            "device thing",
            "cn",
            "instantiation of abstract objectClass 'thing' not allowed",
        ),
        (
            "person device",
            "cn sn",
            "invalid structural object class chain (person/device)",
        ),
        ("nosuch", "cn", "unrecognized objectClass 'nosuch'"),
        ("person", "cn", "object class 'person' requires attribute 'sn'"),
        ("device", "cn mail", "attribute 'mail' not allowed"),
        ("device oldThing", "cn", "objectClass 'oldThing' is OBSOLETE"),
        (
            "device extensibleObject",
            "cn c-l",
            "'c-l' can only appear in collectiveAttributeSubentry",
        ),
        ("ruled", "cn", "content rule 'rule' requires attribute 'uid'"),
        (
            "ruled",
            "uid seeAlso",
            "content rule 'rule' precluded attribute 'seeAlso'",
        ),
        (
            "ruled pwdPolicy",
            "uid pwdAttribute",
            "class 'pwdPolicy' not allowed by content rule 'rule'",
        ),
    ] {
        assert_eq!(
            check_with(EntryCheck::default(), classes, attributes),
            Err((ResultCode::OBJECT_CLASS_VIOLATION, expected.to_owned())),
            "{classes}: {attributes}"
        );
    }
    assert_eq!(
        check_with(EntryCheck::default(), "employee", "cn sn c c"),
        Err((
            ResultCode::CONSTRAINT_VIOLATION,
            "attribute 'c' cannot have multiple values".to_owned()
        ))
    );
}

#[test]
fn the_structural_class_stays() {
    let former = schema().find_object_class(b"device").map(|class| class.number);
    let check = EntryCheck {
        former_class: former,
        ..EntryCheck::default()
    };
    assert_eq!(check_with(check, "device mailbox", "cn"), Ok("device".to_owned()));
    assert_eq!(
        check_with(check, "person", "cn sn"),
        Err((
            ResultCode::OBJECT_CLASS_MODS_PROHIBITED,
            "structural object class modification from 'device' to 'person' not allowed".to_owned()
        ))
    );
    let relaxed = EntryCheck { relax: true, ..check };
    assert_eq!(check_with(relaxed, "person oldThing", "cn sn"), Ok("person".to_owned()));
}
