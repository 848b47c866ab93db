//! The overlay totp of OpenLDAP's module pw-totp: stored passwords that are keys of one-time passwords (RFC 6238).

use std::sync::Arc;

use ironbark_config::{
    SettingError,
    overlay::{AnySettings, Occurrence, OverlayDescriptor},
};
use ironbark_directory::{
    Modification, ModificationKind, OperationError,
    overlay::{BindAttempt, BindHooks, Execution, FactorKey, Overlay, SecondFactor, Spending},
    password::{
        self,
        totp::{DIGITS, Function, STEP_S, StoredKey},
    },
    stamp::generalized_time,
};
use ironbark_model::{AttributeDescription, Entry, Schema};

use crate::{
    Row,
    codes::{Algorithm, Code},
};

pub(crate) const ROW: Row = Row {
    descriptor: OverlayDescriptor {
        name: "totp",
        modules: &["pw-totp"],
        occurrence: Occurrence::Once,
        class: None,
        settings: &[],
        controls: &[],
        fresh: AnySettings::of::<()>,
        schema: "",
        introduction: "With the overlay, userPassword may have keys of one-time passwords (RFC 6238, six digits, \
            steps of 30 seconds), as with OpenLDAP's module pw-totp: `{TOTP1}`, `{TOTP256}` and `{TOTP512}` and the \
            key in base32; or `{TOTP1ANDPW}` and its like, and behind the key a bar and another stored password, which \
            is presented before the code. Only simple binds take codes, and only in a database with the overlay: \
            elsewhere such a value is never right. authTimestamp of the entry has the time of the last code that was \
            right: a code counts once, however many clients send it, also if the password before it was wrong. That \
            of the step before counts only for those that have bound earlier, as in slapd. On a replica codes are \
            refused: what is used there would still be valid elsewhere. The overlay has no settings. For tokens with \
            secrets in entries of their own, drift and HOTP, see overlay otp.",
    },
    make: |_, schema| make(schema),
};

/// The overlay.
struct Totp {
    password: AttributeDescription,
    last: AttributeDescription,
}

fn make(schema: &Arc<Schema>) -> Result<Overlay, SettingError> {
    let described = |name: &str| {
        let description = schema.attribute_description(name.as_bytes());
        description.map_err(|error| SettingError::Wrong(format!("{name}: {error}")))
    };
    let totp = Totp {
        password: described("userPassword")?,
        last: described("authTimestamp")?,
    };
    Ok(Overlay {
        binds: Some(Arc::new(totp)),
        ..Overlay::new("totp")
    })
}

impl BindHooks for Totp {
    fn judge_bind(&self, _: &mut Execution<'_, '_>, _: &mut BindAttempt<'_>) -> Result<(), OperationError> {
        Ok(())
    }

    fn asks_second_factor(&self) -> bool {
        true
    }

    /// An entry whose code is wrong needs none: it may have another stored password, and a key verifies nothing.
    fn second_factor(
        &self,
        execution: &Execution<'_, '_>,
        entry: &Entry,
        presented: &[u8],
    ) -> Result<Option<SecondFactor>, OperationError> {
        let Some(start) = presented.len().checked_sub(DIGITS) else {
            return Ok(None);
        };
        let Some(code) = presented.get(start..).and_then(Code::parse) else {
            return Ok(None);
        };
        let now_s = execution.directory.clock().now().unix_seconds();
        let steps = self.steps(entry, now_s);
        let held = entry.attribute(&self.password);
        for stored in held.map_or(&[][..], |held| &held.values) {
            let Some(key) = password::totp_key(stored) else {
                continue;
            };
            // As in slapd: an empty password behind the key is none.
            if key.password.is_some() == (start > 0) && makes(&key, code, &steps) {
                let now = generalized_time::text(now_s).into_bytes();
                let kind = ModificationKind::Replace;
                return Ok(Some(SecondFactor::Right(Box::new(Spending {
                    octets: DIGITS,
                    keeper: entry.dn.clone(),
                    modifications: vec![Modification::internal(execution.schema(), kind, &self.last, vec![now])],
                    key: Some(FactorKey {
                        value: stored.clone(),
                        password: key.password.map(<[u8]>::to_vec),
                    }),
                }))));
            }
        }
        Ok(None)
    }
}

impl Totp {
    /// The time steps whose codes count now, none of them before the last one that was used.
    fn steps(&self, entry: &Entry, now_s: i64) -> Vec<u64> {
        let present = now_s.div_euclid(STEP_S);
        let last = entry.attribute(&self.last).and_then(|held| held.values.first());
        let last = last.and_then(|value| generalized_time::seconds(value));
        let last = last.map(|last_s| last_s.div_euclid(STEP_S));
        let mut steps = Vec::new();
        if last.is_none_or(|last| last < present) {
            steps.push(present);
        }
        if last.is_some_and(|last| last < present - 1) {
            steps.push(present - 1);
        }
        steps.into_iter().filter_map(|step| u64::try_from(step).ok()).collect()
    }
}

fn makes(stored: &StoredKey<'_>, code: Code, steps: &[u64]) -> bool {
    let algorithm = match stored.function {
        Function::Sha1 => Algorithm::Sha1,
        Function::Sha256 => Algorithm::Sha256,
        Function::Sha512 => Algorithm::Sha512,
    };
    algorithm.counter_of(&stored.key, code, steps.iter().copied()).is_some()
}
