//! slapo-constraint(5).
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

use ironbark_harness::Site;
use ironbark_ldap_proto::controls::{Control, RelaxRules};

fn site(lines: &str) -> Site {
    let lines = format!("overlay constraint\n{lines}");
    let mut site = Site::open_of(&ironbark_overlays::registry(), &lines, ironbark_overlays::make);
    site.populate();
    site
}

const PERSON: &str = "objectClass: person\nsn: s";

#[test]
fn values_are_counted_in_the_entry_as_it_will_be() {
    let mut site = site("constraint_attribute description,telephoneNumber count 2");
    let three = format!("{PERSON}\ndescription: 1\ndescription: 2\ndescription: 3");
    let refused = (19, "add breaks constraint on description");
    assert_eq!(site.add("cn=d,ou=p,dc=ex", &three).brief(), refused);
    let two = "add: description\ndescription: 1\ndescription: 2";
    assert_eq!(site.modify("cn=a,ou=p,dc=ex", two).code, 0);
    let refused = (19, "modify breaks constraint on description");
    let one_more = "add: description\ndescription: 3";
    assert_eq!(site.modify("cn=a,ou=p,dc=ex", one_more).brief(), refused);
    let exchange = "delete: description\ndescription: 1\n-\nadd: description\ndescription: 3";
    assert_eq!(site.modify("cn=a,ou=p,dc=ex", exchange).code, 0);
    // slapd counts the second attribute of a list without the changes of the request.
    let numbers = "add: telephoneNumber\ntelephoneNumber: 1\ntelephoneNumber: 2\ntelephoneNumber: 3";
    assert_eq!(site.modify("cn=a,ou=p,dc=ex", numbers).code, 19);
    let renamed = site.rename("cn=a,ou=p,dc=ex", "description=4", None);
    assert_eq!(renamed.brief(), refused, "before the schema is asked");
    let renamed = site.rename("cn=a,ou=p,dc=ex", "cn=a+description=4", None);
    assert_eq!(renamed.brief(), refused);
}

#[test]
fn each_new_value_is_held_against_size_and_expressions() {
    let mut site = site(
        "constraint_attribute description size 3\n\
         constraint_attribute sn regex ^[a-z]+$\n\
         constraint_attribute sn negregex ^evil",
    );
    for (change, code) in [
        ("replace: description\ndescription: abc", 0),
        ("replace: description\ndescription: abcd", 19),
        ("replace: sn\nsn: good", 0),
        ("replace: sn\nsn: Good", 19),
        ("replace: sn\nsn: evilone", 19),
        ("add: sn\nsn: also\nsn: 1", 19),
        ("delete: description", 0),
    ] {
        assert_eq!(site.modify("cn=a,ou=p,dc=ex", change).code, code, "{change}");
    }
    assert_eq!(site.add("cn=x,dc=ex", "objectClass: person\nsn: X").code, 19);
}

#[test]
fn a_uri_asks_for_values_that_the_client_finds() {
    let rules = "access to dn.exact=\"cn=b,ou=p,dc=ex\" by dn.exact=\"cn=a,ou=p,dc=ex\" none by * read\n\
                 access to * by users write by * read";
    let mut site = site(&format!(
        "constraint_attribute description uri ldap:///ou=p,dc=ex?cn?one?(objectClass=person)\n\
         constraint_attribute seeAlso neguri ldap:///ou=p,dc=ex?seeAlso?sub\n{rules}"
    ));
    let put = |site: &mut Site, value: &str| {
        let change = format!("replace: description\ndescription: {value}");
        site.modify("cn=c,ou=p,dc=ex", &change).code
    };
    assert_eq!(
        [put(&mut site, "b"), put(&mut site, "x"), put(&mut site, "a*")],
        [0, 19, 19]
    );
    // A client that may not search an entry does not learn of it.
    site.become_("cn=a,ou=p,dc=ex");
    assert_eq!([put(&mut site, "b"), put(&mut site, "c")], [19, 0]);
    let see = "add: seeAlso\nseeAlso: cn=a,ou=p,dc=ex";
    assert_eq!(site.modify("cn=a,ou=p,dc=ex", see).code, 0);
    assert_eq!(site.modify("cn=c,ou=p,dc=ex", see).code, 19);
}

#[test]
fn a_set_holds_for_the_entry_as_it_will_be() {
    let mut site = site(
        "constraint_attribute cn,sn set \"(this/sn + [ ] + this/description) & this/cn\"\n  \
         restrict=\"ldap:///ou=q,dc=ex??one?(objectClass=person)\"",
    );
    site.must_add("ou=q,dc=ex", "objectClass: organizationalUnit");
    let named = "objectClass: person\nsn: x\ndescription: y";
    assert_eq!(site.add("cn=x y,ou=q,dc=ex", named).code, 0);
    assert_eq!(
        site.add("cn=y x,ou=q,dc=ex", named).brief(),
        (19, "add breaks constraint on sn")
    );
    assert_eq!(site.add("cn=y x,dc=ex", named).code, 0, "is outside of the restriction");
    assert_eq!(site.modify("cn=x y,ou=q,dc=ex", "replace: sn\nsn: z").code, 19);
    let both = "replace: sn\nsn: z\n-\nadd: cn\ncn: z y";
    assert_eq!(site.modify("cn=x y,ou=q,dc=ex", both).code, 0);
}

#[test]
fn the_relax_control_lets_a_manager_do_anything() {
    let rules = "access to attrs=description by dn.exact=\"cn=a,ou=p,dc=ex\" manage by users write\n\
                 access to * by users write";
    let mut site = site(&format!("constraint_attribute description size 1\n{rules}"));
    let relax = Control::critical(RelaxRules);
    let long = "replace: description\ndescription: long";
    for (name, code) in [("cn=a,ou=p,dc=ex", 0), ("cn=b,ou=p,dc=ex", 19)] {
        site.become_(name);
        assert_eq!(
            site.modify_with("cn=c,ou=p,dc=ex", long, &[&relax]).code,
            code,
            "{name}"
        );
    }
}

#[test]
fn a_request_that_changes_nothing_needs_a_setting() {
    let mut strict = site("constraint_attribute description size 1");
    assert_eq!(
        strict.modify("cn=a,ou=p,dc=ex", "").brief(),
        (21, "constraint_update() got null modlist")
    );
    let mut lenient = site("constraint_allowempty on");
    assert_eq!(lenient.modify("cn=a,ou=p,dc=ex", "").code, 0);
}

#[test]
fn a_client_learns_nothing_by_changes_that_it_may_not_make() {
    let mut site = site(
        "constraint_attribute description uri ldap:///ou=p,dc=ex?cn?one\n\
         access to * by users read",
    );
    site.become_("cn=a,ou=p,dc=ex");
    for value in ["b", "x"] {
        let change = format!("replace: description\ndescription: {value}");
        assert_eq!(site.modify("cn=c,ou=p,dc=ex", &change).code, 50, "{value}");
    }
}
