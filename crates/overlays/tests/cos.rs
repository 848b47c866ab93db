//! Class of Service.
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test that cannot go on fails")]

use ironbark_harness::Site;
use ironbark_ldap_proto::{CompareRequest, Request, Scope};

const ROOT: &str = "cn=root,dc=ex";
const TRUE: u32 = 6;

/// People a to d below `ou=p`, templates below `ou=t`.
fn site(lines: &str) -> Site {
    let lines = format!("index objectClass,title,uid,manager eq\n{lines}\noverlay cos");
    let mut site = Site::open_of(&ironbark_overlays::registry(), &lines, ironbark_overlays::make);
    site.must_add("dc=ex", "objectClass: domain");
    for unit in ["p", "t", "o"] {
        site.must_add(&format!("ou={unit},dc=ex"), "objectClass: organizationalUnit");
    }
    for (name, title) in [("a", "gold"), ("b", "Silver"), ("c", "none")] {
        site.must_add(
            &format!("uid={name},ou=p,dc=ex"),
            &format!("objectClass: inetOrgPerson\ncn: {name}\nsn: S{name}\ntitle: {title}"),
        );
    }
    site.must_add(
        "uid=d,ou=p,dc=ex",
        "objectClass: inetOrgPerson\ncn: d\nsn: Sd\nmanager: uid=a,ou=p,dc=ex",
    );
    site.must_add(
        "uid=e,ou=o,dc=ex",
        "objectClass: inetOrgPerson\ncn: e\nsn: Se\ntitle: gold",
    );
    site
}

fn template(site: &mut Site, name: &str, values: &str) {
    site.must_add(
        &format!("cn={name},ou=t,dc=ex"),
        &format!("objectClass: extensibleObject\nobjectClass: cosTemplate\n{values}"),
    );
}

fn definition(site: &mut Site, name: &str, kind: &str, text: &str) {
    site.must_add(
        &format!("cn={name},ou=p,dc=ex"),
        &format!("objectClass: cos{kind}Definition\n{text}"),
    );
}

fn pointer(site: &mut Site, name: &str, attribute: &str) {
    let text = format!("cosTemplateDn: cn={name},ou=t,dc=ex\ncosAttribute: {attribute}");
    definition(site, name, "Pointer", &text);
}

fn classic(site: &mut Site, attribute: &str) {
    template(site, "gold", "employeeType: first\ncosPriority: 1");
    template(site, "silver", "employeeType: second");
    template(site, "title-default", "employeeType: other");
    let text = format!("cosTemplateDn: ou=t,dc=ex\ncosSpecifier: title\ncosAttribute: {attribute}");
    definition(site, "classic", "Classic", &text);
}

/// The first RDN values of what a filter finds.
fn found(site: &mut Site, filter: &str) -> String {
    let filter = format!("(&(objectClass=person){filter})");
    let entries = site
        .search_with("dc=ex", Scope::WholeSubtree, &filter, &["1.1"], &[])
        .entries;
    let names = entries.iter().map(|entry| {
        entry
            .trim_start_matches("dn: uid=")
            .split(',')
            .next()
            .unwrap_or_default()
    });
    names.collect::<Vec<_>>().join(" ")
}

fn read(site: &mut Site, name: &str, attributes: &[&str]) -> Vec<String> {
    let dn = format!("uid={name},ou=p,dc=ex");
    let entry = site
        .search_with(&dn, Scope::BaseObject, "(objectClass=*)", attributes, &[])
        .entries
        .concat();
    let mut lines: Vec<_> = entry.lines().skip(1).map(str::to_owned).collect();
    lines.sort_unstable();
    lines
}

fn compare(site: &mut Site, name: &str, attribute: &str, value: &str) -> u32 {
    let entry = format!("uid={name},ou=p,dc=ex");
    let request = CompareRequest {
        entry: entry.as_bytes(),
        attribute: attribute.as_bytes(),
        value: value.as_bytes(),
    };
    site.send(&Request::Compare(request), &[]).code
}

#[test]
fn a_pointer_gives_the_values_of_its_template_below_its_superior() {
    let mut site = site("");
    template(&mut site, "office", "postalCode: 12345\nl: Athens");
    pointer(&mut site, "office", "postalCode");
    site.become_(ROOT);
    assert_eq!(read(&mut site, "a", &["postalCode", "l"]), ["postalCode: 12345"]);
    assert_eq!(found(&mut site, "(postalCode=12345)"), "a b c d");
    assert_eq!(found(&mut site, "(&(postalCode=123*)(uid=b))"), "b");
    assert_eq!(found(&mut site, "(!(postalCode=*))"), "e");
    assert_eq!(found(&mut site, "(postalCode=1)"), "");
    assert_eq!(compare(&mut site, "a", "postalCode", "12345"), TRUE);
    // The entry's own value counts.
    assert_eq!(site.modify("uid=b,ou=p,dc=ex", "add: postalCode\np: 9").code, 0);
    assert_eq!(read(&mut site, "b", &["postalCode"]), ["postalCode: 9"]);
    assert_eq!(found(&mut site, "(postalCode=12345)"), "a c d");
    // A change of template or definition counts at once.
    assert_eq!(site.modify("cn=office,ou=t,dc=ex", "replace: postalCode\np: 7").code, 0);
    assert_eq!(found(&mut site, "(postalCode=7)"), "a c d");
    assert_eq!(site.modify("cn=office,ou=p,dc=ex", "add: cosAttribute\nc: l").code, 0);
    assert_eq!(found(&mut site, "(l=athens)"), "a b c d");
    assert_eq!(site.delete("cn=office,ou=p,dc=ex").code, 0);
    assert_eq!(found(&mut site, "(|(l=athens)(postalCode=7))"), "");
}

#[test]
fn override_hides_what_is_stored() {
    let mut site = site("index description eq");
    template(&mut site, "t", "description: forced");
    pointer(&mut site, "t", "description override");
    assert_eq!(site.modify("uid=a,ou=p,dc=ex", "add: description\nd: own").code, 0);
    site.become_(ROOT);
    assert_eq!(read(&mut site, "a", &["description"]), ["description: forced"]);
    assert_eq!(found(&mut site, "(description=own)"), "");
    assert_eq!(found(&mut site, "(!(description=own))"), "a b c d e");
    assert_eq!(found(&mut site, "(description=forced)"), "a b c d");
    assert_ne!(compare(&mut site, "a", "description", "own"), TRUE);
}

#[test]
fn a_value_names_the_template_and_one_is_for_all_others() {
    let mut site = site("");
    classic(&mut site, "employeeType");
    site.become_(ROOT);
    for (name, value) in [("a", "first"), ("b", "second"), ("c", "other"), ("d", "other")] {
        assert_eq!(
            read(&mut site, name, &["employeeType"]),
            [format!("employeeType: {value}")]
        );
        assert_eq!(compare(&mut site, name, "employeeType", value), TRUE);
    }
    assert_eq!(found(&mut site, "(employeeType=SECOND)"), "b");
    assert_eq!(found(&mut site, "(employeeType=other)"), "c d");
    assert_eq!(found(&mut site, "(&(employeeType=*)(!(employeeType=other)))"), "a b");
    template(&mut site, "none", "employeeType: third");
    assert_eq!(found(&mut site, "(employeeType=third)"), "c");
    let answer = site.modify("uid=c,ou=p,dc=ex", "add: title\nt: gold");
    assert_eq!(answer.code, 0);
    assert_eq!(
        read(&mut site, "c", &["employeeType"]),
        ["employeeType: first"],
        "by priority"
    );
    assert_eq!(found(&mut site, "(employeeType=third)"), "");
    assert_eq!(site.delete("cn=gold,ou=t,dc=ex").code, 0);
    assert_eq!(found(&mut site, "(employeeType=third)"), "c");
}

#[test]
fn merged_schemes_give_the_values_of_all_templates() {
    let mut site = site("");
    classic(&mut site, "employeeType merge-schemes");
    assert_eq!(site.modify("uid=a,ou=p,dc=ex", "add: title\nt: silver").code, 0);
    site.become_(ROOT);
    assert_eq!(
        read(&mut site, "a", &["employeeType"]),
        ["employeeType: first", "employeeType: second"]
    );
    assert_eq!(found(&mut site, "(employeeType=second)"), "a b");
}

#[test]
fn an_operational_value_is_sent_if_it_is_asked_for_and_needs_no_class() {
    let mut site = site("");
    template(&mut site, "t", "carLicense: x\nassociatedDomain: y");
    pointer(&mut site, "t", "carLicense operational");
    definition(
        &mut site,
        "u",
        "Pointer",
        "cosTemplateDn: cn=t,ou=t,dc=ex\ncosAttribute: associatedDomain operational-default\ncosAttribute: dc",
    );
    site.become_(ROOT);
    let all = read(&mut site, "a", &["*"]);
    assert!(
        !all.iter()
            .any(|line| line.starts_with("carLicense") || line.starts_with("associatedDomain")),
        "{all:?}"
    );
    assert_eq!(
        read(&mut site, "a", &["carLicense", "associatedDomain"]),
        ["associatedDomain: y", "carLicense: x"]
    );
    assert_eq!(found(&mut site, "(associatedDomain=y)"), "a b c d");
}

#[test]
fn values_that_no_class_of_the_entry_allows_are_not_given() {
    let mut site = site("");
    template(&mut site, "t", "associatedDomain: y");
    pointer(&mut site, "t", "associatedDomain");
    site.become_(ROOT);
    assert_eq!(read(&mut site, "a", &["associatedDomain"]), Vec::<String>::new());
    assert_eq!(found(&mut site, "(associatedDomain=y)"), "");
    assert_eq!(
        site.modify("uid=a,ou=p,dc=ex", "add: objectClass\no: extensibleObject")
            .code,
        0
    );
    assert_eq!(found(&mut site, "(associatedDomain=y)"), "a");
}

#[test]
fn the_entry_that_is_named_gives_what_the_client_may_read_of_it() {
    let rules = "access to dn.exact=\"uid=a,ou=p,dc=ex\" attrs=roomNumber val=2 by * none\naccess to * by * read";
    let mut site = site(&format!("index roomNumber eq\n{rules}"));
    assert_eq!(site.modify("uid=a,ou=p,dc=ex", "add: roomNumber\nr: 1\nr: 2").code, 0);
    definition(
        &mut site,
        "i",
        "Indirect",
        "cosIndirectSpecifier: manager\ncosAttribute: roomNumber",
    );
    site.become_(ROOT);
    assert_eq!(
        read(&mut site, "d", &["roomNumber"]),
        ["roomNumber: 1", "roomNumber: 2"]
    );
    assert_eq!(found(&mut site, "(roomNumber=1)"), "a d");
    assert_eq!(found(&mut site, "(roomNumber=2*)"), "a d");
    site.become_("uid=c,ou=p,dc=ex");
    assert_eq!(read(&mut site, "d", &["roomNumber"]), ["roomNumber: 1"]);
    assert_eq!(found(&mut site, "(roomNumber=2)"), "");
    assert_eq!(found(&mut site, "(roomNumber=2*)"), "");
    assert_ne!(compare(&mut site, "d", "roomNumber", "2"), TRUE);
}

#[test]
fn computed_values_are_made_of_the_entrys_own() {
    let mut site = site("");
    definition(
        &mut site,
        "x",
        "Computed",
        "cosExpression: mail ${uid}@Ex.org\ncosExpression: displayName = ${cn} (${rdn:lower})\n\
         cosExpression: nonsense ${uid}\ncosExpression: homePhone ${none}",
    );
    site.become_(ROOT);
    assert_eq!(
        read(&mut site, "a", &["mail", "displayName"]),
        ["displayName: a (a)", "mail: a@Ex.org"]
    );
    assert_eq!(found(&mut site, "(mail=B@ex.ORG)"), "b");
    assert_eq!(found(&mut site, "(mail=b@other.org)"), "");
    assert_eq!(found(&mut site, "(mail=*@ex.org)"), "a b c d");
    assert_eq!(found(&mut site, "(displayName=c \\28c\\29)"), "c");
    assert_eq!(
        found(&mut site, "(|(mail=a@ex.org)(mail=e@ex.org)(mail=d@ex.org))"),
        "a d"
    );
    assert_eq!(
        site.modify("uid=a,ou=p,dc=ex", "add: uid\nu: second\n-\nadd: mail\nm: own@ex.org")
            .code,
        0
    );
    assert_eq!(found(&mut site, "(mail=a@ex.org)"), "");
    assert_eq!(site.modify("uid=a,ou=p,dc=ex", "delete: mail").code, 0);
    assert_eq!(found(&mut site, "(mail=second@ex.org)"), "a");
}

#[test]
fn access_rules_hold_for_the_values_where_they_appear() {
    let rules = "access to dn.exact=\"uid=a,ou=p,dc=ex\" attrs=postalCode by * none\n\
                 access to dn.exact=\"uid=b,ou=p,dc=ex\" attrs=postalCode by * compare\n\
                 access to dn.subtree=\"ou=t,dc=ex\" by * none\naccess to * by * read";
    let mut site = site(rules);
    template(&mut site, "office", "postalCode: 12345");
    pointer(&mut site, "office", "postalCode");
    site.become_("uid=e,ou=o,dc=ex");
    assert_eq!(found(&mut site, "(postalCode=12345)"), "c d");
    assert_eq!(found(&mut site, "(!(postalCode=12345))"), "e");
    assert_eq!(read(&mut site, "a", &["postalCode"]), Vec::<String>::new());
    assert_eq!(read(&mut site, "b", &["postalCode"]), Vec::<String>::new());
    assert_eq!(read(&mut site, "c", &["postalCode"]), ["postalCode: 12345"]);
    assert_ne!(compare(&mut site, "a", "postalCode", "12345"), TRUE);
    assert_eq!(compare(&mut site, "b", "postalCode", "12345"), TRUE);
}

#[test]
fn definitions_that_say_nothing_sensible_give_nothing() {
    let mut site = site("");
    template(&mut site, "t", "postalCode: 1");
    for (name, kind, text) in [
        ("1", "Pointer", "cosAttribute: postalCode"),
        ("2", "Pointer", "cosAttribute: postalCode\ncosTemplateDn: cn=none,dc=ex"),
        ("3", "Pointer", "cosAttribute: postalCode\ncosTemplateDn: ou=t,dc=ex"),
        (
            "4",
            "Pointer",
            "cosAttribute: postalCode sometimes\ncosTemplateDn: cn=t,ou=t,dc=ex",
        ),
        ("5", "Classic", "cosAttribute: postalCode\ncosTemplateDn: ou=t,dc=ex"),
        (
            "6",
            "Classic",
            "cosAttribute: postalCode\ncosTemplateDn: ou=t,dc=ex\ncosSpecifier: nosuch",
        ),
        (
            "7",
            "Indirect",
            "cosAttribute: postalCode\ncosIndirectSpecifier: nosuch",
        ),
        ("8", "Indirect", "cosAttribute: postalCode\ncosIndirectSpecifier: sn"),
        ("9", "Computed", "cosExpression: postalCode ${"),
    ] {
        definition(&mut site, name, kind, text);
    }
    site.become_(ROOT);
    assert_eq!(found(&mut site, "(postalCode=*)"), "");
    assert_eq!(read(&mut site, "a", &["postalCode"]), Vec::<String>::new());
}
