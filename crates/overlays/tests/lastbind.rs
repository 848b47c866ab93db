//! slapo-lastbind(5).
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::time::Duration;

use ironbark_harness::Site;
use ironbark_ldap_proto::{Authentication, BindRequest, Request};

const USER: &str = "cn=u,dc=ex";

fn bind(site: &mut Site, password: &str) -> u32 {
    let request = BindRequest {
        version: 3,
        name: USER.as_bytes(),
        authentication: Authentication::Simple(password.as_bytes()),
    };
    let code = site.send(&Request::Bind(request), &[]).code;
    site.become_("cn=root,dc=ex");
    code
}

#[test]
fn the_time_of_the_last_bind_is_kept_as_exactly_as_the_database_says() {
    let lines = "overlay lastbind\nlastbind-precision 60";
    let mut site = Site::open_of(&ironbark_overlays::registry(), lines, ironbark_overlays::make);
    site.populate();
    site.must_add(USER, "objectClass: person\nsn: s\nuserPassword: secret");
    let time = |site: &mut Site| site.read(USER, &["authTimestamp", "entryCSN"]).expect("an entry");
    let before = time(&mut site);
    assert_eq!(bind(&mut site, "wrong"), 49);
    assert_eq!(time(&mut site), before, "a wrong password leaves nothing");
    assert_eq!(bind(&mut site, "secret"), 0);
    let first = time(&mut site);
    assert!(first.contains("authTimestamp: "), "{first}");
    site.clock.advance(Duration::from_secs(59));
    assert_eq!(bind(&mut site, "secret"), 0);
    assert_eq!(time(&mut site), first, "recent enough");
    site.clock.advance(Duration::from_secs(1));
    assert_eq!(bind(&mut site, "secret"), 0);
    assert_ne!(time(&mut site), first);
}
