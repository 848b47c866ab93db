//! PLAIN (RFC 4616): authorization identity, name and password, with NUL between them.

use super::step::{Claim, Step, StepResult, User};
use crate::refusal::SaslRefusal;

pub(crate) fn step(message: Option<&[u8]>) -> StepResult<(), Vec<u8>> {
    let Some(message) = message else {
        return Ok(Step::Challenge(Vec::new(), ()));
    };
    let mut parts = message.split(|octet| *octet == 0);
    let (Some(authorization), Some(user), Some(password), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(SaslRefusal::malformed("three parts expected").into());
    };
    let text = |octets: &[u8]| String::from_utf8(octets.to_vec()).map_err(|_| SaslRefusal::malformed("not UTF-8"));
    let (authorization, user) = (text(authorization)?, text(user)?);
    if user.is_empty() || password.is_empty() {
        return Err(SaslRefusal::Unauthenticated.into());
    }
    Ok(Step::Claim(Claim {
        user: User::Name(user),
        authorization: Some(authorization).filter(|text| !text.is_empty()),
        proof: password.to_vec(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(message: &[u8]) -> Option<(String, Option<String>, Vec<u8>)> {
        match step(Some(message)) {
            Ok(Step::Claim(Claim {
                user: User::Name(user),
                authorization,
                proof: password,
            })) => Some((user, authorization, password)),
            _ => None,
        }
    }

    /// The examples of RFC 4616 §4.
    #[test]
    fn names_and_password_are_read() {
        let (user, authorization, password) = claim(b"\0tim\0tanstaaftanstaaf").unwrap();
        assert_eq!(
            (&*user, authorization, &*password),
            ("tim", None, &b"tanstaaftanstaaf"[..])
        );
        let (user, authorization, password) = claim(b"Ursel\0Kurt\0xipj3plmq").unwrap();
        assert_eq!(
            (&*user, authorization.as_deref(), &*password),
            ("Kurt", Some("Ursel"), &b"xipj3plmq"[..])
        );
    }

    #[test]
    fn other_messages_are_refused() {
        for message in [
            &b""[..],
            b"tim",
            b"\0tim",
            b"\0tim\0",
            b"\0\0secret",
            b"\0tim\0a\0b",
            b"\0\xff\0secret",
            b"\xff\0tim\0secret",
        ] {
            assert!(claim(message).is_none(), "{message:?}");
        }
        assert!(matches!(step(None), Ok(Step::Challenge(..))));
    }
}
