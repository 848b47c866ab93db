//! Whole-database searches, counted in entries.

use std::borrow::Cow;

use ironbark_ldap_proto::Filter;

use super::{Next, RequestClass, Requests, Workload, sample::search};
use crate::wire::{RequestSlot, encode};

/// `(objectClass=*)` below a name, all user attributes, repeated on each connection.
#[derive(Debug)]
pub struct Scan {
    base: String,
    kinds: [RequestClass; 1],
}

impl Scan {
    /// Searches below `base`. An answer has at least `entries` entries.
    pub fn new(base: &str, entries: u32) -> Self {
        Self {
            base: base.to_owned(),
            kinds: [RequestClass::new("scan").least_entries(entries).counting_entries()],
        }
    }
}

impl Workload for Scan {
    fn name(&self) -> String {
        "scan".to_owned()
    }

    fn kinds(&self) -> &[RequestClass] {
        &self.kinds
    }

    fn requests(&self, _number: u32, _connections: u32) -> Box<dyn Requests> {
        Box::new(Scans {
            base: self.base.clone(),
        })
    }
}

struct Scans {
    base: String,
}

impl Requests for Scans {
    fn next(&mut self, slot: RequestSlot, out: &mut Vec<u8>) -> Next {
        let present = Filter::Present(Cow::Borrowed(b"objectClass"));
        encode(out, slot, &search(&self.base, present, 0));
        Next::Sent(0)
    }
}
