//! The server under test, and where its programs are.

use std::env;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::TestkitError;

/// The server under test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Flavor {
    /// The binary of this repository.
    Ironbark,
    /// Debian's `/usr/sbin/slapd`.
    OpenLdap,
}

impl Flavor {
    /// Both, the reference first.
    pub const ALL: [Self; 2] = [Self::OpenLdap, Self::Ironbark];

    /// The server's program. The binary of this repository is built first, once per test program.
    pub fn program(self) -> Result<PathBuf, TestkitError> {
        match self {
            Self::Ironbark => ironbark().cloned().map_err(TestkitError::Build),
            Self::OpenLdap => installed("/usr/sbin/slapd"),
        }
    }

    /// The directory of schema files.
    pub fn schema_dir(self) -> PathBuf {
        match self {
            Self::Ironbark => repository_root().join("schema"),
            Self::OpenLdap => PathBuf::from("/etc/ldap/schema"),
        }
    }

    /// Lines that a slapd.conf of this flavor starts with.
    pub(crate) fn preamble(self) -> &'static str {
        match self {
            Self::Ironbark => "",
            // Debian builds its storage and overlays as modules.
            Self::OpenLdap => "modulepath /usr/lib/ldap\nmoduleload back_mdb\n",
        }
    }
}

impl fmt::Display for Flavor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ironbark => "ironbark",
            Self::OpenLdap => "openldap",
        })
    }
}

/// The root of this repository.
pub fn repository_root() -> &'static Path {
    let manifest_dir = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest_dir.ancestors().nth(2).unwrap_or(manifest_dir)
}

/// The path of a program outside this repository, if it is there.
pub(crate) fn installed(path: &str) -> Result<PathBuf, TestkitError> {
    let path = PathBuf::from(path);
    if path.exists() {
        Ok(path)
    } else {
        Err(TestkitError::MissingProgram(path))
    }
}

/// `IRONBARK_BIN`, or a fresh build beside the test program.
fn ironbark() -> Result<&'static PathBuf, String> {
    static PROGRAM: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    PROGRAM
        .get_or_init(|| match env::var_os("IRONBARK_BIN") {
            Some(path) if Path::new(&path).is_file() => Ok(PathBuf::from(path)),
            Some(path) => Err(format!("IRONBARK_BIN={} is not a file", Path::new(&path).display())),
            None => build(),
        })
        .as_ref()
        .map_err(Clone::clone)
}

/// Builds the binary into the target directory and profile of this test program. cargo itself sees when the binary is
/// already up to date.
fn build() -> Result<PathBuf, String> {
    let test = env::current_exe().map_err(|error| error.to_string())?;
    let folder = profile_folder(&test).ok_or_else(|| format!("{} lies in no target directory", test.display()))?;
    let (Some(target), Some(name)) = (folder.parent(), folder.file_name().and_then(|name| name.to_str())) else {
        return Err(format!("{} lies in no target directory", test.display()));
    };
    let profile = if name == "debug" { "dev" } else { name };
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .current_dir(repository_root())
        .args([
            "build",
            "--quiet",
            "--package",
            "ironbark-admin",
            "--bin",
            "ironbark",
            "--profile",
            profile,
        ])
        .arg("--target-dir")
        .arg(target)
        .args(FEATURES)
        .output()
        .map_err(|error| format!("cargo: {error}"))?;
    if output.status.success() {
        Ok(folder.join("ironbark"))
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

/// `target/debug` for `target/debug/deps/test-0123` and for `target/debug/examples/x`.
fn profile_folder(test: &Path) -> Option<&Path> {
    let folder = test.parent()?;
    match folder.file_name()?.to_str()? {
        "deps" | "examples" => folder.parent(),
        _ => Some(folder),
    }
}

/// Features of the binary in addition to its defaults.
const FEATURES: &[&str] = if cfg!(feature = "gssapi") {
    &["--features", "gssapi"]
} else {
    &[]
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_profile_folder_is_found_from_the_test_program() {
        let folder = |path| profile_folder(Path::new(path)).and_then(Path::to_str);
        assert_eq!(folder("/t/debug/deps/x-0123"), Some("/t/debug"));
        assert_eq!(folder("/t/release/x"), Some("/t/release"));
    }

    #[test]
    fn the_repository_root_has_the_workspace_manifest() {
        assert!(repository_root().join("ARCHITECTURE.md").is_file());
    }

    #[test]
    fn a_missing_program_is_named_with_the_cure() {
        let error = installed("/usr/sbin/no-such-slapd").unwrap_err().to_string();
        assert!(
            error.contains("/usr/sbin/no-such-slapd") && error.contains("make deps"),
            "{error}"
        );
    }
}
