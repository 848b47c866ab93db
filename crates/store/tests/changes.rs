//! Many changes of one entry in one effect: values, their order and the indexes are the same as if the changes were
//! made one after the other.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

use crate::common;

use common::*;
use ironbark_store::{StoreError, ValueChange};
use proptest::prelude::*;

const NAME: &str = "cn=many,ou=people,dc=example,dc=com";
/// Two of one type, which feed the same indexes, and one of another.
const ATTRIBUTES: [&str; 3] = ["description", "description;lang-de", "sn"];

/// Long enough that 64 of them leave the record.
fn value(number: usize) -> Vec<u8> {
    format!("Value {number} {}", "x".repeat(60)).into_bytes()
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Add,
    Delete,
    Replace,
}

/// An attribute, and values from a number on; those that can be added or deleted are.
type Step = (Kind, usize, usize, usize);

fn step() -> impl Strategy<Value = Step> {
    let kind = prop_oneof![3 => Just(Kind::Add), 4 => Just(Kind::Delete), 1 => Just(Kind::Replace)];
    (kind, 0..ATTRIBUTES.len(), 0..150usize, 1..120usize)
}

/// The change. It is made in the model too.
fn change(model: &mut [Vec<usize>; 3], (kind, which, from, count): Step) -> Option<ValueChange> {
    let attribute: Box<str> = ATTRIBUTES[which].into();
    let set = &mut model[which];
    let numbers = from..from + count;
    let bytes = |numbers: &[usize]| numbers.iter().copied().map(value).collect::<Vec<_>>();
    match kind {
        Kind::Add => {
            let new: Vec<_> = numbers.filter(|number| !set.contains(number)).collect();
            set.extend(&new);
            let values = bytes(&new);
            (!values.is_empty()).then_some(ValueChange::Add { attribute, values })
        }
        Kind::Delete => {
            let gone: Vec<_> = numbers.filter(|number| set.contains(number)).collect();
            set.retain(|number| !gone.contains(number));
            let values: Vec<_> = bytes(&gone).iter().map(|value| value.to_ascii_uppercase()).collect();
            (!values.is_empty()).then_some(ValueChange::Delete { attribute, values })
        }
        Kind::Replace => {
            *set = numbers.filter(|_| count % 7 != 0).collect();
            let values = bytes(set);
            Some(ValueChange::Replace { attribute, values })
        }
    }
}

fn store_with_indexes() -> Store {
    let store = store_with(|options| {
        options.indexes = vec![index("description", "pres,eq"), index("sn", "pres,eq,sub")];
    });
    store.people();
    let lines = [("objectClass", "extensibleObject"), ("cn", "many")];
    store.apply(&[add(NAME, &lines)]).unwrap();
    store
}

fn assert_holds(store: &Store, model: &[Vec<usize>; 3]) {
    let snapshot = store.database.snapshot().unwrap();
    let view = snapshot.view();
    let record = view.record(locate(view, NAME)).unwrap().unwrap();
    for (name, numbers) in ATTRIBUTES.iter().zip(model) {
        let description = schema().attribute_description(name.as_bytes()).unwrap();
        let found = record.values(&description).map(|found| found.to_attribute().unwrap());
        let found = found.map(|attribute| attribute.values).unwrap_or_default();
        assert_eq!(found, numbers.iter().copied().map(value).collect::<Vec<_>>(), "{name}");
    }
    assert_sound(&store.database);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn changes_in_one_effect_are_those_one_after_the_other(
        effects in prop::collection::vec(prop::collection::vec(step(), 1..8), 1..6)
    ) {
        let store = store_with_indexes();
        let mut model = <[Vec<usize>; 3]>::default();
        for steps in effects {
            let changes: Vec<_> = steps.into_iter().filter_map(|step| change(&mut model, step)).collect();
            store.apply(&[modify(NAME, changes)]).unwrap();
        }
        assert_holds(&store, &model);
    }
}

#[test]
fn nothing_is_left_in_an_index_of_a_set_that_shrank_and_was_replaced() {
    let store = store_with_indexes();
    let mut model = <[Vec<usize>; 3]>::default();
    let first = [(Kind::Add, 0, 0, 100)];
    let then = [(Kind::Delete, 0, 0, 80), (Kind::Replace, 0, 200, 1)];
    for steps in [&first[..], &then] {
        let changes = steps.iter().filter_map(|step| change(&mut model, *step)).collect();
        store.apply(&[modify(NAME, changes)]).unwrap();
    }
    assert_holds(&store, &model);
}

#[test]
fn a_value_that_is_not_there_cannot_be_deleted_among_other_changes() {
    let store = store_with_indexes();
    let (attribute, values) = ("description".into(), vec![value(1)]);
    let add = ValueChange::Add { attribute, values };
    let (attribute, values) = ("description".into(), vec![value(2)]);
    let delete = ValueChange::Delete { attribute, values };
    let refused = store.apply(&[modify(NAME, vec![add, delete])]);
    assert!(matches!(refused, Err(StoreError::Inapplicable(_))));
}
