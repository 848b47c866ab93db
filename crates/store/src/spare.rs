//! Memory kept back for the moment when there is no more: the address space of a process may be limited (`ulimit -v`,
//! systemd's `LimitAS=`), or the system may promise no more than it has (`vm.overcommit_memory=2`).
//!
//! Rust ends a process that asks for memory in vain. Big requests ask politely (`try_reserve`); for the many small ones
//! there is [`Spare`], an allocator that lets go of a reserve and asks again. From then on memory [is short](is_short):
//! whoever can do without says so to its client, until [`recover`] has got the reserve back.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering},
};

/// The system's allocator with something kept back.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spare;

/// The reserve, in pieces: after a shortage less may be had than before.
static PIECES: [AtomicPtr<libc::c_void>; MOST] = [const { AtomicPtr::new(std::ptr::null_mut()) }; MOST];
/// Pieces that are wanted; 0: none were asked for.
static WANTED: AtomicUsize = AtomicUsize::new(0);
static SHORT: AtomicBool = AtomicBool::new(false);

const PIECE: usize = 4 << 20;
const MOST: usize = 16;
/// Of a limit, the part that is kept back.
const PART: u64 = 16;

/// Keeps memory back from now on: 64 MiB, or a sixteenth of the limit of address space if that is less. It is reserved
/// and not used.
pub fn keep() {
    let part = address_space_limit().map_or(u64::MAX, |limit| limit / PART);
    let pieces = usize::try_from(part / PIECE as u64).unwrap_or(MOST).clamp(1, MOST);
    WANTED.store(pieces, Ordering::Release);
    recover();
}

/// Whether the reserve is gone: what takes memory is to be refused.
#[inline]
pub fn is_short() -> bool {
    SHORT.load(Ordering::Relaxed)
}

/// Takes back what can be had of the reserve by now; whether memory is no longer short.
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

/// Reserves one piece, unless another thread does; whether it is there.
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

/// Lets the reserve go if it can help one who wants `size` bytes; whether it was there.
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
    // SAFETY: the caller has taken it out of the one place where it was known; it was mapped with this size, and
    // nothing lies in it.
    #[allow(unsafe_code, reason = "a mapping that nothing is stored in")]
    unsafe {
        libc::munmap(piece, PIECE);
    }
}

// SAFETY: every request goes to the system's allocator with the caller's own arguments. Asking it twice is allowed, and
// nothing here allocates.
#[allow(unsafe_code, reason = "an allocator is unsafe by its nature")]
unsafe impl GlobalAlloc for Spare {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller's.
        let found = unsafe { System.alloc(layout) };
        if !found.is_null() || !let_go(layout.size()) {
            return found;
        }
        // SAFETY: as the caller's.
        unsafe { System.alloc(layout) }
    }
    #[inline]
    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: as the caller's.
        unsafe { System.dealloc(place, layout) }
    }
    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller's.
        let found = unsafe { System.alloc_zeroed(layout) };
        if !found.is_null() || !let_go(layout.size()) {
            return found;
        }
        // SAFETY: as the caller's.
        unsafe { System.alloc_zeroed(layout) }
    }
    #[inline]
    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as the caller's; what could not be moved is where it was.
        let found = unsafe { System.realloc(place, layout, size) };
        if !found.is_null() || !let_go(size) {
            return found;
        }
        // SAFETY: as the caller's.
        unsafe { System.realloc(place, layout, size) }
    }
}

/// The limit of address space, if there is one.
pub(crate) fn address_space_limit() -> Option<u64> {
    rustix::process::getrlimit(rustix::process::Resource::As).current
}

/// What is left of it.
pub(crate) fn address_space_left() -> Option<u64> {
    let limit = address_space_limit()?;
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split(' ').next()?.parse().ok()?;
    Some(limit.saturating_sub(pages.saturating_mul(rustix::param::page_size() as u64)))
}
