//! Copies: databases that follow another server take no changes of clients.

use ironbark_model::Dn;

use crate::{
    Configuration, NamingContext, OperationError, backend::referral, refusal::WriteRefusal,
    request::context::RequestContext,
};

/// Refuses a change of a client to a copy. The name of `updatedn` may write, and so may tools.
///
/// # Errors
/// `referral` with the URLs of `updateref`, or else of `referral`, and the name in them; `unwillingToPerform` if
/// there are none.
pub(crate) fn refuse_if_shadow(
    context: &NamingContext,
    configuration: &Configuration,
    dn: &Dn,
    origin: &RequestContext,
) -> Result<(), OperationError> {
    let settings = &context.settings;
    let is_free = origin.identity.is_tool || settings.update_dn.as_ref() == Some(&origin.identity.dn);
    if is_free || !settings.is_shadow() {
        return Ok(());
    }
    let urls = match &settings.update_referrals[..] {
        [] => &configuration.settings.referrals,
        own => own,
    };
    let referrals = referral::rewritten(configuration, urls, dn);
    if referrals.is_empty() {
        return Err(WriteRefusal::Shadow.into());
    }
    Err(OperationError::referral(String::new(), referrals))
}
