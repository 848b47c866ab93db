//! Equality searches of mail accounts: half of them for a delivery address, half for an alias, as SLAMD asked Zimbra
//! servers.

use std::sync::Arc;

use super::{
    Next, Population, RequestClass, Requests, Workload, WorkloadError,
    sample::{equality, place, search},
};
use crate::{
    generate::{self, random::Random},
    wire::{Pool, RequestSlot},
};

/// The workload of searches.
#[derive(Debug)]
pub struct SearchWorkload {
    population: Population,
    kinds: [RequestClass; 2],
    pools: Arc<[Pool; 2]>,
}

impl SearchWorkload {
    /// Encodes a search for each delivery address and each alias of the sample.
    ///
    /// # Errors
    /// The data set is not `zimbra`, or no account of the sample has an alias.
    pub fn new(population: Population) -> Result<Self, WorkloadError> {
        if population.set().kind() != generate::DataSetKind::Zimbra {
            return Err(WorkloadError("this workload is for the data set zimbra".to_owned()));
        }
        let mut pools = [Pool::default(), Pool::default()];
        for entry in population.sample() {
            let entry = entry?;
            for (pool, attribute) in pools.iter_mut().zip(ATTRIBUTES) {
                for value in entry.values(attribute) {
                    pool.push(&search(population.set().suffix(), equality(attribute, value), 0));
                }
            }
        }
        if pools.iter().any(Pool::is_empty) {
            return Err(WorkloadError("no account of the sample has an alias".to_owned()));
        }
        Ok(Self {
            population,
            kinds: ATTRIBUTES.map(|attribute| RequestClass::new(attribute).least_entries(1)),
            pools: Arc::new(pools),
        })
    }
}

impl Workload for SearchWorkload {
    fn name(&self) -> String {
        "search".to_owned()
    }

    fn kinds(&self) -> &[RequestClass] {
        &self.kinds
    }

    fn requests(&self, number: u32, _connections: u32) -> Box<dyn Requests> {
        Box::new(Searches {
            pools: self.pools.clone(),
            random: self.population.random(number),
        })
    }
}

struct Searches {
    pools: Arc<[Pool; 2]>,
    random: Random,
}

impl Requests for Searches {
    fn next(&mut self, slot: RequestSlot, out: &mut Vec<u8>) -> Next {
        let [deliveries, aliases] = &*self.pools;
        let (pool, kind) = if self.random.percent(50) {
            (deliveries, 0)
        } else {
            (aliases, 1)
        };
        pool.copy(place(&mut self.random, pool.len()), slot, out);
        Next::Sent(kind)
    }
}

const ATTRIBUTES: [&str; 2] = ["zimbraMailDeliveryAddress", "zimbraMailAlias"];
