//! The write operations of RFC 4511 on their way from a connection to the writer of their database.

use std::{sync::Arc, time::Duration};

use ironbark_config::{Allow, Operations};
use ironbark_ldap_proto::{Operation, RequestMessage};
use ironbark_model::{Dn, budget};
use tokio::sync::oneshot;

use super::{
    add,
    change::{Change, refuse_frontend_entries},
    delete,
    external::ExternalCall,
    in_memory, modify, modify_dn, null,
    slow_values::slow_values,
};
use crate::{
    Configuration, Directory, NamingContext, OperationError,
    admission::{check_restrictions, refuse_if_shadow},
    backend::{
        call::Call,
        external::ExternalOperation,
        naming_context::Backend,
        referral,
        written::{Executed, Success},
    },
    outcome::{
        completion::{Begun, Completion, Submitted},
        hashing_pool, respond,
    },
    overlay::{Execution, overlays_of, password_checks::Computed},
    refusal::{TransactionRefusal, WriteRefusal},
    request::{
        context::RequestContext,
        controls::{OwnedControls, WriteControls},
    },
    scratch::TURN_STEPS,
    write::{
        job::{Asked, Job, enqueue},
        request::{OnTree, WriteRequest},
    },
};

/// One of the write operations of RFC 4511.
pub(crate) struct Message {
    /// The change, checked by the schema alone.
    change: Change,
    /// The PDU as it came in: under another schema it is read again.
    pdu: Box<[u8]>,
    controls: Arc<OwnedControls>,
    /// Results that were computed for it.
    computed: Computed,
}

/// A write that was read, and that belongs to a database.
struct Prepared {
    context: Arc<NamingContext>,
    request: Box<Message>,
    /// Passwords in the request that must be compared with stored ones outside the writer.
    presented: Vec<Vec<u8>>,
    slow: Vec<Vec<u8>>,
}

/// Sends a write to the writer of its database. The cost of reading it is taken from the remaining steps of the turn.
pub(crate) fn submit(
    directory: &Arc<Directory>,
    call: &mut Call<'_, '_>,
    turn_left: &mut u64,
) -> Result<Begun, OperationError> {
    let cost = budget::cost_of_write(call.pdu);
    // Writes of a sequence keep their order.
    if cost > LONG && !call.origin.sequence.is_kept() {
        return submit_long(directory, call);
    }
    *turn_left = turn_left.saturating_sub(cost);
    let (configuration, origin) = (call.configuration, &mut *call.origin);
    let controls = OwnedControls::of(call.controls);
    let prepared = prepare(configuration, origin, call.message, call.pdu, controls)?;
    if prepared.slow.is_empty() {
        return enqueue(directory, configuration, &prepared.context, origin, prepared.request);
    }
    verify_and_queue(directory, configuration, origin, prepared)
}

/// Reads a write that is to be executed later, with others.
///
/// # Errors
/// As of [`submit`], before it is executed. `adminLimitExceeded`: it takes long to read.
pub(super) fn read_for_transaction(
    directory: &Arc<Directory>,
    call: &mut Call<'_, '_>,
    turn_left: &mut u64,
) -> Result<(Arc<NamingContext>, Asked), OperationError> {
    let cost = budget::cost_of_write(call.pdu);
    if cost > LONG {
        return Err(TransactionRefusal::TooBig.into());
    }
    *turn_left = turn_left.saturating_sub(cost);
    let (configuration, origin) = (call.configuration, &mut *call.origin);
    let controls = OwnedControls::of(call.controls);
    let prepared = prepare(configuration, origin, call.message, call.pdu, controls)?;
    let asked = Asked {
        directory: Arc::clone(directory),
        configuration: Arc::clone(configuration),
        origin: origin.clone(),
        request: prepared.request,
    };
    Ok((prepared.context, asked))
}

/// A request whose reading takes more steps than this is not read on a reactor. The limit is 160,000 octets, or 500
/// characters that stand for phrases, which may take twenty milliseconds.
const LONG: u64 = TURN_STEPS;
/// Characters that stand for phrases in one request; with more, the writer would take too long.
pub(super) const MOST_PHRASES: u64 = 100_000;

/// Lets the hashing pool read a request that takes long to read. A client that may write nothing is refused before.
fn submit_long(directory: &Arc<Directory>, call: &Call<'_, '_>) -> Result<Begun, OperationError> {
    let (configuration, origin, pdu) = (call.configuration, &*call.origin, call.pdu);
    if !may_write(configuration, origin) {
        return Err(WriteRefusal::NeedsAuthentication.into());
    }
    if budget::phrases(pdu) > MOST_PHRASES {
        return Err(WriteRefusal::TooMuchWork.into());
    }
    let (for_pool, configuration) = (Arc::clone(directory), Arc::clone(configuration));
    let (its_origin, pdu): (_, Box<[u8]>) = (origin.clone(), pdu.into());
    let controls = OwnedControls::of(call.controls);
    let operation = call.message.operation.operation();
    let submitted = hashing_pool::submit(directory, origin, operation, pdu.len(), move |reply| {
        let (directory, mut origin) = (for_pool, its_origin);
        let read = RequestMessage::decode(&pdu, &configuration.decode_limits)
            .map_err(OperationError::from)
            .and_then(|message| prepare(&configuration, &mut origin, &message, &pdu, controls));
        match read {
            Ok(prepared) => {
                prepared.verify_and_queue(directory, configuration, origin, reply);
            }
            Err(error) => {
                // The connection may be gone.
                let _ = reply.send(respond::write_completion(&directory, &origin, operation, Err(error)));
            }
        }
    })?;
    // Later requests of the client may be about the same entry.
    Ok(match submitted {
        Begun::Submitted(Submitted { receiver, .. }) => Begun::Submitted(Submitted {
            receiver,
            blocks_connection: true,
        }),
        other => other,
    })
}

/// Reads a write, and makes the refusals that do not need the writer.
fn prepare(
    configuration: &Arc<Configuration>,
    origin: &mut RequestContext,
    message: &RequestMessage<'_>,
    pdu: &[u8],
    controls: OwnedControls,
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
        slow_values(context, dn)?
    };
    let request = Message {
        change,
        pdu: pdu.into(),
        controls: Arc::new(controls),
        computed: Computed::default(),
    };
    Ok(Prepared {
        context: Arc::clone(context),
        request: Box::new(request),
        presented,
        slow,
    })
}

impl Prepared {
    /// Verifies the passwords in the request, which takes long, and queues it for the writer.
    fn verify_and_queue(
        self,
        directory: Arc<Directory>,
        configuration: Arc<Configuration>,
        origin: RequestContext,
        reply: oneshot::Sender<Completion>,
    ) {
        let mut request = self.request;
        if !self.slow.is_empty() {
            request.computed = Computed::verifying(directory.hashing_pool(), &self.slow, &self.presented);
        }
        let asked = Asked {
            directory,
            configuration,
            origin,
            request,
        };
        let job = Job {
            asked,
            reply: Some(reply),
        };
        job.queue_or_answer(&self.context);
    }
}

/// The cleartext passwords of a modify request, if overlays judge them. Writes of a sequence keep their order, so no
/// work is done outside the writer for them.
fn presented_passwords(
    configuration: &Configuration,
    context: &NamingContext,
    origin: &RequestContext,
    change: &Change,
) -> Vec<Vec<u8>> {
    let Change::Modify(_, modifications) = change else {
        return Vec::new();
    };
    if overlays_of(context).binds.is_empty() || origin.sequence.is_kept() {
        return Vec::new();
    }
    let known = &configuration.well_known.user_password;
    let of_password = modifications.iter().filter(|change| change.description == *known);
    of_password
        .flat_map(|change| change.values.iter().take(1).cloned())
        .collect()
}

/// Verifies on the hashing pool, so that neither a reactor nor the writer is held up. Then queues the request.
fn verify_and_queue(
    directory: &Arc<Directory>,
    configuration: &Arc<Configuration>,
    origin: &RequestContext,
    prepared: Prepared,
) -> Result<Begun, OperationError> {
    let (for_pool, configuration) = (Arc::clone(directory), Arc::clone(configuration));
    let (operation, octets) = (prepared.request.operation(), prepared.request.octets());
    let its_origin = origin.clone();
    hashing_pool::submit(directory, origin, operation, octets, move |reply| {
        prepared.verify_and_queue(for_pool, configuration, its_origin, reply);
    })
}

/// Anonymous clients change nothing, unless `allow update_anon` says otherwise.
pub(super) fn refuse_anonymous(
    configuration: &Configuration,
    origin: &RequestContext,
    dn: &Dn,
) -> Result<(), WriteRefusal> {
    if may_write(configuration, origin) || configuration.context_of(dn).is_none() {
        return Ok(());
    }
    Err(WriteRefusal::NeedsAuthentication)
}

/// Whether a client may write at all.
pub(crate) fn may_write(configuration: &Configuration, origin: &RequestContext) -> bool {
    !origin.identity.is_anonymous() || configuration.settings.allow.contains(Allow::UPDATE_ANON)
}

/// The database that holds `dn`, if it takes this kind of write.
pub(crate) fn writable_context<'a>(
    configuration: &'a Configuration,
    origin: &mut RequestContext,
    dn: &Dn,
    kind: Operations,
) -> Result<&'a Arc<NamingContext>, OperationError> {
    let Some(context) = configuration.context_of(dn) else {
        let error = referral::default_referral(configuration, dn, None);
        // slapd answers a write to no database in this way if it has no superior server to name.
        return Err(if error.referrals.is_empty() {
            WriteRefusal::NoSuperiorKnowledge.into()
        } else {
            error
        });
    };
    check_restrictions(context, configuration, kind, origin)?;
    refuse_if_shadow(context, configuration, dn, origin)?;
    Ok(context)
}

impl WriteRequest for Message {
    fn operation(&self) -> Operation {
        self.change.operation()
    }

    fn kind(&self) -> Operations {
        self.change.kind()
    }

    fn dn(&self) -> &Dn {
        self.change.dn()
    }

    fn octets(&self) -> usize {
        self.pdu.len()
    }

    fn computed(&self) -> &Computed {
        &self.computed
    }

    fn set_computed(&mut self, computed: Computed) {
        self.computed = computed;
    }

    fn read_again(&self, configuration: &Configuration) -> Result<Box<dyn WriteRequest>, OperationError> {
        let message = decode(configuration, &self.pdu)?;
        let change = Change::read(configuration, &message.operation)?;
        refuse_frontend_entries(configuration, change.dn(), change.kind())?;
        Ok(Box::new(Self {
            change,
            pdu: self.pdu.clone(),
            controls: Arc::clone(&self.controls),
            computed: self.computed.clone(),
        }))
    }

    fn check_restrictions(
        &self,
        configuration: &Configuration,
        context: &NamingContext,
        origin: &mut RequestContext,
    ) -> Result<(), OperationError> {
        check_restrictions(context, configuration, self.kind(), origin)?;
        refuse_if_shadow(context, configuration, self.dn(), origin)
    }

    fn controls(&self) -> &OwnedControls {
        &self.controls
    }

    fn execute(&self, execution: &mut Execution<'_, '_>) -> Result<Success, OperationError> {
        match &self.change {
            Change::Add(dn, modifications) => add::execute(execution, dn, modifications),
            Change::Delete(dn) => delete::execute(execution, dn),
            Change::Modify(dn, modifications) => modify::execute(execution, dn, modifications),
            Change::ModifyDn(rename) => modify_dn::execute(execution, rename),
        }
    }

    fn external(
        &self,
        configuration: &Configuration,
        context: &NamingContext,
        origin: &RequestContext,
    ) -> Result<(ExternalOperation, Option<Duration>), OperationError> {
        let call = ExternalCall {
            configuration,
            context,
            origin,
        };
        call.write(&self.change)
    }

    fn execute_in_memory(&self, on: OnTree<'_>) -> Result<(Success, Executed), OperationError> {
        let controls = WriteControls::without(&self.controls, on.origin.dropped_controls);
        match on.served.context.backend {
            Backend::Null { .. } => null::execute(on, &self.change, controls),
            _ => in_memory::execute(on, &self.change, controls),
        }
    }
}

/// Decodes the PDU again.
fn decode<'p>(configuration: &Configuration, pdu: &'p [u8]) -> Result<RequestMessage<'p>, OperationError> {
    Ok(RequestMessage::decode(pdu, &configuration.decode_limits)?)
}
