//! Repository checks.
mod schema_ldif;

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."));
    let done = match arguments.first().map(String::as_str) {
        Some("schema-ldif") => schema_ldif::run(root, arguments.iter().any(|argument| argument == "--check")),
        _ => Err("usage: cargo xtask schema-ldif [--check]".to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}
