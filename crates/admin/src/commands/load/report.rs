//! `ironbark load report` and `ironbark load changes`: the parts of the load generator that need no server.

use std::{
    fs::{self, File},
    io::BufWriter,
    path::{Path, PathBuf},
};

use clap::Args;
use ironbark_load::{
    generate::DataSetKind,
    report,
    result::RunResult,
    workload::{EntryOrder, write_changes},
};

use super::{Failure, workloads::Data};

/// Options of `ironbark load report`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  ironbark load report a.json b.json -o report.html")]
pub(super) struct Report {
    /// Results, as -o has written them; the first one of each workload is the base of comparison. Results of the same
    /// label and workload are rounds: their median stands for them
    #[arg(required = true, value_name = "FILE")]
    results: Vec<PathBuf>,
    /// The output file of the page
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// A Markdown file: a table of medians and ratios replaces the text between `<!-- load -->` and `<!-- /load -->`
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// The label of results that show a limit; the report says which part of the limit the other results reach
    #[arg(long, value_name = "LABEL")]
    limit: Option<String>,
    /// Title of the page
    #[arg(long, default_value = "LDAP load test")]
    title: String,
}

/// Options of `ironbark load changes`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  ironbark load changes --data telco --entries 50000 -o changes.ldif")]
pub(super) struct Changes {
    #[command(flatten)]
    data: Data,
    /// Number of modifications
    #[arg(long, default_value_t = 28_000)]
    count: u64,
    /// Which entries: random ones, or (sequential) one after the other, so that each is modified
    #[arg(long, default_value = "random")]
    order: EntryOrder,
    /// The output file
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
        let limit = self.limit.as_deref();
        if let Some(path) = &self.markdown {
            let text = fs::read_to_string(path).map_err(|error| failed(path, error))?;
            let table = report::markdown(&results, limit);
            let text = between_marks(&text, &table).ok_or_else(|| failed(path, "the marks are missing"))?;
            fs::write(path, text).map_err(|error| failed(path, error))?;
        }
        write_page(&self.output, &self.title, &report::medians(&results), limit)
    }
}

impl Changes {
    pub(super) fn run(&self) -> Result<(), Failure> {
        let population = self.data.population(DataSetKind::Zimbra)?;
        let write = || {
            let mut file = BufWriter::new(File::create(&self.output)?);
            write_changes(&population, self.order, self.count, &mut file)
        };
        write().map_err(|error| failed(&self.output, error))
    }
}

/// The text, with `table` between the marks.
fn between_marks(text: &str, table: &str) -> Option<String> {
    let (before, rest) = text.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n\n{table}\n{END}{after}"))
}

const BEGIN: &str = "<!-- load -->";
const END: &str = "<!-- /load -->";

/// Writes an HTML page.
pub(super) fn write_page(path: &Path, title: &str, results: &[RunResult], limit: Option<&str>) -> Result<(), Failure> {
    fs::write(path, report::page(title, results, limit)).map_err(|error| failed(path, error))
}

/// A failure that names a file.
pub(super) fn failed(path: &Path, error: impl std::fmt::Display) -> Failure {
    Failure::Run(format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_replaces_the_one_before() {
        let text = "before\n<!-- load -->\nold\n<!-- /load -->\nafter\n";
        let new = between_marks(text, "| a |\n").unwrap();
        assert_eq!(new, "before\n<!-- load -->\n\n| a |\n\n<!-- /load -->\nafter\n");
        assert_eq!(between_marks(&new, "| a |\n").as_deref(), Some(new.as_str()));
        assert_eq!(between_marks("<!-- load -->", ""), None);
    }
}
