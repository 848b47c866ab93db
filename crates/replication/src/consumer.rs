//! A consumer of one provider without its socket: what the provider sends becomes changes of the database.
//!
//! Messages are executed by the writer of the database, several at a time in one transaction. So this side runs ahead
//! of the commits, as far as the window allows; then it takes nothing more, and TCP holds the provider back. A message
//! that is refused ends the search, and nothing behind it is executed.

mod cookies;
mod numbered;

use std::{
    collections::{BTreeSet, VecDeque},
    sync::Arc,
};

use ironbark_directory::{
    Absent, Directory, Incoming, InitialLoad, LogStep, NamingContext, OperationError, OutcomeKind, ReplicaMapping,
    ReplicaOutcome, ReplicaSession, Replicated, ReplicatedEntry, begin_initial_load, replicate, replicate_absent,
    replicate_tree, room_for_absent, room_for_replica, written_tree_vector,
};
use ironbark_model::ResultCode;
use ironbark_store::{ContextVector, Csn, StoreError};
use roaring::RoaringTreemap;
use tokio::sync::oneshot::Receiver;

use crate::{
    Again, Begin, ConsumerAction, LogEntry, Machine, SyncMessage, Violation,
    tree::{Taken, TreeRefresh},
};

/// Messages ahead of the last commit.
const MOST_MESSAGES: usize = 1_024;
/// Octets of them.
const MOST_OCTETS: usize = 4 << 20;

/// Why the load of an empty database has come to nothing.
#[derive(Debug, thiserror::Error)]
enum LoadEnd {
    #[error("{}", .0.diagnostic_message)]
    Refused(OperationError),
    #[error("the provider sends more than entries")]
    MoreThanEntries,
}

impl From<OperationError> for LoadEnd {
    fn from(error: OperationError) -> Self {
        Self::Refused(error)
    }
}

/// Why a search ends from this side. The provider is to be asked again after the next wait of the list of retries.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ConsumerStop {
    /// The provider broke the protocol.
    #[error("{0}")]
    Violation(#[from] Violation),
    /// What it sent cannot be applied.
    #[error("{}", .0.diagnostic_message)]
    Refused(OperationError),
    /// An empty database could not be loaded at once. Entry by entry it may be.
    #[error("entries are applied one by one from here on: {}", .0.diagnostic_message)]
    NotLoaded(OperationError),
    /// The database is gone, or has no storage.
    #[error("there is no database for the base of the consumer")]
    NoDatabase,
}

impl From<OperationError> for ConsumerStop {
    fn from(error: OperationError) -> Self {
        Self::Refused(error)
    }
}

impl From<StoreError> for ConsumerStop {
    fn from(error: StoreError) -> Self {
        Self::Refused(error.into())
    }
}

/// How far a search has come.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Entries that the provider has sent.
    pub entries: u64,
    /// Entries that it has named as gone.
    pub deletes: u64,
    /// Entries that were deleted because it did not name them.
    pub absent: u64,
}

/// A consumer of one provider.
pub struct Consumer {
    directory: Arc<Directory>,
    mapping: Arc<ReplicaMapping>,
    machine: Machine,
    session: ReplicaSession,
    /// Number of the next message of the session.
    number: u64,
    /// IDs of the entries that the refresh has named or sent, until it has ended.
    present: Option<RoaringTreemap>,
    /// Entries that the refresh has named or sent although they were deleted here, where others write.
    contradicted: BTreeSet<[u8; 16]>,
    /// The refresh, if it is the first one of an empty database and is loaded at once.
    load: Option<InitialLoad>,
    /// Whether an empty database may be loaded at once. Not after that came to nothing.
    may_load: bool,
    /// What a refresh of cn=config has sent so far: it is put into force at once, at its end.
    tree: Option<TreeRefresh>,
    /// Messages that wait for their commit, with their octets.
    waiting: VecDeque<(usize, Receiver<Result<ReplicaOutcome, OperationError>>)>,
    octets: usize,
    /// Whether the search was given up because the provider's log has a gap.
    has_gap: bool,
    /// Whether entries had to leave their names since that was last asked.
    has_displaced: bool,
    counts: Counts,
}

impl Consumer {
    /// A consumer with this line `syncrepl`.
    pub fn new(directory: Arc<Directory>, mapping: Arc<ReplicaMapping>, machine: Machine) -> Self {
        Self {
            directory,
            mapping,
            machine,
            session: ReplicaSession::default(),
            number: 0,
            present: None,
            contradicted: BTreeSet::new(),
            load: None,
            may_load: true,
            tree: None,
            waiting: VecDeque::new(),
            octets: 0,
            has_gap: false,
            has_displaced: false,
            counts: Counts::default(),
        }
    }

    /// Whether entries can be found by their UUID: the index that replication needs is there.
    ///
    /// # Errors
    /// [`ConsumerStop::NoDatabase`], or the storage failed.
    pub fn is_ready(&self) -> Result<bool, ConsumerStop> {
        let context = self.context()?;
        if written_tree_vector(&context, &self.directory.configuration()).is_some() {
            return Ok(true);
        }
        let snapshot = context.database().ok_or(ConsumerStop::NoDatabase)?.snapshot()?;
        match snapshot.view().entry_of_uuid(&[0; 16]) {
            Ok(_) => Ok(true),
            Err(StoreError::Inapplicable(_)) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits until the writer of the database has begun: a database that was filled by a tool gets its context vector
    /// then.
    ///
    /// # Errors
    /// The database is gone, or takes no changes of a provider.
    pub async fn settle_vector(&mut self) -> Result<(), ConsumerStop> {
        if self.is_tree() {
            return Ok(());
        }
        self.stop();
        // A message that was refused ends its search, but not the next one.
        self.session = ReplicaSession::default();
        self.queue(Incoming::Nothing, None, Vec::new()).await?;
        self.settle().await
    }

    /// Begins a search.
    ///
    /// # Errors
    /// [`ConsumerStop::NoDatabase`], or the storage failed.
    pub fn begin(&mut self) -> Result<Begin, ConsumerStop> {
        self.stop();
        self.session = ReplicaSession::default();
        self.has_gap = false;
        self.counts = Counts::default();
        let known = self.vector()?;
        self.present = Some(RoaringTreemap::new());
        self.contradicted.clear();
        if known.is_empty() && self.may_load && !self.machine.has_given_cookie() {
            self.load = begin_initial_load(&self.directory, &self.context()?, &self.mapping);
        }
        self.tree = Some(TreeRefresh::default());
        Ok(self.machine.begin(&self.told(known)?))
    }

    /// The connection is lost, or the search was given up. What has been queued is still executed.
    pub fn stop(&mut self) {
        self.machine.stop();
        self.present = None;
        self.load = None;
        self.tree = None;
        self.waiting.clear();
        self.octets = 0;
    }

    /// Takes a message of the provider. Returns when another search is to begin, if this one has ended. If the future
    /// is dropped, the search must be given up.
    ///
    /// # Errors
    /// The search must be given up.
    pub async fn take(&mut self, message: SyncMessage) -> Result<Option<Again>, ConsumerStop> {
        let taken = self.obey(message).await;
        if taken.is_err() {
            self.stop();
        }
        taken
    }

    /// Waits until everything that was taken is committed.
    ///
    /// # Errors
    /// Some of it was refused; the search must be given up.
    pub async fn settle(&mut self) -> Result<(), ConsumerStop> {
        while !self.waiting.is_empty() {
            self.settle_first().await?;
        }
        Ok(())
    }

    /// Whether something that was taken is not yet known to be committed.
    pub fn has_unsettled(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Whether the refresh is completed and changes are followed.
    pub fn follows(&self) -> bool {
        self.machine.follows()
    }

    /// Whether the last search was given up because the provider's log tells of a change of an entry that is not here.
    /// A refresh of all content is to follow at once.
    pub fn has_gap(&self) -> bool {
        self.has_gap
    }

    /// Whether the provider has said in this search that it may keep entries from this consumer.
    pub fn has_part(&self) -> bool {
        self.machine.has_part()
    }

    /// How far the search has come.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// What one line `syncrepl` says of the content.
    pub fn mapping(&self) -> &Arc<ReplicaMapping> {
        &self.mapping
    }

    /// The context vector of the database.
    ///
    /// # Errors
    /// [`ConsumerStop::NoDatabase`], or the storage failed.
    pub fn vector(&self) -> Result<ContextVector, ConsumerStop> {
        let context = self.context()?;
        if let Some(vector) = written_tree_vector(&context, &self.directory.configuration()) {
            return Ok(vector);
        }
        let snapshot = context.database().ok_or(ConsumerStop::NoDatabase)?.snapshot()?;
        Ok(snapshot.view().context_vector()?.unwrap_or_default())
    }

    /// What a provider is told to be known. A restored server lacks changes that it made itself, and may have made new
    /// ones since: entries expire, conflicts are decided. So of its own it claims nothing, and gets all of them.
    fn told(&self, mut known: ContextVector) -> Result<ContextVector, ConsumerStop> {
        let context = self.context()?;
        if let Some(database) = context.database().filter(|_| context.settings.may_hear_of_itself())
            && database.snapshot()?.view().is_restored()?
        {
            known.forget(self.directory.server_id());
        }
        Ok(known)
    }

    fn context(&self) -> Result<Arc<NamingContext>, ConsumerStop> {
        let configuration = self.directory.configuration();
        let context = configuration.context_of(&self.mapping.local_base);
        context.cloned().ok_or(ConsumerStop::NoDatabase)
    }

    async fn obey(&mut self, message: SyncMessage) -> Result<Option<Again>, ConsumerStop> {
        let mut again = None;
        let is_tree = self.is_tree();
        for order in self.machine.take(message)? {
            let order = if is_tree {
                self.obey_of_tree(order).await?
            } else {
                Some(order)
            };
            let Some(order) = order else { continue };
            let order = match self.load_at_once(order).await {
                Ok(Some(order)) => order,
                Ok(None) => continue,
                Err(reason) => {
                    self.may_load = false;
                    tracing::info!(target: "sync", "entries are applied one by one from here on: {reason}");
                    return Ok(Some(Again::AtOnce));
                }
            };
            match order {
                ConsumerAction::Put {
                    uuid,
                    dn,
                    attributes,
                    csn,
                    cookie,
                } => {
                    self.counts.entries += 1;
                    let entry = ReplicatedEntry {
                        uuid,
                        dn: dn.into(),
                        attributes,
                    };
                    self.queue(Incoming::Entry(entry), csn, cookie).await?;
                }
                ConsumerAction::Delete { uuid, csn, cookie } => {
                    self.counts.deletes += 1;
                    self.queue(Incoming::Delete { uuid }, csn, cookie).await?;
                }
                ConsumerAction::Make { change, csn, cookie } => {
                    self.counts.entries += 1;
                    let incoming = match *change {
                        LogEntry::Add(entry) => Incoming::Entry(entry),
                        LogEntry::Change(change) => Incoming::Logged(change),
                    };
                    self.queue(incoming, Some(csn), cookie).await?;
                }
                ConsumerAction::Remember(uuids) => self.remember(&uuids)?,
                ConsumerAction::TakeIn(csns) => self.queue(Incoming::Nothing, None, csns).await?,
                ConsumerAction::EndRefresh { deletes_others, vector } => {
                    self.settle().await?;
                    let present = self.present.take().unwrap_or_default();
                    // A provider without any change has nothing that could be gone.
                    if deletes_others && !vector.is_empty() {
                        self.delete_absent(present, &vector).await?;
                    }
                    self.delete_again(&vector).await?;
                    let vector = vector.iter().collect();
                    self.queue(Incoming::EndOfRefresh, None, vector).await?;
                    self.settle().await?;
                }
                ConsumerAction::Search(next) => {
                    self.settle().await?;
                    again = Some(next);
                }
            }
        }
        Ok(again)
    }

    /// Takes what an order says into the load of an empty database. Gives it back if there is none.
    ///
    /// # Errors
    /// The load has come to nothing. Another refresh must begin.
    async fn load_at_once(&mut self, order: ConsumerAction) -> Result<Option<ConsumerAction>, LoadEnd> {
        let Some(load) = &mut self.load else {
            return Ok(Some(order));
        };
        match order {
            ConsumerAction::Put {
                uuid, dn, attributes, ..
            } => {
                self.counts.entries += 1;
                let dn = dn.into();
                load.add(ReplicatedEntry { uuid, dn, attributes }).await?;
                Ok(None)
            }
            ConsumerAction::Delete {
                uuid, csn: Some(csn), ..
            } => {
                self.counts.deletes += 1;
                load.bury(uuid, csn)?;
                Ok(None)
            }
            ConsumerAction::EndRefresh { vector, .. } => {
                self.present = None;
                let Some(load) = self.load.take() else { return Ok(None) };
                load.install(&vector).await?;
                Ok(None)
            }
            // The search has ended: with the refresh, or before that.
            ConsumerAction::Search(_) => {
                self.load = None;
                Ok(Some(order))
            }
            ConsumerAction::Delete { .. }
            | ConsumerAction::Make { .. }
            | ConsumerAction::Remember(_)
            | ConsumerAction::TakeIn(_) => Err(LoadEnd::MoreThanEntries),
        }
    }

    /// Queues a message for the writer, after waiting for room.
    async fn queue(&mut self, incoming: Incoming, csn: Option<Csn>, cookie: Vec<Csn>) -> Result<(), ConsumerStop> {
        self.queue_step(incoming, None, csn, cookie).await
    }

    async fn queue_step(
        &mut self,
        incoming: Incoming,
        step: Option<LogStep>,
        csn: Option<Csn>,
        cookie: Vec<Csn>,
    ) -> Result<(), ConsumerStop> {
        let octets = incoming.octets();
        let change = Arc::new(Replicated {
            incoming,
            via: self.machine.provider(),
            csn,
            in_refresh: self.present.is_some(),
            cookie,
            step,
            mapping: Arc::clone(&self.mapping),
            session: (self.session.clone(), self.number),
        });
        self.number += 1;
        while self.waiting.len() >= MOST_MESSAGES || self.octets + octets > MOST_OCTETS && !self.waiting.is_empty() {
            self.settle_first().await?;
        }
        loop {
            let context = self.context()?;
            match replicate(&self.directory, &context, Arc::clone(&change)) {
                Ok(receiver) => {
                    self.octets += octets;
                    self.waiting.push_back((octets, receiver));
                    return Ok(());
                }
                Err(error) if error.result_code == ResultCode::BUSY => {
                    room_for_replica(&context, &change).await;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn is_tree(&self) -> bool {
        let context = self.context();
        context.is_ok_and(|context| written_tree_vector(&context, &self.directory.configuration()).is_some())
    }

    /// Takes an order about cn=config. Returns those that have nothing to do with entries.
    async fn obey_of_tree(&mut self, order: ConsumerAction) -> Result<Option<ConsumerAction>, ConsumerStop> {
        match &order {
            ConsumerAction::Put { .. } | ConsumerAction::Make { .. } => self.counts.entries += 1,
            ConsumerAction::Delete { .. } => self.counts.deletes += 1,
            _ => {}
        }
        let mut change = match &mut self.tree {
            Some(refresh) => match refresh.take(order)? {
                Taken::Kept => return Ok(None),
                Taken::Passed(order) => return Ok(Some(order)),
                Taken::Full => std::mem::take(refresh).into_change(&self.mapping),
                Taken::Complete => {
                    let refresh = self.tree.take().unwrap_or_default();
                    refresh.into_change(&self.mapping)
                }
            },
            None => match TreeRefresh::single(order, &self.mapping) {
                Ok(change) => change,
                Err(order) => return Ok(Some(order)),
            },
        };
        change.via = self.machine.provider();
        let context = self.context()?;
        let ended = replicate_tree(&self.directory, &context, change)?;
        // The change may end this session. It is executed or refused all the same.
        let ended = ended.await.map_err(|_| ConsumerStop::NoDatabase)?;
        ended.inspect_err(|error| self.note_gap(error))?;
        Ok(None)
    }

    /// The provider's log tells of a change of an entry that is not here, if this is the reason of a refusal.
    fn note_gap(&mut self, refusal: &OperationError) {
        if refusal.result_code == ResultCode::SYNC_REFRESH_REQUIRED {
            self.machine.fall_back();
            self.has_gap = true;
        }
    }

    async fn settle_first(&mut self) -> Result<(), ConsumerStop> {
        // It stays in the queue until its end is known: this future may be dropped.
        let Some((octets, receiver)) = self.waiting.front_mut() else {
            return Ok(());
        };
        let (octets, ended) = (*octets, receiver.await);
        self.waiting.pop_front();
        self.octets = self.octets.saturating_sub(octets);
        let outcome = ended.map_err(|_| ConsumerStop::NoDatabase)?;
        let outcome = outcome.inspect_err(|error| self.note_gap(error))?;
        // In a comparison, names in values are those at the provider. Values that have come before a rename may have
        // followed it.
        let in_comparison = self.present.is_some() && outcome.kind == OutcomeKind::Renamed;
        self.has_displaced |= outcome.has_displaced || in_comparison;
        if let Some(present) = &mut self.present {
            self.contradicted.extend(outcome.tombstoned);
            for (former, new) in outcome.remade {
                if present.remove(former) {
                    present.insert(new);
                }
            }
            present.extend(outcome.id);
        }
        Ok(())
    }

    /// Remembers entries by their IDs, which take less room than UUIDs. Who is not here has no ID, and is sent if it
    /// should be here.
    fn remember(&mut self, uuids: &[[u8; 16]]) -> Result<(), ConsumerStop> {
        let context = self.context()?;
        let snapshot = context.database().ok_or(ConsumerStop::NoDatabase)?.snapshot()?;
        for uuid in uuids {
            let id = snapshot.view().entry_of_uuid(uuid)?;
            if let Some(present) = &mut self.present {
                present.extend(id);
            }
            // No more than there are tombstones, whatever the provider names.
            if id.is_none() && self.mapping.multi_provider && snapshot.view().tombstone(uuid)?.is_some() {
                self.contradicted.insert(*uuid);
            }
        }
        Ok(())
    }

    /// Deletes what the refresh has contradicted, where the provider will not hear of the delete otherwise: its vector
    /// covers the delete, and yet it has the entry.
    async fn delete_again(&mut self, vector: &ContextVector) -> Result<(), ConsumerStop> {
        let contradicted: Vec<[u8; 16]> = std::mem::take(&mut self.contradicted).into_iter().collect();
        for uuids in contradicted.chunks(MOST_MESSAGES) {
            let covered = {
                let context = self.context()?;
                let snapshot = context.database().ok_or(ConsumerStop::NoDatabase)?.snapshot()?;
                let mut covered = Vec::new();
                for uuid in uuids {
                    let tombstone = snapshot.view().tombstone(uuid)?;
                    if tombstone.is_some_and(|(csn, _)| vector.covers(csn)) {
                        covered.push(*uuid);
                    }
                }
                covered
            };
            if !covered.is_empty() {
                self.queue(Incoming::Contradicted(covered), None, Vec::new()).await?;
            }
        }
        Ok(())
    }

    async fn delete_absent(&mut self, present: RoaringTreemap, vector: &ContextVector) -> Result<(), ConsumerStop> {
        let mut absent = Absent {
            mapping: Arc::clone(&self.mapping),
            via: self.machine.provider(),
            present: Arc::new(present),
            covered: vector.clone(),
            after: 0,
        };
        loop {
            let context = self.context()?;
            let slice = match replicate_absent(&self.directory, &context, absent.clone()) {
                Ok(receiver) => receiver.await.map_err(|_| ConsumerStop::NoDatabase)??,
                Err(error) if error.result_code == ResultCode::BUSY => {
                    room_for_absent(&context).await;
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            self.counts.absent += slice.deleted as u64;
            match slice.next {
                Some(next) => absent.after = next,
                None => return Ok(()),
            }
        }
    }
}
