//! The source of values and includes that are given as URLs.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read},
    path::PathBuf,
};

/// Reads the content of a URL.
pub trait Resolver {
    /// The bytes of `name:< url`.
    fn value(&mut self, url: &str) -> Result<Vec<u8>, ResolveError>;
    /// The input of `include: url`.
    fn open(&mut self, url: &str) -> Result<Box<dyn BufRead>, ResolveError>;
}

/// Why a URL is not read. The text is shown to the user.
#[derive(Debug, thiserror::Error)]
pub enum ResolveError {
    /// LDIF from this source may have no URLs, or no includes.
    #[error("{0} are not allowed here")]
    NotAllowed(&'static str),
    /// The URL has another scheme.
    #[error("only file: URLs are supported")]
    NoFile,
    /// A `%` without two hexadecimal digits, or octets that are not UTF-8.
    #[error("bad percent-encoding")]
    BadEncoding,
    /// The URL names no file.
    #[error("no path")]
    NoPath,
    /// The file has more bytes than a value may have.
    #[error("longer than {0} bytes")]
    TooLong(u64),
    /// The file cannot be opened or read.
    #[error(transparent)]
    Read(#[from] io::Error),
}

/// Refuses every URL. For LDIF from untrusted sources.
#[derive(Clone, Copy, Default, Debug)]
pub struct NoFiles;

impl Resolver for NoFiles {
    fn value(&mut self, _url: &str) -> Result<Vec<u8>, ResolveError> {
        Err(ResolveError::NotAllowed("URLs"))
    }
    fn open(&mut self, _url: &str) -> Result<Box<dyn BufRead>, ResolveError> {
        Err(ResolveError::NotAllowed("includes"))
    }
}

/// Opens `file:` URLs of this machine. For command line tools.
#[derive(Clone, Copy, Debug)]
pub struct FileResolver {
    /// Greatest length of one value in bytes.
    pub max_value: u64,
}

impl Default for FileResolver {
    fn default() -> Self {
        Self { max_value: 64 << 20 }
    }
}

impl Resolver for FileResolver {
    fn value(&mut self, url: &str) -> Result<Vec<u8>, ResolveError> {
        let file = File::open(path(url)?)?;
        let mut bytes = Vec::new();
        file.take(self.max_value.saturating_add(1)).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > self.max_value {
            return Err(ResolveError::TooLong(self.max_value));
        }
        Ok(bytes)
    }
    fn open(&mut self, url: &str) -> Result<Box<dyn BufRead>, ResolveError> {
        let file = File::open(path(url)?)?;
        Ok(Box::new(BufReader::with_capacity(1 << 16, file)))
    }
}

/// The path of `file:///path`, `file://localhost/path`, `file:/path` or, as OpenLDAP takes it, `file://relative/path`.
fn path(url: &str) -> Result<PathBuf, ResolveError> {
    let rest = match url.get(..5) {
        Some(scheme) if scheme.eq_ignore_ascii_case("file:") => url.get(5..).unwrap_or_default(),
        _ => return Err(ResolveError::NoFile),
    };
    let rest = rest.strip_prefix("//").unwrap_or(rest);
    let rest = match rest.strip_prefix("localhost/") {
        Some(_) => rest.get("localhost".len()..).unwrap_or_default(),
        None => rest,
    };
    let mut plain = Vec::with_capacity(rest.len());
    let mut bytes = rest.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            plain.push(byte);
            continue;
        }
        let digits = [bytes.next().unwrap_or_default(), bytes.next().unwrap_or_default()];
        let digits = std::str::from_utf8(&digits).unwrap_or_default();
        plain.push(u8::from_str_radix(digits, 16).map_err(|_| ResolveError::BadEncoding)?);
    }
    let text = String::from_utf8(plain).map_err(|_| ResolveError::BadEncoding)?;
    if text.is_empty() || text.contains('\0') {
        Err(ResolveError::NoPath)
    } else {
        Ok(PathBuf::from(text))
    }
}
