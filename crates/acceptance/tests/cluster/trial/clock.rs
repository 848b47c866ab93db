//! Another wall clock for a running process, by other code in its vDSO.
//!
//! The kernel maps the vDSO into each process. libc, Rust and Go call it to read clocks, so this works for servers and
//! for etcd alike. libfaketime does for neither of them: it replaces functions of libc, which both go past. A namespace
//! of time has clocks that are monotonic, but not the wall clock.

use std::{fs, fs::File, os::unix::fs::FileExt};

use ironbark_testkit::wait;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

/// `clock_gettime` by a system call. Adds the number behind it to the seconds of `CLOCK_REALTIME` and of
/// `CLOCK_REALTIME_COARSE`.
#[rustfmt::skip]
const CODE: [u8; 32] = [
    0xb8, 0xe4, 0, 0, 0,         // mov eax, 228
    0x0f, 0x05,                  // syscall
    0x85, 0xff,                  // test edi, edi
    0x74, 0x05,                  // jz +5
    0x83, 0xff, 0x05,            // cmp edi, 5
    0x75, 0x0a,                  // jne +10
    0x48, 0x8b, 0x0d, 9, 0, 0, 0, // mov rcx, [rip + 9]
    0x48, 0x01, 0x0e,            // add [rsi], rcx
    0xc3,                        // ret
    0x90, 0x90, 0x90, 0x90, 0x90,
];

/// The wall clock of a process.
pub(crate) struct WallClock {
    memory: File,
    /// Where the number of seconds is.
    seconds: u64,
}

impl WallClock {
    /// Takes the wall clock of a process over. It is right at first.
    ///
    /// # Errors
    /// This is another machine, or the process may not be changed.
    pub(crate) fn of(pid: u32) -> Result<Self, String> {
        if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
            return Err("wall clocks of processes can be changed on x86-64 alone".to_owned());
        }
        let (begin, end) = mapped(pid)?;
        let memory = format!("/proc/{pid}/mem");
        let memory = File::options().read(true).write(true).open(&memory);
        let memory = memory.map_err(|error| format!("the memory of process {pid}: {error}"))?;
        let mut image = vec![0; usize::try_from(end - begin).unwrap()];
        memory
            .read_exact_at(&mut image, begin)
            .map_err(|error| error.to_string())?;
        let function = symbol(&image, b"__vdso_clock_gettime").ok_or("the vDSO has no clock")?;
        let at = begin + function;
        let clock = Self {
            memory,
            seconds: at + 32,
        };
        let mut code = CODE.to_vec();
        code.extend(0_i64.to_le_bytes());
        if image[usize::try_from(function).unwrap()..].starts_with(&CODE) {
            return Ok(clock);
        }
        between_readings(pid, begin..end, || clock.memory.write_all_at(&code, at).unwrap())?;
        Ok(clock)
    }

    /// From now on the process sees a time that is so many seconds from the right one.
    pub(crate) fn set(&self, seconds: i64) {
        self.memory.write_all_at(&seconds.to_le_bytes(), self.seconds).unwrap();
    }
}

/// Where the vDSO of a process is.
fn mapped(pid: u32) -> Result<(u64, u64), String> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).map_err(|error| error.to_string())?;
    let line = maps.lines().find(|line| line.ends_with("[vdso]"));
    let range = line.and_then(|line| line.split(' ').next()?.split_once('-'));
    let (begin, end) = range.ok_or("the process has no vDSO")?;
    let number = |text: &str| u64::from_str_radix(text, 16).map_err(|error| error.to_string());
    Ok((number(begin)?, number(end)?))
}

/// Does something while the process stands, and none of its threads is in a range of addresses.
fn between_readings(pid: u32, range: std::ops::Range<u64>, act: impl FnOnce()) -> Result<(), String> {
    let signal = |signal| kill(Pid::from_raw(i32::try_from(pid).unwrap()), signal).map_err(|error| error.to_string());
    let stands = wait::until(|| {
        signal(Signal::SIGSTOP).ok()?;
        let counters = wait::until(|| counters(pid))?;
        if counters.iter().any(|counter| range.contains(counter)) {
            signal(Signal::SIGCONT).ok()?;
            return None;
        }
        Some(())
    });
    if stands.is_some() {
        act();
    }
    signal(Signal::SIGCONT)?;
    stands.ok_or_else(|| format!("process {pid} never stands"))
}

/// Where the threads of a process are, if all of them stand.
fn counters(pid: u32) -> Option<Vec<u64>> {
    let mut all = Vec::new();
    for thread in fs::read_dir(format!("/proc/{pid}/task")).ok()? {
        let folder = thread.ok()?.path();
        let state = fs::read_to_string(folder.join("status")).ok()?;
        state
            .lines()
            .find(|line| line.starts_with("State:\tT") || line.starts_with("State:\tt"))?;
        let call = fs::read_to_string(folder.join("syscall")).ok()?;
        let counter = call.split_whitespace().last()?.strip_prefix("0x")?.to_owned();
        all.push(u64::from_str_radix(&counter, 16).ok()?);
    }
    Some(all)
}

/// The offset of a function in an ELF file of 64 bits, by its table of dynamic symbols.
fn symbol(image: &[u8], name: &[u8]) -> Option<u64> {
    let number = |at: usize, octets: usize| -> Option<usize> {
        let mut value = [0; 8];
        value[..octets].copy_from_slice(image.get(at..at + octets)?);
        usize::try_from(u64::from_le_bytes(value)).ok()
    };
    let (headers, size, count) = (number(0x28, 8)?, number(0x3a, 2)?, number(0x3c, 2)?);
    let section = |index: usize| {
        let at = headers + index * size;
        // Kind, place, length, and the section that belongs to it.
        Some((
            number(at + 4, 4)?,
            number(at + 0x18, 8)?,
            number(at + 0x20, 8)?,
            number(at + 0x28, 4)?,
        ))
    };
    let (_, table, length, names) = (0..count).filter_map(section).find(|(kind, ..)| *kind == 11)?;
    let (_, names, ..) = section(names)?;
    let mut symbols = (0..length / 24).map(|index| table + index * 24);
    let found = symbols.find(|at| {
        let text = number(*at, 4).and_then(|start| image.get(names + start..));
        text.is_some_and(|text| text.strip_prefix(name).is_some_and(|rest| rest.first() == Some(&0)))
    })?;
    u64::try_from(number(found + 8, 8)?).ok()
}
