//! Turns of writes whose time is set.

use std::{collections::HashMap, sync::Arc};

use ironbark_runtime::Claimant;
use ironbark_store::WriteTransaction;
use proptest::prelude::*;

use super::*;
use crate::{
    NamingContext, OperationError,
    backend::{
        queue::{Outcome, Served, WriteTask},
        written::{Executed, Refusal, Success},
    },
    refusal::Failure,
};

/// A write that is never executed: its octets are its number.
struct Numbered(Claimant<ConnectionSource>, usize);

impl WriteTask for Numbered {
    fn octets(&self) -> usize {
        self.1
    }

    fn claimant(&self) -> Claimant<ConnectionSource> {
        self.0
    }

    fn taken(&mut self, _: u64) {}

    fn execute(&self, _: &Served, _: &mut WriteTransaction<'_>) -> Result<(Success, Executed), Refusal> {
        Err(OperationError::from(Failure::Unexpected).into())
    }

    fn conclude(self: Box<Self>, _: &Arc<NamingContext>, _: Outcome) {}

    fn answer(self: Box<Self>, _: OperationError) {}
}

fn by(user: u32, connection: u64) -> Claimant<ConnectionSource> {
    let source = ConnectionSource::User(user);
    Claimant { source, connection }
}

const SERVER: Claimant<ConnectionSource> = Claimant {
    source: ConnectionSource::Server,
    connection: u64::MAX,
};

const LIMIT: usize = 1_024;
const SLOW: u64 = 100_000;
const QUICK: u64 = 10;

/// A queue whose writes take as long as their sources say.
#[derive(Default)]
struct Writer {
    turns: Turns,
    costs: HashMap<ConnectionSource, u64>,
    used: HashMap<Claimant<ConnectionSource>, u64>,
    count: usize,
}

impl Writer {
    fn push(&mut self, claimant: Claimant<ConnectionSource>, micros: u64) {
        self.costs.insert(claimant.source, micros);
        self.count += 1;
        let task = Box::new(Numbered(claimant, self.count));
        self.turns.push(Queued::of_server(task));
    }

    /// Executes a group, and tells whose writes were executed, with their numbers.
    fn serve(&mut self) -> Vec<(Claimant<ConnectionSource>, usize)> {
        let mut group = Vec::new();
        self.turns.next_group(&mut group, LIMIT);
        let (mut micros, mut executed) = (0, Vec::new());
        for queued in &group {
            if micros >= GROUP_MICROS {
                break;
            }
            let cost = self.costs[&queued.claimant.source];
            queued.micros.set(cost);
            micros += cost;
            *self.used.entry(queued.claimant).or_default() += cost;
            executed.push((queued.claimant, queued.task.octets()));
        }
        let rest = group.split_off(executed.len());
        self.turns.ended(&group, rest);
        executed
    }
}

#[test]
fn what_makes_one_group_is_executed_in_the_order_in_which_it_came() {
    let mut writer = Writer::default();
    for (number, user) in (0..7).cycle().take(LIMIT).enumerate() {
        writer.push(by(user, number as u64 % 5), QUICK);
    }
    let numbers: Vec<_> = writer.serve().into_iter().map(|(_, number)| number).collect();
    assert_eq!(numbers, (1..=LIMIT).collect::<Vec<_>>());
    assert!(writer.turns.is_empty());
}

#[test]
fn who_comes_anew_does_not_wait_for_those_who_have_had_a_turn() {
    let mut writer = Writer::default();
    for user in 0..50 {
        for connection in 0..4 {
            (0..5).for_each(|_| writer.push(by(user, u64::from(user) * 4 + connection), SLOW));
        }
    }
    (0..50).for_each(|_| drop(writer.serve()));
    for _ in 0..200 {
        assert_eq!(writer.serve().len(), 1, "slow writes are committed alone");
        writer.push(by(1_000, 1_000), QUICK);
        let executed = writer.serve();
        assert_eq!(
            executed.iter().map(|(by, _)| *by).collect::<Vec<_>>(),
            [by(1_000, 1_000)]
        );
    }
}

#[test]
fn a_connection_does_not_wait_for_all_that_others_of_its_source_have_sent() {
    let mut writer = Writer::default();
    for connection in 0..4 {
        (0..100).for_each(|_| writer.push(by(1, connection), SLOW));
    }
    (0..4).for_each(|_| drop(writer.serve()));
    writer.push(by(1, 9), SLOW);
    assert_eq!(writer.serve()[0].0, by(1, 9));
}

#[test]
fn sources_and_their_connections_get_the_same_time() {
    let mut writer = Writer::default();
    for _ in 0..300 {
        (0..3).for_each(|connection| writer.push(by(1, connection), 30_000));
        writer.push(by(2, 10), 10_000);
    }
    for _ in 0..2_000 {
        writer.push(by(3, 20), 1_000);
    }
    while writer.used.values().sum::<u64>() < 5_000_000 {
        writer.serve();
    }
    let of = |user| {
        let used = writer
            .used
            .iter()
            .filter(|(by, _)| by.source == ConnectionSource::User(user));
        used.map(|(_, used)| *used).collect::<Vec<_>>()
    };
    for user in 1..4 {
        let all = of(user).iter().sum::<u64>();
        assert!((1_600_000..1_740_000).contains(&all), "{user}: {all}");
    }
    assert!(
        of(1).iter().all(|used| (500_000..600_000).contains(used)),
        "{:?}",
        of(1)
    );
}

#[test]
fn the_server_gets_as_much_time_as_all_clients_together() {
    let mut writer = Writer::default();
    for _ in 0..400 {
        (0..5).for_each(|user| writer.push(by(user, u64::from(user)), 20_000));
        writer.push(SERVER, 20_000);
    }
    while writer.used.values().sum::<u64>() < 8_000_000 {
        writer.serve();
    }
    let server = writer.used[&SERVER];
    assert!((3_600_000..4_400_000).contains(&server), "{server}");
}

#[test]
fn who_sends_one_write_at_a_time_does_not_come_anew_with_each() {
    let mut writer = Writer::default();
    (0..100).for_each(|_| writer.push(by(1, 1), SLOW));
    writer.push(by(2, 2), SLOW);
    let mut turns = Vec::new();
    for _ in 0..40 {
        let whose = writer.serve()[0].0;
        if whose == by(2, 2) {
            writer.push(by(2, 2), SLOW);
        }
        turns.push(whose);
    }
    let count = turns.iter().filter(|whose| **whose == by(2, 2)).count();
    assert!((19..22).contains(&count), "{count} of 40");
}

#[test]
fn connections_that_have_gone_are_forgotten() {
    let mut writer = Writer::default();
    (0..100_000).for_each(|_| writer.push(by(0, 0), 1_000));
    for number in 1..20_000 {
        writer.push(by(number, u64::from(number)), QUICK);
        if number % 8 == 0 {
            writer.serve();
        }
    }
    let members = writer.turns.sources.members();
    assert!(members < 2_000, "{members}");
}

proptest! {
    #[test]
    fn writes_of_a_connection_keep_their_order_and_none_is_lost(
        steps in prop::collection::vec((0_u32..4, 0_u64..3, 0_usize..40, prop::bool::ANY), 1..60),
    ) {
        let costs = [QUICK, 3_000, 25_000, SLOW];
        let mut writer = Writer::default();
        let mut last: HashMap<Claimant<ConnectionSource>, usize> = HashMap::new();
        let mut served = 0;
        let mut serve = |writer: &mut Writer| {
            for (whose, number) in writer.serve() {
                prop_assert!(last.insert(whose, number).is_none_or(|before| before < number));
                served += 1;
            }
            Ok(())
        };
        for (user, connection, count, serves) in steps {
            let cost = costs[user as usize];
            (0..count).for_each(|_| writer.push(by(user, u64::from(user) * 3 + connection), cost));
            if serves {
                serve(&mut writer)?;
            }
        }
        while !writer.turns.is_empty() {
            serve(&mut writer)?;
        }
        prop_assert_eq!(served, writer.count);
    }
}
