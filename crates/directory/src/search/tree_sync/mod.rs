//! Content synchronization (RFC 4533) of a tree in memory: cn=config.
//!
//! A tree has hundreds of entries and no log. So a refresh considers all of them, and names those that the consumer
//! has. A consumer that persists remembers UUID, CSN and name of what it was sent. After each change of the
//! configuration, its search is prepared again; all entries are considered, and those that differ from the memory are
//! sent. What is not found any more is gone.

mod advance;

use std::{collections::HashMap, sync::Arc};

use ironbark_ldap_proto::{
    DerefAliases, MessageId, SearchRequest, SyncInfo, Uuids,
    controls::{Control, EntryState, RequestControls, SyncDone},
    encode_sync_info,
    response::sync_info::MOST_UUIDS,
};
use ironbark_model::{Dn, Entry};
use ironbark_store::{ContextVector, Csn};

use super::sync::{Follower, Sending};
use crate::{
    Configuration, NamingContext, OperationError,
    backend::{feed::Reader, well_known::WellKnown},
    cookie::SyncCookie,
    overlay::{SyncProvider, overlays_of},
    place::uuid_of,
    refusal::{ControlRefusal, SyncRefusal},
};

/// Octets of names that a consumer's memory may take. cn=config is far smaller.
const MOST_REMEMBERED: usize = 16 << 20;

/// The synchronization of a tree in memory.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of the protocol, or says how far it is"
)]
pub(crate) struct TreeSync {
    context: Arc<NamingContext>,
    base: Box<str>,
    provider: SyncProvider,
    persists: bool,
    reload_hint: bool,
    request: Box<[u8]>,
    consumer: (u16, u16),
    known: ContextVector,
    /// The vector of the tree that is being walked over.
    vector: ContextVector,
    phase: Phase,
    has_changes: bool,
    names_present: bool,
    present: Vec<[u8; 16]>,
    /// What the consumer was sent, or has.
    held: HashMap<[u8; 16], Held>,
    /// The same of this walk.
    met: HashMap<[u8; 16], Held>,
    /// Entries that are not in the tree any more, to be told before the others: numbers in names become free.
    gone: Vec<[u8; 16]>,
    octets: usize,
    sending: Option<Sending>,
    reader: Reader,
    is_drained: bool,
    done: Option<(Option<String>, bool)>,
}

/// An entry as the consumer has it.
#[derive(Clone, PartialEq, Eq)]
struct Held {
    csn: Option<Csn>,
    name: Box<[u8]>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Begin,
    Refresh,
    /// The consumer has everything of this configuration.
    Wait,
    /// Another configuration is in force.
    Compare,
}

impl TreeSync {
    /// The synchronization that a request asks for, if the tree can be synchronized.
    ///
    /// # Errors
    /// As of a stored database.
    pub(super) fn asked_for(
        configuration: &Configuration,
        context: &Arc<NamingContext>,
        (controls, pdu): (&RequestControls<'_>, &[u8]),
        request: &SearchRequest<'_>,
        base: &Dn,
    ) -> Result<Option<Box<Self>>, OperationError> {
        let Some(control) = &controls.sync_request else {
            return Ok(None);
        };
        if controls.paged_results.is_some() {
            return Err(SyncRefusal::Paged.into());
        }
        let provider = overlays_of(context).provider.as_deref().copied();
        let (Some(provider), Some(writer)) = (provider, context.backend.tree_writer()) else {
            return if control.critical {
                Err(ControlRefusal::Unavailable.into())
            } else {
                Ok(None)
            };
        };
        if matches!(request.deref_aliases, DerefAliases::InSearching | DerefAliases::Always) {
            return Err(SyncRefusal::Dereferences.into());
        }
        let cookie = control.value.cookie.and_then(SyncCookie::parse).unwrap_or_default();
        Ok(Some(Box::new(Self {
            context: Arc::clone(context),
            base: base.pretty().into(),
            provider,
            persists: control.value.persists,
            reload_hint: control.value.reload_hint,
            request: pdu.into(),
            consumer: (cookie.rid, cookie.sid.unwrap_or_default()),
            known: cookie.csns,
            vector: vector_of(configuration, context),
            phase: Phase::Begin,
            has_changes: false,
            names_present: false,
            present: Vec::new(),
            held: HashMap::new(),
            met: HashMap::new(),
            gone: Vec::new(),
            octets: 0,
            sending: None,
            reader: Reader::of(writer.feed()),
            is_drained: false,
            done: None,
        })))
    }

    /// The consumer that stays.
    pub(super) fn follower(&self) -> Option<Follower<'_>> {
        self.persists.then_some(Follower {
            id: self.consumer,
            context: &self.context,
            base: &self.base,
        })
    }

    /// What goes with the entry that is being sent.
    pub(super) fn sending(&self) -> Option<&Sending> {
        self.sending.as_ref()
    }

    /// The control of a successful result.
    pub(super) fn done_control(&self) -> Option<Control<SyncDone<'_>>> {
        let (cookie, refresh_deletes) = self.done.as_ref()?;
        Some(Control::optional(SyncDone {
            cookie: cookie.as_deref().map(str::as_bytes),
            refresh_deletes: *refresh_deletes,
        }))
    }

    /// Which way the refresh goes.
    fn begin(&mut self, own: u16) -> Result<(), OperationError> {
        self.phase = Phase::Refresh;
        let (known, vector) = (&self.known, &self.vector);
        let is_newer = |csn: Csn| known.of_server(csn.server_id()) < Some(csn);
        // Another database of this server has changes of its own.
        let is_other = own == 0 || self.consumer.1 != own;
        if is_other
            && !known.is_empty()
            && known.of_server(own) > vector.of_server(own)
            && vector.of_server(own).is_some()
        {
            return Err(SyncRefusal::NewerConsumer.into());
        }
        self.has_changes = known.is_empty() || vector.iter().any(is_newer);
        let compares = self.has_changes && !known.is_empty();
        if compares && self.provider.reload_hint && !self.reload_hint {
            return Err(SyncRefusal::StaleCookie.into());
        }
        self.names_present = compares && !self.provider.no_present;
        Ok(())
    }

    /// Decides what becomes of an entry of the content. `true`: it is sent.
    fn meets(&mut self, known: &WellKnown, entry: &Entry, id: MessageId, out: &mut Vec<u8>) -> bool {
        let first = |description| entry.attribute(description).and_then(|held| held.values.first());
        let Some(uuid) = first(&known.entry_uuid).and_then(|value| uuid_of(value)) else {
            return false;
        };
        let csn = first(&known.entry_csn).and_then(|value| Csn::parse(value));
        let name: Box<[u8]> = entry.dn.pretty().as_bytes().into();
        self.octets = self.octets.saturating_add(name.len() + 128);
        let now = Held { csn, name };
        let before = self.held.get(&uuid);
        let state = match self.phase {
            Phase::Begin | Phase::Wait => None,
            Phase::Refresh => {
                let is_known = csn.is_some_and(|csn| self.known.covers(csn));
                if is_known && self.names_present {
                    self.present.push(uuid);
                }
                (self.has_changes && !is_known).then_some(EntryState::Add)
            }
            // Also what the consumer has made itself: it may have lost it since, and then others bring it.
            Phase::Compare => match before {
                None => Some(EntryState::Add),
                Some(before) if *before == now => None,
                Some(_) => Some(EntryState::Modify),
            },
        };
        self.met.insert(uuid, now);
        if self.present.len() >= MOST_UUIDS {
            self.name_present(id, out);
        }
        self.sending = state.map(|state| Sending {
            state,
            uuid,
            cookie: None,
            place: None,
            recent: Vec::new(),
        });
        state.is_some()
    }

    fn name_present(&mut self, id: MessageId, out: &mut Vec<u8>) {
        if !self.present.is_empty() {
            encode_ids(out, id, false, &self.present);
            self.present.clear();
        }
    }

    fn cookie(&self, own: u16) -> String {
        let cookie = SyncCookie {
            rid: self.consumer.0,
            sid: (own != 0).then_some(own),
            csns: self.vector.clone(),
            deletion: None,
            is_part: false,
        };
        cookie.text()
    }

    /// The walk has met everything. Names what is gone, and gives the cookie.
    fn walked(&mut self, own: u16, id: MessageId, out: &mut Vec<u8>) {
        self.name_present(id, out);
        let cookie = self.cookie(own);
        let held = std::mem::replace(&mut self.held, std::mem::take(&mut self.met));
        self.octets = 0;
        if self.phase == Phase::Compare {
            let mut gone: Vec<[u8; 16]> = held.into_keys().filter(|uuid| !self.held.contains_key(uuid)).collect();
            gone.sort_unstable();
            for some in gone.chunks(MOST_UUIDS) {
                encode_ids(out, id, true, some);
            }
            let vector = self.vector.clone();
            if vector.iter().fold(false, |news, csn| self.known.merge(csn) | news) {
                encode_sync_info(out, id, &SyncInfo::NewCookie(cookie.as_bytes()));
            }
            self.phase = Phase::Wait;
            return;
        }
        let cookie = self.has_changes.then_some(cookie);
        if !self.persists {
            self.done = Some((cookie, !self.names_present));
            return;
        }
        let cookie = cookie.as_deref().map(str::as_bytes);
        let info = if self.names_present {
            SyncInfo::RefreshPresent { cookie, done: true }
        } else {
            SyncInfo::RefreshDelete { cookie, done: true }
        };
        encode_sync_info(out, id, &info);
        let vector = self.vector.clone();
        vector.iter().for_each(|csn| _ = self.known.merge(csn));
        self.phase = Phase::Wait;
    }
}

fn encode_ids(out: &mut Vec<u8>, id: MessageId, deletes: bool, uuids: &[[u8; 16]]) {
    let info = SyncInfo::IdSet {
        cookie: None,
        deletes,
        uuids: Uuids::Plain(uuids),
    };
    encode_sync_info(out, id, &info);
}

/// The context vector of a tree: what its topmost entry says; without that, the greatest CSNs of its entries.
fn vector_of(configuration: &Configuration, context: &NamingContext) -> ContextVector {
    let Some(tree) = context.backend.tree() else {
        return ContextVector::default();
    };
    let (entries, known) = (tree.entries(configuration), &configuration.well_known);
    let said = tree_vector(configuration, &entries);
    if !said.is_empty() {
        return said;
    }
    let csns = entries.iter().filter_map(|entry| {
        let held = entry.attribute(&known.entry_csn)?;
        Csn::parse(held.values.first()?)
    });
    csns.collect()
}

/// The attribute `contextCSN` of the topmost entry.
fn tree_vector(configuration: &Configuration, entries: &[Entry]) -> ContextVector {
    let top = entries.first();
    let held = top.and_then(|entry| entry.attribute(&configuration.well_known.context_csn));
    let values = held.into_iter().flat_map(|held| &held.values);
    values.filter_map(|value| Csn::parse(value)).collect()
}

/// The context vector of a tree in memory as consumers are told it: the attribute `contextCSN` of its topmost
/// entry; without that, the greatest CSNs of its entries. `None`: it is no such tree.
pub fn told_tree_vector(context: &NamingContext, configuration: &Configuration) -> Option<ContextVector> {
    context.backend.tree().map(|_| vector_of(configuration, context))
}

/// The same without the CSNs of entries: what the tree has written down.
pub fn written_tree_vector(context: &NamingContext, configuration: &Configuration) -> Option<ContextVector> {
    let entries = context.backend.tree()?.entries(configuration);
    Some(tree_vector(configuration, &entries))
}
