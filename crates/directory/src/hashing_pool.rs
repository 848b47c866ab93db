//! A few threads for password hashes that take long, so that a bind never holds up a reactor.

use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{Receiver, SyncSender, sync_channel},
    },
};

use ironbark_runtime::{available_cores, spawn_named};

type Task = Box<dyn FnOnce() + Send>;

/// Tasks that may wait; a further one is refused, and the bind answered with `busy`.
const QUEUE_LIMIT: usize = 4_096;

/// The pool. Its threads end when it is dropped.
#[derive(Debug)]
pub(crate) struct HashingPool {
    queue: SyncSender<Task>,
}

impl HashingPool {
    /// Starts one thread per core.
    pub(crate) fn start() -> io::Result<Self> {
        let (queue, tasks) = sync_channel::<Task>(QUEUE_LIMIT);
        let tasks = Arc::new(Mutex::new(tasks));
        for number in 0..available_cores().max(1) {
            let tasks = Arc::clone(&tasks);
            spawn_named(&format!("hash-{number}"), move || serve(&tasks))?;
        }
        Ok(Self { queue })
    }

    /// Runs a task on the pool; `false` if too many are waiting.
    pub(crate) fn run(&self, task: impl FnOnce() + Send + 'static) -> bool {
        self.queue.try_send(Box::new(task)).is_ok()
    }
}

fn serve(tasks: &Mutex<Receiver<Task>>) {
    loop {
        let task = tasks.lock().unwrap_or_else(PoisonError::into_inner).recv();
        match task {
            // One that a library gives up on ends without an answer: its bind fails, and the thread serves the next.
            Ok(task) => drop(catch_unwind(AssertUnwindSafe(task))),
            Err(_) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn a_task_that_panics_takes_no_thread_with_it() {
        let pool = HashingPool::start().unwrap();
        for _ in 0..4 * available_cores() {
            assert!(pool.run(|| panic!("a library that gives up")));
        }
        let (sender, receiver) = channel();
        assert!(pool.run(move || sender.send(7).unwrap()));
        assert_eq!(receiver.recv(), Ok(7));
    }
}
