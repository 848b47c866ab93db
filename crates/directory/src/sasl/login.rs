//! LOGIN (draft-murchison-sasl-login): asks for a name, then for a password. For old clients.

use super::step::{Claim, Step, StepResult, User};
use crate::refusal::SaslRefusal;

/// The item that the server has asked for.
pub(crate) enum Exchange {
    Name,
    Password(String),
}

/// Octets of a name. It is kept until the password comes, from strangers too.
const MAX_NAME: usize = 4_096;
const NAME: &[u8] = b"Username:";
const PASSWORD: &[u8] = b"Password:";

/// A client may send its name first.
pub(crate) fn begin(message: Option<&[u8]>) -> StepResult<Exchange, Vec<u8>> {
    match message {
        None | Some(b"") => Ok(Step::Challenge(NAME.to_vec(), Exchange::Name)),
        name => step(Exchange::Name, name),
    }
}

pub(crate) fn step(exchange: Exchange, message: Option<&[u8]>) -> StepResult<Exchange, Vec<u8>> {
    let message = message
        .filter(|message| !message.is_empty())
        .ok_or(SaslRefusal::Unauthenticated)?;
    match exchange {
        Exchange::Name => {
            if message.len() > MAX_NAME {
                return Err(SaslRefusal::malformed("name too long").into());
            }
            let name = String::from_utf8(message.to_vec()).map_err(|_| SaslRefusal::malformed("not UTF-8"))?;
            if name.contains('\0') {
                return Err(SaslRefusal::Unauthenticated.into());
            }
            Ok(Step::Challenge(PASSWORD.to_vec(), Exchange::Password(name)))
        }
        Exchange::Password(name) => Ok(Step::Claim(Claim {
            user: User::Name(name),
            authorization: None,
            proof: message.to_vec(),
        })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_short_text_without_zeros() {
        for (name, is_name) in [
            (&b"ann"[..], true),
            (&[b'a'; MAX_NAME], true),
            (&[b'a'; MAX_NAME + 1], false),
            (b"an\0n", false),
            (b"\xff", false),
        ] {
            assert_eq!(begin(Some(name)).is_ok(), is_name, "{name:?}");
            assert_eq!(step(Exchange::Name, Some(name)).is_ok(), is_name, "{name:?}");
        }
        assert!(step(Exchange::Name, None).is_err());
    }
}
