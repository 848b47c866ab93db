//! What a provider has sent of cn=config, executed by the thread `config`: a whole refresh is one change of the tree.

use std::{cell::OnceCell, collections::BTreeSet, sync::Arc};

use ironbark_ldap_proto::Operation;
use ironbark_model::{Entry, Schema};
use ironbark_store::{ChangeRecord, ContextVector, Csn, WriteTransaction};
use tokio::sync::oneshot;

use super::{
    incoming::{Incoming, ReplicatedEntry},
    mapping::ReplicaMapping,
    read::{ReadEntry, read},
    tree_logged,
};
use crate::{
    Configuration, Directory, NamingContext, OperationError, WellKnown,
    backend::{
        in_memory::{ChangeAuthor, Governor},
        queue::{Outcome, Served, WriteTask},
        tree_replica::{TreeLogged, TreeReplica},
        written::{Executed, Refusal, Success},
    },
    overlay::{record, tree_effects::TreeState},
    place::uuid_text,
    refusal::{Failure, ReplicaRefusal, WriteRefusal},
    request::context::{RequestContext, RequestKind},
    search::written_tree_vector,
    write::{followers, tree_records::Told},
};

/// Octets that a change counts for in the queue, besides its names and values.
const OCTETS: usize = 256;

/// What a provider has sent of a tree in memory.
#[derive(Clone, Debug)]
pub struct ReplicatedTree {
    /// Entries, superiors first.
    pub entries: Vec<ReplicatedEntry>,
    /// Changes that the provider's log tells of (`Incoming::Entry`: an add, or `Incoming::Logged`), with their CSNs.
    /// Then nothing else is told but the cookie.
    pub logged: Vec<(Incoming, Csn)>,
    /// Entries that are gone.
    pub gone: Vec<[u8; 16]>,
    /// After a refresh that named everything: the other entries that the provider has.
    pub present: Option<BTreeSet<[u8; 16]>>,
    /// What the provider knows of, after a refresh.
    pub covered: ContextVector,
    /// CSNs that the context vector takes in with it.
    pub cookie: Vec<Csn>,
    /// ID of the server that sent it; 0: not known.
    pub via: u16,
    /// The consumer's settings.
    pub mapping: Arc<ReplicaMapping>,
}

struct Job {
    directory: Arc<Directory>,
    change: ReplicatedTree,
    reply: oneshot::Sender<Result<(), OperationError>>,
}

/// Queues what a provider has sent of a tree in memory. The receiver gets the outcome when it is in force. A
/// refused change has no effect.
///
/// # Errors
/// `busy`: the queue is full. `unavailable`: the server ends. `unwillingToPerform`: the database is no such tree.
pub fn replicate_tree(
    directory: &Arc<Directory>,
    context: &NamingContext,
    change: ReplicatedTree,
) -> Result<oneshot::Receiver<Result<(), OperationError>>, OperationError> {
    let writer = context
        .backend
        .tree_writer()
        .ok_or(WriteRefusal::UnsupportedInContext)?;
    let (reply, receiver) = oneshot::channel();
    let job = Job {
        directory: Arc::clone(directory),
        change,
        reply,
    };
    writer.submit(Box::new(job)).map_err(|(error, _)| error)?;
    Ok(receiver)
}

impl Job {
    fn read(&self, configuration: &Configuration) -> Result<Vec<ReadEntry>, OperationError> {
        let entries = self.change.entries.iter();
        let entries = entries.map(|entry| read(configuration, entry, &self.change.mapping));
        let entries = entries.collect::<Result<Vec<_>, _>>()?;
        let of_entries = entries.iter().filter_map(|entry| entry.csn);
        let of_changes = self.change.logged.iter().map(|(_, csn)| *csn);
        let mut csns = of_entries.chain(of_changes).chain(self.change.cookie.iter().copied());
        if csns.all(|csn| self.directory.observe_peer(csn, self.change.via)) {
            Ok(entries)
        } else {
            Err(WriteRefusal::TooFarAhead.into())
        }
    }
}

impl Job {
    /// The changes of a log that are not yet here.
    fn logged(&self, served: &Served) -> Result<Vec<TreeLogged>, OperationError> {
        let configuration = &served.configuration;
        let known = written_tree_vector(&served.context, configuration).unwrap_or_default();
        let mut logged = tree_logged::read_all(configuration, &self.change.logged, &self.change.mapping)?;
        logged.retain(|change| !known.covers(change.csn));
        Ok(logged)
    }
}

impl WriteTask for Job {
    fn octets(&self) -> usize {
        let entries = self.change.entries.iter().map(ReplicatedEntry::octets);
        let changes = self.change.logged.iter().map(|(change, _)| change.octets());
        OCTETS + entries.sum::<usize>() + changes.sum::<usize>()
    }

    fn taken(&mut self, _: u64) {}

    fn execute(&self, _: &Served, _: &mut WriteTransaction<'_>) -> Result<(Success, Executed), Refusal> {
        Err(OperationError::from(WriteRefusal::UnsupportedInContext).into())
    }

    fn served(&self, configuration: &Arc<Configuration>) -> Result<Served, OperationError> {
        let context = configuration.context_of(&self.change.mapping.local_base);
        Ok(Served {
            configuration: Arc::clone(configuration),
            context: Arc::clone(context.ok_or(ReplicaRefusal::OtherDatabase)?),
        })
    }

    fn execute_in_memory(
        &self,
        served: &Served,
        governor: &dyn Governor,
    ) -> Result<(Success, Executed), OperationError> {
        let tree = served.context.backend.tree();
        let tree = tree.ok_or(WriteRefusal::UnsupportedInContext)?;
        tree.confirm(&served.configuration)?;
        let entries = self.read(&served.configuration)?;
        let logged = self.logged(served)?;
        let mapping = &self.change.mapping;
        let origin = RequestContext {
            request: RequestKind::of(Operation::Modify),
            ..RequestContext::of_server(mapping.author.clone())
        };
        let present = self.change.present.as_ref();
        let replica = TreeReplica {
            entries: entries.into_iter().map(ReadEntry::into_entry).collect(),
            logged,
            gone: self.change.gone.iter().copied().map(uuid_text).collect(),
            present: present.map(|all| all.iter().copied().map(uuid_text).collect()),
            covered: &self.change.covered,
            cookie: &self.change.cookie,
            holds: &|name| mapping.holds(name),
        };
        let stamp = self.directory.next_stamp();
        let kind = ironbark_store::ChangeKind::Modify;
        let record = record::begin(&self.directory, &served.context, &origin, &stamp, kind);
        let before = tree.entries(&served.configuration);
        let told = Told {
            served,
            cookie: &self.change.cookie,
            via: self.change.via,
            logged: &replica.logged,
        };
        let announced = OnceCell::new();
        let announce = |schema: &Schema, entries: &[Entry]| {
            if served.context.is_followed()
                && let Some(known) = WellKnown::of(schema)
            {
                let after = TreeState {
                    schema,
                    known: &known,
                    entries,
                };
                let records: &Vec<_> = announced.get_or_init(|| told.records(&before, after, &record));
                followers::announce(&self.directory, &served.context, records);
            }
        };
        let by = ChangeAuthor {
            governor,
            randomness: self.directory.randomness(),
            configuration: &served.configuration,
            dn: mapping.author.pretty(),
            stamp,
            announce: &announce,
        };
        tree.replicate(&replica, &by)?;
        let records = announced.into_inner();
        let records = records.unwrap_or_else(|| vec![told.cookie_alone(&record)]);
        followers::tell(&self.directory, &served.context, &records);
        Ok((
            Success::default(),
            Executed {
                // The followers have been told.
                record: ChangeRecord::default(),
                lifts_restriction: false,
                has_notes: false,
            },
        ))
    }

    fn conclude(self: Box<Self>, _: &Arc<NamingContext>, outcome: Outcome) {
        let ended = match outcome {
            Outcome::Done(..) => Ok(()),
            Outcome::Refused(error) => Err(error),
            Outcome::Returned(_) => Err(Failure::Unexpected.into()),
        };
        // The session may be gone: the change may have removed its line.
        let _ = self.reply.send(ended);
    }

    fn answer(self: Box<Self>, error: OperationError) {
        // As above.
        let _ = self.reply.send(Err(error));
    }
}
