//! Servers that all take writes and follow each other's access logs: in the end they are equal.

use proptest::prelude::*;

use crate::{
    Event, config,
    node::Replicator,
    world::World,
    writers::{CHAIN, MESH, PAIR, RING, Topology, events},
};

/// Lets this happen, and checks the end.
fn run(topology: Topology, events: &[Event]) {
    let mut world = World::shared(topology.nodes, topology.links, (Replicator::ByRule, true));
    world.run(events);
    world.heal();
    world.all_are_equal();
}

/// All begin with the same, and find the logs whole.
fn quiet(topology: Topology) -> impl Strategy<Value = Vec<Event>> {
    let rounds = (0..topology.nodes).flat_map(move |_| (0..topology.links.len()).map(Event::Look));
    let rounds: Vec<Event> = rounds.collect();
    events(topology).prop_map(move |events| {
        let kept = events.into_iter().filter(|event| !matches!(event, Event::Forget(_)));
        rounds.iter().cloned().chain(kept).collect()
    })
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn two_writers_that_follow_logs_end_equal(events in quiet(PAIR)) {
        run(PAIR, &events);
    }

    #[test]
    fn a_mesh_of_writers_that_follow_logs_ends_equal(events in quiet(MESH)) {
        run(MESH, &events);
    }

    #[test]
    fn a_ring_of_writers_that_follow_logs_ends_equal(events in quiet(RING)) {
        run(RING, &events);
    }

    #[test]
    fn a_chain_of_writers_that_follow_logs_ends_equal(events in quiet(CHAIN)) {
        run(CHAIN, &events);
    }
}
