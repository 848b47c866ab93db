//! ANONYMOUS (RFC 4505).

use super::step::{Claim, Step, StepResult, User};
use crate::refusal::SaslRefusal;

/// The longest trace information, in characters.
const MAX_TRACE: usize = 255;

/// The message is for the administrator's log; it has no other effect.
pub(crate) fn step(message: Option<&[u8]>) -> StepResult<(), ()> {
    let Some(trace) = message else {
        return Ok(Step::Challenge(Vec::new(), ()));
    };
    let is_text = std::str::from_utf8(trace).is_ok_and(|text| text.chars().count() <= MAX_TRACE);
    if !is_text {
        return Err(SaslRefusal::malformed("trace information").into());
    }
    Ok(Step::Claim(Claim {
        user: User::Anonymous,
        authorization: None,
        proof: (),
    }))
}
