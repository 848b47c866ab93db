//! The overlay smbk5pwd.
#![allow(clippy::expect_used, reason = "a test that cannot go on fails")]

use std::time::Duration;

use ironbark_harness::{DecodedAnswer, Site, TestClient};
use ironbark_ldap_proto::{
    ExtendedRequest, Request,
    extended::password_modify::{OID, PasswordModifyRequest},
};

const USER: &str = "uid=u,dc=ex";
const BOTH: &str = "objectClass: account\nobjectClass: posixAccount\nobjectClass: shadowAccount\n\
    objectClass: sambaSamAccount\ncn: u\nuidNumber: 1\ngidNumber: 1\nhomeDirectory: /\nsambaSID: S-1\n\
    sambaPwdMustChange: 5\nuserPassword: old";
const NAMES: [&str; 5] = [
    "sambaNTPassword",
    "sambaPwdLastSet",
    "sambaPwdMustChange",
    "sambaPwdCanChange",
    "shadowLastChange",
];

fn site(lines: &str) -> Site {
    let schema = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schema/samba.schema");
    let lines = format!("include {schema}\noverlay smbk5pwd\n{lines}");
    let mut site = Site::open_of(&ironbark_overlays::registry(), &lines, ironbark_overlays::make);
    site.populate();
    site.must_add(USER, BOTH);
    site
}

fn set(client: &mut TestClient, new: &[u8]) -> DecodedAnswer {
    let request = PasswordModifyRequest {
        user_identity: Some(USER.as_bytes()),
        old_password: None,
        new_password: Some(new),
    };
    let mut value = Vec::new();
    request.encode(&mut value);
    let request = ExtendedRequest {
        name: OID.as_bytes(),
        value: Some(&value),
    };
    client.send(&Request::Extended(request), &[])
}

fn shown(site: &mut Site) -> Vec<String> {
    let text = site.read(USER, &NAMES).expect("there");
    let mut lines: Vec<_> = text.lines().map(ToOwned::to_owned).collect();
    lines.sort_unstable();
    lines
}

#[test]
fn all_follow_a_password_modify() {
    let mut site = site("smbk5pwd-must-change 100\nsmbk5pwd-can-change 10");
    let now = site.clock.clock().now().unix_seconds();
    assert_eq!(set(&mut site, b"password").code, 0);
    let expected = |now: i64, hash: &str| {
        vec![
            format!("sambaNTPassword: {hash}"),
            format!("sambaPwdCanChange: {}", now + 10),
            format!("sambaPwdLastSet: {now}"),
            format!("sambaPwdMustChange: {}", now + 100),
            format!("shadowLastChange: {}", now / 86_400),
        ]
    };
    assert_eq!(shown(&mut site), expected(now, "8846f7eaee8fb117ad06bdd830b7586c"));
    site.clock.advance(Duration::from_secs(100_000));
    // Two UTF-16 units: Windows' own form, where slapd leaves one out.
    assert_eq!(set(&mut site, "\u{1F511}".as_bytes()).code, 0);
    assert_eq!(
        shown(&mut site),
        expected(now + 100_000, "5f7b3ff474e4237afd6a078f3c4d8632")
    );
}

#[test]
fn only_what_is_enabled_and_of_the_class_follows() {
    let mut samba = site("smbk5pwd-enable samba");
    assert_eq!(set(&mut samba, b"password").code, 0);
    let found = shown(&mut samba).concat();
    assert!(found.contains("sambaPwdMustChange: 5"), "{found}");
    assert!(
        found.contains("sambaNTPassword") && !found.contains("shadow"),
        "{found}"
    );
    let mut shadow = site("smbk5pwd-enable shadow");
    assert_eq!(set(&mut shadow, b"password").code, 0);
    let found = shown(&mut shadow).concat();
    assert!(
        found.contains("shadowLastChange") && !found.contains("NTPassword"),
        "{found}"
    );
    let mut plain = site("");
    plain.must_add("cn=p,dc=ex", "objectClass: person\nsn: s");
    let before = shown(&mut plain);
    let text = "replace: userPassword\nu: new".replace("u:", "userPassword:");
    assert_eq!(plain.modify(USER, &text).code, 0);
    assert_eq!(shown(&mut plain), before, "a modify request is not followed");
}

#[test]
fn a_password_that_cannot_be_hashed_is_refused() {
    let mut site = site("");
    let before = site.read(USER, &["*", "+"]);
    let answer = set(&mut site, b"\xff\xfe");
    assert_eq!(answer.brief(), (19, "the password of a Samba account must be UTF-8"));
    assert_eq!(site.read(USER, &["*", "+"]), before);
}

/// What the client may not write itself follows; a client that may not change the password changes nothing.
#[test]
fn the_password_alone_needs_rights() {
    let mut site = site(
        "access to attrs=userPassword by dn=\"cn=may,dc=ex\" write by * auth\n\
         access to attrs=sambaNTPassword,sambaPwdLastSet,shadowLastChange by * none\naccess to * by * read",
    );
    let before = site.read(USER, &["*", "+"]);
    site.become_("cn=stranger,dc=ex");
    assert_eq!(set(&mut site, b"password").code, 50);
    // A refusal that depends on the entry would tell of its class.
    assert_eq!(set(&mut site, b"\xff\xfe").code, 50);
    site.become_("cn=root,dc=ex");
    assert_eq!(site.read(USER, &["*", "+"]), before);
    site.become_("cn=may,dc=ex");
    assert_eq!(set(&mut site, b"password").code, 0);
    site.become_("cn=root,dc=ex");
    assert!(shown(&mut site).concat().contains("8846f7eaee8fb117ad06bdd830b7586c"));
}
