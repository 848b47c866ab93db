//! The overlay denyop.
#![allow(clippy::expect_used, reason = "a test that cannot go on fails")]

use ironbark_harness::Site;
use ironbark_ldap_proto::{
    Authentication, BindRequest, CompareRequest, ExtendedRequest, Request, Scope,
    extended::{password_modify, password_modify::PasswordModifyRequest, who_am_i},
};

const NAME: &str = "cn=x,dc=ex";
const REFUSED: (u32, &str) = (53, "operation not allowed within namingContext");

fn site(lines: &str) -> Site {
    let lines = format!("overlay denyop\n{lines}");
    Site::open_of(&ironbark_overlays::registry(), &lines, ironbark_overlays::make)
}

/// The operations that are refused, of all that there are.
fn refused(site: &mut Site) -> Vec<&'static str> {
    site.become_("cn=root,dc=ex");
    let bind = BindRequest {
        version: 3,
        name: b"cn=root,dc=ex",
        authentication: Authentication::Simple(b"secret"),
    };
    let compare = CompareRequest {
        entry: NAME.as_bytes(),
        attribute: b"cn",
        value: b"x",
    };
    let mut value = Vec::new();
    let change = PasswordModifyRequest {
        user_identity: Some(NAME.as_bytes()),
        old_password: None,
        new_password: Some(b"new"),
    };
    change.encode(&mut value);
    let extended = ExtendedRequest {
        name: password_modify::OID.as_bytes(),
        value: Some(&value),
    };
    let answers = [
        ("add", site.add("cn=y,dc=ex", "objectClass: person\nsn: s")),
        ("modify", site.modify(NAME, "replace: sn\nsn: t")),
        ("modrdn", site.rename("cn=z,dc=ex", "cn=zz", None)),
        ("compare", site.send(&Request::Compare(compare), &[])),
        ("extended", site.send(&Request::Extended(extended), &[])),
        (
            "search",
            site.search_as_self(NAME, Scope::BaseObject, "(objectClass=*)", &["*"]),
        ),
        ("delete", site.delete("cn=y,dc=ex")),
        ("bind", site.send(&Request::Bind(bind), &[])),
    ];
    let refused = answers.iter().filter(|(_, answer)| answer.brief() == REFUSED);
    refused.map(|(name, _)| *name).collect()
}

#[test]
fn what_is_named_is_refused_and_the_rest_is_not() {
    assert_eq!(refused(&mut site("")), [""; 0]);
    for operations in [
        "add",
        "modify",
        "modrdn",
        "compare",
        "extended",
        "search",
        "delete",
        "bind",
        "add,delete",
        "modify,modrdn,bind",
    ] {
        let mut site = site(&format!("denyop {operations}"));
        let mut expected: Vec<_> = operations.split(',').collect();
        let mut found = refused(&mut site);
        expected.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, expected);
    }
    let mut all = site("denyop add,modify,modrdn,compare\ndenyop extended,search,delete,bind,unbind");
    assert_eq!(refused(&mut all).len(), 8);
    assert_eq!(
        all.send(&Request::Extended(who_am_i::request()), &[]).code,
        0,
        "it is about no entry"
    );
}
