//! EXTERNAL (RFC 4422 appendix A): the client's identity comes from its certificate, or on ldapi:// from the kernel's
//! information about its process.

use ironbark_model::{Dn, Schema};

use super::step::{Claim, Step, StepResult, User};
use crate::{refusal::SaslRefusal, request::context::RequestContext};

/// Whether the connection identifies the client.
pub(crate) fn is_available(origin: &RequestContext) -> bool {
    subject(origin).is_some() || origin.peer.credentials.is_some()
}

/// The subject of the client's certificate. An empty one says nothing of the client, whose identity may be elsewhere in
/// the certificate.
fn subject(origin: &RequestContext) -> Option<&[u8]> {
    let subject = origin.channel.as_ref()?.subject.as_deref();
    subject.filter(|subject| *subject != EMPTY)
}

/// A `Name` without an RDN.
const EMPTY: [u8; 2] = [0x30, 0];

/// The name in a certificate. slapd keeps only the normal form of such names. In that, NUL is not there: the name of
/// somebody else could come of it.
fn name_of(schema: &Schema, subject: &[u8]) -> Option<Dn> {
    let dn = Dn::from_rdn_sequence(schema, subject).ok()?;
    let has_nul = dn.pretty().contains("\\00");
    Dn::parse(schema, dn.normalized()).ok().filter(|_| !has_nul)
}

/// The message is the requested authorization identity; empty or absent: the client's own.
pub(crate) fn step(schema: &Schema, origin: &RequestContext, message: Option<&[u8]>) -> StepResult<(), ()> {
    let dn = match (subject(origin), origin.peer.credentials) {
        (Some(subject), _) => name_of(schema, subject).ok_or(SaslRefusal::InvalidSubject)?,
        (None, Some((user, group))) => {
            let name = format!("gidNumber={group}+uidNumber={user},cn=peercred,cn=external,cn=auth");
            Dn::parse(schema, name.as_bytes()).map_err(|_| SaslRefusal::UnnamedPeer)?
        }
        (None, None) => return Err(SaslRefusal::NoMechanism.into()),
    };
    let authorization = std::str::from_utf8(message.unwrap_or_default()).map_err(|_| SaslRefusal::Unauthorized)?;
    if authorization.contains('\0') {
        return Err(SaslRefusal::Unauthorized.into());
    }
    Ok(Step::Claim(Claim {
        user: User::Dn(dn),
        authorization: Some(authorization.to_owned()).filter(|text| !text.is_empty()),
        proof: (),
    }))
}
