//! SASL EXTERNAL (RFC 4422 appendix A) on ldapi:// connections: who the process on the other side is, as the kernel says.

use ironbark_model::{Dn, ResultCode, Schema};

use super::Origin;
use crate::{OperationError, session::Identity};

/// The only SASL mechanism there is.
pub(crate) const MECHANISM: &str = "EXTERNAL";

/// The identity of the peer, in slapd's form. `authorization` is whom it wants to act as, if that is said: itself.
///
/// # Errors
/// `authMethodNotSupported` where the kernel tells nothing; `invalidCredentials` for anybody else.
pub(crate) fn identity(
    schema: &Schema,
    origin: &Origin,
    authorization: Option<&[u8]>,
) -> Result<Identity, OperationError> {
    let Some((user, group)) = origin.peer.credentials else {
        return Err(unavailable());
    };
    let name = format!("gidNumber={group}+uidNumber={user},cn=peercred,cn=external,cn=auth");
    let dn = Dn::parse(schema, name.as_bytes())
        .map_err(|_| OperationError::new(ResultCode::OTHER, "the schema lacks uidNumber or gidNumber"))?;
    if let Some(wanted) = authorization.filter(|wanted| !wanted.is_empty()) {
        let wanted = wanted.strip_prefix(b"dn:").and_then(|name| Dn::parse(schema, name).ok());
        if wanted.as_ref() != Some(&dn) {
            return Err(OperationError::new(
                ResultCode::INVALID_CREDENTIALS,
                "SASL(-14): authorization failure: not authorized",
            ));
        }
    }
    Ok(Identity {
        dn,
        authentication_dn: None,
    })
}

/// There is no such mechanism here.
pub(crate) fn unavailable() -> OperationError {
    OperationError::new(
        ResultCode::AUTH_METHOD_NOT_SUPPORTED,
        "SASL(-4): no mechanism available: ",
    )
}
