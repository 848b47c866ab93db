//! `ironbark init`: a new directory with safe settings, an administrator, and the first entries.

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
use ironbark_ldif::Writer;
use ironbark_model::{
    Dn, Schema,
    schema::{SchemaBuilder, file},
};
use ironbark_runtime::Randomness;

use crate::tool::{self, slappasswd};

/// Options of `ironbark init`.
#[derive(Debug, Args)]
pub(crate) struct Init {
    /// The directory to make; it must not exist, or be empty
    directory: PathBuf,
    /// The suffix, such as dc=example,dc=com
    #[arg(long, value_name = "DN")]
    suffix: String,
    /// Name of the organization; taken from the suffix without it
    #[arg(long, value_name = "NAME")]
    organization: Option<String>,
}

/// Schema files that a new directory begins with.
const SCHEMA: &[(&str, &str)] = &[
    ("core.schema", include_str!("../../../../schema/core.schema")),
    ("cosine.schema", include_str!("../../../../schema/cosine.schema")),
    (
        "inetorgperson.schema",
        include_str!("../../../../schema/inetorgperson.schema"),
    ),
    ("nis.schema", include_str!("../../../../schema/nis.schema")),
];

/// Characters of the administrator's password: 120 bits.
const PASSWORD_LENGTH: usize = 20;

impl Init {
    pub(super) fn run(&self) -> Result<(), String> {
        let suffix = Suffix::new(&self.suffix, self.organization.as_deref())?;
        let directory = make_directory(&self.directory)?;
        for folder in ["data", "schema"] {
            make_private(&directory.join(folder))?;
        }
        for (name, text) in SCHEMA {
            write_private(&directory.join("schema").join(name), text.as_bytes())?;
        }
        let randomness = Randomness::system();
        let password = slappasswd::generate(&randomness, PASSWORD_LENGTH)?;
        let hash = hash(&password, &randomness)?;
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
        let loaded = tool::run("slapadd", words.to_vec());
        fs::remove_file(&ldif).map_err(|error| format!("{}: {error}", ldif.display()))?;
        if loaded != ExitCode::SUCCESS {
            return Err("the first entries could not be added".to_owned());
        }
        print!("{}", welcome(&directory, &suffix, &String::from_utf8_lossy(&password)));
        Ok(())
    }
}

/// The suffix and its entry.
struct Suffix {
    dn: String,
    class: &'static str,
    attributes: Vec<(String, String)>,
}

impl Suffix {
    fn new(text: &str, organization: Option<&str>) -> Result<Self, String> {
        let schema = schema()?;
        let wrong = || format!("{text}: a suffix begins with dc, o, ou, c or l");
        let dn = Dn::parse(&schema, text.as_bytes()).map_err(|_| format!("{text}: no DN"))?;
        let (first, _) = dn.rdn(0).ok_or_else(wrong)?;
        let first = String::from_utf8_lossy(first).into_owned();
        let values = dn.leaf_assertions(&schema);
        let [(_, value)] = values.as_slice() else {
            return Err(wrong());
        };
        let value = String::from_utf8_lossy(value).into_owned();
        let name = first.split('=').next().unwrap_or_default().to_ascii_lowercase();
        let class = match name.as_str() {
            "dc" => "domain",
            "o" => "organization",
            "ou" => "organizationalUnit",
            "c" => "country",
            "l" => "locality",
            _ => return Err(wrong()),
        };
        let mut attributes = vec![(name.clone(), value.clone())];
        if name == "dc" {
            attributes.push(("o".to_owned(), organization.unwrap_or(&value).to_owned()));
        } else if let (Some(organization), true) = (organization, name != "o") {
            attributes.push(("description".to_owned(), organization.to_owned()));
        }
        let class = if name == "dc" { "organization" } else { class };
        Ok(Self {
            dn: dn.pretty().to_owned(),
            class,
            attributes,
        })
    }

    /// The suffix entry and the containers below it, as LDIF.
    fn entries(&self) -> Vec<u8> {
        let writer = Writer::default();
        let mut out = Vec::new();
        let mut entry = |dn: &str, classes: &[&str], attributes: &[(String, String)]| {
            writer.dn(&mut out, dn.as_bytes());
            for class in classes {
                writer.attribute(&mut out, b"objectClass", class.as_bytes());
            }
            for (name, value) in attributes {
                writer.attribute(&mut out, name.as_bytes(), value.as_bytes());
            }
            out.push(b'\n');
        };
        let is_domain = self.attributes.iter().any(|(name, _)| name == "dc");
        let classes: &[&str] = if is_domain {
            &["dcObject", self.class]
        } else {
            &[self.class]
        };
        entry(&self.dn, classes, &self.attributes);
        for name in ["people", "groups"] {
            let dn = format!("ou={name},{}", self.dn);
            entry(&dn, &["organizationalUnit"], &[("ou".to_owned(), name.to_owned())]);
        }
        out
    }
}

/// The schema of the new directory.
fn schema() -> Result<Arc<Schema>, String> {
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

fn make_private(path: &Path) -> Result<(), String> {
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

fn hash(secret: &[u8], randomness: &Randomness) -> Result<String, String> {
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

/// slapd.conf's quoting.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn configuration(directory: &Path, suffix: &Suffix, hash: &str) -> Result<String, String> {
    let path = |name: &str| {
        let path = directory.join(name);
        path.to_str()
            .map(quoted)
            .ok_or_else(|| format!("{}: the name is not UTF-8", path.display()))
    };
    let mut includes = String::new();
    for (name, _) in SCHEMA {
        let file = path(&format!("schema/{name}"))?;
        includes.push_str("include ");
        includes.push_str(&file);
        includes.push('\n');
    }
    let (dn, root) = (quoted(&suffix.dn), quoted(&format!("cn=admin,{}", suffix.dn)));
    Ok(format!(
        "# Made by `ironbark init`. The administrator's password is stored hashed.
{includes}
pidfile {pid}
argsfile {args}
password-hash {{ARGON2}}

# One address gets no more than its share of connections and of guesses.
connection-limit 200
bind-failure-limit 20/60

# Anyone may ask what this server can do, and nothing else.
access to dn.base=\"\"
  by * read

database mdb
suffix {dn}
rootdn {root}
rootpw {hash}
directory {data}
index objectClass eq
index uid,mail eq
index cn,sn,givenName eq,sub
index member,memberOf eq
index entryUUID,entryCSN eq

# Passwords are compared, never shown; people may change their own.
access to attrs=userPassword
  by self =xw
  by anonymous auth
  by * none
# All else is for those who have authenticated.
access to *
  by users read
  by * none

overlay memberof
",
        pid = path("slapd.pid")?,
        args = path("slapd.args")?,
        data = path("data")?,
        hash = quoted(hash),
    ))
}

fn welcome(directory: &Path, suffix: &Suffix, secret: &str) -> String {
    let directory = directory.display();
    let dn = &suffix.dn;
    format!(
        "A new directory is in {directory}.

  administrator  cn=admin,{dn}
  password       {secret}

The password is shown this once; {directory}/slapd.conf has its hash alone. Next:

  ironbark serve -c {directory}/slapd.conf -l ldap://127.0.0.1:3890/
  ironbark health -H ldap://127.0.0.1:3890/
  ldapsearch -x -H ldap://127.0.0.1:3890/ -D cn=admin,{dn} -W -b {dn}
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_suffix_entry_follows_from_its_name() {
        let text = |suffix: &str| String::from_utf8(Suffix::new(suffix, None).unwrap().entries()).unwrap();
        let domain = text("dc=example,dc=com");
        let expected =
            "dn: dc=example,dc=com\nobjectClass: dcObject\nobjectClass: organization\ndc: example\no: example\n\n";
        assert!(domain.starts_with(expected), "{domain}");
        assert!(
            domain.contains("dn: ou=people,dc=example,dc=com\n")
                && domain.contains("dn: ou=groups,dc=example,dc=com\n")
        );
        assert!(text("o=Acme").starts_with("dn: o=Acme\nobjectClass: organization\no: Acme\n\n"));
        assert!(text("c=NL").contains("objectClass: country\nc: NL\n"));
        assert!(
            Suffix::new("cn=x", None).is_err() && Suffix::new("", None).is_err() && Suffix::new("x", None).is_err()
        );
    }

    #[test]
    fn the_configuration_shows_no_password() {
        let suffix = Suffix::new("dc=example,dc=com", Some("Example \"Inc\"")).unwrap();
        let text = configuration(Path::new("/a b"), &suffix, "{ARGON2}$x").unwrap();
        assert!(
            text.contains("rootpw \"{ARGON2}$x\"") && text.contains("directory \"/a b/data\""),
            "{text}"
        );
        assert_eq!(quoted("a\"b\\c"), "\"a\\\"b\\\\c\"");
    }
}
