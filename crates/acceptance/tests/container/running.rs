//! A container for one test: its volume, its variables, its process.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
};

use ironbark_testkit::{Flavor, Layout, free_port, wait::until};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

/// A container that may run, with what its volume keeps.
pub(crate) struct Container {
    pub(crate) layout: Layout,
    pub(crate) variables: BTreeMap<String, String>,
    pub(crate) port: u16,
    pub(crate) tls_port: u16,
    pub(crate) metrics: u16,
    child: Option<Child>,
}

impl Container {
    /// With variables besides those that place it on loopback.
    fn new(variables: &[(&str, &str)], ports: [&str; 2]) -> Self {
        let layout = Layout::new().unwrap();
        let (port, tls_port, metrics) = (free_port().unwrap(), free_port().unwrap(), free_port().unwrap());
        let data = layout.join("data").display().to_string();
        let mut all = BTreeMap::new();
        let mut put = |name: &str, value: &str| all.insert(name.to_owned(), value.to_owned());
        put("IRONBARK_ADDRESS", "127.0.0.1");
        put("IRONBARK_METRICS", &format!("127.0.0.1:{metrics}"));
        put("IRONBARK_DATA", &data);
        put(ports[0], &port.to_string());
        put(ports[1], &tls_port.to_string());
        for (name, value) in variables {
            put(name, value);
        }
        Self {
            layout,
            variables: all,
            port,
            tls_port,
            metrics,
            child: None,
        }
    }

    /// With bitnami's names, and a password.
    pub(crate) fn bitnami(variables: &[(&str, &str)]) -> Self {
        let mut container = Self::new(variables, ["LDAP_PORT_NUMBER", "LDAP_LDAPS_PORT_NUMBER"]);
        let password = "LDAP_ADMIN_PASSWORD";
        if !container.variables.contains_key("LDAP_ADMIN_PASSWORD_FILE") {
            container
                .variables
                .entry(password.to_owned())
                .or_insert_with(|| PASSWORD.to_owned());
        }
        container
    }

    /// With osixia's names, and its passwords.
    pub(crate) fn osixia(variables: &[(&str, &str)]) -> Self {
        let mut container = Self::new(variables, ["LDAP_PORT", "LDAPS_PORT"]);
        container.set("LDAP_ADMIN_PASSWORD", PASSWORD);
        container.set("LDAP_CONFIG_PASSWORD", "config-password");
        container
    }

    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.variables.insert(name.to_owned(), value.to_owned());
    }

    pub(crate) fn unset(&mut self, name: &str) {
        self.variables.remove(name);
    }

    pub(crate) fn data(&self, name: &str) -> PathBuf {
        self.layout.join("data").join(name)
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.layout.join("log")).unwrap_or_default()
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(Flavor::Ironbark.program().unwrap());
        command
            .arg("container")
            .env_clear()
            .envs(&self.variables)
            .stdin(Stdio::null());
        let log = fs::File::create(self.layout.join("log")).unwrap();
        command.stdout(log.try_clone().unwrap()).stderr(log);
        command
    }

    /// Starts the process, which need not become a server.
    pub(crate) fn spawn(&mut self) {
        self.child = Some(self.command().spawn().unwrap());
    }

    /// Takes a process that was started otherwise.
    pub(crate) fn adopt(&mut self, child: Child) {
        self.child = Some(child);
    }

    /// Starts the server and waits until it says that it is ready.
    pub(crate) fn start(&mut self) {
        self.spawn();
        self.wait_until_ready();
    }

    pub(crate) fn wait_until_ready(&mut self) {
        let ready = until(|| {
            if self.health() {
                return Some(true);
            }
            let ended = self.child.as_mut().unwrap().try_wait().unwrap();
            ended.map(|_| false)
        });
        assert_eq!(ready, Some(true), "{}", self.log());
    }

    /// The probe of an image.
    pub(crate) fn health(&self) -> bool {
        let program = Flavor::Ironbark.program().unwrap();
        let address = format!("127.0.0.1:{}", self.metrics);
        let mut command = Command::new(program);
        let command = command.args(["health", "--ready", &address, "--timeout", "5"]);
        command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap()
            .success()
    }

    /// Runs until it ends by itself, and returns what it said.
    pub(crate) fn fails(&mut self) -> String {
        self.spawn();
        let status = self.wait();
        assert_eq!(status.code(), Some(1), "{}", self.log());
        self.log()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.as_ref().unwrap().id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.pid().try_into().unwrap()), signal).unwrap();
    }

    pub(crate) fn wait(&mut self) -> ExitStatus {
        let child = self.child.as_mut().unwrap();
        let status = until(|| child.try_wait().unwrap());
        status.unwrap_or_else(|| panic!("it goes on:\n{}", self.log()))
    }

    /// Ends it as an orchestrator does.
    pub(crate) fn stop(&mut self) {
        self.signal(Signal::SIGTERM);
        let status = self.wait();
        assert!(status.success(), "{status}: {}", self.log());
    }

    /// Runs a client of ldap-utils; its output and exit status.
    pub(crate) fn client(&self, program: &str, who: Who<'_>, arguments: &[&str], input: &str) -> (i32, String) {
        let url = format!("ldap://127.0.0.1:{}/", self.port);
        let mut words = vec!["-x", "-H", &url];
        if let Who(Some((dn, password))) = who {
            words.extend(["-D", dn, "-w", password]);
        }
        words.extend(arguments);
        run(program, &words, &[], input)
    }

    /// A search as the administrator.
    pub(crate) fn search(&self, arguments: &[&str]) -> String {
        let (code, text) = self.client("ldapsearch", ADMIN, arguments, "");
        assert_eq!(code, 0, "{text}\n{}", self.log());
        text
    }

    /// Whether a name may bind with a password.
    pub(crate) fn binds(&self, dn: &str, password: &str) -> bool {
        self.client("ldapwhoami", Who(Some((dn, password))), &[], "").0 == 0
    }

    /// A change over the local socket, whose owner may change everything.
    pub(crate) fn local_modify(&self, ldif: &str) -> (i32, String) {
        let socket = self.data("run/ldapi").display().to_string().replace('/', "%2F");
        let url = format!("ldapi://{socket}/");
        run("ldapmodify", &["-Q", "-Y", "EXTERNAL", "-H", &url], &[], ldif)
    }
}

/// A name and its password; without one, anonymous.
#[derive(Clone, Copy)]
pub(crate) struct Who<'w>(pub(crate) Option<(&'w str, &'w str)>);

pub(crate) const PASSWORD: &str = "the-admins-password";
pub(crate) const ADMIN: Who<'static> = Who(Some(("cn=admin,dc=example,dc=org", PASSWORD)));
pub(crate) const NOBODY: Who<'static> = Who(None);

/// Runs a program of ldap-utils. Its output and errors together.
pub(crate) fn run(program: &str, arguments: &[&str], environment: &[(&str, &str)], input: &str) -> (i32, String) {
    use std::io::Write as _;
    let mut command = Command::new(Path::new("/usr/bin").join(program));
    command
        .env_clear()
        .env("LC_ALL", "C")
        .env("LDAPCONF", "/dev/null")
        .env("LDAPRC", "none");
    command.envs(environment.iter().copied()).args(arguments);
    if program == "ldapsearch" {
        command.args(["-LLL", "-o", "ldif-wrap=no"]);
    }
    let child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = child.unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (
        output.status.code().unwrap_or(-1),
        String::from_utf8_lossy(&text).into_owned(),
    )
}

impl Drop for Container {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
