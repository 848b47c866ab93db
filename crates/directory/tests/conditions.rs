//! Conditions that are checked before a request is served: its syntax, `require`, `restrict`, `readonly`, `allow`,
//! `disallow`.

use ironbark_harness::{DecodedAnswer, Site};
use ironbark_ldap_proto::{
    Authentication, BindRequest, CompareRequest, DerefAliases, ExtendedRequest, Request, Scope, SearchRequest,
    controls::{Control, ProxiedAuthorization},
    extended::{password_modify, start_tls, who_am_i},
};
use ironbark_model::Filter;

const A: &str = "cn=a,ou=p,dc=ex";

fn compare(site: &mut Site) -> DecodedAnswer {
    let request = CompareRequest {
        entry: A.as_bytes(),
        attribute: b"sn",
        value: b"s",
    };
    site.send(&Request::Compare(request), &[])
}

fn bind_as(site: &mut Site, version: i32, name: &str, password: &str) -> DecodedAnswer {
    let request = BindRequest {
        version,
        name: name.as_bytes(),
        authentication: Authentication::Simple(password.as_bytes()),
    };
    site.send(&Request::Bind(request), &[])
}

fn extended(site: &mut Site, oid: &str) -> DecodedAnswer {
    let request = ExtendedRequest {
        name: oid.as_bytes(),
        value: None,
    };
    site.send(&Request::Extended(request), &[])
}

/// A site with settings before its database.
fn globally(settings: &str) -> Site {
    Site::open_globally(settings, "")
}

#[test]
fn a_request_is_read_before_anything_else_is_looked_at() {
    let mut site = Site::populated("");
    site.become_("");
    for name in [A, "dc=elsewhere"] {
        assert_eq!(site.modify(name, "add: nope\nv: x").code, 17, "{name}");
        assert_eq!(site.modify(name, "add: seeAlso\nv: x").code, 21, "{name}");
        assert_eq!(site.modify(name, "add: cn\nv: x\nv: X").code, 20, "{name}");
        assert_eq!(site.add(name, "nope: x").code, 17, "{name}");
        assert_eq!(site.add(name, "seeAlso: x").code, 21, "{name}");
        assert_eq!(site.rename(name, "bad", None).brief(), (34, "invalid new RDN"));
        assert_eq!(
            site.rename(name, "cn=q", Some("bad")).brief(),
            (34, "invalid newSuperior")
        );
    }
    let unauthenticated = (8, "modifications require authentication");
    assert_eq!(site.modify(A, "replace: sn\nv: x").brief(), unauthenticated);
    assert_eq!(site.add("cn=z,dc=ex", "cn: z").brief(), unauthenticated);
    assert_eq!(site.rename(A, "cn=q", None).brief(), unauthenticated);
    let nowhere = (53, "no global superior knowledge");
    assert_eq!(site.modify("dc=elsewhere", "replace: sn\nv: x").brief(), nowhere);
    // Only an add looks at the name before the rest.
    assert_eq!(site.add("cn=Subschema", "nope: x").code, 68);
    assert_eq!(site.modify("cn=Subschema", "add: nope\nv: x").code, 17);
    assert_eq!(site.modify("cn=Subschema", "replace: sn\nv: x").code, 53);
}

#[test]
fn a_bind_request_that_failed_is_a_bind_all_the_same() {
    let mut site = Site::open("require bind");
    site.session.bound_version = Some(3);
    site.populate();
    site.session.bound_version = None;
    assert_eq!(compare(&mut site).brief(), (1, "BIND required"));
    assert_eq!(bind_as(&mut site, 3, "no name", "x").code, 34);
    assert_eq!(compare(&mut site).brief(), (1, "BIND required"));
    assert_eq!(bind_as(&mut site, 3, A, "wrong").code, 49);
    assert_eq!(compare(&mut site).code, 6);
}

#[test]
fn strong_authentication_is_any_authentication() {
    let mut site = Site::populated("require strong");
    assert_eq!(compare(&mut site).code, 6);
    site.become_("");
    assert_eq!(compare(&mut site).brief(), (8, "strong(er) authentication required"));
}

#[test]
fn clients_of_version_two_may_be_excluded() {
    let mut site = globally("allow bind_v2\nrequire LDAPv3");
    site.populate();
    assert_eq!(bind_as(&mut site, 2, "cn=root,dc=ex", "secret").code, 0);
    assert_eq!(
        compare(&mut site).brief(),
        (1, "operation restricted to LDAPv3 clients")
    );
}

#[test]
fn a_global_restriction_is_about_anonymous_binds_too() {
    let mut site = globally("restrict bind");
    assert_eq!(bind_as(&mut site, 3, "", "").brief(), (53, "operation restricted"));
    let mut site = Site::open("restrict bind");
    assert_eq!(bind_as(&mut site, 3, "", "").code, 0);
}

#[test]
fn extended_operations_are_restricted_together_or_one_by_one() {
    let mut site = globally("restrict extended");
    assert_eq!(
        extended(&mut site, who_am_i::DESCRIPTOR.oid).brief(),
        (53, "operation restricted")
    );
    let mut site = globally(&format!("restrict extended={}", who_am_i::DESCRIPTOR.oid));
    assert_eq!(
        extended(&mut site, who_am_i::DESCRIPTOR.oid).brief(),
        (53, "extended operation restricted")
    );
    // The request is carried out: the rootdn has no entry.
    assert_eq!(extended(&mut site, password_modify::OID).code, 32);
}

#[test]
fn a_password_modify_is_no_write_but_changes_something() {
    // The rootdn has no entry to change.
    let mut site = globally("restrict write");
    assert_eq!(extended(&mut site, password_modify::OID).code, 32);
    let mut site = globally("readonly on");
    assert_eq!(
        extended(&mut site, password_modify::OID).brief(),
        (53, "operation restricted")
    );
    site.become_("");
    assert_eq!(
        extended(&mut site, password_modify::OID).brief(),
        (8, "only authenticated users may change passwords")
    );
}

#[test]
fn start_tls_is_unknown_without_tls() {
    let mut site = Site::open("");
    assert_eq!(
        extended(&mut site, start_tls::DESCRIPTOR.oid).brief(),
        (2, "unsupported extended operation")
    );
}

#[test]
fn anonymous_clients_may_be_allowed_to_name_an_identity() {
    for (settings, expected) in [
        ("", (123, "anonymous proxied authorization not allowed")),
        ("allow proxy_authz_anon", (0, "")),
    ] {
        let mut site = globally(settings);
        site.become_("");
        let request = Request::Extended(ExtendedRequest {
            name: who_am_i::DESCRIPTOR.oid.as_bytes(),
            value: None,
        });
        let as_anonymous = Control::critical(ProxiedAuthorization(b""));
        assert_eq!(site.send(&request, &[&as_anonymous]).brief(), expected);
        let as_another = Control::critical(ProxiedAuthorization(b"dn:cn=a,ou=p,dc=ex"));
        assert_eq!(site.send(&request, &[&as_another]).code, 123);
    }
}

#[test]
fn an_extensible_item_with_neither_rule_nor_type_is_undefined() {
    let mut site = Site::populated("");
    for is_negated in [false, true] {
        let item = Filter::Extensible {
            rule: None,
            attribute: None,
            value: b"x".as_slice().into(),
            dn_attributes: true,
        };
        let request = SearchRequest {
            base: b"dc=ex",
            scope: Scope::WholeSubtree,
            deref_aliases: DerefAliases::Never,
            size_limit: 0,
            time_limit: 0,
            types_only: false,
            filter: if is_negated { Filter::Not(Box::new(item)) } else { item },
            attributes: [].as_slice().into(),
        };
        let answer = site.send(&Request::Search(request), &[]);
        assert_eq!((answer.code, answer.entries.len()), (0, 0));
    }
}
