//! `tls_cacert`, `tls_cacertdir` and `tls_crlcheck`: which certificates of servers are trusted.

use std::{path::Path, sync::Arc};

use ironbark_tls::{FileError, certificates, files, revocation_lists};
use rustls::{
    RootCertStore,
    client::WebPkiServerVerifier,
    crypto::CryptoProvider,
    pki_types::{CertificateDer, CertificateRevocationListDer},
};

use crate::{CrlCheck, Error, RequireCertificate, TlsSettings};

/// The certificates of authorities, and their revocation lists.
pub(super) struct Authorities {
    pub(super) certificates: Vec<CertificateDer<'static>>,
    revocations: Vec<CertificateRevocationListDer<'static>>,
}

impl Authorities {
    /// Reads the files that the settings name. If none is named and certificates are checked, the authorities of the
    /// system are read.
    ///
    /// # Errors
    /// [`Error::Setting`] with the file.
    pub(super) fn read(settings: &TlsSettings) -> Result<Self, Error> {
        let mut read = Self {
            certificates: Vec::new(),
            revocations: Vec::new(),
        };
        if let Some(path) = &settings.ca_certificate_file {
            let wrong = |error: FileError| Error::setting("tls_cacert", error.to_string());
            read.add(path).map_err(wrong)?;
            if read.certificates.is_empty() {
                return Err(wrong(FileError::new(path, "no certificate")));
            }
        }
        let directories = settings.ca_certificate_path.as_deref().unwrap_or_default();
        for directory in directories.split(';').filter(|path| !path.is_empty()).map(Path::new) {
            let wrong = |error: FileError| Error::setting("tls_cacertdir", error.to_string());
            let paths = files(directory).map_err(|error| wrong(FileError::new(directory, error)))?;
            for path in paths {
                read.add(&path).map_err(wrong)?;
            }
        }
        if let Some(path) = &settings.crl_file {
            let lists = revocation_lists(path).map_err(|error| Error::setting("TLSCRLFile", error.to_string()))?;
            read.revocations.extend(lists);
        }
        let is_named = settings.ca_certificate_file.is_some() || !directories.is_empty();
        if !is_named && is_checked(settings) {
            // Files that cannot be read are left out. If nothing remains, `verifier` says so.
            read.certificates = rustls_native_certs::load_native_certs().certs;
        }
        Ok(read)
    }

    fn add(&mut self, path: &Path) -> Result<(), FileError> {
        self.certificates.extend(certificates(path)?);
        self.revocations.extend(revocation_lists(path)?);
        Ok(())
    }

    /// The verifier of chains; `None` if certificates are not checked.
    ///
    /// # Errors
    /// [`Error::Setting`]: there is nothing to check with, or a revocation list is damaged.
    pub(super) fn verifier(
        &self,
        settings: &TlsSettings,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Option<Arc<WebPkiServerVerifier>>, Error> {
        if !is_checked(settings) {
            return Ok(None);
        }
        let mut roots = RootCertStore::empty();
        let (used, _) = roots.add_parsable_certificates(self.certificates.iter().cloned());
        if used == 0 {
            let reason = "no authority to check the server's certificate with (tls_reqcert)";
            return Err(Error::setting("tls_cacert", reason));
        }
        let mut builder = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider));
        let crl_check = settings.crl_check.unwrap_or_default();
        if crl_check != CrlCheck::None {
            if self.revocations.is_empty() {
                let reason = "no revocation list in the files of tls_cacert and tls_cacertdir";
                return Err(Error::setting("tls_crlcheck", reason));
            }
            builder = builder
                .with_crls(self.revocations.iter().cloned())
                .enforce_revocation_expiration();
        }
        if crl_check == CrlCheck::Peer {
            builder = builder.only_check_end_entity_revocation();
        }
        let verifier = builder
            .build()
            .map_err(|error| Error::setting("tls_crlcheck", error.to_string()))?;
        Ok(Some(verifier))
    }
}

fn is_checked(settings: &TlsSettings) -> bool {
    matches!(
        settings.require_certificate,
        RequireCertificate::Try | RequireCertificate::Demand
    )
}
