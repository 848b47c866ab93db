//! Pages: each is a request of its own, under what is in force when it comes.

use ironbark_ldap_proto::{
    List, Scope,
    controls::{Control, PagedResults, SortKey, SortKeys},
};

use crate::revocation::{reconfigure, search};
use ironbark_harness::{DecodedAnswer, Site, TestClient, read_answer};

fn page_of(client: &mut TestClient, (base, filter): (&str, &str), size: u32, cookie: &[u8]) -> DecodedAnswer {
    let page = Control::critical(PagedResults { size, cookie });
    let pdu = search(base, Scope::WholeSubtree, filter, &[&page]);
    send(client, &pdu)
}

fn send(client: &mut TestClient, pdu: &[u8]) -> DecodedAnswer {
    let (worker, session) = client.parts();
    let mut out = Vec::new();
    worker.start(session, pdu, &mut out);
    read_answer(&out)
}

fn page(client: &mut TestClient, cookie: &[u8]) -> DecodedAnswer {
    page_of(client, ("dc=ex", "(cn=m*)"), 2, cookie)
}

/// Three entries of a search that is sorted by cn, or the other way round.
fn sorted_page(client: &mut TestClient, filter: &str, reverse: bool, cookie: &[u8]) -> DecodedAnswer {
    let by_name = [SortKey {
        attribute: b"cn",
        ordering_rule: Some(b"2.5.13.3"),
        reverse,
    }];
    let sort = Control::critical(SortKeys(List::new(&by_name)));
    let paged = Control::critical(PagedResults { size: 3, cookie });
    let pdu = search("dc=ex", Scope::WholeSubtree, filter, &[&sort, &paged]);
    send(client, &pdu)
}

fn site(lines: &str) -> (Site, TestClient) {
    let mut site = Site::populated(&format!("envflags nosync\n{lines}\naccess to * by * read"));
    for n in 0..8 {
        site.must_add(&format!("cn=m{n},dc=ex"), "objectClass: person\nsn: s");
    }
    let mut reader = site.connect();
    reader.become_("cn=b,ou=p,dc=ex");
    (site, reader)
}

#[test]
fn each_page_is_answered_under_the_configuration_in_force() {
    let refusals: [(&str, &str, u32); 5] = [
        ("", "restrict search", 53),
        ("", "require SASL", 8),
        ("security ssf=1", "", 13),
        ("", "limits users size.prtotal=disabled", 11),
        ("", "limits users size.pr=1", 11),
    ];
    for (settings, lines, code) in refusals {
        let (site, mut reader) = site("");
        let cookie = page(&mut reader, b"").cookie.expect("a cookie");
        reconfigure(
            &site,
            settings,
            &format!("envflags nosync\n{lines}\naccess to * by * read"),
        );
        let refused = page(&mut reader, &cookie);
        assert_eq!((refused.code, refused.entries.len()), (code, 0), "{settings}{lines}");
        // Nothing was sent, so the cookie is as good as before.
        reconfigure(&site, "", "envflags nosync\naccess to * by * read");
        let next = page(&mut reader, &cookie);
        assert_eq!((next.code, next.entries.len()), (0, 2), "{settings}{lines}");
        assert!(next.entries[0].starts_with("dn: cn=m2,"), "{:?}", next.entries);
    }
}

#[test]
fn a_page_shows_what_the_rules_in_force_show() {
    let (site, mut reader) = site("");
    let first = page(&mut reader, b"");
    assert!(first.entries[0].contains("sn: s"));
    reconfigure(
        &site,
        "",
        "envflags nosync\naccess to attrs=sn by * none\naccess to * by * read",
    );
    let second = page(&mut reader, &first.cookie.expect("a cookie"));
    assert_eq!(second.entries.len(), 2);
    assert!(!second.entries[0].contains("sn: s"));
    reconfigure(
        &site,
        "",
        "envflags nosync\naccess to dn.base=\"cn=m5,dc=ex\" by * none\naccess to * by * read",
    );
    let third = page(&mut reader, &second.cookie.expect("a cookie"));
    let names: Vec<_> = third.entries.iter().filter_map(|entry| entry.lines().next()).collect();
    assert_eq!(names, ["dn: cn=m4,dc=ex", "dn: cn=m6,dc=ex"]);
    reconfigure(&site, "", "envflags nosync\naccess to * by * none");
    let last = page(&mut reader, &third.cookie.expect("a cookie"));
    assert_eq!((last.code, last.entries.len()), (32, 0));
}

#[test]
fn a_page_is_read_under_the_schema_in_force() {
    let (mut site, mut reader) = site("");
    let first = page(&mut reader, b"");
    let settings = "attributetype ( 1.2.3.4.5 NAME 'fresh' SUP name )";
    reconfigure(&site, settings, "envflags nosync\naccess to * by * read");
    let text = "objectClass: person\nobjectClass: extensibleObject\nsn: s\nfresh: x";
    site.must_add("cn=m8,dc=ex", text);
    let (mut cookie, mut names) = (first.cookie.expect("a cookie"), Vec::new());
    while !cookie.is_empty() {
        let next = page(&mut reader, &cookie);
        assert_eq!(next.code, 0);
        names.extend(next.entries);
        cookie = next.cookie.expect("a cookie");
    }
    assert_eq!(names.len(), 7);
    assert!(names[6].contains("fresh: x"), "{names:?}");
}

#[test]
fn a_cookie_belongs_to_its_request_and_requester() {
    let (site, mut reader) = site("");
    let question = ("dc=ex", "(cn=m*)");
    let cookie = page_of(&mut reader, question, 2, b"").cookie.expect("a cookie");
    for other in [("ou=p,dc=ex", "(cn=m*)"), ("dc=ex", "(sn=s)")] {
        let refused = page_of(&mut reader, other, 2, &cookie);
        assert_eq!((refused.code, refused.entries.len()), (53, 0), "{other:?}");
    }
    let by_name = SortKey {
        attribute: b"cn",
        ordering_rule: Some(b"2.5.13.3"),
        reverse: false,
    };
    let keys = [by_name];
    let sort = Control::critical(SortKeys(List::new(&keys)));
    let paged = Control::critical(PagedResults {
        size: 2,
        cookie: &cookie,
    });
    let sorted = search("dc=ex", Scope::WholeSubtree, "(cn=m*)", &[&sort, &paged]);
    assert_eq!(send(&mut reader, &sorted).code, 53);
    reader.become_("cn=c,ou=p,dc=ex");
    assert_eq!(page(&mut reader, &cookie).code, 53);
    reader.become_("cn=b,ou=p,dc=ex");
    // The size and the spelling of the base may be others.
    let next = page_of(&mut reader, ("DC=ex", "(cn=m*)"), 3, &cookie);
    assert_eq!((next.code, next.entries.len()), (0, 3));
    drop(site);
}

#[test]
fn sorted_pages_go_on_under_another_configuration() {
    let (site, mut reader) = site("");
    let mut next = |cookie: &[u8]| sorted_page(&mut reader, "(cn=m*)", true, cookie);
    let first = next(b"");
    assert!(first.entries[0].starts_with("dn: cn=m7,"), "{:?}", first.entries);
    reconfigure(
        &site,
        "",
        "envflags nosync\naccess to dn.base=\"cn=m3,dc=ex\" by * none\naccess to * by * read",
    );
    let second = next(&first.cookie.expect("a cookie"));
    let names: Vec<_> = second.entries.iter().filter_map(|entry| entry.lines().next()).collect();
    assert_eq!(names, ["dn: cn=m4,dc=ex", "dn: cn=m2,dc=ex", "dn: cn=m1,dc=ex"]);
}

#[test]
fn sorted_pages_go_on_when_another_database_goes() {
    let (site, mut reader) = site("");
    std::fs::create_dir(site.folder.path().join("two")).expect("a folder");
    let open = "envflags nosync\naccess to * by * read";
    let second = format!("{open}\ndatabase mdb\nsuffix o=two\ndirectory DIR/two\n");
    reconfigure(&site, "", &second);
    let mut next = |cookie: &[u8]| sorted_page(&mut reader, "(cn=m*)", false, cookie);
    let first = next(b"");
    assert_eq!((first.code, first.entries.len()), (0, 3));
    reconfigure(&site, "", open);
    let page = next(&first.cookie.expect("a cookie"));
    assert_eq!((page.code, page.entries.len()), (0, 3), "{:?}", page.entries);
}

#[test]
fn a_sorted_page_tells_nothing_of_what_may_not_be_searched_now() {
    let (site, mut reader) = site("");
    let mut next = |cookie: &[u8]| sorted_page(&mut reader, "(&(cn=m*)(sn=s))", false, cookie);
    let first = next(b"");
    assert_eq!(first.entries.len(), 3);
    reconfigure(
        &site,
        "",
        "envflags nosync\naccess to dn.base=\"cn=m4,dc=ex\" by * read\naccess to attrs=sn by * none\n\
         access to * by * read",
    );
    // The entries may be read. But that they match would tell their surnames.
    let second = next(&first.cookie.expect("a cookie"));
    let names: Vec<_> = second.entries.iter().filter_map(|entry| entry.lines().next()).collect();
    assert_eq!(names, ["dn: cn=m4,dc=ex"]);
}

#[test]
fn a_page_does_not_go_on_in_a_database_that_the_search_no_longer_covers() {
    let glued = |line: &str| {
        format!(
            "database mdb\nsuffix ou=g,dc=ex\nrootdn cn=root,dc=ex\nenvflags nosync\ndirectory DIR/g\n{line}\n\
             access to * by * read\n"
        )
    };
    let own = "envflags nosync\naccess to * by * read";
    let (mut site, mut reader) = site("");
    std::fs::create_dir(site.folder.path().join("g")).expect("a folder");
    reconfigure(&site, &glued("subordinate"), own);
    site.must_add("ou=g,dc=ex", "objectClass: organizationalUnit");
    for n in 0..4 {
        site.must_add(&format!("cn=m{n},ou=g,dc=ex"), "objectClass: person\nsn: s");
    }
    let question = ("dc=ex", "(cn=m*)");
    let first = page_of(&mut reader, question, 9, b"");
    assert!(first.entries[8].contains(",ou=g,dc=ex"), "{:?}", first.entries);
    let cookie = first.cookie.expect("a cookie");
    reconfigure(&site, &glued("restrict search"), own);
    let refused = page_of(&mut reader, question, 9, &cookie);
    assert_eq!((refused.code, refused.entries.len()), (52, 0));
}
