//! Certificates, revocation lists and keys in PEM files.

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
};

use ironbark_ber::Reader;
use ironbark_model::syntax::Certificate;
use rustls::pki_types::{
    CertificateDer, CertificateRevocationListDer, PrivateKeyDer,
    pem::{Error, PemObject},
};

/// A file or directory that does not give what it should, with the reason.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{}: {reason}", path.display())]
pub struct FileError {
    /// Which one.
    pub path: PathBuf,
    /// The system's words, or ours.
    pub reason: String,
}

impl FileError {
    /// What is wrong with this file.
    pub fn new(path: &Path, reason: impl fmt::Display) -> Self {
        Self {
            path: path.to_owned(),
            reason: reason.to_string(),
        }
    }
}

/// The files of a directory, in order; directories in it are left out.
///
/// # Errors
/// The system cannot read the directory.
pub fn files(directory: &Path) -> io::Result<Vec<PathBuf>> {
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

/// The certificates in a file; there may be none.
///
/// # Errors
/// The file cannot be read, or a certificate in it is no PEM.
pub fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, FileError> {
    items(path)
}

/// The revocation lists in a file; there may be none.
///
/// # Errors
/// The file cannot be read, or a list in it is no PEM.
pub fn revocation_lists(path: &Path) -> Result<Vec<CertificateRevocationListDer<'static>>, FileError> {
    items(path)
}

/// The first private key in a file.
///
/// # Errors
/// The file cannot be read, holds no private key, or holds one that is encrypted.
pub fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, FileError> {
    let text = read(path)?;
    if text.windows(ENCRYPTED.len()).any(|part| part == ENCRYPTED) {
        return Err(FileError::new(path, "the private key is encrypted"));
    }
    PrivateKeyDer::from_pem_slice(&text).map_err(|error| match error {
        Error::NoItemsFound => FileError::new(path, "no private key"),
        error => FileError::new(path, error),
    })
}

/// Both PKCS#8 (`BEGIN ENCRYPTED PRIVATE KEY`) and older forms (`Proc-Type: 4,ENCRYPTED`) have this word.
const ENCRYPTED: &[u8] = b"ENCRYPTED";

/// The items of one kind in a PEM file. Octets behind the DER of an item are left out, as OpenSSL leaves them: a
/// trusted certificate has its settings there.
fn items<T: PemObject + AsRef<[u8]> + From<Vec<u8>>>(path: &Path) -> Result<Vec<T>, FileError> {
    let text = read(path)?;
    let items = T::pem_slice_iter(&text).map(|item| item.map(|item| first_element(item.as_ref()).to_vec().into()));
    let items: Result<Vec<T>, Error> = items.collect();
    items.map_err(|error| FileError::new(path, error))
}

/// All of it, if it is no DER.
fn first_element(octets: &[u8]) -> &[u8] {
    Reader::new(octets).read_any().map_or(octets, |first| first.encoded)
}

/// The text of a file: without a byte order mark, and with one word for what has several. OpenSSL reads all of them.
fn read(path: &Path) -> Result<Vec<u8>, FileError> {
    let text = fs::read(path).map_err(|error| FileError::new(path, error))?;
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&text);
    let lines = text.split_inclusive(|octet| *octet == b'\n');
    Ok(lines.flat_map(|line| label(line).unwrap_or(line)).copied().collect())
}

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// The usual form of a line that begins or ends a certificate; `None`: the line stays.
fn label(line: &[u8]) -> Option<&'static [u8]> {
    match line.trim_ascii() {
        b"-----BEGIN X509 CERTIFICATE-----" | b"-----BEGIN TRUSTED CERTIFICATE-----" => {
            Some(b"-----BEGIN CERTIFICATE-----\n")
        }
        b"-----END X509 CERTIFICATE-----" | b"-----END TRUSTED CERTIFICATE-----" => {
            Some(b"-----END CERTIFICATE-----\n")
        }
        _ => None,
    }
}

/// Appends the issuers of a certificate that the authorities contain, except the self-signed one, as OpenSSL does.
pub fn complete(chain: &mut Vec<CertificateDer<'static>>, authorities: &[CertificateDer<'static>]) {
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

#[cfg(test)]
mod tests {
    use ironbark_testkit::{CertificateAuthority, Layout};

    use super::*;

    #[test]
    fn files_give_what_they_hold_or_say_what_they_lack() {
        let layout = Layout::new().unwrap();
        let mut root = CertificateAuthority::new("Root").unwrap();
        root.server().unwrap().write(&layout, "server").unwrap();
        let (certificate, key) = (layout.join("server.crt"), layout.join("server.key"));
        assert_eq!(certificates(&certificate).unwrap().len(), 1);
        assert!(private_key(&key).is_ok());
        let error = private_key(&certificate).unwrap_err();
        assert_eq!((error.path, error.reason.as_str()), (certificate, "no private key"));
        let encrypted = layout
            .write("encrypted", "-----BEGIN ENCRYPTED PRIVATE KEY-----\n")
            .unwrap();
        assert_eq!(
            private_key(&encrypted).unwrap_err().reason,
            "the private key is encrypted"
        );
        assert!(certificates(&layout.join("absent")).is_err());
        let broken = layout.write("broken", "-----BEGIN CERTIFICATE-----\n?\n-----END CERTIFICATE-----\n");
        assert!(certificates(&broken.unwrap()).is_err());
        assert!(files(&layout.join("absent")).is_err());
        let names = files(layout.path()).unwrap();
        assert!(names.contains(&key) && !names.contains(&layout.join("db")), "{names:?}");
    }

    #[test]
    fn issuers_are_appended_up_to_the_root() {
        let layout = Layout::new().unwrap();
        let mut root = CertificateAuthority::new("Root").unwrap();
        let mut middle = root.subordinate("Middle").unwrap();
        let own = middle.server().unwrap();
        let text = format!("{}{}", root.certificate(), middle.certificate());
        let authorities = certificates(&layout.write("authorities", text).unwrap()).unwrap();
        let mut chain = vec![CertificateDer::from(own.certificate_der)];
        complete(&mut chain, &authorities);
        assert_eq!(chain.get(1..), authorities.get(1..));
        complete(&mut chain, &authorities);
        assert_eq!(chain.len(), 2, "the issuer is there once");
    }
}
