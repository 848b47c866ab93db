//! The way back to slapd: after each change of cn=config that a test makes, Debian's slapd reads what has become of it.

use std::fmt::Write as _;
use std::path::Path;

use crate::{Credentials, Flavor, ProgramOutput, Server, TestkitError, Tool};

/// Where Debian's slapd has its modules.
const MODULES: &str = "/usr/lib/ldap";

/// What slapd says of settings that it does not have, and of modules that Debian does not have.
const NEVER_READ: [&str; 2] = ["attribute type undefined", ") file not found"];

impl Server {
    /// Leaves out the check of the way back: the test has states that slapd does not read either.
    #[must_use]
    pub fn beyond_slapd(mut self) -> Self {
        self.is_beyond_slapd = true;
        self
    }

    /// Whether a program has just changed cn=config of a server whose configuration slapd should read.
    pub(crate) fn may_go_back(&self, program: &str, input: &str, outcome: &ProgramOutput) -> bool {
        let changes = matches!(program, "ldapadd" | "ldapmodify" | "ldapdelete" | "ldapmodrdn");
        let is_ours = self.flavor() == Flavor::Ironbark && !self.is_beyond_slapd;
        let names_it = input.contains("cn=config") || outcome.command.contains(",cn=config");
        is_ours && changes && names_it && outcome.code() == Some(0)
    }

    /// Has Debian's slapd read all of cn=config, as `credentials` see it.
    pub(crate) fn go_back(&self, credentials: &Credentials<'_>) -> Result<(), TestkitError> {
        let shown = self.run_client("ldapsearch", credentials, &["-b", "cn=config"], "")?;
        if shown.code() != Some(0) || !shown.stdout.starts_with("dn: cn=config\n") {
            // Who may change a part need not see the rest.
            return Ok(());
        }
        let ldif = with_modules(&shown.stdout);
        let folder = tempfile::tempdir().map_err(TestkitError::io("cannot make a folder for slapd.d"))?;
        let arguments = ["-n", "0", "-F", &folder.path().display().to_string()];
        let read = Tool::Add.run(Flavor::OpenLdap, &arguments, &ldif)?;
        if NEVER_READ.iter().any(|text| read.stderr.contains(text)) {
            return Ok(());
        }
        read.success().map(drop)
    }
}

/// The tree with the modules that Debian's slapd needs for it, if it has no list of modules: it came from a slapd.conf
/// without one.
fn with_modules(ldif: &str) -> String {
    let Some((root, rest)) = ldif.split_once("\n\n").filter(|_| !ldif.contains("olcModuleLoad:")) else {
        return ldif.to_owned();
    };
    let mut text = format!("{root}\n\ndn: cn=module{{0}},cn=config\nobjectClass: olcModuleList\ncn: module{{0}}\n");
    let _ = writeln!(text, "olcModulePath: {MODULES}");
    let mut names: Vec<String> = vec!["argon2".into(), "pw-sha2".into(), "pw-pbkdf2".into(), "memberof".into()];
    names.extend(["ppolicy", "dds", "lastbind"].map(String::from));
    for line in rest.lines() {
        if let Some(name) = line.strip_prefix("olcDatabase: ") {
            names.push(format!("back_{}", unnumbered(name)));
        } else if let Some(name) = line.strip_prefix("olcOverlay: ") {
            names.push(unnumbered(name).to_owned());
        }
    }
    names.sort();
    names.dedup();
    for name in names
        .iter()
        .filter(|name| Path::new(MODULES).join(format!("{name}.so")).exists())
    {
        let _ = writeln!(text, "olcModuleLoad: {name}");
    }
    let _ = write!(text, "\n{rest}");
    text
}

/// A name without its `{n}`.
fn unnumbered(name: &str) -> &str {
    name.split_once('}').map_or(name, |(_, name)| name)
}
