//! LOGIN (draft-murchison-sasl-login): asks for a name, then for a password. For old clients.

use super::{Claim, Proof, Step, StepResult, User, failure};

/// What has been asked for.
pub(super) enum Exchange {
    Name,
    Password(String),
}

const NAME: &[u8] = b"Username:";
const PASSWORD: &[u8] = b"Password:";

/// A client may begin with its name.
pub(super) fn begin(message: Option<&[u8]>) -> StepResult {
    match message {
        None | Some(b"") => Ok(Step::Challenge(NAME.to_vec(), super::Exchange::Login(Exchange::Name))),
        name => step(Exchange::Name, name),
    }
}

pub(super) fn step(exchange: Exchange, message: Option<&[u8]>) -> StepResult {
    let message = message
        .filter(|message| !message.is_empty())
        .ok_or_else(failure::unauthenticated)?;
    match exchange {
        Exchange::Name => {
            let name = String::from_utf8(message.to_vec()).map_err(|_| failure::malformed("not UTF-8"))?;
            Ok(Step::Challenge(
                PASSWORD.to_vec(),
                super::Exchange::Login(Exchange::Password(name)),
            ))
        }
        Exchange::Password(name) => Ok(Step::Claim(Claim {
            user: User::Name(name),
            authorization: None,
            proof: Proof::Password(message.to_vec()),
        })),
    }
}
