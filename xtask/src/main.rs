//! Repository tasks: `cargo xtask tidy`, `cargo xtask deny`, `cargo xtask schema-ldif`, `cargo xtask instructions`,
//! `cargo xtask test`, `cargo xtask quick`, `cargo xtask conformance`.

mod cargo;
mod deny;
mod instructions;
mod quick;
mod schema_ldif;
mod testing;
mod tidy;

use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};

fn main() -> Result<ExitCode> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["tidy"] => tidy(),
        ["deny"] => deny(),
        ["schema-ldif"] => schema_ldif(false),
        ["schema-ldif", "--check"] => schema_ldif(true),
        ["instructions"] => instructions(instructions::Purpose::Check),
        ["instructions", "--accept"] => instructions(instructions::Purpose::Accept),
        ["test", ref rest @ ..] => match testing::Options::read(rest) {
            Some(options) => test(&options),
            None => Ok(usage()),
        },
        ["quick"] => quick(),
        ["conformance"] => conformance(),
        _ => Ok(usage()),
    }
}

fn usage() -> ExitCode {
    eprintln!(
        "usage: cargo xtask tidy | deny | schema-ldif [--check] | instructions [--accept] | quick | conformance\n\
         \x20                  | test [--package PACKAGE]... [--accept] [NAME]..."
    );
    ExitCode::from(2)
}

fn test(options: &testing::Options) -> Result<ExitCode> {
    let is_good = testing::run(&repository_root()?, options)?;
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn quick() -> Result<ExitCode> {
    let is_good = quick::run(&repository_root()?)?;
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn tidy() -> Result<ExitCode> {
    let tree = tidy::Tree::load(&repository_root()?)?;
    let report = tidy::check(&tree);
    print!("{report}");
    Ok(if report.is_clean() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Writes the page that says which sections of the RFCs have tests.
fn conformance() -> Result<ExitCode> {
    let root = repository_root()?;
    let (path, text) = tidy::conformance_page(&tidy::Tree::load(&root)?);
    std::fs::write(root.join(path), text).context(path)?;
    Ok(ExitCode::SUCCESS)
}

fn deny() -> Result<ExitCode> {
    let is_good = deny::run(&repository_root()?)?;
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn schema_ldif(check: bool) -> Result<ExitCode> {
    schema_ldif::run(&repository_root()?, check).map_err(anyhow::Error::msg)?;
    Ok(ExitCode::SUCCESS)
}

fn instructions(purpose: instructions::Purpose) -> Result<ExitCode> {
    let is_good = instructions::run(&repository_root()?, purpose)?;
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The directory of the workspace in which this program was started, or otherwise built.
fn repository_root() -> Result<PathBuf> {
    let manifest_dir = env::var("CARGO_MANIFEST_DIR").unwrap_or_else(|_| env!("CARGO_MANIFEST_DIR").to_owned());
    Path::new(&manifest_dir)
        .parent()
        .map(Path::to_owned)
        .context("xtask has no parent directory")
}
