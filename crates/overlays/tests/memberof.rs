//! The memberof overlay, in a directory: each operation on groups and members.

use ironbark_harness::Site;
use ironbark_ldap_proto::controls::{Control, RelaxRules, TreeDelete};

const A: &str = "cn=a,ou=p,dc=ex";
const B: &str = "cn=b,ou=p,dc=ex";
const G: &str = "cn=g,dc=ex";

fn site(settings: &str) -> Site {
    let mut site = Site::open_of(
        &ironbark_overlays::registry(),
        &format!("overlay memberof\n{settings}"),
        ironbark_overlays::make,
    );
    site.populate();
    site.must_add(G, &format!("objectClass: groupOfNames\nmember: {A}"));
    site
}

fn groups(site: &mut Site, dn: &str) -> Vec<String> {
    values(site, dn, "memberOf")
}

fn values(site: &mut Site, dn: &str, name: &str) -> Vec<String> {
    let text = site.read(dn, &[name]).unwrap_or_default();
    text.lines()
        .filter_map(|line| line.split_once(": "))
        .map(|(_, value)| value.to_owned())
        .collect()
}

#[test]
fn a_new_group_is_named_by_its_members() {
    let mut site = site("");
    assert_eq!(groups(&mut site, A), [G]);
    assert_eq!(groups(&mut site, B), [""; 0]);
    let stored = site.stored(A).expect("there");
    assert!(
        stored.ends_with("modifyTimestamp: 20260102030405Z\nmemberOf: cn=g,dc=ex\nmodifiersName: cn=root,dc=ex\n"),
        "as slapd: memberOf and modifiersName are written, the timestamps stay: {stored}"
    );
}

#[test]
fn of_several_replacements_in_a_request_the_last_one_counts() {
    let mut site = site("");
    let c = "cn=c,ou=p,dc=ex";
    let text = format!(
        "add: member\nm: {c}\n-\nreplace: member\nm: {B}\n-\nreplace: member\nm: {A}\nm: {c}\n-\ndelete: member\nm: {A}\n-\nadd: member\nm: {B}"
    );
    assert_eq!(site.modify(G, &text).code, 0);
    assert_eq!([A, B, c].map(|dn| groups(&mut site, dn).len()), [0, 1, 1]);
}

#[test]
fn members_that_come_and_go_are_followed() {
    let mut site = site("");
    assert_eq!(site.modify(G, &format!("add: member\nm: {B}")).code, 0);
    assert_eq!(groups(&mut site, B), [G]);
    assert_eq!(site.modify(G, &format!("delete: member\nm: {A}")).code, 0);
    assert_eq!(groups(&mut site, A), [""; 0]);
    assert_eq!(
        site.modify(G, &format!("replace: member\nm: {A}\nm: cn=c,ou=p,dc=ex"))
            .code,
        0
    );
    assert_eq!(groups(&mut site, A), [G]);
    assert_eq!(groups(&mut site, B), [""; 0]);
    assert_eq!(groups(&mut site, "cn=c,ou=p,dc=ex"), [G]);
    let text = format!("delete: member\n-\nadd: member\nm: {B}\nm: {A}");
    assert_eq!(site.modify(G, &text).code, 0);
    assert_eq!(groups(&mut site, A), [G]);
    assert_eq!(groups(&mut site, "cn=c,ou=p,dc=ex"), [""; 0]);
}

#[test]
fn a_refused_change_of_a_group_changes_no_member() {
    let mut site = site("");
    assert_eq!(
        site.modify(G, &format!("add: member\nm: {B}\n-\nadd: mail\nm: x")).code,
        65
    );
    assert_eq!(groups(&mut site, B), [""; 0]);
}

#[test]
fn a_group_that_is_renamed_or_deleted_is_followed() {
    let mut site = site("");
    assert_eq!(site.rename(G, "cn=h", Some("ou=p,dc=ex")).code, 0);
    assert_eq!(groups(&mut site, A), ["cn=h,ou=p,dc=ex"]);
    assert_eq!(site.delete("cn=h,ou=p,dc=ex").code, 0);
    assert_eq!(groups(&mut site, A), [""; 0]);
}

#[test]
fn without_referential_integrity_a_group_keeps_what_is_stale() {
    let mut site = site("");
    assert_eq!(site.rename(A, "cn=x", None).code, 0);
    assert_eq!(values(&mut site, G, "member"), [A]);
    assert_eq!(site.delete("cn=x,ou=p,dc=ex").code, 0);
    assert_eq!(values(&mut site, G, "member"), [A]);
}

#[test]
fn with_referential_integrity_groups_follow_their_members() {
    let mut site = site("memberof-refint TRUE");
    assert_eq!(site.modify(G, &format!("add: member\nm: {B}")).code, 0);
    assert_eq!(site.rename(A, "cn=x", None).code, 0);
    assert_eq!(values(&mut site, G, "member"), [B, "cn=x,ou=p,dc=ex"]);
    assert_eq!(site.delete("cn=x,ou=p,dc=ex").code, 0);
    assert_eq!(values(&mut site, G, "member"), [B]);
    // A group must have a member: the last one stays, as in slapd.
    assert_eq!(site.delete(B).code, 0);
    assert_eq!(values(&mut site, G, "member"), [B]);
}

#[test]
fn tree_delete_unlinks_every_entry() {
    let mut site = site("memberof-refint TRUE");
    assert_eq!(site.modify(G, "add: member\nm: dc=ex").code, 0);
    let tree = Control::critical(TreeDelete);
    assert_eq!(site.delete_with("ou=p,dc=ex", &[&tree]).brief(), (0, ""));
    assert_eq!(values(&mut site, G, "member"), ["dc=ex"]);
}

#[test]
fn members_that_do_not_exist_are_kept_dropped_or_refused() {
    let nobody = "cn=nobody,dc=ex";
    let mut ignoring = site("");
    assert_eq!(ignoring.modify(G, &format!("add: member\nm: {nobody}")).code, 0);
    assert_eq!(values(&mut ignoring, G, "member"), [A, nobody]);
    let mut dropping = site("memberof-dangling drop");
    assert_eq!(dropping.modify(G, &format!("add: member\nm: {nobody}\nm: {B}")).code, 0);
    assert_eq!(values(&mut dropping, G, "member"), [A, B]);
    let answer = dropping.add("cn=h,dc=ex", &format!("objectClass: groupOfNames\nmember: {nobody}"));
    assert_eq!(
        answer.brief(),
        (65, "object class 'groupOfNames' requires attribute 'member'")
    );
    assert_eq!(
        dropping
            .add(
                "cn=h,dc=ex",
                &format!("objectClass: groupOfNames\nmember: {nobody}\nmember: {B}")
            )
            .code,
        0
    );
    assert_eq!(values(&mut dropping, "cn=h,dc=ex", "member"), [B]);
    let mut refusing = site("memberof-dangling error\nmemberof-dangling-error 32");
    let refused = (32, "adding non-existing object as group member");
    assert_eq!(
        refusing.modify(G, &format!("add: member\nm: {nobody}")).brief(),
        refused
    );
    let group = format!("objectClass: groupOfNames\nmember: {nobody}");
    assert_eq!(refusing.add("cn=h,dc=ex", &group).brief(), refused);
    let relax = Control::critical(RelaxRules);
    assert_eq!(refusing.add_with("cn=h,dc=ex", &group, &[&relax]).code, 0);
}

#[test]
fn a_client_without_the_rights_learns_nothing_of_hidden_members() {
    let rules = "access to dn.subtree=ou=h,dc=ex by * none\naccess to * by * read";
    let mut site = site(&format!("memberof-dangling error\nmemberof-dangling-error 53\n{rules}"));
    site.must_add("ou=h,dc=ex", "objectClass: organizationalUnit");
    site.must_add("cn=spy,ou=h,dc=ex", "objectClass: person\nsn: s");
    site.become_("cn=w,dc=ex");
    for member in ["cn=spy,ou=h,dc=ex", "cn=nobody,ou=h,dc=ex"] {
        assert_eq!(site.modify(G, &format!("add: member\nm: {member}")).brief(), (50, ""));
        let group = format!("objectClass: groupOfNames\nmember: {member}");
        assert_eq!(
            site.add("cn=h,dc=ex", &group).brief(),
            (50, "no write access to parent")
        );
    }
}

#[test]
fn a_group_may_be_its_own_member() {
    let mut site = site("memberof-dangling error");
    assert_eq!(
        site.add("cn=h,dc=ex", "objectClass: groupOfNames\nmember: cn=h,dc=ex")
            .brief(),
        (0, "")
    );
    assert_eq!(groups(&mut site, "cn=h,dc=ex"), [""; 0]);
    assert_eq!(site.delete("cn=h,dc=ex").brief(), (0, ""));
}

#[test]
fn a_group_that_is_its_own_member_is_renamed_in_its_memberof() {
    for settings in [
        "",
        "memberof-refint TRUE",
        "overlay refint\nrefint_attributes member",
        "memberof-refint TRUE\noverlay refint\nrefint_attributes member",
    ] {
        let mut site = site(settings);
        assert_eq!(site.modify(G, &format!("add: member\nm: {G}")).code, 0);
        assert_eq!(groups(&mut site, G), [G]);
        assert_eq!(site.rename(G, "cn=h", Some("ou=p,dc=ex")).code, 0);
        let renamed = "cn=h,ou=p,dc=ex";
        assert_eq!(groups(&mut site, renamed), [renamed], "{settings}");
        assert_eq!(groups(&mut site, A), [renamed]);
        let own = if settings.is_empty() { G } else { renamed };
        assert_eq!(values(&mut site, renamed, "member"), [A, own], "{settings}");
    }
}

#[test]
fn members_below_a_renamed_group_are_followed() {
    let mut site = site("memberof-refint TRUE");
    let (below, moved) = ("cn=x,cn=g,dc=ex", "cn=x,cn=h,dc=ex");
    site.must_add(below, "objectClass: person\nsn: s");
    assert_eq!(site.modify(G, &format!("add: member\nm: {below}")).code, 0);
    assert_eq!(site.rename(G, "cn=h", None).code, 0);
    assert_eq!(groups(&mut site, moved), ["cn=h,dc=ex"]);
}

#[test]
fn replacing_members_by_themselves_fills_memberof() {
    let mut site = site("");
    let (first, second) = ("cn=x,ou=p,dc=ex", "cn=y,ou=p,dc=ex");
    let same = format!("replace: member\nm: {first}\nm: {A}\nm: {second}\nm: cn=nobody,dc=ex");
    assert_eq!(site.modify(G, &same).code, 0);
    // The members are added after the group names them, as in data that was loaded without memberOf.
    for member in [first, second] {
        site.must_add(member, "objectClass: person\nsn: s");
    }
    assert_eq!(site.modify(G, &format!("add: member\nm: {B}")).code, 0);
    assert_eq!(groups(&mut site, first), [""; 0], "what is not named is left");
    assert_eq!(
        site.modify(G, &format!("{same}\n-\ndelete: member\nm: {first}")).code,
        0
    );
    assert_eq!(groups(&mut site, first), [""; 0]);
    for member in [A, second] {
        assert_eq!(groups(&mut site, member), [G]);
    }
    assert_eq!(site.modify(G, &same).code, 0);
    assert_eq!(groups(&mut site, first), [G]);
}

#[test]
fn a_name_that_refint_puts_in_is_followed() {
    for integrity in ["FALSE", "TRUE"] {
        let settings = format!(
            "memberof-refint {integrity}\noverlay refint\nrefint_attributes member\nrefint_nothing cn=nothing,dc=ex"
        );
        let mut site = site(&settings);
        site.must_add("cn=nothing,dc=ex", "objectClass: person\nsn: s");
        assert_eq!(site.delete(A).code, 0);
        assert_eq!(values(&mut site, G, "member"), ["cn=nothing,dc=ex"]);
        assert_eq!(groups(&mut site, "cn=nothing,dc=ex"), [G]);
    }
}

#[test]
fn class_attributes_and_modifier_are_configured() {
    let settings =
        "memberof-group-oc groupOfUniqueNames\nmemberof-member-ad uniqueMember\nmemberof-dn cn=memberof,dc=ex";
    let mut site = site(settings);
    assert_eq!(groups(&mut site, A), [""; 0]);
    site.must_add(
        "cn=u,dc=ex",
        &format!("objectClass: groupOfUniqueNames\nuniqueMember: {A}"),
    );
    assert_eq!(groups(&mut site, A), ["cn=u,dc=ex"]);
    assert_eq!(values(&mut site, A, "modifiersName"), ["cn=memberof,dc=ex"]);
}

#[test]
fn a_new_entry_finds_the_groups_that_name_it() {
    let mut site = site("memberof-addcheck TRUE");
    assert_eq!(site.modify(G, "add: member\nm: cn=late,ou=p,dc=ex").code, 0);
    site.must_add("cn=late,ou=p,dc=ex", "objectClass: person\nsn: s");
    assert_eq!(groups(&mut site, "cn=late,ou=p,dc=ex"), [G]);
}

#[test]
fn the_search_for_groups_of_a_new_entry_without_an_index_has_a_limit() {
    let mut site = site("memberof-addcheck TRUE\nmemberof-maxread 1");
    let refused = site.add("cn=late,ou=p,dc=ex", "objectClass: person\nsn: s");
    assert_eq!(refused.code, 11, "{refused:?}");
}
