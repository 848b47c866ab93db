//! `logfile`, `logfile-format` and `logfile-rotate`.

use std::{
    fmt::Write as _,
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use ironbark_config::{LogFileFormat, LogRotation};
use ironbark_runtime::{UtcTime, WallTime};

use super::{
    json,
    line::{push_debug_prefix, push_rfc3339_stamp, push_syslog_stamp},
    lines::Head,
    pending::Pending,
};

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

/// The open log file. Owned by the log thread.
#[derive(Debug)]
pub(super) struct LogFile {
    options: FileOptions,
    file: File,
    size: u64,
    created_seconds: i64,
    pending: Pending,
    /// The beginning of the lines that are pushed.
    prefix: String,
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
            pending: Pending::default(),
            prefix: String::new(),
            rotation_failed: false,
        })
    }

    /// Adds lines to what [`LogFile::flush`] writes. Returns how many lines could not be written meanwhile.
    pub(super) fn push(&mut self, head: &Head, lines: &str) -> u64 {
        self.begin_lines(head);
        let mut lost = 0;
        for line in lines.split_inclusive('\n') {
            lost += self.rotate_if_due(head.time, line.len());
            add_line(&mut self.pending.text, &self.options, &self.prefix, line);
            if self.pending.is_full() {
                lost += self.flush();
            }
        }
        lost
    }

    /// Makes the prefix of lines.
    fn begin_lines(&mut self, head: &Head) {
        let prefix = &mut self.prefix;
        prefix.clear();
        match self.options.format {
            LogFileFormat::Json => return json::push_beginning(prefix, head),
            LogFileFormat::Debug => return push_debug_prefix(prefix, head.time, head.thread),
            LogFileFormat::SyslogUtc => push_syslog_stamp(prefix, head.time.utc()),
            LogFileFormat::SyslogLocal => push_syslog_stamp(prefix, local_time(head.time)),
            LogFileFormat::Rfc3339Utc => push_rfc3339_stamp(prefix, head.time.utc()),
        }
        let FileOptions { host, name, .. } = &self.options;
        // Writing to a string cannot fail.
        let _ = write!(prefix, " {host} {name}[{}]: ", std::process::id());
    }

    /// Writes the lines that were pushed. Returns how many could not be written.
    pub(super) fn flush(&mut self) -> u64 {
        if self.pending.text.is_empty() {
            return 0;
        }
        let complaint = self.pending.complaint().map(|text| {
            let mut line = String::new();
            add_line(&mut line, &self.options, &self.prefix, &(text + "\n"));
            line
        });
        let (octets, lost) = self.pending.write(&mut self.file, complaint.as_deref());
        self.size += octets;
        lost
    }

    /// Returns how many lines could not be written before the rotation.
    fn rotate_if_due(&mut self, now: WallTime, next_octets: usize) -> u64 {
        let Some(rotation) = self.options.rotation else {
            return 0;
        };
        let size = self.size + self.pending.text.len() as u64 + next_octets as u64;
        let age = u64::try_from(now.unix_seconds().saturating_sub(self.created_seconds)).unwrap_or(0);
        let (max_bytes, max_age) = (
            u64::from(rotation.max_megabytes) << 20,
            u64::from(rotation.max_hours) * 3_600,
        );
        let too_big = max_bytes != 0 && self.size != 0 && size > max_bytes;
        if !too_big && (max_age == 0 || age < max_age) {
            return 0;
        }
        let lost = self.flush();
        match self.rotate(rotation.keep) {
            Ok(()) => self.rotation_failed = false,
            Err(error) if !self.rotation_failed => {
                self.rotation_failed = true;
                let _ = writeln!(self.pending.text, "ERROR! logfile rotate failure: {error}");
            }
            Err(_) => {}
        }
        lost
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

/// Adds a line, which has its line end, with its prefix.
fn add_line(lines: &mut String, options: &FileOptions, prefix: &str, line: &str) {
    lines.push_str(prefix);
    if options.format == LogFileFormat::Json {
        json::push_rest(lines, line.trim_end_matches('\n'));
        lines.push('\n');
    } else {
        lines.push_str(line);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::lines::Targets;

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

    fn head(time: WallTime, thread: usize) -> Head {
        Head {
            time,
            level: "any",
            thread,
            targets: Targets::default(),
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
            file.push(&head(time, 42), "slapd starting\n");
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
            let line = format!("{}{number}\n", "x".repeat(600_000));
            file.push(&head(WallTime::from_unix_micros(0), 1), &line);
            file.flush();
        }
        let read = |path: &Path| fs::read_to_string(path).unwrap();
        assert!(read(&path).ends_with("3\n"));
        assert!(read(&numbered(&path, 1)).ends_with("2\n"));
        assert!(read(&numbered(&path, 2)).ends_with("1\n"));
        assert!(!numbered(&path, 3).exists());
    }
}
