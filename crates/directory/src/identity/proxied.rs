//! Proxied authorization (RFC 4370): another identity for one operation.

use std::sync::Arc;

use ironbark_config::Allow;
use ironbark_ldap_proto::controls::RequestControls;
use ironbark_model::Dn;

use crate::{
    Configuration, OperationError,
    access::Subject,
    authorization::{Asking, dn_of_authorization, is_authorized},
    refusal::ControlRefusal,
    request::{context::RequestContext, identity::Identity},
};

/// Entries that the URL of an `authz-regexp` may read. The other clients of the reactor wait meanwhile, some tens of
/// milliseconds.
const LOOK_THROUGH: u32 = 50_000;

/// Replaces the identity of an operation that carries the control.
///
/// # Errors
/// `authorizationDenied` unless `authz-policy` lets the authenticated identity act for the other one;
/// `adminLimitExceeded` if finding this out needs too much reading.
pub(crate) fn authorize(
    configuration: &Configuration,
    origin: &mut RequestContext,
    controls: &RequestControls<'_>,
) -> Result<(), OperationError> {
    let Some(control) = &controls.proxied_authorization else {
        return Ok(());
    };
    let own = Arc::clone(&origin.identity);
    if own.is_anonymous() && !configuration.settings.allow.contains(Allow::PROXY_AUTHZ_ANON) {
        return Err(ControlRefusal::AnonymousProxy.into());
    }
    let asking = Asking {
        configuration,
        subject: Subject::unplaced(origin),
        look_through: Some(LOOK_THROUGH),
    };
    let text = std::str::from_utf8(control.value.0).map_err(|_| ControlRefusal::UnknownProxy)?;
    let dn = if text.is_empty() {
        Dn::root()
    } else {
        let dn = dn_of_authorization(asking, text, None, own.mechanism)?;
        dn.ok_or(ControlRefusal::UnknownProxy)?
    };
    if !is_authorized(asking, &own.dn, &dn)? {
        return Err(ControlRefusal::DeniedProxy.into());
    }
    crate::outcome::log::proxied(origin, dn.pretty());
    origin.identity = Arc::new(Identity {
        dn,
        authentication_dn: Some(own.authentication_dn.as_ref().unwrap_or(&own.dn).clone()),
        mechanism: own.mechanism,
        ..Identity::default()
    });
    Ok(())
}
