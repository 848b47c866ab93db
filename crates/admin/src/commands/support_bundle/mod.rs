//! `ironbark support-bundle`: what a helper needs to know of a server, in one text file without passwords.

mod machine;

use std::{
    collections::VecDeque,
    fmt::Write as _,
    fs::{self, File, OpenOptions},
    io::{BufRead as _, BufReader, Write as _},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use clap::Args;
use ironbark_advisor::{masked_configuration, masked_findings, review};
use ironbark_config::{DatabaseConfig, secret::masked};
use ironbark_runtime::Clock;

use super::slaptest::report;
use crate::shared::{chosen::Chosen, open::open_to_read, target::Target};

/// Lines of a log that are taken.
const LOG_LINES: usize = 1_000;
/// Characters of a line of a log that are taken.
const LOG_WIDTH: usize = 1_000;

/// Options of `ironbark support-bundle`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SupportBundle {
    #[command(flatten)]
    target: Target,
    /// A log file, of which the last 1,000 lines are taken. Logs have names, filters and addresses of clients; what
    /// looks like a password is left out
    #[arg(long, value_name = "FILE")]
    log: Vec<PathBuf>,
    /// The file to write; it must not exist. It is readable for its owner alone
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

const EXAMPLES: &str = "Examples:
  ironbark support-bundle --log /var/log/slapd.log -o bundle.txt";

impl SupportBundle {
    pub(super) fn run(&self) -> Result<(), String> {
        let mut text = String::new();
        let now = Clock::system().now().utc();
        let _ = writeln!(
            text,
            "Ironbark {}, {:04}-{:02}-{:02} {:02}:{:02} UTC\nNo password, no key and no entry is in this file. Read it \
             before you give it away.\n",
            env!("CARGO_PKG_VERSION"),
            now.year,
            now.month,
            now.day,
            now.hour,
            now.minute
        );
        section(&mut text, "Machine", &machine::facts());
        let written = self.target.written()?;
        let findings = review(&written, None, &[]).map_err(|error| error.to_string())?;
        section(&mut text, "Configuration", &masked_configuration(&written));
        section(
            &mut text,
            "What is to be said of it",
            &report::text(&masked_findings(&findings)),
        );
        if findings.loads() {
            section(&mut text, "Databases", &self.databases()?);
        }
        for log in &self.log {
            section(&mut text, &format!("End of {}", log.display()), &last_lines(log)?);
        }
        let failed = |error: std::io::Error| format!("{}: {error}", self.output.display());
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&self.output)
            .map_err(failed)?;
        file.write_all(text.as_bytes()).map_err(failed)?;
        println!(
            "{}: {} lines. Read it before you give it away.",
            self.output.display(),
            text.lines().count()
        );
        Ok(())
    }

    fn databases(&self) -> Result<String, String> {
        let chosen = self.target.choose()?;
        let mut text = String::new();
        for database in &chosen.configuration.databases {
            let suffix = database.suffixes.first().map_or("", |suffix| suffix.pretty());
            let _ = writeln!(text, "{} \"{suffix}\"", database.kind.name);
            if !database.kind.is_stored() {
                continue;
            }
            let _ = writeln!(text, "  file system   {}", machine::file_system(&database.directory));
            for line in content(database, &chosen) {
                let _ = writeln!(text, "  {line}");
            }
        }
        Ok(text)
    }
}

/// What a database's files say.
fn content(settings: &DatabaseConfig, chosen: &Chosen) -> Vec<String> {
    let path = settings.directory.join("data.mdb");
    let Ok(metadata) = fs::metadata(&path) else {
        return vec!["files         none".to_owned()];
    };
    let mut lines = vec![format!("file          {} octets", metadata.len())];
    if metadata.len() == 0 {
        return lines;
    }
    let database = match open_to_read(settings, chosen) {
        Ok(Some(database)) => database,
        Ok(None) => return lines,
        Err(error) => {
            lines.push(format!("cannot be read: {error}"));
            return lines;
        }
    };
    let told = database.stat().and_then(|stat| {
        let snapshot = database.snapshot()?;
        let log = snapshot.view().log_state()?;
        let first = log.first.map_or_else(|| "none".to_owned(), |first| first.to_string());
        Ok([
            format!("entries       {}", stat.entries),
            format!("log           changes {first} to {}", log.last),
        ])
    });
    match told {
        Ok(told) => lines.extend(told),
        Err(error) => lines.push(format!("cannot be read: {error}")),
    }
    lines
}

fn section(text: &mut String, head: &str, content: &str) {
    let _ = writeln!(text, "## {head}\n\n{}\n", content.trim_end());
}

/// The end of a log file.
fn last_lines(path: &Path) -> Result<String, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    let file = File::open(path).map_err(failed)?;
    let mut last: VecDeque<String> = VecDeque::new();
    for line in BufReader::new(file).split(b'\n') {
        let line = line.map_err(failed)?;
        let line = String::from_utf8_lossy(&line);
        // Before it is cut: the end of a secret is one, too.
        let line = masked(&line);
        let shown = line.chars().take(LOG_WIDTH);
        last.push_back(shown.map(|one| if one.is_control() { ' ' } else { one }).collect());
        if last.len() > LOG_LINES {
            last.pop_front();
        }
    }
    Ok(last.into_iter().collect::<Vec<_>>().join("\n"))
}
