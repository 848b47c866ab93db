//! Which process has locked a file or folder (`flock`).

use std::{fs, os::unix::fs::MetadataExt, path::Path};

/// Why a locked file or folder cannot be written, with the process that has it.
pub fn in_use(path: &Path) -> String {
    let by = match lock_holder(path) {
        Some(process) => format!("process {process}"),
        None => "another process".to_owned(),
    };
    format!("in use by {by}, which writes to it: a server, or another tool")
}

/// The process that has locked a file or folder, if the kernel shows it: one of another PID namespace it does not show.
pub fn lock_holder(path: &Path) -> Option<u32> {
    let found = fs::metadata(path).ok()?;
    holder_in(&fs::read_to_string(LOCKS).ok()?, found.ino())
}

/// The holder of the lock of an inode, in the kernel's list. Devices are not compared: some file systems show another
/// one there than in `stat`.
fn holder_in(list: &str, inode: u64) -> Option<u32> {
    list.lines().find_map(|line| {
        let mut words = line.split_whitespace().skip(1);
        // A process that waits for a lock has an arrow.
        words.next().filter(|kind| *kind == "FLOCK")?;
        let (process, file) = (words.nth(2)?, words.next()?);
        let (_, number) = file.rsplit_once(':')?;
        let is_it = number.parse() == Ok(inode);
        process.parse().ok().filter(|process| is_it && *process != 0)
    })
}

/// `<number>: FLOCK ADVISORY WRITE <process> <major>:<minor>:<inode> <start> <end>`
const LOCKS: &str = "/proc/locks";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_holder_is_found_in_the_list_of_the_kernel() {
        let list = "1: POSIX  ADVISORY  WRITE 11 00:1b:5 0 EOF\n\
                    2: FLOCK  ADVISORY  WRITE 12 00:1b:55 0 EOF\n\
                    3: FLOCK  ADVISORY  WRITE 13 00:1b:5 0 EOF\n\
                    3: -> FLOCK  ADVISORY  WRITE 14 00:1b:5 0 EOF\n\
                    4: FLOCK  ADVISORY  WRITE 0 00:1b:6 0 EOF\n";
        assert_eq!(holder_in(list, 5), Some(13));
        assert_eq!(holder_in(list, 6), None, "of another namespace");
        assert_eq!(holder_in(list, 7), None);
    }
}
