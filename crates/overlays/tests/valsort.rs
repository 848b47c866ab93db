//! slapo-valsort(5).
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test that cannot go on fails")]

use ironbark_harness::Site;
use ironbark_ldap_proto::{
    Scope,
    controls::{Control, ValueSort},
};

fn site(lines: &str) -> Site {
    let lines = format!("overlay valsort\n{lines}");
    let mut site = Site::open_of(&ironbark_overlays::registry(), &lines, ironbark_overlays::make);
    site.populate();
    site
}

/// The values of an attribute in the order in which a search sends them.
fn values(site: &mut Site, dn: &str, name: &str) -> Vec<String> {
    let text = site.read(dn, &[name]).expect("an entry");
    let prefix = format!("{name}: ");
    text.lines()
        .filter_map(|line| line.strip_prefix(&prefix))
        .map(str::to_owned)
        .collect()
}

#[test]
fn values_come_in_the_order_of_the_rule_of_their_subtree() {
    let mut site = site(
        "valsort-attr sn dc=ex alpha-ascend\n\
         valsort-attr description ou=p,dc=ex alpha-descend\n\
         valsort-attr cn ou=elsewhere,dc=ex alpha-ascend",
    );
    let entry =
        "objectClass: person\ncn: z\ncn: y\nsn: b\nsn: C\nsn: a\ndescription: 1\ndescription: 3\ndescription: 2";
    site.must_add("cn=x,ou=p,dc=ex", entry);
    assert_eq!(values(&mut site, "cn=x,ou=p,dc=ex", "sn"), ["a", "b", "C"]);
    assert_eq!(values(&mut site, "cn=x,ou=p,dc=ex", "description"), ["3", "2", "1"]);
    assert_eq!(values(&mut site, "cn=x,ou=p,dc=ex", "cn"), ["z", "y", "x"]);
    site.must_add("cn=x,dc=ex", entry);
    assert_eq!(values(&mut site, "cn=x,dc=ex", "description"), ["1", "3", "2"]);
}

#[test]
fn weights_order_values_and_are_taken_away() {
    let mut site = site("valsort-attr description dc=ex weighted alpha-ascend");
    let entry =
        "objectClass: person\nsn: s\ndescription: {2}b\ndescription: {10}x\ndescription: {2}a\ndescription: {-1}z";
    site.must_add("cn=x,dc=ex", entry);
    assert_eq!(values(&mut site, "cn=x,dc=ex", "description"), ["z", "a", "b", "x"]);
    let filter = "(description={10}x)";
    assert_eq!(
        site.search("dc=ex", Scope::WholeSubtree, filter, &["cn"]).len(),
        1,
        "a filter sees what is stored"
    );
    for (value, text) in [
        ("none", "weight missing from attribute"),
        ("{x}none", "weight is misformatted"),
    ] {
        let change = format!("add: description\ndescription: {value}");
        assert_eq!(site.modify("cn=x,dc=ex", &change).brief(), (19, text));
        let entry = format!("objectClass: person\nsn: s\ndescription: {value}");
        assert_eq!(site.add("cn=y,dc=ex", &entry).brief(), (19, text));
    }
    assert_eq!(
        site.modify("cn=x,dc=ex", "delete: description\ndescription: {2}b").code,
        0
    );
}

#[test]
fn a_search_may_ask_for_values_as_they_are_stored() {
    let mut site = site("valsort-attr description dc=ex weighted");
    let entry = "objectClass: person\nsn: s\ndescription: {2}b\ndescription: {1}a";
    site.must_add("cn=x,dc=ex", entry);
    for (raw, expected) in [
        (true, "description: {2}b\ndescription: {1}a\n"),
        (false, "description: a\ndescription: b\n"),
    ] {
        let control = Control::critical(ValueSort { raw });
        let found = site.search_with(
            "cn=x,dc=ex",
            Scope::BaseObject,
            "(objectClass=*)",
            &["description"],
            &[&control],
        );
        assert_eq!(found.entries, [format!("dn: cn=x,dc=ex\n{expected}")]);
    }
}

#[test]
fn the_rules_judge_the_values_that_are_sent() {
    let rules = "access to attrs=description val.exact=a by * none\naccess to * by * read";
    let mut site = site(&format!("valsort-attr description dc=ex weighted\n{rules}"));
    site.must_add(
        "cn=x,dc=ex",
        "objectClass: person\nsn: s\ndescription: {2}b\ndescription: {1}a",
    );
    site.become_("cn=a,ou=p,dc=ex");
    let found = site.search_as_self("cn=x,dc=ex", Scope::BaseObject, "(objectClass=*)", &["description"]);
    assert_eq!(found.entries, ["dn: cn=x,dc=ex\ndescription: b\n"]);
}
