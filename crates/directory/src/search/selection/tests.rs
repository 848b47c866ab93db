//! Selections of many names behave like those of few names.
#![allow(clippy::expect_used, reason = "a panic fails the test")]

use ironbark_model::schema::{SchemaBuilder, Source};

use super::*;

const ASKED: [&str; 13] = [
    "cn",
    "name",
    "cn;lang-en",
    "cn;lang-en-us",
    "cn;lang-de;lang-en",
    "name;lang-en",
    "uid",
    "uid;lang-en",
    "description;lang-x-y",
    "creatorsName",
    "objectClass",
    "ref",
    "userPassword",
];

fn description(schema: &Schema, name: &str) -> AttributeDescription {
    schema.attribute_description(name.as_bytes()).expect("a description")
}

/// Adds so many names that a look-up is needed. None of the added names selects another one.
fn padded(names: &[&str]) -> Vec<String> {
    let padding = (0..2 * FEW_NAMES).map(|number| format!("supportedControl;lang-q{number}"));
    names.iter().map(ToString::to_string).chain(padding).collect()
}

fn resolved(schema: &Schema, names: &[String], budget: Option<&Budget>) -> Selection {
    let mut selection = Selection::default();
    selection.resolve(schema, names.iter().map(String::as_bytes), budget);
    selection
}

#[test]
fn many_names_select_what_each_of_them_selects() {
    let schema = Schema::system();
    for names in [
        &["name"][..],
        &["cn;lang-en-"],
        &["cn;lang-en;lang-de", "uid"],
        &["name;lang-", "@referral"],
        &["uid;lang-en", "nosuch", "@nosuch", "1.1"],
        &["@top", "@subentry", "@top", "cn", "CN", "2.5.4.3"],
        &["*", "@extensibleObject"],
        &["+", "cn;lang-de"],
    ] {
        let few: Vec<String> = names.iter().map(ToString::to_string).collect();
        let (few, many) = (
            resolved(&schema, &few, None),
            resolved(&schema, &padded(names), Some(&Budget::new(10_000))),
        );
        assert!(many.many.is_some() && many.named.is_empty());
        for asked in ASKED {
            let asked_for = description(&schema, asked);
            assert_eq!(
                few.selects(&schema, &asked_for, None),
                many.selects(&schema, &asked_for, None),
                "{names:?} {asked}"
            );
            let listed = names.iter().any(|name| {
                let own = schema.attribute_description(name.as_bytes());
                own.is_ok_and(|own| schema.is_description_subtype(&asked_for, &own))
            });
            assert!(!listed || many.lists(&schema, &asked_for, None), "{names:?} {asked}");
        }
    }
}

#[test]
fn a_class_is_resolved_once() {
    let schema = Schema::system();
    let once = resolved(&schema, &["@top".to_owned(), "@alias".to_owned()], None);
    let often: Vec<String> = (0..1_000)
        .map(|n| ["@alias", "@ALIAS", "@2.5.6.1"][n % 3].to_owned())
        .collect();
    let often = resolved(&schema, &often, None);
    for asked in ASKED.iter().chain(&["aliasedObjectName"]) {
        let asked_for = description(&schema, asked);
        let [once, often] = [&once, &often].map(|found| found.selects(&schema, &asked_for, None));
        assert_eq!(once, often, "{asked}");
    }
    assert!(often.selects(&schema, &description(&schema, "aliasedObjectName"), None));
}

#[test]
fn what_options_cost_is_counted() {
    let schema = Schema::system();
    let names: Vec<String> = (0..800).map(|number| format!("cn;lang-q{number}")).collect();
    let selection = resolved(&schema, &names, None);
    let spent = |asked: &str| {
        let budget = Budget::new(1_000_000);
        selection.lists(&schema, &description(&schema, asked), Some(&budget));
        1_000_000 - budget.left()
    };
    assert!(spent("uid") < 5 && spent("cn") < 5, "{} {}", spent("uid"), spent("cn"));
    assert!(spent("cn;lang-x") >= 200, "{}", spent("cn;lang-x"));
    let few = Budget::new(100);
    let _ = selection.lists(&schema, &description(&schema, "cn;lang-x"), Some(&few));
    assert!(few.is_exhausted());
}

#[test]
fn a_class_selects_subtypes_of_its_attributes_too() {
    let source = Source {
        file: "test".into(),
        line: 0,
    };
    let mut builder = SchemaBuilder::new();
    let definition = "( 1.3.6.1.4.1.32473.1 NAME 'nickname' SUP cn )";
    builder.attributetype(definition, &source).expect("a definition");
    let class = "( 1.3.6.1.4.1.32473.2 NAME 'named' SUP top AUXILIARY MAY cn )";
    builder.objectclass(class, &source).expect("a definition");
    let schema = builder.build().expect("a schema");
    let selection = resolved(&schema, &["@named".to_owned()], None);
    let selects = |name: &str| selection.selects(&schema, &description(&schema, name), None);
    assert!(selects("cn") && selects("nickname") && selects("nickname;lang-de"));
    assert!(!selects("name") && !selects("uid"));
}
