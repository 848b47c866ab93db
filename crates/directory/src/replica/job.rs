//! A message of a provider on its way through the queue of the database.

use std::sync::{Arc, Mutex, PoisonError};

use ironbark_ldap_proto::Operation;
use ironbark_model::Schema;
use ironbark_store::{ContextVector, Csn, WriteTransaction};
use tokio::sync::oneshot;

use super::{
    apply,
    find::{find, find_in},
    incoming::{Incoming, ReplicaOutcome, Replicated},
    logged::{self, ReadLogged, Standing},
    parts::Parts,
    place::Aftermath,
    read::{ReadEntry, ReadRecent, read},
};
use crate::{
    Configuration, Directory, NamingContext, OperationError,
    backend::{
        conflicts::Conflict,
        queue::{Outcome, Served, WriteTask, WriterHandle},
        written::{Executed, Refusal, Success},
    },
    overlay::{Requested, password_checks::Computed},
    refusal::{Failure, ReplicaRefusal, WriteRefusal},
    request::{
        context::{RequestContext, RequestKind},
        controls::WriteControls,
    },
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
/// `busy`: the queue is full, see [`room_for_replica`]. `unavailable`: the database is closed.
/// `unwillingToPerform`: it keeps no log, or the entry is out of scope, has no CSN or another UUID than the
/// message. `invalidDNSyntax`, `undefinedAttributeType`, and with `schema_checking` those of an add: the text names
/// entry and attribute.
pub fn replicate(
    directory: &Arc<Directory>,
    context: &NamingContext,
    change: Arc<Replicated>,
) -> Result<oneshot::Receiver<Ended>, OperationError> {
    let writer = writer_of(context)?;
    let configuration = directory.configuration();
    let (reply, receiver) = oneshot::channel();
    let job = Job {
        directory: Arc::clone(directory),
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
pub async fn room_for_replica(context: &NamingContext, change: &Replicated) {
    if let Some(writer) = context.backend.own_writer() {
        writer.room(OCTETS + change.incoming.octets()).await;
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
            Self::Logged(logged) => Some(logged.revision()?.version()),
            _ => None,
        }
    }

    /// The CSN that a server must cover to have the revision of this entry.
    pub(super) fn revised_by(&self) -> Option<Csn> {
        match self {
            Self::Entry(entry) => entry.place.as_ref()?.revised_by(entry.csn?),
            Self::Logged(_) | Self::Other => None,
        }
    }

    /// What the provider had of an entry that comes as a whole, or of what was taken over with one.
    pub(super) fn whole(&self) -> Option<&ContextVector> {
        match self {
            Self::Entry(entry) => Some(&entry.recent.as_ref()?.vector),
            Self::Logged(logged) => Some(&logged.base.as_ref()?.vector),
            Self::Other => None,
        }
    }

    /// An entry with its recent changes.
    fn recent(&self) -> Option<(&ReadEntry, &ReadRecent)> {
        match self {
            Self::Entry(entry) => Some((entry, entry.recent.as_ref()?)),
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
        let recent = content.recent().into_iter().flat_map(|(_, recent)| &recent.changes);
        let mut csns = self
            .change
            .cookie
            .iter()
            .copied()
            .chain(self.change.csn)
            .chain(content.csn())
            .chain(content.revision())
            .chain(content.revised_by())
            .chain(recent.map(|(csn, _)| *csn));
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
        let mut parts = Parts::new(&self.directory, served, requested, transaction);
        let mut aftermath = Aftermath::default();
        let told = content.recent();
        let was_here = match told {
            Some((entry, recent)) => {
                let standing = Standing::Unknown;
                make_recent(&mut parts, &self.change, entry, recent, standing, &mut aftermath)?
            }
            None => false,
        };
        let outcome = parts.make(|execution| {
            let mapping = &self.change.mapping;
            execution.is_unchecked = mapping.own_csns && !mapping.schema_checking;
            apply::run(execution, &self.change, content, &mut aftermath).map(Some)
        })?;
        if let Some((entry, recent)) = told.filter(|_| !was_here) {
            let standing = Standing::Contained;
            make_recent(&mut parts, &self.change, entry, recent, standing, &mut aftermath)?;
        }
        for uuid in &aftermath.buried {
            parts.make(|execution| {
                execution.bury(*uuid);
                Ok(())
            })?;
        }
        if aftermath.stamps() {
            parts.make(|execution| aftermath.stamp_moved(execution))?;
        }
        let outcome = outcome.ok_or_else(|| OperationError::from(Failure::Unexpected))?;
        let (outcome, conflicts, made) = parts.end(outcome);
        *self.outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some((outcome, conflicts));
        Ok((Success::default(), made))
    }
}

/// Makes the recent changes of an entry as those of a log, if the entry is here, and `aftermath` gets what this server
/// has to tell then. Returns whether it is.
///
/// # Errors
/// As of [`Parts::make`].
fn make_recent(
    parts: &mut Parts<'_, '_, '_>,
    change: &Replicated,
    entry: &ReadEntry,
    recent: &ReadRecent,
    standing: Standing,
    aftermath: &mut Aftermath,
) -> Result<bool, Refusal> {
    if find_in(parts.transaction().view(), entry.uuid)?.is_none() {
        return Ok(false);
    }
    let vector = parts.transaction().vector().map_err(OperationError::from)?;
    for (csn, logged) in &recent.changes {
        if standing == Standing::Unknown && vector.covers(*csn) {
            continue;
        }
        let told = change.told_with_it(*csn);
        let outcome = parts.make(|execution| {
            // One of the changes before it may have cost the entry its name.
            if find(execution, entry.uuid)?.is_none() {
                return Ok(None);
            }
            execution.attribute_to(*csn, apply::via_of(change.via));
            logged::run(execution, &told, logged, standing, aftermath).map(Some)
        })?;
        parts.note(outcome);
    }
    Ok(true)
}
