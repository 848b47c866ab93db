//! Certificates for tests: an authority, and the certificates that it signs.

use std::path::Path;

use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, CertifiedIssuer, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, IsCa, Issuer, KeyIdMethod, KeyPair, KeyUsagePurpose, RevokedCertParams, SerialNumber,
    date_time_ymd,
};

use crate::{Layout, TestkitError};

/// An authority that signs certificates.
#[derive(Debug)]
pub struct CertificateAuthority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    name: String,
    next_serial: u64,
}

/// A certificate with its private key.
#[derive(Debug)]
pub struct TestCertificate {
    /// PEM.
    pub certificate: String,
    /// DER.
    pub certificate_der: Vec<u8>,
    /// PEM.
    pub key: String,
    /// DER.
    pub key_der: Vec<u8>,
    /// The number that a revocation list uses.
    pub serial: u64,
}

fn failed(error: rcgen::Error) -> TestkitError {
    TestkitError::io("cannot make a certificate")(std::io::Error::other(error))
}

/// A name from the root down: `[(OrganizationName, "Example"), (CommonName, "Ann")]` is `cn=Ann,o=Example`.
fn name(parts: &[(DnType, &str)]) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    for (kind, value) in parts {
        name.push(kind.clone(), *value);
    }
    name
}

impl CertificateAuthority {
    /// A root called `cn=<name>,o=Example`.
    pub fn new(title: &str) -> Result<Self, TestkitError> {
        let mut parameters = authority(title);
        parameters.serial_number = Some(SerialNumber::from(1));
        let key = KeyPair::generate().map_err(failed)?;
        let issuer = CertifiedIssuer::self_signed(parameters, key).map_err(failed)?;
        Ok(Self {
            issuer,
            name: title.to_owned(),
            next_serial: 2,
        })
    }

    /// An authority under this one.
    pub fn subordinate(&mut self, title: &str) -> Result<Self, TestkitError> {
        let mut parameters = authority(title);
        parameters.serial_number = Some(SerialNumber::from(self.serial()));
        let key = KeyPair::generate().map_err(failed)?;
        let issuer = CertifiedIssuer::signed_by(parameters, key, &self.issuer).map_err(failed)?;
        Ok(Self {
            issuer,
            name: title.to_owned(),
            next_serial: 2,
        })
    }

    /// The `cn` of its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its certificate as PEM.
    pub fn certificate(&self) -> String {
        self.issuer.pem()
    }

    fn serial(&mut self) -> u64 {
        let serial = self.next_serial;
        self.next_serial += 1;
        serial
    }

    /// A server's certificate, for localhost and 127.0.0.1.
    pub fn server(&mut self) -> Result<TestCertificate, TestkitError> {
        self.server_named("localhost", &["localhost", "127.0.0.1"])
    }

    /// A server's certificate with this common name, and these names in its subjectAltName; without any, it has none.
    pub fn server_named(&mut self, common_name: &str, names: &[&str]) -> Result<TestCertificate, TestkitError> {
        let parameters = server(common_name, names)?;
        self.sign(parameters)
    }

    /// As [`server`](Self::server), but it was valid in 2020 alone.
    pub fn expired_server(&mut self) -> Result<TestCertificate, TestkitError> {
        let mut parameters = server("localhost", &["localhost", "127.0.0.1"])?;
        parameters.not_before = date_time_ymd(2020, 1, 1);
        parameters.not_after = date_time_ymd(2021, 1, 1);
        self.sign(parameters)
    }

    /// The certificate of `cn=<name>,ou=People,o=Example`.
    pub fn client(&mut self, common_name: &str) -> Result<TestCertificate, TestkitError> {
        self.client_called(&[
            (DnType::OrganizationName, "Example"),
            (DnType::OrganizationalUnitName, "People"),
            (DnType::CommonName, common_name),
        ])
    }

    /// The certificate of a client whose subject is empty.
    pub fn nameless_client(&mut self) -> Result<TestCertificate, TestkitError> {
        self.client_called(&[])
    }

    fn client_called(&mut self, parts: &[(DnType, &str)]) -> Result<TestCertificate, TestkitError> {
        let mut parameters = CertificateParams::new(vec!["client.example.com".to_owned()]).map_err(failed)?;
        parameters.distinguished_name = name(parts);
        parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(parameters)
    }

    fn sign(&mut self, mut parameters: CertificateParams) -> Result<TestCertificate, TestkitError> {
        let serial = self.serial();
        parameters.serial_number = Some(SerialNumber::from(serial));
        let key = KeyPair::generate().map_err(failed)?;
        let issuer: &Issuer<'_, KeyPair> = &self.issuer;
        let certificate = parameters.signed_by(&key, issuer).map_err(failed)?;
        Ok(TestCertificate {
            certificate: certificate.pem(),
            certificate_der: certificate.der().to_vec(),
            key: key.serialize_pem(),
            key_der: key.serialize_der(),
            serial,
        })
    }

    /// A revocation list of these certificates, as PEM.
    pub fn revocation_list(&mut self, revoked: &[&TestCertificate]) -> Result<String, TestkitError> {
        let revoked = revoked.iter().map(|identity| RevokedCertParams {
            serial_number: SerialNumber::from(identity.serial),
            revocation_time: date_time_ymd(2024, 1, 1),
            reason_code: None,
            invalidity_date: None,
        });
        let parameters = CertificateRevocationListParams {
            this_update: date_time_ymd(2024, 1, 1),
            next_update: date_time_ymd(2090, 1, 1),
            crl_number: SerialNumber::from(self.serial()),
            issuing_distribution_point: None,
            revoked_certs: revoked.collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        let issuer: &Issuer<'_, KeyPair> = &self.issuer;
        let list = parameters.signed_by(issuer).map_err(failed)?;
        list.pem().map_err(failed)
    }
}

fn server(common_name: &str, names: &[&str]) -> Result<CertificateParams, TestkitError> {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut parameters = CertificateParams::new(names).map_err(failed)?;
    parameters.distinguished_name = name(&[(DnType::OrganizationName, "Example"), (DnType::CommonName, common_name)]);
    parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    Ok(parameters)
}

fn authority(title: &str) -> CertificateParams {
    let mut parameters = CertificateParams::default();
    parameters.distinguished_name = name(&[(DnType::OrganizationName, "Example"), (DnType::CommonName, title)]);
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    parameters.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    parameters
}

impl TestCertificate {
    /// Writes `<name>.crt` and `<name>.key`.
    pub fn write(&self, layout: &Layout, file: &str) -> Result<(), TestkitError> {
        layout.write(&format!("{file}.crt"), &self.certificate)?;
        layout
            .write(&format!("{file}.key"), &self.key)
            .map(|_: std::path::PathBuf| ())
    }

    /// Environment variables that make a client of ldap-utils present the files of [`TestCertificate::write`].
    pub fn environment(layout: &Layout, file: &str) -> [(&'static str, String); 2] {
        let text = |path: &Path| path.display().to_string();
        [
            ("LDAPTLS_CERT", text(&layout.join(&format!("{file}.crt")))),
            ("LDAPTLS_KEY", text(&layout.join(&format!("{file}.key")))),
        ]
    }
}
