//! Entries of which a provider sends what has changed (DirSync): name and values become what they are there.

use ironbark_directory::{
    CookiePlace, Incoming, LogStep, LoggedChange, LoggedOperation, OutcomeKind, ReplicaMapping, Replicated,
    ReplicatedEntry,
};
use ironbark_model::ResultCode;
use ironbark_store::change::{RequestedKind, RequestedModification};

use ironbark_harness::{
    Site,
    peer::{LINES, context, made, mapping, message, names, rows, send},
};

fn asked(site: &Site) -> ReplicaMapping {
    ReplicaMapping {
        needs_csn: false,
        own_csns: true,
        ..mapping(site)
    }
}

fn place(cookie: &[u8]) -> CookiePlace {
    CookiePlace {
        cookie: cookie.to_vec(),
        content: b"content".to_vec(),
        left_out: vec!["objectsid".into()],
    }
}

fn take(site: &Site, incoming: Incoming, cookie: Option<&[u8]>) -> Result<(OutcomeKind, bool), ResultCode> {
    let change = Replicated {
        step: cookie.map(|cookie| LogStep::Cover(place(cookie))),
        ..message(asked(site), incoming)
    };
    let sent = send(site, change);
    sent.map(|outcome| (outcome.kind, outcome.has_displaced))
        .map_err(|error| error.result_code)
}

fn added(site: &Site, name: &str, uuid: u8) -> (OutcomeKind, bool) {
    let entry = made(name, uuid, "", &[("objectClass", "person"), ("cn", "a"), ("sn", "s")]);
    let attributes = entry.attributes.into_iter().filter(|(name, _)| &**name != "entryCSN");
    let attributes = attributes.collect();
    take(site, Incoming::Entry(ReplicatedEntry { attributes, ..entry }), None).expect("taken")
}

fn revision(name: &str, uuid: u8, changes: &[(RequestedKind, &str, &[&str])]) -> Incoming {
    let change = |(kind, attribute, values): &(RequestedKind, &str, &[&str])| RequestedModification {
        kind: *kind,
        attribute: (*attribute).into(),
        values: values.iter().map(|value| value.as_bytes().to_vec()).collect(),
    };
    Incoming::Logged(LoggedChange {
        dn: name.into(),
        uuid: Some([uuid; 16]),
        operation: LoggedOperation::Revise(changes.iter().map(change).collect()),
        base: None,
    })
}

fn held(site: &Site) -> Option<CookiePlace> {
    CookiePlace::of_database(&context(site)).expect("readable")
}

fn site() -> Site {
    let site = Site::open_server(2, LINES);
    for (name, uuid) in [("dc=ex", 1), ("cn=a,dc=ex", 5), ("cn=b,cn=a,dc=ex", 6)] {
        assert_eq!(added(&site, name, uuid), (OutcomeKind::Added, false));
    }
    site
}

#[test]
fn what_comes_again_changes_nothing() {
    let mut site = site();
    let before = rows(&site).len();
    let change = || {
        revision(
            "cn=c,dc=ex",
            5,
            &[
                (RequestedKind::Replace, "cn", &["c"]),
                (RequestedKind::Replace, "sn", &["t", "T", "u"]),
                (RequestedKind::Replace, "telephoneNumber", &[]),
                (RequestedKind::Delete, "description", &["none"]),
                (RequestedKind::Add, "description", &["d"]),
            ],
        )
    };
    assert_eq!(take(&site, change(), None), Ok((OutcomeKind::Renamed, false)));
    assert_eq!(names(&site), ["cn=b,cn=c,dc=ex", "cn=c,dc=ex", "dc=ex"]);
    let read = site.read("cn=c,dc=ex", &["cn", "sn", "description"]).expect("there");
    assert_eq!(read, "cn: c\nsn: t\nsn: u\ndescription: d\n");
    assert_eq!(held(&site), None);
    // Not even a row of the log: followers hear of nothing.
    assert_eq!(rows(&site).len(), before + 1);
    assert_eq!(take(&site, change(), Some(b"cookie")), Ok((OutcomeKind::Same, false)));
    assert_eq!((rows(&site).len(), held(&site)), (before + 1, Some(place(b"cookie"))));
    // The cookie comes with the change.
    let gone = revision("cn=c,dc=ex", 5, &[(RequestedKind::Replace, "description", &[])]);
    assert_eq!(take(&site, gone, Some(b"next")), Ok((OutcomeKind::Modified, false)));
    assert_eq!(held(&site), Some(place(b"next")));
    assert_eq!(site.read("cn=c,dc=ex", &["description"]).expect("there"), "");
}

#[test]
fn a_change_of_an_entry_that_is_not_here_leads_to_a_comparison() {
    let site = site();
    let change = revision("cn=x,dc=ex", 9, &[(RequestedKind::Replace, "sn", &["t"])]);
    assert_eq!(
        take(&site, change, Some(b"cookie")),
        Err(ResultCode::SYNC_REFRESH_REQUIRED)
    );
    assert_eq!(held(&site), None, "the cookie goes with the change");
}

#[test]
fn what_leaves_its_name_with_what_is_below_it_is_told() {
    let site = site();
    let moved = revision("cn=a,dc=ex", 6, &[]);
    assert_eq!(take(&site, moved, None), Ok((OutcomeKind::Renamed, true)));
    let returned = revision("cn=z,dc=ex", 5, &[(RequestedKind::Replace, "cn", &["z"])]);
    assert_eq!(take(&site, returned, None), Ok((OutcomeKind::Renamed, false)));
    assert_eq!(names(&site), ["cn=a,dc=ex", "cn=z,dc=ex", "dc=ex"]);
}
