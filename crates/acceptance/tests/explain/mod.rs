//! `slaptest --explain`: each kind of finding, with real files, logs of real servers, and hostile files.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "clippy knows test functions, but not what they call"
)]

mod access;
mod files;
mod folder;
mod good;
mod hostile;
mod logs;
mod settings;

use std::{fs, os::unix::fs::PermissionsExt, path::Path, process::Command};

use ironbark_testkit::{Flavor, Layout};

/// Rules that reveal no password.
pub(crate) const RULES: &str = "\
access to attrs=userPassword by self =xw by anonymous auth by * none
access to * by users read by * none
";

/// Listeners that need no TLS.
pub(crate) const LOCAL: &str = "ldapi:/// ldap://127.0.0.1:3890/";

/// The output of slaptest, and its exit status.
#[derive(Debug)]
pub(crate) struct Explained {
    pub(crate) text: String,
    pub(crate) status: i32,
}

impl Explained {
    /// The lines of one setting and class, without their place.
    pub(crate) fn found(&self, class: &str, setting: &str) -> Vec<&str> {
        let middle = format!(": {class}: {setting}: ");
        let lines = self.text.lines();
        lines.filter_map(|line| Some(line.split_once(&middle)?.1)).collect()
    }

    /// Asserts that a line begins with `start` and contains the words.
    #[track_caller]
    pub(crate) fn assert_has(&self, start: &str, words: &str) {
        let mut lines = self.text.lines();
        let found = lines.any(|line| line.starts_with(start) && line.contains(words));
        assert!(found, "no line {start:?} ... {words:?} in\n{}", self.text);
    }
}

/// `slaptest --explain` with arguments, in a directory.
pub(crate) fn run(directory: &Path, arguments: &[&str]) -> Explained {
    let output = Command::new(Flavor::Ironbark.program().unwrap())
        .args(["slaptest", "--explain"])
        .args(arguments)
        .current_dir(directory)
        .output()
        .unwrap();
    let status = output.status.code().unwrap_or_else(|| panic!("{output:?}"));
    let shown = String::from_utf8_lossy(&output.stderr);
    assert!(!shown.contains("panicked"), "{shown}");
    Explained {
        text: String::from_utf8(output.stdout).unwrap() + &shown,
        status,
    }
}

/// The same of a slapd.conf file with this text, whose server has local listeners.
pub(crate) fn explain(text: &str) -> Explained {
    let layout = private();
    layout.write("slapd.conf", text).unwrap();
    run(layout.path(), &["-f", "slapd.conf", "-h", LOCAL])
}

/// A directory that no other user can enter.
pub(crate) fn private() -> Layout {
    let layout = Layout::new().unwrap();
    fs::set_permissions(layout.path(), fs::Permissions::from_mode(0o700)).unwrap();
    layout
}

/// A database with safe rules and these settings.
pub(crate) fn database(settings: &str) -> String {
    format!(
        "{}database mdb\nsuffix dc=example,dc=com\ndirectory db\n{RULES}{settings}",
        schema()
    )
}

/// Schema files, by their full names.
pub(crate) fn schema() -> String {
    let folder = Flavor::Ironbark.schema_dir();
    ["core", "cosine", "inetorgperson", "nis"]
        .map(|name| format!("include {}/{name}.schema\n", folder.display()))
        .concat()
}
