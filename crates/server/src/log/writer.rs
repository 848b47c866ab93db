//! The log thread: it writes stderr, syslog and the log file, with one call for many lines.

use std::{io, sync::Arc, thread::JoinHandle};

use ironbark_runtime::spawn_named;

use super::{
    file::LogFile,
    lines::Head,
    queue::{Batch, Queue},
    stderr::Stderr,
    syslog::Syslog,
};

/// The running log thread. Dropping it writes the waiting lines and ends the thread.
pub(super) struct Writer {
    queue: Arc<Queue>,
    thread: Option<JoinHandle<()>>,
}

/// The targets, owned by the log thread.
pub(super) struct Outputs {
    pub(super) stderr: Stderr,
    pub(super) syslog: Option<Syslog>,
    pub(super) file: Option<LogFile>,
}

impl Writer {
    pub(super) fn start(queue: &Arc<Queue>, outputs: Outputs) -> io::Result<Self> {
        queue.open();
        let emptied = Arc::clone(queue);
        let thread = spawn_named("log", move || outputs.run(&emptied)).inspect_err(|_| queue.leave())?;
        Ok(Self {
            queue: Arc::clone(queue),
            thread: Some(thread),
        })
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // A thread whose target is stuck ends with the process.
        if self.queue.close()
            && let Some(thread) = self.thread.take()
        {
            // A panic of the thread was printed before.
            let _ = thread.join();
        }
    }
}

/// Tells the queue when the log thread ends, whatever ends it.
struct Leaving<'q>(&'q Queue);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.0.leave();
    }
}

impl Outputs {
    fn run(mut self, queue: &Queue) {
        queue.serve();
        let _leaving = Leaving(queue);
        let mut batch = Batch::default();
        while !batch.is_last {
            queue.next(&mut batch);
            let lost = self.write(&mut batch);
            if lost > 0 {
                queue.count_lost(lost);
            }
        }
    }

    /// Returns how many lines the targets did not take.
    fn write(&mut self, batch: &mut Batch) -> u64 {
        let mut lost = 0;
        let mut replacements = batch.replacements.drain(..).peekable();
        for (number, (head, lines)) in batch.lines.iter().enumerate() {
            while let Some((_, file)) = replacements.next_if(|(before, _)| *before <= number) {
                lost += self.replace_file(file);
            }
            lost += self.push(head, lines);
        }
        for (_, file) in replacements {
            lost += self.replace_file(file);
        }
        if let (1.., Some(last)) = (batch.lost, batch.lines.last()) {
            let complaint = format!(
                "log: {} lines lost, the log is written more slowly than it grows\n",
                batch.lost
            );
            lost += self.push(last, &complaint);
        }
        lost + self.stderr.flush() + self.syslog.as_mut().map_or(0, Syslog::flush) + self.flush_file()
    }

    fn replace_file(&mut self, file: Option<LogFile>) -> u64 {
        let lost = self.flush_file();
        self.file = file;
        lost
    }

    fn flush_file(&mut self) -> u64 {
        self.file.as_mut().map_or(0, LogFile::flush)
    }

    fn push(&mut self, head: &Head, lines: &str) -> u64 {
        let mut lost = 0;
        if head.targets.stderr {
            lost += self.stderr.push(head, lines);
        }
        if let (true, Some(syslog)) = (head.targets.syslog, &mut self.syslog) {
            lost += syslog.push(head, lines);
        }
        if let (true, Some(file)) = (head.targets.file, &mut self.file) {
            lost += file.push(head, lines);
        }
        lost
    }
}

#[cfg(test)]
mod tests;
