//! Whether the machine has run ever since something was written.

use std::fs;

use crate::hash;

/// What the kernel says of the time since the machine was started. It is another one after each start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Boot(pub(super) [u8; 16]);

impl Boot {
    /// Not known: as if the machine had been started anew.
    pub(crate) const UNKNOWN: Self = Self([0; 16]);

    /// The boot ID of the running kernel.
    pub(crate) fn current() -> Self {
        let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        match hash::strong_hash(text.trim().as_bytes()).first_chunk() {
            Some(first) if !text.trim().is_empty() => Self(*first),
            _ => Self::UNKNOWN,
        }
    }

    /// Whether what this says of the kernel's memory is true now.
    pub(crate) fn is_current(self) -> bool {
        self != Self::UNKNOWN && self == Self::current()
    }
}
