//! Memory kept in reserve for a shortage: the address space of a process may be limited (`ulimit -v`, systemd's
//! `LimitAS=`), or the system may promise no more memory than it has (`vm.overcommit_memory=2`).
//!
//! Rust ends a process when a memory request fails. Large requests use `try_reserve` and can fail. The many small ones
//! use [`Spare`], an allocator that releases a reserve and asks again. From then on memory [is short](is_short): work
//! that can be refused is refused to the client, until [`recover`] has got the reserve back.

use std::{
    alloc::{GlobalAlloc, Layout},
    sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering},
};

/// Half the work of the C library's where one thread frees what another one has allocated, as a consumer does with each
/// message. Without huge pages: an idle server would take 15 MB more.
const ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The allocator with something kept back.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spare;

/// The reserve, in pieces: after a shortage less memory may be available than before.
static PIECES: [AtomicPtr<libc::c_void>; MOST] = [const { AtomicPtr::new(std::ptr::null_mut()) }; MOST];
/// Number of wanted pieces; 0: none.
static WANTED: AtomicUsize = AtomicUsize::new(0);
static SHORT: AtomicBool = AtomicBool::new(false);

/// `mi_option_purge_delay` of mimalloc.h, milliseconds: it has no name in the crate.
const PURGE_DELAY: libmimalloc_sys::mi_option_t = 15;
const PIECE: usize = 4 << 20;
const MOST: usize = 16;
/// The part of a limit that is kept in reserve.
const PART: u64 = 16;

/// From now on freed blocks go back to the system at once: the memory of slow password hashes, the longest messages,
/// big sorts. Also reserves memory: 64 MiB, or a sixteenth of the limit of address space if that is less. The memory is
/// reserved but not used. Call it before threads are started: it also keeps them from taking all of a limited address
/// space.
pub fn keep() {
    // SAFETY: the option is a number, and may be set at any time.
    #[allow(unsafe_code, reason = "there is no safe form")]
    unsafe {
        libmimalloc_sys::mi_option_set(PURGE_DELAY, 0);
    }
    if let Some(limit) = address_space_limit() {
        limit_arenas(limit);
    }
    let part = address_space_limit().map_or(u64::MAX, |limit| limit / PART);
    let pieces = usize::try_from(part / PIECE as u64).unwrap_or(MOST).clamp(1, MOST);
    WANTED.store(pieces, Ordering::Release);
    recover();
}

/// Lets the C library, whose memory LMDB takes, have a quarter of the address space for its arenas. It makes one of
/// 64 MiB for each thread, used or not, and never gives it back: soon no other thread could be started.
///
/// Does nothing where the C library is not glibc.
fn limit_arenas(limit: u64) {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        const ARENA: u64 = 64 << 20;
        let most = libc::c_int::try_from(limit / 4 / ARENA)
            .unwrap_or(libc::c_int::MAX)
            .max(1);
        // SAFETY: mallopt takes two numbers and may be called at any time; it changes nothing that has been allocated.
        #[allow(unsafe_code, reason = "there is no safe form")]
        let _ = unsafe { libc::mallopt(libc::M_ARENA_MAX, most) };
    }
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    let _ = limit;
}

/// Whether the reserve is gone: requests that take memory should be refused.
#[inline]
pub fn is_short() -> bool {
    SHORT.load(Ordering::Relaxed)
}

/// Takes back as much of the reserve as is available now. Returns whether memory is no longer short.
pub fn recover() -> bool {
    let wanted = WANTED.load(Ordering::Acquire);
    let mut held = 0;
    for place in PIECES.iter().take(wanted) {
        held += usize::from(!place.load(Ordering::Acquire).is_null() || take_back(place));
    }
    let is_short = held == 0 && wanted > 0;
    SHORT.store(is_short, Ordering::Relaxed);
    !is_short
}

/// Reserves one piece, unless another thread does. Returns whether it is there.
fn take_back(place: &AtomicPtr<libc::c_void>) -> bool {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a fresh anonymous mapping, which touches nothing that exists.
    #[allow(unsafe_code, reason = "a mapping that nothing is stored in")]
    let mapped = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            PIECE,
            libc::PROT_READ | libc::PROT_WRITE,
            flags,
            -1,
            0,
        )
    };
    if mapped == libc::MAP_FAILED {
        return false;
    }
    let none = std::ptr::null_mut();
    if place
        .compare_exchange(none, mapped, Ordering::AcqRel, Ordering::Acquire)
        .is_err()
    {
        unmap(mapped);
    }
    true
}

/// Releases the reserve if that can help a request for `size` bytes. Returns whether it was there.
#[cold]
fn let_go(size: usize) -> bool {
    let wanted = WANTED.load(Ordering::Acquire);
    if size > wanted * PIECE {
        return false;
    }
    SHORT.store(true, Ordering::Relaxed);
    let mut was_there = false;
    for place in &PIECES {
        let piece = place.swap(std::ptr::null_mut(), Ordering::AcqRel);
        if !piece.is_null() {
            unmap(piece);
            was_there = true;
        }
    }
    was_there
}

fn unmap(piece: *mut libc::c_void) {
    // SAFETY: the caller has taken it out of the only place that knew it. It was mapped with this size, and nothing
    // lies in it.
    #[allow(unsafe_code, reason = "a mapping that nothing is stored in")]
    unsafe {
        libc::munmap(piece, PIECE);
    }
}

// SAFETY: every request goes to the system's allocator with the caller's own arguments. It may be asked twice, and
// nothing here allocates.
#[allow(unsafe_code, reason = "an allocator is unsafe by its nature")]
unsafe impl GlobalAlloc for Spare {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller's.
        let found = unsafe { ALLOCATOR.alloc(layout) };
        if !found.is_null() || !let_go(layout.size()) {
            return found;
        }
        // SAFETY: as the caller's.
        unsafe { ALLOCATOR.alloc(layout) }
    }
    #[inline]
    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: as the caller's.
        unsafe { ALLOCATOR.dealloc(place, layout) }
    }
    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller's.
        let found = unsafe { ALLOCATOR.alloc_zeroed(layout) };
        if !found.is_null() || !let_go(layout.size()) {
            return found;
        }
        // SAFETY: as the caller's.
        unsafe { ALLOCATOR.alloc_zeroed(layout) }
    }
    #[inline]
    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as the caller's; memory that could not be moved stays where it was.
        let found = unsafe { ALLOCATOR.realloc(place, layout, size) };
        if !found.is_null() || !let_go(size) {
            return found;
        }
        // SAFETY: as the caller's.
        unsafe { ALLOCATOR.realloc(place, layout, size) }
    }
}

/// The limit of address space, if there is one.
pub(crate) fn address_space_limit() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::As).current
}

/// The part of the limit that is left.
pub(crate) fn address_space_left() -> Option<u64> {
    let limit = address_space_limit()?;
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split(' ').next()?.parse().ok()?;
    Some(limit.saturating_sub(pages.saturating_mul(rustix::param::page_size() as u64)))
}
