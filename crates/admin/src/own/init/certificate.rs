//! The certificate of a new server, and of the authority that has signed it and nothing else.

use std::path::Path;

use ironbark_runtime::{Clock, process::host_name};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose, date_time_ymd,
};

use super::write_private;

/// Years for which both are good.
const YEARS: i32 = 10;

/// Writes `ca.crt`, `server.crt` and `server.key` (PEM). The authority's key is not kept: nobody can sign with it again.
pub(super) fn make(directory: &Path, names: &[String], clock: &Clock) -> Result<(), String> {
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

    write_private(&directory.join("ca.crt"), authority.pem().as_bytes())?;
    write_private(&directory.join("server.crt"), server.pem().as_bytes())?;
    write_private(&directory.join("server.key"), key.serialize_pem().as_bytes())
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
