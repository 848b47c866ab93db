//! Random changes of values at every border: sets that move out of the record and back, keys that are cut, hashes that
//! are equal on purpose, rules that differ between a type and its supertype, a schema that changes. Each answer of an
//! index is that of a scan, and the deep check finds nothing. `IRONBARK_CASES` sets how many runs.

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
    collections::BTreeMap,
    sync::{Arc, LazyLock},
};

use common::{add, assert_sound, index, modify};
use ironbark_model::{
    Attribute, CompiledFilter, Dn, Entry, Filter, Schema, Truth,
    schema::{SchemaBuilder, file},
};
use ironbark_store::{BulkBuilder, Database, DatabaseOptions, DitScope, Effect, EntryId, Location, ValueChange, View};
use proptest::prelude::*;

const SUFFIX: &str = "cn=x";
/// Two schemas: in the second one `plain` has a supertype, and `leaving` has lost its own.
const TYPES: [&str; 2] = [
    "attributetype ( 1.9.1 NAME 'plain' EQUALITY caseIgnoreMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )
attributetype ( 1.9.2 NAME 'leaving' SUP base )",
    "attributetype ( 1.9.1 NAME 'plain' SUP base )
attributetype ( 1.9.2 NAME 'leaving' EQUALITY caseIgnoreMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )",
];
const COMMON: &str = "
attributetype ( 1.9.3 NAME 'base' EQUALITY caseIgnoreMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )
attributetype ( 1.9.4 NAME 'exact' SUP base EQUALITY caseExactMatch )
attributetype ( 1.9.5 NAME 'strict' EQUALITY caseExactMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )
attributetype ( 1.9.6 NAME 'loose' SUP strict EQUALITY caseIgnoreMatch )
attributetype ( 1.9.7 NAME 'octets' EQUALITY octetStringMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.40 )
attributetype ( 1.9.8 NAME 'word' EQUALITY caseIgnoreMatch ORDERING caseIgnoreOrderingMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )
attributetype ( 1.9.9 NAME 'mixed' EQUALITY caseExactMatch ORDERING caseIgnoreOrderingMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )
";
const ATTRIBUTES: [&str; 11] = [
    "base",
    "exact",
    "strict",
    "loose",
    "octets",
    "word",
    "mixed",
    "plain",
    "leaving",
    "base;lang-x",
    "exact;lang-x",
];
/// Those whose rule tells upper from lower case.
const CASE_COUNTS: [&str; 5] = ["exact", "strict", "mixed", "exact;lang-x", "octets"];
const ENTRIES: [&str; 3] = ["cn=a,cn=x", "cn=b,cn=x", "cn=c,cn=x"];
/// Values beside fillers.
const POOL: usize = 12;
/// The first bytes of the secret of XXH3, which is public. Values that begin with them have one hash.
const ZERO: [u8; 8] = [0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe];

fn schema(which: usize) -> Arc<Schema> {
    static SCHEMAS: LazyLock<[Arc<Schema>; 2]> = LazyLock::new(|| {
        TYPES.map(|types| {
            let mut builder = SchemaBuilder::new();
            for text in [COMMON, types] {
                file::read(&mut builder, text, &"borders".into()).unwrap();
            }
            builder.build().unwrap()
        })
    });
    SCHEMAS[which].clone()
}

fn options(directory: &std::path::Path) -> DatabaseOptions {
    let kinds = |name: &&str| index(name, if *name == "exact" { "eq,pres" } else { "eq" });
    DatabaseOptions {
        suffixes: vec![Dn::parse(&schema(0), SUFFIX.as_bytes()).unwrap()],
        indexes: ATTRIBUTES[..9].iter().map(kinds).collect(),
        ..common::options(directory)
    }
}

/// A value of an attribute, by its number in the pool.
fn value(attribute: &str, number: usize) -> Vec<u8> {
    if attribute == "octets" {
        return [&ZERO[..], &(number as u64).to_le_bytes(), &[b'x'; 52]].concat();
    }
    let text = match number {
        // Keys of ordered indexes are cut after 200 octets.
        0..POOL => {
            let length = [70, 199, 200, 201, 240, 240][number % 6];
            let mut text = "v".repeat(length);
            text.replace_range(length - 1.., if number < 6 { "y" } else { "z" });
            if number % 6 == 5 {
                text.replace_range(..1, "V");
            }
            text
        }
        _ => format!("{number:080}"),
    };
    text.into_bytes()
}

fn is_same(attribute: &str, a: &[u8], b: &[u8]) -> bool {
    if CASE_COUNTS.contains(&attribute) {
        a == b
    } else {
        a.eq_ignore_ascii_case(b)
    }
}

#[derive(Clone, Debug)]
enum Step {
    /// Adds a value, or deletes it if it is there; perhaps named in the other case.
    Turn {
        entry: usize,
        attribute: usize,
        value: usize,
        other_case: bool,
    },
    /// Adds fillers up to this number, or deletes those beyond it.
    Fill {
        entry: usize,
        attribute: usize,
        count: usize,
    },
    Replace {
        entry: usize,
        attribute: usize,
        values: Vec<usize>,
    },
    Delete {
        entry: usize,
    },
    /// The steps in one request.
    Together(Vec<Step>),
    OtherSchema,
    Reopen,
    Reindex {
        attribute: usize,
    },
    /// A step towards indexes that are complete.
    Build,
    /// Into a new file, by the bulk build.
    Reload,
}

fn change() -> impl Strategy<Value = Step> {
    let place = (0..2_usize, 0..ATTRIBUTES.len());
    prop_oneof![
        8 => (place.clone(), 0..POOL, any::<bool>()).prop_map(|((entry, attribute), value, other_case)| Step::Turn {
            entry, attribute, value, other_case
        }),
        3 => (place.clone(), prop_oneof![Just(0), 20..40_usize, 55..75_usize]).prop_map(
            |((entry, attribute), count)| Step::Fill { entry, attribute, count }),
        1 => (place, prop_oneof![
            proptest::collection::vec(0..POOL, 0..4),
            Just((0..POOL + 60).collect()),
        ]).prop_map(|((entry, attribute), values)| Step::Replace { entry, attribute, values }),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        20 => change(),
        4 => (0..2_usize, proptest::collection::vec(change(), 2..5)).prop_map(|(at, mut steps)| {
            for step in &mut steps {
                let (Step::Turn { entry, .. } | Step::Fill { entry, .. } | Step::Replace { entry, .. }) = step else {
                    unreachable!()
                };
                *entry = at;
            }
            Step::Together(steps)
        }),
        1 => (0..2_usize).prop_map(|entry| Step::Delete { entry }),
        1 => Just(Step::OtherSchema),
        1 => Just(Step::Reopen),
        1 => (0..9_usize).prop_map(|attribute| Step::Reindex { attribute }),
        3 => Just(Step::Build),
        1 => Just(Step::Reload),
    ]
}

/// What an entry should have.
type Content = BTreeMap<&'static str, Vec<Vec<u8>>>;

fn add_values(attribute: &str, values: Vec<Vec<u8>>) -> ValueChange {
    let attribute = attribute.into();
    ValueChange::Add { attribute, values }
}

fn delete_values(attribute: &str, values: Vec<Vec<u8>>) -> ValueChange {
    let attribute = attribute.into();
    ValueChange::Delete { attribute, values }
}

fn turned(attribute: &str, values: &mut Vec<Vec<u8>>, number: usize, other_case: bool) -> Vec<ValueChange> {
    let mut one = value(attribute, number);
    if other_case && !CASE_COUNTS.contains(&attribute) {
        one.make_ascii_uppercase();
    }
    if let Some(at) = values.iter().position(|known| is_same(attribute, known, &one)) {
        values.remove(at);
        return vec![delete_values(attribute, vec![one])];
    }
    values.push(one.clone());
    vec![add_values(attribute, vec![one])]
}

fn filled(attribute: &str, values: &mut Vec<Vec<u8>>, count: usize) -> Vec<ValueChange> {
    let (mut gone, mut come) = (Vec::new(), Vec::new());
    for number in POOL..POOL + 75 {
        let one = value(attribute, number);
        let place = values.iter().position(|known| *known == one);
        match (place, number < POOL + count) {
            (Some(at), false) => gone.push(values.remove(at)),
            (None, true) => come.push(one),
            _ => {}
        }
    }
    values.extend(come.iter().cloned());
    let changes = [
        (!gone.is_empty(), delete_values(attribute, gone)),
        (!come.is_empty(), add_values(attribute, come)),
    ];
    changes
        .into_iter()
        .filter_map(|(is_one, change)| is_one.then_some(change))
        .collect()
}

fn replaced(attribute: &str, values: &mut Vec<Vec<u8>>, numbers: &[usize]) -> Vec<ValueChange> {
    values.clear();
    for one in numbers.iter().map(|&number| value(attribute, number)) {
        if !values.iter().any(|known| is_same(attribute, known, &one)) {
            values.push(one);
        }
    }
    let (attribute, values) = (attribute.into(), values.clone());
    vec![ValueChange::Replace { attribute, values }]
}

struct World {
    folder: tempfile::TempDir,
    database: Option<Arc<Database>>,
    which: usize,
    content: [Option<Content>; 3],
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let database = Database::open(options(folder.path()), schema(0)).unwrap();
        let mut write = database.write().unwrap();
        write
            .apply_effect(&add(SUFFIX, &[("objectClass", "extensibleObject"), ("cn", "x")]))
            .unwrap();
        write.commit().unwrap();
        let mut world = Self {
            folder,
            database: Some(Arc::new(database)),
            which: 0,
            content: [None, None, None],
        };
        // An entry that has each attribute, so that a new attribute number is nothing special.
        let all = ATTRIBUTES.map(|attribute| (attribute, vec![value(attribute, 0)]));
        world.put(2, all.into());
        world
    }

    fn database(&self) -> &Database {
        self.database.as_ref().unwrap()
    }

    fn apply(&self, effect: &Effect) {
        let mut write = self.database().write().unwrap();
        write.apply_effect(effect).unwrap();
        write.commit().unwrap();
    }

    fn put(&mut self, entry: usize, content: Content) {
        let Effect::Add { dn, mut attributes } = add(ENTRIES[entry], &[("objectClass", "extensibleObject")]) else {
            unreachable!()
        };
        attributes.extend(content.iter().map(|(name, values)| ((*name).into(), values.clone())));
        self.apply(&Effect::Add { dn, attributes });
        self.content[entry] = Some(content);
    }

    /// The changes of one step, in the model too.
    fn changes(&mut self, step: &Step) -> (usize, Vec<ValueChange>) {
        let (Step::Turn { entry, attribute, .. }
        | Step::Fill { entry, attribute, .. }
        | Step::Replace { entry, attribute, .. }) = *step
        else {
            unreachable!()
        };
        let name = ATTRIBUTES[attribute];
        if self.content[entry].is_none() {
            self.put(entry, Content::new());
        }
        let content = self.content[entry].as_mut().unwrap();
        let values = content.entry(name).or_default();
        let changes = match step {
            Step::Turn { value, other_case, .. } => turned(name, values, *value, *other_case),
            Step::Fill { count, .. } => filled(name, values, *count),
            Step::Replace { values: numbers, .. } => replaced(name, values, numbers),
            _ => unreachable!(),
        };
        if values.is_empty() {
            content.remove(name);
        }
        (entry, changes)
    }

    fn open(&mut self, folder: tempfile::TempDir) {
        self.database = None;
        self.database = Some(Arc::new(
            Database::open(options(folder.path()), schema(self.which)).unwrap(),
        ));
        self.folder = folder;
    }

    fn run(&mut self, step: &Step) {
        match step {
            Step::Turn { .. } | Step::Fill { .. } | Step::Replace { .. } => {
                let (entry, changes) = self.changes(step);
                self.apply(&modify(ENTRIES[entry], changes));
            }
            Step::Together(steps) => {
                let all: Vec<_> = steps.iter().map(|step| self.changes(step)).collect();
                let entry = all[0].0;
                let changes = all.into_iter().flat_map(|(_, changes)| changes).collect();
                self.apply(&modify(ENTRIES[entry], changes));
            }
            Step::Delete { entry } => {
                if self.content[*entry].take().is_some() {
                    self.apply(&Effect::Delete {
                        dn: ENTRIES[*entry].into(),
                    });
                }
            }
            Step::OtherSchema => {
                self.which = 1 - self.which;
                let suffixes = self.database().options().suffixes.clone();
                let next = self.database().under(schema(self.which), suffixes).unwrap();
                next.define_indexes(&options(self.folder.path()).indexes).unwrap();
                self.database = Some(Arc::new(next));
            }
            Step::Reopen => {
                self.database = None;
                let folder = std::mem::replace(&mut self.folder, tempfile::tempdir().unwrap());
                self.open(folder);
            }
            Step::Reindex { attribute } => {
                let on = &mut |_| std::ops::ControlFlow::Continue(());
                self.database().reindex(&[ATTRIBUTES[*attribute]], on).unwrap();
            }
            Step::Build => {
                self.database().index_step(2).unwrap();
            }
            Step::Reload => self.reload(),
        }
    }

    fn reload(&mut self) {
        let folder = tempfile::tempdir().unwrap();
        let schema = schema(self.which);
        let mut builder = BulkBuilder::new(options(folder.path()), schema.clone(), 1 << 24).unwrap();
        let mut load = |name: &str, attributes: &mut dyn Iterator<Item = (&str, Vec<Vec<u8>>)>| {
            let attribute = |(name, values): (&str, Vec<Vec<u8>>)| Attribute {
                description: schema.attribute_description(name.as_bytes()).unwrap(),
                values,
            };
            let attributes = attributes.map(attribute).collect();
            let dn = Dn::parse(&schema, name.as_bytes()).unwrap();
            builder.add(&Entry { dn, attributes }).unwrap();
        };
        let class = |class: &str| ("objectClass", vec![class.as_bytes().to_vec()]);
        load(
            SUFFIX,
            &mut [class("extensibleObject"), ("cn", vec![b"x".to_vec()])].into_iter(),
        );
        for (name, content) in ENTRIES.iter().zip(&self.content) {
            let Some(content) = content else { continue };
            let attributes = content.iter().map(|(name, values)| (*name, values.clone()));
            load(name, &mut std::iter::once(class("extensibleObject")).chain(attributes));
        }
        builder.finish().unwrap();
        self.open(folder);
    }

    fn check(&self) {
        let snapshot = self.database().snapshot().unwrap();
        let view = snapshot.view();
        let schema = self.database().schema();
        for (label, compiled) in questions(self.which) {
            let found = planned(view, &schema, compiled);
            assert_eq!(found, scanned(view, compiled), "{label}");
        }
        drop(snapshot);
        assert_sound(self.database());
    }
}

/// Every filter about a value of the pool, compiled under a schema, with the words that name it.
fn questions(which: usize) -> &'static [(String, CompiledFilter)] {
    static QUESTIONS: LazyLock<[Vec<(String, CompiledFilter)>; 2]> = LazyLock::new(|| [0, 1].map(compiled_questions));
    &QUESTIONS[which]
}

fn compiled_questions(which: usize) -> Vec<(String, CompiledFilter)> {
    let schema = schema(which);
    let pairs = ATTRIBUTES
        .iter()
        .flat_map(|attribute| (0..POOL).map(move |number| (attribute, number)));
    let mut questions = Vec::new();
    for (attribute, number) in pairs {
        let escaped = value(attribute, number)
            .iter()
            .fold(String::new(), |text, byte| text + &format!("\\{byte:02x}"));
        let signs = if ["word", "mixed"].contains(attribute) {
            &["=", "<=", ">="][..]
        } else {
            &["="]
        };
        for sign in signs {
            for (open, close) in [("(", ")"), ("(!(", "))")] {
                let filter = format!("{open}{attribute}{sign}{escaped}{close}");
                let mut compiled = CompiledFilter::default();
                compiled.compile(&schema, &Filter::parse(filter.as_bytes(), 100).unwrap());
                questions.push((format!("{open}{attribute}{sign}value {number}{close}"), compiled));
            }
        }
    }
    questions
}

fn planned(view: View<'_>, schema: &Schema, compiled: &CompiledFilter) -> Vec<EntryId> {
    let Location::Entry(base) = view.locate(&Dn::parse(schema, SUFFIX.as_bytes()).unwrap()).unwrap() else {
        panic!("no suffix")
    };
    let plan = view.plan(base, DitScope::Subtree, compiled).unwrap();
    let mut candidates = view.candidates(&plan, 0).unwrap();
    let (mut found, mut scratch) = (Vec::new(), Vec::new());
    while let Some(id) = candidates.next_id().unwrap() {
        if let Some(record) = view.record(id).unwrap()
            && record.evaluate_planned(&plan, compiled, &mut scratch) == Truth::True
        {
            found.push(id);
        }
    }
    found
}

fn scanned(view: View<'_>, compiled: &CompiledFilter) -> Vec<EntryId> {
    let mut scratch = Vec::new();
    let entries = view.entries(0).unwrap().map(Result::unwrap);
    let matching = entries.filter(|record| record.evaluate(compiled, &mut scratch) == Truth::True);
    matching.map(|record| record.id).collect()
}

fn cases() -> u32 {
    std::env::var("IRONBARK_CASES").map_or(40, |count| count.parse().expect("a number"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn an_index_answers_as_a_scan_whatever_values_come_and_go(
        rounds in proptest::collection::vec(proptest::collection::vec(step(), 1..12), 1..8),
    ) {
        let mut world = World::new();
        for round in &rounds {
            for step in round {
                world.run(step);
            }
            world.check();
        }
    }
}

/// The numbers of attributes and values.
fn turn(attribute: &str, value: usize) -> Step {
    Step::Turn {
        entry: 0,
        attribute: ATTRIBUTES.iter().position(|name| *name == attribute).unwrap(),
        value,
        other_case: false,
    }
}

fn fill(attribute: &str, count: usize) -> Step {
    Step::Fill {
        entry: 0,
        attribute: ATTRIBUTES.iter().position(|name| *name == attribute).unwrap(),
        count,
    }
}

/// Values with one key: by their hash, by a key that is cut, by the rule of the supertype, in sets of two attributes.
const SHARING: [[(&str, usize); 2]; 5] = [
    [("octets", 1), ("octets", 2)],
    [("word", 4), ("word", 10)],
    [("exact", 4), ("exact", 5)],
    [("base", 4), ("exact", 4)],
    [("exact", 4), ("exact;lang-x", 5)],
];

#[test]
fn a_value_keeps_the_key_that_it_shares_with_one_that_goes() {
    for [one, other] in SHARING {
        for is_reloaded in [false, true] {
            let mut world = World::new();
            for step in [fill(one.0, 70), turn(one.0, one.1), turn(other.0, other.1)] {
                world.run(&step);
            }
            if is_reloaded {
                world.run(&Step::Reload);
            }
            world.run(&turn(other.0, other.1));
            world.check();
            world.run(&turn(one.0, one.1));
            world.check();
        }
    }
}

#[test]
fn keys_are_shared_before_a_set_moves_out_and_after_it_has_moved_back() {
    for [one, other] in SHARING {
        let mut world = World::new();
        let steps = [
            turn(one.0, one.1),
            turn(other.0, other.1),
            fill(one.0, 70),
            turn(one.0, one.1),
        ];
        for step in steps
            .iter()
            .chain(&[turn(one.0, one.1), fill(one.0, 5), turn(other.0, other.1)])
        {
            world.run(step);
            world.check();
        }
    }
}

#[test]
fn a_type_that_gets_or_loses_a_supertype_is_found_rightly_before_and_after_its_indexes_are_built() {
    for reopen in [false, true] {
        let mut world = World::new();
        world.run(&turn("plain", 3));
        world.run(&turn("leaving", 3));
        world.run(&Step::OtherSchema);
        if reopen {
            world.run(&Step::Reopen);
        }
        world.check();
        let building = |world: &World| world.database().inactive_indexes();
        assert_eq!(building(&world), ["base eq"], "the others hold what they should");
        while !building(&world).is_empty() {
            world.run(&Step::Build);
        }
        world.check();
    }
}

#[test]
fn a_new_attribute_and_one_out_of_use_leave_indexes_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let suffix = |database: &Database, extra: &[(&str, &str)]| {
        let mut write = database.write().unwrap();
        let lines = [&[("objectClass", "extensibleObject"), ("cn", "x")], extra].concat();
        write.apply_effect(&add(SUFFIX, &lines)).unwrap();
        write.commit().unwrap();
    };
    let database = Database::open(options(folder.path()), schema(0)).unwrap();
    suffix(&database, &[("base", "a"), ("exact", "a")]);
    let mut write = database.write().unwrap();
    let gone = ValueChange::Delete {
        attribute: "exact".into(),
        values: vec![b"a".to_vec()],
    };
    write.apply_effect(&modify(SUFFIX, vec![gone])).unwrap();
    write.commit().unwrap();
    let suffixes = database.options().suffixes.clone();
    let mut builder = SchemaBuilder::new();
    let others = COMMON
        .lines()
        .filter(|line| !line.contains("'exact'"))
        .collect::<Vec<_>>()
        .join("\n");
    for text in [&others, TYPES[0]] {
        file::read(&mut builder, text, &"borders".into()).unwrap();
    }
    let without = builder.build().unwrap();
    database.retire(&database.lost_attributes(&without)).unwrap();
    let next = database.under(without, suffixes).unwrap();
    let mut definitions = options(folder.path()).indexes;
    definitions.retain(|definition| &*definition.attribute != "exact");
    next.define_indexes(&definitions).unwrap();
    assert_eq!(next.inactive_indexes(), Vec::<String>::new());
    assert_sound(&next);
}
