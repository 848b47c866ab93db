//! Messages to the local syslog daemon in the form of RFC 3164, as syslog(3) sends them.

use std::{io, os::unix::net::UnixDatagram, path::PathBuf};

use ironbark_runtime::WallTime;

use super::{file::local_time, line::push_syslog_stamp};

/// The target and identity of the messages.
#[derive(Clone, Debug)]
pub struct SyslogOptions {
    /// The datagram socket of the daemon.
    pub socket: PathBuf,
    /// `-n`: the name in front of the process number.
    pub name: String,
    /// `-l`.
    pub facility: Facility,
    /// `-S`.
    pub severity: Severity,
}

impl Default for SyslogOptions {
    fn default() -> Self {
        Self {
            socket: PathBuf::from("/dev/log"),
            name: "slapd".to_owned(),
            facility: Facility(20),
            severity: Severity(7),
        }
    }
}

/// A facility number of RFC 3164 §4.1.1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Facility(u8);

/// A severity number of RFC 3164 §4.1.1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Severity(u8);

impl Facility {
    /// A facility of `-l`: LOCAL0 to LOCAL7, USER or DAEMON, in any case.
    pub fn parse(text: &str) -> Option<Self> {
        let upper = text.to_ascii_uppercase();
        match upper.as_str() {
            "USER" => Some(Self(1)),
            "DAEMON" => Some(Self(3)),
            _ => match upper.strip_prefix("LOCAL")?.as_bytes() {
                [digit @ b'0'..=b'7'] => Some(Self(16 + digit - b'0')),
                _ => None,
            },
        }
    }
}

impl Severity {
    /// A severity of `-S`, in any case.
    pub fn parse(text: &str) -> Option<Self> {
        const NAMES: [&str; 8] = ["EMERG", "ALERT", "CRIT", "ERR", "WARNING", "NOTICE", "INFO", "DEBUG"];
        let position = NAMES.iter().position(|name| name.eq_ignore_ascii_case(text))?;
        u8::try_from(position).ok().map(Self)
    }
}

/// A connection to the daemon.
pub(super) struct Syslog {
    options: SyslogOptions,
    socket: Option<UnixDatagram>,
    line: String,
    /// The time of the last failed attempt to connect.
    missed: Option<WallTime>,
    /// Messages that were lost since the last one was sent.
    pub(super) lost: u64,
}

impl Syslog {
    pub(super) fn new(options: SyslogOptions) -> Self {
        Self {
            options,
            socket: None,
            line: String::new(),
            missed: None,
            lost: 0,
        }
    }

    /// Connects if there is a daemon. Otherwise messages try again, at most once a second.
    pub(super) fn connect(&mut self) {
        self.socket = self.open().ok();
    }

    fn open(&self) -> io::Result<UnixDatagram> {
        let socket = UnixDatagram::unbound()?;
        socket.connect(&self.options.socket)?;
        Ok(socket)
    }

    /// Sends one message. A message that the daemon does not take is lost and counted.
    pub(super) fn send(&mut self, time: WallTime, text: &str) {
        use std::fmt::Write as _;
        if self.missed.map(WallTime::unix_seconds) == Some(time.unix_seconds()) {
            self.lost += 1;
            return;
        }
        self.missed = None;
        let SyslogOptions {
            name,
            facility,
            severity,
            ..
        } = &self.options;
        let priority = u32::from(facility.0) * 8 + u32::from(severity.0);
        self.line.clear();
        let _ = write!(self.line, "<{priority}>");
        push_syslog_stamp(&mut self.line, local_time(time));
        let _ = write!(self.line, " {name}[{}]: ", std::process::id());
        self.line
            .push_str(text.get(..text.floor_char_boundary(MAX_TEXT_BYTES)).unwrap_or_default());
        // The daemon may have been restarted: a second socket reaches it.
        for _ in 0..2 {
            if self.socket.is_none() {
                self.socket = self.open().ok();
            }
            match self.socket.as_ref().map(|socket| socket.send(self.line.as_bytes())) {
                Some(Ok(_)) => return,
                Some(Err(_)) => self.socket = None,
                None => break,
            }
        }
        if self.socket.is_none() {
            self.missed = Some(time);
        }
        self.lost += 1;
    }
}

/// Longer datagrams are cut or refused by common daemons.
const MAX_TEXT_BYTES: usize = 8000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facilities_and_severities_have_names() {
        assert_eq!(Facility::parse("local4"), Some(Facility(20)));
        assert_eq!(Facility::parse("DAEMON"), Some(Facility(3)));
        assert_eq!(Facility::parse("LOCAL8"), None);
        assert_eq!(Facility::parse("KERN"), None);
        assert_eq!(Severity::parse("Debug"), Some(Severity(7)));
        assert_eq!(Severity::parse("LOUD"), None);
    }

    #[test]
    fn messages_have_the_form_of_rfc_3164() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let daemon = UnixDatagram::bind(&path).unwrap();
        let mut syslog = Syslog::new(SyslogOptions {
            socket: path,
            ..SyslogOptions::default()
        });
        syslog.send(WallTime::from_unix_micros(0), "conn=1000 fd=12 closed");
        let mut buffer = [0; 200];
        let length = daemon.recv(&mut buffer).unwrap();
        let line = std::str::from_utf8(&buffer[..length]).unwrap();
        let (stamp, message) = line.split_once(" slapd[").unwrap();
        assert!(
            stamp.starts_with("<167>") && stamp.len() == "<167>Jan  1 00:00:00".len(),
            "{line}"
        );
        assert_eq!(message, format!("{}]: conn=1000 fd=12 closed", std::process::id()));
    }

    #[test]
    fn a_daemon_that_comes_later_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut syslog = Syslog::new(SyslogOptions {
            socket: path.clone(),
            ..SyslogOptions::default()
        });
        syslog.send(WallTime::from_unix_micros(0), "lost");
        assert_eq!(syslog.lost, 1);
        let daemon = UnixDatagram::bind(&path).unwrap();
        syslog.send(WallTime::from_unix_micros(1_000_000), "found");
        let mut buffer = [0; 200];
        let length = daemon.recv(&mut buffer).unwrap();
        assert!(buffer[..length].ends_with(b"found"));
    }
}
