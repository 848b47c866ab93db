//! Changes of a log with numbers: each is made once, and its number is there with it.

use ironbark_directory::{
    ChangeLogPlace, Incoming, LogStep, LoggedChange, LoggedOperation, OutcomeKind, ReplicaMapping, Replicated,
    ReplicatedEntry,
};
use ironbark_model::ResultCode;
use ironbark_store::change::{RequestedKind, RequestedModification};

use ironbark_harness::{
    Site,
    peer::{LINES, context, made, mapping, message, names, rows, send, vector},
};

fn asked(site: &Site) -> ReplicaMapping {
    ReplicaMapping {
        needs_csn: false,
        own_csns: true,
        ..mapping(site)
    }
}

fn place(number: u64, refreshed: u64) -> ChangeLogPlace {
    ChangeLogPlace {
        number,
        refreshed,
        mark: b"mark".to_vec(),
    }
}

fn take(site: &Site, incoming: Incoming, step: LogStep) -> Result<OutcomeKind, ResultCode> {
    let change = Replicated {
        step: Some(step),
        ..message(asked(site), incoming)
    };
    let sent = send(site, change);
    sent.map(|outcome| outcome.kind).map_err(|error| error.result_code)
}

fn held(site: &Site) -> Option<ChangeLogPlace> {
    ChangeLogPlace::of_database(&context(site)).expect("readable")
}

/// An entry without a CSN.
fn plain(name: &str, uuid: u8, lines: &[(&str, &str)]) -> Incoming {
    let entry = made(name, uuid, "", lines);
    let attributes = entry.attributes.into_iter().filter(|(name, _)| &**name != "entryCSN");
    Incoming::Entry(ReplicatedEntry {
        attributes: attributes.collect(),
        ..entry
    })
}

fn person(name: &str, uuid: u8) -> Incoming {
    plain(name, uuid, &[("objectClass", "person"), ("cn", "a"), ("sn", "s")])
}

fn logged(uuid: u8, operation: LoggedOperation) -> Incoming {
    Incoming::Logged(LoggedChange {
        dn: "cn=a,dc=ex".into(),
        uuid: Some([uuid; 16]),
        operation,
        base: None,
    })
}

fn modify(uuid: u8, changes: &[(RequestedKind, &str, &str)]) -> Incoming {
    let change = |(kind, attribute, value): &(RequestedKind, &str, &str)| RequestedModification {
        kind: *kind,
        attribute: (*attribute).into(),
        values: vec![value.as_bytes().to_vec()],
    };
    logged(uuid, LoggedOperation::Modify(changes.iter().map(change).collect()))
}

fn with_person() -> Site {
    let site = Site::open_server(2, LINES);
    let top = plain("dc=ex", 1, &[("objectClass", "domain"), ("dc", "ex")]);
    assert_eq!(take(&site, Incoming::Nothing, LogStep::Forget), Ok(OutcomeKind::Noted));
    for entry in [top, person("cn=a,dc=ex", 5)] {
        let added = send(&site, message(asked(&site), entry)).expect("applied");
        assert_eq!(added.kind, OutcomeKind::Added);
    }
    assert_eq!(held(&site), None);
    let end = take(&site, Incoming::EndOfRefresh, LogStep::Set(place(7, 9)));
    assert_eq!(end, Ok(OutcomeKind::Noted));
    assert_eq!(held(&site), Some(place(7, 9)));
    site
}

#[test]
fn a_change_is_made_once_with_a_csn_of_this_server() {
    let mut site = with_person();
    let before = rows(&site).len();
    let added = || modify(5, &[(RequestedKind::Add, "description", "x")]);
    assert_eq!(
        take(&site, added(), LogStep::Make(place(8, 9))),
        Ok(OutcomeKind::Modified)
    );
    assert_eq!(held(&site), Some(place(8, 9)));
    let removed = modify(5, &[(RequestedKind::Delete, "description", "x")]);
    assert_eq!(
        take(&site, removed, LogStep::Make(place(9, 9))),
        Ok(OutcomeKind::Modified)
    );
    for number in [8, 9] {
        let again = take(&site, added(), LogStep::Make(place(number, 9)));
        assert_eq!(again, Ok(OutcomeKind::Covered));
    }
    assert_eq!(site.read("cn=a,dc=ex", &["description"]).expect("there"), "");
    assert_eq!(rows(&site).len(), before + 2);
    assert!(rows(&site).iter().all(|row| row.via == 0 && row.csn.server_id() == 2));
    assert!(rows(&site).iter().all(|row| vector(&site).covers(row.csn)));
    // What concerns only the place is no change.
    assert_eq!(
        take(&site, Incoming::Nothing, LogStep::Set(place(12, 9))),
        Ok(OutcomeKind::Noted)
    );
    assert_eq!((held(&site), rows(&site).len()), (Some(place(12, 9)), before + 2));
}

#[test]
fn an_entry_may_be_missing_only_while_the_refresh_went_on() {
    let site = with_person();
    let change = || modify(6, &[(RequestedKind::Add, "description", "x")]);
    assert_eq!(take(&site, change(), LogStep::Make(place(8, 9))), Ok(OutcomeKind::Same));
    assert_eq!(held(&site), Some(place(8, 9)));
    let refused = take(&site, change(), LogStep::Make(place(10, 9)));
    assert_eq!(refused, Err(ResultCode::SYNC_REFRESH_REQUIRED));
    assert_eq!(held(&site), Some(place(8, 9)), "the number goes with the change");
    let gone = || logged(5, LoggedOperation::Delete);
    assert_eq!(
        take(&site, gone(), LogStep::Make(place(10, 9))),
        Ok(OutcomeKind::Deleted)
    );
    assert_eq!(take(&site, gone(), LogStep::Make(place(11, 9))), Ok(OutcomeKind::Same));
    assert_eq!(names(&site), ["dc=ex"]);
    let again = take(&site, person("cn=a,dc=ex", 5), LogStep::Make(place(12, 9)));
    assert_eq!(again, Ok(OutcomeKind::Added), "the provider is right");
}

#[test]
fn the_structural_class_follows_the_classes() {
    let mut site = with_person();
    let structural = |site: &mut Site| site.read("cn=a,dc=ex", &["structuralObjectClass"]).expect("there");
    assert_eq!(structural(&mut site), "structuralObjectClass: person\n");
    let widened = modify(5, &[(RequestedKind::Add, "objectClass", "organizationalPerson")]);
    assert_eq!(
        take(&site, widened, LogStep::Make(place(8, 9))),
        Ok(OutcomeKind::Modified)
    );
    assert_eq!(structural(&mut site), "structuralObjectClass: organizationalPerson\n");
    let narrowed = modify(5, &[(RequestedKind::Delete, "objectClass", "ORGANIZATIONALPERSON")]);
    assert_eq!(
        take(&site, narrowed, LogStep::Make(place(9, 9))),
        Ok(OutcomeKind::Modified)
    );
    assert_eq!(structural(&mut site), "structuralObjectClass: person\n");
}
