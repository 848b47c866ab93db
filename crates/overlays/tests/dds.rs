//! slapo-dds(5): dynamic entries.
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::time::Duration;

use ironbark_harness::{DecodedAnswer, Site};
use ironbark_ldap_proto::{
    ExtendedRequest, Request, Scope,
    controls::{Control, RelaxRules},
    extended::refresh::{self, RefreshRequest},
};

const MEETING: &str = "objectClass: person\nobjectClass: dynamicObject\nsn: s";
const M: &str = "cn=m,ou=p,dc=ex";

fn site(lines: &str) -> Site {
    let lines = format!("overlay dds\n{lines}");
    let mut site = Site::open_of(&ironbark_overlays::registry(), &lines, ironbark_overlays::make);
    site.populate();
    site
}

fn refresh(site: &mut Site, name: &str, ttl_s: i64) -> DecodedAnswer {
    let mut value = Vec::new();
    let entry = name.as_bytes();
    RefreshRequest { entry, ttl_s }.encode(&mut value);
    let request = ExtendedRequest {
        name: refresh::OID.as_bytes(),
        value: Some(&value),
    };
    site.send(&Request::Extended(request), &[])
}

/// The remaining time of an entry.
fn ttl(site: &mut Site, name: &str) -> Option<i64> {
    let text = site.read(name, &["entryTtl"])?;
    let value = text.lines().find_map(|line| line.strip_prefix("entryTtl: "))?;
    Some(value.parse().expect("a number"))
}

#[test]
fn an_entry_goes_when_its_time_is_over_unless_it_is_refreshed() {
    let mut site = site("dds-interval 60\ndds-tolerance 10");
    site.must_add(M, MEETING);
    assert_eq!(ttl(&mut site, M), Some(86_400));
    site.clock.advance(Duration::from_secs(100));
    assert_eq!(ttl(&mut site, M), Some(86_300));
    let answer = refresh(&mut site, M, 50);
    let value = answer.value.expect("a value");
    assert_eq!((answer.code, refresh::decode_response(&value)), (0, Ok(50)));
    assert_eq!(ttl(&mut site, M), Some(50));
    site.clock.advance(Duration::from_secs(55));
    // The writer looks at the clock when there are writes.
    site.must_add("cn=1,dc=ex", "objectClass: person\nsn: s");
    assert_eq!(ttl(&mut site, M), Some(0), "tolerated");
    assert_eq!(refresh(&mut site, M, 50).code, 0);
    site.clock.advance(Duration::from_mins(2));
    site.must_add("cn=2,dc=ex", "objectClass: person\nsn: s");
    site.must_add("cn=3,dc=ex", "objectClass: person\nsn: s");
    assert_eq!(ttl(&mut site, M), None);
}

#[test]
fn what_has_dynamic_subordinates_goes_behind_them() {
    let mut site = site("dds-interval 60");
    site.must_add(M, MEETING);
    site.must_add("cn=below,cn=m,ou=p,dc=ex", MEETING);
    assert_eq!(refresh(&mut site, M, 10).code, 0);
    site.clock.advance(Duration::from_secs(70));
    site.must_add("cn=1,dc=ex", "objectClass: person\nsn: s");
    assert_eq!(ttl(&mut site, M), Some(0), "its subordinate lives");
    assert_eq!(refresh(&mut site, "cn=below,cn=m,ou=p,dc=ex", 10).code, 0);
    site.clock.advance(Duration::from_secs(70));
    site.must_add("cn=2,dc=ex", "objectClass: person\nsn: s");
    site.must_add("cn=3,dc=ex", "objectClass: person\nsn: s");
    let left = site.search(
        "ou=p,dc=ex",
        Scope::WholeSubtree,
        "(objectClass=dynamicObject)",
        &["cn"],
    );
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn an_entry_is_dynamic_from_its_beginning_to_its_end() {
    let mut site = site("");
    site.must_add(M, MEETING);
    let violation = |what| (65, what);
    let add = "add: objectClass\nobjectClass: dynamicObject";
    assert_eq!(
        site.modify("cn=a,ou=p,dc=ex", add).brief(),
        violation("objectClass modification cannot turn static entry into dynamicObject")
    );
    for change in [
        "delete: objectClass\nobjectClass: dynamicObject",
        "replace: objectClass\nobjectClass: person",
    ] {
        assert_eq!(
            site.modify(M, change).brief(),
            violation("objectClass modification cannot turn dynamicObject into static entry")
        );
    }
    let person = "objectClass: person\nsn: s";
    assert_eq!(
        site.add("cn=x,cn=m,ou=p,dc=ex", person).brief(),
        (19, "no static subordinate entries allowed for dynamicObject")
    );
    assert_eq!(
        site.rename("cn=a,ou=p,dc=ex", "cn=a", Some(M)).brief(),
        (19, "static entry cannot have dynamicObject as newSuperior")
    );
    let referral = "objectClass: referral\nobjectClass: extensibleObject\nobjectClass: dynamicObject\nref: ldap://x/";
    assert_eq!(
        site.add("cn=r,dc=ex", referral).brief(),
        violation("a referral cannot be a dynamicObject")
    );
}

#[test]
fn lives_and_numbers_have_limits() {
    let mut site = site("dds-max-ttl 2d\ndds-min-ttl 30\ndds-default-ttl 1h\ndds-max-dynamicObjects 1");
    site.must_add(M, MEETING);
    assert_eq!(ttl(&mut site, M), Some(3_600));
    assert_eq!(
        site.add("cn=more,dc=ex", MEETING).brief(),
        (53, "too many dynamicObjects in context")
    );
    for (asked, code) in [(-1, 2), (0, 2), (172_801, 4), (31_557_601, 2), (172_800, 0), (1, 0)] {
        assert_eq!(refresh(&mut site, M, asked).code, code, "{asked}");
    }
    assert_eq!(ttl(&mut site, M), Some(30), "no shorter than that");
    assert_eq!(refresh(&mut site, "cn=a,ou=p,dc=ex", 60).code, 65);
    assert_eq!(refresh(&mut site, "cn=none,dc=ex", 60).code, 32);
    let relax = Control::critical(RelaxRules);
    let longer = site.modify_with(M, "replace: entryTtl\nentryTtl: 600", &[&relax]);
    assert_eq!((longer.code, ttl(&mut site, M)), (0, Some(600)));
}

#[test]
fn only_who_may_manage_the_life_of_an_entry_refreshes_it() {
    let rules = "access to dn.exact=\"cn=m,ou=p,dc=ex\" by dn.exact=\"cn=c,ou=p,dc=ex\" none \
                 by dn.exact=\"cn=a,ou=p,dc=ex\" manage by users write\n\
                 access to * by users write";
    let mut site = site(rules);
    site.must_add(M, MEETING);
    for (who, code) in [("cn=a,ou=p,dc=ex", 0), ("cn=b,ou=p,dc=ex", 50), ("cn=c,ou=p,dc=ex", 32)] {
        site.become_(who);
        assert_eq!(refresh(&mut site, M, 60).code, code, "{who}");
    }
}

#[test]
fn an_anonymous_client_refreshes_nothing_even_if_rules_let_it_manage() {
    let mut site = site("access to * by * manage");
    site.must_add(M, MEETING);
    site.become_("");
    let refused = (8, "modifications require authentication");
    // Nor does it learn what is there.
    for name in [M, "cn=a,ou=p,dc=ex", "cn=none,dc=ex"] {
        assert_eq!(refresh(&mut site, name, 60).brief(), refused, "{name}");
    }
    assert_eq!(ttl(&mut site, M), Some(86_400));
    site.become_("cn=a,ou=p,dc=ex");
    let missing = refresh(&mut site, "cn=none,dc=ex", 60);
    assert_eq!((missing.brief(), &*missing.matched_dn), ((32, ""), ""));
    assert_eq!(
        refresh(&mut site, "none", 60).brief(),
        (21, "invalid DN in refresh exop request data")
    );
}

#[test]
fn a_filter_asks_for_the_time_that_is_left() {
    let mut site = site("dds-interval 60");
    site.must_add(M, MEETING);
    site.clock.advance(Duration::from_secs(400));
    let mut found = |filter: &str| site.search("dc=ex", Scope::WholeSubtree, filter, &["1.1"]).len();
    assert_eq!(
        (
            found("(entryTtl:integerMatch:=86000)"),
            found("(entryTtl:integerMatch:=86400)")
        ),
        (1, 0)
    );
    assert_eq!(found("(entryTtl=*)"), 1);
}
