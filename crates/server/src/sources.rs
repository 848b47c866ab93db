//! The addresses that connections come from, and how many connections each has open (`connection-limit`).

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use ironbark_directory::SourceAddress;

/// Open connections by address: never more entries than there are connections.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    open: Mutex<HashMap<SourceAddress, u32>>,
    /// Connections that were closed because their address had too many.
    refused: AtomicU64,
    /// Connections that were closed because of a bad or missing proxy header.
    refused_proxies: AtomicU64,
}

/// One connection from an address. Dropping it makes room for another.
#[derive(Debug)]
pub(crate) struct SourcePlace {
    sources: Arc<Sources>,
    address: SourceAddress,
}

impl Sources {
    /// Makes room for a connection from an address; `None`: the address has `limit` connections already. A limit of 0
    /// means no limit.
    pub(crate) fn enter(self: &Arc<Self>, address: IpAddr, limit: u32) -> Option<SourcePlace> {
        let address = SourceAddress::from(address);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let count = open.entry(address).or_insert(0);
        if limit != 0 && *count >= limit {
            self.refused.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        *count = count.saturating_add(1);
        drop(open);
        Some(SourcePlace {
            sources: Arc::clone(self),
            address,
        })
    }

    /// Counts a connection to a listener for proxies that did not come from a proxy.
    pub(crate) fn refuse_proxy(&self) {
        self.refused_proxies.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    pub(crate) fn refused_proxies(&self) -> u64 {
        self.refused_proxies.load(Ordering::Relaxed)
    }
}

impl Drop for SourcePlace {
    fn drop(&mut self) {
        let mut open = self.sources.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = open.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_address_has_its_own_places() {
        let sources = Arc::<Sources>::default();
        let enter = |address: &str| sources.enter(address.parse().unwrap(), 2);
        let first = enter("192.0.2.1").unwrap();
        let _second = enter("192.0.2.1").unwrap();
        assert!(enter("192.0.2.1").is_none() && enter("192.0.2.2").is_some());
        drop(first);
        let _third = enter("192.0.2.1").unwrap();
        // A single customer has a whole network.
        let _six = (enter("2001:db8::1").unwrap(), enter("2001:db8::2").unwrap());
        assert!(enter("2001:db8::3").is_none() && enter("2001:db8:0:1::1").is_some());
        assert_eq!((sources.refused(), sources.open.lock().unwrap().len()), (2, 2));
    }
}
