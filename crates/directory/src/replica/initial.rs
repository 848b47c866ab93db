//! The first refresh of a database that has never had an entry: all entries are built into a file of their own and
//! taken over at once, with the provider's context vector. That takes a fraction of the work of adding one after the
//! other, and readers see nothing of it, or all.
//!
//! It is a short cut. If it is not possible, or comes to nothing, the refresh goes the ordinary way.

use std::{collections::HashSet, sync::Arc};

use ironbark_model::{Attribute, Entry, Filter};
use ironbark_runtime::spawn_named;
use ironbark_store::{BulkBuilder, ContextVector, Csn, Database, DitScope, StoreError};
use tokio::sync::{mpsc, oneshot};

use super::{
    incoming::{Incoming, ReplicatedEntry},
    mapping::ReplicaMapping,
    read::{ReadAttribute, ReadEntry, read},
};
use crate::{
    Configuration, Directory, NamingContext, OperationError,
    backend::{open, queue::WriterHandle},
    overlay::overlays_of,
    refusal::{Failure, ReplicaRefusal, WriteRefusal},
};

/// Octets of names and index keys that are held in memory; more are sorted in temporary files.
const MEMORY: usize = 128 << 20;
/// Entries and octets that are handed to the thread together, and how often that may wait.
const BATCH_ENTRIES: usize = 128;
const BATCH_OCTETS: usize = 256 << 10;
const BATCHES: usize = 8;
/// Entries between two lines of the log.
const PROGRESS: usize = 100_000;
/// Entries whose end can be told, each of 40 octets in memory.
const MOST_ENDED: usize = 1 << 20;

/// A load under way. Dropping it ends it, and nothing is left.
pub struct InitialLoad {
    steps: mpsc::Sender<Step>,
    batch: Vec<ReplicatedEntry>,
    octets: usize,
    /// Entries that are no more, with the CSNs of their deletes.
    gone: Vec<([u8; 16], Csn)>,
    ended: oneshot::Receiver<Result<(), OperationError>>,
}

enum Step {
    Entries(Vec<ReplicatedEntry>),
    Install(ContextVector, Vec<([u8; 16], Csn)>),
}

/// Begins to load a database at once with what the provider of this consumer sends. `None`: the database has had
/// entries, keeps no log, has its entries in files, is part of a cluster (whose log has each change), or has
/// overlays that act on each entry; or the consumer does not take everything as it is, or is one of several writers
/// that merge values, and must log the recent changes of each entry.
pub fn begin_initial_load(
    directory: &Arc<Directory>,
    context: &Arc<NamingContext>,
    mapping: &Arc<ReplicaMapping>,
) -> Option<InitialLoad> {
    let configuration = directory.configuration();
    let database = context.database()?;
    let overlays = overlays_of(context);
    let takes_all = matches!(mapping.scope, DitScope::Subtree)
        && context.is_suffix(&mapping.local_base)
        && takes_every_entry(&mapping.filter)
        && !mapping.schema_checking
        && !(mapping.merges_values && mapping.multi_provider);
    let is_plain = context.backend.files().is_none()
        && context.settings.keeps_changes()
        && context.settings.cluster.is_none()
        && overlays.effects.is_empty()
        && overlays.followers.is_empty();
    if !takes_all || !is_plain {
        return None;
    }
    let indexes = open::options(&context.settings).indexes;
    let builder = match BulkBuilder::beside(database, indexes, MEMORY) {
        Ok(builder) => builder,
        Err(StoreError::Inapplicable(_)) => return None,
        Err(error) => {
            tracing::warn!(target: "sync", "entries are applied one by one: {error}");
            return None;
        }
    };
    let (steps, received) = mpsc::channel(BATCHES);
    let (reply, ended) = oneshot::channel();
    let load = Load {
        directory: Arc::clone(directory),
        database: Arc::clone(database),
        mapping: Arc::clone(mapping),
        configuration,
        builder,
        seen: HashSet::new(),
        greatest: ContextVector::default(),
        last: None,
    };
    // Without a thread the entries are applied one by one.
    spawn_named("initial-load", move || {
        // Nobody may wait for it any more.
        let _ = reply.send(load.run(received));
    })
    .ok()?;
    Some(InitialLoad {
        steps,
        batch: Vec::new(),
        octets: 0,
        gone: Vec::new(),
        ended,
    })
}

/// Whether a filter is one that every entry matches.
fn takes_every_entry(filter: &str) -> bool {
    filter.is_empty()
        || matches!(
            Filter::parse(filter.as_bytes(), 1),
            Ok(Filter::Present(attribute)) if attribute.eq_ignore_ascii_case(b"objectClass")
        )
}

impl InitialLoad {
    /// Takes an entry. If the future is dropped, the load must be dropped as well.
    ///
    /// # Errors
    /// The load has come to nothing: this entry, or one before it, cannot be loaded at once.
    pub async fn add(&mut self, entry: ReplicatedEntry) -> Result<(), OperationError> {
        let incoming = Incoming::Entry(entry);
        self.octets += incoming.octets();
        if let Incoming::Entry(entry) = incoming {
            self.batch.push(entry);
        }
        if self.batch.len() < BATCH_ENTRIES && self.octets < BATCH_OCTETS {
            return Ok(());
        }
        self.hand_over().await
    }

    /// Takes the end of an entry, for a tombstone. One that was sent before has ended since the refresh began: that
    /// follows as a change.
    ///
    /// # Errors
    /// There are too many.
    pub fn bury(&mut self, uuid: [u8; 16], csn: Csn) -> Result<(), OperationError> {
        if self.gone.len() >= MOST_ENDED {
            return Err(ReplicaRefusal::TooManyEnded.into());
        }
        self.gone.push((uuid, csn));
        Ok(())
    }

    /// Ends the load: everything was taken. After success the entries are there, with the provider's vector and the
    /// last CSN of those that they were given here.
    ///
    /// # Errors
    /// The load has come to nothing, and the database is as it was.
    pub async fn install(mut self, vector: &ContextVector) -> Result<(), OperationError> {
        self.hand_over().await?;
        let gone = std::mem::take(&mut self.gone);
        self.send(Step::Install(vector.clone(), gone)).await?;
        let unexpected = |_| OperationError::from(Failure::Unexpected);
        self.ended.await.map_err(unexpected)?
    }

    async fn hand_over(&mut self) -> Result<(), OperationError> {
        self.octets = 0;
        let batch = std::mem::take(&mut self.batch);
        self.send(Step::Entries(batch)).await
    }

    async fn send(&mut self, step: Step) -> Result<(), OperationError> {
        if self.steps.send(step).await.is_ok() {
            return Ok(());
        }
        // The thread has ended, and says why.
        match (&mut self.ended).await {
            Ok(Err(error)) => Err(error),
            Ok(Ok(())) | Err(_) => Err(Failure::Unexpected.into()),
        }
    }
}

/// The thread's side.
struct Load {
    directory: Arc<Directory>,
    database: Arc<Database>,
    mapping: Arc<ReplicaMapping>,
    configuration: Arc<Configuration>,
    builder: BulkBuilder,
    seen: HashSet<[u8; 16]>,
    /// The greatest CSN of each server.
    greatest: ContextVector,
    /// The last CSN that was given to an entry of a provider without CSNs.
    last: Option<Csn>,
}

impl Load {
    fn run(mut self, mut steps: mpsc::Receiver<Step>) -> Result<(), OperationError> {
        while let Some(step) = steps.blocking_recv() {
            match step {
                Step::Entries(entries) => {
                    for entry in &entries {
                        self.add(entry)?;
                    }
                }
                Step::Install(vector, gone) => return self.install(&vector, gone),
            }
        }
        Ok(())
    }

    fn add(&mut self, entry: &ReplicatedEntry) -> Result<(), OperationError> {
        let name = || String::from(&*entry.dn);
        let mut read = read(&self.configuration, entry, &self.mapping)?;
        if self.mapping.own_csns {
            self.stamp(&mut read);
        }
        let Some(csn) = read.csn else {
            return Err(ReplicaRefusal::NoCsn { name: name() }.into());
        };
        if !self.mapping.own_csns && !self.directory.observe_peer(csn, 0) {
            return Err(WriteRefusal::TooFarAhead.into());
        }
        if !self.seen.insert(read.uuid) {
            return Err(ReplicaRefusal::SentTwice { name: name() }.into());
        }
        self.greatest.merge(csn);
        let attributes = read.attributes.into_iter().map(|attribute| Attribute {
            description: attribute.description,
            values: attribute.values,
        });
        self.builder.add(&Entry {
            dn: read.dn,
            attributes: attributes.collect(),
        })?;
        if self.seen.len().is_multiple_of(PROGRESS) {
            tracing::info!(target: "sync", "refresh of an empty database: {} entries", self.seen.len());
        }
        Ok(())
    }

    /// Gives an entry a CSN of this server.
    fn stamp(&mut self, entry: &mut ReadEntry) {
        let stamp = self.directory.next_stamp();
        entry.csn = Csn::parse(stamp.csn.as_bytes());
        self.last = entry.csn;
        entry.attributes.push(ReadAttribute {
            description: self.configuration.well_known.entry_csn.clone(),
            values: vec![stamp.csn.as_bytes().to_vec()],
            normals: vec![stamp.csn.as_bytes().to_vec()],
        });
    }

    fn install(self, vector: &ContextVector, mut gone: Vec<([u8; 16], Csn)>) -> Result<(), OperationError> {
        gone.retain(|(uuid, _)| !self.seen.contains(uuid));
        let mut told = vector.iter().chain(gone.iter().map(|(_, csn)| *csn));
        if !told.all(|csn| self.directory.observe_peer(csn, 0)) {
            return Err(WriteRefusal::TooFarAhead.into());
        }
        let configuration = self.directory.configuration();
        // What was read under another schema, or for other indexes, may not be what is wanted now.
        if !Arc::ptr_eq(&configuration, &self.configuration) {
            return Err(ReplicaRefusal::OtherConfiguration.into());
        }
        let context = configuration.context_of(&self.mapping.local_base);
        let writer = context.and_then(|context| context.backend.own_writer());
        let mut vector = vector.clone();
        if let Some(own) = self.last {
            vector.merge(own);
        }
        let last = self.builder.install(&self.database, &vector, &self.greatest, &gone)?;
        if let Some(feed) = writer.map(WriterHandle::feed) {
            feed.committed(last);
        }
        Ok(())
    }
}
