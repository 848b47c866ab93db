//! Runs one test program, and reads what it says.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

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
    let (sender, lines) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(move || send_lines(output, &sender));
        let mut work = Work::of(child.id());
        let Err(hanging) = follow(&program.name, &lines, SILENCE, ran, &mut || work.goes_on()) else {
            return Ok(());
        };
        let names = hanging.into_iter().collect::<Vec<_>>().join(", ");
        println!(
            "\n---- {}\nno test has begun or ended for {SILENCE:?} or more; under way: {names}",
            program.name
        );
        child.kill()
    })?;
    ran.failed = !child.wait()?.success();
    Ok(())
}

/// Reads what a program says until it ends.
///
/// # Errors
/// It has said nothing for so long, and `goes_on` does not tell that it will. The tests that are under way are
/// returned.
fn follow(
    program: &str,
    lines: &Receiver<Vec<u8>>,
    silence: Duration,
    ran: &mut Ran,
    goes_on: &mut dyn FnMut() -> bool,
) -> Result<(), BTreeSet<String>> {
    let mut under_way = BTreeSet::new();
    loop {
        let line = match lines.recv_timeout(silence) {
            Ok(line) => line,
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
            Err(RecvTimeoutError::Timeout) if goes_on() => continue,
            Err(RecvTimeoutError::Timeout) => return Err(under_way),
        };
        match serde_json::from_slice::<Event>(&line) {
            Ok(event) => {
                note(&event, &mut under_way);
                take(program, event, ran);
            }
            // Tests and what they start may write between.
            Err(_) => println!("{}", String::from_utf8_lossy(&line)),
        }
    }
}

/// The lines of a program's output, as they come.
fn send_lines(output: impl Read, sender: &Sender<Vec<u8>>) {
    for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
        if sender.send(line).is_err() {
            return;
        }
    }
}

/// Which tests are under way.
fn note(event: &Event, under_way: &mut BTreeSet<String>) {
    let Some(name) = event.name.as_ref().filter(|_| event.kind == "test") else {
        return;
    };
    match &*event.outcome {
        "started" => under_way.insert(name.clone()),
        // That a test takes a minute is no end of it.
        "timeout" => false,
        _ => under_way.remove(name),
    };
}

/// Tests at a time. Many wait for the programs that they start.
fn threads() -> usize {
    2 * thread::available_parallelism().map_or(1, usize::from)
}

fn take(program: &str, event: Event, ran: &mut Ran) {
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
        println!("\n---- {program} {name}\n{}", event.stdout.unwrap_or_default());
    }
    ran.tests.push(Test { name, seconds, passed });
}

/// A program that says nothing for so long is looked at, and ended if it hangs.
const SILENCE: Duration = Duration::from_mins(10);

/// Whether a silent program computes. A test that takes a minute takes many when others use the machine too.
struct Work {
    process: u32,
    /// Seconds of the processor at the last look.
    taken: f64,
    looks: u32,
}

impl Work {
    fn of(process: u32) -> Self {
        Self {
            process,
            taken: 0.0,
            looks: 0,
        }
    }

    /// Whether it has computed since the last look, and not so much that it turns in circles.
    fn goes_on(&mut self) -> bool {
        let taken = processor::of(self.process);
        let since = taken - std::mem::replace(&mut self.taken, taken);
        self.looks += 1;
        self.looks <= MOST_LOOKS && (WAITS_BELOW_S..SPINS_FROM_S).contains(&since)
    }
}

/// A program that takes less of the processor in [`SILENCE`] waits for something.
const WAITS_BELOW_S: f64 = 10.0;
/// A program that takes so much since the last look and says nothing turns in circles.
const SPINS_FROM_S: f64 = 400.0;
/// Looks at one program.
const MOST_LOOKS: u32 = 6;

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

#[cfg(test)]
mod tests {
    use super::*;

    /// What is made of these lines, and which tests hang if no more come.
    fn followed(events: &[&str], is_at_end: bool) -> (Vec<String>, Result<(), BTreeSet<String>>) {
        let (sender, receiver) = mpsc::channel();
        for event in events {
            sender.send(event.as_bytes().to_vec()).unwrap();
        }
        let sender = (!is_at_end).then_some(sender);
        let mut ran = Ran::default();
        let hanging = follow("x", &receiver, Duration::from_millis(1), &mut ran, &mut || false);
        drop(sender);
        (ran.tests.into_iter().map(|test| test.name).collect(), hanging)
    }

    const EVENTS: &[&str] = &[
        r#"{"type":"test","event":"started","name":"a"}"#,
        r#"{"type":"test","event":"started","name":"b"}"#,
        r#"{"type":"test","name":"a","event":"ok","exec_time":0.1}"#,
        r#"{"type":"test","event":"timeout","name":"b"}"#,
        "no event",
    ];

    #[test]
    fn tests_that_do_not_end_are_named() {
        let (ended, hanging) = followed(EVENTS, false);
        assert_eq!(ended, ["a"]);
        assert_eq!(hanging, Err(BTreeSet::from(["b".to_owned()])));
    }

    #[test]
    fn the_end_of_a_program_leaves_nothing_hanging() {
        assert_eq!(followed(EVENTS, true), (vec!["a".to_owned()], Ok(())));
    }

    #[test]
    fn a_silent_program_that_computes_is_left_alone() {
        let (sender, receiver) = mpsc::channel();
        let mut sender = Some(sender);
        let mut looks = 0;
        let mut goes_on = || {
            looks += 1;
            if looks == 3 {
                sender = None;
            }
            true
        };
        let followed = follow(
            "x",
            &receiver,
            Duration::from_millis(1),
            &mut Ran::default(),
            &mut goes_on,
        );
        assert_eq!((followed, looks), (Ok(()), 3));
    }

    #[test]
    fn a_program_that_waits_does_not_go_on() {
        let mut waiting = Command::new("cat")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        assert!(!Work::of(waiting.id()).goes_on());
        waiting.kill().unwrap();
        waiting.wait().unwrap();
    }
}
