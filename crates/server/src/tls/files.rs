//! The files that TLS settings name: read, and watched for changes.

use std::{
    fmt, fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use ironbark_config::{SettingError, TlsConfig};
use ironbark_model::syntax::Certificate;
use rustls::pki_types::{
    CertificateDer, CertificateRevocationListDer, PrivateKeyDer,
    pem::{self, PemObject},
};

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
        paths.extend(in_directory(directory).unwrap_or_default());
    }
    paths
}

fn directories(settings: &TlsConfig) -> impl Iterator<Item = &Path> {
    let all = settings.ca_certificate_path.as_deref().unwrap_or_default();
    all.split(';').filter(|path| !path.is_empty()).map(Path::new)
}

/// The files of a directory, in order.
fn in_directory(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_file() {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// Reads everything.
///
/// # Errors
/// Names the setting or the file, and the reason.
pub(super) fn read(settings: &TlsConfig) -> Result<Material, SettingError> {
    let (authorities, mut revocations) = authorities(settings)?;
    if let Some(path) = &settings.crl_file {
        let lists: Vec<_> = items(path)?;
        if lists.is_empty() {
            return Err(unavailable(path, &"no revocation list"));
        }
        revocations.extend(lists);
    }
    let mut chain = own_chain(settings)?;
    complete(&mut chain, &authorities);
    Ok(Material {
        chain,
        key: key(settings)?,
        authorities,
        revocations,
    })
}

type Authorities = (Vec<CertificateDer<'static>>, Vec<CertificateRevocationListDer<'static>>);

fn authorities(settings: &TlsConfig) -> Result<Authorities, SettingError> {
    let (mut certificates, mut revocations) = (Vec::new(), Vec::new());
    if let Some(der) = &settings.ca_certificate {
        certificates.push(CertificateDer::from(der.clone()));
    }
    if let Some(path) = &settings.ca_certificate_file {
        let found: Vec<CertificateDer<'static>> = items(path)?;
        if found.is_empty() {
            return Err(unavailable(path, &"no certificate"));
        }
        certificates.extend(found);
        revocations.extend(items(path)?);
    }
    for directory in directories(settings) {
        let paths = in_directory(directory).map_err(|error| unavailable(directory, &error))?;
        for path in paths {
            certificates.extend(items(&path)?);
            revocations.extend(items(&path)?);
        }
    }
    Ok((certificates, revocations))
}

fn own_chain(settings: &TlsConfig) -> Result<Vec<CertificateDer<'static>>, SettingError> {
    if let Some(der) = &settings.certificate {
        return Ok(vec![CertificateDer::from(der.clone())]);
    }
    let path = settings.certificate_file.as_deref();
    let path = path.ok_or("TLSCertificateFile is missing: a server needs a certificate")?;
    let chain: Vec<_> = items(path)?;
    if chain.is_empty() {
        return Err(unavailable(path, &"no certificate"));
    }
    Ok(chain)
}

fn key(settings: &TlsConfig) -> Result<PrivateKeyDer<'static>, SettingError> {
    if let Some(der) = &settings.key {
        return PrivateKeyDer::try_from(der.clone()).map_err(|reason| format!("TLSCertificateKey: {reason}").into());
    }
    let path = settings.key_file.as_deref();
    let path = path.ok_or("TLSCertificateKeyFile is missing: a server needs a private key")?;
    let text = fs::read(path).map_err(|error| unavailable(path, &error))?;
    if text.windows(ENCRYPTED.len()).any(|part| part == ENCRYPTED) {
        return Err(unavailable(path, &"the private key is encrypted"));
    }
    PrivateKeyDer::from_pem_slice(&text).map_err(|error| match error {
        pem::Error::NoItemsFound => unavailable(path, &"no private key"),
        error => unavailable(path, &error),
    })
}

/// Both PKCS#8 (`BEGIN ENCRYPTED PRIVATE KEY`) and older forms (`Proc-Type: 4,ENCRYPTED`) have this word.
const ENCRYPTED: &[u8] = b"ENCRYPTED";

/// The items of one kind in a PEM file.
fn items<T: PemObject>(path: &Path) -> Result<Vec<T>, SettingError> {
    let text = fs::read(path).map_err(|error| unavailable(path, &error))?;
    let items: Result<Vec<T>, pem::Error> = T::pem_slice_iter(&text).collect();
    items.map_err(|error| unavailable(path, &error))
}

fn unavailable(path: &Path, reason: &dyn fmt::Display) -> SettingError {
    SettingError::Unavailable(format!("{}: {reason}", path.display()))
}

/// Appends the issuers of a certificate that the authorities contain, except the self-signed one, as OpenSSL does.
fn complete(chain: &mut Vec<CertificateDer<'static>>, authorities: &[CertificateDer<'static>]) {
    while chain.len() < MAX_CHAIN {
        let Some(last) = chain.last().and_then(|last| Certificate::parse(last).ok()) else {
            return;
        };
        if last.issuer == last.subject {
            return;
        }
        let issuer = authorities.iter().find(|one| {
            Certificate::parse(one).is_ok_and(|one| one.subject == last.issuer && one.subject != one.issuer)
        });
        let Some(issuer) = issuer.filter(|issuer| !chain.contains(issuer)).cloned() else {
            return;
        };
        chain.push(issuer);
    }
}

const MAX_CHAIN: usize = 10;
