//! `tls_cacert`, `tls_cacertdir` and `tls_crlcheck`: which certificates of servers are trusted.

use std::path::Path;

use ironbark_tls::{FileError, PeerRole, Revocation, Trust, TrustError, certificates, files, revocation_lists};
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer};

use crate::{ClientError, RequireCertificate, ServerCrlCheck, TlsSettings};

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
    /// [`ClientError::Setting`] with the file.
    pub(super) fn read(settings: &TlsSettings) -> Result<Self, ClientError> {
        let mut read = Self {
            certificates: Vec::new(),
            revocations: Vec::new(),
        };
        if let Some(path) = &settings.ca_certificate_file {
            let wrong = |error: FileError| ClientError::setting("tls_cacert", error.to_string());
            read.add(path).map_err(wrong)?;
            if read.certificates.is_empty() {
                return Err(wrong(FileError::new(path, "no certificate")));
            }
        }
        let directories = settings.ca_certificate_path.as_deref().unwrap_or_default();
        for directory in directories.split(';').filter(|path| !path.is_empty()).map(Path::new) {
            let wrong = |error: FileError| ClientError::setting("tls_cacertdir", error.to_string());
            let paths = files(directory).map_err(|error| wrong(FileError::new(directory, error)))?;
            for path in paths {
                read.add(&path).map_err(wrong)?;
            }
        }
        if let Some(path) = &settings.crl_file {
            let lists =
                revocation_lists(path).map_err(|error| ClientError::setting("TLSCRLFile", error.to_string()))?;
            read.revocations.extend(lists);
        }
        let is_named = settings.ca_certificate_file.is_some() || !directories.is_empty();
        if !is_named && is_checked(settings) {
            // Files that cannot be read are left out. If nothing remains, `trust` says so.
            read.certificates = rustls_native_certs::load_native_certs().certs;
        }
        Ok(read)
    }

    fn add(&mut self, path: &Path) -> Result<(), FileError> {
        self.certificates.extend(certificates(path)?);
        self.revocations.extend(revocation_lists(path)?);
        Ok(())
    }

    /// What a server's certificate is verified with; `None` if it is not checked.
    ///
    /// # Errors
    /// [`ClientError::Setting`]: there is nothing to check with, or a revocation list is damaged.
    pub(super) fn trust(&self, settings: &TlsSettings) -> Result<Option<Trust>, ClientError> {
        if !is_checked(settings) {
            return Ok(None);
        }
        let (revocation, lists) = match settings.crl_check.unwrap_or_default() {
            ServerCrlCheck::None => (Revocation::IfListed, &[][..]),
            ServerCrlCheck::Peer => (Revocation::Own, &self.revocations[..]),
            ServerCrlCheck::All => (Revocation::All, &self.revocations[..]),
        };
        let trust = Trust::new(
            PeerRole::Server,
            &self.certificates,
            revocation,
            lists,
            settings.is_strict,
        );
        let trust = trust.map_err(|error| match error {
            TrustError::NoAuthority => {
                let reason = "no authority to check the server's certificate with (tls_reqcert)";
                ClientError::setting("tls_cacert", reason)
            }
            TrustError::NoList => {
                let reason = "no revocation list in the files of tls_cacert and tls_cacertdir";
                ClientError::setting("tls_crlcheck", reason)
            }
            error => ClientError::setting("tls_crlcheck", error.to_string()),
        })?;
        Ok(Some(trust))
    }
}

fn is_checked(settings: &TlsSettings) -> bool {
    matches!(
        settings.require_certificate,
        RequireCertificate::Try | RequireCertificate::Demand
    )
}
