//! Sequences in which the third server of a chain once lacked something. Found by random tests.

use crate::{
    Event::{self, Clock, Cut, Deliver, Forget, Look},
    WHOLE,
    world::World,
};
use ironbark_harness::changes::RandomChange::{Add, Delete, DeleteTree, Move};

/// Lets this happen to a chain of three; clients write at the first.
fn run(events: &[Event]) {
    let mut world = World::new(3);
    world.link(1, 0, WHOLE);
    world.link(2, 1, WHOLE);
    world.run(events);
    world.heal();
    world.all_are_equal();
}

fn at_first(change: ironbark_harness::changes::RandomChange) -> Event {
    Event::Change(0, change)
}

/// The second server has no vector while its own first refresh is under way, and the third one begins then.
#[test]
fn a_consumer_of_a_server_that_is_still_being_filled_gets_everything() {
    run(&[
        at_first(Add(0, 0, 0)),
        Deliver(0, 1),
        at_first(Add(2, 3, 0)),
        Look(1),
        Deliver(0, 3),
        Cut(1, true),
        Look(1),
        Deliver(0, 7),
        at_first(Add(3, 1, 0)),
    ]);
}

/// Deletes of one change come without a cookie but for the last. The CSN of such a row is that of the removed entry.
#[test]
fn deletes_without_a_cookie_go_on_to_who_follows() {
    run(&[
        at_first(Add(1, 0, 0)),
        at_first(Add(1, 1, 0)),
        at_first(Add(2, 0, 0)),
        at_first(Move(1, 0, 6)),
        Look(0),
        at_first(DeleteTree(4)),
        Deliver(1, 1),
        at_first(Add(0, 0, 0)),
    ]);
}

#[test]
fn deletes_without_a_cookie_go_on_to_who_comes_back() {
    run(&[
        at_first(Add(0, 0, 0)),
        at_first(Add(4, 1, 0)),
        Look(0),
        at_first(Add(4, 0, 0)),
        at_first(DeleteTree(4)),
        Deliver(1, 6),
        at_first(Add(0, 0, 0)),
        Cut(1, false),
    ]);
}

/// Who has all that the vector says still lacks what the refresh had brought before the log was trimmed.
#[test]
fn a_log_that_is_trimmed_within_a_refresh_does_not_hide_its_first_part() {
    run(&[
        Look(0),
        Look(1),
        Cut(0, true),
        at_first(Add(0, 1, 2)),
        at_first(Add(2, 2, 3)),
        Deliver(0, 1),
        Cut(0, true),
        Forget(1),
    ]);
}

/// An entry whose superior is glue here moves with that superior at the provider: its CSN stays as it was.
#[test]
fn an_entry_below_glue_moves_without_a_change_of_its_own() {
    run(&[
        at_first(Add(0, 0, 0)),
        at_first(Add(0, 1, 0)),
        Look(0),
        at_first(Move(0, 0, 5)),
        Look(0),
        Deliver(1, 4),
        Cut(1, true),
        at_first(Move(1, 1, 2)),
        Look(0),
    ]);
}

/// A message is refused as long as one of the clocks is wrong, and taken after that.
#[test]
fn a_message_that_was_refused_is_taken_when_its_reason_is_gone() {
    const TWO_DAYS_MS: i64 = 2 * 86_400_000;
    run(&[
        at_first(Add(0, 0, 0)),
        Look(0),
        Clock(0, TWO_DAYS_MS),
        at_first(Add(0, 1, 0)),
        Deliver(0, 9),
        Cut(0, true),
        Deliver(0, 9),
        Clock(1, TWO_DAYS_MS),
        Clock(2, TWO_DAYS_MS),
    ]);
}

/// The first delete of several in one change has come, and the cookie of the change has not.
#[test]
fn a_delete_whose_cookie_is_still_to_come_is_told_to_who_comes_back() {
    run(&[
        at_first(Add(0, 0, 0)),
        at_first(Add(4, 1, 0)),
        Look(0),
        at_first(Add(0, 1, 0)),
        Look(1),
        Deliver(0, 1),
        at_first(DeleteTree(0)),
        at_first(Add(0, 0, 0)),
        Deliver(1, 1),
        Cut(1, false),
        Deliver(0, 1),
        at_first(Add(0, 0, 0)),
        Deliver(1, 1),
    ]);
}

/// A delete that comes without a CSN, because older changes come behind it, goes on to who follows.
#[test]
fn a_delete_before_a_name_is_used_again_goes_on_to_who_follows() {
    run(&[
        at_first(Add(0, 0, 0)),
        at_first(Add(2, 0, 0)),
        at_first(Add(3, 2, 0)),
        Deliver(0, 2),
        at_first(Add(0, 1, 0)),
        at_first(Add(0, 2, 0)),
        Deliver(0, 6),
        at_first(Add(0, 0, 0)),
        at_first(Delete(0)),
        at_first(Move(0, 0, 0)),
        Cut(0, false),
        Deliver(1, 1),
        Deliver(0, 1),
    ]);
}

/// The second server's vector had the CSN under which it noted a delete that came without one.
#[test]
fn a_delete_in_a_refresh_is_told_to_who_has_the_whole_vector() {
    run(&[
        Deliver(0, 4),
        at_first(Add(1, 0, 0)),
        at_first(Add(0, 0, 0)),
        at_first(Add(0, 0, 0)),
        Deliver(1, 3),
        Deliver(0, 1),
        at_first(Add(0, 1, 2)),
        Event::Restart(0),
        Deliver(1, 4),
        at_first(Move(6, 1, 1)),
        at_first(Delete(6)),
        Deliver(0, 1),
        Cut(1, false),
        at_first(Add(4, 3, 2)),
        Deliver(1, 3),
    ]);
}

/// The third server had an entry of a refresh that had not ended. The log that told of its end was trimmed.
#[test]
fn an_entry_of_an_earlier_refresh_that_is_not_named_is_gone() {
    run(&[
        Deliver(0, 4),
        Cut(0, false),
        at_first(Add(0, 0, 0)),
        Deliver(0, 1),
        Event::Restart(0),
        at_first(Delete(0)),
        Deliver(1, 5),
        Forget(1),
        Deliver(0, 1),
        at_first(Add(0, 0, 0)),
        Cut(1, false),
        at_first(Add(0, 0, 0)),
        Deliver(1, 1),
    ]);
}

/// A server hears of the end of an entry before that of its subordinates. It was renamed before, and glue has its last
/// name.
#[test]
fn what_moved_with_an_entry_that_is_gone_has_its_name_with_who_follows() {
    run(&[
        at_first(Add(1, 0, 3)),
        at_first(Add(5, 3, 1)),
        at_first(Add(0, 1, 0)),
        Deliver(0, 5),
        at_first(Add(0, 2, 0)),
        Deliver(0, 5),
        at_first(Add(2, 0, 3)),
        Deliver(1, 1),
        at_first(Move(0, 2, 1)),
        at_first(Add(0, 0, 0)),
        Deliver(0, 2),
        Cut(0, true),
        at_first(DeleteTree(4)),
        at_first(Add(2, 1, 1)),
        at_first(DeleteTree(6)),
        Deliver(0, 4),
        Look(1),
    ]);
}
