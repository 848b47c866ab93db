//! slapo-nestgroup(5), and memberOf that is computed.
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test that cannot go on fails")]

use ironbark_harness::Site;
use ironbark_ldap_proto::Scope;

const PEOPLE: [&str; 4] = ["a", "b", "c", "d"];

/// `inner` has a and b; `outer` has c and `inner`; `top` has `outer`; `stray`, outside of the base, has d and `inner`.
fn site(lines: &str) -> Site {
    let lines = format!("index objectClass,member,memberOf eq\n{lines}");
    let mut site = Site::open_of(&ironbark_overlays::registry(), &lines, ironbark_overlays::make);
    site.populate();
    site.must_add("ou=g,dc=ex", "objectClass: organizationalUnit");
    for name in PEOPLE {
        site.must_add(
            &format!("uid={name},ou=p,dc=ex"),
            "objectClass: inetOrgPerson\ncn: c\nsn: s",
        );
    }
    for (group, members) in [
        ("cn=inner,ou=g,dc=ex", &["uid=a,ou=p,dc=ex", "uid=b,ou=p,dc=ex"][..]),
        ("cn=outer,ou=g,dc=ex", &["uid=c,ou=p,dc=ex", "cn=inner,ou=g,dc=ex"]),
        ("cn=top,ou=g,dc=ex", &["cn=outer,ou=g,dc=ex", "cn=top,ou=g,dc=ex"]),
        ("cn=stray,dc=ex", &["uid=d,ou=p,dc=ex", "cn=inner,ou=g,dc=ex"]),
    ] {
        let members = members.join("\nmember: ");
        site.must_add(group, &format!("objectClass: groupOfNames\nmember: {members}"));
    }
    site
}

const NESTED: &str = "overlay nestgroup\nnestgroup-base ou=g,dc=ex\nnestgroup-flags";
const COMPUTED: &str = "overlay memberof\nmemberof-computed TRUE\n";

/// Entries as the rootdn finds them.
fn plain(site: &mut Site, base: &str, scope: Scope, filter: &str, names: &[&str]) -> Vec<String> {
    site.become_("cn=root,dc=ex");
    site.search_with(base, scope, filter, names, &[]).entries
}

fn read(site: &mut Site, dn: &str, names: &[&str]) -> String {
    plain(site, dn, Scope::BaseObject, "(objectClass=*)", names).concat()
}

/// The first RDN values of what a filter finds.
fn found(site: &mut Site, filter: &str) -> Vec<String> {
    let entries = plain(site, "dc=ex", Scope::WholeSubtree, filter, &["1.1"]);
    let leaf = |entry: &String| {
        let name = entry.lines().next().unwrap_or_default();
        let rdn = name.split(',').next().unwrap_or_default();
        rdn.rsplit('=').next().unwrap_or_default().to_owned()
    };
    entries.iter().map(leaf).collect()
}

fn values(site: &mut Site, dn: &str, name: &str) -> Vec<String> {
    let text = read(site, dn, &[name]);
    let prefix = format!("{name}: ");
    text.lines()
        .filter_map(|line| line.strip_prefix(&prefix))
        .map(|value| value.split(',').next().unwrap_or_default().to_owned())
        .collect()
}

#[test]
fn without_flags_nothing_is_nested() {
    let mut site = site("overlay nestgroup\nnestgroup-base ou=g,dc=ex");
    assert_eq!(found(&mut site, "(member=uid=a,ou=p,dc=ex)"), ["inner"]);
    assert_eq!(values(&mut site, "cn=top,ou=g,dc=ex", "member"), ["cn=outer", "cn=top"]);
}

#[test]
fn a_filter_finds_groups_by_the_members_of_their_groups() {
    let mut site = site(&format!("{NESTED} member-filter"));
    assert_eq!(
        found(&mut site, "(member=UID=A,ou=p,dc=ex)"),
        ["inner", "outer", "top", "stray"]
    );
    assert_eq!(
        found(&mut site, "(member=uid=d,ou=p,dc=ex)"),
        ["stray"],
        "no group of a base"
    );
    assert_eq!(
        found(&mut site, "(&(member=uid=a,ou=p,dc=ex)(!(member=uid=c,ou=p,dc=ex)))"),
        ["inner", "stray"]
    );
    assert_eq!(
        found(&mut site, "(|(member=uid=d,ou=p,dc=ex)(member=uid=c,ou=p,dc=ex))"),
        ["outer", "top", "stray"]
    );
    assert_eq!(found(&mut site, "(member=*)"), ["inner", "outer", "top", "stray"]);
    let below = "(&(member:dnSubtreeMatch:=ou=p,dc=ex)(cn=top))";
    assert_eq!(found(&mut site, below), ["top"], "other rules see nested members too");
    assert_eq!(
        values(&mut site, "cn=top,ou=g,dc=ex", "member"),
        ["cn=outer", "cn=top"],
        "that is another flag"
    );
}

#[test]
fn groups_show_the_members_of_their_groups_once() {
    let mut site = site(&format!("{NESTED} member-values"));
    assert_eq!(
        values(&mut site, "cn=top,ou=g,dc=ex", "member"),
        ["cn=outer", "cn=top", "uid=c", "cn=inner", "uid=a", "uid=b"]
    );
    assert_eq!(values(&mut site, "cn=inner,ou=g,dc=ex", "member"), ["uid=a", "uid=b"]);
    let all = read(&mut site, "cn=outer,ou=g,dc=ex", &[]);
    assert!(
        all.contains("member: uid=b,ou=p,dc=ex"),
        "also among all attributes: {all}"
    );
    assert_eq!(
        found(&mut site, "(member=uid=a,ou=p,dc=ex)"),
        ["inner"],
        "that is another flag"
    );
    let raw = site.read("cn=top,ou=g,dc=ex", &["member"]).expect("there");
    assert!(!raw.contains("uid=a"), "under manageDSAit: {raw}");
}

#[test]
fn entries_show_the_groups_of_their_groups() {
    let mut site = site(&format!("{COMPUTED}{NESTED} memberof-values memberof-filter"));
    assert_eq!(
        values(&mut site, "uid=a,ou=p,dc=ex", "memberOf"),
        ["cn=inner", "cn=top", "cn=outer"],
        "what is nested stands behind, by the length of its name"
    );
    assert_eq!(values(&mut site, "uid=d,ou=p,dc=ex", "memberOf"), ["cn=stray"]);
    assert_eq!(
        found(&mut site, "(memberOf=cn=top,ou=g,dc=ex)"),
        ["a", "b", "c", "inner", "outer", "top"]
    );
    assert_eq!(found(&mut site, "(memberOf=cn=inner,ou=g,dc=ex)"), ["a", "b"]);
}

#[test]
fn computed_membership_is_that_of_the_groups_at_any_time() {
    let mut site = site(COMPUTED);
    assert_eq!(values(&mut site, "uid=a,ou=p,dc=ex", "memberOf"), ["cn=inner"]);
    assert_eq!(
        values(&mut site, "cn=inner,ou=g,dc=ex", "memberOf"),
        ["cn=outer", "cn=stray"]
    );
    assert_eq!(found(&mut site, "(memberOf=cn=inner,ou=g,dc=ex)"), ["a", "b"]);
    assert_eq!(found(&mut site, "(memberOf=cn=nobody,dc=ex)"), [""; 0]);
    let below = "(memberOf:dnSubtreeMatch:=ou=g,dc=ex)";
    assert_eq!(found(&mut site, below), ["a", "b", "c", "inner", "outer", "top"]);
    assert_eq!(found(&mut site, "(&(uid=*)(!(memberOf=*)))"), [""; 0]);
    assert_eq!(
        found(&mut site, "(memberOf:1.2.840.113556.1.4.1941:=cn=top,ou=g,dc=ex)"),
        ["a", "b", "c", "inner", "outer", "top"]
    );
    let before = read(&mut site, "uid=a,ou=p,dc=ex", &["entryCSN", "modifiersName"]);
    assert_eq!(
        site.modify("cn=inner,ou=g,dc=ex", "delete: member\nm: uid=a,ou=p,dc=ex")
            .code,
        0
    );
    assert_eq!(values(&mut site, "uid=a,ou=p,dc=ex", "memberOf"), [""; 0]);
    let after = read(&mut site, "uid=a,ou=p,dc=ex", &["entryCSN", "modifiersName"]);
    assert_eq!(before, after, "nothing is written");
    assert_eq!(found(&mut site, "(&(uid=*)(!(memberOf=*)))"), ["a"]);
    assert_eq!(site.rename("cn=outer,ou=g,dc=ex", "cn=other", None).code, 0);
    assert_eq!(values(&mut site, "uid=c,ou=p,dc=ex", "memberOf"), ["cn=other"]);
}
