//! Write requests on their way from a connection to the writer of the database that they concern.

mod change;

use std::sync::Arc;

use ironbark_config::{Allow, Operations};
use ironbark_ldap_proto::{Operation, RequestMessage, controls::RequestControls};
use ironbark_model::{Budget, Dn, ResultCode, budget};
use ironbark_store::WriteTransaction;
use tokio::sync::oneshot;

pub(crate) use change::Change;

use self::change::refuse_frontend_entries;
use crate::{
    Completion, Configuration, Context, Directory, OperationError, Started, Submitted,
    access::SetAnswers,
    context::Backend,
    hashing_pool,
    operation::{
        Executed, Execution, Origin, add,
        bind_policy::{self, Judgement},
        delete, in_memory, modify, modify_dn, null,
        password_checks::{self, Computed, Wanted},
        password_modify,
    },
    referral, respond,
    respond::Success,
    search,
    tree::unsupported,
    worker::policy,
    writer::{Job, Served, Unqueued},
};

/// A write, owning what it needs.
pub(crate) enum WriteRequest {
    /// One of RFC 4511's write operations.
    Message {
        /// What is to be done, checked as far as the schema alone tells.
        change: Box<Change>,
        /// The PDU as it came in; the writer decodes the controls again, which is cheaper than owning every part of them.
        pdu: Box<[u8]>,
        /// What has been computed for it.
        computed: Computed,
    },
    /// A password modify operation whose new password is hashed already.
    SetPassword(Box<password_modify::SetPassword>),
    /// A bind whose password has been verified, or not, for overlays and `lastbind`.
    Bind(Box<Judgement>),
}

/// A write that has been read, and found to be for a database.
struct Prepared {
    context: Arc<Context>,
    request: WriteRequest,
    /// Passwords that it brings, and stored ones that they are to be compared with aside.
    presented: Vec<Vec<u8>>,
    slow: Vec<Vec<u8>>,
}

/// Sends a write to the writer of its database. What reading it costs is taken from the steps that are left of the turn.
pub(crate) fn submit(
    (directory, turn_left): (&Arc<Directory>, &mut u64),
    configuration: &Arc<Configuration>,
    origin: &mut Origin,
    message: &RequestMessage<'_>,
    pdu: &[u8],
) -> Result<Started, OperationError> {
    let cost = budget::cost_of_write(pdu);
    // Writes of a sequence keep their order.
    if cost > LONG && !origin.sequence.is_kept() {
        return submit_long(directory, configuration, origin, message, pdu);
    }
    *turn_left = turn_left.saturating_sub(cost);
    let prepared = prepare(configuration, origin, message, pdu)?;
    if prepared.slow.is_empty() {
        return enqueue(configuration, origin, &prepared.context, prepared.request);
    }
    verify_and_queue(directory, configuration, origin, prepared)
}

/// Steps for reading a request that are too many for a reactor: 160,000 octets, or 500 characters that stand for phrases, which may take
/// twenty milliseconds.
const LONG: u64 = search::TURN_STEPS;
/// Characters that stand for phrases in one request: the writer would take too long with more.
const MOST_PHRASES: u64 = 100_000;

/// Has a request that takes long to read be read by the hashing pool. Who may write nothing is refused before.
fn submit_long(
    directory: &Arc<Directory>,
    configuration: &Arc<Configuration>,
    origin: &Origin,
    message: &RequestMessage<'_>,
    pdu: &[u8],
) -> Result<Started, OperationError> {
    if !may_be_anonymous(configuration, origin) {
        return Err(needs_authentication());
    }
    if budget::phrases(pdu) > MOST_PHRASES {
        return Err(OperationError::new(
            ResultCode::ADMIN_LIMIT_EXCEEDED,
            "operation takes too much work",
        ));
    }
    let (for_pool, configuration) = (Arc::clone(directory), Arc::clone(configuration));
    let (its_origin, pdu): (_, Box<[u8]>) = (origin.clone(), pdu.into());
    let operation = message.operation.operation();
    let submitted = hashing_pool::submit(directory, origin, (operation, pdu.len()), move |reply| {
        let (directory, mut origin) = (for_pool, its_origin);
        let read = RequestMessage::decode(&pdu, &configuration.decode_limits)
            .map_err(|error| OperationError::new(error.fault().code, error.fault().diagnostic))
            .and_then(|message| prepare(&configuration, &mut origin, &message, &pdu));
        match read {
            Ok(prepared) => {
                let (context, request) = prepared.verified(&directory);
                queue_or_answer(&directory, &configuration, (&origin, &context), request, reply);
            }
            Err(error) => {
                // The connection may be gone.
                let _ = reply.send(respond::write_completion(&directory, &origin, operation, Err(error)));
            }
        }
    })?;
    // What the client sends after it may be about the same entry.
    Ok(match submitted {
        Started::Submitted(Submitted { receiver, .. }) => Started::Submitted(Submitted {
            receiver,
            blocks_connection: true,
        }),
        other => other,
    })
}

/// Reads a write, and refuses what is refused before the writer sees it.
fn prepare(
    configuration: &Arc<Configuration>,
    origin: &mut Origin,
    message: &RequestMessage<'_>,
    pdu: &[u8],
) -> Result<Prepared, OperationError> {
    let change = Change::read(configuration, &message.operation)?;
    let (dn, kind) = (change.dn(), change.kind());
    refuse_frontend_entries(configuration, dn, kind)?;
    if let Change::ModifyDn(rename) = &change {
        rename.check_loops()?;
    }
    refuse_anonymous(configuration, origin, dn)?;
    let context = writable_context(configuration, origin, dn, kind)?;
    let presented = presented_passwords(configuration, context, origin, &change);
    let slow = if presented.is_empty() {
        Vec::new()
    } else {
        password_checks::slow_values(context, dn)?
    };
    let request = WriteRequest::Message {
        change: Box::new(change),
        pdu: pdu.into(),
        computed: Computed::default(),
    };
    Ok(Prepared {
        context: Arc::clone(context),
        request,
        presented,
        slow,
    })
}

impl Prepared {
    /// The request with what is known of its passwords, which takes long.
    fn verified(self, directory: &Directory) -> (Arc<Context>, WriteRequest) {
        let Self {
            context,
            request,
            presented,
            slow,
        } = self;
        if slow.is_empty() {
            return (context, request);
        }
        let computed = Computed::verifying(directory.hashing_pool(), &slow, &presented);
        (context, request.knowing(computed))
    }
}

/// The passwords in the clear that a modify request brings, where overlays judge them. Writes of a sequence keep their order, so that
/// nothing is done aside for them.
fn presented_passwords(
    configuration: &Configuration,
    context: &Context,
    origin: &Origin,
    change: &Change,
) -> Vec<Vec<u8>> {
    let Change::Modify(_, modifications) = change else {
        return Vec::new();
    };
    if !context.overlays.judges_binds() || origin.sequence.is_kept() {
        return Vec::new();
    }
    let known = &configuration.well_known.user_password;
    let of_password = modifications.iter().filter(|change| change.description == *known);
    of_password
        .flat_map(|change| change.values.iter().take(1).cloned())
        .collect()
}

/// Verifies on the hashing pool, so that neither a reactor nor the writer is held up, then queues.
fn verify_and_queue(
    directory: &Arc<Directory>,
    configuration: &Arc<Configuration>,
    origin: &Origin,
    prepared: Prepared,
) -> Result<Started, OperationError> {
    let (for_pool, configuration) = (Arc::clone(directory), Arc::clone(configuration));
    let (operation, octets) = (prepared.request.operation(), prepared.request.size());
    let its_origin = origin.clone();
    hashing_pool::submit(directory, origin, (operation, octets), move |reply| {
        let (directory, origin) = (for_pool, its_origin);
        let (context, request) = prepared.verified(&directory);
        queue_or_answer(&directory, &configuration, (&origin, &context), request, reply);
    })
}

/// Anonymous clients change nothing, unless `allow update_anon` says otherwise.
fn refuse_anonymous(configuration: &Configuration, origin: &Origin, dn: &Dn) -> Result<(), OperationError> {
    if may_be_anonymous(configuration, origin) || configuration.context_of(dn).is_none() {
        return Ok(());
    }
    Err(needs_authentication())
}

fn may_be_anonymous(configuration: &Configuration, origin: &Origin) -> bool {
    !origin.identity.is_anonymous() || configuration.settings.allow.contains(Allow::UPDATE_ANON)
}

fn needs_authentication() -> OperationError {
    OperationError::new(
        ResultCode::STRONGER_AUTH_REQUIRED,
        "modifications require authentication",
    )
}

/// The database that holds `dn`, if it takes this kind of write.
pub(crate) fn writable_context<'a>(
    configuration: &'a Configuration,
    origin: &mut Origin,
    dn: &Dn,
    kind: Operations,
) -> Result<&'a Arc<Context>, OperationError> {
    let Some(context) = configuration.context_of(dn) else {
        let error = referral::default_referral(configuration, dn, None);
        // slapd words a write to nowhere this way when it has no superior server to name.
        return Err(if error.referrals.is_empty() {
            OperationError::new(ResultCode::UNWILLING_TO_PERFORM, "no global superior knowledge")
        } else {
            error
        });
    };
    context.check_restrictions(configuration, kind, origin)?;
    Ok(context)
}

/// Puts a request into the queue of the database's writer.
pub(crate) fn enqueue(
    configuration: &Arc<Configuration>,
    origin: &Origin,
    context: &Arc<Context>,
    request: WriteRequest,
) -> Result<Started, OperationError> {
    let (reply, receiver) = oneshot::channel();
    queue(configuration, origin, context, request, reply).map_err(|(error, _)| error)?;
    Ok(Started::Submitted(Submitted {
        receiver,
        blocks_connection: false,
    }))
}

/// As [`enqueue`], when someone waits for the completion already.
pub(crate) fn queue(
    configuration: &Arc<Configuration>,
    origin: &Origin,
    context: &Arc<Context>,
    request: WriteRequest,
    reply: oneshot::Sender<Completion>,
) -> Result<(), Unqueued> {
    let writer = match &context.backend {
        Backend::Stored { writer, .. } | Backend::Null { writer } => writer,
        Backend::Virtual { tree, writer } if tree.writes().contains(request.kind()) => writer,
        Backend::Virtual { .. } | Backend::Frontend => return Err((unsupported(), Some(reply))),
    };
    writer.submit(Job {
        request,
        origin: origin.clone(),
        configuration: Arc::clone(configuration),
        reply,
    })
}

/// As [`queue`], for another thread than the connection's: where the writer does not take it, the client is told so.
pub(crate) fn queue_or_answer(
    directory: &Directory,
    configuration: &Arc<Configuration>,
    (origin, context): (&Origin, &Arc<Context>),
    request: WriteRequest,
    reply: oneshot::Sender<Completion>,
) {
    let operation = request.operation();
    if let Err((error, Some(reply))) = queue(configuration, origin, context, request, reply) {
        // The connection may be gone.
        let _ = reply.send(respond::write_completion(directory, origin, operation, Err(error)));
    }
}

impl WriteRequest {
    /// What has been computed for it.
    fn computed(&self) -> &Computed {
        match self {
            Self::Message { computed, .. } => computed,
            Self::SetPassword(request) => request.computed(),
            Self::Bind(judgement) => judgement.computed(),
        }
    }

    /// The same with what was computed meanwhile.
    fn knowing(self, computed: Computed) -> Self {
        match self {
            Self::Message { change, pdu, .. } => Self::Message { change, pdu, computed },
            Self::SetPassword(request) => Self::SetPassword(Box::new(request.knowing(computed))),
            Self::Bind(judgement) => Self::Bind(Box::new(judgement.knowing(computed))),
        }
    }

    /// Octets of the request, as a measure of what it writes.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Message { pdu, .. } => pdu.len(),
            Self::SetPassword(_) | Self::Bind(_) => 0,
        }
    }

    /// As `restrict` names it.
    fn kind(&self) -> Operations {
        match self {
            Self::Message { change, .. } => change.kind(),
            Self::SetPassword(_) => Operations::EXTENDED,
            Self::Bind(_) => Operations::BIND,
        }
    }

    fn dn(&self) -> &Dn {
        match self {
            Self::Message { change, .. } => change.dn(),
            Self::SetPassword(request) => request.dn(),
            Self::Bind(judgement) => judgement.dn(),
        }
    }

    /// What holds the request's target in a configuration, for who executes it.
    ///
    /// # Errors
    /// Nothing does.
    pub(crate) fn served(&self, configuration: &Arc<Configuration>) -> Result<Served, OperationError> {
        let dn = self.dn();
        match configuration.context_of(dn) {
            Some(context) => Ok(Served {
                configuration: Arc::clone(configuration),
                context: Arc::clone(context),
            }),
            None => Err(referral::default_referral(configuration, dn, None)),
        }
    }

    /// The request as it is read under another, later configuration than it was read under; `None`: as it is.
    ///
    /// # Errors
    /// It is refused under that.
    pub(crate) fn under(
        &self,
        (former, configuration): (&Arc<Configuration>, &Arc<Configuration>),
        context: &Context,
        origin: &mut Origin,
    ) -> Result<Option<Self>, OperationError> {
        if Arc::ptr_eq(former, configuration) {
            return Ok(None);
        }
        let has_same_schema = Arc::ptr_eq(&former.schema, &configuration.schema);
        let read_again = match self {
            _ if has_same_schema => None,
            Self::Message { pdu, computed, .. } => {
                let message = decode(configuration, pdu)?;
                let change = Change::read(configuration, &message.operation)?;
                refuse_frontend_entries(configuration, change.dn(), change.kind())?;
                Some(Self::Message {
                    change: Box::new(change),
                    pdu: pdu.clone(),
                    computed: computed.clone(),
                })
            }
            Self::SetPassword(request) => Some(Self::SetPassword(Box::new(request.under(&configuration.schema)?))),
            Self::Bind(judgement) => Some(Self::Bind(Box::new(judgement.under(&configuration.schema)?))),
        };
        let request = read_again.as_ref().unwrap_or(self);
        let holder = configuration.context_of(request.dn());
        if holder.map(|holder| holder.number) != Some(context.number) {
            let text = "naming contexts have changed; try again";
            return Err(OperationError::new(ResultCode::BUSY, text));
        }
        match request {
            Self::Message { change, .. } => {
                context.check_restrictions(configuration, change.kind(), origin)?;
            }
            Self::SetPassword(_) => password_modify::check_restrictions(configuration, context, origin)?,
            Self::Bind(_) => {}
        }
        Ok(read_again)
    }

    /// Executes a write to a tree in memory. It is in force when this returns.
    pub(crate) fn execute_in_memory(
        &self,
        directory: &Arc<Directory>,
        served: &Served,
        origin: &Origin,
    ) -> Result<(Success, Executed), OperationError> {
        let is_null = matches!(served.context.backend, Backend::Null { .. });
        let (change, pdu) = match self {
            Self::Message { change, pdu, .. } => (change, pdu),
            Self::SetPassword(request) if is_null => return Ok(null::set_password(directory, origin, request)),
            Self::SetPassword(_) | Self::Bind(_) => return Err(unsupported()),
        };
        let message = decode(&served.configuration, pdu)?;
        let controls = decode_controls(&served.configuration, origin, &message)?;
        if is_null {
            return null::execute(directory, served, origin, change, &controls);
        }
        in_memory::execute(directory, served, origin, change, &controls)
    }

    /// The kind of response.
    pub(crate) fn operation(&self) -> Operation {
        match self {
            Self::Message { change, .. } => change.operation(),
            Self::SetPassword(_) => Operation::Extended,
            Self::Bind(_) => Operation::Bind,
        }
    }

    /// Executes in the transaction.
    pub(crate) fn execute(
        &self,
        directory: &Directory,
        configuration: &Configuration,
        context: &Context,
        origin: &Origin,
        transaction: &mut WriteTransaction<'_>,
    ) -> Result<(Success, Executed), Refusal> {
        let (budget, sets) = (Budget::new(WRITE_STEPS), SetAnswers::default());
        let message;
        let controls = match self {
            Self::Message { pdu, .. } => {
                message = decode(configuration, pdu)?;
                decode_controls(configuration, origin, &message)?
            }
            Self::SetPassword(_) | Self::Bind(_) => RequestControls::default(),
        };
        let mut execution = Execution::new(
            directory,
            configuration,
            context,
            origin,
            &controls,
            (transaction, &budget, &sets),
        );
        execution.computed = Some(self.computed());
        let outcome = match self {
            Self::Message { change, .. } => before(&mut execution).and_then(|()| match &**change {
                Change::Add(dn, modifications) => add::execute(&mut execution, dn, modifications),
                Change::Delete(dn) => delete::execute(&mut execution, dn),
                Change::Modify(dn, modifications) => modify::execute(&mut execution, dn, modifications),
                Change::ModifyDn(rename) => modify_dn::execute(&mut execution, rename),
            }),
            Self::SetPassword(request) => {
                before(&mut execution).and_then(|()| password_modify::execute(&mut execution, request))
            }
            Self::Bind(judgement) => bind_policy::execute(&mut execution, judgement),
        };
        let (error, dirty) = match outcome {
            // Whatever was decided without steps is not to be believed.
            _ if budget.is_exhausted() => {
                let error = OperationError::new(ResultCode::ADMIN_LIMIT_EXCEEDED, "operation takes too much work");
                (error, execution.is_dirty())
            }
            Ok(success) => match execution.finish() {
                Ok(executed) => return Ok((success, executed)),
                Err(error) => return Err(Refusal::dirty(error)),
            },
            Err(error) => (error, execution.is_dirty()),
        };
        Err(Refusal {
            error,
            dirty,
            wanted: execution.take_wanted().map(Box::new),
        })
    }
}

/// Why a write was not made.
pub(crate) struct Refusal {
    /// What the client is told.
    pub(crate) error: OperationError,
    /// Whether the transaction holds some of its effects.
    pub(crate) dirty: bool,
    /// It was not refused: it is to be executed again when this has been computed.
    pub(crate) wanted: Option<Box<Wanted>>,
}

impl Refusal {
    fn dirty(error: OperationError) -> Self {
        Self {
            dirty: true,
            ..Self::from(error)
        }
    }
}

impl From<OperationError> for Refusal {
    fn from(error: OperationError) -> Self {
        Self {
            error,
            dirty: false,
            wanted: None,
        }
    }
}

/// Computes what an operation lacks, and queues it again.
pub(crate) fn compute_and_queue(directory: &Arc<Directory>, context: &Arc<Context>, job: Job, wanted: Wanted) {
    let Job {
        request,
        origin,
        configuration,
        reply,
    } = job;
    let (operation, octets) = (request.operation(), request.size());
    let (for_pool, its_origin, context) = (Arc::clone(directory), origin.clone(), Arc::clone(context));
    let compute = move |reply| {
        let (directory, origin) = (for_pool, its_origin);
        let computed = request.computed().clone().with(&directory, wanted);
        let request = request.knowing(computed);
        queue_or_answer(&directory, &configuration, (&origin, &context), request, reply);
    };
    let submitted = hashing_pool::submit_for(directory, &origin, (operation, octets), reply, compute);
    if let Err((error, Some(reply))) = submitted {
        // The connection may be gone.
        let _ = reply.send(respond::write_completion(directory, &origin, operation, Err(error)));
    }
}

/// Decodes the PDU again.
fn decode<'p>(configuration: &Configuration, pdu: &'p [u8]) -> Result<RequestMessage<'p>, OperationError> {
    RequestMessage::decode(pdu, &configuration.decode_limits)
        .map_err(|error| OperationError::new(error.fault().code, error.fault().diagnostic))
}

/// The controls of a request that were left to it.
fn decode_controls<'p>(
    configuration: &Configuration,
    origin: &Origin,
    message: &RequestMessage<'p>,
) -> Result<RequestControls<'p>, OperationError> {
    let limits = &configuration.decode_limits;
    let mut controls = RequestControls::decode(&message.controls, &message.operation, &policy(configuration), limits)
        .map_err(|fault| OperationError::new(fault.code, fault.diagnostic))?;
    controls.remove(origin.dropped_controls);
    Ok(controls)
}

/// Steps that finding out about rights and assertions may take, on the thread that all writes of a database wait for: about 100 milliseconds.
const WRITE_STEPS: u64 = 1_000_000;

/// Asks the overlays that look at every write.
fn before(execution: &mut Execution<'_, '_>) -> Result<(), OperationError> {
    let overlays = execution.context.overlays.before_write();
    overlays
        .into_iter()
        .try_for_each(|overlay| overlay.before_write(execution))
}
