//! The system's figures about a server's process.

use std::fs;

use ironbark_testkit::Server;

/// Octets of memory that belong to the server alone: without the mapped database and the program.
pub(crate) fn memory(server: &Server) -> usize {
    status(server.pid().unwrap(), "RssAnon:")
}

/// Octets of memory in all, file pages included.
pub(crate) fn resident(pid: u32) -> usize {
    status(pid, "VmRSS:")
}

fn status(pid: u32, field: &str) -> usize {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() * 1024
}

/// Open descriptors.
pub(crate) fn descriptors(pid: u32) -> usize {
    fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count()
}

/// The names of the threads.
pub(crate) fn threads(pid: u32) -> Vec<String> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    tasks
        // A thread may end meanwhile.
        .filter_map(|task| fs::read_to_string(task.ok()?.path().join("comm")).ok())
        .map(|name| name.trim_end().to_owned())
        .collect()
}

/// Processor time that the main thread, which accepts connections, has used, in hundredths of a second.
pub(crate) fn acceptor_ticks(pid: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/task/{pid}/stat")).unwrap();
    let (_, fields) = stat.rsplit_once(')').unwrap();
    let fields = fields.split_whitespace().skip(11).take(2);
    fields.map(|field| field.parse::<u64>().unwrap()).sum()
}
