//! slappasswd: makes values of userPassword.

use std::{
    ffi::OsString,
    io::{self, Write},
    os::unix::fs::MetadataExt,
    process::ExitCode,
};

use ironbark_config::parts;
use ironbark_directory::password::{self, Scheme};
use ironbark_runtime::Randomness;

use crate::shared::{
    access_options::ask,
    options::{Grammar, Options, Told},
};

const GRAMMAR: Grammar = Grammar {
    program: "slappasswd",
    letters: "c:d:gh:no:s:T:uv",
    usage: "slappasswd [options]\n\
        \x20 -c format\tcrypt(3) salt format\n\
        \x20 -g\t\tgenerate random password\n\
        \x20 -h hash\tpassword scheme\n\
        \x20 -n\t\tomit trailing newline\n\
        \x20 -o <opt>[=val] specify an option with a(n optional) value\n\
        \x20 \tmodule-path=<pathspec>\n\
        \x20 \tmodule-load=<filename>\n\
        \x20 -s secret\tnew password\n\
        \x20 -u\t\tgenerate RFC2307 values (default)\n\
        \x20 -v\t\tincrease verbosity\n\
        \x20 -T file\tread file for new password",
    generic: &["module-path", "module-load"],
    operands: false,
};

/// The request that the options make.
#[derive(Debug, Default)]
struct Request {
    secret: Option<Vec<u8>>,
    file: Option<OsString>,
    generate: bool,
    schemes: Option<String>,
    salt_format: Option<String>,
    no_newline: bool,
}

/// Length of a generated password.
const GENERATED_LENGTH: usize = 8;
const ALPHABET: &[u8; 64] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789./";

/// Runs slappasswd; `arguments` begin with the program's name.
pub(crate) fn run(arguments: Vec<OsString>) -> ExitCode {
    let options = match Options::read(&GRAMMAR, arguments) {
        Ok(options) => options,
        Err(Told(code)) => return code,
    };
    options.start_log();
    let request = match Request::new(&options) {
        Ok(request) => request,
        Err(text) => return options.usage(&GRAMMAR, &text).0,
    };
    match request.values() {
        Ok(text) => {
            let newline: &[u8] = if request.no_newline { b"" } else { b"\n" };
            let mut out = io::stdout().lock();
            match out
                .write_all(&text)
                .and_then(|()| out.write_all(newline))
                .and_then(|()| out.flush())
            {
                Ok(()) => ExitCode::SUCCESS,
                Err(_) => ExitCode::FAILURE,
            }
        }
        Err(text) => {
            eprintln!("{text}");
            ExitCode::FAILURE
        }
    }
}

impl Request {
    fn new(options: &Options) -> Result<Self, String> {
        let mut request = Self::default();
        for opt in &options.own {
            let text = || opt.text().map(str::to_owned).map_err(|error| error.to_string());
            match opt.letter {
                'c' => request.salt_format = Some(text()?),
                'g' => request.generate = true,
                'h' => request.schemes = Some(text()?),
                'n' => request.no_newline = true,
                's' => request.secret = Some(opt.value.as_encoded_bytes().to_vec()),
                'T' => request.file = Some(opt.value.clone()),
                // -u is the default.
                _ => {}
            }
        }
        request.settle_source()?;
        let registry = ironbark_overlays::registry();
        for (name, value) in &options.generic {
            let known = value
                .as_deref()
                .and_then(|value| registry.parts().module(value.split(' ').next()?));
            match (name.as_str(), value) {
                ("module-path", Some(_)) => {}
                ("module-load", Some(_)) if known.is_some_and(parts::is_built) => {}
                _ => {
                    return Err(format!(
                        "-o {name}={}: no such module",
                        value.as_deref().unwrap_or_default()
                    ));
                }
            }
        }
        if let Some(format) = &request.salt_format
            && format.matches('%').count() != 1
        {
            return Err(wrong_format(format));
        }
        Ok(request)
    }

    /// As in slapd, `-T` goes before `-g`, and `-g` before `-s` and `-h`.
    fn settle_source(&mut self) -> Result<(), String> {
        if self.file.is_some() {
            if self.secret.is_some() {
                return Err("Options -s and -T are mutually exclusive".to_owned());
            }
            if self.generate {
                eprintln!("slappasswd: -g has no effect beside -T");
            }
            self.generate = false;
        }
        let clear = |schemes: &String| schemes.eq_ignore_ascii_case("{CLEARTEXT}");
        let is_hashed = self.schemes.as_ref().is_some_and(|schemes| !clear(schemes));
        if self.generate && (is_hashed || self.secret.is_some()) {
            eprintln!("slappasswd: -g shows a new password in clear; -h and -s have no effect beside it");
        }
        Ok(())
    }

    /// The values, one on each line.
    fn values(&self) -> Result<Vec<u8>, String> {
        let randomness = Randomness::system();
        if self.generate {
            return generate(&randomness, GENERATED_LENGTH);
        }
        let secret = self.secret()?;
        let wanted = self.schemes.as_deref().unwrap_or("{SSHA}");
        let mut text = Vec::new();
        for name in wanted.split(' ').filter(|name| !name.is_empty()) {
            let inner = name.strip_prefix('{').and_then(|name| name.strip_suffix('}'));
            let scheme = inner.and_then(|inner| Scheme::from_name(inner.as_bytes()));
            let failed = |why: &str| format!("Password generation failed for scheme {name}: {why}");
            let scheme = scheme.ok_or_else(|| failed("scheme not recognized"))?;
            if !text.is_empty() {
                text.push(b'\n');
            }
            text.extend(
                self.hash(scheme, &secret, &randomness)
                    .map_err(|error| failed(&error))?,
            );
        }
        Ok(text)
    }

    fn hash(&self, scheme: Scheme, secret: &[u8], randomness: &Randomness) -> Result<Vec<u8>, String> {
        let mut failure = None;
        let mut salt = |buffer: &mut [u8]| {
            if let Err(error) = randomness.fill(buffer) {
                failure = Some(error.to_string());
            }
        };
        let hashed = match &self.salt_format {
            Some(format) if scheme == Scheme::Crypt => {
                let salt = password::crypt_salt(format, &mut salt).ok_or_else(|| wrong_format(format))?;
                password::hash_crypt(secret, &salt)
            }
            _ => password::hash(scheme, secret, &mut salt),
        };
        let hashed = hashed.map_err(|error| error.to_string())?;
        failure.map_or(Ok(hashed), Err)
    }

    fn secret(&self) -> Result<Vec<u8>, String> {
        if let Some(secret) = &self.secret {
            if secret.is_empty() {
                return Err("No password".to_owned());
            }
            return Ok(secret.clone());
        }
        if let Some(path) = &self.file {
            let shown = path.display();
            let found = std::fs::metadata(path).map_err(|error| format!("{shown}: {error}"))?;
            if found.mode() & 0o006 != 0 {
                eprintln!("Warning: Password file {shown} is publicly readable/writeable");
            }
            return std::fs::read(path).map_err(|error| format!("{shown}: {error}"));
        }
        let first = ask("New password: ")?;
        if first != ask("Re-enter new password: ")? {
            return Err("Password values do not match".to_owned());
        }
        if first.is_empty() {
            return Err("No password".to_owned());
        }
        Ok(first)
    }
}

/// A random password of this length.
pub(crate) fn generate(randomness: &Randomness, length: usize) -> Result<Vec<u8>, String> {
    let mut bytes = vec![0; length];
    randomness.fill(&mut bytes).map_err(|error| error.to_string())?;
    Ok(bytes
        .iter()
        .filter_map(|byte| ALPHABET.get(usize::from(byte % 64)).copied())
        .collect())
}

fn wrong_format(format: &str) -> String {
    format!("-c {format}: one %s or %.<n>s is expected")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scheme_makes_values_that_verify() {
        for scheme in [
            "{SSHA}",
            "{SHA}",
            "{MD5}",
            "{SMD5}",
            "{SSHA512}",
            "{CRYPT}",
            "{PBKDF2}",
            "{ARGON2}",
            "{CLEARTEXT}",
        ] {
            let request = Request {
                secret: Some(b"secret".to_vec()),
                schemes: Some(scheme.to_owned()),
                ..Request::default()
            };
            let value = request.values().unwrap();
            assert!(password::verify(&value, b"secret"), "{scheme}");
            assert!(!password::verify(&value, b"Secret"), "{scheme}");
        }
    }
}
