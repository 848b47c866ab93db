//! Named threads.

use std::io;
use std::num::NonZeroUsize;
use std::thread::{Builder, JoinHandle, available_parallelism};

/// Starts a thread whose name shows in `top -H`, core dumps and panic messages (Linux keeps its first 15 bytes).
///
/// # Errors
/// The operating system refused another thread, or the name holds a NUL byte.
pub fn spawn_named<T, F>(name: &str, body: F) -> io::Result<JoinHandle<T>>
where
    T: Send + 'static,
    F: FnOnce() -> T + Send + 'static,
{
    if name.contains('\0') {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "a thread name cannot hold a NUL byte",
        ));
    }
    Builder::new().name(name.to_owned()).spawn(body)
}

/// Makes the calling thread give way to the other threads of the process, as `nice` does. It gets the time that the
/// others leave, and about a tenth of a busy core.
///
/// # Errors
/// The system refuses it.
pub fn give_way() -> io::Result<()> {
    // On Linux `None` means the calling thread, and the priority belongs to a thread.
    Ok(rustix::process::setpriority_process(None, NICENESS)?)
}

/// About a tenth of the share of a thread at 0.
const NICENESS: i32 = 10;

/// The number of cores that this process may use, by affinity and cgroup quota; at least 1.
pub fn available_cores() -> usize {
    available_parallelism().map_or(1, NonZeroUsize::get)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_carries_its_name_and_returns_its_value() {
        let handle = spawn_named("reactor-0", || std::thread::current().name().map(str::to_owned)).unwrap();
        assert_eq!(handle.join().unwrap().as_deref(), Some("reactor-0"));
    }

    #[test]
    fn a_name_that_the_system_cannot_keep_is_refused() {
        assert_eq!(
            spawn_named("a\0b", || ()).unwrap_err().kind(),
            io::ErrorKind::InvalidInput
        );
    }
}
