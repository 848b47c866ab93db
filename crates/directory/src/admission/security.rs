//! `security`: refuses requests over a connection that is not protected well enough.

use ironbark_config::SecurityFactors;

use crate::{Strength, refusal::AdmissionRefusal};

/// What a connection is used for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Purpose {
    SimpleBind,
    /// A SASL bind, which may itself make the connection strong.
    SaslBind,
    Operation {
        is_update: bool,
    },
}

/// Compares the demanded factors with the connection's, in slapd's order.
///
/// # Errors
/// `confidentialityRequired`.
pub(crate) fn check(demanded: &SecurityFactors, purpose: Purpose, strength: Strength) -> Result<(), AdmissionRefusal> {
    if *demanded == SecurityFactors::default() {
        return Ok(());
    }
    let is_update = purpose == Purpose::Operation { is_update: true };
    let is_simple = purpose == Purpose::SimpleBind;
    let is_no_sasl_bind = purpose != Purpose::SaslBind;
    let rules = [
        (true, strength.transport, demanded.transport, "transport "),
        (true, strength.tls, demanded.tls, "TLS "),
        (is_simple, strength.ssf, demanded.simple_bind, ""),
        (is_no_sasl_bind, strength.sasl, demanded.sasl, "SASL "),
        (is_no_sasl_bind, strength.ssf, demanded.ssf, ""),
    ];
    for (applies, held, asked, kind) in rules {
        refuse(applies && held < asked, held, kind, false)?;
    }
    let rules = [
        (strength.transport, demanded.update_transport, "transport "),
        (strength.tls, demanded.update_tls, "TLS "),
        (strength.sasl, demanded.update_sasl, "SASL "),
        (strength.ssf, demanded.update_ssf, ""),
    ];
    for (held, asked, kind) in rules {
        refuse(is_update && held < asked, held, kind, true)?;
    }
    Ok(())
}

fn refuse(is_refused: bool, held: u32, kind: &'static str, is_update: bool) -> Result<(), AdmissionRefusal> {
    if !is_refused {
        return Ok(());
    }
    let has_some = held != 0;
    Err(AdmissionRefusal::NeedsConfidentiality {
        kind,
        has_some,
        is_update,
    })
}

#[cfg(test)]
mod tests {
    use ironbark_model::ResultCode;

    use super::*;
    use crate::OperationError;

    fn refusal(demanded: SecurityFactors, purpose: Purpose, strength: Strength) -> Option<String> {
        let error = OperationError::from(check(&demanded, purpose, strength).err()?);
        assert_eq!(error.result_code, ResultCode::CONFIDENTIALITY_REQUIRED);
        Some(error.diagnostic_message.to_string())
    }

    #[test]
    fn each_factor_is_about_its_own_protection_and_purpose() {
        let (reads, updates) = (
            Purpose::Operation { is_update: false },
            Purpose::Operation { is_update: true },
        );
        let plain = Strength::default();
        let local = Strength::of_transport(71);
        let tls = Strength {
            ssf: 128,
            tls: 128,
            ..plain
        };
        let of_tls = SecurityFactors {
            tls: 1,
            ..SecurityFactors::default()
        };
        for purpose in [reads, updates, Purpose::SimpleBind, Purpose::SaslBind] {
            let text = refusal(of_tls, purpose, local);
            assert_eq!(text.as_deref(), Some("TLS confidentiality required"));
            assert_eq!(refusal(of_tls, purpose, tls), None);
        }
        let of_all = SecurityFactors {
            ssf: 256,
            ..SecurityFactors::default()
        };
        let text = refusal(of_all, reads, tls);
        assert_eq!(text.as_deref(), Some("stronger confidentiality required"));
        assert_eq!(refusal(of_all, Purpose::SaslBind, plain), None);
        let of_updates = SecurityFactors {
            update_ssf: 72,
            ..SecurityFactors::default()
        };
        assert_eq!(refusal(of_updates, reads, plain), None);
        let text = refusal(of_updates, updates, local);
        assert_eq!(text.as_deref(), Some("stronger confidentiality required for update"));
        let of_passwords = SecurityFactors {
            simple_bind: 64,
            ..SecurityFactors::default()
        };
        let text = refusal(of_passwords, Purpose::SimpleBind, plain);
        assert_eq!(text.as_deref(), Some("confidentiality required"));
        assert_eq!(refusal(of_passwords, Purpose::SimpleBind, local), None);
        assert_eq!(refusal(of_passwords, Purpose::SaslBind, plain), None);
    }
}
