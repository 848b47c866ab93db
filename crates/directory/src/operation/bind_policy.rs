//! The part of overlays and `lastbind` in a bind. The password was verified, with success or without. The writer of the
//! database then decides and records, in the order in which binds arrive. So no failure goes uncounted, even if many
//! come at once.
//!
//! A mechanism that has verified the password of an entry calls [`judging`] with the entry's name. If that returns a
//! database, the mechanism calls [`CheckedBind::submit`] (or [`CheckedBind::queue`] from another thread) instead of
//! answering. slapd does not ask overlays for SASL mechanisms; here a locked account is locked for every mechanism.

use std::sync::Arc;

use ironbark_config::Operations;
use ironbark_ldap_proto::Operation;
use ironbark_model::{Dn, Entry};
use ironbark_store::Location;
use tokio::sync::oneshot;

use super::second_factor::Presented;
use crate::{
    Configuration, Directory, NamingContext, OperationError, ResponseControl,
    backend::written::{BindEnd, Success},
    edit::{
        checks,
        modify::{Audience, modify_internally, modify_stamped},
    },
    outcome::completion::{Begun, Completion},
    overlay::{BindAttempt, Execution, overlays_of, password_checks::Computed},
    refusal::BindRefusal,
    request::{
        context::RequestContext,
        identity::Identity,
        modification::{Modification, ModificationKind},
        stop::Restriction,
    },
    stamp::generalized_time,
    write::{
        job::{Asked, Job, enqueue},
        request::WriteRequest,
    },
};

/// A bind whose password was checked.
pub(crate) struct CheckedBind {
    /// The name of the entry.
    dn: Dn,
    /// Whether it was the right one.
    is_verified: bool,
    /// The stored passwords, if the password is still to be compared with them: only the writer knows which part of
    /// what was presented is the password.
    stored: Option<Vec<Vec<u8>>>,
    /// The client's identity if nobody objects, or the reason why it cannot assume the requested one.
    claimed: Result<Identity, OperationError>,
    exchange: Exchange,
    restriction: Restriction,
    computed: Computed,
}

/// How the password was verified.
#[derive(Clone)]
pub(crate) struct Exchange {
    /// As the log calls it.
    pub(crate) mechanism: &'static str,
    /// The password as it was presented, if the mechanism sends it.
    pub(crate) password: Option<Vec<u8>>,
    /// The mechanism's data for the client when the bind succeeds.
    pub(crate) server_credentials: Option<Vec<u8>>,
}

/// The database whose overlays, or `lastbind`, take part in binds of this name.
pub(crate) fn judging<'c>(configuration: &'c Configuration, dn: &Dn) -> Option<&'c Arc<NamingContext>> {
    let context = configuration.context_of(dn)?;
    let is_judged = !overlays_of(context).binds.is_empty() || context.settings.last_bind;
    (context.backend.is_stored() && is_judged).then_some(context)
}

impl CheckedBind {
    /// A bind under its own name. `restriction` is the restriction that it may set on the session.
    pub(crate) fn new(restriction: &Restriction, dn: Dn, is_verified: bool, exchange: Exchange) -> Self {
        let identity = Identity {
            dn: dn.clone(),
            ..Identity::default()
        };
        Self {
            dn,
            is_verified,
            stored: None,
            claimed: Ok(identity),
            exchange,
            restriction: restriction.clone(),
            computed: Computed::default(),
        }
    }

    /// The same for a password that the writer compares with these.
    pub(crate) fn against(self, stored: Vec<Vec<u8>>) -> Self {
        Self {
            is_verified: false,
            stored: Some(stored),
            ..self
        }
    }

    /// The same for a client that claims to act for another identity.
    pub(crate) fn claiming(self, claimed: Result<Identity, OperationError>) -> Self {
        Self { claimed, ..self }
    }

    /// Sets the result of a verification elsewhere.
    pub(crate) fn verified(self, is_verified: bool, computed: Computed) -> Self {
        Self {
            is_verified,
            computed,
            ..self
        }
    }

    /// Hands the bind to the writer.
    ///
    /// # Errors
    /// `busy`, `unavailable`.
    pub(crate) fn submit(
        self,
        directory: &Arc<Directory>,
        configuration: &Arc<Configuration>,
        context: &NamingContext,
        origin: &RequestContext,
    ) -> Result<Begun, OperationError> {
        enqueue(
            directory,
            configuration,
            context,
            &root(origin, context),
            Box::new(self),
        )
    }

    /// As [`CheckedBind::submit`] on another thread, when someone already waits for the completion.
    pub(crate) fn queue(
        self,
        directory: Arc<Directory>,
        configuration: Arc<Configuration>,
        context: &NamingContext,
        origin: &RequestContext,
        reply: oneshot::Sender<Completion>,
    ) {
        let asked = Asked {
            directory,
            configuration,
            origin: root(origin, context),
            request: Box::new(self),
        };
        let job = Job {
            asked,
            reply: Some(reply),
        };
        job.queue_or_answer(context);
    }
}

impl WriteRequest for CheckedBind {
    fn operation(&self) -> Operation {
        Operation::Bind
    }

    fn kind(&self) -> Operations {
        Operations::BIND
    }

    fn dn(&self) -> &Dn {
        &self.dn
    }

    fn octets(&self) -> usize {
        let stored = self.stored.iter().flatten().map(Vec::len).sum::<usize>();
        stored + self.exchange.password.as_ref().map_or(0, Vec::len)
    }

    fn computed(&self) -> &Computed {
        &self.computed
    }

    fn set_computed(&mut self, computed: Computed) {
        self.computed = computed;
    }

    fn read_again(&self, configuration: &Configuration) -> Result<Box<dyn WriteRequest>, OperationError> {
        let read = |dn: &Dn| checks::parse_dn(&configuration.schema, dn.pretty().as_bytes());
        let claimed = match &self.claimed {
            Ok(identity) => Ok(Identity {
                dn: read(&identity.dn)?,
                authentication_dn: identity.authentication_dn.as_ref().map(read).transpose()?,
                mechanism: identity.mechanism,
                ..Identity::default()
            }),
            Err(error) => Err(error.clone()),
        };
        Ok(Box::new(Self {
            dn: read(&self.dn)?,
            is_verified: self.is_verified,
            stored: self.stored.clone(),
            claimed,
            exchange: self.exchange.clone(),
            restriction: self.restriction.clone(),
            computed: self.computed.clone(),
        }))
    }

    fn check_restrictions(
        &self,
        _: &Configuration,
        _: &NamingContext,
        _: &mut RequestContext,
    ) -> Result<(), OperationError> {
        // They were checked when the bind began, for the identity at that time.
        Ok(())
    }

    fn execute(&self, execution: &mut Execution<'_, '_>) -> Result<Success, OperationError> {
        decide(execution, self)
    }

    /// Nobody counts wrong passwords, so the time of the bind is all that is lost.
    fn unrecorded(&self, context: &NamingContext) -> Option<Success> {
        let mut binds = overlays_of(context).binds.iter();
        if self.stored.is_some() || !binds.all(|binds| binds.only_records()) {
            return None;
        }
        self.restriction.lift();
        Some(end(self, verdict_of(self.is_verified), Vec::new()))
    }
}

/// The request in the name of the rootdn, which makes the changes of a bind, as in slapd.
pub(super) fn root(origin: &RequestContext, context: &NamingContext) -> RequestContext {
    RequestContext {
        identity: Arc::new(Identity {
            dn: context.settings.root_dn.clone().unwrap_or_default(),
            ..Identity::default()
        }),
        ..origin.clone()
    }
}

/// Decides, and records the changes.
///
/// # Errors
/// The storage failed, or an overlay refuses to decide.
fn decide(execution: &mut Execution<'_, '_>, judgement: &CheckedBind) -> Result<Success, OperationError> {
    let context = execution.context;
    let presented = judgement.exchange.password.as_deref().unwrap_or_default();
    let Location::Entry(id) = execution.view().locate(&judgement.dn)? else {
        // The rootdn need not have an entry.
        let is_right = match &judgement.stored {
            None => judgement.is_verified,
            Some(stored) => is_rootdn(execution, &judgement.dn) && execution.verify_any(stored, presented),
        };
        execution.check_computed()?;
        return Ok(end(judgement, verdict_of(is_right), Vec::new()));
    };
    let entry = execution.entry(id)?;
    let mut factors = Presented::whole(presented);
    let mut is_right = judgement.is_verified;
    if let Some(stored) = &judgement.stored {
        factors = Presented::of(execution, &entry, presented)?;
        // Compared in any case: the time must not tell which part was wrong.
        let password = presented.get(..factors.password_octets).unwrap_or_default();
        let (stored, is_whole) = factors.behind_keys(stored);
        is_right = (execution.verify_any(&stored, password) || is_whole) && !factors.lacks_factor;
        execution.check_computed()?;
    }
    let password = judgement.exchange.password.as_deref();
    let password = password.and_then(|presented| presented.get(..factors.password_octets));
    let mut attempt = judged(execution, &entry, password, verdict_of(is_right))?;
    if !factors.spend(execution)? {
        attempt = judged(execution, &entry, password, verdict_of(false))?;
    }
    let BindAttempt {
        verdict,
        controls,
        mut modifications,
        must_change_password,
        ..
    } = attempt;
    if verdict.is_ok() {
        modifications.extend(last_success(execution, &entry));
    }
    if !modifications.is_empty() {
        let refusal = if context.settings.is_shadow() || execution.waits_for_peers()? {
            // Stamped, the entry would count as newer than what its provider, or a peer, has of it.
            execution.is_silent = true;
            modify_internally(execution, &entry.dn, &modifications)?
        } else {
            modify_stamped(execution, &entry.dn, modifications, Audience::Nobody)?
        };
        if let Some(refusal) = refusal {
            let (name, text) = (entry.dn.pretty(), refusal.diagnostic_message);
            tracing::error!(target: "any", "recording a bind of \"{name}\": {:?} {text}", refusal.result_code);
        }
    }
    if must_change_password {
        judgement.restriction.begin(&entry.dn);
    } else {
        judgement.restriction.lift();
    }
    Ok(end(judgement, verdict, controls))
}

fn verdict_of(is_right: bool) -> Result<(), OperationError> {
    if is_right {
        Ok(())
    } else {
        Err(BindRefusal::InvalidCredentials.into())
    }
}

/// Whether a name is the rootdn of some database.
fn is_rootdn(execution: &Execution<'_, '_>, dn: &Dn) -> bool {
    let mut contexts = execution.configuration.contexts.iter();
    contexts.any(|context| context.is_root(dn))
}

/// A bind as the overlays judge it.
fn judged<'e>(
    execution: &mut Execution<'_, '_>,
    entry: &'e Entry,
    password: Option<&'e [u8]>,
    verdict: Result<(), OperationError>,
) -> Result<BindAttempt<'e>, OperationError> {
    let mut attempt = BindAttempt {
        entry,
        password,
        verdict,
        controls: Vec::new(),
        modifications: Vec::new(),
        must_change_password: false,
    };
    let context = execution.context;
    for binds in &overlays_of(context).binds {
        binds.judge_bind(execution, &mut attempt)?;
    }
    execution.check_computed()?;
    Ok(attempt)
}

fn end(judgement: &CheckedBind, verdict: Result<(), OperationError>, controls: Vec<ResponseControl>) -> Success {
    let (verdict, controls, identity) = match &judgement.claimed {
        _ if verdict.is_err() => (verdict, controls, None),
        Ok(identity) => (verdict, controls, Some(Arc::new(identity.clone()))),
        Err(refusal) => (Err(refusal.clone()), Vec::new(), None),
    };
    Success {
        bind: Some(Box::new(BindEnd {
            verdict,
            controls,
            identity,
            mechanism: judgement.exchange.mechanism,
            server_credentials: judgement.exchange.server_credentials.clone(),
        })),
        ..Success::default()
    }
}

/// `lastbind`: `pwdLastSuccess`, unless it is recent enough.
fn last_success(execution: &Execution<'_, '_>, entry: &Entry) -> Option<Modification> {
    let settings = &execution.context.settings;
    if !settings.last_bind {
        return None;
    }
    let precision = execution.last_bind_precision_s();
    let known = &execution.configuration.well_known.pwd_last_success;
    let now = execution.directory.clock().now();
    let former = entry.attribute(known).and_then(|held| held.values.first());
    let former = former.and_then(|value| generalized_time::seconds(value));
    let now_s = now.unix_micros().div_euclid(1_000_000);
    if former.is_some_and(|former| now_s <= former.saturating_add(i64::from(precision))) {
        return None;
    }
    Some(Modification::internal(
        execution.schema(),
        ModificationKind::Replace,
        known,
        vec![generalized_time::text(now_s).into_bytes()],
    ))
}
