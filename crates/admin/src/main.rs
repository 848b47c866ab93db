//! The binary `ironbark`: server and tools in one file, known by the names of OpenLDAP's programs.

use std::process::ExitCode;

use ironbark_store::spare::Spare;

/// A failed allocation for a client must not end the server.
#[global_allocator]
static ALLOCATOR: Spare = Spare;

fn main() -> ExitCode {
    ironbark_admin::dispatch::run(std::env::args_os().collect())
}
