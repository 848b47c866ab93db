//! Limits of searches that go on are those of the configuration in force.

use std::sync::Arc;

use ironbark_directory::{
    complete_entries,
    overlay::{Decision, IncomingRequest, Overlay, RequestHooks},
};
use ironbark_ldap_proto::{
    Request, Scope,
    controls::{Control, PagedResults},
};
use ironbark_model::{Attribute, Dn, Entry};

use crate::revocation::{begin, reconfigure, rest, search};
use ironbark_harness::{Site, TestClient, read_answer};

const COUNT: usize = 400;

fn reader(site: &Site) -> TestClient {
    let mut reader = site.connect();
    reader.become_("cn=b,ou=p,dc=ex");
    reader
}

fn stored() -> (Site, TestClient) {
    let mut site = Site::populated("envflags nosync\naccess to * by * read");
    for n in 0..COUNT {
        site.must_add(&format!("cn=m{n},dc=ex"), "objectClass: person\nsn: s");
    }
    let reader = reader(&site);
    (site, reader)
}

#[test]
fn a_later_page_and_a_later_slice_may_look_through_as_many_as_are_allowed_now() {
    let limited = "envflags nosync\nlimits users size.unchecked=100\naccess to * by * read";
    let (site, mut reader) = stored();
    let mut out = Vec::new();
    let run = begin(
        &mut reader,
        &search("dc=ex", Scope::WholeSubtree, "(cn=m*)", &[]),
        &mut out,
    );
    let page = |pager: &mut TestClient, cookie: &[u8]| {
        let paged = Control::critical(PagedResults { size: 2, cookie });
        let pdu = search("dc=ex", Scope::WholeSubtree, "(cn=m*)", &[&paged]);
        let (worker, session) = pager.parts();
        let mut out = Vec::new();
        worker.start(session, &pdu, &mut out);
        read_answer(&out)
    };
    let mut pager = self::reader(&site);
    let first = page(&mut pager, b"");
    assert_eq!((first.code, first.entries.len()), (0, 2));
    reconfigure(&site, "", limited);
    let left = rest(&mut reader, run);
    assert_eq!((left.code, left.entries.len()), (11, 0));
    let second = page(&mut pager, &first.cookie.expect("a cookie"));
    assert_eq!((second.code, second.entries.len()), (11, 0));
}

/// Gives the entries of each search.
struct Gives;

impl RequestHooks for Gives {
    fn decide(&self, request: &IncomingRequest<'_>) -> Decision {
        if !matches!(request.request, Request::Search(_)) {
            return Decision::Continue;
        }
        let schema = &request.configuration.schema;
        let entry = |n: usize| {
            let name = format!("cn=m{n},dc=ex");
            let mut entry = Entry::new(Dn::parse(schema, name.as_bytes()).expect("a DN"));
            for (name, value) in [("objectClass", "person"), ("cn", "m"), ("sn", "s")] {
                let description = schema.attribute_description(name.as_bytes()).expect("known");
                let values = vec![value.as_bytes().to_vec()];
                entry.attributes.push(Attribute { description, values });
            }
            entry
        };
        let entries = (0..COUNT).map(entry).collect();
        Decision::Entries(complete_entries(request.configuration, entries))
    }
}

#[test]
fn given_entries_have_the_limits_of_the_configuration_in_force() {
    let lines = |more: &str| format!("envflags nosync\n{more}\naccess to * by * read\noverlay tested");
    let question = search("dc=ex", Scope::WholeSubtree, "(sn=s)", &[]);
    // The whole, or why it ends.
    for (more, code, count) in [
        ("", 0, COUNT),
        ("limits users size=300", 4, 300),
        ("limits users size.unchecked=disabled", 11, 0),
    ] {
        let mut site = Site::open_with(&lines(""), |_, _| {
            Ok(Overlay {
                requests: Some(Arc::new(Gives)),
                ..Overlay::new("gives")
            })
        });
        site.must_add("dc=ex", "objectClass: dcObject\nobjectClass: organization\no: ex");
        let mut reader = reader(&site);
        let mut out = Vec::new();
        let run = begin(&mut reader, &question, &mut out);
        let sent = String::from_utf8_lossy(&out).matches("person").count();
        reconfigure(&site, "", &lines(more));
        let left = rest(&mut reader, run);
        assert_eq!(
            (left.code, left.entries.len()),
            (code, count.saturating_sub(sent)),
            "{more}"
        );
    }
}
