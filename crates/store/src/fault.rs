//! Handles SIGBUS. The kernel sends it when a mapped data file cannot be read: somebody has cut the file off, or the
//! disk fails. The process cannot go on then, but it reports the reason and the file first.
//!
//! The handler makes only system calls. It tells a thread where the fault was, waits until the thread has reported it,
//! and lets the signal end the process.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    os::fd::IntoRawFd,
    sync::atomic::{AtomicI32, Ordering},
};

/// The pipe that the handler writes to, and the pipe that it waits on. Both are closed when the process ends.
static ASKED: AtomicI32 = AtomicI32::new(-1);
static ANSWERED: AtomicI32 = AtomicI32::new(-1);

/// How long the process waits for a report, in milliseconds: the reporting thread may wait for the thread that failed.
const PATIENCE: i32 = 5000;

/// Tells which file is mapped where.
#[derive(Debug)]
pub struct Maps(Option<File>);

impl Maps {
    /// Call this after the process has detached, and before it changes its root directory: after that, files have no
    /// names.
    pub fn open() -> Self {
        Self(File::open("/proc/self/maps").ok())
    }
}

/// From now on, before SIGBUS ends the process, `report` is called with a line for the user, on its own thread. A
/// second call changes nothing.
///
/// # Errors
/// The operating system refuses pipes, a thread or the handler.
pub fn watch(maps: Maps, report: impl FnOnce(&str) + Send + 'static) -> io::Result<()> {
    let (mut asked, ask) = io::pipe()?;
    let (answered, answer) = io::pipe()?;
    let ask = ask.into_raw_fd();
    if ASKED
        .compare_exchange(-1, ask, Ordering::AcqRel, Ordering::Acquire)
        .is_err()
    {
        close(ask);
        return Ok(());
    }
    ANSWERED.store(answered.into_raw_fd(), Ordering::Release);
    let mut maps = maps.0;
    let wait = move || {
        let mut address = [0; size_of::<usize>()];
        if asked.read_exact(&mut address).is_ok() {
            report(&description(usize::from_ne_bytes(address), maps.as_mut()));
        }
        // The handler waits for this end of the pipe to be closed.
        drop(answer);
    };
    std::thread::Builder::new().name("fault".into()).spawn(wait)?;
    install()
}

fn close(descriptor: i32) {
    use std::os::fd::{FromRawFd, OwnedFd};
    // SAFETY: the caller has just got it from `into_raw_fd`, and nothing else uses it.
    #[allow(unsafe_code, reason = "a descriptor that was given up is taken back")]
    drop(unsafe { OwnedFd::from_raw_fd(descriptor) });
}

fn install() -> io::Result<()> {
    let handler: extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) = on_fault;
    // SAFETY: the structure is plain data, and zero is valid for each of its fields. The handler has the form that
    // SA_SIGINFO asks for. The standard library's own handler for SIGBUS finds overflows of the stack; Linux reports
    // these by SIGSEGV.
    #[allow(unsafe_code, reason = "signal actions are not in the standard library")]
    let result = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigaction(libc::SIGBUS, &raw const action, std::ptr::null_mut())
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

extern "C" fn on_fault(signal: i32, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    let (ask, answered) = (ASKED.load(Ordering::Acquire), ANSWERED.load(Ordering::Acquire));
    // SAFETY: the kernel gives a valid `info` to a handler with SA_SIGINFO. `write`, `poll`, `signal` and `raise` may
    // be called in a handler, and the buffers live as long as the calls.
    #[allow(unsafe_code, reason = "a signal handler has nothing but system calls")]
    unsafe {
        let address = (*info).si_addr() as usize;
        let bytes = address.to_ne_bytes();
        if libc::write(ask, bytes.as_ptr().cast(), bytes.len()) > 0 {
            let mut wait = libc::pollfd {
                fd: answered,
                events: libc::POLLIN,
                revents: 0,
            };
            libc::poll(&raw mut wait, 1, PATIENCE);
        }
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}

/// What to tell the user about a fault at this address.
fn description(address: usize, maps: Option<&mut File>) -> String {
    let mut text = String::new();
    if let Some(maps) = maps {
        // The process ends in any case.
        let _ = maps
            .seek(SeekFrom::Start(0))
            .and_then(|_| maps.read_to_string(&mut text));
    }
    let Some((path, place)) = text.lines().find_map(|line| place_in(line, address)) else {
        return "a mapped file cannot be read (SIGBUS); this process ends".to_owned();
    };
    let why = match std::fs::metadata(path).map(|found| found.len()) {
        Ok(length) if length <= place => format!(
            "the file is truncated: byte {place} was requested, but it has {length} bytes. Move it away and put a \
             backup in its place (ironbark restore), or load an LDIF file (slapadd)"
        ),
        _ => format!("byte {place} cannot be read from the disk; see the system's log"),
    };
    format!("{path}: {why}. This process ends (SIGBUS)")
}

/// If a line of `/proc/self/maps` covers the address: the file, and the place in it.
fn place_in(line: &str, address: usize) -> Option<(&str, u64)> {
    let mut words = line.splitn(6, ' ');
    let (from, to) = words.next()?.split_once('-')?;
    let number = |word: &str| u64::from_str_radix(word, 16).ok();
    let (from, to, address) = (number(from)?, number(to)?, address as u64);
    let offset = number(words.nth(1)?)?;
    let path = words.nth(2)?.trim_start();
    (address >= from && address < to && path.starts_with('/')).then(|| (path, address - from + offset))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_leads_to_a_file_and_a_place_in_it() {
        let line = "7f0000000000-7f0000010000 r--s 00002000 fd:01 1234                       /var/lib/a b/data.mdb";
        let found = place_in(line, 0x7f00_0000_1234);
        assert_eq!(found, Some(("/var/lib/a b/data.mdb", 0x3234)));
        assert_eq!(place_in(line, 0x7f00_0001_0000), None);
        assert_eq!(
            place_in("7f0000000000-7f0000010000 rw-p 00000000 00:00 0 ", 0x7f00_0000_1234),
            None
        );
    }
}
