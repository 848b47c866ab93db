//! SASL EXTERNAL (RFC 4422 appendix A): who the client is by its certificate, or on ldapi:// by what the kernel says of its process.

use ironbark_model::{Dn, ResultCode, Schema};

use super::Origin;
use crate::{OperationError, session::Identity};

/// The only SASL mechanism there is.
pub(crate) const MECHANISM: &str = "EXTERNAL";

/// Whether the connection tells who the client is.
pub(crate) fn is_available(origin: &Origin) -> bool {
    origin.certificate_subject.is_some() || origin.peer.credentials.is_some()
}

/// The identity of the peer, in slapd's form. `authorization` is whom it wants to act as, if that is said: itself.
///
/// # Errors
/// `authMethodNotSupported` where nothing is known; `invalidCredentials` for anybody else.
pub(crate) fn identity(
    schema: &Schema,
    origin: &Origin,
    authorization: Option<&[u8]>,
) -> Result<Identity, OperationError> {
    let dn = match (&origin.certificate_subject, origin.peer.credentials) {
        // slapd knows such clients by the normal form alone.
        (Some(subject), _) => Dn::from_rdn_sequence(schema, subject)
            .and_then(|dn| Dn::parse(schema, dn.normalized()))
            .map_err(|_| {
                OperationError::new(ResultCode::INVALID_CREDENTIALS, "the certificate's subject is no name")
            })?,
        (None, Some((user, group))) => {
            let name = format!("gidNumber={group}+uidNumber={user},cn=peercred,cn=external,cn=auth");
            Dn::parse(schema, name.as_bytes())
                .map_err(|_| OperationError::new(ResultCode::OTHER, "the schema lacks uidNumber or gidNumber"))?
        }
        (None, None) => return Err(unavailable()),
    };
    if let Some(wanted) = authorization.filter(|wanted| !wanted.is_empty()) {
        let wanted = wanted
            .strip_prefix(b"dn:")
            .and_then(|name| Dn::parse(schema, name).ok());
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
