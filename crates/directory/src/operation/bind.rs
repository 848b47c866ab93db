//! Bind (RFC 4511 §4.2): anonymous, and simple with name and password; `sasl` has the other binds.

use std::{iter, ops::ControlFlow, sync::Arc};

use ironbark_config::{Allow, Disallow, access::Privileges};
use ironbark_ldap_proto::{Authentication, BindRequest, Operation};
use ironbark_model::{Budget, Dn, ResultCode};
use ironbark_store::{Record, View};

use super::{
    bind_policy::{self, CheckedBind, Exchange},
    external::ExternalCall,
    sasl_bind,
};
use crate::{
    Configuration, Directory, NamingContext, OperationError,
    access::{Requester, Subject, Target, WriteCheck},
    admission::check_bind,
    backend::{bind_failures::Patience, external::ExternalDatabase, naming_context::Backend},
    edit::checks,
    identity::session::Session,
    outcome::{
        completion::{Begun, Completion},
        end::{Outcome, record_end, record_end_elsewhere},
        hashing_pool, respond,
    },
    overlay::{overlays_of, password_checks::Computed},
    password::{self, Cost},
    refusal::BindRefusal,
    request::{context::RequestContext, identity::Identity, stop::Restriction},
    scratch::{Parts, Scratch, dn_cache::Found},
};

/// Begins a bind, on a session that is anonymous already ([`Session::begin_bind`]).
pub(crate) fn start(
    scratch: &mut Scratch,
    session: &mut Session,
    configuration: &Arc<Configuration>,
    origin: &mut RequestContext,
    request: &BindRequest<'_>,
    out: &mut Vec<u8>,
) -> Result<Begun, OperationError> {
    let negotiation = session.negotiation.take();
    refuse_impatiently(scratch.directory(), configuration, origin)?;
    let version = checked_version(configuration, request.version)?;
    let dn = checks::parse_dn(&configuration.schema, request.name)?;
    session.bound_version = Some(version);
    let password = match request.authentication {
        Authentication::Simple(password) => password,
        Authentication::Sasl { .. } if version < 3 => {
            return Err(BindRefusal::SaslNeedsV3.into());
        }
        Authentication::Sasl { mechanism, credentials } => {
            let step = sasl_bind::Step {
                mechanism,
                message: credentials,
                under_way: negotiation,
            };
            return sasl_bind::start(scratch, session, configuration, origin, step, out);
        }
        Authentication::Other { .. } => {
            return Err(BindRefusal::UnknownMethod.into());
        }
    };
    if dn.depth() == 0 || password.is_empty() {
        anonymous(configuration, origin, &dn, password)?;
        return Ok(succeed(scratch, session, origin, Identity::default(), out));
    }
    with_password(scratch, session, configuration, origin, dn, password, out)
}

/// A simple bind with name and password.
fn with_password(
    scratch: &mut Scratch,
    session: &mut Session,
    configuration: &Arc<Configuration>,
    origin: &mut RequestContext,
    dn: Dn,
    password: &[u8],
    out: &mut Vec<u8>,
) -> Result<Begun, OperationError> {
    let judging = bind_policy::judging(configuration, &dn);
    if judging.is_some() {
        session.restriction = Restriction::new();
    }
    let restriction = &session.restriction;
    if let Some(context) = judging.filter(|context| overlays_of(context).asks_second_factor()) {
        let (name, stored) = unchecked(scratch, configuration, origin, dn)?;
        let judgement = CheckedBind::new(restriction, name, false, simple(Some(password))).against(stored);
        return judgement.submit(scratch.directory(), configuration, context, origin);
    }
    let checked = check_name(scratch, configuration, origin, &dn, password);
    match (checked, judging) {
        (Ok(Verdict::Accepted(identity)), Some(context)) => {
            let judgement = CheckedBind::new(restriction, identity.dn, true, simple(Some(password)));
            judgement.submit(scratch.directory(), configuration, context, origin)
        }
        (Err(error), Some(context)) if error.result_code == ResultCode::INVALID_CREDENTIALS => {
            let judgement = CheckedBind::new(restriction, dn, false, simple(None));
            judgement.submit(scratch.directory(), configuration, context, origin)
        }
        (Ok(Verdict::Accepted(identity)), None) => {
            crate::outcome::log::bound(origin, identity.dn.pretty(), SIMPLE, 0);
            Ok(succeed(scratch, session, origin, identity, out))
        }
        (Ok(Verdict::Elsewhere(context, database)), _) => {
            let call = ExternalCall {
                configuration,
                context: &context,
                origin,
            };
            call.bind(scratch.directory(), &*database, &dn, password)
        }
        (Ok(Verdict::Slow(check)), judging) => {
            let judged = judging.map(|context| JudgedBind {
                judgement: CheckedBind::new(restriction, check.dn.clone(), false, simple(Some(password))),
                configuration: Arc::clone(configuration),
                context: Arc::clone(context),
            });
            submit(scratch.directory(), origin, check, judged)
        }
        (Err(error), _) => Err(error),
    }
}

/// Whether a simple bind may be tried at all. If not, [`start`] says why.
pub(crate) fn may_try(
    directory: &Directory,
    configuration: &Configuration,
    origin: &RequestContext,
    request: &BindRequest<'_>,
) -> bool {
    checked_version(configuration, request.version).is_ok()
        && !configuration.settings.disallow.contains(Disallow::BIND_SIMPLE)
        && patience(directory, configuration, origin) != Patience::None
}

/// A simple bind has succeeded elsewhere: the connection gets its name as the client has spelt it.
pub(crate) fn accept(
    session: &mut Session,
    configuration: &Configuration,
    origin: &RequestContext,
    request: &BindRequest<'_>,
) {
    session.bound_version = checked_version(configuration, request.version).ok();
    if let Ok(dn) = Dn::parse(&configuration.schema, request.name) {
        crate::outcome::log::bound(origin, dn.pretty(), SIMPLE, 0);
        session.identity = Arc::new(Identity {
            dn,
            ..Identity::default()
        });
    }
}

/// What becomes of a bind by the failures of its source (`bind-failure-limit`).
fn patience(directory: &Directory, configuration: &Configuration, origin: &RequestContext) -> Patience {
    let limit = configuration.settings.bind_failure_limit.zip(origin.peer.address);
    limit.map_or(Patience::Full, |(limit, address)| {
        let now = directory.monotonic_micros();
        directory.bind_failures().patience(limit, address, now)
    })
}

/// Refuses binds from where too many have failed (`bind-failure-limit`), before anything is looked at.
fn refuse_impatiently(
    directory: &Directory,
    configuration: &Configuration,
    origin: &RequestContext,
) -> Result<(), BindRefusal> {
    if patience(directory, configuration, origin) != Patience::None {
        return Ok(());
    }
    directory.bind_failures().record_refused();
    Err(BindRefusal::TooManyFailures)
}

/// The log's name for a bind without SASL.
const SIMPLE: &str = "SIMPLE";

fn simple(password: Option<&[u8]>) -> Exchange {
    Exchange {
        mechanism: SIMPLE,
        password: password.map(<[u8]>::to_vec),
        server_credentials: None,
    }
}

/// The result for a name and password without long computation.
enum Verdict {
    Accepted(Identity),
    Slow(SlowCheck),
    /// What has the entries says whether it is right.
    Elsewhere(Arc<NamingContext>, Arc<dyn ExternalDatabase>),
}

/// A check that belongs on the hashing pool.
struct SlowCheck {
    dn: Dn,
    stored: Vec<Vec<u8>>,
    presented: Vec<u8>,
}

/// A bind that overlays of a database judge.
struct JudgedBind {
    judgement: CheckedBind,
    configuration: Arc<Configuration>,
    context: Arc<NamingContext>,
}

fn checked_version(configuration: &Configuration, version: i32) -> Result<u8, BindRefusal> {
    match version {
        3 => Ok(3),
        2 if configuration.settings.allow.contains(Allow::BIND_V2) => Ok(2),
        2 => Err(BindRefusal::HistoricalVersion),
        _ => Err(BindRefusal::UnknownVersion),
    }
}

/// Anonymous and unauthenticated binds (RFC 4513 §5.1.1-2), as `allow` and `disallow` set it.
fn anonymous(
    configuration: &Configuration,
    origin: &mut RequestContext,
    dn: &Dn,
    password: &[u8],
) -> Result<(), OperationError> {
    let settings = &configuration.settings;
    if dn.depth() > 0 && !settings.allow.contains(Allow::BIND_ANON_DN) {
        return Err(BindRefusal::UnauthenticatedDisallowed.into());
    }
    if dn.depth() == 0 && !password.is_empty() && !settings.allow.contains(Allow::BIND_ANON_CRED) {
        return Err(BindRefusal::InvalidCredentials.into());
    }
    if settings.disallow.contains(Disallow::BIND_ANON) {
        return Err(BindRefusal::AnonymousDisallowed.into());
    }
    // As in slapd: the bind sends nothing that needs protection, and later requests are checked.
    check_bind(&configuration.frontend, configuration, false, origin)
}

/// Refuses simple binds, or those to this database, whatever the password is.
fn admit(configuration: &Configuration, origin: &mut RequestContext, dn: &Dn) -> Result<(), OperationError> {
    if configuration.settings.disallow.contains(Disallow::BIND_SIMPLE) {
        return Err(BindRefusal::SimpleDisallowed.into());
    }
    match configuration.context_of(dn) {
        Some(context) => check_bind(context, configuration, true, origin),
        None => Ok(()),
    }
}

/// The name, and the stored passwords that the writer compares with. There are none if no password can be right: an
/// overlay may count the attempt.
fn unchecked(
    scratch: &mut Scratch,
    configuration: &Configuration,
    origin: &mut RequestContext,
    dn: Dn,
) -> Result<(Dn, Vec<Vec<u8>>), OperationError> {
    admit(configuration, origin, &dn)?;
    let root = root_password(configuration, &dn);
    match all_passwords(scratch, configuration, origin, &dn, root) {
        Err(error) if error.result_code == ResultCode::INVALID_CREDENTIALS => Ok((dn, Vec::new())),
        found => found,
    }
}

/// Checks a name and password. Every failure looks the same to the client: `invalidCredentials`.
fn check_name(
    scratch: &mut Scratch,
    configuration: &Configuration,
    origin: &mut RequestContext,
    dn: &Dn,
    password: &[u8],
) -> Result<Verdict, OperationError> {
    admit(configuration, origin, dn)?;
    if let Some(context) = configuration.context_of(dn) {
        match &context.backend {
            Backend::External(database) => {
                return Ok(Verdict::Elsewhere(Arc::clone(context), Arc::clone(database)));
            }
            Backend::Null { settings, .. } if settings.bind => {
                return Ok(Verdict::Accepted(Identity {
                    dn: dn.clone(),
                    ..Identity::default()
                }));
            }
            _ => {}
        }
    }
    let root = root_password(configuration, dn);
    if let Some((name, stored)) = &root
        && password::cost_of_all(iter::once(stored), password) == Cost::Cheap
        && password::verify(stored, password)
    {
        return decide(name.clone(), vec![stored.clone()], password);
    }
    let (name, stored) = all_passwords(scratch, configuration, origin, dn, root)?;
    decide(name, stored, password)
}

/// The stored name of an entry, and its passwords; those of a rootdn, which may have an entry too.
fn all_passwords(
    scratch: &mut Scratch,
    configuration: &Configuration,
    origin: &RequestContext,
    dn: &Dn,
    root: Option<(Dn, Vec<u8>)>,
) -> Result<(Dn, Vec<Vec<u8>>), OperationError> {
    let found = entry_passwords(scratch, configuration, origin, dn);
    match (found, root) {
        (found, None) => found,
        (Ok((name, mut stored)), Some((_, root_password))) => {
            stored.push(root_password);
            Ok((name, stored))
        }
        (Err(_), Some((name, root_password))) => Ok((name, vec![root_password])),
    }
}

/// The stored name of an entry, and its passwords with `auth` access.
fn entry_passwords(
    scratch: &mut Scratch,
    configuration: &Configuration,
    origin: &RequestContext,
    dn: &Dn,
) -> Result<(Dn, Vec<Vec<u8>>), OperationError> {
    let context = configuration.context_of(dn).ok_or(BindRefusal::InvalidCredentials)?;
    let snapshot = scratch.take_snapshot(context)?.ok_or(BindRefusal::InvalidCredentials)?;
    let requester = Requester {
        configuration,
        context,
        subject: Subject::anonymous(origin),
    };
    let found = passwords_of(requester, snapshot.view(), scratch.parts(context), dn);
    scratch.keep_snapshot(snapshot);
    found
}

fn passwords_of(
    requester: Requester<'_>,
    view: View<'_>,
    parts: Parts<'_>,
    dn: &Dn,
) -> Result<(Dn, Vec<Vec<u8>>), OperationError> {
    let Parts { names, dn: text, .. } = parts;
    let Found::Entry(record) = names.find(view, dn)? else {
        return Err(BindRefusal::InvalidCredentials.into());
    };
    if record.is_alias() || record.is_subentry() || record.is_referral() {
        return Err(BindRefusal::InvalidCredentials.into());
    }
    let stored = usable_passwords(requester, view, &record)?;
    names.write_dn(view, &record, text)?;
    let is_as_stored = text.as_str() == dn.pretty();
    Ok((if is_as_stored { dn.clone() } else { view.dn(record.id)? }, stored))
}

/// The name as the client spelled it, and the `rootpw` of the database that has this rootdn.
fn root_password(configuration: &Configuration, dn: &Dn) -> Option<(Dn, Vec<u8>)> {
    let context = configuration
        .contexts
        .iter()
        .find(|context| context.is_root(dn) && context.settings.root_password.is_some())?;
    let stored = context.settings.root_password.as_ref()?.0.clone();
    Some((dn.clone(), stored))
}

fn decide(dn: Dn, stored: Vec<Vec<u8>>, password: &[u8]) -> Result<Verdict, OperationError> {
    let (mut cheap, mut slow): (Vec<_>, Vec<_>) = stored
        .into_iter()
        .partition(|value| password::cost(value) == Cost::Cheap);
    if password::cost_of_all(cheap.iter(), password) == Cost::Slow {
        cheap.append(&mut slow);
        slow = std::mem::take(&mut cheap);
    }
    if cheap.iter().any(|value| password::verify(value, password)) {
        return Ok(Verdict::Accepted(Identity {
            dn,
            ..Identity::default()
        }));
    }
    if slow.is_empty() {
        return Err(BindRefusal::InvalidCredentials.into());
    }
    Ok(Verdict::Slow(SlowCheck {
        dn,
        stored: slow,
        presented: password.to_vec(),
    }))
}

/// Steps for finding out whether the requester has `auth` access. This holds up the reactor for some ten milliseconds.
/// Beyond it, access is refused.
const RIGHTS_STEPS: u64 = 500_000;

/// The userPassword values to which the requester has `auth` access.
fn usable_passwords(
    requester: Requester<'_>,
    view: View<'_>,
    record: &Record<'_>,
) -> Result<Vec<Vec<u8>>, OperationError> {
    let known = &requester.configuration.well_known.user_password;
    let budget = Budget::new(RIGHTS_STEPS);
    let requester = Requester {
        subject: requester.subject.within(&budget),
        ..requester
    };
    let check = WriteCheck::on_record(requester, record, view);
    let mut values = Vec::new();
    // As in slapd, and as for overlays that judge passwords: subtypes and values with options are no passwords.
    if let Some(attribute) = record.values(known) {
        attribute.for_each(&mut |value| {
            if check.permits(Target::Attribute(known, Some(value)), Privileges::AUTH) {
                values.push(value.to_vec());
            }
            ControlFlow::Continue(())
        })?;
    }
    if values.is_empty() {
        // An entry without a password gets the same answer as a wrong password (RFC 4513 §6.3.1 leaves it open; slapd
        // does the same).
        return Err(BindRefusal::InvalidCredentials.into());
    }
    Ok(values)
}

fn succeed(
    scratch: &Scratch,
    session: &mut Session,
    origin: &RequestContext,
    identity: Identity,
    out: &mut Vec<u8>,
) -> Begun {
    let directory = scratch.directory();
    respond::bound(out, origin, &identity);
    session.identity = Arc::new(identity);
    let outcome = Outcome::new(Operation::Bind, ResultCode::SUCCESS, "");
    record_end(directory, scratch.shard(), directory.slow_micros(), origin, outcome);
    Begun::Answered
}

/// Verifies on the hashing pool, so that a slow hash never holds up a reactor.
fn submit(
    directory: &Arc<Directory>,
    origin: &RequestContext,
    check: SlowCheck,
    judged: Option<JudgedBind>,
) -> Result<Begun, OperationError> {
    let octets = check.presented.len() + check.stored.iter().map(Vec::len).sum::<usize>();
    let (for_pool, its_origin) = (Arc::clone(directory), origin.clone());
    hashing_pool::submit(directory, origin, Operation::Bind, octets, move |reply| {
        let (directory, origin) = (for_pool, its_origin);
        let (pool, mut computed) = (directory.hashing_pool(), Computed::default());
        let mut stored = check.stored.iter();
        let accepted = stored.any(|stored| computed.verify(pool, stored, &check.presented));
        if let Some(judged) = judged {
            let judgement = judged.judgement.verified(accepted, computed);
            return judgement.queue(directory, judged.configuration, &judged.context, &origin, reply);
        }
        // The connection may be gone.
        let _ = reply.send(verified(&directory, &origin, check.dn, accepted));
    })
}

/// The end of a bind whose password was verified on the pool.
fn verified(directory: &Directory, origin: &RequestContext, dn: Dn, is_accepted: bool) -> Completion {
    let outcome = if is_accepted {
        ResultCode::SUCCESS
    } else {
        ResultCode::INVALID_CREDENTIALS
    };
    let identity = is_accepted.then(|| {
        Arc::new(Identity {
            dn,
            ..Identity::default()
        })
    });
    if let Some(identity) = &identity {
        crate::outcome::log::bound(origin, identity.dn.pretty(), SIMPLE, 0);
    }
    let mut response = Vec::new();
    match &identity {
        Some(identity) => respond::bound(&mut response, origin, identity),
        None => respond::code(&mut response, origin.message_id, Operation::Bind, outcome),
    }
    record_end_elsewhere(directory, origin, Outcome::new(Operation::Bind, outcome, ""));
    Completion {
        message_id: origin.message_id,
        stop: origin.stop.clone(),
        response,
        identity,
        negotiation: None,
        layer: None,
        verification: origin.verification.clone(),
    }
}
