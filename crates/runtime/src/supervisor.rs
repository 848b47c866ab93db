//! The supervisor that started this process, such as systemd: it is told when the server is ready, reloads and stops,
//! and that it still works.
//!
//! The protocol is that of sd_notify(3): datagrams of lines `NAME=value` to the socket that the variable
//! `NOTIFY_SOCKET` names. The socket is connected once, before privileges and root directory change: afterwards its
//! path may be out of reach. So this is no use of a library: those connect anew for each message.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

use crate::MonotonicTime;

/// The connection to the supervisor. Without one, every message is a no-op.
#[derive(Debug, Default)]
pub struct Supervisor {
    socket: Option<UnixDatagram>,
    watchdog: Option<Duration>,
}

/// What a supervisor tells its process by environment variables.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SupervisorSettings {
    /// `NOTIFY_SOCKET`: the path of the socket, or its abstract name after `@`.
    pub socket: Option<OsString>,
    /// `WATCHDOG_USEC`: the process is killed when it has not reported for so long. In microseconds.
    pub watchdog: Option<OsString>,
    /// `WATCHDOG_PID`: the process that the watchdog watches. Without it, it is this process.
    pub watched_process: Option<OsString>,
}

impl SupervisorSettings {
    /// The settings of this process.
    pub fn from_environment() -> Self {
        Self {
            socket: std::env::var_os("NOTIFY_SOCKET"),
            watchdog: std::env::var_os("WATCHDOG_USEC"),
            watched_process: std::env::var_os("WATCHDOG_PID"),
        }
    }

    /// The time after which the watchdog bites, if it watches this process. A value that is no number is passed over,
    /// as sd_watchdog_enabled(3) has it.
    fn watchdog_time(&self) -> Option<Duration> {
        let number = |text: &OsString| text.to_str()?.parse::<u64>().ok();
        let is_ours = match &self.watched_process {
            Some(process) => number(process) == Some(u64::from(std::process::id())),
            None => true,
        };
        let micros = self.watchdog.as_ref().and_then(number)?;
        (is_ours && micros != 0).then(|| Duration::from_micros(micros))
    }
}

impl Supervisor {
    /// Connects to the supervisor that the settings name.
    ///
    /// # Errors
    /// The socket cannot be reached.
    pub fn connect(settings: &SupervisorSettings) -> io::Result<Self> {
        let Some(name) = settings.socket.as_deref().filter(|name| !name.is_empty()) else {
            return Ok(Self::default());
        };
        let socket = UnixDatagram::unbound()?;
        socket.connect_addr(&address(name)?)?;
        // A supervisor that does not read must not hold up the server.
        socket.set_nonblocking(true)?;
        Ok(Self {
            socket: Some(socket),
            watchdog: settings.watchdog_time(),
        })
    }

    /// The time after which the supervisor kills a process that has not called [`Supervisor::alive`]. `None`: there is
    /// no watchdog.
    pub fn watchdog(&self) -> Option<Duration> {
        self.watchdog
    }

    /// The server listens, or has ended a reload.
    ///
    /// # Errors
    /// As for all messages: the supervisor does not take it.
    pub fn ready(&self) -> io::Result<()> {
        self.send("READY=1\nSTATUS=Listening")
    }

    /// The server takes up replaced files since `now`; [`Supervisor::ready`] ends this.
    ///
    /// # Errors
    /// As for all messages: the supervisor does not take it.
    pub fn reloading(&self, now: MonotonicTime) -> io::Result<()> {
        self.send(&format!("RELOADING=1\nMONOTONIC_USEC={}", now.nanos() / 1_000))
    }

    /// The server begins to end.
    ///
    /// # Errors
    /// As for all messages: the supervisor does not take it.
    pub fn stopping(&self) -> io::Result<()> {
        self.send("STOPPING=1\nSTATUS=Ending")
    }

    /// The server works: the time of the watchdog begins anew.
    ///
    /// # Errors
    /// As for all messages: the supervisor does not take it.
    pub fn alive(&self) -> io::Result<()> {
        self.send("WATCHDOG=1")
    }

    fn send(&self, message: &str) -> io::Result<()> {
        match &self.socket {
            Some(socket) => socket.send(message.as_bytes()).map(|_| ()),
            None => Ok(()),
        }
    }
}

fn address(name: &OsStr) -> io::Result<SocketAddr> {
    match name.as_bytes() {
        [b'@', abstract_name @ ..] => SocketAddr::from_abstract_name(abstract_name),
        [b'/', ..] => SocketAddr::from_pathname(name),
        _ => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!(
                "NOTIFY_SOCKET is neither a path nor an abstract name: {}",
                name.display()
            ),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(socket: &OsStr) -> SupervisorSettings {
        SupervisorSettings {
            socket: Some(socket.to_owned()),
            ..SupervisorSettings::default()
        }
    }

    fn next(socket: &UnixDatagram) -> String {
        let mut buffer = [0; 256];
        let length = socket.recv(&mut buffer).unwrap();
        String::from_utf8(buffer[..length].to_vec()).unwrap()
    }

    #[test]
    fn each_message_is_a_datagram_to_the_named_socket() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        let supervisor = Supervisor::connect(&settings(path.as_os_str())).unwrap();
        supervisor.ready().unwrap();
        supervisor.reloading(MonotonicTime::from_nanos(7_654_321)).unwrap();
        supervisor.alive().unwrap();
        // The path may be gone after a change of the root directory; the connection is not.
        std::fs::remove_file(&path).unwrap();
        supervisor.stopping().unwrap();
        let expected = [
            "READY=1\nSTATUS=Listening",
            "RELOADING=1\nMONOTONIC_USEC=7654",
            "WATCHDOG=1",
            "STOPPING=1\nSTATUS=Ending",
        ];
        assert_eq!(expected.map(|_| next(&socket)), expected);
    }

    #[test]
    fn a_name_after_an_at_sign_is_abstract() {
        let name = format!("ironbark-supervisor-{}", std::process::id());
        let socket = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        let supervisor = Supervisor::connect(&settings(OsStr::new(&format!("@{name}")))).unwrap();
        supervisor.alive().unwrap();
        assert_eq!(next(&socket), "WATCHDOG=1");
    }

    #[test]
    fn a_socket_that_cannot_be_reached_is_an_error_and_none_is_none() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Supervisor::connect(&settings(folder.path().join("none").as_os_str())).is_err());
        assert!(Supervisor::connect(&settings(OsStr::new("relative"))).is_err());
        let nobody = Supervisor::connect(&SupervisorSettings::default()).unwrap();
        assert_eq!((nobody.watchdog(), nobody.ready().is_ok()), (None, true));
    }

    #[test]
    fn a_supervisor_that_does_not_read_holds_nobody_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let _socket = UnixDatagram::bind(&path).unwrap();
        let supervisor = Supervisor::connect(&settings(path.as_os_str())).unwrap();
        let refused = (0..100_000).find_map(|_| supervisor.alive().err());
        assert_eq!(refused.map(|error| error.kind()), Some(io::ErrorKind::WouldBlock));
    }

    #[test]
    fn the_watchdog_counts_only_for_the_process_that_it_watches() {
        let time = |micros: &str, process: Option<&str>| {
            SupervisorSettings {
                socket: None,
                watchdog: Some(micros.into()),
                watched_process: process.map(OsString::from),
            }
            .watchdog_time()
        };
        let own = std::process::id().to_string();
        assert_eq!(time("2500000", None), Some(Duration::from_millis(2_500)));
        assert_eq!(time("2500000", Some(&own)), Some(Duration::from_millis(2_500)));
        for (micros, process) in [("2500000", Some("1")), ("0", None), ("soon", None), ("5", Some("x"))] {
            assert_eq!(time(micros, process), None, "{micros} {process:?}");
        }
    }
}
