//! Tests of the protocol of a consumer.

use ironbark_directory::SyncCookie;
use ironbark_ldap_proto::controls::EntryState;
use ironbark_model::ResultCode;
use ironbark_store::{ContextVector, Csn};

use super::{Again, ConsumerAction, Machine, Violation};
use crate::{Info, SyncMessage};

const ONE: &str = "20260101000000.000001Z#000000#001#000000";
const TWO: &str = "20260101000000.000002Z#000000#001#000000";
const UUID: [u8; 16] = [7; 16];

fn csn(text: &str) -> Csn {
    Csn::parse(text.as_bytes()).unwrap()
}

fn cookie(csns: &str) -> Vec<u8> {
    format!("rid=001,csn={csns}").into_bytes()
}

fn begun(persists: bool) -> Machine {
    let mut machine = Machine::new(1, None, persists);
    let known = std::iter::once(csn(ONE)).collect();
    let begin = machine.begin(&known);
    assert_eq!((begin.persists, begin.cookie), (persists, format!("rid=001,csn={ONE}")));
    machine
}

fn entry(state: EntryState, cookie: Option<Vec<u8>>) -> SyncMessage {
    SyncMessage::Entry {
        state,
        uuid: UUID,
        cookie,
        dn: "cn=a".to_owned(),
        attributes: Vec::new(),
    }
}

fn end(names_present: bool, done: bool) -> SyncMessage {
    SyncMessage::Info(Info::PhaseEnd {
        cookie: Some(cookie(TWO)),
        names_present,
        done,
    })
}

fn result(code: ResultCode) -> SyncMessage {
    SyncMessage::Done {
        code,
        text: String::new(),
        done: None,
    }
}

fn end_order(deletes_others: bool) -> Vec<ConsumerAction> {
    vec![ConsumerAction::EndRefresh {
        deletes_others,
        vector: std::iter::once(csn(TWO)).collect(),
    }]
}

#[test]
fn others_are_deleted_only_after_a_present_phase_with_its_end() {
    for (names_present, deletes) in [(true, true), (false, false)] {
        let mut machine = begun(true);
        assert_eq!(machine.take(end(names_present, true)), Ok(end_order(deletes)));
        assert!(machine.follows());
    }
    let mut both = begun(true);
    assert_eq!(both.take(end(true, false)), Ok(Vec::new()));
    assert_eq!(
        both.take(end(false, true)),
        Ok(end_order(true)),
        "a delete phase after a present phase"
    );
    let mut broken = begun(true);
    let failed = broken.take(result(ResultCode::OTHER)).unwrap();
    assert!(matches!(failed[..], [ConsumerAction::Search(Again::AfterRetry(..))]));
}

#[test]
fn a_given_cookie_counts_until_a_refresh_is_completed() {
    let known: ContextVector = std::iter::once(csn(TWO)).collect();
    let given = |text: &str| Machine::new(1, Some(7), true).with_cookie(SyncCookie::parse(text.as_bytes()));
    let mut machine = given(&format!("rid=1,sid=005,csn={ONE}"));
    let expected = format!("rid=001,sid=005,csn={ONE}");
    assert_eq!(machine.begin(&known).cookie, expected);
    machine.take(result(ResultCode::OTHER)).unwrap();
    machine.stop();
    assert_eq!(machine.begin(&known).cookie, expected, "the refresh was not completed");
    assert_eq!(machine.take(end(false, true)), Ok(end_order(false)));
    machine.stop();
    assert_eq!(machine.begin(&known).cookie, format!("rid=001,sid=007,csn={TWO}"));
    // Without a CSN everything comes, and what does not come goes.
    let mut machine = given("rid=1");
    assert_eq!(machine.begin(&known).cookie, "rid=001,sid=007");
    assert_eq!(machine.take(end(false, true)), Ok(end_order(true)));
}

#[test]
fn a_refresh_ends_once() {
    let mut machine = begun(true);
    machine.take(end(false, true)).unwrap();
    assert_eq!(machine.take(end(false, true)), Err(Violation::SecondEnd));
    assert_eq!(
        machine.take(entry(EntryState::Present, None)),
        Err(Violation::PresentAfterRefresh)
    );
}

#[test]
fn a_refresh_without_changes_to_follow_ends_with_its_control() {
    for (deletes, others) in [(true, false), (false, true)] {
        let mut machine = begun(false);
        let done = SyncMessage::Done {
            code: ResultCode::SUCCESS,
            text: String::new(),
            done: Some((Some(cookie(TWO)), deletes)),
        };
        let mut expected = end_order(others);
        expected.push(ConsumerAction::Search(Again::AfterInterval));
        assert_eq!(machine.take(done), Ok(expected));
    }
    assert_eq!(begun(false).take(result(ResultCode::SUCCESS)), Err(Violation::NoDone));
}

#[test]
fn a_deletion_has_its_own_csn() {
    let mut machine = begun(true);
    let named = Info::IdSet {
        cookie: Some(format!("rid=001,csn={ONE},delcsn={TWO}").into_bytes()),
        deletes: true,
        uuids: vec![UUID],
    };
    let orders = machine.take(SyncMessage::Info(named)).unwrap();
    let delete = |cookie: &str| ConsumerAction::Delete {
        uuid: UUID,
        csn: Some(csn(TWO)),
        cookie: vec![csn(cookie)],
    };
    assert_eq!(orders, [delete(ONE)]);
    machine.take(end(false, true)).unwrap();
    let orders = machine.take(entry(EntryState::Delete, Some(cookie(TWO)))).unwrap();
    assert_eq!(orders, [delete(TWO)]);
}

#[test]
fn a_provider_that_wants_a_refresh_gets_one_without_cookie_if_that_does_not_help() {
    let required = || result(ResultCode::SYNC_REFRESH_REQUIRED);
    let mut machine = begun(true);
    machine.take(end(false, true)).unwrap();
    assert_eq!(
        machine.take(required()),
        Ok(vec![ConsumerAction::Search(Again::AtOnce)])
    );
    let known = std::iter::once(csn(TWO)).collect();
    assert!(machine.begin(&known).cookie.contains(TWO));
    assert_eq!(
        machine.take(required()),
        Ok(vec![ConsumerAction::Search(Again::AtOnce)])
    );
    assert_eq!(machine.begin(&known).cookie, "rid=001");
    assert_eq!(
        machine.clone().take(end(false, true)),
        Ok(end_order(true)),
        "everything came"
    );
    let third = machine.take(required()).unwrap();
    assert!(matches!(third[..], [ConsumerAction::Search(Again::AfterRetry(..))]));
    assert!(machine.begin(&known).cookie.contains(TWO));
}

#[test]
fn what_has_no_meaning_is_refused() {
    let mut machine = begun(true);
    assert_eq!(machine.take(SyncMessage::PlainEntry), Err(Violation::NoState));
    assert_eq!(machine.take(SyncMessage::Reference), Ok(Vec::new()));
    let unknown = machine.take(entry(EntryState::Add, Some(b"host:389#cn=replica#7".to_vec())));
    assert!(matches!(unknown, Err(Violation::UnknownCookie(_))));
    machine.stop();
    assert_eq!(machine.take(SyncMessage::Reference), Err(Violation::NoSearch));
}

#[test]
fn the_own_server_id_is_told_among_several_providers() {
    let mut machine = Machine::new(12, Some(0xab), true);
    assert_eq!(machine.begin(&ContextVector::default()).cookie, "rid=012,sid=0ab");
}

#[test]
fn the_log_of_a_provider_without_content_is_followed_once_that_was_asked_for() {
    let mut machine = Machine::new(1, None, true).with_log();
    let nothing = ContextVector::default();
    for _ in 0..2 {
        assert!(!machine.begin(&nothing).in_log);
        let done = SyncMessage::Done {
            code: ResultCode::SUCCESS,
            text: String::new(),
            done: Some((None, true)),
        };
        let ended = machine.take(done).unwrap();
        assert_eq!(ended.last(), Some(&ConsumerAction::Search(Again::InLog)));
        let begin = machine.begin(&nothing);
        assert_eq!((begin.in_log, begin.persists, &*begin.cookie), (true, true, "rid=001"));
        // The connection is lost: there may be content now.
        machine.stop();
    }
}

/// What is out of its sight may exist, and others may follow this server.
#[test]
fn who_has_a_part_deletes_only_what_comes_with_the_csn_of_its_deletion() {
    let of_part = |csns: &str| Some(format!("rid=001,sid=002,part=1{csns}").into_bytes());
    let gone = |cookie| {
        SyncMessage::Info(Info::IdSet {
            cookie,
            deletes: true,
            uuids: vec![UUID],
        })
    };
    let mut machine = begun(true);
    assert_eq!(machine.take(gone(of_part(""))), Ok(Vec::new()));
    assert!(machine.has_part());
    let deleted = machine.take(gone(of_part(&format!(",delcsn={TWO}")))).unwrap();
    assert!(matches!(&deleted[..], [ConsumerAction::Delete { csn: Some(of), .. }] if *of == csn(TWO)));
    let ended = SyncMessage::Info(Info::PhaseEnd {
        cookie: of_part(&format!(",csn={TWO}")),
        names_present: true,
        done: true,
    });
    assert_eq!(machine.take(ended), Ok(end_order(false)));
    let left = entry(EntryState::Delete, of_part(&format!(",csn={TWO}")));
    assert_eq!(machine.take(left), Ok(vec![ConsumerAction::TakeIn(vec![csn(TWO)])]));
    machine.stop();
    machine.begin(&std::iter::once(csn(ONE)).collect());
    assert!(!machine.has_part(), "each search tells it");
}

#[test]
fn the_log_is_followed_once_the_content_is_here_and_again_after_a_gap() {
    let mut machine = Machine::new(1, None, true).with_log();
    let known: ContextVector = std::iter::once(csn(ONE)).collect();
    let done = || SyncMessage::Done {
        code: ResultCode::SUCCESS,
        text: String::new(),
        done: Some((Some(cookie(TWO)), true)),
    };
    let begin = machine.begin(&ContextVector::default());
    assert_eq!(
        (begin.in_log, begin.persists, &*begin.cookie),
        (false, false, "rid=001")
    );
    let ended = machine.take(done()).unwrap();
    assert_eq!(ended.last(), Some(&ConsumerAction::Search(Again::InLog)));
    let begin = machine.begin(&known);
    assert!(begin.in_log && begin.persists);
    let log_entry = |state, kind: &str| SyncMessage::Entry {
        state,
        uuid: UUID,
        cookie: Some(cookie(TWO)),
        dn: "reqStart=1,cn=log".to_owned(),
        attributes: [("reqType", kind), ("reqDN", "cn=a"), ("entryCSN", TWO)]
            .map(|(name, value)| (name.into(), vec![value.as_bytes().to_vec()]))
            .into(),
    };
    let made = machine.take(log_entry(EntryState::Add, "delete")).unwrap();
    let [ConsumerAction::Make { csn: made, cookie, .. }] = &made[..] else {
        panic!("{made:?}");
    };
    assert_eq!((*made, &cookie[..]), (csn(TWO), &[csn(TWO)][..]));
    // That the log is purged, and what it has besides changes, means nothing but the cookie.
    for message in [
        log_entry(EntryState::Delete, "delete"),
        log_entry(EntryState::Add, "bind"),
    ] {
        assert_eq!(machine.take(message), Ok(vec![ConsumerAction::TakeIn(vec![csn(TWO)])]));
    }
    assert_eq!(
        machine.take(end(true, true)),
        Ok(end_order(false)),
        "nothing is deleted"
    );
    let ended = machine.take(result(ResultCode::SYNC_REFRESH_REQUIRED)).unwrap();
    assert_eq!(ended, [ConsumerAction::Search(Again::FallBack(String::new()))]);
    let begin = machine.begin(&known);
    assert!(!begin.in_log && !begin.persists && begin.cookie.contains(ONE));
    machine.take(done()).unwrap();
    assert!(machine.begin(&known).in_log);
    machine.fall_back();
    assert_eq!(machine.begin(&known).cookie, "rid=001", "a gap is filled by everything");
}
