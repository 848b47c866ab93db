//! `logfile`, `logfile-format` and `logfile-rotate`.

use std::{
    fmt::Write as _,
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use ironbark_config::{LogFileFormat, LogRotation};
use ironbark_runtime::{UtcTime, WallTime};

use super::json;
use super::line::{push_debug_prefix, push_rfc3339_stamp, push_syslog_stamp};

/// The settings of the log file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileOptions {
    /// `logfile`.
    pub path: PathBuf,
    /// `logfile-format`.
    pub format: LogFileFormat,
    /// `logfile-only`: nothing is written to stderr and syslog.
    pub only: bool,
    /// `logfile-rotate`.
    pub rotation: Option<LogRotation>,
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
    /// A rotation has failed, and the failure was reported.
    rotation_failed: bool,
}

impl LogFile {
    /// # Errors
    /// The file cannot be opened for appending.
    pub(super) fn open(options: FileOptions) -> io::Result<Self> {
        let (file, size, created_seconds) = open(&options.path)?;
        Ok(Self {
            options,
            file,
            size,
            created_seconds,
            lines: String::new(),
            rotation_failed: false,
        })
    }

    /// Adds a line to what [`LogFile::flush`] writes.
    pub(super) fn push(&mut self, time: WallTime, thread: usize, level: &str, text: &str) {
        self.rotate_if_due(time, text.len());
        let lines = &mut self.lines;
        match self.options.format {
            LogFileFormat::Json => {
                json::push(lines, time, thread, level, text);
                lines.push('\n');
                return;
            }
            LogFileFormat::Debug => push_debug_prefix(lines, time, thread),
            LogFileFormat::SyslogUtc => push_syslog_stamp(lines, time.utc()),
            LogFileFormat::SyslogLocal => push_syslog_stamp(lines, local_time(time)),
            LogFileFormat::Rfc3339Utc => push_rfc3339_stamp(lines, time.utc()),
        }
        if self.options.format != LogFileFormat::Debug {
            let _ = write!(
                lines,
                " {} {}[{}]: ",
                self.options.host,
                self.options.name,
                std::process::id()
            );
        }
        lines.push_str(text);
        lines.push('\n');
    }

    /// Writes the lines that were pushed.
    pub(super) fn flush(&mut self) {
        // A full disk must not stop the server, and there is no better place to report it.
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
        let (max_bytes, max_age) = (
            u64::from(rotation.max_megabytes) << 20,
            u64::from(rotation.max_hours) * 3_600,
        );
        let too_big = max_bytes != 0 && self.size != 0 && size > max_bytes;
        if !too_big && (max_age == 0 || age < max_age) {
            return;
        }
        self.flush();
        match self.rotate(rotation.keep) {
            Ok(()) => self.rotation_failed = false,
            Err(error) if !self.rotation_failed => {
                self.rotation_failed = true;
                let _ = writeln!(self.lines, "ERROR! logfile rotate failure: {error}");
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

    fn options(path: &Path, format: LogFileFormat, rotation: Option<LogRotation>) -> FileOptions {
        let (host, name) = ("h".to_owned(), "slapd".to_owned());
        FileOptions {
            path: path.to_owned(),
            format,
            only: false,
            rotation,
            host,
            name,
        }
    }

    #[test]
    fn each_format_has_its_prefix() {
        let time = WallTime::from_unix_micros(0x6b02_10ea * 1_000_000 + 123_456);
        for (format, prefix) in [
            (LogFileFormat::Debug, "6b0210ea.075bca00 0x2a ".to_owned()),
            (
                LogFileFormat::SyslogUtc,
                format!("Nov 21 21:45:14 h slapd[{}]: ", std::process::id()),
            ),
            (
                LogFileFormat::Rfc3339Utc,
                format!("2026-11-21T21:45:14.123456000Z h slapd[{}]: ", std::process::id()),
            ),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("log");
            let mut file = LogFile::open(options(&path, format, None)).unwrap();
            file.push(time, 42, "any", "slapd starting");
            file.flush();
            assert_eq!(fs::read_to_string(&path).unwrap(), format!("{prefix}slapd starting\n"));
        }
    }

    #[test]
    fn a_full_file_is_rotated_and_the_oldest_goes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let rotation = LogRotation {
            keep: 2,
            max_megabytes: 1,
            max_hours: 0,
        };
        let mut file = LogFile::open(options(&path, LogFileFormat::Debug, Some(rotation))).unwrap();
        for number in 0..4 {
            file.push(
                WallTime::from_unix_micros(0),
                1,
                "any",
                &format!("{}{number}", "x".repeat(600_000)),
            );
            file.flush();
        }
        let read = |path: &Path| fs::read_to_string(path).unwrap();
        assert!(read(&path).ends_with("3\n"));
        assert!(read(&numbered(&path, 1)).ends_with("2\n"));
        assert!(read(&numbered(&path, 2)).ends_with("1\n"));
        assert!(!numbered(&path, 3).exists());
    }
}
