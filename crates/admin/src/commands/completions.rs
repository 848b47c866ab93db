//! `ironbark completions`: what a shell needs to complete our command lines.

use std::io::Write as _;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::Ironbark;

/// Options of `ironbark completions`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

const EXAMPLES: &str = "Examples:
  source <(ironbark completions bash)
  ironbark completions fish > ~/.config/fish/completions/ironbark.fish";

impl Completions {
    pub(super) fn run(&self) -> Result<(), String> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Ironbark::command(), "ironbark", &mut script);
        std::io::stdout()
            .write_all(&script)
            .map_err(|error| format!("standard output: {error}"))
    }
}
