//! The overlay noopsrch.
#![allow(clippy::expect_used, reason = "a test that cannot go on fails")]

use ironbark_harness::{DecodedAnswer, Site};
use ironbark_ldap_proto::{
    EncodeControl, Scope,
    controls::{Control, ManageDsaIt, PagedResults, SortKey, SortKeys},
};
use ironbark_overlays::noopsrch::{DESCRIPTOR, NoOpSearch, NoOpSearchResponse};

fn site(lines: &str) -> Site {
    let lines = format!("overlay noopsrch\n{lines}");
    let mut site = Site::open_of(&ironbark_overlays::registry(), &lines, ironbark_overlays::make);
    site.populate();
    site
}

fn count_with(site: &mut Site, filter: &str, more: &[&dyn EncodeControl]) -> DecodedAnswer {
    let counting = Control::critical(NoOpSearch);
    let mut controls: Vec<&dyn EncodeControl> = vec![&counting];
    controls.extend(more);
    let answer = site.search_with("dc=ex", Scope::WholeSubtree, filter, &[], &controls);
    assert!(answer.entries.is_empty());
    answer
}

/// Result code, entries and references, as the control has them.
fn counted(answer: &DecodedAnswer) -> Option<(u32, u32, u32)> {
    let (oid, value) = answer.of_overlay.as_ref()?;
    assert_eq!(oid, DESCRIPTOR.oid);
    let counted = NoOpSearchResponse::decode_value(value).expect("numbers");
    Some((counted.code.0, counted.entries, counted.references))
}

fn count(site: &mut Site, filter: &str) -> (u32, u32, u32) {
    counted(&count_with(site, filter, &[])).expect("numbers")
}

#[test]
fn a_search_sends_the_numbers_of_what_it_finds() {
    let mut site = site("");
    assert_eq!(count(&mut site, "(objectClass=*)"), (0, 5, 0));
    assert_eq!(count(&mut site, "(sn=s)"), (0, 3, 0));
    assert_eq!(count(&mut site, "(sn=none)"), (0, 0, 0));
    let referral = "objectClass: referral\nobjectClass: extensibleObject\nref: ldap://other/";
    let managing = Control::critical(ManageDsaIt);
    assert_eq!(site.add_with("ou=away,dc=ex", referral, &[&managing]).code, 0);
    let octets_of = |answer: &DecodedAnswer| (answer.code, answer.referrals.len());
    let answer = count_with(&mut site, "(sn=s)", &[]);
    assert_eq!((counted(&answer), octets_of(&answer)), (Some((0, 3, 1)), (0, 0)));
    assert_eq!(answer.references, 0, "none is sent");
    let plain = site.search_with("dc=ex", Scope::WholeSubtree, "(sn=s)", &[], &[]);
    assert_eq!((plain.entries.len(), plain.references, counted(&plain)), (3, 1, None));
    let answer = count_with(&mut site, "(ou=*)", &[&managing]);
    assert_eq!(counted(&answer), Some((0, 2, 0)));
}

#[test]
fn what_may_not_be_seen_is_not_counted() {
    let mut site = site(
        "access to dn.base=cn=a,ou=p,dc=ex by * none\naccess to dn.base=cn=b,ou=p,dc=ex attrs=sn by * none\n\
         access to dn.base=cn=c,ou=p,dc=ex attrs=entry by * search\naccess to * by * read",
    );
    site.become_("cn=someone,dc=ex");
    for filter in ["(sn=s)", "(objectClass=*)", "(!(sn=x))", "(cn=c)"] {
        let plain = site.search_with("dc=ex", Scope::WholeSubtree, filter, &[], &[]);
        let seen = u32::try_from(plain.entries.len()).expect("few");
        assert_eq!(count(&mut site, filter), (0, seen, 0), "{filter}");
    }
    assert_eq!(count(&mut site, "(sn=s)"), (0, 0, 0));
}

#[test]
fn limits_are_those_of_a_search_that_sends() {
    let mut site = site("sizelimit 2\naccess to * by * read");
    site.become_("cn=someone,dc=ex");
    let answer = count_with(&mut site, "(objectClass=*)", &[]);
    assert_eq!((answer.code, counted(&answer)), (4, Some((4, 2, 0))));
    let mut site = self::site("limits * size.unchecked=1\naccess to * by * read");
    site.become_("cn=someone,dc=ex");
    assert_eq!(count_with(&mut site, "(objectClass=*)", &[]).code, 11);
}

#[test]
fn pages_and_sorted_searches_are_counted_too() {
    let mut site = site("");
    let keys = [SortKey {
        attribute: b"cn",
        ordering_rule: Some(b"caseIgnoreOrderingMatch"),
        reverse: false,
    }];
    let sorted = Control::critical(SortKeys(keys[..].into()));
    let answer = count_with(&mut site, "(sn=s)", &[&sorted]);
    assert_eq!(counted(&answer), Some((0, 3, 0)), "{answer:?}");
    let (mut cookie, mut counts) = (Vec::new(), Vec::new());
    loop {
        let page = Control::critical(PagedResults {
            size: 2,
            cookie: &cookie,
        });
        let answer = count_with(&mut site, "(objectClass=*)", &[&page]);
        counts.push(counted(&answer).expect("numbers").1);
        cookie = answer.cookie.expect("a cookie");
        if cookie.is_empty() {
            break;
        }
    }
    assert_eq!(counts, [2, 2, 1]);
}

#[test]
fn without_the_overlay_there_is_no_such_control() {
    let mut site = Site::open_of(&ironbark_overlays::registry(), "", ironbark_overlays::make);
    site.populate();
    for (control, code, entries) in [
        (Control::critical(NoOpSearch), 12, 0),
        (Control::optional(NoOpSearch), 0, 5),
    ] {
        let answer = site.search_with("dc=ex", Scope::WholeSubtree, "(objectClass=*)", &[], &[&control]);
        assert_eq!(
            (answer.code, answer.entries.len(), counted(&answer)),
            (code, entries, None)
        );
    }
    let names = |site: &mut Site| {
        let root = site.search_with("", Scope::BaseObject, "(objectClass=*)", &["supportedControl"], &[]);
        root.entries.concat().contains("1.3.6.1.4.1.4203.666.5.18")
    };
    assert!(!names(&mut site) && names(&mut self::site("")));
}

#[test]
fn rules_name_the_control_whether_the_database_has_the_overlay_or_not() {
    let found = |mut site: Site| {
        site.become_("cn=someone,dc=ex");
        let asked = Control::optional(NoOpSearch);
        let answer = site.search_with("dc=ex", Scope::WholeSubtree, "(sn=s)", &[], &[&asked]);
        (answer.code, answer.entries.len(), counted(&answer))
    };
    let without = |lines: &str| {
        let mut site = Site::open_of(&ironbark_overlays::registry(), lines, ironbark_overlays::make);
        site.populate();
        site
    };
    let rules = |rule: &str| {
        let control = format!("control={}", DESCRIPTOR.oid);
        format!(
            "restrictop {}\naccess to * by * read",
            rule.replace("CONTROL", &control)
        )
    };
    let reject = rules("search CONTROL by * reject\nrestrictop all by * allow");
    assert_eq!(found(site(&reject)), (53, 0, None));
    assert_eq!(found(without(&reject)), (0, 3, None));
    let drop = rules("search by * drop CONTROL\nrestrictop all by * allow");
    assert_eq!(found(site(&drop)), (0, 3, None));
    let hide = format!(
        "access to attrs=sn control={} by * none\naccess to * by * read",
        DESCRIPTOR.oid
    );
    assert_eq!(found(site(&hide)), (0, 0, Some((0, 0, 0))));
    assert_eq!(found(without(&hide)), (0, 3, None));
}
