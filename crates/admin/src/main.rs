//! The binary `ironbark`: server and tools in one file, known by the names of OpenLDAP's programs.

use std::process::ExitCode;

fn main() -> ExitCode {
    ironbark_admin::dispatch::run(std::env::args_os().collect())
}
