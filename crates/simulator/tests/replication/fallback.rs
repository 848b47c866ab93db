//! Servers that follow each other's access logs, and fall back to refreshes: each sequence once ended unequal.

use crate::{
    Event::{self, Clock, Deliver, Look, Purge, Restart},
    logs::{change, run},
    writers::{MESH, PAIR, RING},
};
use ironbark_harness::changes::RandomChange::{Add, Delete, DeleteTree, Modify, Move, MoveBelow};

/// The suffix entry of a log was made by no change of its source.
#[test]
fn a_new_log_has_no_csn_of_its_own() {
    run(PAIR, &[Restart(1), Deliver(0, 4)]);
}

/// Who has nothing follows a log from its first entry on, if that is still there.
#[test]
fn an_emptied_log_is_not_all_that_there_is() {
    run(MESH, &[Deliver(5, 1), Look(2), Purge(2), Deliver(5, 1)]);
}

/// What comes in a refresh is in the log as well. A later one of these entries may have a less CSN.
#[test]
fn what_a_refresh_brought_is_in_no_order() {
    let events = [
        change(0, Add(0, 0, 0)),
        Deliver(0, 1),
        change(0, Add(0, 0, 0)),
        Deliver(0, 4),
        change(1, Add(3, 0, 0)),
        change(1, Modify(1, 0, 0)),
    ];
    run(RING, &events);
}

/// The context vector counts a revision as its version, which the whole entry has.
#[test]
fn a_revision_is_not_contained_in_its_version() {
    let events = [
        change(0, Add(0, 0, 0)),
        Deliver(0, 5),
        change(1, Add(0, 1, 0)),
        change(0, Move(0, 0, 0)),
        Purge(1),
        change(1, Add(6, 0, 0)),
        change(0, Delete(0)),
        Look(1),
    ];
    run(MESH, &events);
}

/// An entry that came to one server as a whole is here, with a change that the other one lacks.
#[test]
fn an_entry_as_a_whole_leaves_what_its_provider_lacks() {
    let events = [
        change(0, Add(7, 1, 1)),
        change(1, Move(2, 2, 1)),
        Deliver(0, 4),
        change(0, Modify(5, 0, 3)),
        change(1, MoveBelow(3, 1)),
        change(1, Add(1, 3, 2)),
        Restart(2),
    ];
    run(RING, &events);
}

/// The vector of a server that is in a refresh says less than it has.
#[test]
fn what_a_refresh_under_way_has_brought_is_passed_on_with_its_changes() {
    let events = [
        change(0, Add(0, 0, 0)),
        change(0, Add(0, 1, 0)),
        change(0, Delete(0)),
        change(0, Add(2, 0, 1)),
        change(0, Add(4, 3, 0)),
        Deliver(0, 1),
        change(0, Modify(6, 1, 2)),
        Deliver(0, 4),
        Clock(1, 1739),
        change(0, MoveBelow(1, 1)),
        Deliver(2, 4),
        change(0, Add(4, 0, 3)),
        change(1, Modify(0, 1, 3)),
        Deliver(1, 6),
    ];
    run(RING, &events);
}

/// It was on its way, and the entry came from another server meanwhile.
#[test]
fn a_whole_entry_gives_way_to_one_with_more_changes() {
    let events = [
        change(0, Add(0, 0, 0)),
        change(0, Add(0, 0, 0)),
        Deliver(2, 1),
        change(0, Modify(0, 0, 1)),
        Deliver(0, 4),
        Look(4),
    ];
    run(MESH, &events);
}

/// Its last change is known here, and one before that is not.
#[test]
fn a_whole_entry_in_a_log_is_not_one_change() {
    let events = [
        change(0, Add(0, 0, 0)),
        change(0, Add(0, 0, 0)),
        change(0, Add(0, 0, 0)),
        change(0, Add(0, 1, 0)),
        Look(0),
        change(1, Modify(1, 0, 1)),
        change(0, Move(1, 0, 0)),
    ];
    run(RING, &events);
}

/// Nobody has heard of the server whose change comes late.
#[test]
fn a_late_change_of_an_unknown_server_gives_way_to_a_recent_one() {
    let events = [
        change(0, Modify(0, 0, 0)),
        change(0, Add(0, 0, 0)),
        Deliver(2, 5),
        change(2, Move(0, 0, 0)),
        change(0, MoveBelow(0, 0)),
    ];
    run(MESH, &events);
}

/// A revision has set it aside here.
#[test]
fn a_whole_entry_leaves_the_name_of_a_revision() {
    let mut events = vec![
        change(0, Add(0, 1, 0)),
        change(0, Add(0, 0, 0)),
        Deliver(0, 2),
        change(0, Add(0, 0, 0)),
        change(1, Add(0, 1, 0)),
    ];
    events.extend([0; 3].map(|node| change(node, Add(0, 0, 0))));
    events.extend([Deliver(2, 4), Deliver(4, 3), Look(5), change(0, DeleteTree(2))]);
    run(MESH, &events);
}

/// It came as a whole from another server, which has set it aside by a revision. The log of its own server has its add.
#[test]
fn an_add_says_nothing_of_an_entry_that_is_here() {
    let mut events = vec![
        change(0, Add(0, 1, 0)),
        change(0, Add(0, 0, 0)),
        Deliver(0, 2),
        change(0, Add(0, 0, 0)),
        change(1, Add(0, 1, 0)),
    ];
    events.extend([0; 3].map(|node| change(node, Add(0, 0, 0))));
    events.extend([Restart(0), Deliver(2, 4), Deliver(4, 3), Look(5)]);
    run(MESH, &events);
}

/// A provider expects a newer version of it, and has set it aside meanwhile.
#[test]
fn an_entry_that_was_set_aside_keeps_its_name_elsewhere() {
    let looks = (0..3).flat_map(|_| (0..3).map(Event::Look));
    let mut events = vec![change(0, Add(4, 2, 0))];
    events.extend(looks);
    events.extend([
        change(1, Add(0, 3, 0)),
        Clock(0, 1),
        Deliver(1, 1),
        change(1, Move(2, 3, 0)),
        change(0, Add(4, 0, 0)),
        change(2, Add(5, 0, 0)),
        change(2, Add(2, 0, 0)),
        Purge(1),
        change(1, Add(0, 2, 0)),
        change(0, Add(0, 0, 0)),
        change(2, Move(3, 3, 0)),
        Deliver(1, 1),
        Deliver(2, 2),
    ]);
    run(RING, &events);
}
