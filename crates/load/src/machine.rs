//! The description of the machine, for reports.

use std::fs;

use crate::result::HostMachine;

/// The machine that runs this program. Unknown parts stay empty.
pub fn describe() -> HostMachine {
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    let processors = read("/proc/cpuinfo");
    HostMachine {
        processor: field(&processors, "model name").unwrap_or_default(),
        // /proc/cpuinfo also lists processors that this program may not use.
        processors: processors.lines().filter(|line| line.starts_with("processor")).count(),
        system: system(&read("/etc/os-release"), &read("/proc/sys/kernel/osrelease")),
        memory_bytes: memory(&read("/proc/meminfo")),
    }
}

fn field(text: &str, name: &str) -> Option<String> {
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn system(release: &str, kernel: &str) -> String {
    let name = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    let name = name.unwrap_or("Linux").trim_matches('"');
    format!("{name}, kernel {}", kernel.trim())
}

fn memory(text: &str) -> u64 {
    let kilobytes = field(text, "MemTotal").and_then(|value| value.strip_suffix("kB")?.trim().parse::<u64>().ok());
    kilobytes.unwrap_or(0).saturating_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_system_are_read() {
        assert_eq!(field("a: b\nmodel name\t: X 3\n", "model name").as_deref(), Some("X 3"));
        assert_eq!(system("PRETTY_NAME=\"Debian 12\"\n", "6.1\n"), "Debian 12, kernel 6.1");
        assert_eq!(memory("MemTotal:       2048 kB\n"), 2 << 20);
        assert!(describe().processors > 0);
    }
}
