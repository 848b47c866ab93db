//! `cargo xtask test`: runs the test programs one after the other, names the slowest tests, and compares the processor
//! time of each program with `data/test-times.txt`.
//!
//! The times are a ratchet: `--accept` writes lower ones only. A program that needs clearly more than its time fails.
//! Processor time is compared, not the clock: it hardly depends on what else the machine does.

mod processor;
mod programs;
mod running;
mod times;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use self::running::Test;
use self::times::Times;

/// What is run, and what becomes of the times.
#[derive(Default)]
pub(crate) struct Options {
    /// Only tests of these packages.
    pub(crate) packages: Vec<String>,
    /// Only tests whose names contain one of these.
    pub(crate) filters: Vec<String>,
    /// Writes the times down, where they are lower.
    pub(crate) accept: bool,
}

impl Options {
    /// Reads `[-p PACKAGE]... [--accept] [NAME]...`.
    pub(crate) fn read(arguments: &[&str]) -> Option<Self> {
        let mut options = Self::default();
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            match *argument {
                "-p" | "--package" => options.packages.push((*rest.next()?).to_owned()),
                "--accept" => options.accept = true,
                option if option.starts_with('-') => return None,
                name => options.filters.push(name.to_owned()),
            }
        }
        Some(options)
    }

    fn is_whole(&self) -> bool {
        self.packages.is_empty() && self.filters.is_empty()
    }
}

/// Runs the tests. Returns whether all passed, each program within its time.
pub(crate) fn run(root: &Path, options: &Options) -> Result<bool> {
    let programs = programs::build(root, &options.packages)?;
    let speed = processor::speed()?;
    let mut times = Times::new(speed);
    let mut tests = Vec::new();
    let mut failed = Vec::new();
    for program in &programs {
        let ran = running::run(program, &options.filters)?;
        times.add(&program.name, ran.cpu_s);
        let bad = ran.tests.iter().filter(|test| !test.passed);
        failed.extend(bad.map(|test| format!("{} {}", program.name, test.name)));
        if ran.failed && ran.tests.iter().all(|test| test.passed) {
            failed.push(program.name.clone());
        }
        tests.extend(ran.tests.into_iter().map(|test| (program.name.as_str(), test)));
    }
    if options.is_whole() && !programs::run_documents(root)? {
        failed.push("examples in the documentation".to_owned());
    }
    print_slowest(&mut tests);
    println!(
        "\n{} tests in {} programs, {:.0} s of the processor (its speed: {speed:.3} s).",
        tests.len(),
        programs.len(),
        times.total()
    );
    if options.is_whole() {
        failed.extend(excess(root, &times, options.accept)?);
    }
    for name in &failed {
        println!("FAILED: {name}");
    }
    Ok(failed.is_empty())
}

fn print_slowest(tests: &mut [(&str, Test)]) {
    tests.sort_by(|one, other| other.1.seconds.total_cmp(&one.1.seconds));
    println!("\nThe slowest tests, seconds:");
    for (program, test) in tests.iter().take(SLOWEST) {
        println!("{:>7.1}  {program} {}", test.seconds, test.name);
    }
}

/// The programs that take longer than they may. Or the times are written.
fn excess(root: &Path, times: &Times, accept: bool) -> Result<Vec<String>> {
    let path = root.join(TIMES);
    let text = fs::read_to_string(&path).context(TIMES)?;
    let known = Times::read(&text).context(TIMES)?;
    if accept {
        fs::write(&path, times.lowered(&known).to_string()).context(TIMES)?;
        println!("{TIMES} is written.");
        return Ok(Vec::new());
    }
    Ok(times.excess(&known))
}

const TIMES: &str = "data/test-times.txt";
const SLOWEST: usize = 20;
