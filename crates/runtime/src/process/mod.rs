//! The life of a process: detaching, privileges, limits, sandbox, pid and argument files.
//!
//! The order at start is: read the configuration, [`raise_open_files_limit`], open the listeners, [`detach`],
//! [`enter_chroot`], [`ProcessIdentity::assume`], [`StateFile`]s, threads, and [`Readiness::ready`] last. [`detach`]
//! forks and must therefore come before any thread; it refuses otherwise.

mod detach;
mod host;
mod identity;
mod limits;
mod lock_holder;
mod memory;
mod sandbox;
mod state_file;
mod usage;

pub use detach::{DetachError, Readiness, detach};
pub use host::{full_host_name, host_name};
pub use identity::{IdentityError, ProcessIdentity, drop_privileges};
pub use limits::{OpenFilesLimit, forbid_core_files, raise_open_files_limit};
pub use lock_holder::{in_use, lock_holder};
pub use memory::memory_limit;
pub use sandbox::enter_chroot;
pub use state_file::StateFile;
pub use usage::{ProcessUsage, usage};
