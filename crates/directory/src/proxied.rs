//! Proxied authorization (RFC 4370): another identity for one operation.

use std::sync::Arc;

use ironbark_config::Allow;
use ironbark_ldap_proto::controls::RequestControls;
use ironbark_model::{Dn, ResultCode};

use crate::{Configuration, OperationError, operation::Origin, session::Identity};

/// Replaces the identity of an operation that carries the control.
///
/// # Errors
/// `authorizationDenied` unless the connection speaks for the rootdn of the database that the other identity lies in, because
/// `authz-policy` is `none`: the manager of one database must not become the manager of another.
pub(crate) fn authorize(
    configuration: &Configuration,
    origin: &mut Origin,
    controls: &RequestControls<'_>,
) -> Result<(), OperationError> {
    let Some(control) = &controls.proxied_authorization else {
        return Ok(());
    };
    let own = &origin.identity.dn;
    if own.is_root() && !configuration.settings.allow.contains(Allow::PROXY_AUTHZ_ANON) {
        return Err(OperationError::new(
            ResultCode::AUTHORIZATION_DENIED,
            "anonymous proxied authorization not allowed",
        ));
    }
    let denied = || OperationError::new(ResultCode::AUTHORIZATION_DENIED, "not authorized to assume identity");
    let dn = match control.value.0 {
        b"" => Dn::root(),
        authorization_id => {
            let name = match authorization_id.strip_prefix(b"dn:") {
                Some(name) => name,
                None if authorization_id.starts_with(b"u:") => return Err(denied()),
                None => {
                    return Err(OperationError::new(
                        ResultCode::AUTHORIZATION_DENIED,
                        "authzId mapping failed",
                    ));
                }
            };
            Dn::parse(&configuration.schema, name)
                .map_err(|_| OperationError::new(ResultCode::AUTHORIZATION_DENIED, "authzId mapping failed"))?
        }
    };
    let is_manager = || {
        if dn.is_root() {
            configuration.contexts.iter().any(|context| context.is_root(own))
        } else {
            configuration
                .context_of(&dn)
                .is_some_and(|context| context.is_root(own))
        }
    };
    if *own != dn && !is_manager() {
        return Err(denied());
    }
    origin.identity = Arc::new(Identity {
        dn,
        authentication_dn: Some(own.clone()),
    });
    Ok(())
}
