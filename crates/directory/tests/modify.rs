//! Modify: each kind of change, the text of each refusal, access, controls, order of attributes.

use ironbark_harness::Site;
use ironbark_ldap_proto::controls::{AssertionControl, Control, NoOp, PermissiveModify, PostRead, PreRead, RelaxRules};
use ironbark_model::Filter;

const A: &str = "cn=a,ou=p,dc=ex";

fn counting() -> Site {
    let mut site = Site::populated("");
    site.must_add(
        "cn=n,dc=ex",
        "objectClass: person\nobjectClass: counter\nsn: s\ncount: 5\ncount: -7\nblob: x",
    );
    site
}

const REFUSALS: &[(&str, u32, &str)] = &[
    ("add: nosuch\nnosuch: 1", 17, "nosuch: attribute type undefined"),
    ("add: cn\ncn: x\ncn: X", 20, "cn: value #0 provided more than once"),
    (
        "add: description\nd: x\nd: y\nd: Y",
        20,
        "description: value #1 provided more than once",
    ),
    ("add: cn\ncn: N", 20, "modify/add: cn: value #0 already exists"),
    ("add: sn\nsn: t\nsn: S", 20, "modify/add: sn: value #1 already exists"),
    (
        "add: telephoneNumber\nt: \u{e4}",
        21,
        "telephoneNumber: value #0 invalid per syntax",
    ),
    ("add: blob\nblob: y", 18, "modify/add: blob: no equality matching rule"),
    (
        "delete: blob\nblob: x",
        18,
        "modify/delete: blob: no equality matching rule",
    ),
    (
        "delete: description",
        16,
        "modify/delete: description: no such attribute",
    ),
    (
        "delete: description\nd: x",
        16,
        "modify/delete: description: no such attribute",
    ),
    ("delete: sn\nsn: zz", 16, "modify/delete: sn: no such value"),
    ("delete: sn", 65, "object class 'person' requires attribute 'sn'"),
    ("delete: cn", 64, "naming attribute 'cn' is not present in entry"),
    (
        "replace: cn\ncn: other",
        64,
        "value of naming attribute 'cn' is not present in entry",
    ),
    ("add: mail\nmail: a@b", 65, "attribute 'mail' not allowed"),
    (
        "add: only\nonly: a\n-\nadd: only\nonly: b",
        19,
        "attribute 'only' cannot have multiple values",
    ),
    ("replace: only\nonly: a\nonly: b", 19, "only: multiple values provided"),
    (
        "replace: objectClass\no: organizationalUnit",
        69,
        "structural object class modification from 'person' to 'organizationalUnit' not allowed",
    ),
    (
        "replace: objectClass\no: top",
        65,
        "no structural object class provided",
    ),
    (
        "replace: objectClass\no: nosuch",
        21,
        "objectClass: value #0 invalid per syntax",
    ),
    (
        "add: createTimestamp\nc: 20200101000000Z",
        19,
        "createTimestamp: no user modification allowed",
    ),
    ("add: oldThing\no: TRUE", 19, "oldThing: attribute is obsolete"),
    (
        "increment: sn\nsn: 1",
        19,
        "sn: attribute syntax inappropriate for increment",
    ),
    (
        "increment: gidNumber\ng: 1",
        16,
        "modify/increment: gidNumber: no such attribute",
    ),
];

#[test]
fn refusals_have_slapds_codes_and_words() {
    let mut site = counting();
    for &(text, code, diagnostic) in REFUSALS {
        assert_eq!(site.modify("cn=n,dc=ex", text).brief(), (code, diagnostic), "{text}");
    }
    let answer = site.modify("cn=x,cn=n,dc=ex", "replace: sn\nsn: x");
    assert_eq!((answer.code, &*answer.matched_dn), (32, "cn=n,dc=ex"));
}

#[test]
fn changes_are_made_in_order_and_all_or_none() {
    let mut site = Site::populated("");
    let text = "add: description\nd: one\nd: two\n-\ndelete: description\nd: ONE\n-\nadd: description\nd: one\n-\ndelete: nosuch";
    assert_eq!(site.modify(A, text).code, 17);
    let text = "add: description\nd: one\nd: two\n-\ndelete: description\nd: ONE\n-\nadd: description\nd: three";
    assert_eq!(site.modify(A, text).brief(), (0, ""));
    assert_eq!(
        site.read(A, &["description"]).as_deref(),
        Some("description: two\ndescription: three\n")
    );
}

#[test]
fn replaced_and_operational_attributes_move_to_the_end() {
    let mut site = Site::populated("");
    site.clock.advance(std::time::Duration::from_mins(1));
    assert_eq!(site.modify(A, "replace: sn\nsn: new").brief(), (0, ""));
    assert_eq!(
        site.stored(A).expect("there"),
        "objectClass: person\nstructuralObjectClass: person\ncn: a\ncreatorsName: cn=root,dc=ex\n\
         createTimestamp: 20260102030405Z\nsn: new\nentryCSN: 20260102030505.000000Z#000000#000#000000\n\
         modifiersName: cn=root,dc=ex\nmodifyTimestamp: 20260102030505Z\n"
    );
}

#[test]
fn replacing_by_nothing_deletes_whether_or_not_it_is_there() {
    let mut site = Site::populated("");
    assert_eq!(site.modify(A, "replace: description").brief(), (0, ""));
    assert_eq!(site.modify(A, "add: description\nd: x").code, 0);
    assert_eq!(site.modify(A, "replace: description").brief(), (0, ""));
    assert_eq!(site.read(A, &["description"]).as_deref(), Some(""));
}

/// RFC 4525 §2.
#[test]
fn increments_add_to_each_value() {
    let mut site = counting();
    assert_eq!(
        site.modify("cn=n,dc=ex", "increment: count\ncount: 12").brief(),
        (0, "")
    );
    assert_eq!(
        site.read("cn=n,dc=ex", &["count"]).as_deref(),
        Some("count: 17\ncount: 5\n")
    );
    assert_eq!(
        site.modify("cn=n,dc=ex", "increment: count\ncount: 9223372036854775807")
            .brief(),
        (0, "")
    );
    assert_eq!(
        site.read("cn=n,dc=ex", &["count"]).as_deref(),
        Some("count: 9223372036854775824\ncount: 9223372036854775812\n")
    );
}

#[test]
fn permissive_modify_takes_what_is_done_already() {
    let mut site = Site::populated("");
    let permissive = Control::critical(PermissiveModify);
    let text =
        "add: sn\nsn: S\nsn: t\n-\ndelete: description\n-\ndelete: telephoneNumber\nt: 1\n-\ndelete: sn\nsn: nope";
    assert_eq!(site.modify_with(A, text, &[&permissive]).brief(), (0, ""));
    assert_eq!(site.read(A, &["sn"]).as_deref(), Some("sn: s\nsn: t\n"));
}

#[test]
fn relaxed_rules_let_classes_and_timestamps_change() {
    let mut site = Site::populated("");
    let relax = Control::critical(RelaxRules);
    for text in [
        "add: objectClass\no: oldPerson",
        "add: oldThing\no: TRUE",
        "replace: creatorsName\nc: cn=Bjorn",
        "replace: modifyTimestamp\nm: 19700101000000Z\n-\nreplace: createTimestamp\nc: 19700101000000Z",
        "replace: entryUUID\ne: badbadba-dbad-1029-92f7-badbadbadbad",
        "replace: objectClass\no: otherPerson\no: oldPerson",
    ] {
        assert_eq!(site.modify_with(A, text, &[&relax]).brief(), (0, ""), "{text}");
    }
    let names = ["structuralObjectClass", "creatorsName", "createTimestamp", "entryUUID"];
    let text = site.read(A, &names).expect("there");
    for line in [
        "structuralObjectClass: otherPerson",
        "creatorsName: cn=Bjorn",
        "createTimestamp: 19700101000000Z",
        "entryUUID: badbadba-dbad-1029-92f7-badbadbadbad",
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
}

#[test]
fn access_is_needed_for_each_value_and_for_a_whole_attribute() {
    let rules = "access to attrs=description val.exact=x by * write
access to attrs=telephoneNumber by * add
access to attrs=sn by * read
access to * by * read";
    let rules = rules.replace(" val.exact=x", "");
    let mut site = Site::populated(&rules);
    site.become_("cn=b,ou=p,dc=ex");
    assert_eq!(site.modify(A, "add: sn\nsn: x").brief(), (50, ""));
    assert_eq!(site.modify(A, "add: telephoneNumber\nt: 1").brief(), (0, ""));
    assert_eq!(site.modify(A, "delete: telephoneNumber\nt: 1").brief(), (50, ""));
    assert_eq!(site.modify(A, "replace: telephoneNumber\nt: 2").brief(), (50, ""));
    assert_eq!(site.modify(A, "replace: description\nd: x").brief(), (0, ""));
    assert_eq!(
        site.read(A, &["modifiersName"]).as_deref(),
        Some("modifiersName: cn=b,ou=p,dc=ex\n")
    );
}

#[test]
fn read_entry_controls_show_before_and_after() {
    let mut site = Site::populated("");
    let names = [&b"sn"[..]];
    let before = Control::critical(PreRead(names.as_slice().into()));
    let after = Control::critical(PostRead(names.as_slice().into()));
    let answer = site.modify_with(A, "replace: sn\nsn: one", &[&before]);
    assert_eq!(answer.read_entry.as_deref(), Some("dn: cn=a,ou=p,dc=ex\nsn: s\n"));
    let answer = site.modify_with(A, "replace: sn\nsn: two", &[&after]);
    assert_eq!(answer.read_entry.as_deref(), Some("dn: cn=a,ou=p,dc=ex\nsn: two\n"));
}

/// RFC 4528 §4.
#[test]
fn assertions_and_no_op_stop_the_operation() {
    let mut site = Site::populated("");
    let fails = Control::critical(AssertionControl(Filter::parse(b"(sn=other)", 5).expect("a filter")));
    assert_eq!(site.modify_with(A, "replace: sn\nsn: x", &[&fails]).code, 122);
    let holds = Control::critical(AssertionControl(
        Filter::parse(b"(&(sn=S)(entryDN=cn=a,ou=p,dc=ex))", 5).expect("a filter"),
    ));
    let no_op = Control::critical(NoOp);
    assert_eq!(
        site.modify_with(A, "replace: sn\nsn: x", &[&no_op, &holds]).code,
        16_654
    );
    assert_eq!(site.read(A, &["sn"]).as_deref(), Some("sn: s\n"));
    assert_eq!(site.modify_with(A, "replace: sn\nsn: x", &[&holds]).code, 0);
}

#[test]
fn a_big_group_changes_by_one_member_and_as_a_whole() {
    let mut site = Site::populated("");
    let members = (0..5_000)
        .map(|number| format!("member: cn=m{number},dc=ex"))
        .collect::<Vec<_>>()
        .join("\n");
    site.must_add("cn=g,dc=ex", &format!("objectClass: groupOfNames\n{members}"));
    let group = "cn=g,dc=ex";
    assert_eq!(
        site.modify(group, "add: member\nm: cn=M4999,dc=ex").brief(),
        (20, "modify/add: member: value #0 already exists")
    );
    assert_eq!(site.modify(group, "add: member\nm: cn=new,dc=ex").brief(), (0, ""));
    assert_eq!(
        site.modify(group, "delete: member\nm: cn=new,dc=ex\nm: cn=NEW,dc=ex")
            .brief(),
        (0, "")
    );
    assert_eq!(
        site.modify(group, "delete: member\nm: cn=new,dc=ex").brief(),
        (16, "modify/delete: member: no such value")
    );
    let text = "delete: member\nm: cn=m1,dc=ex\n-\nadd: member\nm: cn=m1,dc=ex\n-\nadd: member\nm: cn=m1,dc=ex";
    assert_eq!(
        site.modify(group, text).brief(),
        (20, "modify/add: member: value #0 already exists")
    );
    assert_eq!(
        site.modify(group, "delete: member").brief(),
        (65, "object class 'groupOfNames' requires attribute 'member'")
    );
    assert_eq!(site.modify(group, "replace: member\nm: cn=last,dc=ex").brief(), (0, ""));
    assert_eq!(
        site.read(group, &["member"]).as_deref(),
        Some("member: cn=last,dc=ex\n")
    );
}

#[test]
fn referrals_are_changed_only_when_managed() {
    use ironbark_ldap_proto::controls::ManageDsaIt;
    let mut site = Site::populated("");
    site.must_add(
        "cn=ref,dc=ex",
        "objectClass: referral\nobjectClass: extensibleObject\nref: ldap://other/dc=far",
    );
    let answer = site.modify("cn=ref,dc=ex", "add: sn\nsn: x");
    assert_eq!(
        (answer.code, answer.referrals),
        (10, vec!["ldap://other/dc=far".to_owned()])
    );
    let manage = Control::critical(ManageDsaIt);
    assert_eq!(
        site.modify_with("cn=ref,dc=ex", "add: sn\nsn: x", &[&manage]).brief(),
        (0, "")
    );
}

#[test]
fn a_diagnostic_message_repeats_no_more_than_a_little_of_what_was_sent() {
    let mut site = Site::populated("");
    let answer = site.modify("cn=a,ou=p,dc=ex", &format!("add: {}\nm: x", "n".repeat(5_000)));
    assert_eq!((answer.code, answer.text), (17, format!("{}...", "n".repeat(1_021))));
}

#[test]
fn ordered_values_are_numbered_and_found_by_number() {
    let mut site = Site::populated("");
    site.must_add("cn=o,dc=ex", "objectClass: person\nsn: s\nauthzTo: dn:cn=x");
    let mut step = |change: &str, code: u32, left: &[&str]| {
        let answer = site.modify("cn=o,dc=ex", change);
        assert_eq!(answer.brief().0, code, "{change}: {answer:?}");
        let text = site.read("cn=o,dc=ex", &["authzTo"]).unwrap_or_default();
        let values: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("authzTo: ")).collect();
        assert_eq!(values, left, "{change}");
    };
    step(
        "add: authzTo\nauthzTo: dn:cn=y\nauthzTo: {0}dn:cn=z",
        0,
        &["{0}dn:cn=z", "{1}dn:cn=x", "{2}dn:cn=y"],
    );
    // Whatever number it has, the value is there.
    step(
        "add: authzTo\nauthzTo: {7}dn:CN=Y",
        20,
        &["{0}dn:cn=z", "{1}dn:cn=x", "{2}dn:cn=y"],
    );
    step("delete: authzTo\nauthzTo: dn:cn=z", 0, &["{0}dn:cn=x", "{1}dn:cn=y"]);
    step(
        "delete: authzTo\nauthzTo: {0}dn:cn=y",
        16,
        &["{0}dn:cn=x", "{1}dn:cn=y"],
    );
    step(
        "replace: authzTo\nauthzTo: {5}dn:cn=b\nauthzTo: {2}dn:cn=a",
        0,
        &["{0}dn:cn=a", "{1}dn:cn=b"],
    );
    step("delete: authzTo\nauthzTo: {2}", 16, &["{0}dn:cn=a", "{1}dn:cn=b"]);
    step("delete: authzTo\nauthzTo: {0}", 0, &["{0}dn:cn=b"]);
    step("delete: authzTo", 0, &[]);
    step("add: authzTo\nauthzTo: dn:cn=x", 0, &["{0}dn:cn=x"]);
}
