//! Rights through groups and sets, and changes of what they depend on.

use ironbark_ldap_proto::Scope;

use crate::revocation::{answer, begin, reconfigure, rest, search};
use ironbark_harness::Site;

/// A rule for `cn=a,ou=p,dc=ex` that lets `cn=b,ou=p,dc=ex` read, and how this is taken away and given back.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) by: &'static str,
    pub(crate) entry: &'static str,
    pub(crate) revoke: &'static str,
    pub(crate) grant: &'static str,
}

pub(crate) const LESS: &str = "delete: member\nmember: cn=b,ou=p,dc=ex\n-";
const MORE: &str = "add: member\nmember: cn=b,ou=p,dc=ex\n-";

pub(crate) const CASES: [Case; 9] = [
    Case {
        name: "an attribute of the entry",
        by: "dnattr=seeAlso",
        entry: "cn=a,ou=p,dc=ex",
        revoke: "replace: seeAlso\nseeAlso: cn=nobody\n-",
        grant: "replace: seeAlso\nseeAlso: cn=b,ou=p,dc=ex\n-",
    },
    Case {
        name: "a group",
        by: "group=\"cn=g,dc=ex\"",
        entry: "cn=g,dc=ex",
        revoke: LESS,
        grant: MORE,
    },
    Case {
        name: "a group of another database",
        by: "group=\"cn=g,o=two\"",
        entry: "cn=g,o=two",
        revoke: LESS,
        grant: MORE,
    },
    Case {
        name: "a dynamic group",
        by: "group/groupOfURLs/memberURL=\"cn=d,dc=ex\"",
        entry: "cn=b,ou=p,dc=ex",
        revoke: "replace: sn\nsn: out\n-",
        grant: "replace: sn\nsn: in\n-",
    },
    Case {
        name: "the URL of a dynamic group of another database",
        by: "group/groupOfURLs/memberURL=\"cn=d,o=two\"",
        entry: "cn=d,o=two",
        revoke: "replace: memberURL\nmemberURL: ldap:///ou=p,dc=ex??sub?(sn=nobody)\n-",
        grant: "replace: memberURL\nmemberURL: ldap:///ou=p,dc=ex??sub?(objectClass=person)\n-",
    },
    Case {
        name: "a set",
        by: "set=\"[cn=g,dc=ex]/member & user\"",
        entry: "cn=g,dc=ex",
        revoke: LESS,
        grant: MORE,
    },
    Case {
        name: "a set of another database",
        by: "set=\"[cn=g,o=two]/member & user\"",
        entry: "cn=g,o=two",
        revoke: LESS,
        grant: MORE,
    },
    Case {
        name: "a set over nested groups",
        by: "set=\"[cn=outer,dc=ex]/member* & user\"",
        entry: "cn=g,dc=ex",
        revoke: LESS,
        grant: MORE,
    },
    Case {
        name: "a set over the entry itself",
        by: "set=\"this/seeAlso & user\"",
        entry: "cn=a,ou=p,dc=ex",
        revoke: "replace: seeAlso\nseeAlso: cn=nobody\n-",
        grant: "replace: seeAlso\nseeAlso: cn=b,ou=p,dc=ex\n-",
    },
];

/// A site in which `cn=b` may read `cn=a` by this rule, and `count` further entries below `ou=many,dc=ex`.
pub(crate) fn site(case: &Case, count: usize) -> Site {
    let rules = format!(
        "envflags nosync\naccess to dn.base=\"cn=a,ou=p,dc=ex\" by {by} read by * none\n\
         access to dn.subtree=\"ou=many,dc=ex\" by {by} read by * none\naccess to * by * read\n\n\
         database mdb\nsuffix o=two\nrootdn cn=root,dc=ex\ndirectory DIR/two\nenvflags nosync\naccess to * by * read",
        by = case.by
    );
    let mut site = Site::open("");
    std::fs::create_dir(site.folder.path().join("two")).expect("a folder");
    reconfigure(&site, "", &rules);
    site.populate();
    site.must_add("o=two", "objectClass: organization");
    for database in ["dc=ex", "o=two"] {
        let group = "objectClass: groupOfNames\nmember: cn=b,ou=p,dc=ex\nmember: cn=x";
        site.must_add(&format!("cn=g,{database}"), group);
    }
    site.must_add("cn=outer,dc=ex", "objectClass: groupOfNames\nmember: cn=g,dc=ex");
    site.must_add(
        "cn=d,dc=ex",
        "objectClass: groupOfURLs\nmemberURL: ldap:///ou=p,dc=ex??sub?(sn=in)",
    );
    let everybody = "objectClass: groupOfURLs\nmemberURL: ldap:///ou=p,dc=ex??sub?(objectClass=person)";
    site.must_add("cn=d,o=two", everybody);
    site.must_add("ou=many,dc=ex", "objectClass: organizationalUnit");
    for n in 0..count {
        site.must_add(
            &format!("cn=m{n},ou=many,dc=ex"),
            "objectClass: person\nsn: s\nseeAlso: cn=b,ou=p,dc=ex",
        );
    }
    change(&mut site, case.entry, case.grant);
    site
}

pub(crate) fn change(site: &mut Site, entry: &str, text: &str) {
    let answer = site.modify(entry, text);
    // It may be so already.
    assert!(matches!(answer.code, 0 | 20), "{text}: {answer:?}");
}

#[test]
fn a_decision_made_in_an_old_snapshot_ends_with_it() {
    let question = search("cn=a,ou=p,dc=ex", Scope::BaseObject, "(objectClass=*)", &[]);
    for case in &CASES {
        let mut site = site(case, 0);
        let mut reader = site.connect();
        reader.become_("cn=b,ou=p,dc=ex");
        for (text, seen) in [(case.revoke, 0), (case.grant, 1), (case.revoke, 0)] {
            let mut out = Vec::new();
            let (worker, session) = reader.parts();
            let mut batch = worker.batch(None);
            let before = answer(&batch.start(session, &question, &mut out), &mut out);
            assert_eq!(before.entries.len(), 1 - seen, "{}", case.name);
            change(&mut site, case.entry, text);
            // It came together with the first one, and may be answered as that.
            answer(&batch.start(session, &question, &mut out), &mut out);
            let mut batch = worker.batch(None);
            for _ in 0..2 {
                let after = answer(&batch.start(session, &question, &mut out), &mut out);
                assert_eq!(after.entries.len(), seen, "{} after {text}", case.name);
            }
            worker.rest();
        }
    }
}

#[test]
fn a_search_under_way_shows_nothing_more() {
    let question = search("ou=many,dc=ex", Scope::WholeSubtree, "(cn=m*)", &[]);
    for case in CASES.iter().filter(|case| case.entry != "cn=a,ou=p,dc=ex") {
        let mut site = site(case, 400);
        let mut reader = site.connect();
        reader.become_("cn=b,ou=p,dc=ex");
        let mut out = Vec::new();
        let run = begin(&mut reader, &question, &mut out);
        assert!(!out.is_empty(), "{}", case.name);
        change(&mut site, case.entry, case.revoke);
        let left = rest(&mut reader, run);
        assert_eq!((left.code, left.entries.len()), (0, 0), "{}", case.name);
    }
}

#[test]
fn a_chain_is_followed_with_the_rights_and_entries_of_now() {
    let rules = "envflags nosync\nindex member eq\n\
                 access to dn.subtree=\"ou=links,dc=ex\" by group=\"cn=g,dc=ex\" read by * none\n\
                 access to * by * read";
    let chain = "(member:1.2.840.113556.1.4.1941:=cn=target,dc=ex)";
    for is_right in [true, false] {
        let mut site = Site::populated(rules);
        site.must_add(
            "cn=g,dc=ex",
            "objectClass: groupOfNames\nmember: cn=b,ou=p,dc=ex\nmember: cn=x",
        );
        site.must_add("ou=links,dc=ex", "objectClass: organizationalUnit");
        site.must_add(
            "cn=link,ou=links,dc=ex",
            "objectClass: groupOfNames\nmember: cn=target,dc=ex",
        );
        site.must_add("ou=many,dc=ex", "objectClass: organizationalUnit");
        for n in 0..400 {
            let text = "objectClass: groupOfNames\nmember: cn=link,ou=links,dc=ex";
            site.must_add(&format!("cn=m{n},ou=many,dc=ex"), text);
        }
        let mut reader = site.connect();
        reader.become_("cn=b,ou=p,dc=ex");
        let mut out = Vec::new();
        let question = search("ou=many,dc=ex", Scope::WholeSubtree, chain, &[]);
        let run = begin(&mut reader, &question, &mut out);
        assert!(!out.is_empty());
        if is_right {
            change(&mut site, "cn=g,dc=ex", LESS);
        } else {
            change(
                &mut site,
                "cn=link,ou=links,dc=ex",
                "replace: member\nmember: cn=elsewhere\n-",
            );
        }
        let left = rest(&mut reader, run);
        assert_eq!((left.code, left.entries.len()), (0, 0));
    }
}

#[test]
fn an_entry_that_becomes_a_referral_is_one_for_the_next_search() {
    let mut site = Site::populated("envflags nosync\naccess to * by * read");
    let mut reader = site.connect();
    reader.become_("");
    let question = search("dc=ex", Scope::WholeSubtree, "(sn=s)", &[]);
    let (worker, session) = reader.parts();
    let mut out = Vec::new();
    let mut batch = worker.batch(None);
    assert_eq!(
        answer(&batch.start(session, &question, &mut out), &mut out).references,
        0
    );
    let referral = "objectClass: referral\nobjectClass: extensibleObject\nref: ldap://elsewhere/";
    site.must_add("ou=r,dc=ex", referral);
    answer(&batch.start(session, &question, &mut out), &mut out);
    let mut batch = worker.batch(None);
    assert_eq!(
        answer(&batch.start(session, &question, &mut out), &mut out).references,
        1
    );
}
