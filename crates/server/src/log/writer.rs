//! The thread that writes syslog and the log file, and the bounded buffer that it empties.

use std::{
    io,
    sync::{Arc, Condvar, Mutex, PoisonError},
    thread::JoinHandle,
};

use ironbark_runtime::{WallTime, spawn_named};

use super::{file::LogFile, line::thread_number, lock, syslog::Syslog};

/// The sending side. Dropping it writes the waiting lines and ends the thread.
pub(super) struct Writer {
    queue: Arc<Queue>,
    thread: Option<JoinHandle<()>>,
}

/// Lines on their way to the thread. Shared by all threads that log.
#[derive(Default)]
pub(super) struct Queue {
    lines: Mutex<Lines>,
    filled: Condvar,
}

/// Lines that wait: two vectors, which are swapped with the thread's empty ones. Once they have grown, logging
/// allocates nothing.
#[derive(Default)]
struct Lines {
    heads: Vec<Head>,
    text: String,
    /// New log files, each with the number of lines that come before it.
    replacements: Vec<(usize, Option<LogFile>)>,
    /// Lines that did not fit.
    lost: u64,
    closed: bool,
}

struct Head {
    time: WallTime,
    level: &'static str,
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
    pub(super) fn push(&self, time: WallTime, level: &'static str, to_syslog: bool, to_file: bool, text: &str) {
        let mut lines = lock(&self.lines);
        if lines.text.len() + text.len() > MAX_WAITING_BYTES || lines.heads.len() >= MAX_WAITING_LINES {
            lines.lost += 1;
            return;
        }
        lines.text.push_str(text);
        lines.heads.push(Head {
            time,
            level,
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

impl Queue {
    /// Later lines go to another log file, or to none.
    pub(super) fn replace_file(&self, file: Option<LogFile>) {
        let mut lines = lock(&self.lines);
        let before = lines.heads.len();
        lines.replacements.push((before, file));
        drop(lines);
        self.filled.notify_one();
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        lock(&self.queue.lines).closed = true;
        self.queue.filled.notify_one();
        if let Some(thread) = self.thread.take() {
            // A panic of the writer was printed before.
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
            while waiting.heads.is_empty() && !waiting.closed && waiting.replacements.is_empty() {
                waiting = queue.filled.wait(waiting).unwrap_or_else(PoisonError::into_inner);
            }
            taken.closed = waiting.closed;
            std::mem::swap(&mut *waiting, &mut taken);
            // The next round must see the flag too.
            taken.closed |= waiting.closed;
            drop(waiting);
            self.write(&mut taken);
        }
    }

    fn write(&mut self, lines: &mut Lines) {
        let mut text = lines.text.as_str();
        let mut replacements = lines.replacements.drain(..).peekable();
        for (number, head) in lines.heads.iter().enumerate() {
            while let Some((_, file)) = replacements.next_if(|(before, _)| *before <= number) {
                self.replace_file(file);
            }
            let Some((line, rest)) = text.split_at_checked(head.bytes) else {
                break;
            };
            text = rest;
            self.write_line(head, line);
        }
        replacements.for_each(|(_, file)| self.replace_file(file));
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

    fn replace_file(&mut self, file: Option<LogFile>) {
        if let Some(old) = &mut self.file {
            old.flush();
        }
        self.file = file;
    }

    fn write_line(&mut self, head: &Head, line: &str) {
        if let (true, Some(syslog)) = (head.to_syslog, &mut self.syslog) {
            syslog.send(head.time, line);
            // Report it as soon as the daemon listens again.
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
            file.push(head.time, head.thread, head.level, line);
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
        let push = |text: &str| queue.push(WallTime::from_unix_micros(0), "any", false, true, text);
        push("before the start");
        let writer = Writer::start(&queue, None, Some(log_file(&path))).unwrap();
        for number in 0..999 {
            push(&format!("line {number}"));
        }
        drop(writer);
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 1000);
        assert!(text.ends_with("line 998\n"));
    }

    #[test]
    fn a_file_that_takes_the_place_of_another_gets_what_comes_after() {
        let folder = tempfile::tempdir().unwrap();
        let (before, after) = (folder.path().join("before"), folder.path().join("after"));
        let queue = Arc::<Queue>::default();
        let push = |text: &str| queue.push(WallTime::from_unix_micros(0), "any", false, true, text);
        let writer = Writer::start(&queue, None, Some(log_file(&before))).unwrap();
        push("one");
        queue.replace_file(Some(log_file(&after)));
        push("two");
        drop(writer);
        let read = |path: &std::path::Path| std::fs::read_to_string(path).unwrap();
        assert!(read(&before).ends_with("one\n") && !read(&before).contains("two"));
        assert!(read(&after).ends_with("two\n") && !read(&after).contains("one"));
    }

    #[test]
    fn lines_that_do_not_fit_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let queue = Arc::<Queue>::default();
        let long = "x".repeat(MAX_WAITING_BYTES / 2 + 1);
        for _ in 0..4 {
            queue.push(WallTime::from_unix_micros(0), "any", false, true, &long);
        }
        drop(Writer::start(&queue, None, Some(log_file(&path))).unwrap());
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 2);
        assert!(text.contains("log: 3 lines lost"));
    }
}
