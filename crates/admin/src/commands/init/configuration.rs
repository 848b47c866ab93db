//! The slapd.conf of a new directory.

use std::path::Path;

use super::{SCHEMA, suffix::Suffix};

/// Quotes a text as slapd.conf needs it.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn quoted_path(path: &Path) -> Result<String, String> {
    path.to_str()
        .map(quoted)
        .ok_or_else(|| format!("{}: the name is not UTF-8", path.display()))
}

/// The lines that name the schema files.
fn includes(directory: &Path) -> Result<String, String> {
    let folder = directory.join("schema");
    let lines: Result<Vec<_>, String> = SCHEMA
        .iter()
        .map(|(name, _)| Ok(format!("include {}", quoted_path(&folder.join(name))?)))
        .collect();
    Ok(lines?.join("\n"))
}

/// The text of slapd.conf. `hash` is the hash of the administrator's password.
pub(super) fn configuration(directory: &Path, suffix: &Suffix, hash: &str) -> Result<String, String> {
    let path = |name: &str| quoted_path(&directory.join(name));
    let includes = includes(directory)?;
    let (dn, root) = (quoted(&suffix.dn), quoted(&format!("cn=admin,{}", suffix.dn)));
    Ok(format!(
        "# Made by `ironbark init`. The administrator's password is stored hashed.
{includes}
pidfile {pid}
argsfile {args}
password-hash {{ARGON2}}
sighup reload

# Passwords are accepted only over TLS (StartTLS, ldaps://) and the local socket (ldapi://).
TLSCertificateFile {certificate}
TLSCertificateKeyFile {key}
security simple_bind=128
localSSF 128
sasl-mechanisms EXTERNAL PLAIN

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
index entryUUID eq

# Passwords are compared, never shown; people may change their own.
access to attrs=userPassword
  by self =xw
  by anonymous auth
  by * none
access to attrs=pwdHistory
  by * none
# All else is for those who have authenticated.
access to *
  by users read
  by * none

overlay memberof

overlay ppolicy
ppolicy_default {policy}
ppolicy_hash_cleartext
ppolicy_quality_forbid uid cn sn givenName mail

{monitor}",
        monitor = monitor(&root),
        certificate = path("tls/server.crt")?,
        key = path("tls/server.key")?,
        policy = quoted(&suffix.policy()),
        pid = path("slapd.pid")?,
        args = path("slapd.args")?,
        data = path("data")?,
        hash = quoted(hash),
    ))
}

/// The database cn=Monitor, for the administrator with this name (quoted), and for root on the machine itself.
pub(in crate::commands) fn monitor(administrator: &str) -> String {
    format!(
        "# What the server does: `ironbark advise` and `ironbark replica status` read it.
database monitor
access to dn.subtree=\"cn=Monitor\"
  by dn.exact={administrator} read
  by dn.exact=\"gidNumber=0+uidNumber=0,cn=peercred,cn=external,cn=auth\" read
  by * none
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

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
