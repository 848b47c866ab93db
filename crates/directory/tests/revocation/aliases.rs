//! Searches that go on after aliases or the base object have changed: on a later page, and under another configuration.

use ironbark_ldap_proto::{
    DerefAliases, EncodeControl, Filter, List, MessageId, Request, Scope, SearchRequest,
    controls::{Control, PagedResults, SortKey, SortKeys},
    message::encode_request,
};

use crate::revocation::{
    begin,
    by_data::{LESS, change},
    reconfigure, rest,
};
use ironbark_harness::{DecodedAnswer, Site, TestClient, read_answer};

type Change = &'static dyn Fn(&mut Site);

const RULES: &str = "envflags nosync\naccess to dn.base=\"cn=way,ou=p,dc=ex\" by group=\"cn=g,dc=ex\" read by * none\n\
                     access to * by * read";
const GROUP: &str = "objectClass: groupOfNames\nmember: cn=b,ou=p,dc=ex\nmember: cn=x";

/// An alias in `ou=p` leads to `ou=far` with people `m0` and so on.
fn site(count: usize) -> (Site, TestClient) {
    let mut site = Site::populated(RULES);
    site.must_add("cn=g,dc=ex", GROUP);
    site.must_add("ou=far,dc=ex", "objectClass: organizationalUnit");
    site.must_add(
        "cn=way,ou=p,dc=ex",
        "objectClass: alias\nobjectClass: extensibleObject\naliasedObjectName: ou=far,dc=ex",
    );
    for n in 0..count {
        site.must_add(&format!("cn=m{n},ou=far,dc=ex"), "objectClass: person\nsn: s");
    }
    let mut reader = site.connect();
    reader.become_("cn=b,ou=p,dc=ex");
    (site, reader)
}

/// A search for people whose name begins with `m`, through aliases.
fn question(base: &str, controls: &[&dyn EncodeControl]) -> Vec<u8> {
    let request = SearchRequest {
        base: base.as_bytes(),
        scope: Scope::WholeSubtree,
        deref_aliases: DerefAliases::InSearching,
        size_limit: 0,
        time_limit: 0,
        types_only: false,
        filter: Filter::parse(b"(cn=m*)", 10).expect("a filter"),
        attributes: List::new(&[]),
    };
    let mut pdu = Vec::new();
    let id = MessageId::new(1).expect("in range");
    encode_request(&mut pdu, id, &Request::Search(request), controls);
    pdu
}

fn page(client: &mut TestClient, base: &str, is_sorted: bool, cookie: &[u8]) -> DecodedAnswer {
    let by_name = [SortKey {
        attribute: b"cn",
        ordering_rule: Some(b"2.5.13.3"),
        reverse: false,
    }];
    let sort = Control::critical(SortKeys(List::new(&by_name)));
    let paged = Control::critical(PagedResults { size: 2, cookie });
    let both: [&dyn EncodeControl; 2] = [&paged, &sort];
    let pdu = question(base, both.split_at(1 + usize::from(is_sorted)).0);
    let (worker, session) = client.parts();
    let mut out = Vec::new();
    worker.start(session, &pdu, &mut out);
    read_answer(&out)
}

fn names(answer: &DecodedAnswer) -> Vec<&str> {
    answer.entries.iter().filter_map(|entry| entry.lines().next()).collect()
}

/// Asks for a page, makes a change, and asks for the next one.
fn second_page(is_sorted: bool, change: impl Fn(&mut Site)) -> DecodedAnswer {
    let (mut site, mut reader) = site(8);
    let first = page(&mut reader, "ou=p,dc=ex", is_sorted, b"");
    assert_eq!(names(&first), ["dn: cn=m0,ou=far,dc=ex", "dn: cn=m1,ou=far,dc=ex"]);
    change(&mut site);
    page(&mut reader, "ou=p,dc=ex", is_sorted, &first.cookie.expect("a cookie"))
}

#[test]
fn a_later_page_shows_what_aliases_lead_to_now() {
    for is_sorted in [false, true] {
        let second = second_page(is_sorted, |site| {
            site.must_add("cn=m00,ou=far,dc=ex", "objectClass: person\nsn: s");
        });
        assert_eq!(second.code, 0);
        assert_eq!(names(&second), ["dn: cn=m2,ou=far,dc=ex", "dn: cn=m3,ou=far,dc=ex"]);
    }
}

#[test]
fn a_later_page_shows_nothing_behind_an_alias_that_is_hidden_or_leads_elsewhere_now() {
    let changes: [(&str, Change); 6] = [
        ("the member is taken out of the group", &|site| {
            change(site, "cn=g,dc=ex", LESS);
        }),
        ("the rules are others", &|site| {
            let rules = "envflags nosync\naccess to dn.base=\"cn=way,ou=p,dc=ex\" by * none\naccess to * by * read";
            reconfigure(site, "", rules);
        }),
        ("the alias is deleted", &|site| {
            assert_eq!(site.delete("cn=way,ou=p,dc=ex").code, 0);
        }),
        ("the alias leads elsewhere", &|site| {
            change(
                site,
                "cn=way,ou=p,dc=ex",
                "replace: aliasedObjectName\naliasedObjectName: cn=g,dc=ex\n-",
            );
        }),
        ("its target has another name", &|site| {
            assert_eq!(site.rename("ou=far,dc=ex", "ou=other", None).code, 0);
        }),
        ("another entry is the base", &|site| {
            assert_eq!(site.rename("ou=p,dc=ex", "ou=q", None).code, 0);
            site.must_add("ou=p,dc=ex", "objectClass: organizationalUnit");
        }),
    ];
    for (name, change) in changes {
        for is_sorted in [false, true] {
            let second = second_page(is_sorted, change);
            assert_eq!((second.code, names(&second)), (0, Vec::new()), "{name}, {is_sorted}");
        }
    }
}

#[test]
fn a_slice_under_another_configuration_shows_nothing_behind_a_hidden_alias() {
    let (site, mut reader) = site(400);
    let mut out = Vec::new();
    let run = begin(&mut reader, &question("ou=p,dc=ex", &[]), &mut out);
    assert!(!out.is_empty());
    let rules = "envflags nosync\naccess to dn.base=\"cn=way,ou=p,dc=ex\" by * none\naccess to * by * read";
    reconfigure(&site, "", rules);
    let left = rest(&mut reader, run);
    assert_eq!((left.code, left.entries.len()), (0, 0));
}

#[test]
fn a_slice_under_another_configuration_goes_on_behind_aliases() {
    let (site, mut reader) = site(400);
    let mut out = Vec::new();
    let run = begin(&mut reader, &question("ou=p,dc=ex", &[]), &mut out);
    let sent = String::from_utf8_lossy(&out).matches("person").count();
    // Twice, before the search has taken a step.
    for _ in 0..2 {
        reconfigure(&site, "", RULES);
    }
    let left = rest(&mut reader, run);
    assert_eq!((left.code, left.entries.len()), (0, 400 - sent));
}

#[test]
fn a_sorted_page_shows_what_is_below_the_base_now() {
    let (mut site, mut reader) = site(8);
    let first = page(&mut reader, "ou=far,dc=ex", true, b"");
    assert_eq!(first.entries.len(), 2);
    assert_eq!(site.rename("cn=m2,ou=far,dc=ex", "cn=m2", Some("ou=p,dc=ex")).code, 0);
    let second = page(&mut reader, "ou=far,dc=ex", true, &first.cookie.expect("a cookie"));
    assert_eq!(names(&second), ["dn: cn=m3,ou=far,dc=ex", "dn: cn=m4,ou=far,dc=ex"]);
    assert_eq!(site.rename("ou=far,dc=ex", "ou=gone", None).code, 0);
    site.must_add("ou=far,dc=ex", "objectClass: organizationalUnit");
    let third = page(&mut reader, "ou=far,dc=ex", true, &second.cookie.expect("a cookie"));
    assert_eq!((third.code, names(&third)), (0, Vec::new()));
}
