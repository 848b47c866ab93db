//! Several servers that all take writes and follow each other: in the end they are equal.

use proptest::prelude::*;

use crate::{Event, config, event, node::Replicator, world::World};

/// Who follows whom.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Topology {
    pub(crate) nodes: usize,
    pub(crate) links: &'static [(usize, usize)],
}

/// Two that follow each other.
pub(crate) const PAIR: Topology = Topology {
    nodes: 2,
    links: &[(1, 0), (0, 1)],
};
/// Each follows all others.
pub(crate) const MESH: Topology = Topology {
    nodes: 3,
    links: &[(1, 0), (0, 1), (2, 0), (0, 2), (2, 1), (1, 2)],
};
/// Each follows the one before it.
pub(crate) const RING: Topology = Topology {
    nodes: 3,
    links: &[(1, 0), (2, 1), (0, 2)],
};
/// The outer ones follow the middle one, which follows both.
pub(crate) const CHAIN: Topology = Topology {
    nodes: 3,
    links: &[(1, 0), (0, 1), (2, 1), (1, 2)],
};

/// Who replicates.
const REPLICATORS: [Replicator; 2] = [Replicator::Anyone, Replicator::ByRule];

/// Lets this happen with each replicator, and checks the end.
pub(crate) fn run(topology: Topology, events: &[Event]) {
    for replicator in REPLICATORS {
        run_as(replicator, topology, events);
    }
}

/// The same where no two entries ever have the same name: then nothing may be lost.
pub(crate) fn run_apart(topology: Topology, events: &[Event]) {
    for replicator in REPLICATORS {
        run_apart_as(replicator, topology, events);
    }
}

fn run_as(replicator: Replicator, topology: Topology, events: &[Event]) {
    run_in(
        World::shared(topology.nodes, topology.links, (replicator, false)),
        events,
    );
}

fn run_apart_as(replicator: Replicator, topology: Topology, events: &[Event]) {
    let mut world = World::shared(topology.nodes, topology.links, (replicator, false));
    world.keep_ledger();
    run_in(world, events);
}

fn run_in(mut world: World, events: &[Event]) {
    world.run(events);
    world.vectors_are_true();
    world.heal();
    world.all_are_equal();
}

/// The same where a rule hides entries from those who replicate: they do not end equal, but nothing may be lost.
fn run_partly(topology: Topology, events: &[Event]) {
    let mut world = World::shared(topology.nodes, topology.links, (Replicator::Partly, false));
    world.keep_ledger();
    world.run(events);
    world.heal();
    world.nothing_is_lost();
}

/// The same with backups that are restored.
fn with_backups(topology: Topology, restore: fn(usize) -> Event) -> impl Strategy<Value = Vec<Event>> {
    let nodes = topology.nodes;
    let backup = prop_oneof![(0..nodes).prop_map(Event::Save), (0..nodes).prop_map(restore)];
    let backups = prop::collection::vec((any::<prop::sample::Index>(), backup), 0..6);
    (events(topology), backups).prop_map(|(mut events, backups)| {
        for (at, backup) in backups {
            events.insert(at.index(events.len() + 1), backup);
        }
        events
    })
}

pub(crate) fn events(topology: Topology) -> impl Strategy<Value = Vec<Event>> {
    let Topology { nodes, links } = topology;
    // The others may have nothing yet.
    let first = ironbark_harness::changes::change().prop_map(|change| Event::Change(0, change));
    let rest = prop::collection::vec(event(nodes, links.len(), nodes), 1..60);
    (prop::collection::vec(first, 0..4), 0..3u8, rest).prop_map(move |(mut events, looks, rest)| {
        // Often all begin with the same.
        if looks > 0 {
            let rounds = (0..nodes).flat_map(|_| (0..links.len()).map(Event::Look));
            events.extend(rounds);
        }
        events.extend(rest);
        events
    })
}

pub(crate) fn replicator() -> impl Strategy<Value = Replicator> {
    prop::sample::select(&REPLICATORS[..])
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn two_writers_end_equal(by in replicator(), events in with_backups(PAIR, Event::Restore)) {
        run_as(by, PAIR, &events);
    }

    #[test]
    fn a_mesh_of_writers_ends_equal(by in replicator(), events in with_backups(MESH, Event::Restore)) {
        run_as(by, MESH, &events);
    }

    #[test]
    fn a_ring_of_writers_ends_equal(by in replicator(), events in with_backups(RING, Event::RestoreAsAnother)) {
        run_as(by, RING, &events);
    }

    #[test]
    fn a_chain_of_writers_ends_equal(by in replicator(), events in events(CHAIN)) {
        run_as(by, CHAIN, &events);
    }

    #[test]
    fn two_writers_lose_nothing(by in replicator(), events in events(PAIR)) {
        run_apart_as(by, PAIR, &events);
    }

    #[test]
    fn a_mesh_of_writers_loses_nothing(by in replicator(), events in events(MESH)) {
        run_apart_as(by, MESH, &events);
    }

    #[test]
    fn two_writers_that_see_a_part_lose_nothing(events in events(PAIR)) {
        run_partly(PAIR, &events);
    }

    #[test]
    fn a_mesh_of_writers_that_see_a_part_loses_nothing(events in events(MESH)) {
        run_partly(MESH, &events);
    }

    #[test]
    fn a_ring_of_writers_that_see_a_part_loses_nothing(events in events(RING)) {
        run_partly(RING, &events);
    }

    #[test]
    fn a_chain_of_writers_that_see_a_part_loses_nothing(events in events(CHAIN)) {
        run_partly(CHAIN, &events);
    }

    #[test]
    fn a_chain_of_writers_loses_nothing(by in replicator(), events in events(CHAIN)) {
        run_apart_as(by, CHAIN, &events);
    }

    #[test]
    fn a_ring_of_writers_loses_nothing(by in replicator(), events in events(RING)) {
        run_apart_as(by, RING, &events);
    }
}

/// A provider sent the second change of an entry with the cookie of the first one.
#[test]
fn a_version_that_came_with_an_earlier_cookie_is_told_with_its_own() {
    use ironbark_harness::changes::RandomChange::{Add, Modify, Move};
    run(
        MESH,
        &[
            Event::Change(0, Add(0, 0, 0)),
            Event::Deliver(0, 5),
            Event::Deliver(1, 1),
            Event::Change(1, Move(0, 0, 0)),
            Event::Deliver(4, 5),
            Event::Change(1, Modify(0, 0, 0)),
            Event::Cut(4, false),
        ],
    );
}

/// The name at which an entry is set aside is that of glue, as something was told below it before.
#[test]
fn an_entry_is_set_aside_where_glue_waits_for_it() {
    use ironbark_harness::changes::RandomChange::{Add, Delete};
    run(
        RING,
        &[
            Event::Change(0, Add(0, 3, 0)),
            Event::Change(0, Add(4, 3, 0)),
            Event::Look(0),
            Event::Deliver(1, 6),
            Event::Change(1, Delete(2)),
            Event::Cut(1, false),
            Event::Change(2, Add(6, 0, 0)),
            Event::Change(1, Add(4, 3, 0)),
            Event::Look(1),
            Event::Change(0, Add(0, 0, 0)),
        ],
    );
}

/// A client renames an entry that was set aside under its entryUUID, and deletes the old RDN.
#[test]
fn an_entry_that_was_set_aside_keeps_its_uuid() {
    use ironbark_harness::changes::RandomChange::{Add, DeleteTree, Move};
    let mut events: Vec<Event> = (0..6).map(Event::Look).collect();
    events.extend([
        Event::Change(0, Add(4, 3, 0)),
        Event::Change(1, Add(0, 3, 0)),
        Event::Change(0, Add(0, 0, 0)),
        Event::Change(0, Add(5, 0, 0)),
        Event::Change(1, Add(4, 0, 0)),
        Event::Look(1),
        Event::Deliver(1, 1),
        Event::Deliver(0, 3),
        Event::Change(1, DeleteTree(0)),
        Event::Change(2, Add(0, 0, 0)),
        Event::Deliver(0, 1),
        Event::Change(1, Move(2, 0, 0)),
    ]);
    run(MESH, &events);
}

/// What a server made before it was restored comes back to it around the ring, while it follows.
#[test]
fn what_a_restored_server_had_made_itself_comes_back_to_it() {
    use ironbark_harness::changes::RandomChange::Add;
    let mut events = vec![Event::Save(1)];
    events.extend((0..9).map(|look| Event::Look(look % 3)));
    events.extend([
        Event::Change(1, Add(0, 0, 0)),
        Event::Change(1, Add(0, 1, 0)),
        Event::Deliver(1, 2),
        Event::Restore(1),
        Event::Change(0, Add(0, 0, 0)),
        Event::Change(0, Add(0, 0, 0)),
    ]);
    run(RING, &events);
}

/// Entries came to a server whose provider was still being filled itself, and the server began anew.
#[test]
fn entries_of_a_refresh_that_has_not_ended_make_no_vector() {
    use ironbark_harness::changes::RandomChange::{Add, Delete, Move};
    let mut events: Vec<Event> = [Add(0, 0, 0), Delete(0), Add(0, 3, 0), Add(4, 0, 0), Move(1, 0, 0)]
        .map(|change| Event::Change(0, change))
        .into();
    events.extend([
        Event::Deliver(0, 1),
        Event::Change(0, Add(0, 0, 0)),
        Event::Change(0, Delete(2)),
        Event::Deliver(4, 1),
        Event::Look(0),
        Event::Deliver(4, 6),
        Event::Restart(2),
    ]);
    run(MESH, &events);
}

/// An entry comes as it is now, with the cookie of its change before that.
#[test]
fn an_entry_that_is_newer_than_its_cookie_is_told_to_who_comes_back() {
    use ironbark_harness::changes::RandomChange::{Add, Modify, Move};
    let mut events: Vec<Event> = [Modify(0, 0, 0), Modify(0, 0, 0), Add(0, 0, 0)]
        .map(|change| Event::Change(0, change))
        .into();
    events.extend((0..18).map(|look| Event::Look(look % 6)));
    events.extend([
        Event::Change(2, Add(0, 1, 0)),
        Event::Deliver(3, 1),
        Event::Change(2, Move(5, 0, 0)),
        Event::Deliver(5, 1),
        Event::Restart(1),
        Event::Forget(2),
        Event::Change(1, Add(0, 0, 0)),
    ]);
    run(MESH, &events);
}

/// Within a refresh from one provider, the cookie of another one raises the vector.
#[test]
fn what_a_refresh_brought_before_the_cookie_of_another_is_told_to_who_has_that_cookie() {
    use ironbark_harness::changes::RandomChange::Add;
    run(
        MESH,
        &[
            Event::Deliver(2, 4),
            Event::Look(5),
            Event::Change(1, Add(0, 0, 0)),
            Event::Deliver(4, 2),
            Event::Change(1, Add(0, 1, 0)),
            Event::Change(1, Add(2, 0, 0)),
            Event::Restart(2),
            Event::Forget(1),
            Event::Deliver(1, 2),
            Event::Deliver(3, 2),
        ],
    );
}

/// An entry moves to a name where glue stands for one that was deleted. Below both is an entry of the same name: one of
/// them goes, and its end is told to all. Nothing is left of it to be told elsewhere, and the message counts all the
/// same.
#[test]
fn of_two_entries_that_come_below_one_the_end_of_one_is_told() {
    use ironbark_harness::changes::RandomChange::{Add, Delete, DeleteTree, Modify, Move};
    run(
        CHAIN,
        &[
            Event::Change(0, Modify(3, 0, 0)),
            Event::Change(0, Add(4, 0, 2)),
            Event::Look(0),
            Event::Deliver(2, 6),
            Event::Change(0, Add(0, 3, 3)),
            Event::Change(1, Add(2, 0, 1)),
            Event::Change(2, Delete(7)),
            Event::Deliver(2, 6),
            Event::Change(2, Add(7, 0, 3)),
            Event::Deliver(3, 6),
            Event::Change(2, DeleteTree(0)),
            Event::Change(1, Add(4, 3, 1)),
            Event::Change(2, Add(3, 1, 1)),
            Event::Deliver(1, 2),
            Event::Deliver(3, 1),
            Event::Change(0, Delete(1)),
            Event::Change(1, Add(7, 3, 2)),
            Event::Deliver(3, 2),
            Event::Change(0, Move(2, 1, 1)),
            Event::Cut(1, true),
            Event::Change(0, Add(6, 3, 0)),
            Event::Restart(2),
            Event::Change(0, Move(5, 2, 1)),
            Event::Change(0, Modify(0, 1, 1)),
            Event::Deliver(2, 1),
            Event::Change(0, Modify(1, 1, 0)),
            Event::Change(2, Move(6, 2, 0)),
            Event::Change(2, Modify(2, 1, 3)),
            Event::Change(0, Add(5, 0, 3)),
            Event::Deliver(1, 4),
            Event::Change(0, Modify(6, 0, 0)),
            Event::Change(0, Add(5, 0, 3)),
        ],
    );
}

/// An entry was sent with the cookie of its add, although its superior had been deleted since. Who had that add from
/// elsewhere was not told where the entry is now.
#[test]
fn a_revision_that_came_with_the_cookie_of_its_version_is_told() {
    use ironbark_harness::changes::RandomChange::{Add, Delete, Modify};
    let add = |node| Event::Change(node, Add(0, 0, 0));
    let mut events = vec![Event::Change(0, Modify(0, 0, 0))];
    events.extend((0..9).map(|look| Event::Look(look % 3)));
    events.extend([
        add(0),
        add(1),
        add(2),
        add(0),
        Event::Restart(2),
        Event::Deliver(0, 2),
        add(2),
        Event::Change(0, Add(5, 0, 0)),
        add(0),
        Event::Clock(0, 0),
        Event::Change(1, Delete(2)),
        Event::Deliver(0, 1),
        Event::Deliver(1, 4),
        Event::Deliver(1, 1),
        Event::Deliver(2, 7),
        Event::Cut(1, true),
    ]);
    run_apart(RING, &events);
}

/// A server was loaded by one whose own first refresh had not ended, and began anew.
#[test]
fn entries_that_were_loaded_without_a_cookie_make_no_vector() {
    use ironbark_harness::changes::RandomChange::{Add, Delete, Move};
    let add = |node| Event::Change(node, Add(0, 0, 0));
    run_apart(
        RING,
        &[
            add(0),
            Event::Cut(0, false),
            add(0),
            Event::Change(0, Delete(1)),
            Event::Deliver(0, 5),
            add(0),
            add(0),
            Event::Change(0, Move(3, 0, 0)),
            Event::Deliver(0, 4),
            add(2),
            Event::Deliver(1, 5),
            Event::Restart(2),
            add(2),
            Event::Deliver(0, 1),
        ],
    );
}

/// A server is restored, and its clock was put back: its new CSNs are ones that it had given before.
#[test]
fn what_a_restored_server_makes_with_a_clock_that_is_behind_is_told() {
    use ironbark_harness::changes::RandomChange::{Add, Delete};
    run(
        MESH,
        &[
            Event::Change(0, Add(3, 3, 0)),
            Event::Look(0),
            Event::Look(2),
            Event::Change(1, Add(0, 3, 0)),
            Event::Save(0),
            Event::Change(1, Add(6, 0, 0)),
            Event::Change(0, Add(0, 0, 0)),
            Event::Change(0, Add(0, 0, 0)),
            Event::Change(0, Delete(1)),
            Event::Change(2, Add(0, 0, 0)),
            Event::Deliver(1, 5),
            Event::Deliver(4, 1),
            Event::Deliver(3, 4),
            Event::Change(0, Add(7, 3, 3)),
            Event::Deliver(2, 3),
            Event::Look(0),
            Event::Cut(1, true),
            Event::Clock(0, -668),
            Event::Deliver(2, 4),
            Event::Restore(0),
            Event::Deliver(3, 7),
        ],
    );
}

/// An entry was added and deleted before it was sent. Then its server was restored from a copy that has it.
#[test]
fn the_end_of_an_entry_that_was_never_sent_outlives_a_restore() {
    use ironbark_harness::changes::RandomChange::{Add, Delete, DeleteTree, Modify, Move};
    run(
        PAIR,
        &[
            Event::Deliver(0, 1),
            Event::Deliver(0, 3),
            Event::Change(0, Add(0, 0, 0)),
            Event::Deliver(1, 1),
            Event::Change(1, Add(3, 2, 0)),
            Event::Change(0, Add(2, 2, 1)),
            Event::Change(0, Move(5, 1, 4)),
            Event::Change(1, Add(3, 1, 3)),
            Event::Change(1, Modify(4, 0, 1)),
            Event::Look(0),
            Event::Save(1),
            Event::Change(1, DeleteTree(5)),
            Event::Change(1, Delete(5)),
            Event::Deliver(1, 5),
            Event::Restore(1),
        ],
    );
}

/// An entry loses its name to another one, and an entry below it has the same RDN as one below the winner.
#[test]
fn what_was_below_the_loser_of_a_name_takes_no_name_below_the_winner() {
    use ironbark_harness::changes::RandomChange::{Add, DeleteTree, Modify, Move};
    run(
        RING,
        &[
            Event::Change(0, Add(0, 1, 0)),
            Event::Look(0),
            Event::Look(1),
            Event::Clock(2, 3),
            Event::Change(0, Add(2, 1, 0)),
            Event::Change(1, Add(5, 0, 0)),
            Event::Change(0, Move(2, 0, 0)),
            Event::Change(0, Add(0, 2, 0)),
            Event::Change(0, Add(0, 1, 0)),
            Event::Change(0, Add(5, 0, 0)),
            Event::Change(0, DeleteTree(4)),
            Event::Deliver(0, 7),
            Event::Change(2, Modify(1, 1, 0)),
            Event::Restart(1),
            Event::Deliver(1, 7),
            Event::Deliver(2, 7),
            Event::Change(1, Modify(2, 1, 2)),
        ],
    );
}
