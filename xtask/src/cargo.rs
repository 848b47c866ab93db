//! cargo, as a program that tasks start.

use std::env;
use std::process::Command;

/// The cargo that runs this program, or the first of the path.
pub(crate) fn command() -> Command {
    Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}
