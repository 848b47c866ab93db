//! Lines on stderr (`-d`): of the debug form, or with the time for people.

use std::io::{self, Write};

use super::{
    line::{push_debug_prefix, push_plain_stamp},
    lines::{Head, Lines},
    pending::Pending,
};

/// stderr, with what waits to be written there.
#[derive(Debug)]
pub(super) struct Stderr {
    has_plain_time: bool,
    prefix: String,
    pending: Pending,
}

impl Stderr {
    pub(super) fn new(has_plain_time: bool) -> Self {
        Self {
            has_plain_time,
            prefix: String::new(),
            pending: Pending::default(),
        }
    }

    /// Adds lines to what [`Stderr::flush`] writes. Returns how many lines could not be written meanwhile.
    pub(super) fn push(&mut self, head: &Head, lines: &str) -> u64 {
        self.prefix.clear();
        if self.has_plain_time {
            push_plain_stamp(&mut self.prefix, head.time);
        } else {
            push_debug_prefix(&mut self.prefix, head.time, head.thread);
        }
        let mut lost = 0;
        for line in lines.split_inclusive('\n') {
            self.pending.text.push_str(&self.prefix);
            self.pending.text.push_str(line);
            if self.pending.is_full() {
                lost += self.flush();
            }
        }
        lost
    }

    /// Writes the lines that were pushed. Returns how many could not be written.
    pub(super) fn flush(&mut self) -> u64 {
        if self.pending.text.is_empty() {
            return 0;
        }
        let complaint = self.pending.complaint();
        let complaint = complaint.map(|text| format!("{}{text}\n", self.prefix));
        self.pending.write(&mut Unbuffered, complaint.as_deref()).1
    }

    /// Writes those lines that go to stderr.
    pub(super) fn write_now(&mut self, lines: &Lines) -> u64 {
        let for_stderr = lines.iter().filter(|(head, _)| head.targets.stderr);
        let lost: u64 = for_stderr.map(|(head, lines)| self.push(head, lines)).sum();
        lost + self.flush()
    }
}

/// stderr, locked for one write and no longer: a panic of another thread must be able to print, too.
struct Unbuffered;

impl Write for Unbuffered {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        io::stderr().write(octets)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
