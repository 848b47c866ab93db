//! Several servers in one process that follow each other: random changes, cuts, clocks and restarts of sessions, and
//! what must hold in the end. One sequence of events is one run; a sequence that fails shrinks and is printed.
//!
//! `IRONBARK_CASES=10000 cargo test -p ironbark-simulator --release` runs more of them. `IRONBARK_TRACE=1` prints what
//! happens, for a test with one sequence.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

mod chains;
mod fallback;
mod ledger;
mod link;
mod logs;
mod node;
mod world;
mod writers;

use ironbark_ldap_proto::Scope;
use proptest::{prelude::*, test_runner::RngSeed};

use crate::{link::Content, world::World};
use ironbark_harness::changes::{RandomChange, change};

/// What may happen.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    /// A client changes something at a node.
    Change(usize, RandomChange),
    /// A provider works, and up to so many of its messages arrive.
    Deliver(usize, usize),
    /// A connection breaks; what was on its way is lost. What has arrived may still be on its way into the database.
    Cut(usize, bool),
    /// The process of a node ends, and begins anew.
    Restart(usize),
    /// A backup of a node is made.
    Save(usize),
    /// The last backup of a node is restored.
    Restore(usize),
    /// The same, and the node gets another server ID.
    RestoreAsAnother(usize),
    /// The log of a node is trimmed to nothing.
    Forget(usize),
    /// The access log of a node is emptied.
    Purge(usize),
    /// The clock of a node moves by milliseconds.
    Clock(usize, i64),
    /// A link is brought up to date, and its content is compared.
    Look(usize),
}

/// Whether what happens is printed.
fn is_traced() -> bool {
    std::env::var_os("IRONBARK_TRACE").is_some()
}

fn event(nodes: usize, links: usize, writers: usize) -> impl Strategy<Value = Event> {
    prop_oneof![
        12 => (0..writers, change()).prop_map(|(node, change)| Event::Change(node, change)),
        8 => (0..links, 1..8usize).prop_map(|(link, most)| Event::Deliver(link, most)),
        2 => (0..links, any::<bool>()).prop_map(|(link, settles)| Event::Cut(link, settles)),
        1 => (0..nodes).prop_map(Event::Forget),
        1 => (0..nodes).prop_map(Event::Restart),
        2 => (0..nodes, -2_000..2_000i64).prop_map(|(node, millis)| Event::Clock(node, millis)),
        2 => (0..links).prop_map(Event::Look),
    ]
}

/// The same runs every time, unless `IRONBARK_CASES` asks for so many new ones.
fn config() -> ProptestConfig {
    let cases = std::env::var("IRONBARK_CASES").ok().and_then(|text| text.parse().ok());
    ProptestConfig {
        cases: cases.unwrap_or(130),
        rng_seed: cases.map_or(RngSeed::Fixed(1), |_| RngSeed::Random),
        max_shrink_iters: 2_000,
        ..ProptestConfig::default()
    }
}

const WHOLE: Content = Content {
    base: "dc=ex",
    scope: Scope::WholeSubtree,
    filter: "(objectClass=*)",
    attributes: &[],
};

/// Parts of the content that a consumer may follow.
const PARTS: [Content; 6] = [
    WHOLE,
    Content {
        base: "ou=1,dc=ex",
        ..WHOLE
    },
    Content {
        scope: Scope::SingleLevel,
        base: "ou=2,dc=ex",
        ..WHOLE
    },
    Content {
        filter: "(|(sn=a)(description=b))",
        ..WHOLE
    },
    Content {
        filter: "(!(sn=a))",
        base: "ou=1,dc=ex",
        ..WHOLE
    },
    Content {
        attributes: &["cn", "sn", "ou", "dc", "o"],
        ..WHOLE
    },
];

/// Lets this happen to a provider with a consumer of each part.
fn follow_parts(events: &[Event]) {
    let mut world = World::new(1 + PARTS.len());
    for (number, content) in PARTS.iter().enumerate() {
        world.link(number + 1, 0, *content);
    }
    world.run(events);
    world.heal();
    world.links_are_equal();
}

/// The log is gone, and entries come in the order of their IDs, superiors first.
#[test]
fn what_moved_below_a_name_that_was_used_again_does_not_come_below_its_former_holder() {
    use ironbark_harness::changes::RandomChange::{Add, Delete, Move};
    let mut events: Vec<Event> = [
        Add(0, 0, 0),
        Add(0, 1, 0),
        Add(3, 1, 0),
        Add(0, 2, 0),
        Move(3, 1, 0),
        Add(6, 0, 0),
        Delete(7),
    ]
    .map(|change| Event::Change(0, change))
    .into();
    events.push(Event::Deliver(0, 1));
    events.extend([Delete(4), Move(7, 1, 0), Move(2, 0, 6)].map(|change| Event::Change(0, change)));
    events.push(Event::Forget(0));
    follow_parts(&events);
}

/// The first refresh breaks off, and one of its names goes to another entry.
#[test]
fn what_moved_below_a_new_entry_does_not_come_below_one_of_a_refresh_that_broke_off() {
    use ironbark_harness::changes::RandomChange::{Add, Delete, Move};
    let mut events = vec![Event::Change(0, Add(4, 3, 0)), Event::Deliver(1, 2)];
    let changes = [
        Delete(0),
        Add(0, 1, 0),
        Add(0, 3, 0),
        Add(3, 0, 0),
        Add(2, 3, 0),
        Move(5, 0, 6),
    ];
    events.extend(changes.map(|change| Event::Change(0, change)));
    events.push(Event::Cut(1, false));
    follow_parts(&events);
}

proptest! {
    #![proptest_config(config())]

    /// G1 (docs/internals/replica.md): a consumer has what a search at its provider finds.
    #[test]
    fn each_kind_of_consumer_has_what_its_provider_has(
        events in prop::collection::vec(event(1, PARTS.len(), 1), 1..60)
    ) {
        follow_parts(&events);
    }

    /// The same, where the provider is a consumer itself.
    #[test]
    fn a_chain_of_servers_ends_equal(events in prop::collection::vec(event(3, 2, 1), 1..60)) {
        let mut world = World::new(3);
        world.link(1, 0, WHOLE);
        world.link(2, 1, WHOLE);
        world.run(&events);
        world.heal();
        world.all_are_equal();
    }
}
