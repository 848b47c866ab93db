//! The server under a supervisor such as systemd: what it reports, its watchdog, and sockets that are passed to it.

use std::{
    os::unix::net::{UnixDatagram, UnixListener, UnixStream},
    process::{Child, Command, Stdio},
};

use nix::{
    sys::{
        ptrace::{self, Options},
        wait::{WaitPidFlag, waitpid},
    },
    unistd::Pid,
};

use super::server::{PATIENCE, Place, exists, read_message, search, signal, wait_until, write};

/// A server with the socket of a supervisor. Killed on drop.
struct Supervised {
    place: Place,
    socket: UnixDatagram,
    child: Child,
}

impl Supervised {
    /// `watchdog_ms` 0: no watchdog.
    fn start(settings: &str, watchdog_ms: u32) -> Self {
        let place = Place::new(settings);
        let socket = UnixDatagram::bind(place.path("notify")).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let child = place
            .slapd(&place.local_url())
            .args(["-d", "0"])
            .env("NOTIFY_SOCKET", place.path("notify"))
            .env("WATCHDOG_USEC", (u64::from(watchdog_ms) * 1_000).to_string())
            .spawn()
            .unwrap();
        Self { place, socket, child }
    }

    /// The next message that is not `WATCHDOG=1`.
    fn news(&self) -> String {
        loop {
            let message = self.message().unwrap();
            if message != ALIVE {
                return message;
            }
        }
    }

    /// The next message within the time that the socket has.
    fn message(&self) -> Option<String> {
        let mut buffer = [0; 256];
        let length = self.socket.recv(&mut buffer).ok()?;
        Some(String::from_utf8(buffer[..length].to_vec()).unwrap())
    }

    fn threads(&self, name: &str) -> Vec<Pid> {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap();
        let mut threads = Vec::new();
        for task in tasks.map(Result::unwrap) {
            let own = std::fs::read_to_string(task.path().join("comm")).unwrap();
            if own.starts_with(name) {
                threads.push(Pid::from_raw(task.file_name().to_str().unwrap().parse().unwrap()));
            }
        }
        threads
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const ALIVE: &str = "WATCHDOG=1";

#[test]
fn the_supervisor_learns_when_it_listens_and_when_it_ends() {
    let mut server = Supervised::start("", 0);
    assert!(server.news().starts_with("READY=1\n"));
    // No waiting: the message came when it listened.
    let mut stream = UnixStream::connect(server.place.path("ldapi")).unwrap();
    write(&mut stream, &search(1));
    assert!(read_message(&mut stream).is_some());
    signal(server.child.id(), "TERM");
    assert!(server.news().starts_with("STOPPING=1\n"));
    let ended = wait_until(|| server.child.try_wait().unwrap()).unwrap();
    assert!(ended.success());
}

#[test]
fn a_reload_has_a_beginning_and_an_end() {
    let server = Supervised::start("sighup reload", 0);
    assert!(server.news().starts_with("READY=1\n"));
    signal(server.child.id(), "HUP");
    let reloading = server.news();
    let since = reloading.strip_prefix("RELOADING=1\nMONOTONIC_USEC=").unwrap();
    assert!(since.parse::<u64>().unwrap() > 0, "{reloading}");
    assert!(server.news().starts_with("READY=1\n"));
}

#[test]
fn a_configuration_that_is_refused_is_never_ready() {
    let mut server = Supervised::start("nonsense on", 0);
    let ended = wait_until(|| server.child.try_wait().unwrap()).unwrap();
    assert_eq!(ended.code(), Some(1));
    server.socket.set_nonblocking(true).unwrap();
    assert_eq!(server.message(), None);
}

#[test]
fn the_watchdog_is_fed_until_one_reactor_hangs() {
    let server = Supervised::start("threads 2", 400);
    assert!(server.news().starts_with("READY=1\n"));
    for _ in 0..4 {
        assert_eq!(server.message().as_deref(), Some(ALIVE), "no client is needed for it");
    }
    let reactors = server.threads("reactor");
    assert!(!reactors.is_empty());
    let hanging = *reactors.last().unwrap();
    ptrace::seize(hanging, Options::empty()).unwrap();
    ptrace::interrupt(hanging).unwrap();
    waitpid(hanging, Some(WaitPidFlag::__WALL)).unwrap();
    // What it had sent before, and the call that the reactor may have answered before it was stopped.
    server.socket.set_nonblocking(true).unwrap();
    while server.message().is_some() {}
    server.socket.set_nonblocking(false).unwrap();
    server
        .socket
        .set_read_timeout(Some(std::time::Duration::from_secs(2)))
        .unwrap();
    let last = server.message();
    assert!(
        last.is_none() || server.message().is_none(),
        "it is fed while a reactor hangs"
    );
    ptrace::detach(hanging, None).unwrap();
    server.socket.set_read_timeout(Some(PATIENCE)).unwrap();
    assert_eq!(server.message().as_deref(), Some(ALIVE));
}

#[test]
fn a_supervisor_that_is_not_there_is_no_reason_not_to_serve() {
    let place = Place::new("");
    let mut child = place
        .slapd(&place.local_url())
        .args(["-d", "0"])
        .env("NOTIFY_SOCKET", place.path("none"))
        .spawn()
        .unwrap();
    let stream = wait_until(|| UnixStream::connect(place.path("ldapi")).ok());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(stream.is_some());
}

#[test]
fn a_socket_that_was_passed_is_served_and_stays() {
    let place = Place::new("");
    let path = place.path("ldapi");
    let socket = UnixListener::bind(&path).unwrap();
    // A client that came before the server.
    let mut early = UnixStream::connect(&path).unwrap();
    write(&mut early, &search(1));
    let mut child = Command::new("/bin/sh")
        .args(["-c", "LISTEN_FDS=1 LISTEN_PID=$$ exec \"$@\" 3<&0 </dev/null", "sh"])
        .arg(place.path("slapd"))
        .args(["-d", "0", "-s0", "-f", "slapd.conf", "-h", &place.local_url()])
        .current_dir(path.parent().unwrap())
        .stdin(Stdio::from(std::os::fd::OwnedFd::from(socket.try_clone().unwrap())))
        .spawn()
        .unwrap();
    early.set_read_timeout(Some(PATIENCE)).unwrap();
    assert!(read_message(&mut early).is_some());
    signal(child.id(), "TERM");
    let ended = wait_until(|| child.try_wait().unwrap()).unwrap();
    assert!(ended.success());
    assert!(exists(&path), "the next server takes it");
    assert!(UnixStream::connect(&path).is_ok(), "clients wait for the next server");
}
