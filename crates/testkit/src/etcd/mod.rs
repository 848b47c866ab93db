//! etcd for tests, of Debian's etcd-server.

mod member;

use std::path::PathBuf;

use nix::sys::signal::Signal;

use self::member::Member;
pub use self::member::MemberHost;
use crate::{CertificateAuthority, Layout, ProgramOutput, TestkitError, binary::installed, command, wait};

/// Some members of one etcd, with their files in a directory of their own. Dropping it ends its own processes.
#[derive(Debug)]
pub struct Etcd {
    layout: Layout,
    members: Vec<Member>,
    /// Where etcdctl runs.
    control: MemberHost,
    /// Arguments of each member after the usual ones.
    arguments: Vec<String>,
}

impl Etcd {
    /// Starts an etcd of this many members on loopback, and waits until it answers.
    pub fn start(members: usize) -> Result<Self, TestkitError> {
        let places = vec![MemberHost::loopback(); members];
        Self::of(places, MemberHost::loopback(), false)?.begin()
    }

    /// Starts an etcd of one member, which is reached by TLS alone.
    pub fn start_secure(authority: &mut CertificateAuthority) -> Result<Self, TestkitError> {
        let etcd = Self::of(vec![MemberHost::loopback()], MemberHost::loopback(), true)?;
        authority.server()?.write(&etcd.layout, "server")?;
        etcd.layout.write("ca.crt", authority.certificate())?;
        etcd.begin()
    }

    /// Members at these places, which are not started yet. `control` is where etcdctl runs; it must reach all of them.
    pub fn prepare(places: Vec<MemberHost>, control: MemberHost, arguments: &[&str]) -> Result<Self, TestkitError> {
        let mut etcd = Self::of(places, control, false)?;
        etcd.arguments = arguments.iter().map(|&argument| argument.to_owned()).collect();
        Ok(etcd)
    }

    fn of(places: Vec<MemberHost>, control: MemberHost, is_secure: bool) -> Result<Self, TestkitError> {
        let layout = Layout::new()?;
        let members = places.into_iter().enumerate();
        let members = members.map(|(number, place)| {
            layout.make_dir(&format!("m{number}"))?;
            Member::new(number, place, is_secure)
        });
        Ok(Self {
            members: members.collect::<Result<_, TestkitError>>()?,
            layout,
            control,
            arguments: Vec::new(),
        })
    }

    /// Starts all members, and waits until they answer.
    pub fn begin(mut self) -> Result<Self, TestkitError> {
        for member in 0..self.members.len() {
            self.launch(member)?;
        }
        self.wait_for_answer()?;
        Ok(self)
    }

    /// The URLs of all members, separated by commas.
    pub fn urls(&self) -> String {
        let urls = self.members.iter().map(Member::client_url);
        urls.collect::<Vec<_>>().join(",")
    }

    /// The URL of a member for clients.
    pub fn url(&self, member: usize) -> String {
        self.members.get(member).map(Member::client_url).unwrap_or_default()
    }

    /// The file with the authority of an etcd with TLS.
    pub fn authority(&self) -> PathBuf {
        self.layout.join("ca.crt")
    }

    /// The directory of a member's data, for a file system of its own.
    pub fn directory(&self, member: usize) -> PathBuf {
        self.layout.join(&format!("m{member}"))
    }

    /// What a member has said.
    pub fn log(&self, member: usize) -> String {
        self.layout.read(&format!("m{member}.log")).unwrap_or_default()
    }

    /// Starts a member, new or with what it has.
    pub fn launch(&mut self, member: usize) -> Result<(), TestkitError> {
        let all = self.members.iter();
        let all: Vec<_> = all.map(|one| format!("{}={}", one.name, one.peer_url())).collect();
        let (layout, arguments) = (&self.layout, &self.arguments);
        let one = self.members.get_mut(member);
        one.map_or(Ok(()), |one| one.launch(layout, &all.join(","), arguments))
    }

    /// Ends a member and removes all that it has.
    pub fn lose(&mut self, member: usize) -> Result<(), TestkitError> {
        let directory = self.directory(member);
        let one = self.member(member)?;
        one.kill()?;
        (one.joins, one.former) = (true, None);
        let mut remove = one.place.command("/bin/rm".into());
        remove.arg("-rf").arg(directory.join("data"));
        command::run(&mut remove, b"")?.success().map(|_| ())
    }

    /// A step towards a new, empty member in the place of one that was lost: the others forget the old one, then learn
    /// of the new one, then it is started. Returns whether that is done; it takes some steps, and a majority that
    /// answers.
    pub fn replace(&mut self, member: usize) -> Result<bool, TestkitError> {
        let list = self.etcdctl(&["member", "list"])?;
        if list.code() != Some(0) {
            return Ok(false);
        }
        let one = self.member(member)?;
        let (name, url) = (one.name.clone(), one.peer_url());
        // An answer may have been lost, or come from a member that does not know yet: what is there decides.
        let here = list.stdout.lines().find(|line| line.contains(&url));
        let id = here.and_then(|line| line.split(',').next()).map(str::to_owned);
        match id {
            None => self.etcdctl(&["member", "add", &name, &format!("--peer-urls={url}")])?,
            Some(id) if *one.former.get_or_insert_with(|| id.clone()) == id => {
                self.etcdctl(&["member", "remove", &id])?
            }
            Some(_) => return self.launch(member).map(|()| true),
        };
        Ok(false)
    }

    fn member(&mut self, member: usize) -> Result<&mut Member, TestkitError> {
        let one = self.members.get_mut(member);
        one.ok_or_else(|| TestkitError::io("no such member")(std::io::ErrorKind::NotFound.into()))
    }

    /// Waits until all members answer.
    pub fn wait_for_answer(&self) -> Result<(), TestkitError> {
        let answers = wait::until(|| self.answers().then_some(()));
        answers.ok_or_else(|| self.deadline("an answer of etcd"))
    }

    /// Whether all members answer.
    pub fn answers(&self) -> bool {
        let health = self.etcdctl(&["endpoint", "health"]);
        health.is_ok_and(|health| health.code() == Some(0))
    }

    fn deadline(&self, what: &str) -> TestkitError {
        TestkitError::Deadline {
            what: what.to_owned(),
            seconds: wait::DEADLINE.as_secs(),
            log: self.log(0),
        }
    }

    /// Runs etcdctl.
    pub fn etcdctl(&self, arguments: &[&str]) -> Result<ProgramOutput, TestkitError> {
        self.etcdctl_with(arguments, b"")
    }

    /// Puts a value of any octets.
    pub fn put(&self, key: &str, value: &[u8]) -> Result<ProgramOutput, TestkitError> {
        self.etcdctl_with(&["put", key], value)
    }

    fn etcdctl_with(&self, arguments: &[&str], input: &[u8]) -> Result<ProgramOutput, TestkitError> {
        let mut etcdctl = self.control.command(installed("/usr/bin/etcdctl")?);
        etcdctl
            .env_clear()
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
            .env("ETCDCTL_API", "3");
        etcdctl.args(["--endpoints", &self.urls(), "--command-timeout", "1s"]);
        if self.members.iter().any(|member| member.is_secure) {
            etcdctl.arg("--cacert").arg(self.authority());
        }
        command::run(etcdctl.args(arguments), input)
    }

    /// Kills a member.
    pub fn kill(&mut self, member: usize) -> Result<(), TestkitError> {
        self.members.get_mut(member).map_or(Ok(()), Member::kill)
    }

    /// Sends a signal to a member: SIGSTOP, SIGCONT.
    pub fn signal(&self, member: usize, signal: Signal) -> Result<(), TestkitError> {
        let member = self.members.get(member);
        member.map_or(Ok(()), |member| member.signal(signal))
    }

    /// The process of a member while it runs.
    pub fn pid(&self, member: usize) -> Option<u32> {
        self.members.get(member).and_then(Member::pid)
    }

    /// Whether a member does not run, or has ended by itself.
    pub fn has_ended(&mut self, member: usize) -> bool {
        self.members.get_mut(member).is_none_or(Member::has_ended)
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        for member in &mut self.members {
            // It may have ended by itself.
            let _ = member.kill();
        }
    }
}
