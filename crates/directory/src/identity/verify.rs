//! From a claim to an identity: verifies the proof, then the authorization.

use ironbark_config::Disallow;
use ironbark_model::Dn;

use super::secrets;
use crate::{
    OperationError,
    authorization::{Asking, dn_of_authorization, dn_of_user, is_authorized, mapped},
    backend::hashing_pool::HashingPool,
    outcome::log,
    refusal::{BindRefusal, SaslRefusal},
    request::{context::RequestContext, identity::Identity},
    sasl::{
        Proof, SecurityLayer,
        mechanism::Mechanism,
        step::{Claim, User},
    },
};

/// A claim after its proof was checked.
pub(crate) struct Verified {
    /// The name that the client claims. The proof may be right or wrong.
    pub(crate) dn: Dn,
    /// Whether the proof is right.
    pub(crate) is_proven: bool,
    /// The resulting identity, or the reason for a refusal.
    pub(crate) identity: Result<Identity, OperationError>,
    /// Whether the proof was a password of an entry.
    pub(crate) is_by_password: bool,
    /// That password, if the mechanism sends it.
    pub(crate) password: Option<Vec<u8>>,
    /// The final message of the mechanism to the client.
    pub(crate) data: Option<Vec<u8>>,
    /// The layer that protects the connection from here on.
    pub(crate) layer: Option<Box<dyn SecurityLayer>>,
}

/// The identity behind a claim.
///
/// # Errors
/// `invalidCredentials` for an invalid name; the storage failed. [`Verified::identity`]: `invalidCredentials`;
/// `insufficientAccessRights` if the client may not assume the requested authorization identity.
pub(crate) fn verify(
    asking: Asking<'_>,
    origin: &RequestContext,
    pool: &HashingPool,
    mechanism: &Mechanism,
    claim: Claim<Proof>,
) -> Result<Verified, OperationError> {
    let Claim {
        user,
        authorization,
        proof,
    } = claim;
    let realm = asking.configuration.settings.sasl.realm.as_deref();
    let (name, own) = match user {
        User::Anonymous => {
            refuse_anonymous(asking)?;
            (String::from("anonymous"), Dn::root())
        }
        User::Dn(dn) => (dn.pretty().to_owned(), mapped(asking, dn)?),
        User::Name(name) => {
            let dn = dn_of_user(&asking.configuration.schema, &name, realm, Some(mechanism.name));
            let dn = mapped(asking, dn.ok_or(SaslRefusal::Unauthenticated)?)?;
            (name, dn)
        }
    };
    let proven = verify_proof(&proof, asking, pool, &own);
    let (is_by_password, password, layer) = match proof {
        Proof::Given => (false, None, None),
        #[cfg(feature = "gssapi")]
        Proof::Protected(layer) => (false, None, Some(layer)),
        Proof::Password(presented) => (true, Some(presented), None),
        Proof::CramMd5(_) | Proof::DigestMd5(_) | Proof::Scram(_) => (true, None, None),
    };
    let wanted = authorization.filter(|wanted| *wanted != name);
    let is_proven = proven.is_ok();
    let (identity, data) = match proven {
        Ok(data) => {
            let identity = authorize(asking, mechanism, &own, wanted.as_deref());
            if identity.is_ok() {
                log::sasl_names(origin, &name, realm, wanted.as_deref());
            }
            (identity, data)
        }
        Err(error) => (Err(error), None),
    };
    Ok(Verified {
        is_proven,
        dn: own,
        identity,
        is_by_password,
        password,
        data,
        layer,
    })
}

/// The identity of a client that has proven to be `own`. With a second name, it wants to act for that one.
fn authorize(
    asking: Asking<'_>,
    mechanism: &Mechanism,
    own: &Dn,
    wanted: Option<&str>,
) -> Result<Identity, OperationError> {
    let realm = asking.configuration.settings.sasl.realm.as_deref();
    let other = match wanted {
        None => None,
        Some(wanted) => {
            let dn = dn_of_authorization(asking, wanted, realm, Some(mechanism.name))?;
            let dn = dn.ok_or(SaslRefusal::Unauthorized)?;
            if !is_authorized(asking, own, &dn)? {
                return Err(SaslRefusal::Unauthorized.into());
            }
            Some(dn)
        }
    };
    let mechanism = Some(mechanism.name);
    Ok(match other.filter(|other| other != own) {
        None => Identity {
            dn: own.clone(),
            mechanism,
            ..Identity::default()
        },
        Some(dn) => Identity {
            dn,
            authentication_dn: Some(own.clone()),
            mechanism,
            ..Identity::default()
        },
    })
}

fn refuse_anonymous(asking: Asking<'_>) -> Result<(), BindRefusal> {
    if asking.configuration.settings.disallow.contains(Disallow::BIND_ANON) {
        return Err(BindRefusal::AnonymousDisallowed);
    }
    Ok(())
}

/// The final message of the mechanism to the client, if the client has proven its identity.
fn verify_proof(
    proof: &Proof,
    asking: Asking<'_>,
    pool: &HashingPool,
    dn: &Dn,
) -> Result<Option<Vec<u8>>, OperationError> {
    let proven = match proof {
        Proof::Given => Some(None),
        #[cfg(feature = "gssapi")]
        Proof::Protected(_) => Some(None),
        Proof::Password(presented) => {
            let stored = secrets::passwords(asking, dn)?;
            pool.verify_any(&stored, presented).then_some(None)
        }
        Proof::CramMd5(proof) => {
            let stored = secrets::cleartext(asking, dn)?;
            stored.iter().any(|value| proof.is_of(value)).then_some(None)
        }
        Proof::DigestMd5(proof) => {
            let stored = secrets::cleartext(asking, dn)?;
            stored.iter().find_map(|value| proof.answer(value)).map(Some)
        }
        Proof::Scram(proof) => proof.answer().map(Some),
    };
    Ok(proven.ok_or(SaslRefusal::Unauthenticated)?)
}
