//! The thread that writes syslog and the log file, and the bounded buffer that it empties.

use std::{
    io,
    sync::{Arc, Condvar, Mutex, PoisonError},
    thread::JoinHandle,
};

use ironbark_runtime::{WallTime, spawn_named};

use super::{file::LogFile, line::thread_number, lock, syslog::Syslog};

/// The sending side. Dropping it writes out what waits and ends the thread.
pub(super) struct Writer {
    queue: Arc<Queue>,
    thread: Option<JoinHandle<()>>,
}

/// Lines on their way to the thread. Shared by everybody who logs.
#[derive(Default)]
pub(super) struct Queue {
    lines: Mutex<Lines>,
    filled: Condvar,
}

/// Lines that wait: two vectors that are swapped with the thread's empty ones, so that logging allocates nothing once they have grown.
#[derive(Default)]
struct Lines {
    heads: Vec<Head>,
    text: String,
    /// Lines that did not fit.
    lost: u64,
    closed: bool,
}

struct Head {
    time: WallTime,
    thread: usize,
    bytes: usize,
    to_syslog: bool,
    to_file: bool,
}

impl Writer {
    pub(super) fn start(queue: &Arc<Queue>, syslog: Option<Syslog>, file: Option<LogFile>) -> io::Result<Self> {
        lock(&queue.lines).closed = false;
        let emptied = Arc::clone(queue);
        let thread = spawn_named("log", move || Outputs { syslog, file }.run(&emptied))?;
        Ok(Self {
            queue: Arc::clone(queue),
            thread: Some(thread),
        })
    }
}

impl Queue {
    /// Copies a line into the buffer, or counts it when the buffer is full.
    pub(super) fn push(&self, time: WallTime, to_syslog: bool, to_file: bool, text: &str) {
        let mut lines = lock(&self.lines);
        if lines.text.len() + text.len() > MAX_WAITING_BYTES || lines.heads.len() >= MAX_WAITING_LINES {
            lines.lost += 1;
            return;
        }
        lines.text.push_str(text);
        lines.heads.push(Head {
            time,
            thread: thread_number(),
            bytes: text.len(),
            to_syslog,
            to_file,
        });
        if lines.heads.len() == 1 {
            self.filled.notify_one();
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        lock(&self.queue.lines).closed = true;
        self.queue.filled.notify_one();
        if let Some(thread) = self.thread.take() {
            // A panic of the writer has been printed already.
            let _ = thread.join();
        }
    }
}

struct Outputs {
    syslog: Option<Syslog>,
    file: Option<LogFile>,
}

impl Outputs {
    fn run(mut self, queue: &Queue) {
        let mut taken = Lines::default();
        while !taken.closed {
            taken.heads.clear();
            taken.text.clear();
            taken.lost = 0;
            let mut waiting = lock(&queue.lines);
            while waiting.heads.is_empty() && !waiting.closed {
                waiting = queue.filled.wait(waiting).unwrap_or_else(PoisonError::into_inner);
            }
            taken.closed = waiting.closed;
            std::mem::swap(&mut *waiting, &mut taken);
            // The flag has to be seen in the next round too.
            taken.closed |= waiting.closed;
            drop(waiting);
            self.write(&taken);
        }
    }

    fn write(&mut self, lines: &Lines) {
        let mut text = lines.text.as_str();
        for head in &lines.heads {
            let Some((line, rest)) = text.split_at_checked(head.bytes) else {
                break;
            };
            text = rest;
            self.write_line(head, line);
        }
        if let (1.., Some(last)) = (lines.lost, lines.heads.last()) {
            let complaint = format!(
                "log: {} lines lost, the log is written more slowly than it grows",
                lines.lost
            );
            self.write_line(last, &complaint);
        }
        if let Some(file) = &mut self.file {
            file.flush();
        }
    }

    fn write_line(&mut self, head: &Head, line: &str) {
        if let (true, Some(syslog)) = (head.to_syslog, &mut self.syslog) {
            syslog.send(head.time, line);
            // Say so as soon as the daemon listens again.
            if syslog.lost > 0 && syslog.lost != u64::MAX {
                let lost = syslog.lost;
                syslog.send(
                    head.time,
                    &format!("log: {lost} lines lost, the syslog daemon did not take them"),
                );
                syslog.lost = if syslog.lost > lost { lost } else { 0 };
            }
        }
        if let (true, Some(file)) = (head.to_file, &mut self.file) {
            file.push(head.time, head.thread, line);
        }
    }
}

const MAX_WAITING_BYTES: usize = 4 << 20;
const MAX_WAITING_LINES: usize = 65_536;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::file::FileOptions;

    fn log_file(path: &std::path::Path) -> LogFile {
        LogFile::open(FileOptions {
            path: path.to_owned(),
            format: ironbark_config::LogFileFormat::Debug,
            only: false,
            rotation: None,
            host: String::new(),
            name: String::new(),
        })
        .unwrap()
    }

    #[test]
    fn closing_writes_everything_that_waits() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let queue = Arc::<Queue>::default();
        queue.push(WallTime::from_unix_micros(0), false, true, "before the start");
        let writer = Writer::start(&queue, None, Some(log_file(&path))).unwrap();
        for number in 0..999 {
            queue.push(WallTime::from_unix_micros(0), false, true, &format!("line {number}"));
        }
        drop(writer);
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 1000);
        assert!(text.ends_with("line 998\n"));
    }

    #[test]
    fn lines_that_do_not_fit_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let queue = Arc::<Queue>::default();
        let long = "x".repeat(MAX_WAITING_BYTES / 2 + 1);
        for _ in 0..4 {
            queue.push(WallTime::from_unix_micros(0), false, true, &long);
        }
        drop(Writer::start(&queue, None, Some(log_file(&path))).unwrap());
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 2);
        assert!(text.contains("log: 3 lines lost"));
    }
}
