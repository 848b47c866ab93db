//! The source of values and includes that are given as URLs.

use std::{
    fs::File,
    io::{BufRead, BufReader, Read},
    path::PathBuf,
};

/// Reads the content of a URL.
pub trait Resolver {
    /// The bytes of `name:< url`. The text of the error is shown to the user.
    fn value(&mut self, url: &str) -> Result<Vec<u8>, String>;
    /// The input of `include: url`.
    fn open(&mut self, url: &str) -> Result<Box<dyn BufRead>, String>;
}

/// Refuses every URL. For LDIF from untrusted sources.
#[derive(Clone, Copy, Default, Debug)]
pub struct NoFiles;

impl Resolver for NoFiles {
    fn value(&mut self, _url: &str) -> Result<Vec<u8>, String> {
        Err("URLs are not allowed here".into())
    }
    fn open(&mut self, _url: &str) -> Result<Box<dyn BufRead>, String> {
        Err("includes are not allowed here".into())
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
    fn value(&mut self, url: &str) -> Result<Vec<u8>, String> {
        let file = File::open(path(url)?).map_err(|error| error.to_string())?;
        let mut bytes = Vec::new();
        file.take(self.max_value.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(|error| error.to_string())?;
        if bytes.len() as u64 > self.max_value {
            return Err(format!("longer than {} bytes", self.max_value));
        }
        Ok(bytes)
    }
    fn open(&mut self, url: &str) -> Result<Box<dyn BufRead>, String> {
        let file = File::open(path(url)?).map_err(|error| error.to_string())?;
        Ok(Box::new(BufReader::with_capacity(1 << 16, file)))
    }
}

/// The path of `file:///path`, `file://localhost/path`, `file:/path` or, as OpenLDAP takes it, `file://relative/path`.
fn path(url: &str) -> Result<PathBuf, String> {
    let rest = match url.get(..5) {
        Some(scheme) if scheme.eq_ignore_ascii_case("file:") => url.get(5..).unwrap_or_default(),
        _ => return Err("only file: URLs are supported".into()),
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
        plain.push(u8::from_str_radix(digits, 16).map_err(|_| "bad percent-encoding")?);
    }
    let text = String::from_utf8(plain).map_err(|_| "bad percent-encoding")?;
    if text.is_empty() || text.contains('\0') {
        Err("no path".into())
    } else {
        Ok(PathBuf::from(text))
    }
}
