//! Certificates as strangers make them: with openssl(1), and as odd as it allows.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use crate::{Layout, TestkitError, command};

/// A folder of certificates and keys, `<name>.crt` and `<name>.key`.
#[derive(Debug)]
pub struct Strangers {
    folder: PathBuf,
}

/// What a certificate is like.
#[derive(Clone, Copy, Debug)]
pub struct Stranger<'a> {
    /// `/O=Example/CN=localhost`.
    pub subject: &'a str,
    /// The arguments of `openssl req` that make the key.
    pub key: &'a [&'a str],
    /// Lines of an extension file. Empty: the certificate is of version 1.
    pub extensions: &'a str,
    /// `sha256`.
    pub hash: &'a str,
    /// The name of the issuer; the certificate's own name: it signs itself.
    pub issuer: &'a str,
    /// From today; may be negative.
    pub days: i32,
}

impl Stranger<'_> {
    /// A key of the curve P-256.
    pub const EC: &'static [&'static str] = &["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"];
    /// One for localhost, signed by `root`.
    pub const USUAL: Self = Self {
        subject: "/O=Example/CN=localhost",
        key: Self::EC,
        extensions: "subjectAltName=DNS:localhost,IP:127.0.0.1\n",
        hash: "sha256",
        issuer: "root",
        days: 100,
    };
}

impl Strangers {
    /// The folder of a layout, with an authority `root`.
    pub fn new(layout: &Layout) -> Result<Self, TestkitError> {
        let strangers = Self {
            folder: layout.path().to_owned(),
        };
        let root = Stranger {
            subject: "/O=Example/CN=Root",
            extensions: "basicConstraints=critical,CA:TRUE\nsubjectKeyIdentifier=hash\n",
            issuer: "root",
            ..Stranger::USUAL
        };
        strangers.make("root", root)?;
        Ok(strangers)
    }

    /// Makes a certificate and its key.
    pub fn make(&self, name: &str, like: Stranger<'_>) -> Result<(), TestkitError> {
        let file = |end: &str| self.folder.join(format!("{name}.{end}")).display().to_string();
        let (key, request, certificate, extensions) = (file("key"), file("csr"), file("crt"), file("ext"));
        let mut arguments = vec![
            "req",
            "-new",
            "-noenc",
            "-subj",
            like.subject,
            "-keyout",
            &key,
            "-out",
            &request,
        ];
        arguments.extend(like.key);
        self.openssl(&arguments)?;
        let (hash, days) = (format!("-{}", like.hash), like.days.to_string());
        let mut arguments = vec![
            "x509",
            "-req",
            "-in",
            &request,
            "-out",
            &certificate,
            &hash,
            "-days",
            &days,
        ];
        let issuer = ["crt", "key"].map(|end| self.file(like.issuer, end).display().to_string());
        if like.issuer == name {
            arguments.extend(["-signkey", &key]);
        } else {
            arguments.extend(["-CA", &issuer[0], "-CAkey", &issuer[1], "-CAcreateserial"]);
        }
        if !like.extensions.is_empty() {
            std::fs::write(&extensions, like.extensions).map_err(TestkitError::io("cannot write extensions"))?;
            arguments.extend(["-extfile", &extensions]);
        }
        self.openssl(&arguments)
    }

    /// The path of a file.
    pub fn file(&self, name: &str, end: &str) -> PathBuf {
        self.folder.join(format!("{name}.{end}"))
    }

    /// Writes a file anew.
    pub fn edit(&self, name: &str, end: &str, edit: impl FnOnce(Vec<u8>) -> Vec<u8>) -> Result<(), TestkitError> {
        let path = self.file(name, end);
        let text = std::fs::read(&path).map_err(TestkitError::io("cannot read a certificate"))?;
        std::fs::write(path, edit(text)).map_err(TestkitError::io("cannot write a certificate"))
    }

    /// Runs openssl(1) in the folder.
    pub fn openssl(&self, arguments: &[&str]) -> Result<(), TestkitError> {
        let mut openssl = Command::new("openssl");
        openssl.args(arguments).current_dir(&self.folder);
        command::run(&mut openssl, b"")?.success().map(drop)
    }

    /// Whether openssl(1) takes a certificate, by the rules that its library has by default. (Debian's asks for more.)
    /// An authority that is named is trusted, also if another one has signed it.
    pub fn openssl_takes(&self, name: &str, purpose: &str, authority: &str, between: &[&str]) -> bool {
        let path = |name: &str| self.file(name, "crt").display().to_string();
        let (own, authority) = (path(name), path(authority));
        let between: Vec<_> = between.iter().map(|name| path(name)).collect();
        let mut arguments = vec!["verify", "-purpose", purpose, "-auth_level", "1", "-partial_chain"];
        arguments.extend(["-no-CApath", "-no-CAstore", "-CAfile", &authority]);
        arguments.extend(between.iter().flat_map(|file| ["-untrusted", file.as_str()]));
        arguments.push(&own);
        self.openssl(&arguments).is_ok()
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}
