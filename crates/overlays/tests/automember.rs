//! The overlay automember.
#![allow(clippy::expect_used, reason = "a test that cannot go on fails")]

use ironbark_harness::Site;

const DEFINITION: &str = "overlay automember\nautomember-scope ou=s,dc=ex\nautomember-filter (objectClass=person)\n\
    automember-default-group cn=all,dc=ex\n\
    automember-inclusive-regex cn=a,dc=ex \"description=^a+$\"\n\
    automember-inclusive-regex cn=a,dc=ex sn=^Aa\n\
    automember-inclusive-regex cn=b,dc=ex description=^b\n\
    automember-exclusive-regex cn=a,dc=ex telephoneNumber=^0";
const GROUPS: [&str; 3] = ["all", "a", "b"];

fn site(lines: &str) -> Site {
    let mut site = Site::open_of(&ironbark_overlays::registry(), lines, ironbark_overlays::make);
    site.populate();
    site.must_add("ou=s,dc=ex", "objectClass: organizationalUnit");
    for name in GROUPS {
        site.must_add(
            &format!("cn={name},dc=ex"),
            "objectClass: groupOfNames\nmember: cn=none,dc=ex",
        );
    }
    site
}

/// The names of an entry's groups.
fn groups(site: &mut Site, member: &str) -> String {
    let mut held = |name: &&&str| {
        let text = site.read(&format!("cn={name},dc=ex"), &["member"]).expect("a group");
        text.lines().any(|line| line == format!("member: {member}"))
    };
    let found: Vec<&str> = GROUPS.iter().filter(|name| held(name)).copied().collect();
    found.join(" ")
}

fn person(lines: &str) -> String {
    format!("objectClass: person\n{lines}")
}

#[test]
fn new_entries_join_the_groups_of_the_rules_or_the_default_ones() {
    let mut site = site(DEFINITION);
    for (number, (lines, expected)) in [
        ("sn: x", "all"),
        ("sn: x\ndescription: aaa", "a"),
        ("sn: x\ndescription: AAA", "all"),
        ("sn: x\ndescription: bbb\ndescription: a", "a b"),
        ("sn: Aa", "a"),
        ("sn: Aa\ntelephoneNumber: 07", "all"),
        ("sn: Aa\ntelephoneNumber: 07\ndescription: b", "b"),
    ]
    .iter()
    .enumerate()
    {
        let name = format!("cn=p{number},ou=s,dc=ex");
        site.must_add(&name, &person(lines));
        assert_eq!(groups(&mut site, &name), *expected, "{lines}");
    }
    site.must_add("ou=t,ou=s,dc=ex", "objectClass: organizationalUnit");
    assert_eq!(groups(&mut site, "ou=t,ou=s,dc=ex"), "");
    site.must_add("cn=out,dc=ex", &person("sn: Aa"));
    assert_eq!(groups(&mut site, "cn=out,dc=ex"), "");
}

#[test]
fn a_modify_moves_an_entry_between_groups() {
    let mut site = site(DEFINITION);
    let name = "cn=p,ou=s,dc=ex";
    site.must_add(name, &person("sn: x"));
    for (change, expected) in [
        ("add: description\ndescription: a", "a"),
        ("add: description\ndescription: b", "a b"),
        ("delete: description\ndescription: a", "b"),
        ("replace: telephoneNumber\ntelephoneNumber: 0", "b"),
        ("replace: sn\nsn: Aa", "b"),
        ("delete: telephoneNumber", "a b"),
        ("replace: sn\nsn: y\n-\ndelete: description", "all"),
    ] {
        assert_eq!(site.modify(name, change).brief(), (0, ""), "{change}");
        assert_eq!(groups(&mut site, name), expected, "{change}");
    }
    // Who is taken out by hand stays out until something changes that counts.
    assert_eq!(
        site.modify("cn=all,dc=ex", &format!("delete: member\nmember: {name}"))
            .code,
        0
    );
    assert_eq!(site.modify(name, "replace: seeAlso\nseeAlso: cn=x").code, 0);
    assert_eq!(groups(&mut site, name), "");
    assert_eq!(site.modify(name, "replace: sn\nsn: z").code, 0);
    assert_eq!(groups(&mut site, name), "all");
}

#[test]
fn memberof_and_refint_go_along() {
    let mut site = site(&format!(
        "index member eq\noverlay memberof\noverlay refint\nrefint_attributes member\n{DEFINITION}"
    ));
    site.must_add("cn=p,ou=s,dc=ex", &person("sn: Aa"));
    let memberships = |site: &mut Site, name: &str| site.read(name, &["memberOf"]).expect("there");
    assert_eq!(memberships(&mut site, "cn=p,ou=s,dc=ex"), "memberOf: cn=a,dc=ex\n");
    assert_eq!(site.modify("cn=p,ou=s,dc=ex", "replace: sn\nsn: x").code, 0);
    assert_eq!(memberships(&mut site, "cn=p,ou=s,dc=ex"), "memberOf: cn=all,dc=ex\n");
    assert_eq!(site.rename("cn=p,ou=s,dc=ex", "cn=q", None).code, 0);
    assert_eq!(groups(&mut site, "cn=q,ou=s,dc=ex"), "all");
    assert_eq!(groups(&mut site, "cn=p,ou=s,dc=ex"), "");
    assert_eq!(memberships(&mut site, "cn=q,ou=s,dc=ex"), "memberOf: cn=all,dc=ex\n");
    assert_eq!(site.delete("cn=q,ou=s,dc=ex").code, 0);
    assert_eq!(groups(&mut site, "cn=q,ou=s,dc=ex"), "");
}

#[test]
fn the_value_may_be_an_attribute() {
    let mut site = site(
        "overlay automember\nautomember-scope dc=ex\nautomember-filter (objectClass=account)\n\
         automember-default-group cn=posix,dc=ex\nautomember-grouping-attr memberUid:uid",
    );
    site.must_add("cn=posix,dc=ex", "objectClass: posixGroup\ngidNumber: 1");
    site.must_add("uid=u,dc=ex", "objectClass: account\nuid: other");
    let found = site.read("cn=posix,dc=ex", &["memberUid"]).expect("there");
    assert_eq!(found, "memberUid: other\n");
}

#[test]
fn a_group_that_is_missing_is_passed_over_and_one_that_cannot_take_members_refuses() {
    let mut site = site(
        "overlay automember\nautomember-scope ou=s,dc=ex\nautomember-filter (objectClass=person)\n\
         automember-default-group cn=nowhere,dc=ex\nautomember-inclusive-regex ou=s,dc=ex sn=^Aa",
    );
    site.must_add("cn=p,ou=s,dc=ex", &person("sn: x"));
    let answer = site.add("cn=q,ou=s,dc=ex", &person("sn: Aa"));
    assert_eq!(
        answer.brief(),
        (53, "automember: a group cannot have the entry as a member")
    );
    assert_eq!(site.read("cn=q,ou=s,dc=ex", &["sn"]), None);
}

/// The group changes as if the client had changed it, whether it may or not.
#[test]
fn the_client_needs_no_rights_to_the_groups_and_they_count_as_changed() {
    let mut site = site(&format!(
        "{DEFINITION}\naccess to dn.subtree=ou=s,dc=ex by * write\naccess to * by * none"
    ));
    let stamps = |site: &mut Site| {
        site.read("cn=all,dc=ex", &["entryCSN", "modifiersName"])
            .expect("there")
    };
    let before = stamps(&mut site);
    site.become_("cn=someone,dc=ex");
    assert_eq!(site.add("cn=p,ou=s,dc=ex", &person("sn: x")).code, 0);
    site.become_("cn=root,dc=ex");
    let after = stamps(&mut site);
    assert_ne!(after, before);
    assert!(after.contains("modifiersName: cn=someone,dc=ex"), "{after}");
    assert_eq!(groups(&mut site, "cn=p,ou=s,dc=ex"), "all");
    // A refused request changes no group.
    site.become_("cn=someone,dc=ex");
    assert_eq!(site.add("cn=q,dc=ex", &person("sn: x")).code, 50);
    assert_eq!(site.add("cn=q,ou=s,dc=ex", "objectClass: person").code, 65);
    site.become_("cn=root,dc=ex");
    assert_eq!(stamps(&mut site), after);
}
