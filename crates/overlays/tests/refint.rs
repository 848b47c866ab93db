//! The refint overlay, in a directory: references after entries are deleted or renamed.

use ironbark_harness::Site;
use ironbark_ldap_proto::controls::{Control, TreeDelete};

const A: &str = "cn=a,ou=p,dc=ex";
const B: &str = "cn=b,ou=p,dc=ex";
const C: &str = "cn=c,ou=p,dc=ex";
const G: &str = "cn=g,dc=ex";

/// Every test runs with an index and without one.
const INDEXES: [&str; 2] = ["", "index member,seeAlso,uniqueMember eq"];

fn site(index: &str, settings: &str) -> Site {
    let lines = format!(
        "{index}\noverlay refint\nrefint_attributes member seeAlso\nrefint_attributes uniqueMember\n{settings}"
    );
    let mut site = Site::open_of(&ironbark_overlays::registry(), &lines, ironbark_overlays::make);
    site.populate();
    site.must_add(
        G,
        &format!("objectClass: groupOfNames\nmember: {A}\nmember: {B}\nseeAlso: {A}"),
    );
    site
}

fn values(site: &mut Site, dn: &str, name: &str) -> Vec<String> {
    let text = site.read(dn, &[name]).unwrap_or_default();
    text.lines()
        .filter_map(|line| line.split_once(": "))
        .map(|(_, value)| value.to_owned())
        .collect()
}

#[test]
fn a_deleted_name_is_taken_out() {
    for index in INDEXES {
        let mut site = site(index, "");
        let before = values(&mut site, G, "entryCSN");
        assert_eq!(site.delete(A).brief(), (0, ""));
        assert_eq!(values(&mut site, G, "member"), [B]);
        assert_eq!(values(&mut site, G, "seeAlso"), [""; 0]);
        assert_eq!(
            values(&mut site, G, "modifiersName"),
            ["cn=Referential Integrity Overlay"],
            "as slapd: who, and no other stamp"
        );
        assert_eq!(values(&mut site, G, "entryCSN"), before);
    }
}

#[test]
fn a_renamed_name_is_replaced() {
    for index in INDEXES {
        let mut site = site(index, "refint_modifiersname cn=refint");
        assert_eq!(site.rename(A, "cn=x", None).brief(), (0, ""));
        assert_eq!(values(&mut site, G, "member"), [B, "cn=x,ou=p,dc=ex"]);
        assert_eq!(values(&mut site, G, "seeAlso"), ["cn=x,ou=p,dc=ex"]);
        assert_eq!(values(&mut site, G, "modifiersName"), ["cn=refint"]);
        // A name in another spelling is replaced by the entry's present name.
        assert_eq!(site.rename("cn=x,ou=p,dc=ex", "cn=X", None).brief(), (0, ""));
        assert_eq!(values(&mut site, G, "member"), [B, "cn=X,ou=p,dc=ex"]);
    }
}

#[test]
fn a_renamed_subtree_takes_its_names_along() {
    for index in INDEXES {
        let mut site = site(index, "");
        assert_eq!(site.modify(G, "add: seeAlso\nm: ou=p,dc=ex\nm: dc=ex").brief(), (0, ""));
        assert_eq!(
            site.modify(B, &format!("add: seeAlso\nm: {C}\nm: cn=gone,ou=p,dc=ex"))
                .brief(),
            (0, "")
        );
        assert_eq!(site.rename("ou=p,dc=ex", "ou=q", None).brief(), (0, ""));
        assert_eq!(values(&mut site, G, "member"), ["cn=a,ou=q,dc=ex", "cn=b,ou=q,dc=ex"]);
        let mut see_also = values(&mut site, G, "seeAlso");
        see_also.sort_unstable();
        assert_eq!(see_also, ["cn=a,ou=q,dc=ex", "dc=ex", "ou=q,dc=ex"]);
        assert_eq!(
            values(&mut site, "cn=b,ou=q,dc=ex", "seeAlso"),
            ["cn=c,ou=q,dc=ex", "cn=gone,ou=q,dc=ex"],
            "also within the subtree, and names below it that no entry has, as slapd"
        );
    }
}

#[test]
fn a_deleted_subtree_takes_its_names_out() {
    for index in INDEXES {
        let mut site = site(index, "refint_nothing cn=nobody");
        site.must_add("cn=h,ou=p,dc=ex", &format!("objectClass: groupOfNames\nmember: {A}"));
        assert_eq!(site.modify(G, "add: seeAlso\nm: ou=p,dc=ex").brief(), (0, ""));
        let tree = Control::critical(TreeDelete);
        assert_eq!(site.delete_with("ou=p,dc=ex", &[&tree]).brief(), (0, ""));
        assert_eq!(values(&mut site, G, "member"), ["cn=nobody"]);
        assert_eq!(values(&mut site, G, "seeAlso"), ["cn=nobody"]);
    }
}

#[test]
fn the_last_value_makes_room_for_nothing() {
    for index in INDEXES {
        let mut site = site(index, "refint_nothing cn=nobody");
        assert_eq!(site.delete(A).brief(), (0, ""));
        assert_eq!(values(&mut site, G, "member"), [B]);
        assert_eq!(
            values(&mut site, G, "seeAlso"),
            ["cn=nobody"],
            "of attributes that may be absent too, as slapd"
        );
        assert_eq!(site.delete(B).brief(), (0, ""));
        assert_eq!(values(&mut site, G, "member"), ["cn=nobody"]);
    }
}

#[test]
fn an_entry_that_would_lose_what_it_must_have_is_left_whole() {
    for index in INDEXES {
        let mut site = site(index, "");
        assert_eq!(site.modify(G, &format!("delete: member\nm: {B}")).brief(), (0, ""));
        let before = site.stored(G);
        assert_eq!(site.delete(A).brief(), (0, ""));
        assert_eq!(
            site.stored(G),
            before,
            "seeAlso too, as slapd: one change of the entry, which fails"
        );
        assert_eq!(site.read(A, &[]), None);
    }
}

#[test]
fn a_refused_operation_changes_no_reference() {
    for index in INDEXES {
        let mut site = site(index, "");
        assert_eq!(site.rename(A, "cn=b", None).code, 68);
        assert_eq!(site.delete("ou=p,dc=ex").code, 66);
        assert_eq!(values(&mut site, G, "member"), [A, B]);
    }
}

#[test]
fn both_names_of_a_rename_may_be_there() {
    for index in INDEXES {
        let mut site = site(index, "");
        assert_eq!(site.modify(G, "add: member\nm: cn=x,ou=p,dc=ex").brief(), (0, ""));
        assert_eq!(site.rename(A, "cn=x", None).brief(), (0, ""));
        assert_eq!(values(&mut site, G, "member"), [B, "cn=x,ou=p,dc=ex"]);
    }
}

#[test]
fn names_with_an_identifier_are_other_names() {
    for index in INDEXES {
        let mut site = site(index, "");
        let with_identifier = format!("{A}#'0101'B");
        site.must_add(
            "cn=u,dc=ex",
            &format!("objectClass: groupOfUniqueNames\nuniqueMember: {with_identifier}\nuniqueMember: {A}"),
        );
        assert_eq!(site.delete(A).brief(), (0, ""));
        assert_eq!(
            values(&mut site, "cn=u,dc=ex", "uniqueMember"),
            [with_identifier.as_str()]
        );
    }
}

#[test]
fn big_groups_and_many_groups_are_followed() {
    let mut site = site("index member,seeAlso,uniqueMember eq", "");
    let members = (0..2_000)
        .map(|n| format!("\nm: cn={n},ou=p,dc=ex"))
        .collect::<Vec<_>>()
        .concat();
    assert_eq!(site.modify(G, &format!("add: member{members}")).brief(), (0, ""));
    for n in 0..200 {
        site.must_add(
            &format!("cn=g{n},dc=ex"),
            &format!("objectClass: groupOfNames\nmember: {A}\nmember: {B}"),
        );
    }
    assert_eq!(site.rename(A, "cn=x", None).brief(), (0, ""));
    assert_eq!(site.delete(B).brief(), (0, ""));
    let left = values(&mut site, G, "member");
    assert_eq!(left.len(), 2_001);
    assert!(left.contains(&"cn=x,ou=p,dc=ex".to_owned()) && left.contains(&"cn=1999,ou=p,dc=ex".to_owned()));
    for n in 0..200 {
        assert_eq!(
            values(&mut site, &format!("cn=g{n},dc=ex"), "member"),
            ["cn=x,ou=p,dc=ex"]
        );
    }
    assert_eq!(site.rename("ou=p,dc=ex", "ou=q", None).brief(), (0, ""));
    let moved = values(&mut site, G, "member");
    assert_eq!(moved.len(), 2_001);
    assert!(moved.iter().all(|name| name.ends_with(",ou=q,dc=ex")));
}

#[test]
fn memberof_and_refint_agree_on_one_database() {
    let lines = "index member,memberOf eq\noverlay memberof\nmemberof-refint TRUE\noverlay refint\n\
                 refint_attributes member memberOf";
    let mut site = Site::open_of(&ironbark_overlays::registry(), lines, ironbark_overlays::make);
    site.populate();
    site.must_add("ou=g,dc=ex", "objectClass: organizationalUnit");
    site.must_add(
        "cn=g,ou=g,dc=ex",
        &format!("objectClass: groupOfNames\nmember: {A}\nmember: {B}"),
    );
    assert_eq!(values(&mut site, A, "memberOf"), ["cn=g,ou=g,dc=ex"]);
    assert_eq!(site.rename("ou=p,dc=ex", "ou=q", None).brief(), (0, ""));
    assert_eq!(
        values(&mut site, "cn=g,ou=g,dc=ex", "member"),
        ["cn=a,ou=q,dc=ex", "cn=b,ou=q,dc=ex"]
    );
    assert_eq!(site.rename("ou=g,dc=ex", "ou=h", None).brief(), (0, ""));
    assert_eq!(values(&mut site, "cn=a,ou=q,dc=ex", "memberOf"), ["cn=g,ou=h,dc=ex"]);
    assert_eq!(site.rename("cn=a,ou=q,dc=ex", "cn=x", None).brief(), (0, ""));
    assert_eq!(
        values(&mut site, "cn=g,ou=h,dc=ex", "member"),
        ["cn=b,ou=q,dc=ex", "cn=x,ou=q,dc=ex"]
    );
    assert_eq!(site.rename("cn=g,ou=h,dc=ex", "cn=i", None).brief(), (0, ""));
    assert_eq!(values(&mut site, "cn=x,ou=q,dc=ex", "memberOf"), ["cn=i,ou=h,dc=ex"]);
    assert_eq!(site.delete("cn=x,ou=q,dc=ex").brief(), (0, ""));
    assert_eq!(values(&mut site, "cn=i,ou=h,dc=ex", "member"), ["cn=b,ou=q,dc=ex"]);
    assert_eq!(site.delete("cn=i,ou=h,dc=ex").brief(), (0, ""));
    assert_eq!(values(&mut site, "cn=b,ou=q,dc=ex", "memberOf"), [""; 0]);
}

#[test]
fn a_pass_over_all_entries_has_a_limit_and_is_seen_by_those_who_look_for_missing_indexes() {
    let mut with_index = site(INDEXES[1], "refint_maxread 1");
    assert_eq!(with_index.delete(A).brief(), (0, ""));
    let mut site = site("", "refint_maxread 1");
    let before = values(&mut site, G, "member");
    for refused in [site.delete(A), site.rename(A, "cn=x", None)] {
        assert_eq!(refused.code, 11, "{refused:?}");
    }
    assert_eq!(values(&mut site, G, "member"), before);
    let report = site.directory.statistics().filters();
    let is_its = |shape: &&ironbark_directory::FilterShape| shape.terms.iter().any(|term| &*term.attribute == "member");
    let shape = report.shapes.iter().find(is_its).expect("a pass that is counted");
    assert!(
        !shape.indexed && shape.cost.searches == 2 && shape.cost.candidates > 2,
        "{shape:?}"
    );
    // Without a limit it is done.
    let mut unlimited = self::site("", "");
    assert_eq!(unlimited.delete(A).brief(), (0, ""));
}
