//! Password modify (RFC 3062): finds the user, verifies the old password, hashes the new one, then changes
//! `userPassword`.

use std::sync::Arc;

use ironbark_config::{Operations, access::Privileges};
use ironbark_ldap_proto::{
    Operation,
    extended::{
        ExtendedDescriptor, ExtendedOperation, REGISTRY,
        password_modify::{PasswordModifyRequest, encode_generated_password},
    },
};
use ironbark_model::Dn;
use ironbark_store::Location;

use super::{external::ExternalCall, modify, null, slow_values::slow_values};
use crate::{
    Configuration, Directory, NamingContext, OperationError,
    access::{Requester, Target, WriteCheck},
    admission::{check_extended, refuse_if_shadow},
    backend::{
        call::Call,
        naming_context::Backend,
        written::{Executed, ExtendedAnswer, Success},
    },
    edit::checks,
    outcome::{
        completion::Begun,
        hashing_pool::{self, Reply},
        respond,
    },
    overlay::{
        Execution, Passwords,
        password_checks::{Computed, hash},
    },
    password::{self, Cost, Scheme},
    refusal::{PasswordModifyRefusal, WriteRefusal},
    request::{
        context::RequestContext,
        modification::{Authority, Modification, ModificationKind},
    },
    write::{
        job::{Asked, Job, enqueue},
        request::{OnTree, WriteRequest},
    },
};

/// A new password on its way to the writer.
pub(crate) struct SetPassword {
    dn: Dn,
    /// One value for each configured scheme.
    hashed: Vec<Vec<u8>>,
    /// The password, if the server generated it: the response contains it.
    generated: Option<Vec<u8>>,
    /// The passwords as the client sent them, for overlays that judge them.
    passwords: Passwords,
    computed: Computed,
}

impl SetPassword {
    /// The response: the password, if the server generated it.
    pub(crate) fn answer(&self) -> ExtendedAnswer {
        let value = self.generated.as_deref().map(|password| {
            let mut value = Vec::new();
            encode_generated_password(&mut value, password);
            value
        });
        ExtendedAnswer {
            value,
            ..ExtendedAnswer::default()
        }
    }
}

impl WriteRequest for SetPassword {
    fn operation(&self) -> Operation {
        Operation::Extended
    }

    fn kind(&self) -> Operations {
        Operations::EXTENDED
    }

    fn dn(&self) -> &Dn {
        &self.dn
    }

    fn computed(&self) -> &Computed {
        &self.computed
    }

    fn set_computed(&mut self, computed: Computed) {
        self.computed = computed;
    }

    fn read_again(&self, configuration: &Configuration) -> Result<Box<dyn WriteRequest>, OperationError> {
        Ok(Box::new(Self {
            dn: checks::parse_dn(&configuration.schema, self.dn.pretty().as_bytes())?,
            hashed: self.hashed.clone(),
            generated: self.generated.clone(),
            passwords: self.passwords.clone(),
            computed: self.computed.clone(),
        }))
    }

    fn check_restrictions(
        &self,
        configuration: &Configuration,
        context: &NamingContext,
        origin: &mut RequestContext,
    ) -> Result<(), OperationError> {
        let row = REGISTRY
            .iter()
            .find(|row| row.operation == ExtendedOperation::PasswordModify);
        row.map_or(Ok(()), |row| check_extended(context, configuration, row, origin))?;
        refuse_if_shadow(context, configuration, &self.dn, origin)
    }

    fn execute(&self, execution: &mut Execution<'_, '_>) -> Result<Success, OperationError> {
        put(execution, self)
    }

    fn execute_in_memory(&self, on: OnTree<'_>) -> Result<(Success, Executed), OperationError> {
        match on.served.context.backend {
            Backend::Null { .. } => Ok(null::set_password(on, self)),
            _ => Err(WriteRefusal::UnsupportedInContext.into()),
        }
    }
}

/// Length of a generated password, as in slapd.
const GENERATED_LENGTH: usize = 8;
/// 64 characters, so six bits select one.
const ALPHABET: &[u8; 64] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789./";

/// Begins a password modify operation.
pub(crate) fn start(
    directory: &Arc<Directory>,
    call: &mut Call<'_, '_>,
    row: &ExtendedDescriptor,
    value: Option<&[u8]>,
) -> Result<Begun, OperationError> {
    let (configuration, origin) = (call.configuration, &mut *call.origin);
    if origin.identity.is_anonymous() {
        return Err(PasswordModifyRefusal::NeedsAuthentication.into());
    }
    let request = PasswordModifyRequest::decode(value)?;
    let dn = target(configuration, origin, request.user_identity)?;
    let context = context_of(configuration, &dn, request.old_password.is_some())?;
    check_extended(&context, configuration, row, origin)?;
    call.controls.remove(origin.dropped_controls);
    if let Some(database) = context.backend.external() {
        let call = ExternalCall {
            configuration,
            context: &context,
            origin,
        };
        return call.extended(directory, database, &dn, row.oid, value);
    }
    refuse_unsupported(&context)?;
    refuse_if_shadow(&context, configuration, &dn, origin)?;
    let stored = if request.old_password.is_some() {
        old_values(configuration, &context, origin, &dn)?
    } else {
        Vec::new()
    };
    let (new, generated) = if let Some(new) = request.new_password {
        (new.to_vec(), None)
    } else {
        let made = generate(directory)?;
        (made.clone(), Some(made))
    };
    let work = Work {
        directory: Arc::clone(directory),
        configuration: Arc::clone(configuration),
        slow: slow_values(&context, &dn)?,
        context,
        origin: origin.clone(),
        dn,
        old: request.old_password.map(|old| (old.to_vec(), stored)),
        new,
        generated,
    };
    work.start()
}

/// Whose password: a DN, with or without `dn:`; absent or empty, the session's own.
/// The user whose password is to be changed, if the request can be read.
pub(crate) fn subject(configuration: &Configuration, origin: &RequestContext, value: Option<&[u8]>) -> Option<Dn> {
    let request = PasswordModifyRequest::decode(value).ok()?;
    target(configuration, origin, request.user_identity).ok()
}

fn target(
    configuration: &Configuration,
    origin: &RequestContext,
    identity: Option<&[u8]>,
) -> Result<Dn, PasswordModifyRefusal> {
    let Some(identity) = identity.filter(|identity| !identity.is_empty()) else {
        return Ok(origin.identity.dn.clone());
    };
    // As in slapd: a name alone, not an authorization identity (`dn:`, `u:`).
    let dn = Dn::parse(&configuration.schema, identity).map_err(|_| PasswordModifyRefusal::InvalidUser)?;
    if dn.is_root() {
        return Err(PasswordModifyRefusal::RootDse);
    }
    Ok(dn)
}

fn context_of(
    configuration: &Configuration,
    dn: &Dn,
    has_old: bool,
) -> Result<Arc<NamingContext>, PasswordModifyRefusal> {
    match configuration.context_of(dn) {
        Some(context) => Ok(Arc::clone(context)),
        None if has_old => Err(PasswordModifyRefusal::UnverifiedOldPassword),
        None => Err(PasswordModifyRefusal::NoContext),
    }
}

/// Only databases with entries have passwords to change.
fn refuse_unsupported(context: &NamingContext) -> Result<(), PasswordModifyRefusal> {
    match &context.backend {
        Backend::Stored { .. } | Backend::Null { .. } => Ok(()),
        _ => Err(PasswordModifyRefusal::UnsupportedInContext),
    }
}

/// The stored passwords to which the subject has `auth` access.
fn old_values(
    configuration: &Configuration,
    context: &NamingContext,
    origin: &RequestContext,
    dn: &Dn,
) -> Result<Vec<Vec<u8>>, OperationError> {
    let database = context.database().ok_or(PasswordModifyRefusal::UnverifiedOldPassword)?;
    let snapshot = database.snapshot()?;
    let view = snapshot.view();
    let Location::Entry(id) = view.locate(dn)? else {
        return Err(PasswordModifyRefusal::UnverifiedOldPassword.into());
    };
    let record = view.record(id)?.ok_or(PasswordModifyRefusal::UnverifiedOldPassword)?;
    let description = &configuration.well_known.user_password;
    let requester = Requester::of(configuration, context, origin);
    let check = WriteCheck::on_record(requester, &record, view);
    let attribute = record
        .values(description)
        .ok_or(PasswordModifyRefusal::UnverifiedOldPassword)?;
    let mut values = attribute.to_attribute()?.values;
    values.retain(|value| check.permits(Target::Attribute(description, Some(value)), Privileges::AUTH));
    Ok(values)
}

fn generate(directory: &Directory) -> Result<Vec<u8>, PasswordModifyRefusal> {
    let random: [u8; GENERATED_LENGTH] = directory.randomness().bytes().map_err(|error| {
        tracing::error!(target: "any", "making a password: {error}");
        PasswordModifyRefusal::NotGenerated
    })?;
    Ok(random
        .iter()
        .filter_map(|byte| ALPHABET.get(usize::from(byte & 63)).copied())
        .collect())
}

/// Work that remains before the writer gets the operation.
struct Work {
    directory: Arc<Directory>,
    configuration: Arc<Configuration>,
    context: Arc<NamingContext>,
    origin: RequestContext,
    dn: Dn,
    /// The old password as presented, and the values that it may match.
    old: Option<(Vec<u8>, Vec<Vec<u8>>)>,
    new: Vec<u8>,
    generated: Option<Vec<u8>>,
    /// Stored values that overlays compare with the new password, if the comparison is slow.
    slow: Vec<Vec<u8>>,
}

impl Work {
    fn schemes(&self) -> &[Scheme] {
        match &*self.configuration.password_schemes {
            [] => &[Scheme::DEFAULT],
            schemes => schemes,
        }
    }

    fn is_slow(&self) -> bool {
        !self.slow.is_empty()
            || self.schemes().iter().any(|scheme| scheme.cost() == Cost::Slow)
            || self
                .old
                .as_ref()
                .is_some_and(|(old, stored)| password::cost_of_all(stored.iter(), old) == Cost::Slow)
    }

    /// Computes here if that is quick, otherwise on the hashing pool.
    fn start(self) -> Result<Begun, OperationError> {
        if !self.is_slow() {
            let request = Box::new(self.compute()?);
            return enqueue(
                &self.directory,
                &self.configuration,
                &self.context,
                &self.origin,
                request,
            );
        }
        let (directory, origin, octets) = (Arc::clone(&self.directory), self.origin.clone(), self.octets());
        hashing_pool::submit(&directory, &origin, Operation::Extended, octets, move |reply| {
            self.finish_on_pool(reply);
        })
    }

    /// Memory that is held until the work is done.
    fn octets(&self) -> usize {
        let old = self.old.iter().map(|(old, stored)| old.len() + total(stored));
        self.new.len() + total(&self.slow) + old.sum::<usize>()
    }

    fn finish_on_pool(self, reply: Reply) {
        match self.compute() {
            Ok(request) => {
                let asked = Asked {
                    directory: self.directory,
                    configuration: self.configuration,
                    origin: self.origin,
                    request: Box::new(request),
                };
                let job = Job {
                    asked,
                    reply: Some(reply),
                };
                job.queue_or_answer(&self.context);
            }
            Err(error) => {
                let completion =
                    respond::write_completion(&self.directory, &self.origin, Operation::Extended, Err(error));
                // The connection may be gone.
                let _ = reply.send(completion);
            }
        }
    }

    /// Verifies the old password and hashes the new one.
    fn compute(&self) -> Result<SetPassword, OperationError> {
        let pool = self.directory.hashing_pool();
        if let Some((presented, stored)) = &self.old
            && !pool.verify_any(stored, presented)
        {
            return Err(PasswordModifyRefusal::UnverifiedOldPassword.into());
        }
        let mut hashed: Vec<Vec<u8>> = Vec::new();
        for scheme in self.schemes() {
            let value = hash(&self.directory, *scheme, &self.new)?;
            // Two schemes that store the password in the clear give the same value.
            if !hashed.contains(&value) {
                hashed.push(value);
            }
        }
        Ok(SetPassword {
            dn: self.dn.clone(),
            hashed,
            generated: self.generated.clone(),
            passwords: Passwords {
                old: self.old.as_ref().map(|(old, _)| old.clone()),
                new: self.new.clone(),
            },
            computed: Computed::verifying(pool, &self.slow, std::slice::from_ref(&self.new)),
        })
    }
}

fn total(values: &[Vec<u8>]) -> usize {
    values.iter().map(Vec::len).sum()
}

/// Replaces the old passwords by the new one.
fn put(execution: &mut Execution<'_, '_>, request: &SetPassword) -> Result<Success, OperationError> {
    execution.passwords = Some(request.passwords.clone());
    let description = &execution.configuration.well_known.user_password;
    let replace = Modification::internal(
        execution.schema(),
        ModificationKind::Replace,
        description,
        request.hashed.clone(),
    );
    let modifications = vec![Modification {
        authority: Authority::Client,
        ..replace
    }];
    // As in slapd: the answer to this operation names no superior.
    let without_matched_dn = |error: OperationError| OperationError {
        matched_dn: String::new(),
        ..error
    };
    let success = modify::run(execution, &request.dn, modifications).map_err(without_matched_dn)?;
    Ok(Success {
        extended: request.answer(),
        ..success
    })
}
