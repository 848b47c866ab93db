//! `ironbark container`: the entry point of an image. It makes the directory that environment variables describe, or
//! applies those that have changed, and becomes the server.
//!
//! Invariants: no secret is in a log, an argument or a file that others can read; the server that follows does not
//! have the variables. A start that is interrupted at any moment leaves a directory that the next start completes or
//! makes anew.

mod checks;
mod cluster;
mod configuration;
mod entries;
mod environment;
mod first_start;
mod later_start;
mod launch;
mod layout;
mod loading;
mod merge;
mod page;
mod schema;
mod settings;
mod start;
mod starting;
mod state;
mod variables;

/// Options of `ironbark container`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = page::help())]
pub(crate) struct Container {
    /// Print the table of variables as docs/container.md has it, and end
    #[arg(long)]
    table: bool,
}

impl Container {
    /// Returns only if there is no server.
    pub(super) fn run(&self) -> Result<(), String> {
        if self.table {
            print!("{}", page::table());
            return Ok(());
        }
        let error = start::run();
        Err(error.lines().collect::<Vec<_>>().join("\nironbark: "))
    }
}
