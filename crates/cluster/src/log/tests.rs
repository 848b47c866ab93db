//! The log as the writer and the session share it.

use ironbark_directory::{CommitLog, Turn};
use ironbark_store::{Batch, ChangeRecord, change::Position};
use tokio::sync::mpsc::unbounded_channel;

use super::*;

const PLACE: ClusterLogPlace = ClusterLogPlace {
    position: Position {
        generation: 1,
        sequence: 7,
    },
    chain: [0; 16],
};

fn log() -> Log {
    Log {
        shared: Arc::new(Shared::new([1; 8], Duration::from_secs(3), PLACE, true)),
        orders: unbounded_channel().0,
    }
}

/// A batch behind [`PLACE`] that takes so many octets.
fn received(octets: usize) -> Received {
    let position = Position {
        sequence: 8,
        ..PLACE.position
    };
    let record = ChangeRecord {
        position,
        ..ChangeRecord::default()
    };
    let batch = Batch {
        mark: [0; 16],
        records: vec![record],
    };
    let behind = ClusterLogPlace { position, ..PLACE };
    Received { behind, batch, octets }
}

#[test]
fn a_writer_that_can_apply_nothing_does_not_keep_the_session_for_ever() {
    let log = log();
    let has_room = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        let waits = log.shared.wait_for_room(Duration::from_millis(1));
        runtime.unwrap().block_on(waits)
    };
    assert!(has_room());
    log.shared.received(PLACE.chain, received(WAITING + 1));
    assert!(!has_room());
    log.reached(log.next(PLACE).unwrap().behind);
    assert!(has_room());
}

#[test]
fn a_server_that_cannot_apply_what_comes_is_not_ready() {
    let log = log();
    log.shared.joined(&PLACE);
    log.reached(PLACE);
    let is_ready = || log.shared.status("").is_ready;
    assert!(is_ready());
    log.failed(PLACE, "it cannot");
    assert!(!is_ready());
    log.reached(PLACE);
    assert!(!is_ready(), "it is about to try again");
    log.reached(received(0).behind);
    assert!(is_ready());
}

/// Others append all the time, so the writer is called away from waiting again and again.
#[test]
fn a_server_that_is_gone_is_waited_for_once() {
    let (log, place) = (log(), PLACE);
    let shared = &log.shared;
    shared.joined(&place);
    let gone = [2; 8];
    shared.come_before(vec![gone]);
    let begun = shared.clock.monotonic();
    while log.turn(place, Duration::from_millis(1)) != Turn::Mine {
        let waited = shared.clock.monotonic().saturating_since(begun);
        assert!(waited < Duration::from_secs(10), "{waited:?}");
    }
    assert_eq!(shared.absent(), [gone]);
    // A refusal tells of it again, until an append that succeeds has deleted its wish.
    shared.come_before(vec![gone]);
    assert_eq!(log.turn(place, Duration::from_millis(1)), Turn::Mine);
    shared.forgotten(&[gone]);
    shared.come_before(vec![gone]);
    assert_eq!(log.turn(place, Duration::ZERO), Turn::Closed(Closed::Late));
}
