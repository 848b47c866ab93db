//! The unique overlay, in a directory: which values are refused, and for which clients.

use std::collections::BTreeSet;

use ironbark_harness::Site;
use ironbark_ldap_proto::{
    Scope,
    controls::{AssertionControl, Control, ManageDsaIt, RelaxRules},
};
use ironbark_model::Filter;
use proptest::prelude::*;

const A: &str = "cn=a,ou=p,dc=ex";
const B: &str = "cn=b,ou=p,dc=ex";
const PERSON: &str = "objectClass: inetOrgPerson\nsn: s";

fn site(settings: &str) -> Site {
    let mut site = Site::open_of(
        &ironbark_overlays::registry(),
        &format!("overlay unique\n{settings}"),
        ironbark_overlays::make,
    );
    site.must_add("dc=ex", "objectClass: dcObject\nobjectClass: organization\no: ex");
    site.must_add("ou=p,dc=ex", "objectClass: organizationalUnit");
    site.must_add(A, &format!("{PERSON}a\nmail: a@ex\ndescription: d"));
    site.must_add(B, &format!("{PERSON}b\nmail: b@ex"));
    site
}

fn refusal(filter: &str) -> (u32, String) {
    (19, format!("non-unique attributes found with {filter}"))
}

fn owned(answer: &ironbark_harness::DecodedAnswer) -> (u32, String) {
    (answer.code, answer.text.clone())
}

#[test]
fn a_filter_may_name_entries() {
    let mut site = site("unique_uri ldap:///?mail?sub?(!(entryDN=cn=free,ou=p,dc=ex))");
    let text = format!("{PERSON}\nmail: a@ex");
    assert_eq!(site.add("cn=free,ou=p,dc=ex", &text).code, 0);
    assert_eq!(site.add("cn=other,ou=p,dc=ex", &text).code, 19);
}

#[test]
fn a_subtree_that_moves_into_a_domain_brings_no_value_twice() {
    let mut site = site("unique_uri ldap:///ou=p,dc=ex?mail?sub");
    let unit = "objectClass: organizationalUnit";
    let person = |mail: &str| format!("{PERSON}\nmail: {mail}");
    for name in ["ou=q,dc=ex", "ou=r,ou=q,dc=ex", "ou=s,dc=ex"] {
        site.must_add(name, unit);
    }
    site.must_add("cn=x,ou=r,ou=q,dc=ex", &person("A@EX"));
    let moved = |site: &mut Site, name: &str, rdn: &str| site.rename(name, rdn, Some("ou=p,dc=ex"));
    // Somebody there has the value.
    assert_eq!(
        owned(&moved(&mut site, "ou=q,dc=ex", "ou=q")),
        refusal("(|(mail=A@EX))")
    );
    assert_eq!(site.modify("cn=x,ou=r,ou=q,dc=ex", "replace: mail\nm: x@ex").code, 0);
    // Two of those that come have it.
    site.must_add("cn=y,ou=q,dc=ex", &person("X@ex"));
    assert_eq!(moved(&mut site, "ou=q,dc=ex", "ou=q").code, 19);
    assert_eq!(site.modify("cn=y,ou=q,dc=ex", "replace: mail\nm: y@ex").code, 0);
    assert_eq!(moved(&mut site, "ou=q,dc=ex", "ou=q").code, 0);
    assert_eq!(moved(&mut site, "ou=s,dc=ex", "ou=s").code, 0);
    // Within the domain nothing comes.
    assert_eq!(site.rename("ou=q,ou=p,dc=ex", "ou=z", Some("ou=s,ou=p,dc=ex")).code, 0);
}

#[test]
fn a_value_that_another_entry_has_is_refused() {
    for index in ["", "\nindex mail eq"] {
        let mut site = site(&format!("unique_uri ldap:///?mail?sub{index}"));
        let answer = site.add("cn=c,ou=p,dc=ex", &format!("{PERSON}\nmail: c@ex\nmail: A@EX"));
        assert_eq!(owned(&answer), refusal("(|(mail=c@ex)(mail=A@EX))"));
        let answer = site.modify(B, "replace: mail\nm: a@ex");
        assert_eq!(owned(&answer), refusal("(|(mail=a@ex))"));
        let answer = site.rename(B, "mail=a@ex", None);
        assert_eq!(owned(&answer), refusal("(|(mail=a@ex))"));
        assert_eq!(
            site.modify(A, "replace: mail\nm: A@ex").brief(),
            (0, ""),
            "an entry is not in its own way"
        );
        assert_eq!(
            site.modify(B, "add: description\nm: d").brief(),
            (0, ""),
            "other attributes are free"
        );
        assert_eq!(site.delete(A).brief(), (0, ""));
        assert_eq!(site.modify(B, "replace: mail\nm: a@ex").brief(), (0, ""));
    }
}

#[test]
fn the_refusal_comes_before_those_of_the_database_as_in_slapd() {
    let mut site = site("unique_uri ldap:///?mail?sub");
    let refused = refusal("(|(mail=a@ex))");
    assert_eq!(
        owned(&site.add("cn=c,ou=none,dc=ex", &format!("{PERSON}\nmail: a@ex"))),
        refused
    );
    assert_eq!(owned(&site.modify("cn=none,dc=ex", "add: mail\nm: a@ex")), refused);
    assert_eq!(owned(&site.rename("cn=none,dc=ex", "mail=a@ex", None)), refused);
    assert_eq!(site.add(A, &format!("{PERSON}\nmail: a@ex")).code, 68);
}

#[test]
fn base_scope_and_filter_bound_a_domain() {
    let mut site = site("unique_uri ldap:///ou=p,dc=ex?mail?sub?(sn=s*)");
    site.must_add("ou=q,dc=ex", "objectClass: organizationalUnit");
    site.must_add("cn=x,ou=q,dc=ex", &format!("{PERSON}\nmail: a@ex"));
    site.must_add("cn=y,ou=p,dc=ex", "objectClass: inetOrgPerson\nsn: t\nmail: a@ex");
    let refused = refusal("(&(sn=s*)(|(mail=a@ex)))");
    assert_eq!(owned(&site.modify(B, "replace: mail\nm: a@ex")), refused);
    // An entry that enters the domain brings all its values.
    assert_eq!(owned(&site.modify("cn=y,ou=p,dc=ex", "replace: sn\nm: sy")), refused);
    assert_eq!(
        owned(&site.rename("cn=x,ou=q,dc=ex", "cn=x", Some("ou=p,dc=ex"))),
        refused
    );
    assert_eq!(
        site.modify("cn=y,ou=p,dc=ex", "replace: sn\nm: sy\n-\nreplace: mail\nm: y@ex")
            .brief(),
        (0, "")
    );
    assert_eq!(
        site.modify(A, "replace: sn\nm: t").brief(),
        (0, ""),
        "leaving it frees them"
    );
    assert_eq!(site.modify(B, "replace: mail\nm: a@ex").brief(), (0, ""));
    assert_eq!(
        owned(&site.modify(A, "replace: sn\nm: s")),
        refusal("(&(sn=s*)(|(mail=a@ex)))")
    );
}

#[test]
fn one_level_looks_at_the_immediate_subordinates() {
    let mut site = site("unique_uri ldap:///dc=ex?description?one");
    assert_eq!(
        site.modify(B, "add: description\nm: d").brief(),
        (0, ""),
        "the other one is not looked at"
    );
    site.must_add("cn=top,dc=ex", &format!("{PERSON}\ndescription: d"));
    assert_eq!(
        owned(&site.modify(B, "replace: description\nm: D")),
        refusal("(|(description=D))")
    );
}

#[test]
fn all_but_the_ignored_attributes_are_unique() {
    let mut site = site("unique_uri \"ignore ldap:///?objectClass,cn,description,o,ou,dc?sub\"");
    assert_eq!(
        owned(&site.modify(B, "add: description\nm: d\n-\nreplace: sn\nm: sa")),
        refusal("(|(sn=sa))")
    );
    let answer = site.add(
        "cn=c,ou=p,dc=ex",
        "objectClass: inetOrgPerson\nsn: SB\nmail: c@ex\ntitle: t",
    );
    assert_eq!(owned(&answer), refusal("(|(sn=SB)(mail=c@ex)(title=t))"));
}

#[test]
fn the_old_settings_are_one_domain() {
    let mut site = site("unique_base ou=p,dc=ex\nunique_attributes mail sn");
    assert_eq!(owned(&site.modify(B, "replace: sn\nm: sa")), refusal("(|(sn=sa))"));
    assert_eq!(
        site.add("cn=c,dc=ex", "objectClass: person\nsn: sa").brief(),
        (0, ""),
        "not below the base"
    );
}

#[test]
fn strict_keeps_an_attribute_from_being_emptied_while_another_entry_has_it() {
    let mut loose = site("unique_uri ldap:///?mail?sub");
    assert_eq!(loose.modify(B, "replace: mail").brief(), (0, ""));
    let mut strict = site("unique_uri \"strict ldap:///?mail?sub\"");
    assert_eq!(owned(&strict.modify(B, "replace: mail")), refusal("(|(mail=*))"));
    assert_eq!(strict.modify(B, "delete: mail").brief(), (0, ""), "as slapd");
    assert_eq!(strict.modify(A, "replace: mail").brief(), (0, ""), "nobody else has it");
}

/// The answers to a client without rights that tries a value of a hidden entry, or a value of no entry.
fn blind_answers(site: &mut Site, value: &str) -> Vec<(u32, String)> {
    let add = format!("{PERSON}\nmail: {value}");
    let (modify, rdn) = (format!("replace: mail\nm: {value}"), format!("mail={value}"));
    [
        site.modify(B, &modify),
        site.modify("cn=none,ou=p,dc=ex", &modify),
        site.rename(B, &rdn, None),
        site.rename(B, &rdn, Some("ou=open,dc=ex")),
        site.rename(B, &rdn, Some("ou=none,dc=ex")),
        site.rename("cn=none,ou=open,dc=ex", &rdn, None),
        site.add("cn=c,ou=p,dc=ex", &add),
        site.add("cn=c,ou=none,dc=ex", &add),
        site.add(A, &add),
        site.add("cn=c,ou=open,dc=ex", &add),
    ]
    .iter()
    .map(owned)
    .collect()
}

#[test]
fn a_client_without_the_rights_learns_nothing_of_hidden_values() {
    let rules = "add_content_acl on\naccess to dn.subtree=ou=h,dc=ex by * none\n\
        access to dn.base=ou=open,dc=ex attrs=children by dn.exact=cn=w,dc=ex write\n\
        access to dn.children=ou=open,dc=ex attrs=mail by * read\n\
        access to dn.children=ou=open,dc=ex by dn.exact=cn=w,dc=ex write by * read\naccess to * by * read";
    let mut site = site(&format!("unique_uri ldap:///?mail?sub\n{rules}"));
    for ou in ["open", "h"] {
        site.must_add(&format!("ou={ou},dc=ex"), "objectClass: organizationalUnit");
    }
    site.must_add("cn=spy,ou=h,dc=ex", &format!("{PERSON}\nmail: secret@ex"));
    site.become_("cn=w,dc=ex");
    let answers = blind_answers(&mut site, "secret@ex");
    assert_eq!(answers, blind_answers(&mut site, "free@ex"));
    let refused = |text: &str| (50, text.to_owned());
    let nothing = (32, String::new());
    let above = refused("no write access to parent's children");
    assert_eq!(
        answers,
        [
            refused(""),
            nothing.clone(),
            above.clone(),
            above.clone(),
            above,
            nothing.clone(),
            refused("no write access to parent"),
            nothing,
            (68, String::new()),
            refused("no write access to attribute"),
        ]
    );
}

#[test]
fn an_assertion_and_a_referral_are_told_before_missing_rights() {
    let mut site = site("unique_uri ldap:///?mail?sub\naccess to * by * read");
    let referral = "objectClass: referral\nobjectClass: extensibleObject\nref: ldap://other/";
    site.must_add("cn=ref,dc=ex", referral);
    site.become_("cn=w,dc=ex");
    let modify = "replace: mail\nm: a@ex";
    assert_eq!(site.modify("cn=ref,dc=ex", modify).code, 10);
    assert_eq!(site.modify("cn=x,cn=ref,dc=ex", modify).code, 10);
    let assertion = Control::critical(AssertionControl(Filter::parse(b"(sn=other)", 5).expect("a filter")));
    assert_eq!(site.modify_with(B, modify, &[&assertion]).code, 122);
}

#[test]
fn managers_may_relax_it_and_nobody_else() {
    let rules = "access to * by dn.exact=cn=m,dc=ex manage by dn.exact=cn=w,dc=ex write by * read";
    let mut site = site(&format!("unique_uri ldap:///?mail?sub\n{rules}"));
    let (relax, manage) = (Control::critical(RelaxRules), Control::critical(ManageDsaIt));
    let refused = refusal("(|(mail=a@ex))");
    let change = "replace: mail\nm: a@ex";
    let add = format!("{PERSON}\nmail: a@ex");
    assert_eq!(
        owned(&site.modify_with(B, change, &[&manage])),
        refused,
        "not even the rootdn"
    );
    site.become_("cn=w,dc=ex");
    assert_eq!(owned(&site.modify_with(B, change, &[&relax])), refused);
    // Relaxed rules require the right to manage these.
    assert_eq!(site.add_with("cn=c,ou=p,dc=ex", &add, &[&relax]).code, 50);
    assert_eq!(site.rename_with(B, "mail=a@ex", false, None, &[&relax]).code, 50);
    assert_eq!(owned(&site.add("cn=c,ou=p,dc=ex", &add)), refused);
    assert_eq!(owned(&site.rename(B, "mail=a@ex", None)), refused);
    site.become_("cn=m,dc=ex");
    assert_eq!(site.modify_with(B, change, &[&relax]).brief(), (0, ""));
    assert_eq!(site.add_with("cn=c,ou=p,dc=ex", &add, &[&relax]).brief(), (0, ""));
    assert_eq!(
        site.rename_with(B, "mail=a@ex", false, None, &[&relax]).brief(),
        (0, "")
    );
}

#[test]
fn a_sum_is_compared_and_not_what_is_added() {
    let mut site = site("unique_uri ldap:///?count?sub");
    for (name, count) in [("x", 1), ("y", 7), ("z", 40)] {
        let dn = format!("cn={name},ou=p,dc=ex");
        site.must_add(
            &dn,
            &format!("objectClass: person\nobjectClass: counter\nsn: s\ncount: {count}"),
        );
    }
    assert_eq!(
        site.modify("cn=z,ou=p,dc=ex", "increment: count\nm: 7").brief(),
        (0, ""),
        "7 is not what comes"
    );
    assert_eq!(
        owned(&site.modify("cn=x,ou=p,dc=ex", "increment: count\nm: 6")),
        refusal("(|(count=7))")
    );
}

#[test]
fn more_values_than_one_search_looks_for_are_all_compared() {
    let mut site = site("index mail eq\nunique_uri ldap:///?mail?sub");
    let many = (0..1_500).map(|n| format!("\nm: {n}@ex")).collect::<Vec<_>>().concat();
    assert_eq!(site.modify(B, &format!("add: mail{many}")).brief(), (0, ""));
    let others = (0..1_500)
        .map(|n| format!("\nm: other{n}@ex"))
        .collect::<Vec<_>>()
        .concat();
    let answer = site.modify(A, &format!("add: mail{others}\nm: 1499@ex"));
    assert_eq!(answer.code, 19);
    // The last of three searches.
    let found = "non-unique attributes found with (|(mail=other1024@ex)(mail=other1025@ex)";
    assert!(answer.text.starts_with(found), "{}", answer.text);
}

/// What a client may try.
#[derive(Clone, Debug)]
enum Try {
    Add(u8, Vec<u8>),
    AddValue(u8, u8),
    Replace(u8, Vec<u8>),
    DeleteValue(u8, u8),
    Rename(u8, u8),
    Delete(u8),
    Move(u8, bool),
}

fn attempt() -> impl Strategy<Value = Try> {
    let entry = 0u8..6;
    let value = 0u8..8;
    let values = proptest::collection::btree_set(0u8..8, 0..3).prop_map(|set| set.into_iter().collect::<Vec<_>>());
    prop_oneof![
        (entry.clone(), values.clone()).prop_map(|(entry, values)| Try::Add(entry, values)),
        (entry.clone(), value.clone()).prop_map(|(entry, value)| Try::AddValue(entry, value)),
        (entry.clone(), values).prop_map(|(entry, values)| Try::Replace(entry, values)),
        (entry.clone(), value.clone()).prop_map(|(entry, value)| Try::DeleteValue(entry, value)),
        (entry.clone(), value).prop_map(|(entry, value)| Try::Rename(entry, value)),
        entry.clone().prop_map(Try::Delete),
        (entry, any::<bool>()).prop_map(|(entry, inside)| Try::Move(entry, inside)),
    ]
}

/// One spelling of a value or another.
fn spelled(value: u8, upper: bool) -> String {
    if upper {
        format!("V{value}@EX")
    } else {
        format!("v{value}@ex")
    }
}

fn lines(values: &[u8], entry: u8) -> String {
    values
        .iter()
        .map(|value| format!("\nmail: {}", spelled(*value, entry.is_multiple_of(2))))
        .collect::<Vec<_>>()
        .concat()
}

/// The entry with this number, wherever it is.
fn place(site: &mut Site, entry: u8) -> Option<String> {
    let found = site.search(
        "dc=ex",
        Scope::WholeSubtree,
        &format!("(description=e{entry})"),
        &["1.1"],
    );
    let first = found.first()?;
    Some(first.trim_start_matches("dn: ").trim_end().to_owned())
}

fn carry_out(site: &mut Site, attempt: &Try) -> u32 {
    let fresh = |entry: &u8, values: &[u8]| format!("{PERSON}\ndescription: e{entry}{}", lines(values, *entry));
    match attempt {
        Try::Add(entry, values) => {
            let dn = format!("cn=e{entry},ou=in,dc=ex");
            if place(site, *entry).is_some() {
                return 68;
            }
            site.add(&dn, &fresh(entry, values)).code
        }
        Try::AddValue(entry, value) | Try::DeleteValue(entry, value) => {
            let Some(dn) = place(site, *entry) else { return 32 };
            let word = if matches!(attempt, Try::AddValue(..)) {
                "add"
            } else {
                "delete"
            };
            site.modify(&dn, &format!("{word}: mail\nm: {}", spelled(*value, entry % 2 == 1)))
                .code
        }
        Try::Replace(entry, values) => {
            let Some(dn) = place(site, *entry) else { return 32 };
            site.modify(&dn, &format!("replace: mail{}", lines(values, *entry)))
                .code
        }
        Try::Rename(entry, value) => {
            let Some(dn) = place(site, *entry) else { return 32 };
            site.rename_with(&dn, &format!("mail={}", spelled(*value, false)), false, None, &[])
                .code
        }
        Try::Delete(entry) => {
            let Some(dn) = place(site, *entry) else { return 32 };
            site.delete(&dn).code
        }
        Try::Move(entry, inside) => {
            let Some(dn) = place(site, *entry) else { return 32 };
            let rdn = dn.split(',').next().unwrap_or_default().to_owned();
            let superior = if *inside { "ou=in,dc=ex" } else { "ou=out,dc=ex" };
            site.rename_with(&dn, &rdn, false, Some(superior), &[]).code
        }
    }
}

/// The values below the base; an error when one is there twice.
fn check_unique(site: &mut Site) -> Result<(), TestCaseError> {
    let mut seen = BTreeSet::new();
    for entry in site.search("ou=in,dc=ex", Scope::WholeSubtree, "(mail=*)", &["mail"]) {
        let values = entry.lines().filter_map(|line| line.strip_prefix("mail: "));
        for value in values {
            prop_assert!(seen.insert(value.to_ascii_lowercase()), "{} is there twice", value);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    #[test]
    fn no_two_entries_below_the_base_ever_share_a_value(
        attempts in proptest::collection::vec(attempt(), 1..40),
        indexed in any::<bool>(),
    ) {
        let index = if indexed { "index mail eq\n" } else { "" };
        let lines = format!("{index}overlay unique\nunique_uri ldap:///ou=in,dc=ex?mail?sub");
        let mut site = Site::open_of(&ironbark_overlays::registry(), &lines, ironbark_overlays::make);
        site.must_add("dc=ex", "objectClass: dcObject\nobjectClass: organization\no: ex");
        site.must_add("ou=in,dc=ex", "objectClass: organizationalUnit");
        site.must_add("ou=out,dc=ex", "objectClass: organizationalUnit");
        for attempt in &attempts {
            let before = site.search("ou=in,dc=ex", Scope::WholeSubtree, "(mail=*)", &["mail"]);
            let code = carry_out(&mut site, attempt);
            if code != 0 {
                let after = site.search("ou=in,dc=ex", Scope::WholeSubtree, "(mail=*)", &["mail"]);
                prop_assert_eq!(before, after, "what is refused changes nothing");
            }
            check_unique(&mut site)?;
        }
    }
}

fn repeated(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).map(line).collect::<Vec<_>>().concat()
}

#[test]
fn a_check_that_takes_too_much_work_is_refused_and_an_index_makes_it_cheap() {
    let terms = repeated(3_500, |number| format!("(title=*none{number}*)"));
    let values = repeated(3_000, |number| format!("m: value {number}\n"));
    let too_much = "unique: looking for the values takes too much work: index the attributes that are to be unique";
    for (index, expected) in [("", (11, too_much)), ("\nindex description eq", (0, ""))] {
        let uri = format!("unique_uri ldap:///?description?sub?(!(|{terms}(title=*t))){index}");
        let mut site = site(&uri);
        for number in 0..300 {
            let name = format!("cn=e{number},ou=p,dc=ex");
            site.must_add(&name, PERSON);
        }
        let answer = site.modify(A, &format!("add: description\n{values}"));
        assert_eq!(answer.brief(), expected, "{index}");
        // One value is looked for even without an index.
        assert_eq!(site.modify(B, "replace: description\nm: other").brief(), (0, ""));
    }
}

#[test]
fn many_changes_of_many_values_are_no_way_around_the_limit() {
    let mut site = site("unique_uri ldap:///?description?sub?(description=*)");
    let values = repeated(5_000, |number| format!("m: value {number}\n"));
    assert_eq!(
        site.modify(A, &format!("replace: description\n{values}")).brief(),
        (0, "")
    );
    let changes = repeated(4_000, |number| format!("delete: description\nm: none {number}\n-\n"));
    assert_eq!(site.modify(A, &changes).code, 11);
}
