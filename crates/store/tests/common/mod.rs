//! A schema, a database in a temporary directory, and shorthands.
#![allow(dead_code, missing_docs, unreachable_pub, reason = "each test program uses a part")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "tests"
)]

use std::sync::{Arc, LazyLock};

use ironbark_model::{
    Attribute, CompiledFilter, Dn, Entry, Filter, Schema,
    schema::{SchemaBuilder, file},
};
use ironbark_store::{
    ChangeRecord, Csn, Database, DatabaseOptions, DitScope, Effect, EntryId, IndexDefinition, StoreError, ValueChange,
    View,
    change::Position,
    check::{self, Extent},
};

const EXTRA: &str = "
attributetype ( 1.3.6.1.4.1.99999.2 NAME 'level' EQUALITY integerMatch ORDERING integerOrderingMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 )
attributetype ( 1.3.6.1.4.1.99999.3 NAME 'born' EQUALITY generalizedTimeMatch ORDERING generalizedTimeOrderingMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.24 )
attributetype ( 1.3.6.1.4.1.99999.4 NAME 'memberOfGroup' EQUALITY distinguishedNameMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.12 )
attributetype ( 1.3.6.1.4.1.99999.5 NAME 'word' EQUALITY caseIgnoreMatch ORDERING caseIgnoreOrderingMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )
";

pub fn schema() -> Arc<Schema> {
    static SCHEMA: LazyLock<Arc<Schema>> = LazyLock::new(|| {
        let mut builder = SchemaBuilder::new();
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schema");
        for name in ["core", "cosine", "inetorgperson"] {
            let path = format!("{folder}/{name}.schema");
            let text = std::fs::read_to_string(&path).unwrap();
            file::read(&mut builder, &text, &path.as_str().into()).unwrap();
        }
        file::read(&mut builder, EXTRA, &"extra".into()).unwrap();
        builder.build().unwrap()
    });
    SCHEMA.clone()
}

pub fn dn(text: &str) -> Dn {
    Dn::parse(&schema(), text.as_bytes()).unwrap()
}

pub fn index(attribute: &str, kinds: &str) -> IndexDefinition {
    let has = |kind| kinds.split(',').any(|k| k == kind);
    IndexDefinition {
        attribute: attribute.into(),
        presence: has("pres"),
        equality: has("eq"),
        substring: has("sub"),
        approximate: has("approx"),
        no_language: has("nolang"),
        no_subtypes: has("nosubtypes"),
    }
}

pub fn indexes() -> Vec<IndexDefinition> {
    vec![
        index("objectClass", "eq"),
        index("cn", "pres,eq,sub,approx"),
        index("sn", "eq"),
        index("uid", "eq"),
        index("level", "eq"),
        index("born", "eq,pres"),
        index("word", "eq"),
        index("member", "eq,pres"),
        index("memberOfGroup", "eq"),
        index("entryUUID", "eq"),
    ]
}

pub fn options(directory: &std::path::Path) -> DatabaseOptions {
    DatabaseOptions {
        directory: directory.to_owned(),
        suffixes: vec![dn("dc=example,dc=com")],
        max_size: Some(256 << 20),
        max_readers: 64,
        mode: 0o600,
        no_sync: true,
        no_meta_sync: false,
        no_read_ahead: false,
        indexes: indexes(),
        read_only: false,
    }
}

pub struct Store {
    pub database: Database,
    pub directory: tempfile::TempDir,
}

/// Every page, entry, name and index row is sound.
pub fn assert_sound(database: &Database) {
    let file = database.options().directory.join("data.mdb");
    let pages = check::file(&file).unwrap();
    assert_eq!(pages.texts(), Vec::<String>::new());
    let report = database.check(Extent::Everything, &mut |_| {}).unwrap();
    assert_eq!(report.findings.texts(), Vec::<String>::new());
}

pub fn store() -> Store {
    store_with(|_| {})
}

pub fn store_with(change: impl FnOnce(&mut DatabaseOptions)) -> Store {
    let directory = tempfile::tempdir().unwrap();
    let mut options = options(directory.path());
    change(&mut options);
    Store {
        database: Database::open(options, schema()).unwrap(),
        directory,
    }
}

/// `cn: a`, `cn;lang-de: b`, ... in the order given.
pub fn attributes(lines: &[(&str, &str)]) -> Vec<(Box<str>, Vec<Vec<u8>>)> {
    let mut all: Vec<(Box<str>, Vec<Vec<u8>>)> = Vec::new();
    for (name, value) in lines {
        match all.iter_mut().find(|(known, _)| &**known == *name) {
            Some((_, values)) => values.push(value.as_bytes().to_vec()),
            None => all.push(((*name).into(), vec![value.as_bytes().to_vec()])),
        }
    }
    all
}

pub fn add(dn: &str, lines: &[(&str, &str)]) -> Effect {
    Effect::Add {
        dn: dn.into(),
        attributes: attributes(lines),
    }
}

pub fn values(values: &[&str]) -> Vec<Vec<u8>> {
    values.iter().map(|value| value.as_bytes().to_vec()).collect()
}

pub fn modify(dn: &str, changes: Vec<ValueChange>) -> Effect {
    Effect::Modify { dn: dn.into(), changes }
}

pub fn record(number: u64, effects: Vec<Effect>) -> ChangeRecord {
    ChangeRecord {
        position: Position {
            generation: 7,
            sequence: number + 1,
        },
        csn: Csn::parse(format!("20260101000000.{number:06}Z#000000#000#000000").as_bytes()).unwrap(),
        effects: effects.into_iter().map(Into::into).collect(),
        ..ChangeRecord::default()
    }
}

impl Store {
    pub fn apply(&self, effects: &[Effect]) -> Result<(), StoreError> {
        let mut write = self.database.write()?;
        for effect in effects {
            write.apply_effect(effect)?;
        }
        write.commit()
    }
    pub fn people(&self) {
        self.apply(&base_tree()).unwrap();
    }
    /// DNs that match, by the planner's candidates.
    pub fn search(&self, base: &str, scope: DitScope, filter: &str) -> Vec<String> {
        let snapshot = self.database.snapshot().unwrap();
        search(snapshot.view(), base, scope, filter)
    }
    pub fn explain(&self, base: &str, scope: DitScope, filter: &str) -> String {
        let snapshot = self.database.snapshot().unwrap();
        let view = snapshot.view();
        view.plan(locate(view, base), scope, &compile(filter))
            .unwrap()
            .to_string()
    }
}

pub fn base_tree() -> Vec<Effect> {
    vec![
        add(
            "dc=example,dc=com",
            &[("objectClass", "domain"), ("objectClass", "top"), ("dc", "example")],
        ),
        add(
            "ou=people,dc=example,dc=com",
            &[("objectClass", "organizationalUnit"), ("ou", "people")],
        ),
        add(
            "ou=groups,dc=example,dc=com",
            &[("objectClass", "organizationalUnit"), ("ou", "groups")],
        ),
    ]
}

pub fn compile(text: &str) -> CompiledFilter {
    let mut compiled = CompiledFilter::default();
    compiled.compile(&schema(), &Filter::parse(text.as_bytes(), 100).unwrap());
    compiled
}

pub fn locate(view: View<'_>, text: &str) -> EntryId {
    match view.locate(&dn(text)).unwrap() {
        ironbark_store::Location::Entry(id) => id,
        ironbark_store::Location::Missing { .. } => panic!("{text} is missing"),
    }
}

pub fn search(view: View<'_>, base: &str, scope: DitScope, filter: &str) -> Vec<String> {
    let base = locate(view, base);
    let compiled = compile(filter);
    let plan = view.plan(base, scope, &compiled).unwrap();
    let mut candidates = view.candidates(&plan, 0).unwrap();
    let mut found = Vec::new();
    let mut scratch = Vec::new();
    let mut last = 0;
    while let Some(id) = candidates.next_id().unwrap() {
        assert!(id > last, "candidates rise");
        last = id;
        let Some(record) = view.record(id).unwrap() else {
            continue;
        };
        if view.in_scope(id, base, scope).unwrap()
            && record.evaluate_planned(&plan, &compiled, &mut scratch) == ironbark_model::Truth::True
        {
            found.push(view.dn(id).unwrap().pretty().to_owned());
        }
    }
    found
}

/// DNs that match, by looking at every entry.
pub fn scan(view: View<'_>, base: &str, scope: DitScope, filter: &str) -> Vec<String> {
    let base = locate(view, base);
    let compiled = compile(filter);
    let mut scratch = Vec::new();
    view.entries(0)
        .unwrap()
        .map(Result::unwrap)
        .filter(|record| view.in_scope(record.id, base, scope).unwrap())
        .filter(|record| record.evaluate(&compiled, &mut scratch) == ironbark_model::Truth::True)
        .map(|record| view.dn(record.id).unwrap().pretty().to_owned())
        .collect()
}

pub fn entry(name: &str, lines: &[(&str, &str)]) -> Entry {
    let schema = schema();
    let attributes = attributes(lines)
        .into_iter()
        .map(|(description, values)| Attribute {
            description: schema.attribute_description(description.as_bytes()).unwrap(),
            values,
        })
        .collect();
    Entry {
        dn: dn(name),
        attributes,
    }
}
