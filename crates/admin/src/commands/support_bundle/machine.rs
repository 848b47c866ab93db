//! Facts about the machine.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use ironbark_runtime::available_cores;
use rustix::{fs::statvfs, process::Resource};

/// System, cores, memory, limits.
pub(super) fn facts() -> String {
    let mut text = String::new();
    let name = rustix::system::uname();
    let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let release = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    let _ = writeln!(
        text,
        "system      {}, {} {} {}",
        release.unwrap_or("unknown").trim_matches('"'),
        name.sysname().to_string_lossy(),
        name.release().to_string_lossy(),
        name.machine().to_string_lossy()
    );
    let _ = writeln!(text, "cores       {}", available_cores());
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    for line in memory.lines().take(3) {
        let _ = writeln!(text, "memory      {line}");
    }
    let group = fs::read_to_string("/sys/fs/cgroup/memory.max").unwrap_or_default();
    if !group.trim().is_empty() {
        let _ = writeln!(text, "control group  memory.max {}", group.trim());
    }
    for (resource, name) in [
        (Resource::Nofile, "open files"),
        (Resource::As, "address space"),
        (Resource::Core, "core file"),
    ] {
        let limit = rustix::process::getrlimit(resource);
        let shown = |value: Option<u64>| value.map_or_else(|| "unlimited".to_owned(), |value| value.to_string());
        let _ = writeln!(
            text,
            "limit       {name}: {} of {}",
            shown(limit.current),
            shown(limit.maximum)
        );
    }
    text
}

/// The file system of a folder.
pub(super) fn file_system(folder: &Path) -> String {
    let Ok(found) = statvfs(folder) else {
        return "cannot be asked".to_owned();
    };
    let free = found.f_bavail * found.f_frsize / 1_000_000;
    let whole = found.f_blocks * found.f_frsize / 1_000_000;
    format!(
        "{}, {free} MB of {whole} MB free",
        kind(folder).unwrap_or_else(|| "unknown".to_owned())
    )
}

/// The type of the file system that is mounted deepest above the folder.
fn kind(folder: &Path) -> Option<String> {
    let folder = fs::canonicalize(folder).ok()?;
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    let above = mounts.lines().filter_map(|line| {
        let mut words = line.split(' ').skip(1);
        let place = PathBuf::from(words.next()?);
        folder.starts_with(&place).then_some((place, words.next()?))
    });
    let deepest = above.max_by_key(|(place, _)| place.components().count());
    deepest.map(|(_, kind)| kind.to_owned())
}
