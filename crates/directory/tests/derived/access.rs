//! Access rules protect derived values like stored ones, and see none themselves.

use ironbark_ldap_proto::Scope;

use crate::derived::{
    ask::{self, A, B, compare, define, found, sorted, values, whole},
    rule::{self, ADDS, REPLACES, Rule},
};
use ironbark_harness::{DecodedAnswer, Site};

/// With these rules, asked by `b`.
fn site(rules: &str, rule: Rule) -> Site {
    let (mut site, _) = rule::site(&format!("index description pres,eq\n{rules}"), rule);
    ask::populate(&mut site);
    site.become_(B);
    site
}

/// The same without the derivation.
fn without(rules: &str) -> Site {
    let mut site = Site::open(&format!("index description pres,eq\n{rules}"));
    ask::populate(&mut site);
    site.become_(B);
    site
}

const READ: &str = "\naccess to * by * read";

const FILTERS: [&str; 10] = [
    "(description=red)",
    "(description=*)",
    "(description=r*)",
    "(!(description=red))",
    "(!(description=*))",
    "(|(description=red)(cn=c))",
    "(&(sn=s)(!(description=red)))",
    "(!(&(sn=s)(description=red)))",
    "(|(description=x)(description=red)(description=y)(description=z))",
    "(:caseIgnoreMatch:=red)",
];

#[test]
fn who_may_not_search_a_derived_attribute_gets_the_answers_of_a_server_without_it() {
    for privilege in ["none", "auth", "compare"] {
        let rules = format!("access to attrs=description by * {privilege}{READ}");
        for rule in [ADDS, REPLACES] {
            let (mut with, mut without) = (site(&rules, rule), without(&rules));
            for filter in FILTERS {
                for names in [&["1.1"][..], &["*"], &["description"]] {
                    let answers: [DecodedAnswer; 2] = [&mut with, &mut without].map(|site| whole(site, filter, names));
                    assert_eq!(answers[0], answers[1], "{filter} {names:?}");
                }
            }
            assert_eq!(
                sorted(&mut with, "description", true),
                sorted(&mut without, "description", true)
            );
        }
    }
}

#[test]
fn who_may_not_compare_a_derived_attribute_learns_nothing_by_it() {
    let rules = format!("access to attrs=description by * none{READ}");
    for rule in [ADDS, REPLACES] {
        let (mut with, mut without) = (site(&rules, rule), without(&rules));
        for dn in [A, B, "dc=ex", "ou=d,ou=p,dc=ex"] {
            for value in ["red", "own", "other"] {
                let answers: [DecodedAnswer; 2] =
                    [&mut with, &mut without].map(|site| ask::compare_with(site, dn, ("description", value), &[]));
                assert_eq!(answers[0], answers[1], "{dn} {value}");
                assert_eq!(answers[0].code, 50);
            }
        }
    }
}

#[test]
fn rules_with_values_allow_some_derived_values() {
    let rules = format!("access to attrs=description val=\"red\" by * none{READ}");
    let mut site = site(&rules, ADDS);
    site.become_("cn=root,dc=ex");
    define(&mut site, "ou=e,ou=p,dc=ex", "green");
    site.become_(B);
    assert_eq!(values(&mut site, A, "description"), ["own", "green"]);
    assert_eq!(values(&mut site, B, "description"), ["green"]);
    for (filter, expected) in [
        ("(description=red)", &[][..]),
        ("(description=r*)", &[]),
        ("(!(description=red))", &[]),
        ("(description=green)", &["p", "a", "b", "c"]),
        ("(!(description=green))", &["ex", "d", "e"]),
        ("(|(description=x)(description=red)(description=y)(description=z))", &[]),
        ("(description=*)", &["p", "a", "b", "c"]),
    ] {
        assert_eq!(found(&mut site, filter), expected, "{filter}");
    }
    // Whether there is such a value does not show.
    for dn in [A, "dc=ex", "ou=d,ou=p,dc=ex"] {
        assert_eq!(compare(&mut site, dn, "description", "red"), 50, "{dn}");
    }
    assert_eq!(compare(&mut site, B, "description", "green"), 6);
    // Where the hidden value is the only one, there is none.
    site.become_("cn=root,dc=ex");
    assert_eq!(site.delete("ou=e,ou=p,dc=ex").code, 0);
    site.become_(B);
    assert_eq!(found(&mut site, "(description=*)"), ["a"]);
    assert_eq!(compare(&mut site, B, "description", "green"), 16);
}

#[test]
fn rules_see_no_derived_values_themselves() {
    for (rules, target, value) in [
        ("access to filter=(description=red) by * read", "description", "red"),
        (
            "access to * by set=\"this/description & [red]\" read",
            "description",
            "red",
        ),
        ("access to * by dnattr=seeAlso read", "seeAlso", B),
        ("access to * by set=\"this/seeAlso & user\" read", "seeAlso", B),
    ] {
        let (mut site, _) = rule::site(&format!("{rules}\naccess to * by * none"), Rule { target, ..ADDS });
        site.populate();
        define(&mut site, "ou=d,ou=p,dc=ex", value);
        assert!(values(&mut site, A, target).contains(&value.to_owned()), "{rules}");
        site.become_(B);
        let read = |site: &mut Site, dn: &str| {
            site.search_with(dn, Scope::BaseObject, "(objectClass=*)", &["*"], &[])
                .entries
                .len()
        };
        assert_eq!(read(&mut site, A), 0, "{rules}");
        site.become_("cn=root,dc=ex");
        assert_eq!(site.modify(A, &format!("add: {target}\nd: {value}")).code, 0);
        site.become_(B);
        assert_eq!(read(&mut site, A), 1, "a stored value counts: {rules}");
    }
}
