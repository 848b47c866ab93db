//! Entries as they were encoded for one consumer of changes, for others of the same thread that get the same.
//!
//! Invariant: an encoding is given only for the request that it was made for, octet by octet, while the entry is what
//! it was, and for a subject about which access rules decide alike: one with the same remembered decisions, or one that
//! may read everything.

use std::{
    collections::{HashMap, VecDeque},
    rc::Rc,
    sync::{Arc, Weak},
};

use crate::{Configuration, access::SubjectDecisions};

/// Octets that are kept.
const MOST_OCTETS: usize = 2 << 20;
/// Octets of one entry, with its request.
const MOST_OF_ONE: usize = 256 << 10;
/// Different audiences of one change.
const MOST_AUDIENCES: usize = 4;
/// What an encoding takes besides its octets, about.
const OVERHEAD: usize = 128;

/// An effect of a change: the cache number of its database, the number of the change, and that of the effect in it.
pub(crate) type EffectPlace = (u64, u64, usize);

/// The consumers that get the same.
pub(crate) struct Audience<'a> {
    pub(crate) configuration: &'a Arc<Configuration>,
    /// The remembered decisions about the subject; `None`: it may read everything.
    pub(crate) standing: Option<&'a Rc<SubjectDecisions>>,
    /// The search request as it is encoded, without message ID and controls.
    pub(crate) request: &'a [u8],
    /// What the entry is now.
    pub(crate) state: EntryFingerprint,
}

/// What an entry holds, and what its name and its derived attributes depend on.
pub(crate) type EntryFingerprint = (u64, (u64, u64));

/// The encodings of one thread, under one configuration.
#[derive(Default)]
pub(crate) struct SharedEntries {
    configuration: Weak<Configuration>,
    kept: HashMap<EffectPlace, Vec<Encoded>>,
    /// The oldest first.
    order: VecDeque<EffectPlace>,
    octets: usize,
}

struct Encoded {
    standing: Option<Rc<SubjectDecisions>>,
    request: Box<[u8]>,
    state: EntryFingerprint,
    entry: Box<[u8]>,
}

impl Encoded {
    fn octets(&self) -> usize {
        OVERHEAD + self.request.len() + self.entry.len()
    }

    fn is_for(&self, audience: &Audience<'_>) -> bool {
        let is_same_subject = match (&self.standing, audience.standing) {
            (None, None) => true,
            (Some(one), Some(other)) => Rc::ptr_eq(one, other),
            _ => false,
        };
        is_same_subject && self.state == audience.state && *self.request == *audience.request
    }
}

impl SharedEntries {
    /// The `SearchResultEntry` that was encoded for an effect, without message ID and controls.
    pub(crate) fn find(&self, place: EffectPlace, audience: &Audience<'_>) -> Option<&[u8]> {
        if !self.is_of(audience.configuration) {
            return None;
        }
        let found = self.kept.get(&place)?.iter().find(|encoded| encoded.is_for(audience))?;
        Some(&found.entry)
    }

    /// Keeps an encoding for others. The oldest ones go when there is no room.
    pub(crate) fn keep(&mut self, place: EffectPlace, audience: &Audience<'_>, entry: &[u8]) {
        if !self.is_of(audience.configuration) {
            *self = Self {
                configuration: Arc::downgrade(audience.configuration),
                ..Self::default()
            };
        }
        if entry.len() + audience.request.len() > MOST_OF_ONE {
            return;
        }
        let encodings = self.kept.entry(place).or_default();
        if encodings.len() >= MOST_AUDIENCES || encodings.iter().any(|encoded| encoded.is_for(audience)) {
            return;
        }
        if encodings.is_empty() {
            self.order.push_back(place);
        }
        let encoded = Encoded {
            standing: audience.standing.cloned(),
            request: audience.request.into(),
            state: audience.state,
            entry: entry.into(),
        };
        self.octets += encoded.octets();
        encodings.push(encoded);
        while self.octets > MOST_OCTETS
            && let Some(oldest) = self.order.pop_front()
        {
            let gone = self.kept.remove(&oldest).unwrap_or_default();
            self.octets -= gone.iter().map(Encoded::octets).sum::<usize>();
        }
    }

    fn is_of(&self, configuration: &Arc<Configuration>) -> bool {
        std::ptr::eq(self.configuration.as_ptr(), Arc::as_ptr(configuration))
    }
}
