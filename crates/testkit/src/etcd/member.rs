//! A member of an etcd: where it runs, how it is started, its process.

use std::{
    fs,
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use crate::{Layout, TestkitError, binary::installed, server::free_port};

/// Where a member of etcd runs.
#[derive(Clone, Debug)]
pub struct MemberHost {
    /// The address on which it listens.
    pub host: String,
    /// The command before its own: a program that enters a namespace. Its process must become the member's.
    pub entering: Vec<String>,
}

impl MemberHost {
    /// On loopback, in no namespace of its own.
    pub(super) fn loopback() -> Self {
        Self {
            host: "127.0.0.1".to_owned(),
            entering: Vec::new(),
        }
    }

    /// A program, started where the member runs.
    pub(super) fn command(&self, program: PathBuf) -> Command {
        let Some((first, further)) = self.entering.split_first() else {
            return Command::new(program);
        };
        let mut command = Command::new(first);
        command.args(further).arg(program);
        command
    }
}

/// A member.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) name: String,
    pub(super) place: MemberHost,
    client_port: u16,
    peer_port: u16,
    /// Clients use TLS with `server.crt` and `server.key`.
    pub(super) is_secure: bool,
    /// It joins members that are there.
    pub(super) joins: bool,
    /// The identifier of the lost member in whose place it comes.
    pub(super) former: Option<String>,
    process: Option<Child>,
}

impl Member {
    pub(super) fn new(number: usize, place: MemberHost, is_secure: bool) -> Result<Self, TestkitError> {
        Ok(Self {
            name: format!("m{number}"),
            place,
            client_port: free_port()?,
            peer_port: free_port()?,
            is_secure,
            joins: false,
            former: None,
            process: None,
        })
    }

    pub(super) fn client_url(&self) -> String {
        let scheme = if self.is_secure { "https" } else { "http" };
        format!("{scheme}://{}:{}", self.place.host, self.client_port)
    }

    pub(super) fn peer_url(&self) -> String {
        format!("http://{}:{}", self.place.host, self.peer_port)
    }

    /// Starts it. `all` is the value of `--initial-cluster`.
    pub(super) fn launch(&mut self, layout: &Layout, all: &str, arguments: &[String]) -> Result<(), TestkitError> {
        let output = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(layout.join(&format!("{}.log", self.name)))
            .map_err(TestkitError::io("cannot write the output"))?;
        let (client, peer) = (self.client_url(), self.peer_url());
        let mut etcd = self.place.command(installed("/usr/bin/etcd")?);
        etcd.env_clear()
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
            .args(["--name", &self.name])
            .arg("--data-dir")
            .arg(layout.join(&self.name).join("data"));
        etcd.args(["--listen-client-urls", &client, "--advertise-client-urls", &client]);
        etcd.args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer]);
        let state = if self.joins { "existing" } else { "new" };
        etcd.args(["--initial-cluster", all, "--initial-cluster-state", state]);
        if self.is_secure {
            let (certificate, key) = (layout.join("server.crt"), layout.join("server.key"));
            etcd.arg("--cert-file").arg(certificate).arg("--key-file").arg(key);
        }
        // Elections take a second at most.
        etcd.args(["--heartbeat-interval", "50", "--election-timeout", "500"]);
        etcd.args(arguments);
        etcd.stdin(Stdio::null()).stdout(Stdio::null()).stderr(output);
        self.process = Some(etcd.spawn().map_err(TestkitError::io("cannot run etcd"))?);
        Ok(())
    }

    pub(super) fn kill(&mut self) -> Result<(), TestkitError> {
        let Some(mut process) = self.process.take() else {
            return Ok(());
        };
        process.kill().map_err(TestkitError::io("cannot kill etcd"))?;
        process.wait().map_err(TestkitError::io("cannot wait for etcd"))?;
        Ok(())
    }

    pub(super) fn signal(&self, signal: Signal) -> Result<(), TestkitError> {
        let pid = self.pid().and_then(|pid| i32::try_from(pid).ok());
        let pid = pid.ok_or_else(|| TestkitError::io("no such member")(std::io::ErrorKind::NotFound.into()))?;
        kill(Pid::from_raw(pid), signal).map_err(|error| TestkitError::io("cannot signal etcd")(error.into()))
    }

    pub(super) fn pid(&self) -> Option<u32> {
        self.process.as_ref().map(Child::id)
    }

    pub(super) fn has_ended(&mut self) -> bool {
        let process = self.process.as_mut();
        process.is_none_or(|process| matches!(process.try_wait(), Ok(Some(_)) | Err(_)))
    }
}
