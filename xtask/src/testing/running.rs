//! Runs one test program, and reads what it says.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::processor;
use super::programs::Program;

/// One test.
pub(super) struct Test {
    pub(super) name: String,
    pub(super) seconds: f64,
    pub(super) passed: bool,
}

/// What a program did.
pub(super) struct Ran {
    pub(super) tests: Vec<Test>,
    pub(super) cpu_s: f64,
    pub(super) passed: bool,
}

/// Runs the tests of a program whose names contain one of `filters`; all, if there is none.
pub(super) fn run(program: &Program, filters: &[String]) -> Result<Ran> {
    let begin = Instant::now();
    let cpu_before = processor::of_children()?;
    let (tests, passed) = if program.has_harness {
        with_harness(program, filters)?
    } else if filters.is_empty() {
        let status = command(program).status()?;
        (Vec::new(), status.success())
    } else {
        (Vec::new(), true)
    };
    let cpu_s = processor::of_children()? - cpu_before;
    if !tests.is_empty() || !passed {
        let count = tests.len();
        let seconds = begin.elapsed().as_secs_f64();
        println!(
            "{:<30} {count:>5} tests {seconds:>7.1} s, processor {cpu_s:>7.1} s",
            program.name
        );
    }
    Ok(Ran { tests, cpu_s, passed })
}

fn command(program: &Program) -> Command {
    let mut command = Command::new(&program.executable);
    command
        .current_dir(&program.folder)
        .env("CARGO_MANIFEST_DIR", &program.folder);
    if let Some(server) = &program.server {
        command.env("IRONBARK_BIN", server);
    }
    command
}

fn with_harness(program: &Program, filters: &[String]) -> Result<(Vec<Test>, bool)> {
    let mut child = command(program)
        // The times and the machine's form of a report are not stable yet: the variable permits them at run time.
        .env("RUSTC_BOOTSTRAP", "1")
        .args(["-Z", "unstable-options", "--report-time", "--format", "json"])
        .args(filters)
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| program.executable.display().to_string())?;
    let mut tests = Vec::new();
    let output = child.stdout.take().context("no output")?;
    for line in BufReader::new(output).split(b'\n') {
        let line = line?;
        // Programs that tests start may write between.
        let Ok(event) = serde_json::from_slice::<Event>(&line) else {
            println!("{}", String::from_utf8_lossy(&line));
            continue;
        };
        let outcome = match (&*event.kind, &*event.event) {
            ("test", "ok") => true,
            ("test", "failed") => false,
            _ => continue,
        };
        let name = event.name.unwrap_or_default();
        if !outcome {
            println!("\n---- {} {name}\n{}", program.name, event.stdout.unwrap_or_default());
        }
        tests.push(Test {
            name,
            seconds: event.exec_time.unwrap_or_default(),
            passed: outcome,
        });
    }
    let status = child.wait()?;
    Ok((tests, status.success()))
}

/// A line of the report.
#[derive(Deserialize)]
struct Event {
    #[serde(rename = "type")]
    kind: String,
    event: String,
    name: Option<String>,
    exec_time: Option<f64>,
    stdout: Option<String>,
}
