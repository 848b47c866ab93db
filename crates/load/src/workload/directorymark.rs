//! The DirectoryMark scenarios: messaging, addressing, mixed, and loading over the protocol.

use crate::word::UnknownWord;
use std::{
    str::FromStr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use ironbark_ldap_proto::{CompareRequest, ModifyOperation, Request};

use super::{
    Next, Population, RequestClass, Requests, Workload, WorkloadError,
    sample::{encode_add, encode_modify, equality, place, search, substrings},
};
use crate::{
    generate::{self, DataSet, GeneratedEntry, random::Random},
    wire::{Pool, RequestSlot, encode},
};

/// The scenario.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mix {
    /// Exact searches with one answer, as of a mail server.
    Messaging,
    /// Exact and initial-substring searches over the attributes of an address book, with up to 200 answers.
    Addressing,
    /// Exact searches 48 %, modifies 32 %, adds 11 %, deletes 5 %, compares 4 %.
    Mixed,
}

/// A scenario on a population of people from the `directorymark` data set.
#[derive(Debug)]
pub struct DirectoryMark {
    population: Population,
    mix: Mix,
    kinds: Vec<RequestClass>,
    pools: Arc<Pools>,
}

/// Requests that are encoded in advance.
#[derive(Debug, Default)]
struct Pools {
    exact: Pool,
    initial: Pool,
    compare: Pool,
    names: Vec<Vec<u8>>,
}

impl DirectoryMark {
    /// Encodes requests in advance where possible.
    ///
    /// # Errors
    /// The data set is not `directorymark`.
    pub fn new(population: Population, mix: Mix) -> Result<Self, WorkloadError> {
        if population.set().kind() != generate::DataSetKind::DirectoryMark {
            return Err(WorkloadError(
                "this workload is for the data set directorymark".to_owned(),
            ));
        }
        let base = population.set().suffix();
        let mut pools = Pools::default();
        for entry in population.sample() {
            let entry = entry?;
            match mix {
                Mix::Messaging => pools.exact_of(base, &entry, &["mail"], 0),
                Mix::Addressing => {
                    pools.exact_of(base, &entry, &ADDRESS_BOOK, SIZE_LIMIT);
                    pools.initial_of(base, &entry);
                }
                Mix::Mixed => {
                    pools.exact_of(base, &entry, &["mail", "uid", "cn"], SIZE_LIMIT);
                    pools.compare_of(&entry);
                    pools.names.push(entry.dn);
                }
            }
        }
        let searching = |name: &str| RequestClass::new(name).expecting(&[0, 4]).least_entries(1);
        let kinds = match mix {
            Mix::Messaging => vec![RequestClass::new("exact").least_entries(1)],
            Mix::Addressing => vec![searching("exact"), searching("initial")],
            Mix::Mixed => vec![
                searching("search"),
                RequestClass::new("modify"),
                RequestClass::new("add"),
                RequestClass::new("delete"),
                RequestClass::new("compare").expecting(&[6]),
            ],
        };
        Ok(Self {
            population,
            mix,
            kinds,
            pools: Arc::new(pools),
        })
    }
}

impl Pools {
    fn exact_of(&mut self, base: &str, entry: &GeneratedEntry, attributes: &[&'static str], size_limit: u32) {
        for attribute in attributes {
            if let Some(value) = entry.values(attribute).first() {
                self.exact.push(&search(base, equality(attribute, value), size_limit));
            }
        }
    }

    fn initial_of(&mut self, base: &str, entry: &GeneratedEntry) {
        for attribute in ADDRESS_BOOK {
            let text = entry
                .values(attribute)
                .first()
                .map(|value| String::from_utf8_lossy(value));
            // Half of a short value, or five characters of a long one.
            let initial = text.map(|text| {
                let length = text.chars().count().div_ceil(2).min(5);
                text.chars().take(length).collect::<String>()
            });
            if let Some(initial) = initial.filter(|initial| !initial.ends_with(' ')) {
                let filter = substrings(attribute, initial.as_bytes(), b"", b"");
                self.initial.push(&search(base, filter, SIZE_LIMIT));
            }
        }
    }

    fn compare_of(&mut self, entry: &GeneratedEntry) {
        if let Some(uid) = entry.values("uid").first() {
            self.compare.push(&Request::Compare(CompareRequest {
                entry: &entry.dn,
                attribute: b"uid",
                value: uid,
            }));
        }
    }
}

impl Workload for DirectoryMark {
    fn name(&self) -> String {
        format!("directorymark {}", self.mix.name())
    }

    fn kinds(&self) -> &[RequestClass] {
        &self.kinds
    }

    fn requests(&self, number: u32, _connections: u32) -> Box<dyn Requests> {
        Box::new(Stream {
            population: self.population.clone(),
            mix: self.mix,
            pools: self.pools.clone(),
            random: self.population.random(number),
            adding: Vec::new(),
            added: Vec::new(),
        })
    }
}

struct Stream {
    population: Population,
    mix: Mix,
    pools: Arc<Pools>,
    random: Random,
    /// Names of entries that are being added, by slot.
    adding: Vec<(RequestSlot, Vec<u8>)>,
    /// Names of entries that this connection has added and has not deleted.
    added: Vec<Vec<u8>>,
}

impl Stream {
    fn mixed(&mut self, slot: RequestSlot, out: &mut Vec<u8>) -> Next {
        match self.random.below(100) {
            0..48 => self.copy(&self.pools.clone().exact, slot, out, 0),
            48..80 => self.modify(slot, out),
            80..91 => self.add(slot, out),
            91..96 => match self.added.pop() {
                Some(dn) => {
                    encode(out, slot, &Request::Delete(&dn));
                    Next::Sent(3)
                }
                // Adds are twice as frequent as deletes, so only at the very beginning there is nothing to delete.
                None => self.add(slot, out),
            },
            _ => self.copy(&self.pools.clone().compare, slot, out, 4),
        }
    }

    fn copy(&mut self, pool: &Pool, slot: RequestSlot, out: &mut Vec<u8>, kind: u8) -> Next {
        pool.copy(place(&mut self.random, pool.len()), slot, out);
        Next::Sent(kind)
    }

    fn modify(&mut self, slot: RequestSlot, out: &mut Vec<u8>) -> Next {
        let index = place(&mut self.random, self.pools.names.len());
        let Some(dn) = self.pools.names.get(index) else {
            return Next::End;
        };
        let value = format!("+1 555 {:07}", self.random.below(10_000_000));
        let operation = ModifyOperation::Replace;
        encode_modify(dn, operation, "telephoneNumber", value.as_bytes(), slot, out);
        Next::Sent(1)
    }

    fn add(&mut self, slot: RequestSlot, out: &mut Vec<u8>) -> Next {
        let Ok(entry) = self.population.new_entry() else {
            return Next::End;
        };
        encode_add(&entry, slot, out);
        self.adding.push((slot, entry.dn));
        Next::Sent(2)
    }
}

impl Requests for Stream {
    fn next(&mut self, slot: RequestSlot, out: &mut Vec<u8>) -> Next {
        let pools = self.pools.clone();
        match self.mix {
            Mix::Messaging => self.copy(&pools.exact, slot, out, 0),
            Mix::Addressing if self.random.percent(50) => self.copy(&pools.exact, slot, out, 0),
            Mix::Addressing => self.copy(&pools.initial, slot, out, 1),
            Mix::Mixed => self.mixed(slot, out),
        }
    }

    fn answered(&mut self, slot: RequestSlot, kind: u8, code: u32) {
        if self.mix == Mix::Mixed && kind == 2 {
            let found = self.adding.iter().position(|(its_slot, _)| *its_slot == slot);
            let dn = found.map(|index| self.adding.swap_remove(index).1);
            self.added.extend(dn.filter(|_| code == 0));
        }
    }
}

/// Adds the entries of a data set over the protocol. Its containers must exist.
#[derive(Debug)]
pub struct Load {
    set: Arc<DataSet>,
    count: u64,
    kinds: [RequestClass; 1],
    next: Arc<AtomicU64>,
}

impl Load {
    /// Adds entries 0 to `count - 1`, each once, whatever the number of connections.
    pub fn new(set: DataSet, count: u64) -> Self {
        Self {
            set: Arc::new(set),
            count,
            kinds: [RequestClass::new("add")],
            next: Arc::default(),
        }
    }
}

impl Workload for Load {
    fn name(&self) -> String {
        format!("{} load", self.set.kind().name())
    }

    fn kinds(&self) -> &[RequestClass] {
        &self.kinds
    }

    fn requests(&self, _number: u32, _connections: u32) -> Box<dyn Requests> {
        Box::new(Adds {
            set: self.set.clone(),
            count: self.count,
            next: self.next.clone(),
        })
    }
}

struct Adds {
    set: Arc<DataSet>,
    count: u64,
    next: Arc<AtomicU64>,
}

impl Requests for Adds {
    fn next(&mut self, slot: RequestSlot, out: &mut Vec<u8>) -> Next {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        if number >= self.count {
            return Next::End;
        }
        match self.set.entry(number) {
            Ok(entry) => encode_add(&entry, slot, out),
            Err(_) => return Next::End,
        }
        Next::Sent(0)
    }
}

impl Mix {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Messaging => "messaging",
            Self::Addressing => "addressing",
            Self::Mixed => "mixed",
        }
    }
}

impl FromStr for Mix {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        let all = [Self::Messaging, Self::Addressing, Self::Mixed];
        let found = all.into_iter().find(|mix| mix.name() == text);
        found.ok_or_else(|| UnknownWord::new("scenario", text, "messaging, addressing, mixed"))
    }
}

/// The attributes that an address book searches.
const ADDRESS_BOOK: [&str; 5] = ["cn", "sn", "givenName", "uid", "mail"];
const SIZE_LIMIT: u32 = 200;
