//! Servers that all take writes and follow each other's access logs: in the end they are equal.

use proptest::prelude::*;

use crate::{
    Event, config,
    node::Replicator,
    world::World,
    writers::{CHAIN, MESH, PAIR, RING, Topology, events, replicator},
};
use ironbark_harness::changes::RandomChange::{self, Add, Delete, DeleteTree, Modify, Move, MoveBelow};

/// Lets this happen, and checks the end.
pub(crate) fn run(topology: Topology, events: &[Event]) {
    run_as(Replicator::ByRule, topology, events);
}

fn run_as(replicator: Replicator, topology: Topology, events: &[Event]) {
    let mut world = World::shared(topology.nodes, topology.links, (replicator, true));
    world.run(events);
    world.heal();
    world.all_are_equal();
}

/// Access logs are emptied, and the logs of changes stay: they say what late changes may change.
fn purging(topology: Topology) -> impl Strategy<Value = Vec<Event>> {
    let purged = |event| match event {
        Event::Forget(node) => Event::Purge(node),
        other => other,
    };
    events(topology).prop_map(move |events| events.into_iter().map(purged).collect())
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn two_writers_that_follow_logs_end_equal(by in replicator(), events in purging(PAIR)) {
        run_as(by, PAIR, &events);
    }

    #[test]
    fn a_mesh_of_writers_that_follow_logs_ends_equal(by in replicator(), events in purging(MESH)) {
        run_as(by, MESH, &events);
    }

    #[test]
    fn a_ring_of_writers_that_follow_logs_ends_equal(by in replicator(), events in purging(RING)) {
        run_as(by, RING, &events);
    }

    #[test]
    fn a_chain_of_writers_that_follow_logs_ends_equal(by in replicator(), events in purging(CHAIN)) {
        run_as(by, CHAIN, &events);
    }
}

/// Rounds in which all begin with the same.
fn looks(topology: Topology) -> Vec<Event> {
    let rounds = (0..topology.nodes).flat_map(|_| (0..topology.links.len()).map(Event::Look));
    rounds.collect()
}

/// All begin with the same, and have this change of the first one then.
fn all_have(topology: Topology, first: RandomChange) -> Vec<Event> {
    let looks = looks(topology);
    [&looks[..], &[change(0, first)], &looks].concat()
}

pub(crate) fn change(node: usize, change: RandomChange) -> Event {
    Event::Change(node, change)
}

/// An entry comes below one that was moved and is gone. Each server puts it somewhere; the greatest revision counts,
/// though `entryCSN` is less than it is.
#[test]
fn of_several_revisions_of_one_place_the_greatest_counts() {
    let mut events = vec![change(0, Add(0, 0, 0))];
    events.extend(looks(RING));
    events.extend([
        change(1, Add(4, 0, 0)),
        change(0, Move(0, 0, 0)),
        change(0, Delete(0)),
        change(0, Add(0, 0, 0)),
        Event::Restart(0),
    ]);
    run(RING, &events);
}

/// The add of an entry comes back to its server, where the entry has got another place since.
#[test]
fn an_add_that_comes_again_moves_nothing() {
    let mut events = looks(RING);
    events.extend([
        change(2, Add(2, 0, 0)),
        Event::Deliver(2, 1),
        change(0, Add(0, 0, 0)),
        change(0, Add(0, 1, 0)),
        Event::Deliver(0, 3),
        Event::Restart(1),
        change(0, MoveBelow(2, 2)),
        Event::Deliver(1, 3),
        change(2, Add(5, 0, 0)),
        change(0, Delete(2)),
    ]);
    run(RING, &events);
}

/// An entry gets the name of the one above it, which has lost it: it is made anew there,
/// and to others that is a rename.
#[test]
fn what_takes_the_name_of_its_superior_is_logged_as_renamed() {
    let mut events = all_have(RING, Add(0, 3, 0));
    events.extend([
        change(2, Move(0, 3, 0)),
        change(0, Add(0, 0, 0)),
        Event::Deliver(0, 1),
        change(1, Add(4, 1, 0)),
        change(2, Move(0, 0, 4)),
        change(0, Add(0, 2, 0)),
        change(0, Add(0, 2, 0)),
        change(1, Move(1, 3, 0)),
    ]);
    run(RING, &events);
}

/// The last change of the holder of a name is known to the provider, and the one that gave it the name is not.
#[test]
fn a_name_counts_by_the_change_that_gave_it() {
    let mut events = all_have(RING, Add(0, 3, 0));
    events.extend([
        change(2, Move(0, 3, 0)),
        change(0, Add(0, 0, 0)),
        Event::Deliver(0, 1),
        change(1, Modify(0, 0, 0)),
        change(1, MoveBelow(2, 0)),
        change(0, MoveBelow(1, 0)),
        change(1, Add(3, 0, 0)),
        change(1, Move(0, 3, 0)),
    ]);
    run(RING, &events);
}

/// A revision is carried out by making the entry anew, which is no add.
#[test]
fn an_entry_that_is_made_anew_keeps_the_place_of_its_revision() {
    let mut events = looks(CHAIN);
    events.extend([
        change(1, Add(0, 3, 0)),
        change(0, Modify(0, 0, 0)),
        change(0, Add(0, 0, 0)),
        change(1, Modify(0, 0, 0)),
        Event::Deliver(1, 1),
        Event::Look(0),
        change(0, Move(5, 0, 0)),
        change(1, Move(2, 0, 3)),
        Event::Look(2),
        change(0, Move(6, 0, 5)),
        change(0, Add(0, 0, 0)),
        change(2, Modify(0, 0, 0)),
        change(2, Add(0, 0, 0)),
        change(2, Delete(3)),
        change(0, Add(6, 0, 0)),
        change(2, Move(1, 0, 3)),
    ]);
    run(CHAIN, &events);
}

/// The access log was emptied while its server was in a refresh: who came then had the vector of the log, but not what
/// the refresh had brought so far.
#[test]
fn a_log_that_is_purged_within_a_refresh_refuses_who_lacks_a_part() {
    use Event::{Clock, Cut, Deliver, Look, Purge};
    run_as(
        Replicator::Anyone,
        RING,
        &[
            Deliver(0, 4),
            change(1, Add(0, 0, 1)),
            Deliver(1, 7),
            Clock(1, -595),
            change(0, MoveBelow(1, 7)),
            change(1, Add(2, 1, 1)),
            change(1, Modify(3, 0, 1)),
            Look(1),
            Deliver(2, 5),
            change(1, Move(5, 2, 3)),
            Cut(0, true),
            change(1, Add(7, 3, 1)),
            Deliver(1, 2),
            Deliver(0, 7),
            Purge(2),
            Deliver(2, 6),
            Deliver(1, 3),
            change(1, Modify(0, 0, 0)),
            Cut(2, false),
            change(2, Modify(7, 0, 3)),
            change(1, Add(4, 1, 0)),
            Deliver(2, 6),
            Deliver(0, 2),
            change(0, MoveBelow(3, 4)),
            change(2, Move(4, 0, 3)),
            Cut(2, true),
            change(2, Move(4, 1, 1)),
            change(2, Modify(0, 1, 1)),
            Cut(0, true),
            Deliver(1, 3),
            Deliver(2, 5),
            change(1, DeleteTree(6)),
            change(2, Move(4, 1, 2)),
            change(0, Move(7, 2, 7)),
            Purge(0),
        ],
    );
}
