//! The prefixes of lines: slapd's debug form, and the stamps of syslog and log files.

use std::fmt::Write as _;

use ironbark_runtime::{UtcTime, WallTime};

use super::file::local_time;

thread_local! {
    /// Its address identifies the thread, as the thread's own address does in slapd's lines.
    static MARK: u8 = const { 0 };
}

/// A number that belongs to this thread alone while the thread lives.
pub(super) fn thread_number() -> usize {
    MARK.with(|mark| std::ptr::from_ref(mark).addr())
}

/// Appends `6b0210ea.0c59f8e0 0x7fc2327bf200 `: seconds and nanoseconds since 1970 and the thread, all hexadecimal.
pub(super) fn push_debug_prefix(line: &mut String, time: WallTime, thread: usize) {
    let nanoseconds = time.unix_micros().rem_euclid(1_000_000) * 1_000;
    // Writing to a string cannot fail.
    let _ = write!(line, "{:x}.{nanoseconds:08x} {thread:#x} ", time.unix_seconds());
}

/// Appends `Nov  2 21:45:14`.
pub(super) fn push_syslog_stamp(line: &mut String, time: UtcTime) {
    let month = MONTHS
        .get(usize::from(time.month).saturating_sub(1))
        .copied()
        .unwrap_or("Jan");
    let _ = write!(
        line,
        "{month} {:2} {:02}:{:02}:{:02}",
        time.day, time.hour, time.minute, time.second
    );
}

/// Appends `2026-11-21T21:45:14.123456000Z`.
pub(super) fn push_rfc3339_stamp(line: &mut String, time: UtcTime) {
    let _ = write!(
        line,
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}000Z",
        time.year, time.month, time.day, time.hour, time.minute, time.second, time.microsecond
    );
}

/// Appends `2026-11-21 21:45:14.123 `, in the time zone of the machine.
pub(super) fn push_plain_stamp(line: &mut String, time: WallTime) {
    let time = local_time(time);
    let _ = write!(
        line,
        "{:04}-{:02}-{:02} {:02}:{:02}:{:02}.{:03} ",
        time.year,
        time.month,
        time.day,
        time.hour,
        time.minute,
        time.second,
        time.microsecond / 1_000
    );
}

const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];
