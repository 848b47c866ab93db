//! Key-value workloads as YCSB defines them, on records of 4,000 bytes. A read is a search of one entry by its name. An
//! update replaces one of its ten fields. A scan is an initial substring of keys.

use crate::word::UnknownWord;
use std::{str::FromStr, sync::Arc};

use ironbark_ldap_proto::ModifyOperation;

use super::{
    Next, Population, RequestClass, Requests, Workload, WorkloadError,
    sample::{encode_add, encode_modify, place, read, search, substrings},
    zipf::Zipf,
};
use crate::{
    generate::{self, FIELDS, push_field, random::Random},
    wire::{RequestSlot, encode},
};

/// The workload's mix.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum YcsbMix {
    /// Reads 50 %, updates 50 %.
    A,
    /// Reads 95 %, updates 5 %.
    B,
    /// Reads.
    C,
    /// Reads of the latest records 95 %, inserts 5 %.
    D,
    /// Scans of up to 100 records 95 %, inserts 5 %.
    E,
    /// Reads 50 %, reads followed by an update of the same record 50 %.
    F,
    /// Reads 80 %, updates 20 %.
    EightyTwenty,
}

/// The workload.
#[derive(Debug)]
pub struct Ycsb {
    population: Population,
    mix: YcsbMix,
    zipf: Arc<Zipf>,
    kinds: Vec<RequestClass>,
}

impl Ycsb {
    /// The workload on all records of the population.
    ///
    /// # Errors
    /// The data set is not `ycsb`.
    pub fn new(population: Population, mix: YcsbMix) -> Result<Self, WorkloadError> {
        if population.set().kind() != generate::DataSetKind::Ycsb {
            return Err(WorkloadError("this workload is for the data set ycsb".to_owned()));
        }
        Ok(Self {
            zipf: Arc::new(Zipf::new(population.entries())),
            population,
            mix,
            kinds: vec![
                RequestClass::new("read").least_entries(1),
                RequestClass::new("update"),
                RequestClass::new("insert"),
                RequestClass::new("scan").expecting(&[0, 4]).least_entries(1),
                RequestClass::new("read to modify").least_entries(1),
            ],
        })
    }
}

impl Workload for Ycsb {
    fn name(&self) -> String {
        format!("ycsb {}", self.mix.name())
    }

    fn kinds(&self) -> &[RequestClass] {
        &self.kinds
    }

    fn requests(&self, number: u32, _connections: u32) -> Box<dyn Requests> {
        Box::new(Stream {
            population: self.population.clone(),
            mix: self.mix,
            zipf: self.zipf.clone(),
            random: self.population.random(number),
            asked: Vec::new(),
            to_update: Vec::new(),
            inserted: Vec::new(),
        })
    }
}

struct Stream {
    population: Population,
    mix: YcsbMix,
    zipf: Arc<Zipf>,
    random: Random,
    /// Names in unanswered requests: inserts, and reads before an update.
    asked: Vec<(RequestSlot, Vec<u8>)>,
    /// Records that have been read and will be updated.
    to_update: Vec<Vec<u8>>,
    /// Records that this connection has inserted.
    inserted: Vec<Vec<u8>>,
}

impl Stream {
    /// The name of a record that existed from the beginning.
    fn popular(&mut self) -> Vec<u8> {
        let number = self.zipf.scattered(&mut self.random);
        self.population.set().name(number).dn.into_bytes()
    }

    /// The name of a record; late records are more frequent: those inserted here, then the others from the end.
    fn latest(&mut self) -> Vec<u8> {
        let back = self.zipf.rank(&mut self.random);
        let index = usize::try_from(back)
            .ok()
            .and_then(|back| self.inserted.len().checked_sub(back + 1));
        if let Some(dn) = index.and_then(|index| self.inserted.get(index)) {
            return dn.clone();
        }
        let inserted = u64::try_from(self.inserted.len()).unwrap_or(0);
        let back = back.saturating_sub(inserted);
        let number = self.population.entries().saturating_sub(back + 1);
        self.population.set().name(number).dn.into_bytes()
    }

    fn read(dn: &[u8], slot: RequestSlot, out: &mut Vec<u8>) -> Next {
        encode(out, slot, &read(dn));
        Next::Sent(READ)
    }

    fn update(&mut self, dn: &[u8], slot: RequestSlot, out: &mut Vec<u8>) -> Next {
        let field = FIELDS
            .get(place(&mut self.random, FIELDS.len()))
            .copied()
            .unwrap_or("title");
        let mut value = String::with_capacity(400);
        push_field(&mut value, &mut self.random);
        encode_modify(dn, ModifyOperation::Replace, field, value.as_bytes(), slot, out);
        Next::Sent(UPDATE)
    }

    fn insert(&mut self, slot: RequestSlot, out: &mut Vec<u8>) -> Next {
        let Ok(entry) = self.population.new_entry() else {
            return Next::End;
        };
        encode_add(&entry, slot, out);
        self.asked.push((slot, entry.dn));
        Next::Sent(INSERT)
    }

    fn scan(&mut self, slot: RequestSlot, out: &mut Vec<u8>) -> Next {
        let number = self.zipf.scattered(&mut self.random);
        let key = self.population.set().name(number).login;
        let prefix = key.get(..key.len().saturating_sub(2)).unwrap_or_default();
        let limit = u32::try_from(1 + self.random.below(100)).unwrap_or(1);
        let filter = substrings("uid", prefix.as_bytes(), b"", b"");
        encode(out, slot, &search(self.population.set().suffix(), filter, limit));
        Next::Sent(SCAN)
    }

    fn read_or_update(&mut self, reads: u64, slot: RequestSlot, out: &mut Vec<u8>) -> Next {
        let dn = self.popular();
        if self.random.percent(reads) {
            Self::read(&dn, slot, out)
        } else {
            self.update(&dn, slot, out)
        }
    }
}

impl Requests for Stream {
    fn next(&mut self, slot: RequestSlot, out: &mut Vec<u8>) -> Next {
        match self.mix {
            YcsbMix::A => self.read_or_update(50, slot, out),
            YcsbMix::B => self.read_or_update(95, slot, out),
            YcsbMix::C => self.read_or_update(100, slot, out),
            YcsbMix::EightyTwenty => self.read_or_update(80, slot, out),
            YcsbMix::D | YcsbMix::E if self.random.percent(5) => self.insert(slot, out),
            YcsbMix::D => {
                let dn = self.latest();
                Self::read(&dn, slot, out)
            }
            YcsbMix::E => self.scan(slot, out),
            YcsbMix::F => {
                if let Some(dn) = self.to_update.pop() {
                    return self.update(&dn, slot, out);
                }
                let dn = self.popular();
                if self.random.percent(50) {
                    return Self::read(&dn, slot, out);
                }
                encode(out, slot, &read(&dn));
                self.asked.push((slot, dn));
                Next::Sent(READ_TO_MODIFY)
            }
        }
    }

    fn answered(&mut self, slot: RequestSlot, kind: u8, code: u32) {
        if kind != INSERT && kind != READ_TO_MODIFY {
            return;
        }
        let found = self.asked.iter().position(|(its_slot, _)| *its_slot == slot);
        let dn = found.map(|index| self.asked.swap_remove(index).1).filter(|_| code == 0);
        if kind == INSERT {
            self.inserted.extend(dn);
        } else {
            self.to_update.extend(dn);
        }
    }
}

impl YcsbMix {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::A => "a",
            Self::B => "b",
            Self::C => "c",
            Self::D => "d",
            Self::E => "e",
            Self::F => "f",
            Self::EightyTwenty => "80-20",
        }
    }
}

impl FromStr for YcsbMix {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        let all = [Self::A, Self::B, Self::C, Self::D, Self::E, Self::F, Self::EightyTwenty];
        let found = all.into_iter().find(|mix| mix.name().eq_ignore_ascii_case(text));
        found.ok_or_else(|| UnknownWord::new("workload", text, "a, b, c, d, e, f, 80-20"))
    }
}

const READ: u8 = 0;
const UPDATE: u8 = 1;
const INSERT: u8 = 2;
const SCAN: u8 = 3;
const READ_TO_MODIFY: u8 = 4;
