//! A server process with a directory of its own.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::{Credentials, Flavor, Layout, ProgramOutput, TestkitError, Tool, command, wait};

/// Where a server listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listen {
    /// On a free loopback port and on a socket.
    Both,
    /// On a free loopback port (`ldap://`).
    Tcp,
    /// On a socket in the server's directory (`ldapi://`).
    Socket,
    /// As [`Listen::Both`], and on a further loopback port with TLS (`ldaps://`).
    Tls,
}

/// A server of either flavor: its directory, its configuration, and its process while it runs.
///
/// Dropping it kills its own process and removes the directory.
#[derive(Debug)]
pub struct Server {
    flavor: Flavor,
    layout: Layout,
    template: String,
    listen: Listen,
    debug_level: String,
    extra_arguments: Vec<String>,
    environment: Vec<(String, String)>,
    program: Option<PathBuf>,
    file: Option<PathBuf>,
    directory: Option<PathBuf>,
    port: u16,
    tls_port: u16,
    child: Option<Child>,
    pub(crate) is_beyond_slapd: bool,
}

impl Server {
    /// A slapd.conf for one database at `dc=example,dc=com` with the schema that most tests need. [`Credentials::ROOT`]
    /// may do everything there.
    pub const PEOPLE_CONFIG: &str = "\
include {schema}/core.schema
include {schema}/cosine.schema
include {schema}/inetorgperson.schema
pidfile {dir}/slapd.pid
argsfile {dir}/slapd.args
database mdb
suffix \"dc=example,dc=com\"
rootdn \"cn=Manager,dc=example,dc=com\"
rootpw secret
directory {dir}/db
index objectClass,cn,uid eq
";

    /// [`PEOPLE_CONFIG`](Self::PEOPLE_CONFIG) with further lines: `global` ones after the schema, and `of_database` at
    /// the end of the database.
    pub fn people_config(global: &str, of_database: &str) -> String {
        let config = Self::PEOPLE_CONFIG.replacen("pidfile", &format!("{global}\npidfile"), 1);
        format!("{config}{of_database}\n")
    }

    /// A server that is not started yet. `template` is a slapd.conf; its `{schema}`, `{dir}` and `{port}` are filled
    /// in. `{dir}` has an empty directory `db`.
    pub fn prepare(flavor: Flavor, template: &str) -> Result<Self, TestkitError> {
        let server = Self {
            flavor,
            layout: Layout::new()?,
            template: template.to_owned(),
            listen: Listen::Both,
            debug_level: "stats".to_owned(),
            extra_arguments: Vec::new(),
            environment: Vec::new(),
            program: None,
            file: None,
            directory: None,
            port: free_port()?,
            tls_port: free_port()?,
            child: None,
            is_beyond_slapd: false,
        };
        server.write_configuration()?;
        Ok(server)
    }

    /// A server that listens.
    pub fn start(flavor: Flavor, template: &str) -> Result<Self, TestkitError> {
        let mut server = Self::prepare(flavor, template)?;
        server.launch()?;
        Ok(server)
    }

    /// Changes where it will listen.
    #[must_use]
    pub fn listening_on(mut self, listen: Listen) -> Self {
        self.listen = listen;
        self
    }

    /// Changes the argument of `-d`; it is `stats` at first.
    #[must_use]
    pub fn debug_level(mut self, level: &str) -> Self {
        level.clone_into(&mut self.debug_level);
        self
    }

    /// Makes the server read a configuration directory (`-F`) instead of its file.
    #[must_use]
    pub fn from_directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = Some(directory.into());
        self
    }

    /// Makes the server and its tools read this slapd.conf instead of their own.
    #[must_use]
    pub fn from_file(mut self, file: impl Into<PathBuf>) -> Self {
        self.file = Some(file.into());
        self
    }

    /// Adds arguments to its command line.
    #[must_use]
    pub fn arguments(mut self, arguments: &[&str]) -> Self {
        self.extra_arguments
            .extend(arguments.iter().map(|argument| (*argument).to_owned()));
        self
    }

    /// Adds a variable to the environment of its process.
    #[must_use]
    pub fn environment(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Uses another program than the flavor's, with another build.
    #[must_use]
    pub fn program(mut self, program: impl Into<PathBuf>) -> Self {
        self.program = Some(program.into());
        self
    }

    /// Starts the process, also again after [`Server::stop`] or [`Server::kill`], and waits until it accepts
    /// connections. If another process has taken the port, another port is chosen. A port that this server used before
    /// is kept.
    pub fn launch(&mut self) -> Result<(), TestkitError> {
        for attempt in 1.. {
            match self.try_launch() {
                Err(TestkitError::EndedEarly { log, .. }) if attempt < 5 && log.contains("Address already in use") => {
                    self.port = free_port()?;
                    self.tls_port = free_port()?;
                    self.write_configuration()?;
                }
                result => return result,
            }
        }
        Ok(())
    }

    /// Sends SIGTERM and waits until the process ends. Its exit status must be 0. slapd's may be 1 if the signal comes
    /// before all its threads have begun: it then stops as it should, and takes that for a failure to start.
    pub fn stop(&mut self) -> Result<(), TestkitError> {
        self.signal(Signal::SIGTERM)?;
        let status = self.wait_for_end()?;
        let log = self.log();
        let is_early = self.flavor == Flavor::OpenLdap && log.contains(STOPPED_EARLY) && log.contains("slapd stopped.");
        if status.success() || is_early {
            return Ok(());
        }
        Err(TestkitError::Status {
            command: format!("{} after SIGTERM", self.flavor),
            status,
            stdout: String::new(),
            stderr: log,
        })
    }

    /// Kills the process with SIGKILL, and waits for its end.
    pub fn kill(&mut self) -> Result<(), TestkitError> {
        self.signal(Signal::SIGKILL)?;
        self.wait_for_end().map(|_| ())
    }

    /// Sends a signal to the process; an error when it does not run.
    pub fn signal(&self, signal: Signal) -> Result<(), TestkitError> {
        let gone = || io::Error::other("the server does not run");
        let pid = self.pid().and_then(|pid| i32::try_from(pid).ok());
        let result = pid
            .ok_or_else(gone)
            .and_then(|pid| Ok(kill(Pid::from_raw(pid), signal)?));
        result.map_err(TestkitError::io(format!("cannot send {signal}")))
    }

    /// Waits until the process has ended by itself or by a signal. Returns how it ended.
    pub fn wait_for_end(&mut self) -> Result<ExitStatus, TestkitError> {
        let Some(child) = self.child.as_mut() else {
            return Err(TestkitError::io("cannot wait")(io::Error::other(
                "the server does not run",
            )));
        };
        match wait::until(|| child.try_wait().transpose()) {
            Some(status) => {
                self.child = None;
                status.map_err(TestkitError::io("cannot wait for the server"))
            }
            None => Err(self.deadline("its end")),
        }
    }

    /// The process number while it runs.
    pub fn pid(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// The flavor.
    pub fn flavor(&self) -> Flavor {
        self.flavor
    }

    /// The directory.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The loopback port, whether or not the server listens on it.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The path of the slapd.conf.
    pub fn config_path(&self) -> PathBuf {
        self.file.clone().unwrap_or_else(|| self.layout.join("slapd.conf"))
    }

    /// The path of the socket.
    pub fn socket_path(&self) -> PathBuf {
        self.layout.join("ldapi")
    }

    /// The URL for clients: `ldap://127.0.0.1:port/` if it listens there.
    pub fn url(&self) -> String {
        match self.listen {
            Listen::Both | Listen::Tcp | Listen::Tls => format!("ldap://127.0.0.1:{}/", self.port),
            Listen::Socket => self.ldapi_url(),
        }
    }

    /// The URL of the port with TLS: `ldaps://127.0.0.1:port/`.
    pub fn tls_url(&self) -> String {
        format!("ldaps://127.0.0.1:{}/", self.tls_port)
    }

    /// The URL of the socket.
    pub fn ldapi_url(&self) -> String {
        format!("ldapi://{}/", self.socket_path().to_string_lossy().replace('/', "%2F"))
    }

    /// The server's log so far.
    pub fn log(&self) -> String {
        self.layout.read(LOG).unwrap_or_default()
    }

    /// Waits until the log holds `text`.
    pub fn wait_for_log(&self, text: &str) -> Result<(), TestkitError> {
        wait::until(|| self.log().contains(text).then_some(()))
            .ok_or_else(|| self.deadline(&format!("log line {text:?}")))
    }

    /// Runs a slap tool of the same flavor on this configuration (`-f`).
    pub fn tool(&self, tool: Tool, arguments: &[&str], input: &str) -> Result<ProgramOutput, TestkitError> {
        let config = self.config_path();
        let mut all = vec!["-f", config.to_str().unwrap_or_default()];
        all.extend(arguments);
        tool.run(self.flavor, &all, input)
    }

    /// Loads LDIF with slapadd while the server does not run.
    pub fn slapadd(&self, ldif: &str) -> Result<(), TestkitError> {
        self.tool(Tool::Add, &[], ldif)?.success().map(|_| ())
    }

    /// ldapsearch as anonymous, with unfolded LDIF as its output.
    pub fn search(&self, arguments: &[&str]) -> Result<ProgramOutput, TestkitError> {
        self.client("ldapsearch", &Credentials::Anonymous, arguments, "")
    }

    /// ldapadd of LDIF records as [`Credentials::ROOT`].
    pub fn ldapadd(&self, ldif: &str) -> Result<ProgramOutput, TestkitError> {
        self.client("ldapadd", &Credentials::ROOT, &[], ldif)
    }

    /// ldapmodify with LDIF change records as [`Credentials::ROOT`].
    pub fn ldapmodify(&self, ldif: &str) -> Result<ProgramOutput, TestkitError> {
        self.client("ldapmodify", &Credentials::ROOT, &[], ldif)
    }

    fn write_configuration(&self) -> Result<(), TestkitError> {
        let text = self.layout.configuration(self.flavor, &self.template, self.port);
        self.layout.write("slapd.conf", text).map(|_| ())
    }

    fn try_launch(&mut self) -> Result<(), TestkitError> {
        let log = File::options().create(true).append(true).open(self.layout.join(LOG));
        let log = log.map_err(TestkitError::io("cannot open the log"))?;
        let urls = match self.listen {
            Listen::Both => format!("{} {}", self.url(), self.ldapi_url()),
            Listen::Tls => format!("{} {} {}", self.url(), self.ldapi_url(), self.tls_url()),
            Listen::Tcp | Listen::Socket => self.url(),
        };
        let file = self.config_path();
        let program = self.program.clone().map_or_else(|| self.flavor.program(), Ok)?;
        let mut command = Command::new(program);
        command
            .arg0("slapd")
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .args(match &self.directory {
                Some(directory) => [Path::new("-F"), directory],
                None => [Path::new("-f"), &file],
            })
            .args(["-h", &urls, "-d", &self.debug_level]);
        command
            .args(&self.extra_arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        let line = command::command_line(&command);
        self.child = Some(
            command
                .spawn()
                .map_err(TestkitError::io(format!("cannot run {line}")))?,
        );
        self.wait_until_it_accepts()
    }

    fn wait_until_it_accepts(&mut self) -> Result<(), TestkitError> {
        let listening = wait::until(
            || match self.child.as_mut().and_then(|child| child.try_wait().transpose()) {
                Some(ended) => Some(ended.map(Some)),
                None => self.accepts().then_some(Ok(None)),
            },
        );
        match listening {
            Some(Ok(None)) => Ok(()),
            Some(Ok(Some(status))) => {
                self.child = None;
                Err(TestkitError::EndedEarly {
                    status,
                    log: self.log(),
                })
            }
            Some(Err(source)) => Err(TestkitError::io("cannot wait for the server")(source)),
            None => Err(self.deadline("a connection")),
        }
    }

    fn accepts(&self) -> bool {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port));
        let tcp = || {
            TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_ok_and(|stream| {
                let patient = stream.set_read_timeout(Some(wait::DEADLINE));
                patient.is_ok() && answers(stream)
            })
        };
        let socket = || {
            UnixStream::connect(self.socket_path()).is_ok_and(|stream| {
                let patient = stream.set_read_timeout(Some(wait::DEADLINE));
                patient.is_ok() && answers(stream)
            })
        };
        match self.listen {
            Listen::Both | Listen::Tls => socket() && tcp(),
            Listen::Tcp => tcp(),
            Listen::Socket => socket(),
        }
    }

    fn deadline(&self, what: &str) -> TestkitError {
        TestkitError::Deadline {
            what: what.to_owned(),
            seconds: wait::DEADLINE.as_secs(),
            log: self.log(),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // The process may have ended by itself. That is for the test to check.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Whether an anonymous bind is answered, with any result. slapd accepts connections before it has read its
/// configuration.
fn answers(mut stream: impl Read + Write) -> bool {
    const ANONYMOUS_BIND: [u8; 14] = [0x30, 12, 2, 1, 1, 0x60, 7, 2, 1, 3, 4, 0, 0x80, 0];
    stream.write_all(&ANONYMOUS_BIND).is_ok() && stream.read_exact(&mut [0]).is_ok()
}

/// A port that is free at the moment.
///
/// The port lies below the ports that the system gives to outgoing connections. Each server of a test program gets a
/// different port, so that a stopped server finds its port still free.
///
/// # Errors
/// There is none.
pub fn free_port() -> Result<u16, TestkitError> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let start = std::process::id().wrapping_mul(97);
    for _ in 0..PORTS {
        let offset = start.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)) % PORTS;
        let port = u16::try_from(FIRST_PORT + offset).unwrap_or(u16::MAX);
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return Ok(port);
        }
    }
    Err(TestkitError::io("cannot find a free port")(
        io::ErrorKind::AddrInUse.into(),
    ))
}

/// slapd's words for a signal that came early.
const STOPPED_EARLY: &str = "listener initialization failed";
const FIRST_PORT: u32 = 20_000;
const PORTS: u32 = 12_000;
const LOG: &str = "slapd.log";
