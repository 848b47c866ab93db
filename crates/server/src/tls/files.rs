//! The files that TLS settings name: read, and watched for changes.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use super::fault::TlsFault;
use ironbark_config::{SettingError, TlsConfig};
use ironbark_tls::{FileError, certificates, complete, private_key, revocation_lists};
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer};

/// The content of the files that the settings name.
pub(super) struct Material {
    /// The server's certificate, followed by its issuers if they are known.
    pub(super) chain: Vec<CertificateDer<'static>>,
    /// Its private key.
    pub(super) key: PrivateKeyDer<'static>,
    /// Certificates of authorities.
    pub(super) authorities: Vec<CertificateDer<'static>>,
    /// Revocation lists.
    pub(super) revocations: Vec<CertificateRevocationListDer<'static>>,
}

/// The state of the files: enough to notice that one has been written or replaced.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Seen(Vec<(PathBuf, Option<Stamp>)>);

/// File number, length, and the times of the last changes of content and name. These times are coarse.
type Stamp = (u64, u64, [(i64, i64); 2]);

impl Seen {
    /// The present state of the files.
    pub(super) fn now(settings: &TlsConfig) -> Self {
        let stamp = |path: PathBuf| {
            let stamp = fs::metadata(&path).ok().map(|about| {
                let times = [(about.mtime(), about.mtime_nsec()), (about.ctime(), about.ctime_nsec())];
                (about.ino(), about.len(), times)
            });
            (path, stamp)
        };
        Self(paths(settings).into_iter().map(stamp).collect())
    }
}

/// All files, including those in directories.
fn paths(settings: &TlsConfig) -> Vec<PathBuf> {
    let single = [
        &settings.ca_certificate_file,
        &settings.certificate_file,
        &settings.key_file,
        &settings.crl_file,
    ];
    let mut paths: Vec<PathBuf> = single.into_iter().flatten().cloned().collect();
    for directory in directories(settings) {
        paths.push(directory.to_owned());
        paths.extend(ironbark_tls::files(directory).unwrap_or_default());
    }
    paths
}

fn directories(settings: &TlsConfig) -> impl Iterator<Item = &Path> {
    let all = settings.ca_certificate_path.as_deref().unwrap_or_default();
    all.split(';').filter(|path| !path.is_empty()).map(Path::new)
}

/// Reads everything.
///
/// # Errors
/// Names the setting or the file, and the reason.
pub(super) fn read(settings: &TlsConfig) -> Result<Material, TlsFault> {
    let (authorities, mut revocations) = authorities(settings)?;
    if let Some(path) = &settings.crl_file {
        let lists = revocation_lists(path).map_err(unavailable)?;
        if lists.is_empty() {
            return Err(unavailable(FileError::new(path, "no revocation list")).into());
        }
        revocations.extend(lists);
    }
    let (chain, key) = (own_chain(settings)?, key(settings)?);
    let missing = |setting: &str, what: &str| TlsFault::NoPair(format!("{setting} is missing: a server needs {what}"));
    let mut chain = chain.ok_or_else(|| missing("TLSCertificateFile", "a certificate"))?;
    complete(&mut chain, &authorities);
    Ok(Material {
        chain,
        key: key.ok_or_else(|| missing("TLSCertificateKeyFile", "a private key"))?,
        authorities,
        revocations,
    })
}

type Authorities = (Vec<CertificateDer<'static>>, Vec<CertificateRevocationListDer<'static>>);

fn authorities(settings: &TlsConfig) -> Result<Authorities, SettingError> {
    let (mut authorities, mut revocations) = (Vec::new(), Vec::new());
    if let Some(der) = &settings.ca_certificate {
        authorities.push(CertificateDer::from(der.clone()));
    }
    if let Some(path) = &settings.ca_certificate_file {
        let found = certificates(path).map_err(unavailable)?;
        if found.is_empty() {
            return Err(unavailable(FileError::new(path, "no certificate")));
        }
        authorities.extend(found);
        revocations.extend(revocation_lists(path).map_err(unavailable)?);
    }
    for directory in directories(settings) {
        let paths = ironbark_tls::files(directory).map_err(|error| unavailable(FileError::new(directory, error)))?;
        for path in paths {
            authorities.extend(certificates(&path).map_err(unavailable)?);
            revocations.extend(revocation_lists(&path).map_err(unavailable)?);
        }
    }
    Ok((authorities, revocations))
}

/// `None`: no setting names a certificate.
fn own_chain(settings: &TlsConfig) -> Result<Option<Vec<CertificateDer<'static>>>, SettingError> {
    if let Some(der) = &settings.certificate {
        return Ok(Some(vec![CertificateDer::from(der.clone())]));
    }
    let Some(path) = settings.certificate_file.as_deref() else {
        return Ok(None);
    };
    let chain = certificates(path).map_err(unavailable)?;
    if chain.is_empty() {
        return Err(unavailable(FileError::new(path, "no certificate")));
    }
    Ok(Some(chain))
}

/// `None`: no setting names a key.
fn key(settings: &TlsConfig) -> Result<Option<PrivateKeyDer<'static>>, SettingError> {
    if let Some(der) = &settings.key {
        let key = PrivateKeyDer::try_from(der.clone());
        return key
            .map(Some)
            .map_err(|reason| format!("TLSCertificateKey: {reason}").into());
    }
    let path = settings.key_file.as_deref();
    path.map(|path| private_key(path).map_err(unavailable)).transpose()
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn unavailable(error: FileError) -> SettingError {
    SettingError::Unavailable(error.to_string())
}
