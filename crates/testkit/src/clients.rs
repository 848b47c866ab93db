//! Real clients: ldap-utils and python-ldap.

use std::process::Command;

use crate::binary::installed;
use crate::{ProgramOutput, Server, TestkitError, command};

/// The identity of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credentials<'a> {
    /// Anonymous.
    Anonymous,
    /// A DN and its password.
    Simple {
        /// The DN.
        dn: &'a str,
        /// The password.
        password: &'a str,
    },
    /// The user that runs the test, through SASL EXTERNAL over the socket.
    External,
}

impl Credentials<'static> {
    /// The rootdn of [`Server::PEOPLE_CONFIG`].
    pub const ROOT: Self = Self::Simple {
        dn: "cn=Manager,dc=example,dc=com",
        password: "secret",
    };
}

impl Server {
    /// Runs a program of ldap-utils against this server. ldapsearch gets `-LLL` and does not fold its lines.
    /// Configuration files of the machine and the user are not read. After a change of cn=config, Debian's slapd reads
    /// all of it.
    pub fn client(
        &self,
        program: &str,
        credentials: &Credentials<'_>,
        arguments: &[&str],
        input: &str,
    ) -> Result<ProgramOutput, TestkitError> {
        let outcome = self.run_client(program, credentials, arguments, input)?;
        if self.may_go_back(program, input, &outcome) {
            self.go_back(credentials)?;
        }
        Ok(outcome)
    }

    pub(crate) fn run_client(
        &self,
        program: &str,
        credentials: &Credentials<'_>,
        arguments: &[&str],
        input: &str,
    ) -> Result<ProgramOutput, TestkitError> {
        let mut command = Command::new(installed(&format!("/usr/bin/{program}"))?);
        command.env_clear().env("LDAPNOINIT", "1").env("LC_ALL", "C");
        match credentials {
            Credentials::Anonymous => command.args(["-x", "-H", &self.url()]),
            Credentials::Simple { dn, password } => command.args(["-x", "-H", &self.url(), "-D", dn, "-w", password]),
            Credentials::External => command.args(["-Q", "-Y", "EXTERNAL", "-H", &self.ldapi_url()]),
        };
        if program == "ldapsearch" {
            command.args(["-LLL", "-o", "ldif-wrap=no"]);
        }
        command::run(command.args(arguments), input.as_bytes())
    }

    /// Runs a program of ldap-utils with only these arguments and settings (`LDAPTLS_CACERT`, ...). ldapsearch gets
    /// `-LLL`.
    pub fn client_with(
        &self,
        program: &str,
        environment: &[(&str, &str)],
        arguments: &[&str],
        input: &str,
    ) -> Result<ProgramOutput, TestkitError> {
        let mut command = Command::new(installed(&format!("/usr/bin/{program}"))?);
        command
            .env_clear()
            .env("LC_ALL", "C")
            .env("LDAPCONF", "/dev/null")
            .env("LDAPRC", "none");
        command.envs(environment.iter().copied());
        if program == "ldapsearch" {
            command.args(["-LLL", "-o", "ldif-wrap=no"]);
        }
        command::run(command.args(arguments), input.as_bytes())
    }

    /// Runs a Python script that may `import ldap`. It finds `LDAP_URL`, `LDAPI_URL`, `ROOT_DN` and `ROOT_PASSWORD` in
    /// its environment.
    pub fn python(&self, script: &str) -> Result<ProgramOutput, TestkitError> {
        // Not the first python3 of PATH: python3-ldap belongs to the system's python3.
        let mut command = Command::new(installed("/usr/bin/python3")?);
        command.env_clear().env("LDAPNOINIT", "1").env("LC_ALL", "C.UTF-8");
        command.env("LDAP_URL", self.url()).env("LDAPI_URL", self.ldapi_url());
        if let Credentials::Simple { dn, password } = Credentials::ROOT {
            command.env("ROOT_DN", dn).env("ROOT_PASSWORD", password);
        }
        command::run(command.args(["-B", "-"]), script.as_bytes())
    }
}
