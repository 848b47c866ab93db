//! Proxied authorization (RFC 4370): another identity for one operation.

use std::sync::Arc;

use ironbark_ldap_proto::controls::RequestControls;
use ironbark_model::{Dn, ResultCode};

use crate::{Configuration, OperationError, operation::Origin, session::Identity};

/// Replaces the identity of an operation that carries the control.
///
/// # Errors
/// `authorizationDenied` unless the connection speaks for the rootdn of some database: `authz-policy` is `none`.
pub(crate) fn authorize(
    configuration: &Configuration,
    origin: &mut Origin,
    controls: &RequestControls<'_>,
) -> Result<(), OperationError> {
    let Some(control) = &controls.proxied_authorization else {
        return Ok(());
    };
    let denied = || OperationError::new(ResultCode::AUTHORIZATION_DENIED, "not authorized to assume identity");
    let dn = match control.value.0 {
        b"" => Dn::root(),
        authorization_id => {
            let name = authorization_id
                .strip_prefix(b"dn:")
                .ok_or_else(|| OperationError::new(ResultCode::AUTHORIZATION_DENIED, "authzId mapping failed"))?;
            Dn::parse(&configuration.schema, name)
                .map_err(|_| OperationError::new(ResultCode::AUTHORIZATION_DENIED, "authzId mapping failed"))?
        }
    };
    let own = &origin.identity.dn;
    if *own != dn && !configuration.contexts.iter().any(|context| context.is_root(own)) {
        return Err(denied());
    }
    origin.identity = Arc::new(Identity {
        dn,
        authentication_dn: Some(own.clone()),
    });
    Ok(())
}
