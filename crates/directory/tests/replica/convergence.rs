//! Random changes that arrive in random orders, some of them twice, end in the same content.

use std::collections::BTreeSet;

use ironbark_directory::{Incoming, ReplicaMapping, ReplicatedEntry};

use ironbark_harness::{
    Site,
    peer::{LINES, content, delete, deletes_of, entries_of, mapping, message, names, send, shared},
};

/// SplitMix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).expect("small")
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            let other = self.below(at + 1);
            items.swap(at, other);
        }
    }
}

/// Names of containers: with few of them they are used again and again.
struct Containers {
    number: usize,
    are_reused: bool,
}

impl Containers {
    fn fresh(&mut self, random: &mut Random) -> String {
        self.number += 1;
        if self.are_reused {
            format!("ou=o{}", random.below(3))
        } else {
            format!("ou=o{}", self.number)
        }
    }
}

fn pick(random: &mut Random, names: &[String], wanted: &str) -> Option<String> {
    let fitting: Vec<&String> = names.iter().filter(|name| name.starts_with(wanted)).collect();
    let at = random.below(fitting.len().max(1));
    fitting.get(at).copied().cloned()
}

/// One change by a client; it may be refused.
fn change(site: &mut Site, random: &mut Random, containers: &mut Containers) {
    let all = names(site);
    let above = pick(random, &all, "ou=")
        .filter(|_| random.below(3) > 0)
        .unwrap_or_else(|| "dc=ex".into());
    let leaf = format!("cn=p{}", random.below(4));
    let _ = match random.below(8) {
        0 => {
            let name = format!("{},{above}", containers.fresh(random));
            site.add(&name, "objectClass: organizationalUnit")
        }
        1 | 2 => site.add(&format!("{leaf},{above}"), "objectClass: person\nsn: s"),
        3 => {
            let Some(name) = pick(random, &all, "cn=") else { return };
            let values: BTreeSet<usize> = (0..3).map(|_| random.below(5)).collect();
            let lines = values
                .iter()
                .fold(String::new(), |text, value| text + "\nd: " + &value.to_string());
            site.modify(&name, &format!("replace: description{lines}"))
        }
        4 => {
            let Some(name) = pick(random, &all, "cn=") else { return };
            site.rename(&name, &leaf, Some(&above))
        }
        5 => {
            let Some(name) = pick(random, &all, "ou=") else { return };
            site.rename(&name, &containers.fresh(random), Some(&above))
        }
        6 => {
            let Some(name) = pick(random, &all, "ou=") else { return };
            site.delete(&name)
        }
        _ => {
            let Some(name) = pick(random, &all, "cn=") else { return };
            site.delete(&name)
        }
    };
}

fn depth(entry: &ReplicatedEntry) -> usize {
    entry.dn.matches(',').count()
}

/// Sends the provider's entries, some of them twice, and the deletes of what it does not have, in a random order; with
/// `superiors_first` the entries by depth.
fn send_all(provider: &Site, consumer: &Site, random: &mut Random, superiors_first: bool) {
    let mut entries = entries_of(provider);
    let there: BTreeSet<[u8; 16]> = entries.iter().map(|entry| entry.uuid).collect();
    let gone = entries_of(consumer).into_iter().map(|entry| entry.uuid);
    let gone: Vec<[u8; 16]> = gone.filter(|uuid| !there.contains(uuid)).collect();
    for _ in 0..random.below(3) {
        let again = entries.get(random.below(entries.len())).cloned();
        entries.extend(again);
    }
    random.shuffle(&mut entries);
    if superiors_first {
        entries.sort_by_key(depth);
    }
    let mut messages: Vec<Incoming> = entries.into_iter().map(Incoming::Entry).collect();
    for uuid in gone {
        messages.insert(random.below(messages.len() + 1), Incoming::Delete { uuid });
    }
    for incoming in messages {
        send(consumer, message(mapping(consumer), incoming)).expect("applied");
    }
}

/// Rounds of changes at a provider. After each its consumer is refreshed and must have the same content.
fn follow(seed: u64, are_reused: bool) {
    let mut provider = Site::open_server(1, LINES);
    provider.must_add("dc=ex", "objectClass: domain");
    let consumer = Site::open_server(2, LINES);
    let mut random = Random(seed);
    let mut containers = Containers { number: 0, are_reused };
    for round in 0..100 {
        for _ in 0..random.below(12) {
            change(&mut provider, &mut random, &mut containers);
        }
        let before = names(&consumer);
        send_all(&provider, &consumer, &mut random, are_reused);
        let told = format!("seed {seed}, round {round}, from {before:#?}");
        assert_eq!(names(&consumer), names(&provider), "{told}");
        assert_eq!(content(&consumer), content(&provider), "{told}");
    }
}

#[test]
fn a_consumer_has_the_content_of_its_provider_in_any_order() {
    for seed in 0..3 {
        follow(seed, false);
    }
}

#[test]
fn names_may_be_used_again_if_superiors_come_first() {
    for seed in 10..13 {
        follow(seed, true);
    }
}

/// Sends what one of two has to the other: all of it, or a part.
fn exchange(from: &Site, to: &Site, random: &mut Random, all: bool) {
    let asked: fn(&Site) -> ReplicaMapping = shared;
    let mut messages: Vec<Result<ReplicatedEntry, _>> = entries_of(from).into_iter().map(Ok).collect();
    messages.extend(deletes_of(from).into_iter().map(Err));
    random.shuffle(&mut messages);
    if !all {
        messages.truncate(random.below(messages.len() + 1));
    }
    for sent in messages {
        match sent {
            Ok(entry) => {
                send(to, message(asked(to), Incoming::Entry(entry))).expect("applied");
            }
            Err((uuid, csn)) => {
                delete(to, asked(to), uuid, Some(csn));
            }
        }
    }
}

/// A change of a person; containers stay as they are.
fn change_person(site: &mut Site, random: &mut Random) {
    let all = names(site);
    let leaf = format!("cn=p{},ou=o{},dc=ex", random.below(3), random.below(2));
    let _ = match random.below(5) {
        0 | 1 => site.add(&leaf, "objectClass: person\nsn: s"),
        2 => {
            let value = random.below(1_000);
            let Some(name) = pick(random, &all, "cn=") else { return };
            site.modify(&name, &format!("replace: description\nd: {value}"))
        }
        3 => {
            let Some(name) = pick(random, &all, "cn=") else { return };
            let (rdn, above) = leaf.split_once(',').expect("a name");
            site.rename(&name, rdn, Some(above))
        }
        _ => {
            let Some(name) = pick(random, &all, "cn=") else { return };
            site.delete(&name)
        }
    };
}

#[test]
fn two_that_write_and_exchange_in_any_order_end_alike() {
    let (mut a, mut b) = (Site::open_server(1, LINES), Site::open_server(2, LINES));
    a.must_add("dc=ex", "objectClass: domain");
    for name in ["ou=o0,dc=ex", "ou=o1,dc=ex"] {
        a.must_add(name, "objectClass: organizationalUnit");
    }
    for seed in 0..200 {
        let mut random = Random(seed);
        exchange(&a, &b, &mut random, true);
        for _ in 0..random.below(5) {
            for _ in 0..random.below(4) {
                change_person(&mut a, &mut random);
            }
            for _ in 0..random.below(4) {
                change_person(&mut b, &mut random);
            }
            exchange(&a, &b, &mut random, false);
            exchange(&b, &a, &mut random, false);
        }
        let mut rounds = 0;
        while content(&a) != content(&b) {
            rounds += 1;
            assert!(rounds < 6, "seed {seed}: {:#?} and {:#?}", names(&a), names(&b));
            exchange(&a, &b, &mut random, true);
            exchange(&b, &a, &mut random, true);
        }
    }
}
