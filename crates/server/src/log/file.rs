//! `logfile`, `logfile-format` and `logfile-rotate`.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use ironbark_runtime::{UtcTime, WallTime};

use super::line::{push_debug_prefix, push_rfc3339_stamp, push_syslog_stamp};

/// The prefix of a line in the log file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum FileFormat {
    /// As on stderr.
    #[default]
    Debug,
    /// `Nov 21 21:45:14 host slapd[1]: `, in UTC.
    SyslogUtc,
    /// The same in local time.
    SyslogLocal,
    /// `2026-11-21T21:45:14.123456000Z host slapd[1]: `.
    Rfc3339Utc,
}

impl FileFormat {
    /// A name of `logfile-format`.
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text.to_ascii_lowercase().as_str() {
            "default" | "debug" => Self::Debug,
            "syslog-utc" => Self::SyslogUtc,
            "syslog-localtime" => Self::SyslogLocal,
            "rfc3339-utc" => Self::Rfc3339Utc,
            _ => return None,
        })
    }
}

/// `logfile-rotate`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rotation {
    /// Old files that are kept, 1 to 99.
    pub keep: u32,
    /// Size in bytes that a file may reach; 0 for any.
    pub max_bytes: u64,
    /// Age in seconds that a file may reach; 0 for any.
    pub max_age_seconds: u64,
}

/// The settings of the log file.
#[derive(Clone, Debug)]
pub struct FileOptions {
    /// `logfile`.
    pub path: PathBuf,
    /// `logfile-format`.
    pub format: FileFormat,
    /// `logfile-only`: nothing goes to stderr and syslog.
    pub only: bool,
    /// `logfile-rotate`.
    pub rotation: Option<Rotation>,
    /// Host name in the prefixes of syslog's form.
    pub host: String,
    /// Server name in the prefixes of syslog's form.
    pub name: String,
}

/// The open log file. Owned by the writer thread.
pub(super) struct LogFile {
    options: FileOptions,
    file: File,
    size: u64,
    created_seconds: i64,
    lines: String,
    /// A rotation has failed and has been complained about.
    rotation_failed: bool,
}

impl LogFile {
    pub(super) fn open(options: FileOptions) -> io::Result<Self> {
        let (file, size, created_seconds) = open(&options.path)?;
        Ok(Self { options, file, size, created_seconds, lines: String::new(), rotation_failed: false })
    }

    /// Adds a line to what [`LogFile::flush`] writes.
    pub(super) fn push(&mut self, time: WallTime, thread: usize, text: &str) {
        self.rotate_if_due(time, text.len());
        let lines = &mut self.lines;
        match self.options.format {
            FileFormat::Debug => push_debug_prefix(lines, time, thread),
            FileFormat::SyslogUtc => push_syslog_stamp(lines, time.utc()),
            FileFormat::SyslogLocal => push_syslog_stamp(lines, local_time(time)),
            FileFormat::Rfc3339Utc => push_rfc3339_stamp(lines, time.utc()),
        }
        if self.options.format != FileFormat::Debug {
            use std::fmt::Write as _;
            let _ = write!(lines, " {} {}[{}]: ", self.options.host, self.options.name, std::process::id());
        }
        lines.push_str(text);
        lines.push('\n');
    }

    /// Writes the lines that were pushed.
    pub(super) fn flush(&mut self) {
        // A full disk must not stop the server, and there is no better place to say so.
        if self.file.write_all(self.lines.as_bytes()).is_ok() {
            self.size += self.lines.len() as u64;
        }
        self.lines.clear();
        self.lines.shrink_to(MAX_KEPT_BYTES);
    }

    fn rotate_if_due(&mut self, now: WallTime, next_bytes: usize) {
        let Some(rotation) = self.options.rotation else { return };
        let size = self.size + self.lines.len() as u64 + next_bytes as u64;
        let age = u64::try_from(now.unix_seconds().saturating_sub(self.created_seconds)).unwrap_or(0);
        let too_big = rotation.max_bytes != 0 && self.size != 0 && size > rotation.max_bytes;
        if !too_big && (rotation.max_age_seconds == 0 || age < rotation.max_age_seconds) {
            return;
        }
        self.flush();
        match self.rotate(rotation.keep) {
            Ok(()) => self.rotation_failed = false,
            Err(error) if !self.rotation_failed => {
                self.rotation_failed = true;
                self.lines.push_str(&format!("ERROR! logfile rotate failure: {error}\n"));
            }
            Err(_) => {}
        }
    }

    /// `log.01` is the newest old file.
    fn rotate(&mut self, keep: u32) -> io::Result<()> {
        let old = |number: u32| numbered(&self.options.path, number);
        for number in (1..keep).rev() {
            match fs::rename(old(number), old(number + 1)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        fs::rename(&self.options.path, old(1))?;
        (self.file, self.size, self.created_seconds) = open(&self.options.path)?;
        Ok(())
    }
}

/// The date and time of day in the time zone of the machine (`TZ`, or /etc/localtime).
pub(super) fn local_time(time: WallTime) -> UtcTime {
    let offset = jiff::Timestamp::from_microsecond(time.unix_micros())
        .map_or(0, |stamp| jiff::tz::TimeZone::system().to_offset(stamp).seconds());
    WallTime::from_unix_micros(time.unix_micros().saturating_add(i64::from(offset) * 1_000_000)).utc()
}

fn numbered(path: &Path, number: u32) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number:02}"));
    PathBuf::from(name)
}

fn open(path: &Path) -> io::Result<(File, u64, i64)> {
    let file = OpenOptions::new().create(true).append(true).mode(0o640).open(path)?;
    let metadata = file.metadata()?;
    Ok((file, metadata.len(), metadata.ctime()))
}

const MAX_KEPT_BYTES: usize = 1 << 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn options(path: &Path, format: FileFormat, rotation: Option<Rotation>) -> FileOptions {
        let (host, name) = ("h".to_owned(), "slapd".to_owned());
        FileOptions { path: path.to_owned(), format, only: false, rotation, host, name }
    }

    #[test]
    fn each_format_has_its_prefix() {
        let time = WallTime::from_unix_micros(0x6b02_10ea * 1_000_000 + 123_456);
        for (format, prefix) in [
            (FileFormat::Debug, "6b0210ea.075bca00 0x2a ".to_owned()),
            (FileFormat::SyslogUtc, format!("Nov 21 21:45:14 h slapd[{}]: ", std::process::id())),
            (FileFormat::Rfc3339Utc, format!("2026-11-21T21:45:14.123456000Z h slapd[{}]: ", std::process::id())),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("log");
            let mut file = LogFile::open(options(&path, format, None)).unwrap();
            file.push(time, 42, "slapd starting");
            file.flush();
            assert_eq!(fs::read_to_string(&path).unwrap(), format!("{prefix}slapd starting\n"));
        }
    }

    #[test]
    fn a_full_file_is_rotated_and_the_oldest_goes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let rotation = Rotation { keep: 2, max_bytes: 60, max_age_seconds: 0 };
        let mut file = LogFile::open(options(&path, FileFormat::Debug, Some(rotation))).unwrap();
        for number in 0..4 {
            file.push(WallTime::from_unix_micros(0), 1, &format!("a line that is rather long {number}"));
            file.flush();
        }
        let read = |path: &Path| fs::read_to_string(path).unwrap();
        assert!(read(&path).ends_with("3\n"));
        assert!(read(&numbered(&path, 1)).ends_with("2\n"));
        assert!(read(&numbered(&path, 2)).ends_with("1\n"));
        assert!(!numbered(&path, 3).exists());
    }
}
