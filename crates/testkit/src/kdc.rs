//! A Kerberos KDC for tests, of Debian's krb5-kdc.

use std::{
    net::TcpStream,
    process::{Child, Command, Stdio},
};

use crate::{Layout, ProgramOutput, TestkitError, binary::installed, command, server::free_port, wait};

/// A KDC of the realm `EXAMPLE.COM` with users `ann` and `ann/admin`, whose password is `pencil`, and the service
/// `ldap/localhost`.
///
/// Its directory has the files `krb5.conf` and `elsewhere.conf` for clients (the default realm of the latter is
/// another one), and the key tables `keytab` and `keytab.old`. Dropping it ends its own process.
#[derive(Debug)]
pub struct Kdc {
    layout: Layout,
    process: Child,
}

const CLIENTS: &str = "[libdefaults]\ndefault_realm = {realm}\ndns_lookup_kdc = false\ndns_lookup_realm = false\n\
    dns_canonicalize_hostname = false\nrdns = false\n[realms]\nEXAMPLE.COM = {\nkdc = 127.0.0.1:{port}\n}\n\
    [domain_realm]\nlocalhost = EXAMPLE.COM\n";
const KDC: &str = "[kdcdefaults]\nkdc_listen = 127.0.0.1:{port}\nkdc_tcp_listen = 127.0.0.1:{port}\n[realms]\n\
    EXAMPLE.COM = {\ndatabase_name = {dir}/principal\nkey_stash_file = {dir}/stash\nacl_file = {dir}/acl\n}\n\
    [logging]\nkdc = FILE:{dir}/kdc.log\n";

impl Kdc {
    /// A KDC that listens on a loopback port.
    pub fn start() -> Result<Self, TestkitError> {
        let layout = Layout::new()?;
        let port = free_port()?;
        let filled = |text: &str, realm: &str| {
            let text = text.replace("{port}", &port.to_string()).replace("{realm}", realm);
            text.replace("{dir}", &layout.path().display().to_string())
        };
        layout.write("krb5.conf", filled(CLIENTS, "EXAMPLE.COM"))?;
        layout.write("elsewhere.conf", filled(CLIENTS, "OTHER.ORG"))?;
        layout.write("kdc.conf", filled(KDC, "EXAMPLE.COM"))?;
        fill(&layout)?;
        let mut kdc = program(&layout, "/usr/sbin/krb5kdc")?;
        kdc.args(["-r", "EXAMPLE.COM", "-n"]);
        let process = kdc.stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        let process = process.map_err(TestkitError::io("cannot run krb5kdc"))?;
        let kdc = Self { layout, process };
        match wait::until(|| TcpStream::connect(("127.0.0.1", port)).ok()) {
            Some(_) => Ok(kdc),
            None => Err(TestkitError::Deadline {
                what: "a connection to the KDC".to_owned(),
                seconds: wait::DEADLINE.as_secs(),
                log: kdc.layout.read("kdc.log").unwrap_or_default(),
            }),
        }
    }

    /// The path of a file in its directory.
    pub fn file(&self, name: &str) -> String {
        self.layout.join(name).display().to_string()
    }

    /// Gets a user a ticket; it is in the file of this name.
    pub fn log_in(&self, user: &str, cache: &str) -> Result<(), TestkitError> {
        let mut kinit = program(&self.layout, "/usr/bin/kinit")?;
        kinit.args(["-c", &self.file(cache), user]);
        command::run(&mut kinit, b"pencil\n")?
            .success()
            .map(|_: ProgramOutput| ())
    }
}

impl Drop for Kdc {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A program of Kerberos, with the configuration in this directory.
fn program(layout: &Layout, path: &str) -> Result<Command, TestkitError> {
    let mut command = Command::new(installed(path)?);
    command
        .env_clear()
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .env("LC_ALL", "C.UTF-8")
        .env("KRB5_CONFIG", layout.join("krb5.conf"))
        .env("KRB5_KDC_PROFILE", layout.join("kdc.conf"));
    Ok(command)
}

/// Makes the realm, its principals and the key tables.
fn fill(layout: &Layout) -> Result<(), TestkitError> {
    let mut create = program(layout, "/usr/sbin/kdb5_util")?;
    create.args(["-r", "EXAMPLE.COM", "create", "-s", "-P", "master"]);
    command::run(&mut create, b"")?.success()?;
    let keys = layout.join("keytab").display().to_string();
    for query in [
        "addprinc -pw pencil ann",
        "addprinc -pw pencil ann/admin",
        "addprinc -randkey ldap/localhost",
        // There is a new key each time.
        &format!("ktadd -k {keys}.old ldap/localhost"),
        &format!("ktadd -k {keys} ldap/localhost"),
    ] {
        let mut admin = program(layout, "/usr/sbin/kadmin.local")?;
        admin.args(["-r", "EXAMPLE.COM", "-q", query]);
        command::run(&mut admin, b"")?.success()?;
    }
    Ok(())
}
