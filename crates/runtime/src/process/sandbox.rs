//! Locking the process into a directory.

use std::io;
use std::path::Path;

use nix::unistd::{chdir, chroot};

/// Makes `directory` the root of the file system for this process, and its working directory. Needs root.
///
/// # Errors
/// The operating system refused; the root is then still the old one.
pub fn enter_chroot(directory: &Path) -> io::Result<()> {
    // A process that keeps its working directory outside could walk out through `..`.
    chdir(directory)?;
    chroot(".")?;
    Ok(chdir("/")?)
}
