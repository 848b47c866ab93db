//! `ironbark load report` and `ironbark load changes`: what the load generator does without a server.

use std::{
    fs::{self, File},
    io::BufWriter,
    path::{Path, PathBuf},
};

use clap::Args;
use ironbark_load::{generate::Kind, report, result::RunResult, workload::write_changes};

use super::{Failure, workloads::Data};

/// Options of `ironbark load report`.
#[derive(Debug, Args)]
pub(super) struct Report {
    /// Results, as -o has written them; the first of each workload is what the others are compared with
    #[arg(required = true, value_name = "FILE")]
    results: Vec<PathBuf>,
    /// Where to write the page
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Its title
    #[arg(long, default_value = "LDAP load test")]
    title: String,
}

/// Options of `ironbark load changes`.
#[derive(Debug, Args)]
pub(super) struct Changes {
    #[command(flatten)]
    data: Data,
    /// How many modifications
    #[arg(long, default_value_t = 28_000)]
    count: u64,
    /// Where to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

impl Report {
    pub(super) fn run(&self) -> Result<(), Failure> {
        let read = |path: &PathBuf| {
            let text = fs::read(path).map_err(|error| failed(path, error))?;
            RunResult::read(&text).map_err(|error| failed(path, error))
        };
        let results = self.results.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        write_page(&self.output, &self.title, &results)
    }
}

impl Changes {
    pub(super) fn run(&self) -> Result<(), Failure> {
        let population = self.data.population(Kind::Zimbra)?;
        let write = || {
            let mut file = BufWriter::new(File::create(&self.output)?);
            write_changes(&population, self.count, &mut file)
        };
        write().map_err(|error| failed(&self.output, error))
    }
}

/// Writes an HTML page.
pub(super) fn write_page(path: &Path, title: &str, results: &[RunResult]) -> Result<(), Failure> {
    fs::write(path, report::page(title, results)).map_err(|error| failed(path, error))
}

/// A failure about a file.
pub(super) fn failed(path: &Path, error: impl std::fmt::Display) -> Failure {
    Failure::Run(format!("{}: {error}", path.display()))
}
