//! slapo-collect(5).
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test that cannot go on fails")]

use ironbark_harness::Site;
use ironbark_ldap_proto::Scope;

fn site(lines: &str) -> Site {
    let overlay = "overlay collect\ncollectinfo dc=ex l,st\ncollectinfo ou=p,dc=ex description,l";
    let lines = format!("index l eq\n{lines}\n{overlay}");
    let mut site = Site::open_of(&ironbark_overlays::registry(), &lines, ironbark_overlays::make);
    site.populate();
    assert_eq!(
        site.modify("dc=ex", "add: l\nl: Athens\n-\nadd: st\ns: everywhere")
            .code,
        0
    );
    assert_eq!(site.modify("ou=p,dc=ex", "replace: description\nd: people").code, 0);
    site.must_add("cn=x,ou=p,dc=ex", "objectClass: person\nsn: s\ndescription: own");
    site
}

fn read(site: &mut Site, dn: &str, names: &[&str]) -> String {
    site.search_with(dn, Scope::BaseObject, "(objectClass=*)", names, &[])
        .entries
        .concat()
}

fn count(site: &mut Site, filter: &str) -> usize {
    site.search_with("dc=ex", Scope::WholeSubtree, filter, &["1.1"], &[])
        .entries
        .len()
}

#[test]
fn what_an_entry_above_has_is_shown_and_found_below_it() {
    let mut site = site("");
    site.become_("cn=root,dc=ex");
    let own = read(&mut site, "cn=x,ou=p,dc=ex", &["l", "description", "st"]);
    let expected = "description: own\ndescription: people\nl: Athens\nst: everywhere";
    assert!(own.contains(expected), "{own}");
    assert!(!read(&mut site, "ou=p,dc=ex", &["description"]).contains("description: people\ndescription: people"));
    let everybody = count(&mut site, "(objectClass=*)");
    assert_eq!(count(&mut site, "(l=ATHENS)"), everybody);
    assert_eq!(count(&mut site, "(l=ath*)"), everybody);
    assert_eq!(count(&mut site, "(l=Rome)"), 0);
    assert_eq!(count(&mut site, "(!(l=*))"), 0);
    assert_eq!(count(&mut site, "(&(description=people)(cn=x))"), 1);
    assert_eq!(site.modify("dc=ex", "replace: l\nl: Rome").code, 0);
    assert_eq!(count(&mut site, "(l=Rome)"), everybody);
}

#[test]
fn it_is_changed_only_where_it_is_stored() {
    let mut site = site("");
    let refused = (53, "cannot change virtual attribute 'l'");
    assert_eq!(site.modify("cn=x,ou=p,dc=ex", "add: l\nl: here").brief(), refused);
    assert_eq!(site.modify("ou=p,dc=ex", "replace: l\nl: here").brief(), refused);
    assert_eq!(site.modify("cn=x,ou=p,dc=ex", "replace: sn\nsn: t").code, 0);
    assert_eq!(site.modify("dc=ex", "delete: l").code, 0);
}

#[test]
fn what_may_not_be_read_above_is_neither_shown_nor_found_below() {
    let mut site = site("access to dn.base=\"dc=ex\" attrs=l by * none\naccess to * by * read");
    site.become_("cn=x,ou=p,dc=ex");
    assert!(!read(&mut site, "cn=x,ou=p,dc=ex", &[]).contains("Athens"));
    assert_eq!(count(&mut site, "(l=Athens)"), 0);
    assert_eq!(count(&mut site, "(&(cn=x)(!(l=Athens)))"), 1);
    assert_eq!(count(&mut site, "(&(cn=x)(st=everywhere))"), 1);
}
