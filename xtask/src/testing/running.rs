//! Runs one test program, and reads what it says.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::thread;

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
#[derive(Default)]
pub(super) struct Ran {
    pub(super) tests: Vec<Test>,
    /// By the clock.
    pub(super) seconds: f64,
    /// Of the processor, for the program and what it started.
    pub(super) cpu_s: f64,
    /// A test failed, or the program itself.
    pub(super) failed: bool,
}

/// Runs the tests of a program whose names contain one of `filters`; all, if there is none.
pub(super) fn run(program: &Program, filters: &[String]) -> Result<Ran> {
    let before = processor::of_children()?;
    let mut ran = Ran::default();
    if program.has_harness {
        with_harness(program, filters, &mut ran)?;
    } else if filters.is_empty() {
        ran.failed = !command(program).status()?.success();
    }
    ran.cpu_s = processor::of_children()? - before;
    if !ran.tests.is_empty() || ran.failed {
        println!(
            "{:<28} {:>5} tests {:>7.1} s, processor {:>7.1} s",
            program.name,
            ran.tests.len(),
            ran.seconds,
            ran.cpu_s
        );
    }
    Ok(ran)
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

fn with_harness(program: &Program, filters: &[String], ran: &mut Ran) -> Result<()> {
    let mut child = command(program)
        // The times and the machine's form of a report are not stable yet: the variable permits them at run time.
        .env("RUSTC_BOOTSTRAP", "1")
        .args(["-Z", "unstable-options", "--report-time", "--format", "json"])
        .arg(format!("--test-threads={}", threads()))
        .args(filters)
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| program.executable.display().to_string())?;
    let output = child.stdout.take().context("no output")?;
    for line in BufReader::new(output).split(b'\n') {
        let line = line?;
        match serde_json::from_slice::<Event>(&line) {
            Ok(event) => take(program, event, ran),
            // Tests and what they start may write between.
            Err(_) => println!("{}", String::from_utf8_lossy(&line)),
        }
    }
    ran.failed = !child.wait()?.success();
    Ok(())
}

/// Tests at a time. Many wait for the programs that they start.
fn threads() -> usize {
    2 * thread::available_parallelism().map_or(1, usize::from)
}

fn take(program: &Program, event: Event, ran: &mut Ran) {
    let seconds = event.exec_time.unwrap_or_default();
    let passed = match (&*event.kind, &*event.outcome) {
        ("test", "ok") => true,
        ("test", "failed") => false,
        ("suite", "ok" | "failed") => {
            ran.seconds = seconds;
            return;
        }
        _ => return,
    };
    let name = event.name.unwrap_or_default();
    if !passed {
        println!("\n---- {} {name}\n{}", program.name, event.stdout.unwrap_or_default());
    }
    ran.tests.push(Test { name, seconds, passed });
}

/// A line of the report.
#[derive(Deserialize)]
struct Event {
    #[serde(rename = "type")]
    kind: String,
    #[serde(rename = "event")]
    outcome: String,
    name: Option<String>,
    exec_time: Option<f64>,
    stdout: Option<String>,
}
