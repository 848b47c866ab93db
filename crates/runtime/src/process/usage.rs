//! The resources that the process uses.

use std::{fs, time::Duration};

use nix::sys::{
    resource::{UsageWho, getrusage},
    time::TimeVal,
};

/// Figures of the process. A figure is zero when the system does not report it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ProcessUsage {
    /// Processor time of all threads, in the kernel too.
    pub processor: Duration,
    /// Octets in memory.
    pub resident_bytes: u64,
    /// Octets of address space.
    pub virtual_bytes: u64,
    /// Open files and sockets.
    pub open_files: u64,
    /// Threads.
    pub threads: u64,
}

/// The present figures.
pub fn usage() -> ProcessUsage {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let field = |name: &str| -> u64 {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let number = line.and_then(|rest| rest.split_whitespace().next()?.parse().ok());
        number.unwrap_or_default()
    };
    let processor = getrusage(UsageWho::RUSAGE_SELF)
        .map(|times| duration(times.user_time()) + duration(times.system_time()))
        .unwrap_or_default();
    ProcessUsage {
        processor,
        resident_bytes: field("VmRSS:") * 1024,
        virtual_bytes: field("VmSize:") * 1024,
        // The directory that is being read is one of the open files.
        open_files: fs::read_dir("/proc/self/fd").map_or(0, |files| files.count().saturating_sub(1) as u64),
        threads: field("Threads:"),
    }
}

fn duration(time: TimeVal) -> Duration {
    let micros = time.tv_sec().saturating_mul(1_000_000).saturating_add(time.tv_usec());
    Duration::from_micros(u64::try_from(micros).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_tells_all_of_it() {
        let file = tempfile::tempfile().unwrap();
        let before = usage();
        assert!(before.resident_bytes > 100_000 && before.virtual_bytes >= before.resident_bytes);
        assert!(before.threads > 0 && before.open_files >= 3);
        drop(file);
        assert!(usage().processor >= before.processor);
    }
}
