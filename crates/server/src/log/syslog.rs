//! Messages to the local syslog daemon in the form of RFC 3164, as syslog(3) sends them.

use std::{
    fmt::Write as _,
    io::{self, IoSlice},
    os::unix::net::UnixDatagram,
    path::PathBuf,
    time::Duration,
};

use ironbark_runtime::WallTime;
use rustix::net::{MMsgHdr, SendAncillaryBuffer, SendFlags, sendmmsg};

use super::{file::local_time, line::push_syslog_stamp, lines::Head};

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

/// A connection to the daemon, with the messages that wait to be sent.
pub(super) struct Syslog {
    options: SyslogOptions,
    socket: Option<UnixDatagram>,
    /// The messages, one behind the other.
    text: String,
    /// Where each message ends.
    ends: Vec<usize>,
    /// The beginning of the messages that are pushed.
    prefix: String,
    /// The time of the last message.
    time: WallTime,
    /// When the daemon was not there, or took nothing: seconds since 1970, and for how many nothing is sent.
    missed: Option<(i64, i64)>,
    /// Messages that were lost since the last one was sent.
    lost: u64,
}

impl Syslog {
    pub(super) fn new(options: SyslogOptions) -> Self {
        Self {
            options,
            socket: None,
            text: String::new(),
            ends: Vec::new(),
            prefix: String::new(),
            time: WallTime::from_unix_micros(0),
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
        socket.set_write_timeout(Some(MAX_WAIT))?;
        Ok(socket)
    }

    /// Adds a message for each line to those that [`Syslog::flush`] sends. Returns how many were lost meanwhile.
    pub(super) fn push(&mut self, head: &Head, lines: &str) -> u64 {
        let SyslogOptions {
            name,
            facility,
            severity,
            ..
        } = &self.options;
        let priority = u32::from(facility.0) * 8 + u32::from(severity.0);
        self.time = head.time;
        self.prefix.clear();
        // Writing to a string cannot fail.
        let _ = write!(self.prefix, "<{priority}>");
        push_syslog_stamp(&mut self.prefix, local_time(head.time));
        let _ = write!(self.prefix, " {name}[{}]: ", std::process::id());
        let mut lost = 0;
        for line in lines.lines() {
            self.text.push_str(&self.prefix);
            self.text
                .push_str(line.get(..line.floor_char_boundary(MAX_TEXT_BYTES)).unwrap_or_default());
            self.ends.push(self.text.len());
            if self.ends.len() >= MAX_AT_ONCE {
                lost += self.flush();
            }
        }
        lost
    }

    /// Sends the messages, with one call if the daemon takes them. Returns how many it did not take: they are lost.
    pub(super) fn flush(&mut self) -> u64 {
        let (mut sent, mut failures, mut refused) = (0, 0, 0);
        while sent < self.ends.len() && self.may_try() {
            match self.send_from(sent) {
                Ok(more) => {
                    failures = 0;
                    sent += more;
                    self.tell_lost();
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.miss(PAUSE_SECONDS),
                // The daemon may have been restarted: a second socket reaches it.
                Err(_) if failures == 0 => {
                    failures = 1;
                    self.socket = None;
                }
                // It is the message.
                Err(_) => {
                    failures = 0;
                    self.socket = None;
                    refused += 1;
                    self.lost += 1;
                    sent += 1;
                }
            }
        }
        let rest = (self.ends.len() - sent) as u64;
        self.lost += rest;
        self.text.clear();
        self.text.shrink_to(MAX_KEPT_BYTES);
        self.ends.clear();
        refused + rest
    }

    /// Whether there is a daemon, and it is to be tried now.
    fn may_try(&mut self) -> bool {
        let now = self.time.unix_seconds();
        if let Some((missed, seconds)) = self.missed
            && (missed..missed + seconds).contains(&now)
        {
            return false;
        }
        self.missed = None;
        if self.socket.is_none() {
            self.socket = self.open().ok();
        }
        if self.socket.is_none() {
            self.miss(1);
        }
        self.socket.is_some()
    }

    fn miss(&mut self, seconds: i64) {
        self.missed = Some((self.time.unix_seconds(), seconds));
    }

    /// Sends messages after the first `sent`. Returns how many the daemon has taken.
    fn send_from(&self, sent: usize) -> io::Result<usize> {
        let Some(socket) = &self.socket else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        let mut start = sent
            .checked_sub(1)
            .and_then(|last| self.ends.get(last))
            .copied()
            .unwrap_or(0);
        let ends = self.ends.get(sent..).unwrap_or_default().iter();
        let messages: Vec<[IoSlice<'_>; 1]> = ends
            .map(|end| {
                let message = self.text.as_bytes().get(start..*end).unwrap_or_default();
                start = *end;
                [IoSlice::new(message)]
            })
            .collect();
        let mut controls: Vec<SendAncillaryBuffer<'_, '_, '_>> = Vec::new();
        controls.resize_with(messages.len(), SendAncillaryBuffer::default);
        let mut headers: Vec<MMsgHdr<'_>> = messages
            .iter()
            .zip(&mut controls)
            .map(|(message, control)| MMsgHdr::new(message, control))
            .collect();
        Ok(sendmmsg(socket, &mut headers, SendFlags::NOSIGNAL)?)
    }

    /// Reports lost messages as soon as the daemon listens again.
    fn tell_lost(&mut self) {
        if self.lost == 0 {
            return;
        }
        let complaint = format!(
            "{}log: {} lines lost, the syslog daemon did not take them",
            self.prefix, self.lost
        );
        if let Some(socket) = &self.socket
            && socket.send(complaint.as_bytes()).is_ok()
        {
            self.lost = 0;
        }
    }
}

/// The time that a daemon has for taking a message.
const MAX_WAIT: Duration = Duration::from_secs(1);
/// Nothing is sent for so long to a daemon that takes nothing, so that it does not delay stderr and the log file.
const PAUSE_SECONDS: i64 = 10;
/// Messages that are sent at once; the kernel takes at most 1,024.
const MAX_AT_ONCE: usize = 512;
const MAX_KEPT_BYTES: usize = 1 << 17;
/// Longer datagrams are cut or refused by common daemons.
const MAX_TEXT_BYTES: usize = 8000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::lines::Targets;

    fn head(seconds: i64) -> Head {
        Head {
            time: WallTime::from_unix_micros(seconds * 1_000_000),
            level: "any",
            thread: 1,
            targets: Targets::default(),
        }
    }

    /// The texts of the messages that have come.
    fn received(daemon: &UnixDatagram) -> Vec<String> {
        daemon.set_nonblocking(true).unwrap();
        let mut buffer = [0; 200];
        let mut texts = Vec::new();
        while let Ok(length) = daemon.recv(&mut buffer) {
            let message = std::str::from_utf8(&buffer[..length]).unwrap();
            texts.push(message.split_once("]: ").unwrap().1.to_owned());
        }
        texts
    }

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
        syslog.push(&head(0), "conn=1000 fd=12 closed\n");
        assert_eq!(syslog.flush(), 0);
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
        syslog.push(&head(0), "lost\n");
        assert_eq!(syslog.flush(), 1);
        let daemon = UnixDatagram::bind(&path).unwrap();
        syslog.push(&head(1), "found\n");
        assert_eq!(syslog.flush(), 0);
        let complaint = "log: 1 lines lost, the syslog daemon did not take them";
        assert_eq!(received(&daemon), ["found", complaint]);
    }

    #[test]
    fn a_daemon_that_takes_nothing_delays_little_and_is_told_what_it_missed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let daemon = UnixDatagram::bind(&path).unwrap();
        let mut syslog = Syslog::new(SyslogOptions {
            socket: path,
            ..SyslogOptions::default()
        });
        let many = "line\n".repeat(100_000);
        let lost = syslog.push(&head(5), &many) + syslog.flush();
        let taken = received(&daemon).len() as u64;
        assert!(taken > 0 && taken + lost == 100_000, "{taken} {lost}");
        syslog.push(&head(6), "within the pause\n");
        assert_eq!(syslog.flush(), 1);
        syslog.push(&head(5 + PAUSE_SECONDS), "after it\n");
        assert_eq!(syslog.flush(), 0);
        let complaint = format!("log: {} lines lost, the syslog daemon did not take them", lost + 1);
        assert_eq!(received(&daemon), ["after it".to_owned(), complaint]);
    }
}
