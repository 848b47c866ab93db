//! Restrictions of a database and its configuration that apply to everyone: `security`, `require`, `restrict`,
//! `readonly`, `restrictop`.

use ironbark_config::{Operations, Require};
use ironbark_ldap_proto::{
    controls::{ControlKind, PasswordPolicyError, PasswordPolicyResponse},
    extended::{ExtendedDescriptor, ExtendedOperation},
};

use super::security::{self, Purpose};
use crate::{
    Configuration, NamingContext, OperationError,
    access::{self, Subject},
    overlay::overlays_of,
    refusal::AdmissionRefusal,
    request::context::RequestContext,
};

/// Refuses requests that `security`, `require`, `restrict`, `readonly` and `restrictop` forbid, except binds and
/// those of tools. Removes the controls that `restrictop` drops from the request.
///
/// # Errors
/// `unwillingToPerform`; `confidentialityRequired`, `operationsError` or `strongerAuthRequired` if the connection
/// lacks something.
pub(crate) fn check_restrictions(
    context: &NamingContext,
    configuration: &Configuration,
    operation: Operations,
    origin: &mut RequestContext,
) -> Result<(), OperationError> {
    if origin.identity.is_tool {
        return Ok(());
    }
    let is_update = Operations::WRITE.contains(operation);
    security::check(
        &context.settings.security,
        Purpose::Operation { is_update },
        origin.strength,
    )?;
    check_requirements(context, origin)?;
    check_operation(context, operation)?;
    // Among modifications, the overlay decides which ones change the password.
    if origin.is_restricted() && operation != Operations::MODIFY && overlays_of(context).restricts() {
        return Err(restricted(origin));
    }
    drop_controls(configuration, context, false, origin)?;
    let_overlays_hear(context, origin);
    Ok(())
}

/// From here on, overlays are told of the responses to the request.
fn let_overlays_hear(context: &NamingContext, origin: &mut RequestContext) {
    let responses = &overlays_of(context).responses;
    if responses.is_some() {
        origin.responses.clone_from(responses);
    }
}

/// The same for a bind, which need not meet `require`.
///
/// # Errors
/// `confidentialityRequired`, `unwillingToPerform`.
pub(crate) fn check_bind(
    context: &NamingContext,
    configuration: &Configuration,
    is_simple: bool,
    origin: &mut RequestContext,
) -> Result<(), OperationError> {
    let purpose = if is_simple {
        Purpose::SimpleBind
    } else {
        Purpose::SaslBind
    };
    security::check(&context.settings.security, purpose, origin.strength)?;
    check_operation(context, Operations::BIND)?;
    drop_controls(configuration, context, true, origin)?;
    if is_simple {
        let_overlays_hear(context, origin);
    }
    Ok(())
}

fn check_operation(context: &NamingContext, operation: Operations) -> Result<(), AdmissionRefusal> {
    let read_only = context.settings.read_only && Operations::WRITE.contains(operation);
    let restricted = context.settings.restrict.operations;
    if restricted.contains(operation) || read_only {
        // slapd names reading operations when they are what is refused.
        return Err(if restricted == Operations::READ {
            AdmissionRefusal::ReadRestricted
        } else {
            AdmissionRefusal::Restricted
        });
    }
    Ok(())
}

/// The same for an extended operation; `readonly` applies to operations that change something.
///
/// # Errors
/// As of [`check_restrictions`].
pub(crate) fn check_extended(
    context: &NamingContext,
    configuration: &Configuration,
    row: &ExtendedDescriptor,
    origin: &mut RequestContext,
) -> Result<(), OperationError> {
    let is_update = row.writes;
    // StartTLS makes a connection stronger, and comes before everything else.
    let is_start_tls = row.operation == ExtendedOperation::StartTls;
    if !is_start_tls {
        security::check(
            &context.settings.security,
            Purpose::Operation { is_update },
            origin.strength,
        )?;
        check_requirements(context, origin)?;
    }
    check_operation(context, Operations::EXTENDED)?;
    if context.settings.restrict.extended.iter().any(|oid| oid == row.oid) {
        return Err(AdmissionRefusal::ExtendedRestricted.into());
    }
    if context.settings.read_only && row.writes {
        return Err(AdmissionRefusal::Restricted.into());
    }
    if !is_start_tls {
        drop_controls(configuration, context, false, origin)?;
    }
    Ok(())
}

/// The requirements of `require`, in slapd's order, and the refusal if one is not met.
const REQUIREMENTS: [(Require, AdmissionRefusal); 5] = [
    (Require::STRONG, AdmissionRefusal::NeedsStrongAuthentication),
    (Require::SASL, AdmissionRefusal::NeedsSasl),
    (Require::AUTHENTICATION, AdmissionRefusal::NeedsAuthentication),
    (Require::BIND, AdmissionRefusal::NeedsBind),
    (Require::LDAP_V3, AdmissionRefusal::NeedsLdapV3),
];

/// Refuses requests that do not meet the conditions of `require`; binds and StartTLS are exempt.
pub(crate) fn check_requirements(context: &NamingContext, origin: &RequestContext) -> Result<(), AdmissionRefusal> {
    if context.settings.require == Require::default() {
        return Ok(());
    }
    for (requirement, refusal) in REQUIREMENTS {
        let is_met = match requirement {
            // As in slapd, any authentication counts as strong as long as `security` asks for no more.
            Require::STRONG | Require::AUTHENTICATION => !origin.identity.is_anonymous(),
            Require::SASL => !origin.identity.is_anonymous() && origin.identity.mechanism.is_some(),
            Require::BIND => origin.bound_version.is_some(),
            Require::LDAP_V3 => origin.bound_version.is_none_or(|version| version >= 3),
            _ => false,
        };
        if context.settings.require.contains(requirement) && !is_met {
            return Err(refusal);
        }
    }
    Ok(())
}

/// Applies `restrictop` to a request to a naming context: drops controls from it. A bind is judged as anonymous.
///
/// # Errors
/// `unwillingToPerform`: the request is rejected.
fn drop_controls(
    configuration: &Configuration,
    context: &NamingContext,
    is_bind: bool,
    origin: &mut RequestContext,
) -> Result<(), AdmissionRefusal> {
    let place = usize::try_from(context.number + 1).unwrap_or_default();
    let Some(rules) = configuration
        .operation_rules
        .get(place)
        .filter(|rules| !rules.is_empty())
    else {
        return Ok(());
    };
    let subject = if is_bind {
        Subject::anonymous(origin)
    } else {
        Subject::of(origin, context)
    };
    let dropped = access::admit(rules, configuration, subject, origin.critical_controls)?;
    origin.drop_controls(dropped);
    Ok(())
}

/// The refusal of any other operation while the password must be changed.
pub fn restricted(origin: &RequestContext) -> OperationError {
    let error = OperationError::from(AdmissionRefusal::PasswordMustBeChanged);
    if !origin.has_control(ControlKind::PasswordPolicy) {
        return error;
    }
    error.with_control(&PasswordPolicyResponse {
        warning: None,
        error: Some(PasswordPolicyError::ChangeAfterReset),
    })
}
