//! Those who share something by the time that they have used of it.

use std::{
    collections::{BTreeSet, HashMap},
    hash::Hash,
};

/// Members with their work. Whose work waits and who has used the least comes first.
#[derive(Debug)]
pub(super) struct Fair<K, W> {
    members: HashMap<K, Member<W>>,
    /// Those whose work waits: by the time used, then by when it came.
    order: BTreeSet<(u64, u64, K)>,
    /// The most that one whose turn came had used before. Who comes anew has used [`CREDIT`] less.
    reached: u64,
    arrivals: u64,
    /// Number of members from which on those who owe nothing are forgotten.
    many: usize,
}

#[derive(Debug)]
struct Member<W> {
    used: u64,
    /// When its work came, if some waits.
    arrival: Option<u64>,
    work: W,
}

/// What somebody may use before those who have waited come before him again. Without it, one who does little each time
/// would wait for all who do much, after each of his turns.
const CREDIT: u64 = 50_000;
/// Members that are kept in any case.
const FEW: usize = 64;

impl<K, W> Default for Fair<K, W> {
    fn default() -> Self {
        Self {
            members: HashMap::new(),
            order: BTreeSet::new(),
            reached: CREDIT,
            arrivals: 0,
            many: FEW,
        }
    }
}

impl<K: Copy + Ord + Hash, W: Default> Fair<K, W> {
    /// How many are known: those whose work waits, and those who owe something.
    pub(super) fn members(&self) -> usize {
        self.members.len()
    }

    pub(super) fn has_waiting(&self) -> bool {
        !self.order.is_empty()
    }

    /// How many have work that waits.
    pub(super) fn waiting(&self) -> usize {
        self.order.len()
    }

    /// The work of a member, to which some is added.
    pub(super) fn enter(&mut self, name: K) -> &mut W {
        self.arrivals += 1;
        let (arrival, start) = (self.arrivals, self.start());
        if self.members.len() >= self.many {
            self.forget();
        }
        let member = self.members.entry(name).or_insert_with(|| Member::new(start));
        if member.arrival.is_none() {
            member.used = member.used.max(start);
            member.arrival = Some(arrival);
            self.order.insert((member.used, arrival, name));
        }
        &mut member.work
    }

    /// Takes from the work of the first: `take` gets its name, its work, and how many have some. It returns what was
    /// taken, what that counts, and whether more waits.
    pub(super) fn turn<T>(&mut self, take: impl FnOnce(K, &mut W, usize) -> Option<(T, u64, bool)>) -> Option<T> {
        let &(used, arrival, name) = self.order.first()?;
        let member = self.members.get_mut(&name)?;
        let (taken, micros, has_more) = take(name, &mut member.work, self.order.len())?;
        self.order.remove(&(used, arrival, name));
        self.reached = self.reached.max(used);
        member.used = used.saturating_add(micros);
        member.arrival = has_more.then_some(arrival);
        if has_more {
            self.order.insert((member.used, arrival, name));
        }
        Some(taken)
    }

    /// The work of a member.
    pub(super) fn work(&mut self, name: K) -> &mut W {
        let start = self.start();
        &mut self.members.entry(name).or_insert_with(|| Member::new(start)).work
    }

    /// Counts `micros` for a member in place of what was `expected`.
    pub(super) fn count(&mut self, name: K, micros: u64, expected: u64) {
        let start = self.start();
        let member = self.members.entry(name).or_insert_with(|| Member::new(start));
        let before = member.used;
        member.used = before.saturating_add(micros).saturating_sub(expected);
        if let Some(arrival) = member.arrival {
            self.order.remove(&(before, arrival, name));
            self.order.insert((member.used, arrival, name));
        }
    }

    /// What one who comes anew counts as used.
    fn start(&self) -> u64 {
        self.reached - CREDIT
    }

    /// Forgets those who would come anew with the same.
    fn forget(&mut self) {
        let start = self.start();
        self.members
            .retain(|_, member| member.arrival.is_some() || member.used > start);
        self.many = (self.members.len() * 2).max(FEW);
    }
}

impl<W: Default> Member<W> {
    fn new(used: u64) -> Self {
        Self {
            used,
            arrival: None,
            work: W::default(),
        }
    }
}
