//! Orders of magnitude of the store alone: bulk entries a second, equality look-ups a second, file size.
//!
//! `cargo run --release -p ironbark-store --example store_bench -- [entries] [directory]`
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a measuring program"
)]

use std::{path::PathBuf, time::Instant};

use ironbark_model::{
    Attribute, CompiledFilter, Dn, Entry, Filter, Truth,
    schema::{SchemaBuilder, file},
};
use ironbark_store::{BulkBuilder, Database, DatabaseOptions, IndexDefinition, Location, Scope};

/// Processor time of this thread: what other programs take does not count.
#[allow(unsafe_code, clippy::cast_precision_loss)]
fn cpu_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure is one that the kernel fills.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let count: u64 = arguments
        .next()
        .map_or(200_000, |text| text.parse().expect("a number of entries"));
    let directory = arguments
        .next()
        .map_or_else(|| std::env::temp_dir().join("ironbark-store-bench"), PathBuf::from);
    let mut builder = SchemaBuilder::new();
    for name in ["core", "cosine", "inetorgperson"] {
        let path = format!("{}/../../schema/{name}.schema", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(&path).unwrap();
        file::read(&mut builder, &text, &path.as_str().into()).unwrap();
    }
    let schema = builder.build().unwrap();
    let index = |attribute: &str, substring| IndexDefinition {
        attribute: attribute.into(),
        presence: false,
        equality: true,
        substring,
        approximate: false,
        no_language: false,
        no_subtypes: false,
    };
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(&directory).unwrap();
    let options = DatabaseOptions {
        directory: directory.clone(),
        suffixes: vec![Dn::parse(&schema, b"dc=example,dc=com").unwrap()],
        max_size: None,
        max_readers: 126,
        mode: 0o600,
        no_sync: false,
        no_meta_sync: false,
        write_map: false,
        map_async: false,
        no_read_ahead: false,
        indexes: vec![
            index("objectClass", false),
            index("uid", false),
            index("mail", true),
            index("cn", true),
            index("entryUUID", false),
        ],
        read_only: false,
    };
    let entry = |name: &str, lines: &[(&str, &str)]| {
        let mut attributes: Vec<Attribute> = Vec::new();
        for (text, value) in lines {
            let description = schema.attribute_description(text.as_bytes()).unwrap();
            match attributes.iter_mut().find(|known| known.description == description) {
                Some(known) => known.values.push(value.as_bytes().to_vec()),
                None => attributes.push(Attribute {
                    description,
                    values: vec![value.as_bytes().to_vec()],
                }),
            }
        }
        Entry {
            dn: Dn::parse(&schema, name.as_bytes()).unwrap(),
            attributes,
        }
    };
    let person = |n: u64| {
        let (uid, cn, mail) = (
            format!("user{n}"),
            format!("First{} Last{n}", n % 997),
            format!("user{n}@example.com"),
        );
        let (uuid, csn) = (
            format!("{n:08x}-16a6-1027-98f4-d28b5365dc14"),
            "20260101000000.000000Z#000000#000#000000",
        );
        entry(
            &format!("uid={uid},ou=people,dc=example,dc=com"),
            &[
                ("objectClass", "inetOrgPerson"),
                ("uid", &uid),
                ("cn", &cn),
                ("sn", &format!("Last{n}")),
                ("mail", &mail),
                ("telephoneNumber", &format!("+49 30 {n:07}")),
                ("title", "Engineer"),
                ("o", "Example Corporation"),
                (
                    "l",
                    ["Berlin", "Paris", "Rome"]
                        .get((n % 3) as usize)
                        .copied()
                        .unwrap_or_default(),
                ),
                ("userPassword", "{SSHA}0123456789abcdefghijklmnopqrstuv"),
                ("entryUUID", &uuid),
                ("entryCSN", csn),
                ("createTimestamp", "20260101000000Z"),
                ("modifyTimestamp", "20260101000000Z"),
                ("creatorsName", "cn=admin,dc=example,dc=com"),
                ("modifiersName", "cn=admin,dc=example,dc=com"),
            ],
        )
    };
    let mut bulk = BulkBuilder::new(options.clone(), schema.clone(), 1 << 30).unwrap();
    bulk.add(&entry(
        "dc=example,dc=com",
        &[("objectClass", "domain"), ("dc", "example")],
    ))
    .unwrap();
    bulk.add(&entry(
        "ou=people,dc=example,dc=com",
        &[("objectClass", "organizationalUnit"), ("ou", "people")],
    ))
    .unwrap();
    let (mut adding, threads) = (0.0, std::thread::available_parallelism().map_or(1, usize::from) as u64);
    let preparer = bulk.preparer();
    for from in (0..count).step_by(20_000) {
        let entries: Vec<_> = (from..(from + 20_000).min(count)).map(person).collect();
        let start = Instant::now();
        let prepared: Vec<_> = std::thread::scope(|scope| {
            let part = entries.len().div_ceil(threads as usize);
            let parts: Vec<_> = entries
                .chunks(part)
                .map(|part| {
                    scope.spawn(|| {
                        part.iter()
                            .map(|entry| preparer.prepare(entry).unwrap())
                            .collect::<Vec<_>>()
                    })
                })
                .collect();
            parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
        });
        for prepared in &prepared {
            bulk.add_prepared(prepared).unwrap();
        }
        adding += start.elapsed().as_secs_f64();
    }
    let start = Instant::now();
    bulk.finish().unwrap();
    let finishing = start.elapsed().as_secs_f64();
    println!(
        "bulk: {count} entries, {adding:.2} s adding, {finishing:.2} s finishing, {:.0} entries/s",
        count as f64 / (adding + finishing)
    );
    let size = std::fs::metadata(directory.join("data.mdb")).unwrap().len();
    println!("file: {size} bytes, {} per entry", size / count.max(1));

    let database = Database::open(options, schema.clone()).unwrap();
    let snapshot = database.snapshot().unwrap();
    let view = snapshot.view();
    let Location::Entry(base) = view.locate(&Dn::parse(&schema, b"dc=example,dc=com").unwrap()).unwrap() else {
        return;
    };
    let filters: Vec<CompiledFilter> = (0..100_000u64)
        .map(|n| {
            let text = format!("(mail=user{}@example.com)", n * 7919 % count);
            let mut filter = CompiledFilter::default();
            filter.compile(&schema, &Filter::parse(text.as_bytes(), 10).unwrap());
            filter
        })
        .collect();
    let mut scratch = Vec::new();
    for round in ["cold", "warm", "warm", "warm"] {
        let (start, mut found) = (cpu_seconds(), 0u64);
        for filter in &filters {
            let plan = view.plan(base, Scope::Subtree, filter).unwrap();
            let mut candidates = view.candidates(&plan, 0).unwrap();
            while let Some(id) = candidates.next_id().unwrap() {
                let record = view.record(id).unwrap().unwrap();
                if record.evaluate(filter, &mut scratch) == Truth::True
                    && record.is_in_scope(base, Scope::Subtree).unwrap()
                {
                    found += 1;
                }
            }
        }
        let rate = filters.len() as f64 / (cpu_seconds() - start);
        println!("equality, {round}: {rate:.0} searches per second of processor time, {found} found");
    }
    for text in [
        "(cn=*ast12*)",
        "(&(objectClass=inetOrgPerson)(cn=First12 *))",
        "(objectClass=inetOrgPerson)",
        "(l=Rome)",
    ] {
        let mut filter = CompiledFilter::default();
        filter.compile(&schema, &Filter::parse(text.as_bytes(), 10).unwrap());
        let (start, mut found, mut looked) = (Instant::now(), 0u64, 0u64);
        let plan = view.plan(base, Scope::Subtree, &filter).unwrap();
        let planned = start.elapsed();
        let mut candidates = view.candidates(&plan, 0).unwrap();
        while let Some(id) = candidates.next_id().unwrap() {
            looked += 1;
            found += u64::from(view.record(id).unwrap().unwrap().evaluate(&filter, &mut scratch) == Truth::True);
        }
        println!("{text}: {found} of {looked} in {:?}, plan {planned:?}", start.elapsed());
    }
}
