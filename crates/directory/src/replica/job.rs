//! A message of a provider on its way through the queue of the database.

use std::sync::{Arc, Mutex, PoisonError};

use ironbark_ldap_proto::Operation;
use ironbark_model::Schema;
use ironbark_store::{Csn, WriteTransaction};
use tokio::sync::oneshot;

use super::{
    apply,
    incoming::{Incoming, ReplicaOutcome, Replicated},
    logged::{self, ReadLogged, ReadOperation},
    place::Aftermath,
    read::{ReadEntry, read},
};
use crate::{
    Configuration, Directory, NamingContext, OperationError,
    backend::{
        conflicts::Conflict,
        queue::{Outcome, Served, WriteTask, WriterHandle},
        written::{Executed, Refusal, Success},
    },
    overlay::{Execution, Requested, password_checks::Computed},
    refusal::{Failure, ReplicaRefusal, WriteRefusal},
    request::{
        context::{RequestContext, RequestKind},
        controls::WriteControls,
    },
    write::job::execute_one,
};

/// Octets that a message counts for in the queue, besides its names and values.
const OCTETS: usize = 256;

/// The end of a message.
type Ended = Result<ReplicaOutcome, OperationError>;

struct Job {
    directory: Arc<Directory>,
    change: Arc<Replicated>,
    /// The schema under which the content was read.
    schema: Arc<Schema>,
    content: Content,
    origin: RequestContext,
    /// What the last execution came to.
    outcome: Mutex<Option<(ReplicaOutcome, Vec<Conflict>)>>,
    reply: oneshot::Sender<Ended>,
}

impl Directory {
    /// Queues a message of a provider for a database. Messages of one session must be queued in their order.
    ///
    /// The receiver gets the outcome after the commit. A refused message has no effect, nor have later ones of its
    /// session. `unwillingToPerform`: a CSN lies more than a day ahead of the clock, or the entry's UUID is that of an
    /// entry outside of the consumer's base and scope. `busy`: the index of entryUUID is still being built.
    ///
    /// A UUID that was deleted does not come back where others write too (`multi_provider`). The provider of a database
    /// that others do not write to is right: it may have been restored from LDIF, so the entry is added again, and its
    /// tombstone goes.
    ///
    /// # Errors
    /// `busy`: the queue is full, see [`Directory::room_for_replica`]. `unavailable`: the database is closed.
    /// `unwillingToPerform`: it keeps no log, or the entry is out of scope, has no CSN or another UUID than the
    /// message. `invalidDNSyntax`, `undefinedAttributeType`, and with `schema_checking` those of an add: the text names
    /// entry and attribute.
    pub fn replicate(
        self: &Arc<Self>,
        context: &NamingContext,
        change: Arc<Replicated>,
    ) -> Result<oneshot::Receiver<Ended>, OperationError> {
        let writer = writer_of(context)?;
        let configuration = self.configuration();
        let (reply, receiver) = oneshot::channel();
        let job = Job {
            directory: Arc::clone(self),
            content: Content::of(&configuration, &change)?,
            schema: Arc::clone(&configuration.schema),
            origin: origin(&change),
            change,
            outcome: Mutex::default(),
            reply,
        };
        writer.submit(Box::new(job)).map_err(|(error, _)| error)?;
        Ok(receiver)
    }

    /// Waits until the queue of a database has room for a message, or takes nothing more. Someone else may take the
    /// room first.
    pub async fn room_for_replica(&self, context: &NamingContext, change: &Replicated) {
        if let Some(writer) = context.backend.own_writer() {
            writer.room(OCTETS + change.incoming.octets()).await;
        }
    }
}

/// The queue of a database that can be a replica.
pub(super) fn writer_of(context: &NamingContext) -> Result<&WriterHandle, OperationError> {
    let writer = context.backend.own_writer().ok_or(WriteRefusal::UnsupportedInContext)?;
    if context.settings.keeps_changes() {
        Ok(writer)
    } else {
        Err(ReplicaRefusal::NoLog.into())
    }
}

/// What a message is about, with names and values as they are here.
pub(super) enum Content {
    Entry(ReadEntry),
    Logged(ReadLogged),
    /// A UUID, or nothing.
    Other,
}

impl Content {
    fn of(configuration: &Configuration, change: &Replicated) -> Result<Self, OperationError> {
        Ok(match &change.incoming {
            Incoming::Entry(entry) => Self::Entry(read(configuration, entry, &change.mapping)?),
            Incoming::Logged(logged) => Self::Logged(logged::read(configuration, logged, &change.mapping)?),
            Incoming::Delete { .. } | Incoming::Contradicted(_) | Incoming::Nothing | Incoming::EndOfRefresh => {
                Self::Other
            }
        })
    }

    /// `entryCSN` of an entry.
    pub(super) fn csn(&self) -> Option<Csn> {
        match self {
            Self::Entry(entry) => entry.csn,
            Self::Logged(_) | Self::Other => None,
        }
    }

    /// The CSN by which a place counts that no request has given.
    fn revision(&self) -> Option<Csn> {
        match self {
            Self::Logged(ReadLogged {
                operation: ReadOperation::Settle(revision, _),
                ..
            }) => Some(revision.version()),
            _ => None,
        }
    }
}

fn origin(change: &Replicated) -> RequestContext {
    let operation = match change.incoming {
        Incoming::Delete { .. } | Incoming::Contradicted(_) => Operation::Delete,
        Incoming::Entry(_) | Incoming::Logged(_) | Incoming::Nothing | Incoming::EndOfRefresh => Operation::Modify,
    };
    RequestContext {
        request: RequestKind::of(operation),
        ..RequestContext::of_server(change.mapping.author.clone())
    }
}

impl Job {
    /// Takes notice of all CSNs of the message.
    fn observe(&self, content: &Content) -> Result<(), WriteRefusal> {
        let mut csns = self
            .change
            .cookie
            .iter()
            .copied()
            .chain(self.change.csn)
            .chain(content.csn())
            .chain(content.revision());
        if csns.all(|csn: Csn| self.directory.observe_peer(csn, self.change.via)) {
            Ok(())
        } else {
            Err(WriteRefusal::TooFarAhead)
        }
    }
}

impl WriteTask for Job {
    fn octets(&self) -> usize {
        OCTETS + self.change.incoming.octets()
    }

    fn taken(&mut self, micros: u64) {
        self.origin.taken_micros = micros;
    }

    fn execute(&self, served: &Served, transaction: &mut WriteTransaction<'_>) -> Result<(Success, Executed), Refusal> {
        if self.change.comes_after_refusal() {
            return Err(OperationError::from(ReplicaRefusal::AfterRefusal).into());
        }
        let ended = self.apply(served, transaction);
        if ended.is_err() {
            self.change.refuse();
        }
        ended
    }

    fn refused(&self, _: &OperationError) {
        self.change.refuse();
    }

    fn conclude(self: Box<Self>, context: &Arc<NamingContext>, outcome: Outcome) {
        let done = self.outcome.into_inner().unwrap_or_else(PoisonError::into_inner);
        let ended = match outcome {
            Outcome::Done(..) => match done {
                Some((done, conflicts)) => {
                    if let Some(suffix) = context.suffixes().first() {
                        self.directory
                            .keep_conflicts(suffix.pretty(), self.change.via, conflicts);
                    }
                    Ok(done)
                }
                None => Err(Failure::Unexpected.into()),
            },
            Outcome::Refused(error) => Err(error),
            Outcome::Returned(_) => Err(Failure::Unexpected.into()),
        };
        // The session may be gone; the change stays valid.
        let _ = self.reply.send(ended);
    }

    fn answer(self: Box<Self>, error: OperationError) {
        // As above.
        let _ = self.reply.send(Err(error));
    }
}

impl Job {
    fn apply(&self, served: &Served, transaction: &mut WriteTransaction<'_>) -> Result<(Success, Executed), Refusal> {
        let configuration = &served.configuration;
        let again = if Arc::ptr_eq(&self.schema, &configuration.schema) {
            None
        } else {
            Some(Content::of(configuration, &self.change)?)
        };
        let content = again.as_ref().unwrap_or(&self.content);
        writer_of(&served.context)?;
        if served.context.suffix_of(&self.change.mapping.local_base).is_none() {
            return Err(OperationError::from(ReplicaRefusal::OtherDatabase).into());
        }
        self.observe(content).map_err(OperationError::from)?;
        let computed = Computed::default();
        let requested = Requested {
            origin: &self.origin,
            controls: WriteControls::default(),
            computed: &computed,
        };
        let mut aftermath = Aftermath::default();
        let ended = execute_one(&self.directory, served, requested, transaction, |execution| {
            let mapping = &self.change.mapping;
            execution.is_unchecked = mapping.own_csns && !mapping.schema_checking;
            let mut outcome = apply::run(execution, &self.change, content, &mut aftermath)?;
            outcome.has_displaced = execution.has_displaced;
            let conflicts = std::mem::take(&mut execution.conflicts);
            *self.outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some((outcome, conflicts));
            Ok(Success::default())
        })?;
        if aftermath.is_empty() {
            return Ok(ended);
        }
        let mut tell = |act: &mut dyn FnMut(&mut Execution<'_, '_>) -> Result<(), OperationError>| {
            let told = execute_one(&self.directory, served, requested, transaction, |execution| {
                act(execution).map(|()| Success::default())
            });
            // The message itself must be undone.
            told.map_err(|refusal| Refusal { dirty: true, ..refusal })
        };
        let (success, mut all) = ended;
        for uuid in &aftermath.buried {
            let (_, told) = tell(&mut |execution| {
                execution.bury(*uuid);
                Ok(())
            })?;
            all = all.and(told);
        }
        if aftermath.stamps() {
            let (_, told) = tell(&mut |execution| aftermath.stamp_moved(execution))?;
            all = all.and(told);
        }
        Ok((success, all))
    }
}
