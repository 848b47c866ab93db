//! The module ciboolean.
#![allow(clippy::expect_used, reason = "a test that cannot go on fails")]

use ironbark_harness::Site;
use ironbark_ldap_proto::Scope;

const SCHEMA: &str = "attributetype ( 1.1.1 NAME 'flag' EQUALITY booleanMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.7 )\n\
    objectclass ( 1.1.2 NAME 'flagged' AUXILIARY MAY flag )\nindex flag eq";
const PERSON: &str = "objectClass: person\nobjectClass: flagged\nsn: s\nflag: ";

fn site(lines: &str) -> Site {
    let lines = format!("{SCHEMA}\n{lines}");
    let mut site = Site::open_of(&ironbark_overlays::registry(), &lines, ironbark_overlays::make);
    site.populate();
    site
}

#[test]
fn booleans_have_any_case_with_the_module() {
    let mut site = site("moduleload /usr/lib/ldap/ciboolean.la");
    for (name, value) in [("x", "TRUE"), ("y", "true"), ("z", "TruE"), ("no", "False")] {
        site.must_add(&format!("cn={name},dc=ex"), &format!("{PERSON}{value}"));
    }
    for filter in ["(flag=TRUE)", "(flag=true)", "(flag=tRUE)", "(&(sn=s)(!(flag=false)))"] {
        let found = site.search("dc=ex", Scope::SingleLevel, filter, &["flag"]);
        assert_eq!(
            found,
            [
                "dn: cn=x,dc=ex\nflag: TRUE\n",
                "dn: cn=y,dc=ex\nflag: true\n",
                "dn: cn=z,dc=ex\nflag: TruE\n"
            ],
            "{filter}"
        );
    }
    assert_eq!(site.add("cn=w,dc=ex", &format!("{PERSON}yes")).code, 21);
    let change = "add: flag\nd: True";
    assert_eq!(site.modify("cn=x,dc=ex", change).code, 20, "it is the same value");
    assert_eq!(site.modify("cn=x,dc=ex", "delete: flag\nd: true").code, 0);
}

#[test]
fn without_it_they_are_in_capitals() {
    let mut site = site("");
    for value in ["true", "False", "TruE"] {
        assert_eq!(site.add("cn=x,dc=ex", &format!("{PERSON}{value}")).code, 21, "{value}");
    }
    site.must_add("cn=x,dc=ex", &format!("{PERSON}TRUE"));
}

#[test]
fn it_comes_and_goes_while_the_server_runs() {
    let mut site = site("");
    let (with, without) = (format!("{SCHEMA}\nmoduleload ciboolean"), SCHEMA.to_owned());
    for (lines, code) in [(&with, 0), (&without, 21), (&with, 0)] {
        let configuration = site.configuration("", lines);
        site.directory.reconfigure(configuration).expect("reconfigured");
        assert_eq!(site.add("cn=x,dc=ex", &format!("{PERSON}true")).code, code);
        site.delete("cn=x,dc=ex");
    }
}
