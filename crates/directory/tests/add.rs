//! Add: stored entries, and refusals with their texts.

use ironbark_harness::Site;
use ironbark_ldap_proto::controls::{AssertionControl, Control, ManageDsaIt, NoOp, PostRead, RelaxRules};
use ironbark_model::Filter;

const PERSON: &str = "objectClass: person\nsn: s";

#[test]
fn naming_values_and_operational_attributes_follow_the_requested_ones() {
    let mut site = Site::populated("");
    site.must_add("CN = New+sn=s2 , OU=p, dc=ex", "objectClass: person\nsn: s");
    assert_eq!(
        site.stored("cn=new+sn=s2,ou=p,dc=ex").expect("added"),
        "objectClass: person\nsn: s\nsn: s2\nstructuralObjectClass: person\ncn: New\ncreatorsName: cn=root,dc=ex\n\
         createTimestamp: 20260102030405Z\nentryCSN: 20260102030405.000000Z#000005#000#000000\n\
         modifiersName: cn=root,dc=ex\nmodifyTimestamp: 20260102030405Z\n"
    );
    let uuid = site.read("cn=new+sn=s2,ou=p,dc=ex", &["entryUUID"]).expect("there");
    assert_eq!(uuid.trim_end().len(), "entryUUID: ".len() + 36);
}

#[test]
fn without_lastmod_only_the_structural_class_is_added() {
    let mut site = Site::populated("lastmod off");
    let stored = site.read("cn=a,ou=p,dc=ex", &["*", "+"]).expect("there");
    assert!(
        stored.starts_with("objectClass: person\nsn: s\nstructuralObjectClass: person\ncn: a\nentryDN: "),
        "{stored}"
    );
}

#[test]
fn attributes_are_checked_before_the_entry() {
    let mut site = Site::populated("");
    for (text, code, diagnostic) in [
        ("nosuch: 1", 17, "nosuch: attribute type undefined"),
        ("objectClass: nosuch", 21, "objectClass: value #0 invalid per syntax"),
        ("objectClass: cn", 21, "objectClass: value #0 invalid per syntax"),
        (
            "objectClass: person\nstructuralObjectClass: cn",
            21,
            "structuralObjectClass: value #0 invalid per syntax",
        ),
        (
            "objectClass: person\nsn: a\nsn: b\nsn: A",
            20,
            "sn: value #0 provided more than once",
        ),
        (
            "objectClass: person\nSN: a\nuserCertificate: x",
            17,
            "userCertificate: requires ;binary transfer",
        ),
        (
            "objectClass: person\nsn: a\nonly: a\nonly: b",
            19,
            "only: multiple values provided",
        ),
        (
            "objectClass: person\nsn: a\nmodifyTimestamp: 20200101000000Z",
            19,
            "modifyTimestamp: no user modification allowed",
        ),
        (
            "objectClass: person\nobjectClass: oldPerson\nsn: a\noldThing: TRUE",
            19,
            "oldThing: attribute is obsolete",
        ),
        (
            "sn: a\nobjectClass: person\nsn: b",
            20,
            "attribute 'sn' provided more than once",
        ),
        (
            "objectClass: person",
            65,
            "object class 'person' requires attribute 'sn'",
        ),
        ("sn: x", 65, "no objectClass attribute"),
        (
            "objectClass: person\nsn: x\nmail: y",
            65,
            "attribute 'mail' not allowed",
        ),
        (
            "objectClass: person\nobjectClass: oldPerson\nsn: x",
            65,
            "objectClass 'oldPerson' is OBSOLETE",
        ),
    ] {
        assert_eq!(site.add("cn=x,ou=p,dc=ex", text).brief(), (code, diagnostic), "{text}");
    }
    assert_eq!(site.read("cn=x,ou=p,dc=ex", &["*"]), None);
}

#[test]
fn a_single_valued_naming_attribute_must_not_conflict() {
    let mut site = Site::populated("");
    assert_eq!(
        site.add("c=de,dc=ex", "objectClass: country\nc: us").brief(),
        (
            64,
            "value of single-valued naming attribute 'c' conflicts with value present in entry"
        )
    );
    // As in slapd, classes are looked at before the name, and what they allow after it.
    let answer = site.add("c=de,dc=ex", "objectClass: top\nc: us");
    assert_eq!(answer.brief(), (65, "no structural object class provided"));
    let answer = site.add("c=de,dc=ex", "objectClass: country\nc: us\nmail: x");
    assert_eq!(answer.code, 64);
}

#[test]
fn the_place_must_be_free_and_below_an_entry() {
    let mut site = Site::populated("");
    assert_eq!(site.add("cn=A,ou=p,dc=ex", PERSON).brief(), (68, ""));
    let answer = site.add("cn=x,ou=nope,DC=ex", PERSON);
    assert_eq!((answer.code, &*answer.matched_dn), (32, "dc=ex"));
    let mut empty = Site::open("");
    let answer = empty.add("ou=p,dc=ex", "objectClass: organizationalUnit");
    assert_eq!((answer.code, &*answer.matched_dn), (32, ""));
    assert_eq!(
        site.add("dc=other", "objectClass: domain").brief(),
        (53, "no global superior knowledge")
    );
    assert_eq!(site.add("", PERSON).brief(), (68, "root DSE already exists"));
}

#[test]
fn a_new_entry_takes_the_name_of_its_superior_as_stored() {
    let mut site = Site::populated("");
    let names = [&b"1.1"[..]];
    let control = Control::critical(PostRead(names.as_slice().into()));
    let answer = site.add_with("cn=x,OU=P,DC=EX", PERSON, &[&control]);
    assert_eq!(answer.read_entry.as_deref(), Some("dn: cn=x,ou=p,dc=ex\n"));
}

#[test]
fn aliases_and_subentries_have_no_subordinates_and_referrals_refer() {
    let mut site = Site::populated("");
    let alias = "objectClass: alias\nobjectClass: extensibleObject\naliasedObjectName: cn=a,ou=p,dc=ex";
    site.must_add("cn=alias,dc=ex", alias);
    assert_eq!(
        site.add("cn=x,cn=alias,dc=ex", PERSON).brief(),
        (33, "parent is an alias")
    );
    let referral = "objectClass: referral\nobjectClass: extensibleObject\nref: ldap://other/dc=far";
    site.must_add("cn=ref,dc=ex", referral);
    let answer = site.add("cn=x,cn=ref,dc=ex", PERSON);
    assert_eq!((answer.code, &*answer.matched_dn), (10, "cn=ref,dc=ex"));
    assert_eq!(answer.referrals, ["ldap://other/cn=x,dc=far"]);
    let manage = Control::critical(ManageDsaIt);
    assert_eq!(site.add_with("cn=x,cn=ref,dc=ex", PERSON, &[&manage]).code, 10);
}

#[test]
fn anonymous_clients_add_nothing() {
    let mut site = Site::populated("access to * by * write");
    site.become_("");
    assert_eq!(
        site.add("cn=x,ou=p,dc=ex", PERSON).brief(),
        (8, "modifications require authentication")
    );
}

#[test]
fn access_is_needed_to_parent_and_entry_and_by_setting_to_content() {
    let rules = "add_content_acl on
access to dn.exact=ou=p,dc=ex attrs=children by dn.exact=cn=a,ou=p,dc=ex add by * read
access to dn.exact=cn=shut,ou=p,dc=ex by * read
access to attrs=description by * read
access to dn.children=ou=p,dc=ex by dn.exact=cn=a,ou=p,dc=ex write by * read";
    let mut site = Site::populated(rules);
    site.become_("cn=b,ou=p,dc=ex");
    assert_eq!(
        site.add("cn=x,ou=p,dc=ex", PERSON).brief(),
        (50, "no write access to parent")
    );
    site.become_("cn=a,ou=p,dc=ex");
    assert_eq!(
        site.add("cn=shut,ou=p,dc=ex", PERSON).brief(),
        (50, "no write access to entry")
    );
    let described = format!("{PERSON}\ndescription: d");
    assert_eq!(
        site.add("cn=x,ou=p,dc=ex", &described).brief(),
        (50, "no write access to attribute")
    );
    assert_eq!(site.add("cn=x,ou=p,dc=ex", PERSON).brief(), (0, ""));
    let creator = site.read("cn=x,ou=p,dc=ex", &["creatorsName"]);
    assert_eq!(creator.as_deref(), Some("creatorsName: cn=a,ou=p,dc=ex\n"));
}

#[test]
fn relaxed_rules_let_operational_attributes_be_set() {
    let mut site = Site::populated("");
    let text = "objectClass: person\nobjectClass: oldPerson\nsn: x\noldThing: TRUE\ncreatorsName: cn=Someone\n\
        createTimestamp: 19700101000000Z\nentryUUID: BADBADEF-dbad-1029-92f7-badbadbadbad";
    let relax = Control::critical(RelaxRules);
    assert_eq!(site.add_with("cn=x,dc=ex", text, &[&relax]).brief(), (0, ""));
    let names = ["creatorsName", "createTimestamp", "entryUUID", "modifiersName"];
    assert_eq!(
        site.read("cn=x,dc=ex", &names).as_deref(),
        Some(
            "creatorsName: cn=Someone\ncreateTimestamp: 19700101000000Z\n\
             entryUUID: badbadef-dbad-1029-92f7-badbadbadbad\nmodifiersName: cn=root,dc=ex\n"
        )
    );
    assert_eq!(
        site.add_with(
            "cn=y,dc=ex",
            "objectClass: person\nsn: x\nstructuralObjectClass: person",
            &[&relax]
        )
        .brief(),
        (
            19,
            "structuralObjectClass: no-user-modification attribute not manageable"
        )
    );
}

#[test]
fn no_op_and_assertion_leave_nothing_behind() {
    let mut site = Site::populated("");
    let no_op = Control::critical(NoOp);
    assert_eq!(site.add_with("cn=x,dc=ex", PERSON, &[&no_op]).code, 16_654);
    let assertion = Control::critical(AssertionControl(Filter::parse(b"(sn=other)", 5).expect("a filter")));
    assert_eq!(site.add_with("cn=x,dc=ex", PERSON, &[&assertion]).code, 122);
    assert_eq!(site.read("cn=x,dc=ex", &["*"]), None);
}

#[test]
fn names_in_values_are_stored_in_pretty_form() {
    let mut site = Site::populated("");
    site.must_add("cn=g,dc=ex", "objectClass: groupOfNames\nmember: CN=A,  ou=p , DC=ex");
    assert_eq!(
        site.read("cn=g,dc=ex", &["member"]).as_deref(),
        Some("member: cn=A,ou=p,dc=ex\n")
    );
}

#[test]
fn attributes_with_one_place_stay_there() {
    let mut site = Site::populated("");
    let text = "objectClass: person\nobjectClass: extensibleObject\nsn: x\n";
    for (line, diagnostic) in [
        ("ref: ldap://x/", "attribute \"ref\" only allowed in the referral"),
        (
            "aliasedObjectName: dc=ex",
            "attribute \"aliasedObjectName\" only allowed in the alias",
        ),
        ("vendorName: x", "attribute \"vendorName\" only allowed in the root DSE"),
    ] {
        let answer = site.add("cn=x,dc=ex", &format!("{text}{line}"));
        assert!(answer.brief() == (65, diagnostic) || answer.code == 19, "{answer:?}");
    }
}

#[test]
fn an_entry_may_not_grow_past_maxentrysize() {
    let mut site = Site::populated("maxentrysize 1000");
    let long = |count| format!("{PERSON}\ndescription: {}", "x".repeat(count));
    assert_eq!(
        site.add("cn=x,ou=p,dc=ex", &long(1_000)).brief(),
        (11, "entry is too big")
    );
    assert_eq!(site.read("cn=x,ou=p,dc=ex", &["1.1"]), None);
    site.must_add("cn=x,ou=p,dc=ex", &long(100));
    let before = site.stored("cn=x,ou=p,dc=ex");
    let grown = format!("replace: description\nm: {}", "x".repeat(1_000));
    assert_eq!(site.modify("cn=x,ou=p,dc=ex", &grown).brief(), (11, "entry is too big"));
    assert_eq!(site.stored("cn=x,ou=p,dc=ex"), before, "what is refused leaves nothing");
    let renamed = site.rename("cn=x,ou=p,dc=ex", &format!("cn={}", "x".repeat(900)), None);
    assert_eq!(renamed.brief(), (11, "entry is too big"));
}
