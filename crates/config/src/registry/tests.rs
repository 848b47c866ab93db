//! The rows for words at places, and the schema made from the rows.

use std::collections::BTreeSet;

use super::{Place, Registry};
use crate::{
    SettingError, SettingLevel,
    test_overlay::{Sample, Single, registry},
};

#[test]
fn a_general_row_comes_before_a_database_row_and_the_last_overlay_before_the_first() {
    let overlays = ["single", "sample"];
    let place = Place::Database("mdb", &overlays);
    let level = |keyword: &str, place: Place<'_>, global: &[&'static str]| {
        registry().find(keyword, place, global).map(|row| row.level)
    };
    assert_eq!(level("SIZELIMIT", place, &[]), Some(SettingLevel::Inherited));
    assert_eq!(level("maxsize", place, &[]), Some(SettingLevel::DatabaseOf(&["mdb"])));
    assert_eq!(level("single-file", place, &[]), Some(SettingLevel::Overlay("single")));
    assert_eq!(level("maxsize", Place::Global, &[]), None);
    assert_eq!(level("single-file", Place::Global, &[]), None);
    assert_eq!(
        level("single-file", Place::Global, &["single"]),
        Some(SettingLevel::Overlay("single"))
    );
}

#[test]
fn a_slip_of_the_pen_gets_a_suggestion_and_nonsense_none() {
    assert_eq!(registry().suggestion("sufix"), Some("suffix"));
    assert_eq!(registry().suggestion("RootPV"), Some("rootpw"));
    assert_eq!(registry().suggestion("sample-nam"), Some("sample-name"));
    assert_eq!(registry().suggestion("xyzzy-plugh"), None);
}

#[test]
fn the_rows_make_a_schema() {
    let schema = registry().base_schema();
    let access = schema.find_attribute_type(b"olcAccess").unwrap();
    assert_eq!(access.oid.as_ref(), "1.3.6.1.4.1.4203.1.12.2.3.0.1");
    assert_eq!(access.extension("X-ORDERED"), Some("VALUES"));
    let words = schema.find_attribute_type(b"olcSampleWords").unwrap();
    assert_eq!(words.oid.as_ref(), "2.25.1246756151.2.901");
    let class = schema.find_object_class(b"olcSample").unwrap();
    assert_eq!(class.oid.as_ref(), "1.3.6.1.4.1.4203.1.12.2.4.3.901.1");
    assert!(schema.find_attribute_type(b"sampled").unwrap().hidden);
    assert!(
        Registry::default()
            .base_schema()
            .find_attribute_type(b"sampled")
            .is_none()
    );
}

#[test]
fn classes_have_the_attributes_of_their_overlay_in_the_order_of_its_rows() {
    let class = registry().class("OLCSAMPLE").unwrap();
    assert_eq!(*class.may, ["olcSampleName", "olcSampleSwitch", "olcSampleWords"]);
    assert!(class.must.is_empty());
    let order = registry().order_of(["olcOverlayConfig", "olcSampleConfig"].into_iter());
    assert_eq!(order.first(), Some(&"olcOverlay"));
    assert!(order.ends_with(&["olcSampleName", "olcSampleSwitch", "olcSampleWords"]));
}

#[test]
fn every_setting_of_cn_config_is_allowed_by_a_class() {
    let classes = registry().classes().iter();
    let allowed: BTreeSet<_> = classes
        .flat_map(|row| row.must.iter().chain(row.may.iter()))
        .copied()
        .collect();
    for row in registry().settings().filter(|row| !row.attributes.is_empty()) {
        assert!(
            row.attributes.iter().any(|name| allowed.contains(name)),
            "{:?} is in no class",
            row.attributes
        );
    }
    for name in allowed.iter().filter(|name| **name != "cn") {
        assert!(registry().with_attribute(name).is_some(), "{name}");
    }
}

#[test]
fn settings_of_another_overlay_are_not_given() {
    let location = crate::DatabaseConfig::frontend().location;
    let sample = crate::OverlayConfig::new(registry().overlay("sample").unwrap(), location.clone());
    let single = crate::OverlayConfig::new(registry().overlay("single").unwrap(), location);
    assert!(sample.settings::<Sample>().is_ok());
    assert_eq!(
        sample.settings::<Single>(),
        Err(SettingError::Misplaced(
            "belongs to another overlay than sample".to_owned()
        ))
    );
    assert!(sample.is_like(&sample.clone()) && !sample.is_like(&single));
}

#[test]
fn a_module_is_found_by_the_name_of_its_overlay_and_by_its_own() {
    let parts = registry().parts();
    assert_eq!(
        parts.module("{1}/usr/lib/old_sample.la").map(|part| part.name),
        Some("sample")
    );
    assert_eq!(parts.module("single.so").map(|part| part.name), Some("single"));
    assert!(parts.module("nosuch").is_none());
}

#[test]
fn no_two_attributes_have_one_place_in_a_class() {
    let mut places = Vec::new();
    for row in registry().settings() {
        assert!(
            !row.classes.iter().any(|_| row.attributes.is_empty()),
            "{:?}",
            row.keywords
        );
        for place in row.classes.iter().filter(|place| place.place.is_some()) {
            assert!(!places.contains(place), "{:?}: {place:?}", row.attributes);
            places.push(*place);
        }
    }
    assert!(places.len() > 100);
}
