//! The certificate of a new server, and of the authority that signs only this certificate.

use ironbark_runtime::{Clock, process::host_name};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose, date_time_ymd,
};

/// Validity of both certificates in years.
const YEARS: i32 = 10;

/// The parts that clients and the server need, as PEM.
pub(in crate::commands) struct Made {
    pub(in crate::commands) authority: String,
    pub(in crate::commands) certificate: String,
    pub(in crate::commands) key: String,
}

/// Makes a certificate for these names and the machine's own. The authority's key is not stored, so that nobody can
/// sign with it again.
pub(in crate::commands) fn make(names: &[String], clock: &Clock) -> Result<Made, String> {
    if let Some(name) = names.iter().find(|name| !is_host(name)) {
        return Err(format!("--name {name:?} is neither a host's name nor an address"));
    }
    let failed = |error: rcgen::Error| format!("the server's certificate: {error}");
    let mut all = vec![
        host_name(),
        "localhost".to_owned(),
        "127.0.0.1".to_owned(),
        "::1".to_owned(),
    ];
    all.splice(0..0, names.iter().cloned());
    let mut seen = Vec::new();
    all.retain(|name| {
        !seen.contains(name) && {
            seen.push(name.clone());
            true
        }
    });
    let own_name = all.first().cloned().unwrap_or_default();

    let mut authority = parameters(Vec::new(), &format!("Ironbark on {own_name}"), clock).map_err(failed)?;
    authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let key = KeyPair::generate().map_err(failed)?;
    let authority = CertifiedIssuer::self_signed(authority, key).map_err(failed)?;

    let mut server = parameters(all, &own_name, clock).map_err(failed)?;
    server.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let key = KeyPair::generate().map_err(failed)?;
    let server = server.signed_by(&key, &authority).map_err(failed)?;

    Ok(Made {
        authority: authority.pem(),
        certificate: server.pem(),
        key: key.serialize_pem(),
    })
}

/// Whether the name consists of labels of letters, digits and hyphens (RFC 1123 §2.1), or is an address. The first
/// label may be `*`.
fn is_host(name: &str) -> bool {
    let is_label = |label: &str| {
        let is_plain = label
            .bytes()
            .all(|octet| octet.is_ascii_alphanumeric() || octet == b'-');
        is_plain && (1..=63).contains(&label.len()) && !label.starts_with('-') && !label.ends_with('-')
    };
    let is_address = name.parse::<core::net::IpAddr>().is_ok();
    is_address || (name.len() <= 253 && name.strip_prefix("*.").unwrap_or(name).split('.').all(is_label))
}

fn parameters(names: Vec<String>, common_name: &str, clock: &Clock) -> Result<CertificateParams, rcgen::Error> {
    let mut parameters = CertificateParams::new(names)?;
    parameters.distinguished_name = DistinguishedName::new();
    parameters.distinguished_name.push(DnType::CommonName, common_name);
    let year = clock.now().utc().year;
    parameters.not_before = date_time_ymd(year - 1, 1, 1);
    parameters.not_after = date_time_ymd(year + YEARS, 1, 1);
    Ok(parameters)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_is_for_hosts_and_addresses() {
        for good in [
            "ldap.example.com",
            "a",
            "*.example.com",
            "192.0.2.1",
            "2001:db8::1",
            "xn--80ak6aa92e.com",
        ] {
            assert!(is_host(good), "{good}");
        }
        for bad in [
            "",
            "a b",
            "a..b",
            ".a",
            "-a",
            "a-",
            "*",
            "a.*",
            "\u{65e5}",
            "a\n",
            &"a".repeat(64),
        ] {
            assert!(!is_host(bad), "{bad}");
        }
    }
}
