//! Names are parsed and filters compiled and evaluated without taking memory, once buffers are warm (counted, not
//! timed).
#![allow(clippy::unwrap_used, reason = "tests may")]

use std::hint::black_box;

use ironbark_model::{CompiledFilter, Dn, Entry, Filter, Schema, Truth, entry::EntrySource};

#[test]
fn a_warm_name_is_parsed_without_allocating() {
    let schema = Schema::system();
    let mut name = Dn::parse(&schema, b"cn=Some Longer Name,uid=Somebody,cn=Example,cn=Com").unwrap();
    let counted = allocation_counter::measure(|| {
        name.parse_into(&schema, b"UID=j.doe\\2C jr,cn=People , cn=Example,cn=Com")
            .unwrap();
        black_box(&name);
    });
    assert_eq!(counted.count_total, 0);
}

#[test]
fn a_warm_filter_is_compiled_and_evaluated_without_allocating() {
    let schema = Schema::system();
    let mut entry = Entry::new(Dn::parse(&schema, b"uid=jdoe").unwrap());
    for (name, value) in [
        ("objectClass", "subentry"),
        ("uid", "jdoe"),
        ("cn", "John Doe"),
        ("uidNumber", "5"),
    ] {
        let description = schema.attribute_description(name.as_bytes()).unwrap();
        entry.add_value(&schema, &description, value.as_bytes());
    }
    for text in [
        "(uid=jdoe)",
        "(objectClass=subentry)",
        "(objectClass=*)",
        "(cn=jo*d*)",
        "(uidNumber>=5)",
        "(&(objectClass=subentry)(|(uid=x)(cn=jo*d*)(uidNumber>=5))(!(uidNumber=7)))",
    ] {
        let filter = Filter::parse(text.as_bytes(), 10).unwrap();
        let (mut compiled, mut scratch) = (CompiledFilter::default(), Vec::with_capacity(64));
        compiled.compile(&schema, &filter);
        let counted = allocation_counter::measure(|| {
            compiled.compile(&schema, &filter);
            let source = EntrySource::new(&schema, &compiled, &entry);
            assert_eq!(compiled.evaluate(&schema, &source, &mut scratch), Truth::True);
        });
        assert_eq!(counted.count_total, 0, "{text}");
    }
}

/// Compiled nodes move a bounded number of times, even if many `|` with many equalities are nested.
#[test]
fn nested_lists_of_equalities_are_compiled_in_linear_memory() {
    let schema = Schema::system();
    let equalities = "(cn=a)(cn=b)(cn=c)(cn=d)".as_bytes();
    let mut text = [&b"(|"[..], equalities].concat().repeat(500);
    text.extend(b"(uid=*)".repeat(10_000));
    text.extend(b")".repeat(500));
    let filter = Filter::parse(&text, 500).unwrap();
    let mut compiled = CompiledFilter::default();
    let counted = allocation_counter::measure(|| compiled.compile(&schema, &filter));
    assert_eq!(compiled.nodes.len(), 500 * 2 + 10_000);
    assert!(counted.bytes_total < 20_000_000, "{}", counted.bytes_total);
}
