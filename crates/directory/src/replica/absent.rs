//! After a present phase (RFC 4533 §3.3.2): entries that the provider did not name are deleted, in slices.

use std::sync::{Arc, Mutex, PoisonError};

use ironbark_model::{CompiledFilter, Filter, Truth};
use ironbark_store::{ContextVector, Csn, EntryId, Location, WriteTransaction};
use roaring::RoaringTreemap;
use tokio::sync::oneshot;

use super::{apply::csn_of, find::find, job::writer_of, mapping::ReplicaMapping, place::Aftermath};
use crate::{
    Configuration, Directory, NamingContext, OperationError,
    backend::{
        in_memory::Governor,
        queue::{Outcome, Served, WriteTask},
        written::{Executed, Refusal, Success},
    },
    edit::{
        checks, delete,
        execute::{WRITE_STEPS, execute},
    },
    overlay::{Execution, Requested, password_checks::Computed},
    refusal::{Failure, ReplicaRefusal, WriteRefusal},
    request::{context::RequestContext, controls::WriteControls},
};

/// What a present phase came to, for [`replicate_absent`].
#[derive(Clone, Debug)]
pub struct Absent {
    /// The consumer's settings.
    pub mapping: Arc<ReplicaMapping>,
    /// ID of the provider; 0: not known.
    pub via: u16,
    /// IDs of the entries that the provider has named or sent.
    pub present: Arc<RoaringTreemap>,
    /// The provider's context vector. An entry whose CSN it does not cover was made elsewhere, and stays, unless the
    /// provider is the only one. Then it was told before that entry was deleted, in a refresh of its own.
    pub covered: ContextVector,
    /// Entries after this one are considered; 0 at first.
    pub after: EntryId,
}

/// One slice.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AbsentSlice {
    /// Entries that were deleted.
    pub deleted: usize,
    /// The `after` of the next slice; `None`: this was the last.
    pub next: Option<EntryId>,
}

/// Entries that one slice deletes.
const MOST_DELETED: usize = 1_000;
/// Entries that one slice considers, so that other writes do not wait too long.
const MOST_CONSIDERED: usize = 20_000;
/// Depth of the filter.
const FILTER_DEPTH: usize = 250;
/// Octets that a slice counts for in the queue.
const OCTETS: usize = 64 << 10;

type Ended = Result<AbsentSlice, OperationError>;

struct Job {
    directory: Arc<Directory>,
    absent: Absent,
    origin: RequestContext,
    slice: Mutex<AbsentSlice>,
    reply: oneshot::Sender<Ended>,
}

/// Queues the deletion of the next entries that a provider did not name, at most 1,000: those of base, scope and
/// filter of the consumer that are not present, and whose `entryCSN` the provider's vector covers, or that have
/// none; of a sole provider all that are not present. Subordinates go before their superiors. Each has its own
/// record, with a CSN of this server where others write too, otherwise with that of the provider.
///
/// The receiver gets the slice after the commit. A refused slice has no effect.
///
/// # Errors
/// `busy`, `unavailable`; `unwillingToPerform`: the database keeps no log.
pub fn replicate_absent(
    directory: &Arc<Directory>,
    context: &NamingContext,
    absent: Absent,
) -> Result<oneshot::Receiver<Ended>, OperationError> {
    let writer = writer_of(context)?;
    let (reply, receiver) = oneshot::channel();
    let job = Job {
        directory: Arc::clone(directory),
        origin: RequestContext::of_server(absent.mapping.author.clone()),
        absent,
        slice: Mutex::default(),
        reply,
    };
    writer.submit(Box::new(job)).map_err(|(error, _)| error)?;
    Ok(receiver)
}

/// Waits until the queue of a database has room for such a slice, or takes nothing more.
pub async fn room_for_absent(context: &NamingContext) {
    if let Some(writer) = context.backend.own_writer() {
        writer.room(OCTETS).await;
    }
}

/// An absent entry, with its CSN and the depth of its name.
struct Victim {
    id: EntryId,
    depth: usize,
    csn: Option<Csn>,
}

impl Absent {
    /// The next absent entries, the deepest first, and where to go on.
    fn victims(
        &self,
        execution: &Execution<'_, '_>,
        most: usize,
    ) -> Result<(Vec<Victim>, Option<EntryId>), OperationError> {
        let view = execution.view();
        let Location::Entry(base) = view.locate(&self.mapping.local_base)? else {
            return Ok((Vec::new(), None));
        };
        let filter = self.filter(execution)?;
        let (mut victims, mut scratch, mut last) = (Vec::new(), Vec::new(), self.after);
        let mut more = None;
        for (number, record) in view.entries(self.after)?.enumerate() {
            if victims.len() >= most || number >= MOST_CONSIDERED {
                more = Some(last);
                break;
            }
            let record = record?;
            last = record.id;
            if self.present.contains(record.id) || record.is_glue() || !record.is_in_scope(base, self.mapping.scope)? {
                continue;
            }
            let csn = csn_of(execution, &record)?;
            let is_known = self.mapping.is_sole || csn.is_none_or(|csn| self.covered.covers(csn));
            if is_known
                && filter
                    .as_ref()
                    .is_none_or(|filter| record.evaluate(filter, &mut scratch) == Truth::True)
            {
                let depth = view.dn(record.id)?.depth();
                victims.push(Victim {
                    id: record.id,
                    depth,
                    csn,
                });
            }
        }
        victims.sort_by_key(|victim| std::cmp::Reverse(victim.depth));
        Ok((victims, more))
    }

    fn filter(&self, execution: &Execution<'_, '_>) -> Result<Option<CompiledFilter>, OperationError> {
        let text = &self.mapping.filter;
        if text.is_empty() {
            return Ok(None);
        }
        let filter = Filter::parse(text.as_bytes(), FILTER_DEPTH).map_err(|_| ReplicaRefusal::InvalidFilter {
            filter: (**text).into(),
        })?;
        let mut compiled = CompiledFilter::default();
        compiled.compile(execution.view().schema(), &filter);
        Ok(Some(compiled))
    }

    /// Deletes one, unless it went with another.
    fn delete(&self, execution: &mut Execution<'_, '_>, victim: &Victim) -> Result<Success, OperationError> {
        if !self.mapping.multi_provider && !self.mapping.own_csns {
            let of_its_server = victim.csn.and_then(|csn| self.covered.of_server(csn.server_id()));
            if let Some(csn) = of_its_server.or_else(|| self.covered.iter().max()) {
                execution.attribute_to(csn, super::apply::via_of(self.via));
            }
        }
        checks::record_of(execution.view(), victim.id)?;
        let mut orphans = Aftermath::default();
        if self.mapping.multi_provider {
            orphans.take_up_below(execution, victim.id)?;
        }
        delete::remove(execution, victim.id, None)?;
        self.keep_unknown(execution, &mut orphans)?;
        orphans.stamp_moved(execution)?;
        Ok(Success::default())
    }

    /// Keeps only the entries that the provider does not have: others may be absent as well.
    fn keep_unknown(&self, execution: &Execution<'_, '_>, orphans: &mut Aftermath) -> Result<(), OperationError> {
        let mut unknown = Vec::new();
        for uuid in std::mem::take(&mut orphans.moved) {
            if let Some(id) = find(execution, uuid)? {
                let record = checks::record_of(execution.view(), id)?;
                let csn = csn_of(execution, &record)?;
                unknown.extend(csn.filter(|csn| !self.covered.covers(*csn)).map(|_| uuid));
            }
        }
        orphans.moved = unknown;
        Ok(())
    }
}

impl WriteTask for Job {
    fn octets(&self) -> usize {
        OCTETS
    }

    fn taken(&mut self, micros: u64) {
        self.origin.taken_micros = micros;
    }

    fn execute(&self, served: &Served, transaction: &mut WriteTransaction<'_>) -> Result<(Success, Executed), Refusal> {
        writer_of(&served.context)?;
        let computed = Computed::default();
        let requested = Requested {
            origin: &self.origin,
            controls: WriteControls::default(),
            computed: &computed,
        };
        // The files of an ldif database follow one record at a time.
        let most = if served.context.backend.files().is_some() {
            1
        } else {
            MOST_DELETED
        };
        let mut found = (Vec::new(), None);
        let (success, mut all) = execute(
            &self.directory,
            served,
            requested,
            transaction,
            WRITE_STEPS,
            |execution| {
                found = self.absent.victims(execution, most)?;
                Ok(Success::default())
            },
        )
        .result?;
        let (victims, next) = found;
        for (number, victim) in victims.iter().enumerate() {
            let deleted = execute(
                &self.directory,
                served,
                requested,
                transaction,
                WRITE_STEPS,
                |execution| self.absent.delete(execution, victim),
            );
            let (_, deleted) = deleted.result.map_err(|refusal| Refusal {
                // Those before it must be undone.
                dirty: refusal.dirty || number > 0,
                ..refusal
            })?;
            all = all.and(deleted);
        }
        *self.slice.lock().unwrap_or_else(PoisonError::into_inner) = AbsentSlice {
            deleted: victims.len(),
            next,
        };
        Ok((success, all))
    }

    fn served(&self, _: &Arc<Configuration>) -> Result<Served, OperationError> {
        Err(WriteRefusal::UnsupportedInContext.into())
    }

    fn execute_in_memory(&self, _: &Served, _: &dyn Governor) -> Result<(Success, Executed), OperationError> {
        Err(WriteRefusal::UnsupportedInContext.into())
    }

    fn refused(&self, _: &OperationError) {}

    fn conclude(self: Box<Self>, _: &Arc<NamingContext>, outcome: Outcome) {
        let slice = self.slice.into_inner().unwrap_or_else(PoisonError::into_inner);
        let ended = match outcome {
            Outcome::Done(..) => Ok(slice),
            Outcome::Refused(error) => Err(error),
            Outcome::Returned(_) => Err(Failure::Unexpected.into()),
        };
        // The session may be gone; the deletes stay valid.
        let _ = self.reply.send(ended);
    }

    fn answer(self: Box<Self>, error: OperationError) {
        // As above.
        let _ = self.reply.send(Err(error));
    }
}
