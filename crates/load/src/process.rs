//! Processor time and memory of a process, from Linux's /proc.

use std::{
    fs,
    io::{self, ErrorKind},
};

use crate::result::ServerUse;

/// A process of this machine.
#[derive(Clone, Debug)]
pub struct Process {
    folder: String,
}

/// Processor time that a process has used since its start, in clock ticks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ProcessorTime {
    user: u64,
    system: u64,
}

/// Memory of a process, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MemoryUsage {
    /// Resident, mapped files included.
    pub resident: u64,
    /// Resident, backed by no file.
    pub anonymous: u64,
}

impl Process {
    /// The process of this number.
    pub fn new(pid: u32) -> Self {
        Self {
            folder: format!("/proc/{pid}"),
        }
    }

    /// This process.
    pub fn own() -> Self {
        Self {
            folder: "/proc/self".to_owned(),
        }
    }

    /// Processor time of all its threads.
    ///
    /// # Errors
    /// The process has gone, or there is no /proc.
    pub fn usage(&self) -> io::Result<ProcessorTime> {
        usage_of(&self.read("stat")?).ok_or_else(|| self.unreadable("stat"))
    }

    /// Its memory.
    ///
    /// # Errors
    /// As [`Process::usage`].
    pub fn memory(&self) -> io::Result<MemoryUsage> {
        memory_of(&self.read("status")?).ok_or_else(|| self.unreadable("status"))
    }

    fn read(&self, file: &str) -> io::Result<String> {
        let path = format!("{}/{file}", self.folder);
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{path}: {error}"));
        fs::read(&path)
            .map_err(named)
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    fn unreadable(&self, file: &str) -> io::Error {
        io::Error::new(
            ErrorKind::InvalidData,
            format!("{}/{file} is not as expected", self.folder),
        )
    }
}

impl ProcessorTime {
    /// What was used after `before`.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self {
            user: self.user.saturating_sub(before.user),
            system: self.system.saturating_sub(before.system),
        }
    }

    /// User and system time together.
    pub fn total_seconds(self) -> f64 {
        seconds(self.user) + seconds(self.system)
    }

    /// The use in the form of a report, per operation or entry.
    pub(crate) fn of(self, operations: u64, memory: MemoryUsage) -> ServerUse {
        let total = self.total_seconds();
        #[expect(clippy::cast_precision_loss, reason = "a rate, rounded anyway")]
        let operations = operations as f64;
        ServerUse {
            user_seconds: seconds(self.user),
            system_seconds: seconds(self.system),
            rate_per_cpu_second: (total > 0.0).then(|| operations / total),
            cpu_us_per_operation: (operations > 0.0).then(|| total * 1e6 / operations),
            resident_bytes: memory.resident,
            anonymous_bytes: memory.anonymous,
        }
    }
}

/// `utime` and `stime`, fields 14 and 15 of proc_pid_stat(5); the second field may hold spaces and parentheses.
fn usage_of(stat: &str) -> Option<ProcessorTime> {
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace().skip(11);
    Some(ProcessorTime {
        user: fields.next()?.parse().ok()?,
        system: fields.next()?.parse().ok()?,
    })
}

fn memory_of(status: &str) -> Option<MemoryUsage> {
    let bytes = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
        kilobytes.checked_mul(1024)
    };
    Some(MemoryUsage {
        resident: bytes("VmRSS:")?,
        anonymous: bytes("RssAnon:")?,
    })
}

#[expect(clippy::cast_precision_loss, reason = "clock ticks of a process are far below 2^53")]
fn seconds(ticks: u64) -> f64 {
    ticks as f64 / rustix::param::clock_ticks_per_second() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_behind_a_name_with_spaces_and_parentheses() {
        let stat = "42 (a ) b) S 1 42 42 0 -1 4194304 9 0 0 0 123 45 0 0 20 0 1 0 7 8 9";
        assert_eq!(usage_of(stat), Some(ProcessorTime { user: 123, system: 45 }));
        assert_eq!(usage_of("42 (a"), None);
        let status = "Name:\tx\nVmRSS:\t    2048 kB\nRssAnon:\t     512 kB\n";
        let memory = MemoryUsage {
            resident: 2 << 20,
            anonymous: 512 << 10,
        };
        assert_eq!(memory_of(status), Some(memory));
        assert_eq!(memory_of("VmRSS: 1 kB\n"), None);
    }

    #[test]
    fn our_own_process_has_figures_and_a_missing_one_is_named() {
        let own = Process::own();
        assert!(own.usage().is_ok());
        assert!(own.memory().unwrap().anonymous > 0);
        let error = Process::new(u32::MAX).usage().unwrap_err().to_string();
        assert!(error.contains("/proc/4294967295/stat"), "{error}");
    }

    #[test]
    fn use_is_told_for_each_operation() {
        let ticks = rustix::param::clock_ticks_per_second();
        let usage = ProcessorTime {
            user: ticks,
            system: ticks,
        };
        let told = usage.of(1_000, MemoryUsage::default());
        assert_eq!(told.rate_per_cpu_second, Some(500.0));
        assert_eq!(told.cpu_us_per_operation, Some(2_000.0));
        assert_eq!(
            ProcessorTime::default()
                .of(0, MemoryUsage::default())
                .rate_per_cpu_second,
            None
        );
    }
}
