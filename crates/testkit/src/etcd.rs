//! etcd for tests, of Debian's etcd-server.

use std::{
    fs,
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use crate::{Authority, Layout, Outcome, TestkitError, binary::installed, command, server::free_port, wait};

/// Some members of one etcd, on loopback ports, with their files in a directory of their own. Dropping it ends its own
/// processes.
#[derive(Debug)]
pub struct Etcd {
    layout: Layout,
    /// Port for clients, port for members, process.
    members: Vec<(u16, u16, Option<Child>)>,
    /// Whether clients use TLS.
    is_secure: bool,
}

impl Etcd {
    /// Starts an etcd of this many members, and waits until it answers.
    pub fn start(members: usize) -> Result<Self, TestkitError> {
        Self::begin(members, None)
    }

    /// Starts an etcd of one member, which is reached by TLS alone.
    pub fn start_secure(authority: &mut Authority) -> Result<Self, TestkitError> {
        Self::begin(1, Some(authority))
    }

    fn begin(members: usize, authority: Option<&mut Authority>) -> Result<Self, TestkitError> {
        let ports = (0..members).map(|_| Ok((free_port()?, free_port()?, None)));
        let mut etcd = Self {
            layout: Layout::new()?,
            members: ports.collect::<Result<_, TestkitError>>()?,
            is_secure: authority.is_some(),
        };
        if let Some(authority) = authority {
            authority.server()?.write(&etcd.layout, "server")?;
            etcd.layout.write("ca.crt", authority.certificate())?;
        }
        for member in 0..members {
            etcd.launch(member)?;
        }
        etcd.wait_for_answer()?;
        Ok(etcd)
    }

    /// The URLs of all members, separated by commas.
    pub fn urls(&self) -> String {
        let urls = self.members.iter().map(|(port, ..)| self.client_url(*port));
        urls.collect::<Vec<_>>().join(",")
    }

    fn client_url(&self, port: u16) -> String {
        let scheme = if self.is_secure { "https" } else { "http" };
        format!("{scheme}://127.0.0.1:{port}")
    }

    /// The file with the authority of an etcd with TLS.
    pub fn authority(&self) -> PathBuf {
        self.layout.join("ca.crt")
    }

    /// Starts a member, new or with what it has.
    pub fn launch(&mut self, member: usize) -> Result<(), TestkitError> {
        let url = |port: u16| format!("http://127.0.0.1:{port}");
        let all = self.members.iter().enumerate();
        let all: Vec<_> = all
            .map(|(number, (_, peer, _))| format!("m{number}={}", url(*peer)))
            .collect();
        let data = self.layout.join(&format!("m{member}"));
        let output = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.layout.join(&format!("m{member}.log")))
            .map_err(TestkitError::io("cannot write the output"))?;
        let client = self.members.get(member).map(|(port, ..)| self.client_url(*port));
        let (certificate, key) = (self.layout.join("server.crt"), self.layout.join("server.key"));
        let (Some(client), Some((_, peer, process))) = (client, self.members.get_mut(member)) else {
            return Err(TestkitError::io("no such member")(std::io::ErrorKind::NotFound.into()));
        };
        let mut etcd = Command::new(installed("/usr/bin/etcd")?);
        etcd.env_clear()
            .args(["--name", &format!("m{member}")])
            .arg("--data-dir")
            .arg(data);
        etcd.args(["--listen-client-urls", &client, "--advertise-client-urls", &client]);
        etcd.args([
            "--listen-peer-urls",
            &url(*peer),
            "--initial-advertise-peer-urls",
            &url(*peer),
        ]);
        etcd.args(["--initial-cluster", &all.join(",")]);
        if self.is_secure {
            etcd.arg("--cert-file").arg(certificate).arg("--key-file").arg(key);
        }
        // Elections take a second at most.
        etcd.args(["--heartbeat-interval", "50", "--election-timeout", "500"]);
        etcd.stdin(Stdio::null()).stdout(Stdio::null()).stderr(output);
        *process = Some(etcd.spawn().map_err(TestkitError::io("cannot run etcd"))?);
        Ok(())
    }

    /// Waits until all members answer.
    pub fn wait_for_answer(&self) -> Result<(), TestkitError> {
        let health = ["endpoint", "health"];
        let answers = wait::until(|| (self.etcdctl(&health).ok()?.code() == Some(0)).then_some(()));
        answers.ok_or_else(|| TestkitError::Deadline {
            what: "an answer of etcd".to_owned(),
            seconds: wait::DEADLINE.as_secs(),
            log: self.layout.read("m0.log").unwrap_or_default(),
        })
    }

    /// Runs etcdctl.
    pub fn etcdctl(&self, arguments: &[&str]) -> Result<Outcome, TestkitError> {
        let mut etcdctl = Command::new(installed("/usr/bin/etcdctl")?);
        etcdctl.env_clear().env("ETCDCTL_API", "3");
        etcdctl.args(["--endpoints", &self.urls(), "--command-timeout", "1s"]);
        if self.is_secure {
            etcdctl.arg("--cacert").arg(self.authority());
        }
        command::run(etcdctl.args(arguments), b"")
    }

    /// Kills a member.
    pub fn kill(&mut self, member: usize) -> Result<(), TestkitError> {
        let process = self.members.get_mut(member).and_then(|(.., process)| process.take());
        let Some(mut process) = process else {
            return Ok(());
        };
        process.kill().map_err(TestkitError::io("cannot kill etcd"))?;
        process.wait().map_err(TestkitError::io("cannot wait for etcd"))?;
        Ok(())
    }

    /// Sends a signal to a member: SIGSTOP, SIGCONT.
    pub fn signal(&self, member: usize, signal: Signal) -> Result<(), TestkitError> {
        let process = self.members.get(member).and_then(|(.., process)| process.as_ref());
        let pid = process.and_then(|process| i32::try_from(process.id()).ok());
        let pid = pid.ok_or_else(|| TestkitError::io("no such member")(std::io::ErrorKind::NotFound.into()))?;
        kill(Pid::from_raw(pid), signal).map_err(|error| TestkitError::io("cannot signal etcd")(error.into()))
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        for member in 0..self.members.len() {
            // It may have ended by itself.
            let _ = self.kill(member);
        }
    }
}
