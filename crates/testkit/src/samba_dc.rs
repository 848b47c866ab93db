//! A Samba domain controller for tests, of Debian's samba: Active Directory as far as LDAP goes.

use std::{
    fs,
    net::{Ipv4Addr, TcpListener},
    path::PathBuf,
    process::{Child, Command, Stdio, id},
    sync::atomic::{AtomicU32, Ordering},
};

use crate::{Layout, ProgramOutput, TestkitError, binary::installed, command, wait};

/// A Samba domain controller of the domain `example.com` (`dc=example,dc=com`), without DNS, Kerberos and files. It
/// listens on a loopback address of its own, on the ports of LDAP, for which it must be root. Dropping it ends its own
/// process.
#[derive(Debug)]
pub struct SambaDc {
    layout: Layout,
    address: Ipv4Addr,
    process: Option<Child>,
}

const PASSWORD: &str = "Secret.123";
/// Only the process may be killed here, not the machine. So nothing need be flushed.
const CONFIGURATION: &str = "[global]\nbind interfaces only = yes\ninterfaces = {address}/8\nrealm = EXAMPLE.COM\n\
    workgroup = EXAMPLE\nnetbios name = DC1\nserver role = active directory domain controller\n\
    server services = ldap\nldap server require strong auth = no\nldb:nosync = true\nposix:eadb = {dir}/eadb.tdb\n\
    binddns dir = {dir}/dns\ncache directory = {dir}/cache\nlock directory = {dir}/lock\nlog file = {dir}/log\n\
    ncalrpc dir = {dir}/ncalrpc\npid directory = {dir}/pid\nprivate dir = {dir}/private\n\
    state directory = {dir}/state\n[sysvol]\npath = {dir}/sysvol\n[netlogon]\npath = {dir}/netlogon\n";
/// Counts the addresses of this process in the loopback network: another process has other ones.
static NEXT: AtomicU32 = AtomicU32::new(0);

impl SambaDc {
    /// The name that may do everything.
    pub const ROOT: &str = "administrator@example.com";
    /// Its password.
    pub const PASSWORD: &str = PASSWORD;

    /// Makes a domain and starts its controller.
    pub fn start() -> Result<Self, TestkitError> {
        let mut server = Self {
            layout: Layout::new()?,
            address: free_address()?,
            process: None,
        };
        let dir = server.layout.path().display().to_string();
        let text = CONFIGURATION.replace("{dir}", &dir);
        let text = text.replace("{address}", &server.address.to_string());
        let file = server.layout.write("smb.conf", text)?;
        for name in [
            "dns", "cache", "lock", "ncalrpc", "pid", "private", "state", "sysvol", "netlogon",
        ] {
            server.layout.make_dir(name)?;
        }
        let mut provision = program("/usr/bin/samba-tool")?;
        provision.args(["domain", "provision", "--server-role=dc", "--dns-backend=NONE"]);
        provision.args([
            "--realm=EXAMPLE.COM",
            "--domain=EXAMPLE",
            "--host-name=dc1",
            "--host-ip=127.0.0.1",
        ]);
        provision.arg(format!("--adminpass={PASSWORD}"));
        provision.arg(format!("--configfile={}", file.display()));
        command::run(&mut provision, b"")?.success()?;
        server.launch()?;
        Ok(server)
    }

    /// Starts the process, and waits until it answers.
    pub fn launch(&mut self) -> Result<(), TestkitError> {
        let mut samba = program("/usr/sbin/samba")?;
        samba.arg(format!("--configfile={}", self.configuration().display()));
        samba.args(["--foreground", "--no-process-group", "--debug-stdout", "--model=single"]);
        let output = || {
            let made = fs::OpenOptions::new()
                .create(true)
                .append(true)
                .open(self.layout.join("output"));
            made.map_err(TestkitError::io("cannot write the output"))
        };
        samba.stdin(Stdio::null()).stdout(output()?).stderr(output()?);
        self.process = Some(samba.spawn().map_err(TestkitError::io("cannot run samba"))?);
        let arguments = ["-b", "", "-s", "base", "1.1"];
        let answers = wait::until(|| {
            let outcome = self.client("ldapsearch", &arguments, "").ok()?;
            (outcome.code() == Some(0)).then_some(())
        });
        answers.ok_or_else(|| TestkitError::Deadline {
            what: "an answer of samba".to_owned(),
            seconds: wait::DEADLINE.as_secs(),
            log: self.layout.read("output").unwrap_or_default(),
        })
    }

    fn configuration(&self) -> PathBuf {
        self.layout.join("smb.conf")
    }

    /// Kills the process, and waits for its end.
    pub fn kill(&mut self) -> Result<(), TestkitError> {
        let Some(mut process) = self.process.take() else {
            return Ok(());
        };
        process.kill().map_err(TestkitError::io("cannot kill samba"))?;
        process.wait().map_err(TestkitError::io("cannot wait for samba"))?;
        Ok(())
    }

    /// Its address. The port is 389.
    pub fn address(&self) -> Ipv4Addr {
        self.address
    }

    /// Its `ldap://` URL.
    pub fn url(&self) -> String {
        format!("ldap://{}", self.address)
    }

    /// Runs a program of ldap-utils against this server, as [`SambaDc::ROOT`]. ldapsearch gets `-LLL` and does not fold
    /// its lines.
    pub fn client(&self, program: &str, arguments: &[&str], input: &str) -> Result<ProgramOutput, TestkitError> {
        let mut command = Command::new(installed(&format!("/usr/bin/{program}"))?);
        command.env_clear().env("LDAPNOINIT", "1").env("LC_ALL", "C");
        command.args(["-x", "-H", &self.url(), "-D", Self::ROOT, "-w", PASSWORD]);
        if program == "ldapsearch" {
            command.args(["-LLL", "-o", "ldif-wrap=no"]);
        }
        command::run(command.args(arguments), input.as_bytes())
    }
}

impl Drop for SambaDc {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.kill();
    }
}

fn program(path: &str) -> Result<Command, TestkitError> {
    let mut command = Command::new(installed(path)?);
    command
        .env_clear()
        .env("LC_ALL", "C.UTF-8")
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    Ok(command)
}

/// A loopback address whose port of LDAP is free.
fn free_address() -> Result<Ipv4Addr, TestkitError> {
    let mut failure = None;
    for _ in 0..64 {
        let [_, _, second, third] = id().to_be_bytes();
        let [.., fourth] = (NEXT.fetch_add(1, Ordering::Relaxed) % 254 + 1).to_be_bytes();
        let address = Ipv4Addr::new(127, second | 0x40, third, fourth);
        match TcpListener::bind((address, 389)) {
            Ok(_) => return Ok(address),
            Err(error) => failure = Some(error),
        }
    }
    let failure = failure.unwrap_or_else(|| std::io::Error::other("no address"));
    Err(TestkitError::io(
        "cannot listen on the port of LDAP, for which root is needed",
    )(failure))
}
