//! The slap tools of either flavor.

use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::binary::installed;
use crate::{Flavor, ProgramOutput, TestkitError, command};

/// A slap tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tool {
    /// slapacl
    Acl,
    /// slapadd
    Add,
    /// slapauth
    Auth,
    /// slapcat
    Cat,
    /// slapdn
    Dn,
    /// slapindex
    Index,
    /// slapmodify
    Modify,
    /// slappasswd
    Passwd,
    /// slapschema
    Schema,
    /// slaptest
    Test,
}

impl Tool {
    /// Its name as a program: `slapadd`.
    pub fn program_name(self) -> &'static str {
        match self {
            Self::Acl => "slapacl",
            Self::Add => "slapadd",
            Self::Auth => "slapauth",
            Self::Cat => "slapcat",
            Self::Dn => "slapdn",
            Self::Index => "slapindex",
            Self::Modify => "slapmodify",
            Self::Passwd => "slappasswd",
            Self::Schema => "slapschema",
            Self::Test => "slaptest",
        }
    }

    /// Runs it under its own name.
    pub fn run(self, flavor: Flavor, arguments: &[&str], input: &str) -> Result<ProgramOutput, TestkitError> {
        let name = self.program_name();
        let mut command = match flavor {
            Flavor::Ironbark => Command::new(flavor.program()?),
            Flavor::OpenLdap => Command::new(installed(&format!("/usr/sbin/{name}"))?),
        };
        command::run(command.arg0(name).args(arguments), input.as_bytes())
    }

    /// Runs it as `slapd -T name`, with `before` in front of the `-T`.
    pub fn run_by_option(
        self,
        flavor: Flavor,
        before: &[&str],
        arguments: &[&str],
        input: &str,
    ) -> Result<ProgramOutput, TestkitError> {
        let name = self.program_name().trim_start_matches("slap");
        let mut command = Command::new(flavor.program()?);
        command.arg0("slapd").args(before).args(["-T", name]).args(arguments);
        command::run(&mut command, input.as_bytes())
    }
}
