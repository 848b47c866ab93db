//! `ironbark import`: exports of other servers become directories that are served.
#![allow(clippy::unwrap_used, reason = "clippy knows test functions, but not what they call")]

mod ds389;
mod hostile;
mod opendj;
mod slapcat;
mod wrong;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Output,
};

use crate::common::ironbark;
use ironbark_testkit::{Flavor, Layout, Server};

/// A directory that was imported, and its server.
pub(crate) struct Imported {
    pub(crate) folder: PathBuf,
    pub(crate) report: String,
    pub(crate) administrator: String,
    pub(crate) password: String,
    server: Server,
    _layout: Layout,
}

/// Imports with these arguments, `--output` excepted.
pub(crate) fn import(folder: &Path, arguments: &[&str]) -> Output {
    let folder = folder.to_str().unwrap();
    ironbark(&[&["import", "--output", folder][..], arguments].concat())
}

impl Imported {
    /// Imports and serves.
    pub(crate) fn new(arguments: &[&str]) -> Self {
        let layout = Layout::new().unwrap();
        let folder = layout.join("imported");
        let output = import(&folder, arguments);
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let word = |name: &str| {
            let line = said.lines().find_map(|line| line.trim().strip_prefix(name));
            line.unwrap().trim().to_owned()
        };
        let config = fs::read_to_string(folder.join("slapd.conf")).unwrap();
        let mut server = Server::prepare(Flavor::Ironbark, &config).unwrap();
        server.launch().unwrap();
        assert!(!folder.join("import.ldif").exists());
        Self {
            report: fs::read_to_string(folder.join("report.md")).unwrap(),
            administrator: word("administrator"),
            password: word("password"),
            folder,
            server,
            _layout: layout,
        }
    }

    /// What the administrator finds.
    pub(crate) fn search(&self, arguments: &[&str]) -> String {
        let url = self.server.ldapi_url();
        let who = ["-x", "-H", &url, "-D", &self.administrator, "-w", &self.password];
        let all = [&who[..], arguments].concat();
        let outcome = self.server.client_with("ldapsearch", &[], &all, "").unwrap();
        outcome.success().unwrap().stdout
    }

    /// The exit status of a bind over ldapi.
    pub(crate) fn bind(&self, dn: &str, password: &str) -> Option<i32> {
        let url = self.server.ldapi_url();
        let arguments = ["-x", "-H", &url, "-D", dn, "-w", password];
        self.server
            .client_with("ldapwhoami", &[], &arguments, "")
            .unwrap()
            .code()
    }

    /// Fails unless the report has all of this.
    pub(crate) fn reports(&self, parts: &[&str]) {
        for part in parts {
            assert!(self.report.contains(part), "{part} is missing:\n{}", self.report);
        }
    }
}
