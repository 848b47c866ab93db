//! From a claim to an identity: the proof, then whom the client may act for.

use ironbark_config::Disallow;
use ironbark_model::{Dn, ResultCode};

use super::{Claim, Proof, User, failure, mechanism::Mechanism, secrets};
use crate::{
    OperationError,
    authorization::{Asking, dn_of_authorization, dn_of_user, is_authorized, mapped},
    log, password,
    session::Identity,
};

/// The identity behind a claim, and what the mechanism tells the client at last.
///
/// # Errors
/// `invalidCredentials`; `insufficientAccessRights` for who may not act for whom it wants to.
pub(super) fn accept(
    asking: Asking<'_>,
    mechanism: &Mechanism,
    claim: Claim,
) -> Result<(Identity, Option<Vec<u8>>), OperationError> {
    let Claim {
        user,
        authorization,
        proof,
    } = claim;
    let sasl = &asking.configuration.settings.sasl;
    let realm = sasl.realm.as_deref();
    let (name, own) = match user {
        User::Anonymous => {
            refuse_anonymous(asking)?;
            (String::from("anonymous"), Dn::root())
        }
        User::Dn(dn) => (dn.pretty().to_owned(), mapped(asking, dn)?),
        User::Name(name) => {
            let dn = dn_of_user(&asking.configuration.schema, &name, realm, Some(mechanism.name));
            let dn = mapped(asking, dn.ok_or_else(failure::unauthenticated)?)?;
            (name, dn)
        }
    };
    let data = proof.verify(asking, &own)?;
    let wanted = authorization.filter(|wanted| *wanted != name);
    let other = match &wanted {
        None => None,
        Some(wanted) => {
            let dn = dn_of_authorization(asking, wanted, (realm, Some(mechanism.name)))?;
            let dn = dn.ok_or_else(failure::unauthorized)?;
            if !is_authorized(asking, &own, &dn)? {
                return Err(failure::unauthorized());
            }
            Some(dn)
        }
    };
    log::sasl_names(asking.origin, (&name, realm), wanted.as_deref());
    log::bound(asking.origin, own.pretty(), mechanism.name);
    let mechanism = Some(mechanism.name);
    let identity = match other.filter(|other| *other != own) {
        None => Identity {
            dn: own,
            authentication_dn: None,
            mechanism,
        },
        Some(dn) => Identity {
            dn,
            authentication_dn: Some(own),
            mechanism,
        },
    };
    Ok((identity, data))
}

fn refuse_anonymous(asking: Asking<'_>) -> Result<(), OperationError> {
    if asking.configuration.settings.disallow.contains(Disallow::BIND_ANON) {
        return Err(OperationError::new(
            ResultCode::INAPPROPRIATE_AUTHENTICATION,
            "anonymous bind disallowed",
        ));
    }
    Ok(())
}

impl Proof {
    /// What the mechanism tells the client at last, if it has proven who it is.
    fn verify(&self, asking: Asking<'_>, dn: &Dn) -> Result<Option<Vec<u8>>, OperationError> {
        let proven = match self {
            Self::Given => Some(None),
            Self::Password(presented) => {
                let stored = secrets::passwords(asking, dn)?;
                stored
                    .iter()
                    .any(|value| password::verify(value, presented))
                    .then_some(None)
            }
            Self::CramMd5(proof) => {
                let stored = secrets::cleartext(asking, dn)?;
                stored.iter().any(|value| proof.is_of(value)).then_some(None)
            }
            Self::DigestMd5(proof) => {
                let stored = secrets::cleartext(asking, dn)?;
                stored.iter().find_map(|value| proof.answer(value)).map(Some)
            }
            Self::Scram(proof) => proof.answer().map(Some),
        };
        proven.ok_or_else(failure::unauthenticated)
    }
}
