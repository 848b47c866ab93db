//! A slow disk: each sync of a process takes longer, by strace. That works for servers and for etcd; this kernel, and
//! those of most CI, have no slow block devices.

use std::{
    fs,
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use ironbark_testkit::{Layout, MemberHost, wait};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

/// What waits for the disk.
const SYNCS: &str = "fsync,fdatasync,msync";
/// What waits for a part of a file, most of which the disk has already: a checkpoint of a long file does it thousands
/// of times.
const PARTS: &str = "sync_file_range";
/// So much longer is a sync than one of a part.
const SHARE: u32 = 200;

/// What makes the disk of a process slow, until it is dropped.
pub(crate) struct SlowDisk {
    strace: Child,
    layout: Layout,
    output: PathBuf,
}

impl SlowDisk {
    /// Makes each sync of a process that runs at a place this much longer, and waits until it sees the process.
    ///
    /// # Errors
    /// Why this user cannot do so.
    pub(crate) fn of(pid: u32, place: &MemberHost, milliseconds: u32) -> Result<Self, String> {
        let layout = Layout::new().unwrap();
        let output = layout.join("syncs");
        let mut command = Command::new(&place.entering[0]);
        command.args(&place.entering[1..]);
        command
            .args(["/usr/bin/strace", "--follow-forks", "--output"])
            .arg(&output);
        command.args(["--attach", &pid.to_string()]);
        command.args(["-e", &format!("trace={SYNCS},{PARTS}"), "-e", "signal=none", "-e"]);
        command.arg(format!("inject={SYNCS}:delay_enter={}", milliseconds * 1_000));
        command.arg("-e");
        command.arg(format!("inject={PARTS}:delay_enter={}", milliseconds * 1_000 / SHARE));
        let said = fs::File::create(layout.join("said")).unwrap();
        let strace = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(said).spawn();
        let mut slow = Self {
            strace: strace.map_err(|error| error.to_string())?,
            output,
            layout,
        };
        let status = format!("/proc/{pid}/status");
        let traced = wait::until(|| {
            let is_over = slow.strace.try_wait().unwrap().is_some();
            let status = fs::read_to_string(&status).unwrap_or_default();
            (is_over || !status.contains("TracerPid:\t0\n")).then_some(is_over)
        });
        match traced {
            Some(false) => Ok(slow),
            _ => Err(slow.layout.read("said").unwrap_or_default()),
        }
    }

    /// Whether a sync has been slow.
    pub(crate) fn was_felt(&self) -> bool {
        fs::read_to_string(&self.output).is_ok_and(|text| text.contains("(DELAYED)"))
    }
}

impl Drop for SlowDisk {
    fn drop(&mut self) {
        // It lets the process go, which may have ended.
        let pid = i32::try_from(self.strace.id()).unwrap();
        let _ = kill(Pid::from_raw(pid), Signal::SIGINT);
        let _ = self.strace.wait();
    }
}
