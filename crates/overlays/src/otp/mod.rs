//! slapo-otp(5): one-time passwords, HOTP (RFC 4226) and TOTP (RFC 6238), behind the password in simple binds.
//!
//! A user names its token, which has the secret and what was used last; the token names its parameters. All is read and
//! recorded in the transaction that judges the bind, so a one-time password counts once, however many clients send it.

mod names;
mod schema;
mod token;

use std::sync::Arc;

use ironbark_config::{
    SettingError,
    overlay::{AnySettings, Occurrence, OverlayDescriptor},
};
use ironbark_directory::{
    Modification, ModificationKind, OperationError,
    overlay::{BindAttempt, BindHooks, CompareHooks, Execution, Overlay, SecondFactor, Spending},
};
use ironbark_model::{AttributeDescription, Dn, Entry, Schema};
use ironbark_store::Location;

use self::{
    names::{KindNames, Names},
    token::{Attempt, Used},
};
use crate::Row;

pub(crate) const ROW: Row = Row {
    descriptor: OverlayDescriptor {
        name: "otp",
        modules: &[],
        occurrence: Occurrence::Once,
        class: None,
        settings: &[],
        controls: &[],
        fresh: AnySettings::of::<()>,
        schema: schema::SCHEMA,
        introduction: "The overlay asks users of class oathHOTPUser or oathTOTPUser for a one-time password, HOTP \
            (RFC 4226) or TOTP (RFC 6238), behind the password in simple binds. oathHOTPToken and oathTOTPToken of \
            the user name the token, with oathSecret; oathHOTPParams and oathTOTPParams of the token name the \
            parameters. All are entries of the same database and are read whatever the access rules say. The overlay \
            has no settings; the OATH-LDAP schema comes with it, or with the module of its name. A one-time password \
            is used up in the transaction that judges the bind, even if the password is wrong: oathHOTPCounter or \
            oathTOTPLastTimeStep of the token has the last one, and earlier ones fail. If that cannot be written, the \
            bind fails. A user whose token is missing or cannot be used does not come in. oathHOTPLookAhead and \
            oathTOTPTimeStepWindow beyond 1000 count as 1000. oathTOTPTimeStepDrift of the token notes how far the \
            client's clock is off; as in slapd, the value that counts is that of the parameters, so a drift is only \
            followed if both are one entry. A comparison with oathSecret of a token is a comparison with the next \
            one-time password, and uses it up, for clients with compare access to it. Searches are subject to access \
            rules alone: nobody but managers should read oathSecret. On a replica all this fails, as in slapd without \
            overlay chain: what is used there would still be valid elsewhere. SASL binds are not asked, as in slapd. \
            Otherwise than in slapd, password policies see a wrong one-time password as a failure in any order of \
            the overlays, a user may have both tokens, and who may not compare is told so or, without disclose \
            access, that there is no entry.",
    },
    make: |_, schema| make(schema),
};

/// The overlay.
struct Otp {
    schema: Arc<Schema>,
    names: Names,
}

fn make(schema: &Arc<Schema>) -> Result<Overlay, SettingError> {
    let otp = Arc::new(Otp {
        names: Names::of(schema)?,
        schema: Arc::clone(schema),
    });
    Ok(Overlay {
        binds: Some(Arc::clone(&otp) as _),
        comparisons: Some(otp),
        ..Overlay::new("otp")
    })
}

impl BindHooks for Otp {
    fn judge_bind(&self, _: &mut Execution<'_, '_>, _: &mut BindAttempt<'_>) -> Result<(), OperationError> {
        Ok(())
    }

    fn asks_second_factor(&self) -> bool {
        true
    }

    fn second_factor(
        &self,
        execution: &Execution<'_, '_>,
        entry: &Entry,
        presented: &[u8],
    ) -> Result<Option<SecondFactor>, OperationError> {
        if !entry.is_of_class(&self.schema, self.names.user_class) {
            return Ok(None);
        }
        for kind in [&self.names.totp, &self.names.hotp] {
            let Some(token) = self.named(execution, entry, &kind.token)? else {
                continue;
            };
            let right = self.check(execution, kind, &token, presented, false)?;
            if let Some(spending) = right {
                return Ok(Some(SecondFactor::Right(Box::new(spending))));
            }
        }
        Ok(Some(SecondFactor::Wrong))
    }
}

impl CompareHooks for Otp {
    fn attribute(&self) -> &AttributeDescription {
        &self.names.secret
    }

    fn compare(
        &self,
        execution: &Execution<'_, '_>,
        entry: &Entry,
        value: &[u8],
    ) -> Result<Option<SecondFactor>, OperationError> {
        let is_token = |kind: &&&KindNames| entry.is_of_class(&self.schema, kind.token_class);
        let kinds = [&self.names.totp, &self.names.hotp];
        let Some(kind) = kinds.iter().find(is_token) else {
            return Ok(None);
        };
        let right = self.check(execution, kind, entry, value, true)?;
        Ok(Some(right.map_or(SecondFactor::Wrong, |spending| {
            SecondFactor::Right(Box::new(spending))
        })))
    }
}

impl Otp {
    /// Checks a one-time password against a token; `None`: it is wrong, or the token cannot be used.
    fn check(
        &self,
        execution: &Execution<'_, '_>,
        kind: &KindNames,
        token: &Entry,
        presented: &[u8],
        is_alone: bool,
    ) -> Result<Option<Spending>, OperationError> {
        if !token.is_of_class(&self.schema, kind.token_class) {
            return Ok(None);
        }
        let params = self.named(execution, token, &kind.params)?;
        let Some(params) = params.filter(|params| params.is_of_class(&self.schema, kind.params_class)) else {
            return Ok(None);
        };
        let attempt = Attempt {
            names: &self.names,
            token,
            params: &params,
            presented,
            is_alone,
        };
        let used = if kind.last == self.names.totp.last {
            attempt.by_time(execution.directory.clock().now().unix_seconds())
        } else {
            attempt.by_counter()
        };
        match used {
            Ok(used) => Ok(used.map(|used| self.spending(kind, token, &used))),
            Err(why) => {
                execution.warn(format_args!("token \"{}\" cannot be used: {why}", token.dn.pretty()));
                Ok(None)
            }
        }
    }

    /// The changes of a token. As in slapd, the former value is deleted by value, for those who follow the changes.
    fn spending(&self, kind: &KindNames, token: &Entry, used: &Used) -> Spending {
        let change = |kind, name, value| Modification::internal(&self.schema, kind, name, vec![value]);
        let number = |number: i64| number.to_string().into_bytes();
        let former = token::first(token, &kind.last).map(<[u8]>::to_vec);
        let former = former.map(|value| change(ModificationKind::Delete, &kind.last, value));
        let mut modifications = Vec::from_iter(former);
        modifications.push(change(ModificationKind::Add, &kind.last, number(used.counter)));
        if let Some(drift) = used.drift {
            modifications.push(change(ModificationKind::Replace, &self.names.drift, number(drift)));
        }
        Spending {
            octets: used.digits,
            keeper: token.dn.clone(),
            modifications,
            key: None,
        }
    }

    /// The entry of the database that an attribute names, if there is one.
    fn named(
        &self,
        execution: &Execution<'_, '_>,
        entry: &Entry,
        name: &AttributeDescription,
    ) -> Result<Option<Entry>, OperationError> {
        let Some(dn) = token::first(entry, name).and_then(|value| Dn::parse(&self.schema, value).ok()) else {
            return Ok(None);
        };
        let view = execution.view();
        let Location::Entry(id) = view.locate(&dn)? else {
            return Ok(None);
        };
        match view.record(id)? {
            Some(record) => Ok(Some(record.to_entry(view.dn(id)?)?)),
            None => Ok(None),
        }
    }
}
