//! How much memory the process may use.

use std::{
    fs::read_to_string,
    path::{Path, PathBuf},
};

/// The octets of memory that the process and its cached files may take: the memory of the machine, or the lower limit
/// of a control group. `None`: the system does not say.
pub fn memory_limit() -> Option<u64> {
    let machine = read_to_string("/proc/meminfo").ok().as_deref().and_then(total);
    let groups = read_to_string("/proc/self/cgroup").unwrap_or_default();
    machine
        .into_iter()
        .chain(group_limit(Path::new("/sys/fs/cgroup"), &groups))
        .min()
}

/// `MemTotal` of `/proc/meminfo`.
fn total(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1024)
}

/// The lowest limit of the control groups that `/proc/self/cgroup` names. A container sees its own group at the root of
/// the hierarchy.
fn group_limit(root: &Path, groups: &str) -> Option<u64> {
    let mut lowest = None;
    for group in groups.lines() {
        let mut fields = group.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else {
            continue;
        };
        let top = match controllers {
            "" => root.to_owned(),
            names if names.split(',').any(|name| name == "memory") => root.join("memory"),
            _ => continue,
        };
        let mut folder: PathBuf = top.join(path.trim_start_matches('/'));
        loop {
            for name in ["memory.max", "memory.limit_in_bytes"] {
                let limit = read_to_string(folder.join(name)).ok();
                // `max` means no limit.
                let limit = limit.and_then(|text| text.trim().parse::<u64>().ok());
                lowest = lowest.into_iter().chain(limit).min();
            }
            if folder == top || !folder.pop() {
                break;
            }
        }
    }
    lowest
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_machine_has_memory() {
        assert!(memory_limit().is_some_and(|limit| limit > 1 << 20));
        assert_eq!(total("Foo: 1 kB\nMemTotal:       2048 kB\n"), Some(2 << 20));
        assert_eq!(total("MemTotal: many\n"), None);
    }

    #[test]
    fn the_lowest_limit_of_the_groups_above_counts() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("memory.max", "max\n");
        write("a/memory.max", "5000\n");
        write("a/b/memory.max", "max\n");
        assert_eq!(group_limit(root.path(), "0::/a/b\n"), Some(5000));
        assert_eq!(group_limit(root.path(), "0::/\n"), None);
        write("memory/memory.limit_in_bytes", "9000\n");
        write("memory/x/memory.limit_in_bytes", "4000\n");
        assert_eq!(
            group_limit(root.path(), "9:name=systemd:/\n4:cpu,memory:/x\n"),
            Some(4000)
        );
        // Inside a container the path does not exist.
        assert_eq!(group_limit(root.path(), "4:memory:/docker/0123\n"), Some(9000));
        assert_eq!(group_limit(root.path(), "nonsense\n"), None);
    }
}
