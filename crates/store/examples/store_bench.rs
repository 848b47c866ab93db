//! Orders of magnitude of the store alone: bulk entries a second, equality look-ups a second, file size.
//!
//! `cargo run --release -p ironbark-store --example store_bench -- [entries] [directory]`
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::cast_precision_loss,
    reason = "a measuring program"
)]

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use ironbark_model::{
    Attribute, CompiledFilter, Dn, Entry, Filter, Schema, Truth,
    schema::{SchemaBuilder, file},
};
use ironbark_store::{BulkBuilder, Database, DatabaseOptions, DitScope, IndexDefinition, Location, View};

const SUFFIX: &str = "dc=example,dc=com";
const BATCH: usize = 20_000;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let count: u64 = arguments
        .next()
        .map_or(200_000, |text| text.parse().expect("a number of entries"));
    let directory = arguments
        .next()
        .map_or_else(|| std::env::temp_dir().join("ironbark-store-bench"), PathBuf::from);
    let schema = schema();
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(&directory).unwrap();
    let options = options(&schema, &directory);
    build(&schema, options.clone(), count);
    let database = Database::open(options, schema.clone()).unwrap();
    let snapshot = database.snapshot().unwrap();
    let view = snapshot.view();
    let Location::Entry(base) = view.locate(&Dn::parse(&schema, SUFFIX.as_bytes()).unwrap()).unwrap() else {
        return;
    };
    equality(view, base, count);
    for text in [
        "(cn=*ast12*)",
        "(&(objectClass=inetOrgPerson)(cn=First12 *))",
        "(objectClass=inetOrgPerson)",
        "(l=Rome)",
    ] {
        search(view, base, text);
    }
}

/// Processor time of this thread, without the time that other programs take.
fn processor_seconds() -> f64 {
    seconds(libc::CLOCK_THREAD_CPUTIME_ID)
}

fn wall_seconds() -> f64 {
    seconds(libc::CLOCK_MONOTONIC)
}

#[allow(unsafe_code, reason = "processor time is not in the standard library")]
fn seconds(clock: libc::clockid_t) -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel fills the structure.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn schema() -> Arc<Schema> {
    let mut builder = SchemaBuilder::new();
    for name in ["core", "cosine", "inetorgperson"] {
        let path = format!("{}/../../schema/{name}.schema", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(&path).unwrap();
        file::read(&mut builder, &text, &path.as_str().into()).unwrap();
    }
    builder.build().unwrap()
}

fn options(schema: &Schema, directory: &Path) -> DatabaseOptions {
    let index = |attribute: &str, substring| IndexDefinition {
        attribute: attribute.into(),
        presence: false,
        equality: true,
        substring,
        approximate: false,
        no_language: false,
        no_subtypes: false,
    };
    DatabaseOptions {
        directory: directory.to_owned(),
        suffixes: vec![Dn::parse(schema, SUFFIX.as_bytes()).unwrap()],
        max_size: None,
        max_readers: 126,
        mode: 0o600,
        no_sync: false,
        no_meta_sync: false,
        no_read_ahead: false,
        indexes: vec![
            index("objectClass", false),
            index("uid", false),
            index("mail", true),
            index("cn", true),
            index("entryUUID", false),
        ],
        read_only: false,
    }
}

fn entry(schema: &Schema, name: &str, lines: &[(&str, &str)]) -> Entry {
    let attributes = lines.iter().map(|(text, value)| Attribute {
        description: schema.attribute_description(text.as_bytes()).unwrap(),
        values: vec![value.as_bytes().to_vec()],
    });
    Entry {
        dn: Dn::parse(schema, name.as_bytes()).unwrap(),
        attributes: attributes.collect(),
    }
}

fn person(schema: &Schema, n: u64) -> Entry {
    let (uid, cn, mail) = (
        format!("user{n}"),
        format!("First{} Last{n}", n % 997),
        format!("user{n}@example.com"),
    );
    let lines = [
        ("objectClass", "inetOrgPerson"),
        ("uid", &uid),
        ("cn", &cn),
        ("sn", &format!("Last{n}")),
        ("mail", &mail),
        ("telephoneNumber", &format!("+49 30 {n:07}")),
        ("title", "Engineer"),
        ("o", "Example Corporation"),
        ("l", if n.is_multiple_of(3) { "Rome" } else { "Berlin" }),
        ("userPassword", "{SSHA}0123456789abcdefghijklmnopqrstuv"),
        ("entryUUID", &format!("{n:08x}-16a6-1027-98f4-d28b5365dc14")),
        ("entryCSN", "20260101000000.000000Z#000000#000#000000"),
        ("createTimestamp", "20260101000000Z"),
        ("modifyTimestamp", "20260101000000Z"),
        ("creatorsName", "cn=admin,dc=example,dc=com"),
        ("modifiersName", "cn=admin,dc=example,dc=com"),
    ];
    entry(schema, &format!("uid={uid},ou=people,{SUFFIX}"), &lines)
}

fn build(schema: &Arc<Schema>, options: DatabaseOptions, count: u64) {
    let data = options.directory.join("data.mdb");
    let mut bulk = BulkBuilder::new(options, schema.clone(), 1 << 30).unwrap();
    bulk.add(&entry(schema, SUFFIX, &[("objectClass", "domain"), ("dc", "example")]))
        .unwrap();
    let people = format!("ou=people,{SUFFIX}");
    bulk.add(&entry(
        schema,
        &people,
        &[("objectClass", "organizationalUnit"), ("ou", "people")],
    ))
    .unwrap();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let shared = bulk.preparers();
    let mut preparers: Vec<_> = (0..threads).map(|_| shared.preparer()).collect();
    let mut adding = 0.0;
    for from in (0..count).step_by(BATCH) {
        let entries: Vec<_> = (from..(from + BATCH as u64).min(count))
            .map(|n| person(schema, n))
            .collect();
        let start = wall_seconds();
        let ready: Vec<_> = std::thread::scope(|scope| {
            let parts: Vec<_> = entries
                .chunks(entries.len().div_ceil(threads))
                .zip(&mut preparers)
                .map(|(part, preparer)| {
                    scope.spawn(|| {
                        part.iter()
                            .map(|entry| {
                                let attributes = entry.attributes.iter();
                                let attributes = attributes
                                    .map(|found| (&found.description, found.values.iter().map(Vec::as_slice)));
                                preparer.prepare(entry.dn.clone(), attributes).unwrap()
                            })
                            .collect::<Vec<_>>()
                    })
                })
                .collect();
            parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
        });
        for entry in &ready {
            bulk.add_prepared(entry).unwrap();
        }
        adding += wall_seconds() - start;
    }
    let start = wall_seconds();
    bulk.finish().unwrap();
    let finishing = wall_seconds() - start;
    let rate = count as f64 / (adding + finishing);
    println!("bulk: {count} entries, {adding:.2} s adding, {finishing:.2} s finishing, {rate:.0} entries/s");
    let size = std::fs::metadata(data).unwrap().len();
    println!("file: {size} bytes, {} per entry", size / count.max(1));
}

fn compile(view: View<'_>, text: &str) -> CompiledFilter {
    let mut filter = CompiledFilter::default();
    filter.compile(view.schema(), &Filter::parse(text.as_bytes(), 10).unwrap());
    filter
}

fn equality(view: View<'_>, base: u64, count: u64) {
    let filters: Vec<_> = (0..100_000)
        .map(|n| compile(view, &format!("(mail=user{}@example.com)", n * 7919 % count)))
        .collect();
    let rate = |start: f64| filters.len() as f64 / (processor_seconds() - start);
    let mut scratch = Vec::new();
    for round in 0..4 {
        let (start, mut found) = (processor_seconds(), 0u64);
        for filter in &filters {
            let plan = view.plan(base, DitScope::Subtree, filter).unwrap();
            let mut candidates = view.candidates(&plan, 0).unwrap();
            while let Some(id) = candidates.next_id().unwrap() {
                found += u64::from(view.record(id).unwrap().is_some());
            }
        }
        println!(
            "look-ups, round {round}: {:.0} per second of processor time, {found} found",
            rate(start)
        );
        let (start, mut found) = (processor_seconds(), 0u64);
        for filter in &filters {
            let plan = view.plan(base, DitScope::Subtree, filter).unwrap();
            let mut candidates = view.candidates(&plan, 0).unwrap();
            while let Some(id) = candidates.next_id().unwrap() {
                let record = view.record(id).unwrap().unwrap();
                let matches = record.evaluate(filter, &mut scratch) == Truth::True;
                found += u64::from(matches && record.is_in_scope(base, DitScope::Subtree).unwrap());
            }
        }
        println!(
            "verified, round {round}: {:.0} per second of processor time, {found} found",
            rate(start)
        );
    }
}

fn search(view: View<'_>, base: u64, text: &str) {
    let filter = compile(view, text);
    let (start, mut found, mut looked, mut scratch) = (wall_seconds(), 0u64, 0u64, Vec::new());
    let plan = view.plan(base, DitScope::Subtree, &filter).unwrap();
    let planned = (wall_seconds() - start) * 1e6;
    let mut candidates = view.candidates(&plan, 0).unwrap();
    while let Some(id) = candidates.next_id().unwrap() {
        looked += 1;
        found += u64::from(view.record(id).unwrap().unwrap().evaluate(&filter, &mut scratch) == Truth::True);
    }
    println!(
        "{text}: {found} of {looked} in {:.0} µs, plan {planned:.0} µs",
        (wall_seconds() - start) * 1e6
    );
}
