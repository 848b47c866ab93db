//! Transactions of clients (RFC 5805): updates that are made all together, or not at all.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use ironbark_ldap_proto::{
    EncodeControl, MessageId, Operation,
    controls::{Control, PostReadResponse, PreReadResponse},
    extended::transaction::{UpdateControls, encode_end_response},
};
use ironbark_runtime::Claimant;
use ironbark_store::WriteTransaction;
use tokio::sync::oneshot;

use super::job::Asked;
use crate::{
    Configuration, Directory, NamingContext, OperationError,
    backend::{
        in_memory::Governor,
        queue::{Outcome, Served, WriteTask},
        written::{Executed, ExtendedAnswer, Refusal, Success, Wanted},
    },
    edit::execute::{Ended, WRITE_STEPS},
    outcome::{completion::Completion, hashing_pool, respond},
    refusal::{RequestRefusal, TransactionRefusal},
    request::{context::RequestContext, identity::ConnectionSource},
};

/// Updates of one transaction.
const MOST_UPDATES: usize = 1_024;
/// Octets of its requests.
const MOST_OCTETS: usize = 4 << 20;
/// Octets of the requests of all open transactions.
const MOST_OCTETS_OF_ALL: usize = 256 << 20;
/// Octets that an update counts for at least.
const UPDATE_OCTETS: usize = 1 << 10;
/// Steps that access checks and assertions may take in one transaction: other writes wait for it.
const TRANSACTION_STEPS: u64 = 10 * WRITE_STEPS;

/// A transaction that a client has started.
#[derive(Default)]
pub(crate) struct OpenTransaction {
    /// The database of its updates, by number and cache.
    place: Option<(i32, u64)>,
    updates: Vec<Asked>,
    octets: usize,
    /// Its part of what all hold.
    share: Option<Share>,
}

/// Octets that open transactions hold. Dropping it gives them back.
struct Share {
    octets: usize,
    all: Arc<AtomicUsize>,
}

impl Drop for Share {
    fn drop(&mut self) {
        self.all.fetch_sub(self.octets, Ordering::Relaxed);
    }
}

impl OpenTransaction {
    /// Whether an update was read under such a configuration.
    pub(crate) fn is_of(&self, is_meant: impl Fn(&Configuration) -> bool) -> bool {
        self.updates.iter().any(|update| is_meant(&update.configuration))
    }

    /// Adds an update.
    ///
    /// # Errors
    /// `affectsMultipleDSAs`: it is for another database than the ones before. `adminLimitExceeded`, `busy`.
    pub(crate) fn add(&mut self, context: &NamingContext, update: Asked) -> Result<(), OperationError> {
        let place = (context.number, context.cache);
        if self.place.is_some_and(|known| known != place) {
            return Err(TransactionRefusal::SeveralDatabases.into());
        }
        let octets = update.request.octets().max(UPDATE_OCTETS);
        if self.updates.len() >= MOST_UPDATES || self.octets + octets > MOST_OCTETS {
            return Err(TransactionRefusal::TooBig.into());
        }
        let share = self.share.get_or_insert_with(|| Share {
            octets: 0,
            all: Arc::clone(update.directory.open_transactions()),
        });
        if share.all.fetch_add(octets, Ordering::Relaxed) + octets > MOST_OCTETS_OF_ALL {
            share.all.fetch_sub(octets, Ordering::Relaxed);
            return Err(TransactionRefusal::NoRoom.into());
        }
        share.octets += octets;
        self.octets += octets;
        self.place = Some(place);
        self.updates.push(update);
        Ok(())
    }

    /// Its updates, ready for the queue; `None`: it has none.
    pub(crate) fn settle(
        self,
        directory: &Arc<Directory>,
        origin: &RequestContext,
        reply: oneshot::Sender<Completion>,
    ) -> Option<Transaction> {
        let first = self.updates.first()?;
        let context = first.configuration.context_of(first.request.dn()).cloned()?;
        let settled = Settled {
            directory: Arc::clone(directory),
            origin: origin.clone(),
            context,
            octets: self.octets,
            updates: self.updates,
            refused: AtomicUsize::new(usize::MAX),
        };
        Some(Transaction { settled, reply })
    }
}

/// A transaction on its way to the writer of its database, and who waits for its response.
pub(crate) struct Transaction {
    settled: Settled,
    reply: oneshot::Sender<Completion>,
}

struct Settled {
    directory: Arc<Directory>,
    /// The request that ended it.
    origin: RequestContext,
    /// The database, when the first update came.
    context: Arc<NamingContext>,
    updates: Vec<Asked>,
    octets: usize,
    /// Position of the update that was refused, or that comes again.
    refused: AtomicUsize,
}

impl Settled {
    /// The message ID of the update that was refused.
    fn refused_update(&self) -> Option<MessageId> {
        let update = self.updates.get(self.refused.load(Ordering::Relaxed))?;
        MessageId::new(update.origin.message_id)
    }
}

impl Transaction {
    /// Queues it, or answers.
    pub(crate) fn queue(self) {
        let context = Arc::clone(&self.settled.context);
        self.queue_for(&context);
    }

    fn queue_for(self, context: &NamingContext) {
        let queue = self
            .settled
            .updates
            .first()
            .and_then(|first| context.backend.queue_for(first.request.kind()));
        let unqueued = match queue {
            Some(writer) => writer.submit(Box::new(self)).err(),
            None => Some((
                TransactionRefusal::UnsupportedInContext.into(),
                Some(Box::new(self) as _),
            )),
        };
        if let Some((error, Some(task))) = unqueued {
            task.answer(error);
        }
    }

    fn answer_with(self, success: Success) {
        let completion = respond::write_completion(
            &self.settled.directory,
            &self.settled.origin,
            Operation::Extended,
            Ok(success),
        );
        // The connection may be gone; what was committed stays valid.
        let _ = self.reply.send(completion);
    }

    fn refuse(self, error: OperationError) {
        let update = self.settled.refused_update();
        let value = update.map(|id| {
            let mut value = Vec::new();
            encode_end_response(&mut value, Some(id), &[]);
            value
        });
        let extended = ExtendedAnswer {
            name: None,
            value,
            refusal: Some(Box::new(error)),
        };
        self.answer_with(Success {
            extended,
            ..Success::default()
        });
    }

    /// Computes the missing result, and queues it again.
    fn compute_and_queue(self, context: &Arc<NamingContext>, wanted: Wanted) {
        let Self { mut settled, reply } = self;
        let (directory, origin) = (Arc::clone(&settled.directory), settled.origin.clone());
        let (octets, context) = (settled.octets, Arc::clone(context));
        hashing_pool::submit_for(&directory, &origin, Operation::Extended, octets, reply, move |reply| {
            let position = settled.refused.load(Ordering::Relaxed);
            if let Some(update) = settled.updates.get_mut(position) {
                update.compute(wanted);
            }
            Self { settled, reply }.queue_for(&context);
        });
    }
}

/// The controls of an update's response.
struct Answered {
    message_id: i32,
    pre_read: Option<Vec<u8>>,
    post_read: Option<Vec<u8>>,
}

/// The value of the response, if updates have controls.
fn value_of(updates: &[Answered]) -> Option<Vec<u8>> {
    let controls: Vec<_> = updates
        .iter()
        .filter(|update| update.pre_read.is_some() || update.post_read.is_some())
        .map(|update| {
            let before = update
                .pre_read
                .as_deref()
                .map(|entry| Control::optional(PreReadResponse(entry)));
            let after = update
                .post_read
                .as_deref()
                .map(|entry| Control::optional(PostReadResponse(entry)));
            (update.message_id, before, after)
        })
        .collect();
    if controls.is_empty() {
        return None;
    }
    let updates: Vec<UpdateControls<'_>> = controls
        .iter()
        .map(|(message_id, before, after)| {
            let before = before.iter().map(|control| control as &dyn EncodeControl);
            let after = after.iter().map(|control| control as &dyn EncodeControl);
            UpdateControls {
                message_id: MessageId::new(*message_id).unwrap_or_default(),
                controls: before.chain(after).collect(),
            }
        })
        .collect();
    let mut value = Vec::new();
    encode_end_response(&mut value, None, &updates);
    Some(value)
}

impl WriteTask for Transaction {
    fn octets(&self) -> usize {
        self.settled.octets
    }

    fn claimant(&self) -> Claimant<ConnectionSource> {
        self.settled.origin.claimant()
    }

    fn taken(&mut self, micros: u64) {
        self.settled.origin.taken_micros = micros;
        for update in &mut self.settled.updates {
            update.origin.taken_micros = micros;
        }
    }

    fn execute(&self, served: &Served, transaction: &mut WriteTransaction<'_>) -> Result<(Success, Executed), Refusal> {
        self.settled.refused.store(usize::MAX, Ordering::Relaxed);
        if !self.settled.origin.stop.begin() {
            return Err(OperationError::from(RequestRefusal::Canceled).into());
        }
        let (mut left, mut all, mut answered) = (TRANSACTION_STEPS, None::<Executed>, Vec::new());
        for (position, update) in self.settled.updates.iter().enumerate() {
            let Ended { result, steps } = update.execute(served, transaction, left.min(WRITE_STEPS));
            left -= steps.min(left);
            match result {
                Ok((success, executed)) => {
                    all = Some(match all {
                        Some(before) => before.and(executed),
                        None => executed,
                    });
                    answered.push(Answered {
                        message_id: update.origin.message_id,
                        pre_read: success.pre_read,
                        post_read: success.post_read,
                    });
                }
                Err(refusal) => {
                    self.settled.refused.store(position, Ordering::Relaxed);
                    return Err(Refusal {
                        dirty: refusal.dirty || all.is_some_and(|all| all.has_news()),
                        ..refusal
                    });
                }
            }
        }
        let success = Success {
            extended: ExtendedAnswer {
                value: value_of(&answered),
                ..ExtendedAnswer::default()
            },
            ..Success::default()
        };
        let all = all.ok_or_else(|| OperationError::from(TransactionRefusal::Empty))?;
        Ok((success, all))
    }

    fn served(&self, configuration: &Arc<Configuration>) -> Result<Served, OperationError> {
        Ok(Served {
            configuration: Arc::clone(configuration),
            context: Arc::clone(&self.settled.context),
        })
    }

    fn execute_in_memory(&self, _: &Served, _: &dyn Governor) -> Result<(Success, Executed), OperationError> {
        Err(TransactionRefusal::UnsupportedInContext.into())
    }

    fn refused(&self, error: &OperationError) {
        // The updates are of one connection.
        if let Some(update) = self.settled.updates.first() {
            update.refused(error);
        }
    }

    fn comes_again(&self) {
        if let Some(update) = self.settled.updates.first() {
            update.comes_again();
        }
    }

    fn conclude(self: Box<Self>, context: &Arc<NamingContext>, outcome: Outcome) {
        match outcome {
            Outcome::Returned(wanted) => self.compute_and_queue(context, wanted),
            Outcome::Done(success, executed) => {
                if executed.lifts_restriction {
                    self.settled.origin.restriction.lift();
                }
                self.answer_with(success);
            }
            Outcome::Refused(error) => self.refuse(error),
        }
    }

    fn answer(self: Box<Self>, error: OperationError) {
        self.refuse(error);
    }
}
