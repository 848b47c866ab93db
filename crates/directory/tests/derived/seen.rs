//! Derived values are like stored ones, in whatever a client asks.

use ironbark_ldap_proto::{
    DecodeLimits, EncodeControl, List, Response, ResponseMessage, Scope,
    controls::{
        AssertionControl, Control, DereferenceRequest, DereferenceResponse, DereferenceSpecification, ManageDsaIt,
        MatchedValues, PostRead, PreRead, RealAttributesOnly, VirtualAttributesOnly, dereference,
    },
    frame,
};
use ironbark_model::Filter;

use crate::derived::{
    ask::{self, A, B, compare, define, found, octets, sorted, values, values_in, whole},
    rule::{self, ADDS, REPLACES, Rule},
};
use ironbark_harness::{Site, read_answer};

fn site(rule: Rule) -> Site {
    let (mut site, _) = rule::site("index description pres,eq,sub", rule);
    ask::populate(&mut site);
    site
}

fn filter(text: &str) -> Filter<'_> {
    Filter::parse(text.as_bytes(), 10).expect("a filter")
}

#[test]
fn a_derived_value_is_shown_behind_the_stored_ones() {
    let mut site = site(ADDS);
    assert_eq!(values(&mut site, A, "description"), ["own", "red"]);
    for names in [&["*"][..], &[], &["@person"], &["sn", "description"], &["2.5.4.13"]] {
        let answer = site.search_with(A, Scope::BaseObject, "(objectClass=*)", names, &[]);
        assert_eq!(
            values_in(&answer.entries[0], "description"),
            ["own", "red"],
            "{names:?}"
        );
    }
    for names in [&["sn"][..], &["1.1"], &["+"], &["description;lang-de"]] {
        let answer = site.search_with(A, Scope::BaseObject, "(objectClass=*)", names, &[]);
        assert!(!answer.entries[0].contains("description"), "{names:?}");
    }
    assert_eq!(
        values(&mut site, "ou=d,ou=p,dc=ex", "description"),
        [""; 0],
        "a definition"
    );
    assert_eq!(values(&mut site, "dc=ex", "description"), [""; 0], "above it");
}

#[test]
fn a_value_that_is_stored_and_derived_is_shown_once() {
    let mut site = site(ADDS);
    assert_eq!(site.modify(B, "add: description\nd: RED").code, 0);
    assert_eq!(values(&mut site, B, "description"), ["RED"]);
    assert_eq!(found(&mut site, "(description=red)"), ["p", "a", "b", "c"]);
}

#[test]
fn types_only_names_a_derived_attribute_without_values() {
    let mut site = site(ADDS);
    for (dn, is_there) in [(B, true), ("dc=ex", false)] {
        let answer = octets(&mut site, dn, (true, &[b"description"]), &[]);
        let (length, name) = (frame(&answer, 1 << 20).expect("frames").expect("whole"), b"description");
        let entry = ResponseMessage::decode(&answer[..length], &DecodeLimits::default()).expect("decodes");
        let Response::SearchEntry(entry) = entry.operation else {
            panic!("no entry");
        };
        let types: Vec<(&[u8], usize)> = entry
            .attributes
            .iter()
            .map(|one| (one.description, one.values.len()))
            .collect();
        assert_eq!(types, [(&name[..], 0)][..usize::from(is_there)], "{dn}");
    }
}

#[test]
fn a_filter_finds_derived_values() {
    let mut site = site(ADDS);
    for (filter, expected) in [
        ("(description=RED)", &["p", "a", "b", "c"][..]),
        ("(description=*)", &["p", "a", "b", "c"]),
        ("(description=r*)", &["p", "a", "b", "c"]),
        ("(description=*e*)", &["p", "a", "b", "c"]),
        ("(description=*d)", &["p", "a", "b", "c"]),
        ("(description=green)", &[]),
        ("(description:caseExactMatch:=red)", &["p", "a", "b", "c"]),
        ("(description:caseExactMatch:=Red)", &[]),
        ("(:caseIgnoreMatch:=red)", &["p", "a", "b", "c", "d"]),
        ("(!(description=red))", &["ex", "d"]),
        ("(!(description=*))", &["ex", "d"]),
        ("(&(description=red)(!(description=own)))", &["p", "b", "c"]),
        ("(&(sn=s)(description=red)(description=own))", &["a"]),
        ("(|(description=own)(cn=c))", &["a", "c"]),
        (
            "(|(description=x)(description=y)(description=red)(description=z))",
            &["p", "a", "b", "c"],
        ),
        ("(&(description=x)(|(description=red)(sn=s)))", &[]),
        ("(!(|(description=red)(dc=ex)))", &["d"]),
    ] {
        assert_eq!(found(&mut site, filter), expected, "{filter}");
    }
}

#[test]
fn a_derived_value_with_an_option_answers_for_its_type() {
    for looks_up in [false, true] {
        let option = Some("lang-en");
        let mut site = site(Rule {
            looks_up,
            option,
            ..ADDS
        });
        assert_eq!(values(&mut site, A, "description"), ["own"]);
        let answer = whole(&mut site, "(cn=a)", &["description"]);
        assert_eq!(values_in(&answer.entries[0], "description;lang-en"), ["red"]);
        for filter in ["(description=red)", "(description;lang-en=red)", "(description=r*)"] {
            assert_eq!(found(&mut site, filter), ["p", "a", "b", "c"], "{filter} {looks_up}");
        }
        assert_eq!(found(&mut site, "(description;lang-en=own)"), [""; 0]);
        assert_eq!(compare(&mut site, A, "description", "red"), 6);
        assert_eq!(compare(&mut site, A, "description;lang-en", "own"), 5);
    }
}

#[test]
fn a_replaced_value_is_neither_shown_nor_found_nor_compared() {
    let mut site = site(REPLACES);
    assert_eq!(values(&mut site, A, "description"), ["red"]);
    let answer = whole(&mut site, "(cn=a)", &["*"]);
    assert_eq!(values_in(&answer.entries[0], "description"), ["red"]);
    for filter in ["(description=own)", "(description=o*)", "(:caseIgnoreMatch:=own)"] {
        assert_eq!(found(&mut site, filter), [""; 0], "{filter}");
    }
    assert_eq!(
        found(&mut site, "(!(description=own))"),
        ["ex", "p", "a", "b", "c", "d"]
    );
    assert_eq!(compare(&mut site, A, "description", "own"), 5);
    assert_eq!(compare(&mut site, A, "description", "red"), 6);
    // It is still there.
    assert_eq!(site.delete("ou=d,ou=p,dc=ex").code, 0);
    assert_eq!(values(&mut site, A, "description"), ["own"]);
}

#[test]
fn a_comparison_and_a_sort_use_derived_values() {
    let mut site = site(ADDS);
    for (dn, value, code) in [
        (A, "Own", 6),
        (A, "red", 6),
        (B, "red", 6),
        (B, "own", 5),
        ("dc=ex", "red", 16),
    ] {
        assert_eq!(compare(&mut site, dn, "description", value), code, "{dn} {value}");
    }
    // The smallest value of an entry counts, and an entry without values is the last.
    define(&mut site, "ou=e,cn=b,ou=p,dc=ex", "blue");
    site.must_add("cn=x,ou=p,dc=ex", "objectClass: person\nsn: s\ndescription: x");
    assert_eq!(site.modify(A, "replace: description\nd: amber").code, 0);
    assert_eq!(sorted(&mut site, "description", false), ["a", "b", "c", "x"]);
    define(&mut site, "ou=f,cn=c,ou=p,dc=ex", "aaa");
    assert_eq!(sorted(&mut site, "description", false), ["c", "a", "b", "x"]);
    assert_eq!(sorted(&mut site, "description", true), ["x", "b", "a", "c"]);
}

#[test]
fn an_assertion_sees_derived_values() {
    for (rule, red, own) in [(ADDS, true, true), (REPLACES, true, false)] {
        let mut site = site(rule);
        for (text, holds) in [
            ("(description=red)", red),
            ("(description=own)", own),
            ("(!(description=red))", !red),
        ] {
            let code = if holds { 0 } else { 122 };
            let assertion = Control::critical(AssertionControl(filter(text)));
            assert_eq!(
                site.modify_with(A, "replace: sn\ns: s", &[&assertion]).code,
                code,
                "{text}"
            );
            let answer = site.search_with(A, Scope::BaseObject, "(sn=*)", &["sn"], &[&assertion]);
            assert_eq!(
                (answer.code, answer.entries.len()),
                (code, usize::from(holds)),
                "{text}"
            );
            let code = if holds { 6 } else { 122 };
            assert_eq!(
                ask::compare_with(&mut site, A, ("sn", "s"), &[&assertion]).code,
                code,
                "{text}"
            );
        }
    }
}

#[test]
fn an_entry_before_or_after_a_change_has_what_it_derives_then() {
    let mut site = site(REPLACES);
    let names: [&[u8]; 1] = [b"description"];
    let before = Control::critical(PreRead(List::new(&names)));
    let after = Control::critical(PostRead(List::new(&names)));
    let read = |answer: ironbark_harness::DecodedAnswer| {
        assert_eq!(answer.code, 0, "{}", answer.text);
        values_in(&answer.read_entry.expect("an entry"), "description")
    };
    assert_eq!(read(site.modify_with(A, "replace: sn\ns: t", &[&before])), ["red"]);
    assert_eq!(read(site.modify_with(A, "replace: sn\ns: u", &[&after])), ["red"]);
    // An entry that is about to be a definition.
    let text = "objectClass: inetOrgPerson\nsn: s\ndescription: stored";
    assert_eq!(read(site.add_with("cn=i,ou=p,dc=ex", text, &[&after])), ["red"]);
    let answer = site.modify_with("cn=i,ou=p,dc=ex", "add: street\ns: green", &[&before]);
    assert_eq!(read(answer), ["red"]);
    let answer = site.modify_with("cn=i,ou=p,dc=ex", "replace: street", &[&before]);
    assert_eq!(read(answer), ["stored"]);
    let answer = site.modify_with("cn=i,ou=p,dc=ex", "add: street\ns: green", &[&after]);
    assert_eq!(read(answer), ["stored"]);
    assert_eq!(values(&mut site, B, "description"), ["red", "green"]);
    // One that leaves its place.
    let answer = site.rename_with(A, "cn=a", false, Some("dc=ex"), &[&after]);
    assert_eq!(read(answer), ["own"]);
    let answer = site.rename_with("cn=a,dc=ex", "cn=a", false, Some("ou=p,dc=ex"), &[&before]);
    assert_eq!(read(answer), ["own"]);
    assert_eq!(read(site.delete_with(A, &[&before])), ["red", "green"]);
}

/// RFC 3876 §3.
#[test]
fn matched_values_choose_among_derived_values() {
    let mut site = site(ADDS);
    for (text, expected) in [
        ("(description=r*)", &["red"][..]),
        ("(description=own)", &["own"]),
        ("(description=*)", &["own", "red"]),
        ("(sn=s)", &[]),
    ] {
        let matched = Control::critical(MatchedValues(vec![filter(text)]));
        let answer = site.search_with(A, Scope::BaseObject, "(sn=*)", &["*"], &[&matched]);
        assert_eq!(values_in(&answer.entries[0], "description"), expected, "{text}");
    }
}

/// The values that the dereference control follows, each with the attributes that it finds.
fn dereferenced(site: &mut Site, dn: &str, attribute: &[u8], wanted: &[u8]) -> Vec<String> {
    let (attributes, mut lines) = ([wanted], Vec::new());
    let asked = [DereferenceSpecification {
        attribute,
        attributes: List::new(&attributes),
    }];
    let control = Control::critical(DereferenceRequest(List::new(&asked)));
    let answer = octets(site, dn, (false, &[b"1.1"]), &[&control]);
    assert_eq!(read_answer(&answer).code, 0);
    let length = frame(&answer, 1 << 20).expect("frames").expect("whole");
    let entry = ResponseMessage::decode(&answer[..length], &DecodeLimits::default()).expect("decodes");
    for control in entry
        .controls
        .iter()
        .filter(|one| one.oid == dereference::DESCRIPTOR.oid.as_bytes())
    {
        let value = DereferenceResponse::decode_value(control.value.expect("a value")).expect("decodes");
        for result in &value.0 {
            let mut line = String::from_utf8_lossy(result.value).into_owned();
            for attribute in &result.attributes {
                for value in &attribute.values {
                    line = line + " " + &String::from_utf8_lossy(value);
                }
            }
            lines.push(line);
        }
    }
    lines
}

#[test]
fn a_derived_name_is_dereferenced_and_so_are_derived_attributes_behind_a_name() {
    let (mut names, _) = rule::site(
        "",
        Rule {
            target: "seeAlso",
            ..ADDS
        },
    );
    names.populate();
    define(&mut names, "ou=d,ou=p,dc=ex", A);
    assert_eq!(dereferenced(&mut names, B, b"seeAlso", b"sn"), [format!("{A} s")]);
    assert_eq!(dereferenced(&mut names, "dc=ex", b"seeAlso", b"sn"), [""; 0]);
    assert_eq!(
        dereferenced(&mut names, B, b"seeAlso", b"seeAlso"),
        [format!("{A} {A}")]
    );
    for (rule, expected) in [(ADDS, "own red"), (REPLACES, "red")] {
        let mut site = site(rule);
        assert_eq!(site.modify(B, &format!("add: seeAlso\ns: {A}")).code, 0);
        assert_eq!(
            dereferenced(&mut site, B, b"seeAlso", b"description"),
            [format!("{A} {expected}")]
        );
    }
}

#[test]
fn a_derivation_may_be_off_under_manage_dsa_it() {
    let manage = Control::critical(ManageDsaIt);
    for is_off in [true, false] {
        let mut site = site(Rule {
            is_off_under_manage_dsa_it: is_off,
            ..REPLACES
        });
        let (shown, finds) = if is_off { ("own", 0) } else { ("red", 4) };
        let answer = site.search_with(A, Scope::BaseObject, "(sn=*)", &["description"], &[&manage]);
        assert_eq!(values_in(&answer.entries[0], "description"), [shown]);
        let answer = site.search_with("dc=ex", Scope::WholeSubtree, "(description=red)", &["1.1"], &[&manage]);
        assert_eq!(answer.entries.len(), finds);
        let code = if is_off { 5 } else { 6 };
        let answer = ask::compare_with(&mut site, A, ("description", "red"), &[&manage]);
        assert_eq!(answer.code, code);
        assert_eq!(values(&mut site, A, "description"), ["red"], "without the control");
        assert_eq!(found(&mut site, "(description=red)").len(), 4);
    }
}

#[test]
fn a_client_may_ask_for_real_or_for_virtual_attributes_alone() {
    for (rule, stored, derived) in [(ADDS, "own", "red"), (REPLACES, "own", "red")] {
        let mut site = site(rule);
        let names: &[&str] = &["description", "sn", "entryDN"];
        let mut answer = |controls: &[&dyn EncodeControl]| {
            let found = site.search_with(A, Scope::BaseObject, "(description=red)", names, controls);
            let entry = found.entries.concat();
            let all = ["description", "sn", "entryDN"].map(|name| values_in(&entry, name));
            (found.code, all)
        };
        let real = Control::critical(RealAttributesOnly);
        let (code, [descriptions, surnames, entry_dn]) = answer(&[&real]);
        assert_eq!(
            (code, descriptions, surnames.len(), entry_dn.len()),
            (0, vec![stored.to_owned()], 1, 0)
        );
        let computed = Control::critical(VirtualAttributesOnly);
        let (code, [descriptions, surnames, entry_dn]) = answer(&[&computed]);
        assert_eq!(
            (code, descriptions, surnames.len(), entry_dn.len()),
            (0, vec![derived.to_owned()], 0, 1)
        );
        let (_, [descriptions, ..]) = answer(&[&real, &computed]);
        assert_eq!(descriptions, [stored], "the first counts");
    }
}
