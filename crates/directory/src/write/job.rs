//! A request on its way to the writer of its database, and back to its connection.

use std::sync::Arc;

use ironbark_ldap_proto::Operation;
use ironbark_model::ResultCode;
use ironbark_runtime::Claimant;
use ironbark_store::WriteTransaction;
use tokio::sync::oneshot;

use super::request::{OnTree, WriteRequest};
use crate::{
    Configuration, Directory, NamingContext, OperationError,
    backend::{
        external::ExternalDatabase,
        in_memory::Governor,
        queue::{Outcome, Served, Unqueued, WriteTask},
        referral,
        written::{Executed, Refusal, Success, Wanted},
    },
    edit::execute::{Ended, WRITE_STEPS, execute},
    outcome::{
        completion::{Begun, Completion, Submitted},
        external::Responder,
        hashing_pool, respond,
    },
    overlay::Requested,
    refusal::{QueueRefusal, RequestRefusal, WriteRefusal},
    request::{context::RequestContext, controls::WriteControls, identity::ConnectionSource},
};

/// A request that was read.
pub(crate) struct Asked {
    pub(crate) directory: Arc<Directory>,
    /// The configuration that it was read under.
    pub(crate) configuration: Arc<Configuration>,
    pub(crate) origin: RequestContext,
    pub(crate) request: Box<dyn WriteRequest>,
}

/// One request, and who waits for its response.
pub(crate) struct Job {
    pub(crate) asked: Asked,
    /// `None`: it was answered before it was queued.
    pub(crate) reply: Option<oneshot::Sender<Completion>>,
}

/// Puts a request into the queue of the writer of a database.
///
/// # Errors
/// `busy`, `unavailable`; `unwillingToPerform` if this kind of write is not possible.
pub(crate) fn enqueue(
    directory: &Arc<Directory>,
    configuration: &Arc<Configuration>,
    context: &NamingContext,
    origin: &RequestContext,
    request: Box<dyn WriteRequest>,
) -> Result<Begun, OperationError> {
    let (reply, receiver) = oneshot::channel();
    let blocks_connection = request.operation() == Operation::Bind;
    let asked = Asked {
        directory: Arc::clone(directory),
        configuration: Arc::clone(configuration),
        origin: origin.clone(),
        request,
    };
    let job = Job {
        asked,
        reply: Some(reply),
    };
    job.queue(context).map_err(|(error, _)| error)?;
    Ok(Begun::Submitted(Submitted {
        receiver,
        blocks_connection,
    }))
}

impl Job {
    fn queue(mut self, context: &NamingContext) -> Result<(), Unqueued> {
        if let Some(database) = context.backend.external() {
            return self.ask(context, database);
        }
        if self.answer_before(context) {
            // What cannot be noted is lost, as when the log does not take it.
            let _ = self.submit(context);
            return Ok(());
        }
        self.submit(context)
    }

    /// Answers what a database of a cluster only notes (the time of a bind): the log may be away for long, and nothing
    /// in the answer depends on it. Returns whether it is answered.
    fn answer_before(&mut self, context: &NamingContext) -> bool {
        let success = match &context.settings.cluster {
            Some(_) => self.asked.request.unrecorded(context),
            None => None,
        };
        let Some(success) = success else { return false };
        self.complete(Ok(success));
        true
    }

    fn submit(self, context: &NamingContext) -> Result<(), Unqueued> {
        match context.backend.queue_for(self.asked.request.kind()) {
            Some(writer) => writer.submit(Box::new(self)),
            None => Err((WriteRefusal::UnsupportedInContext.into(), Some(Box::new(self)))),
        }
    }

    /// Asks what has the entries: no writer does anything for it.
    fn ask(self, context: &NamingContext, database: &dyn ExternalDatabase) -> Result<(), Unqueued> {
        let asked = &self.asked;
        let external = asked
            .begin()
            .and_then(|()| asked.request.external(&asked.configuration, context, &asked.origin));
        let (operation, time) = match external {
            Ok(external) => external,
            Err(error) => return Err((error, Some(Box::new(self)))),
        };
        let Self { asked, reply } = self;
        let Asked {
            directory,
            origin,
            request,
            ..
        } = asked;
        let Some(reply) = reply else { return Ok(()) };
        let responder = Responder {
            directory,
            origin,
            operation: request.operation(),
            identity: None,
            reply,
        };
        responder.ask(database, operation, time);
        Ok(())
    }

    /// Queues it on a thread other than the connection's. If the writer does not accept it, the client gets the error.
    pub(crate) fn queue_or_answer(self, context: &NamingContext) {
        if let Err((error, Some(task))) = self.queue(context) {
            task.answer(error);
        }
    }

    /// Computes the missing results, and queues it again.
    fn compute_and_queue(self, context: &Arc<NamingContext>, wanted: Wanted) {
        let Self { mut asked, reply } = self;
        // What was answered before needs no result.
        let Some(reply) = reply else { return };
        let (operation, octets) = (asked.request.operation(), asked.request.octets());
        let (directory, origin) = (Arc::clone(&asked.directory), asked.origin.clone());
        let context = Arc::clone(context);
        hashing_pool::submit_for(&directory, &origin, operation, octets, reply, move |reply| {
            asked.compute(wanted);
            let reply = Some(reply);
            Self { asked, reply }.queue_or_answer(&context);
        });
    }

    /// Answers, unless that was done before.
    fn complete(&mut self, result: Result<Success, OperationError>) {
        let Some(reply) = self.reply.take() else { return };
        let Asked {
            directory,
            origin,
            request,
            ..
        } = &self.asked;
        let completion = respond::write_completion(directory, origin, request.operation(), result);
        // The connection may be gone; the write stays valid.
        let _ = reply.send(completion);
    }
}

impl Asked {
    /// Computes a missing result.
    pub(super) fn compute(&mut self, wanted: Wanted) {
        let computed = self.request.computed().clone().with(&self.directory, wanted);
        self.request.set_computed(computed);
    }

    /// Whether it may still be executed. From here on it cannot be canceled.
    ///
    /// # Errors
    /// `canceled`.
    fn begin(&self) -> Result<(), OperationError> {
        if self.origin.sequence.has_ended_before(self.origin.operation) || !self.origin.stop.begin() {
            return Err(RequestRefusal::Canceled.into());
        }
        Ok(())
    }

    /// The request as it is read under a later configuration, and the requester under that; `None`: unchanged.
    ///
    /// # Errors
    /// It is refused under the later configuration.
    fn under(&self, Served { configuration, context }: &Served) -> Result<Option<ReadAgain>, OperationError> {
        if Arc::ptr_eq(&self.configuration, configuration) {
            return Ok(None);
        }
        let has_same_schema = Arc::ptr_eq(&self.configuration.schema, &configuration.schema);
        let read_again = if has_same_schema {
            None
        } else {
            Some(self.request.read_again(configuration)?)
        };
        let request = read_again.as_deref().unwrap_or(&*self.request);
        let holder = configuration.context_of(request.dn());
        if holder.map(|holder| holder.number) != Some(context.number) {
            return Err(QueueRefusal::ContextsChanged.into());
        }
        let mut origin = self.origin.clone();
        request.check_restrictions(configuration, context, &mut origin)?;
        Ok(Some((read_again, origin)))
    }

    /// Executes it in a transaction, in this many steps at most.
    pub(super) fn execute(&self, served: &Served, transaction: &mut WriteTransaction<'_>, steps: u64) -> Ended {
        let read_again = match self.under(served) {
            Ok(read_again) => read_again,
            Err(error) => {
                return Ended {
                    result: Err(error.into()),
                    steps: 0,
                };
            }
        };
        let (request, origin) = self.now(read_again.as_ref());
        let requested = Requested {
            origin,
            controls: WriteControls::without(request.controls(), origin.dropped_controls),
            computed: request.computed(),
        };
        execute(&self.directory, served, requested, transaction, steps, |execution| {
            // A bind changes nothing for others.
            if request.operation() != Operation::Bind && execution.waits_for_peers()? {
                return Err(WriteRefusal::Restored.into());
            }
            request.execute(execution)
        })
    }

    /// The request and the requester, as they are under the configuration of now.
    fn now<'a>(&'a self, read_again: Option<&'a ReadAgain>) -> (&'a dyn WriteRequest, &'a RequestContext) {
        match read_again {
            None => (&*self.request, &self.origin),
            Some((request, origin)) => (request.as_deref().unwrap_or(&*self.request), origin),
        }
    }

    /// The answer in place of a refusal, if it was only to be recorded and that cannot be done. The settings that are
    /// in force now decide: they may be others than when it was queued.
    fn unrecorded(&self, context: &NamingContext, error: &OperationError) -> Option<Success> {
        let cannot_write = [
            ResultCode::BUSY,
            ResultCode::UNAVAILABLE,
            // The database is full, and other failures of the storage.
            ResultCode::UNWILLING_TO_PERFORM,
            ResultCode::OTHER,
        ];
        let is_meant = cannot_write.contains(&error.result_code);
        let configuration = self.directory.configuration();
        let holder = configuration.context_of(self.request.dn());
        let holder = holder.filter(|holder| is_meant && holder.number == context.number)?;
        let success = self.request.unrecorded(holder)?;
        let (name, text) = (self.request.dn().pretty(), &error.diagnostic_message);
        tracing::debug!(target: "any", "recording a bind of \"{name}\": {text}");
        Some(success)
    }

    /// Tells that it is refused, however its group ends.
    pub(super) fn refused(&self, error: &OperationError) {
        // Operations of a sequence are not executed after a refused one. An operation with the no-op control has not
        // failed.
        if error.result_code != ResultCode::NO_OPERATION {
            self.origin.sequence.refuse(self.origin.operation);
        }
    }
}

impl Asked {
    /// Tells that it is executed again.
    pub(super) fn comes_again(&self) {
        self.origin.sequence.forget(self.origin.operation);
    }
}

/// A request that was read again, if necessary, and the requester.
type ReadAgain = (Option<Box<dyn WriteRequest>>, RequestContext);

impl WriteTask for Job {
    fn octets(&self) -> usize {
        self.asked.request.octets()
    }

    fn claimant(&self) -> Claimant<ConnectionSource> {
        self.asked.origin.claimant()
    }

    fn taken(&mut self, micros: u64) {
        self.asked.origin.taken_micros = micros;
    }

    fn execute(&self, served: &Served, transaction: &mut WriteTransaction<'_>) -> Result<(Success, Executed), Refusal> {
        self.asked.begin()?;
        self.asked.execute(served, transaction, WRITE_STEPS).result
    }

    fn served(&self, configuration: &Arc<Configuration>) -> Result<Served, OperationError> {
        let dn = self.asked.request.dn();
        match configuration.context_of(dn) {
            Some(context) => Ok(Served {
                configuration: Arc::clone(configuration),
                context: Arc::clone(context),
            }),
            None => Err(referral::default_referral(configuration, dn, None)),
        }
    }

    fn execute_in_memory(
        &self,
        served: &Served,
        governor: &dyn Governor,
    ) -> Result<(Success, Executed), OperationError> {
        let asked = &self.asked;
        asked.begin()?;
        let read_again = asked.under(served)?;
        let (request, origin) = asked.now(read_again.as_ref());
        request.execute_in_memory(OnTree {
            directory: &asked.directory,
            governor,
            served,
            origin,
        })
    }

    fn refused(&self, error: &OperationError) {
        self.asked.refused(error);
    }

    fn comes_again(&self) {
        self.asked.comes_again();
    }

    fn conclude(mut self: Box<Self>, context: &Arc<NamingContext>, outcome: Outcome) {
        let result = match outcome {
            Outcome::Returned(wanted) => return self.compute_and_queue(context, wanted),
            Outcome::Done(success, executed) => {
                if executed.lifts_restriction {
                    self.asked.origin.restriction.lift();
                }
                Ok(success)
            }
            // The whole group, if it could not be committed.
            Outcome::Refused(error) => self.asked.unrecorded(context, &error).ok_or(error),
        };
        if let Err(error) = &result {
            self.refused(error);
        }
        self.complete(result);
    }

    fn answer(mut self: Box<Self>, error: OperationError) {
        self.complete(Err(error));
    }
}
