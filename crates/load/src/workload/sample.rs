//! The entries on the server that a workload uses, and requests about them.

use std::{
    borrow::Cow,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use ironbark_ldap_proto::{
    AddRequest, Assertion, DerefAliases, Filter, ModifyChange, ModifyOperation, ModifyRequest, PartialAttribute,
    Request, Scope, SearchRequest,
};

use super::WorkloadError;
use crate::{
    generate::{DataSet, EntryName, GeneratedEntry, random::Random},
    wire::{RequestSlot, encode},
};

/// A data set on the server, and how a workload uses it.
#[derive(Clone, Debug)]
pub struct Population {
    set: Arc<DataSet>,
    entries: u64,
    sample: u64,
    seed: u64,
    /// The number of the next entry to add. All connections and runs share it, so that no entry is added twice.
    next_new: Arc<AtomicU64>,
}

impl Population {
    /// `entries` people of the data set are on the server. A workload uses at most `sample` of them, chosen by `seed`.
    /// New entries get numbers from `first_new` on.
    ///
    /// # Errors
    /// There are no entries, or numbers of new entries are in use.
    pub fn new(set: DataSet, entries: u64, sample: u64, seed: u64, first_new: u64) -> Result<Self, WorkloadError> {
        if entries == 0 || sample == 0 {
            return Err(WorkloadError("entries and sample must be at least 1".to_owned()));
        }
        if first_new < entries {
            let text = format!("the first new entry has number {first_new}, and {entries} are there");
            return Err(WorkloadError(text));
        }
        Ok(Self {
            set: Arc::new(set),
            entries,
            sample: sample.min(entries),
            seed,
            next_new: Arc::new(AtomicU64::new(first_new)),
        })
    }

    /// The data set.
    pub fn set(&self) -> &DataSet {
        &self.set
    }

    /// The number of entries on the server.
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// The seed of random choices.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Numbers of the entries that are used: all entries in order when the sample covers them all, otherwise random
    /// ones.
    pub(super) fn numbers(&self) -> impl Iterator<Item = u64> {
        let (entries, sample, seed) = (self.entries, self.sample, self.seed);
        let mut random = Random::for_entry(seed ^ SAMPLE_SEED, 0);
        (0..sample).map(move |number| {
            if sample == entries {
                number
            } else {
                random.below(entries)
            }
        })
    }

    /// The entries that are used.
    pub(super) fn sample(&self) -> impl Iterator<Item = Result<GeneratedEntry, WorkloadError>> {
        self.numbers().map(|number| Ok(self.set.entry(number)?))
    }

    /// Their names.
    pub(super) fn names(&self) -> impl Iterator<Item = EntryName> {
        self.numbers().map(|number| self.set.name(number))
    }

    /// An entry that was never added before.
    pub(super) fn new_entry(&self) -> Result<GeneratedEntry, WorkloadError> {
        Ok(self.set.entry(self.next_new.fetch_add(1, Ordering::Relaxed))?)
    }

    /// Random numbers of a connection.
    pub(super) fn random(&self, connection: u32) -> Random {
        Random::for_entry(self.seed, u64::from(connection))
    }
}

/// `(attribute=value)`.
pub(super) fn equality(attribute: &'static str, value: &[u8]) -> Filter<'static> {
    Filter::Equality(assertion(attribute, value))
}

/// Attribute and value.
pub(super) fn assertion(attribute: &'static str, value: &[u8]) -> Assertion<'static> {
    Assertion {
        attribute: Cow::Borrowed(attribute.as_bytes()),
        value: Cow::Owned(value.to_vec()),
    }
}

/// `(attribute=initial*any*final)`; empty parts are left out.
pub(super) fn substrings(attribute: &'static str, initial: &[u8], any: &[u8], r#final: &[u8]) -> Filter<'static> {
    let part = |bytes: &[u8]| (!bytes.is_empty()).then(|| Cow::Owned(bytes.to_vec()));
    Filter::Substrings {
        attribute: Cow::Borrowed(attribute.as_bytes()),
        initial: part(initial),
        any: part(any).into_iter().collect(),
        r#final: part(r#final),
    }
}

/// A search of a subtree for all user attributes.
pub(super) fn search<'a>(base: &'a str, filter: Filter<'a>, size_limit: u32) -> Request<'a> {
    of_scope(base.as_bytes(), Scope::WholeSubtree, filter, size_limit)
}

/// A search of one entry by its name.
pub(super) fn read(dn: &[u8]) -> Request<'_> {
    let present = Filter::Present(Cow::Borrowed(b"objectClass"));
    of_scope(dn, Scope::BaseObject, present, 0)
}

fn of_scope<'a>(base: &'a [u8], scope: Scope, filter: Filter<'a>, size_limit: u32) -> Request<'a> {
    Request::Search(SearchRequest {
        base,
        scope,
        deref_aliases: DerefAliases::Never,
        size_limit,
        time_limit: 0,
        types_only: false,
        filter,
        attributes: (&[][..]).into(),
    })
}

/// Appends an add request.
pub(super) fn encode_add(entry: &GeneratedEntry, slot: RequestSlot, out: &mut Vec<u8>) {
    let values: Vec<Vec<&[u8]>> = entry
        .attributes
        .iter()
        .map(|(_, values)| values.iter().map(Vec::as_slice).collect())
        .collect();
    let attributes: Vec<PartialAttribute<'_>> = entry
        .attributes
        .iter()
        .zip(&values)
        .map(|((description, _), values)| PartialAttribute {
            description,
            values: values.as_slice().into(),
        })
        .collect();
    let request = AddRequest {
        entry: &entry.dn,
        attributes: attributes.as_slice().into(),
    };
    encode(out, slot, &Request::Add(request));
}

/// Appends a modify request of one change with one value.
pub(super) fn encode_modify(
    dn: &[u8],
    operation: ModifyOperation,
    attribute: &str,
    value: &[u8],
    slot: RequestSlot,
    out: &mut Vec<u8>,
) {
    let values = [value];
    let changes = [ModifyChange {
        operation,
        attribute: attribute.as_bytes(),
        values: values.as_slice().into(),
    }];
    let request = ModifyRequest {
        object: dn,
        changes: changes.as_slice().into(),
    };
    encode(out, slot, &Request::Modify(request));
}

/// A random place in a list of `count`.
pub(super) fn place(random: &mut Random, count: usize) -> usize {
    let count = u64::try_from(count).unwrap_or(u64::MAX);
    usize::try_from(random.below(count)).unwrap_or(0)
}

const SAMPLE_SEED: u64 = 0x7361_6d70_6c65;
