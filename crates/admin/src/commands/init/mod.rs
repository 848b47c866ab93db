//! `ironbark init`: a new directory with safe settings, an administrator, and the first entries.

pub(super) mod certificate;
mod configuration;
mod suffix;

use std::{
    ffi::OsString,
    fs::{self, DirBuilder, OpenOptions},
    io::Write,
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};

use clap::Args;
use ironbark_directory::password::{self, Scheme};
use ironbark_model::{
    Schema,
    schema::{SchemaBuilder, file},
};
use ironbark_runtime::{Clock, Randomness};

use self::configuration::configuration;
pub(super) use self::{configuration::monitor, suffix::Suffix};
use super::{slapadd, slappasswd};
use crate::shared::{access_options::USUAL_URL, shell};

/// Options of `ironbark init`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Init {
    /// The directory to create; it must not exist, or be empty
    directory: PathBuf,
    /// The suffix, such as dc=example,dc=com
    #[arg(long, value_name = "DN")]
    suffix: String,
    /// Name of the organization; taken from the suffix without it
    #[arg(long, value_name = "NAME")]
    organization: Option<String>,
    /// A further name or address of the server for its certificate; the machine's name and localhost are always in it
    #[arg(long = "name", value_name = "HOST")]
    names: Vec<String>,
}

const EXAMPLES: &str = "Examples:
  ironbark init ./directory --suffix dc=example,dc=com
  ironbark init /srv/ldap --suffix o=Example --name ldap.example.com";

/// A new directory with folders, schema files and certificate, and without configuration.
pub(super) struct Foundation {
    /// Its absolute path.
    pub(super) directory: PathBuf,
    /// The password of the administrator, which is stored nowhere, and its hash.
    pub(super) password: Vec<u8>,
    pub(super) hash: String,
}

/// The schema files of a new directory.
pub(super) const SCHEMA: &[(&str, &str)] = &[
    ("core.schema", include_str!("../../../../../schema/core.schema")),
    ("cosine.schema", include_str!("../../../../../schema/cosine.schema")),
    (
        "inetorgperson.schema",
        include_str!("../../../../../schema/inetorgperson.schema"),
    ),
    ("nis.schema", include_str!("../../../../../schema/nis.schema")),
];

/// Length of the administrator's password: 120 bits.
const PASSWORD_LENGTH: usize = 20;

impl Init {
    pub(super) fn run(&self) -> Result<(), String> {
        let suffix = Suffix::new(&self.suffix, self.organization.as_deref())?;
        let Foundation {
            directory,
            password,
            hash,
        } = lay_foundation(&self.directory, &self.names)?;
        let config = directory.join("slapd.conf");
        write_private(&config, configuration(&directory, &suffix, &hash)?.as_bytes())?;
        let ldif = directory.join("first.ldif");
        write_private(&ldif, &suffix.entries())?;
        let words = [
            OsString::from("slapadd"),
            "-f".into(),
            config.clone().into(),
            "-l".into(),
            ldif.clone().into(),
        ];
        let loaded = slapadd::run(words.to_vec());
        fs::remove_file(&ldif).map_err(|error| format!("{}: {error}", ldif.display()))?;
        if loaded != ExitCode::SUCCESS {
            return Err("the first entries could not be added".to_owned());
        }
        print!("{}", welcome(&directory, &suffix, &String::from_utf8_lossy(&password)));
        Ok(())
    }
}

/// Makes a directory that did not exist or was empty. `names` are further names of the server for its certificate.
pub(super) fn lay_foundation(directory: &Path, names: &[String]) -> Result<Foundation, String> {
    let tls = certificate::make(names, &Clock::system())?;
    let directory = make_directory(directory)?;
    for folder in ["data", "schema", "tls"] {
        make_private(&directory.join(folder))?;
    }
    for (name, text) in SCHEMA {
        write_private(&directory.join("schema").join(name), text.as_bytes())?;
    }
    let tls_files = [
        ("ca.crt", tls.authority),
        ("server.crt", tls.certificate),
        ("server.key", tls.key),
    ];
    for (name, text) in tls_files {
        write_private(&directory.join("tls").join(name), text.as_bytes())?;
    }
    let randomness = Randomness::system();
    let password = slappasswd::generate(&randomness, PASSWORD_LENGTH)?;
    let hash = hash(&password, &randomness)?;
    Ok(Foundation {
        directory,
        password,
        hash,
    })
}

/// The schema of the new directory.
pub(super) fn schema() -> Result<Arc<Schema>, String> {
    let mut builder = SchemaBuilder::new();
    for (name, text) in SCHEMA {
        file::read(&mut builder, text, &Arc::from(*name)).map_err(|errors| errors.to_string())?;
    }
    builder.build().map_err(|errors| errors.to_string())
}

fn make_directory(path: &Path) -> Result<PathBuf, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    match fs::read_dir(path) {
        Ok(mut entries) => {
            if entries.next().is_some() {
                return Err(format!("{}: exists and is not empty", path.display()));
            }
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => make_private(path)?,
        Err(error) => return Err(failed(error)),
    }
    path.canonicalize().map_err(failed)
}

pub(super) fn make_private(path: &Path) -> Result<(), String> {
    DirBuilder::new()
        .mode(0o700)
        .create(path)
        .map_err(|error| format!("{}: {error}", path.display()))
}

fn write_private(path: &Path, content: &[u8]) -> Result<(), String> {
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    file.and_then(|mut file| file.write_all(content))
        .map_err(|error| format!("{}: {error}", path.display()))
}

/// Writes a file that may exist already, and that only its owner may read.
pub(super) fn replace_private(path: &Path, content: &[u8]) -> Result<(), String> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(format!("{}: {error}", path.display())),
        _ => write_private(path, content),
    }
}

/// A hash of a password under the scheme of new directories.
///
/// # Errors
/// The system has no randomness, or too little memory.
pub(super) fn hash(secret: &[u8], randomness: &Randomness) -> Result<String, String> {
    let mut failure = None;
    let hashed = password::hash(Scheme::Argon2, secret, &mut |salt| {
        if let Err(error) = randomness.fill(salt) {
            failure = Some(error);
        }
    });
    if let Some(error) = failure {
        return Err(error.to_string());
    }
    String::from_utf8(hashed.map_err(|error| error.to_string())?).map_err(|error| error.to_string())
}

fn welcome(directory: &Path, suffix: &Suffix, secret: &str) -> String {
    let path = |name: &str| shell::quoted_path(&directory.join(name));
    let (config, authority) = (path("slapd.conf"), path("tls/ca.crt"));
    let administrator = format!("cn=admin,{}", suffix.dn);
    let (name, base) = (shell::quoted(&administrator), shell::quoted(&suffix.dn));
    let directory = directory.display();
    format!(
        "A new directory is in {directory}.

  administrator  {administrator}
  password       {secret}

The password is shown only once; {directory}/slapd.conf has only its hash. Next:

  ironbark serve -f {config} -H {USUAL_URL}
  ironbark health -H {USUAL_URL}
  LDAPTLS_CACERT={authority} ldapsearch -x -ZZ -H {USUAL_URL} -D {name} -W -b {base}
  ironbark advise -H {USUAL_URL} -ZZ --ca-file {authority} -D {name} -W

Clients trust {directory}/tls/ca.crt; a certificate of your own takes the place of tls/server.crt and tls/server.key.
"
    )
}
