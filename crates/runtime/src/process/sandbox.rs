//! Restricts the process to a directory.

use std::io;
use std::path::Path;

use nix::unistd::{chdir, chroot};

/// Makes `directory` the root of the file system for this process, and its working directory. Needs root.
///
/// # Errors
/// The operating system refused. The root is then unchanged.
pub fn enter_chroot(directory: &Path) -> io::Result<()> {
    // A working directory outside the new root would allow a way out through `..`.
    chdir(directory)?;
    chroot(".")?;
    Ok(chdir("/")?)
}
