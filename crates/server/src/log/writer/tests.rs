//! Tests of the way from a line to its targets.

use ironbark_runtime::{Clock, ManualClock, WallTime};

use super::*;
use crate::log::{
    file::FileOptions,
    lines::Targets,
    queue::{MAX_WAITING_OCTETS, RoundLines},
};

const FILE: Targets = Targets {
    stderr: false,
    syslog: false,
    file: true,
};

fn log_file(path: &std::path::Path) -> LogFile {
    LogFile::open(FileOptions {
        path: path.to_owned(),
        format: ironbark_config::LogFileFormat::Debug,
        only: false,
        rotation: None,
        host: String::new(),
        name: String::new(),
    })
    .unwrap()
}

fn queue(clock: Clock) -> Arc<Queue> {
    Arc::new(Queue::new(clock, Stderr::new(false)))
}

fn start(queue: &Arc<Queue>, path: &std::path::Path) -> Writer {
    let outputs = Outputs {
        stderr: Stderr::new(false),
        syslog: None,
        file: Some(log_file(path)),
    };
    Writer::start(queue, outputs).unwrap()
}

/// The texts of the lines.
fn read(path: &std::path::Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'), "{text}");
    text.lines()
        .map(|line| line.splitn(3, ' ').nth(2).unwrap().to_owned())
        .collect()
}

#[test]
fn closing_writes_everything_that_waits() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let queue = queue(Clock::system());
    let push = |text: &str| queue.push("any", FILE, text);
    push("before the start");
    let writer = start(&queue, &path);
    let round = RoundLines::begin(&queue);
    for number in 0..999 {
        push(&format!("line {number}"));
    }
    // The lines of the round have not been handed over.
    drop(writer);
    let lines = read(&path);
    assert_eq!((lines.len(), lines[999].as_str()), (1000, "line 998"));
    drop(round);
}

#[test]
fn a_file_that_takes_the_place_of_another_gets_what_comes_after() {
    let folder = tempfile::tempdir().unwrap();
    let (before, after) = (folder.path().join("before"), folder.path().join("after"));
    let queue = queue(ManualClock::new(WallTime::from_unix_micros(0)).clock());
    let writer = start(&queue, &before);
    let _round = RoundLines::begin(&queue);
    queue.push("any", FILE, "one");
    queue.replace_file(Some(log_file(&after)));
    queue.push("any", FILE, "two");
    drop(writer);
    assert_eq!(
        (read(&before), read(&after)),
        (vec!["one".to_owned()], vec!["two".to_owned()])
    );
}

#[test]
fn lines_that_do_not_fit_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let queue = queue(Clock::system());
    let long = "x".repeat(MAX_WAITING_OCTETS / 2 + 1);
    for _ in 0..4 {
        queue.push("any", FILE, &long);
    }
    drop(start(&queue, &path));
    let lines = read(&path);
    assert_eq!(lines.len(), 2);
    assert!(lines[1].starts_with("log: 3 lines lost"), "{}", lines[1]);
    assert_eq!(queue.lost(), 3);
}

#[test]
fn a_line_of_another_thread_stands_behind_those_of_the_round_that_led_to_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let queue = queue(Clock::system());
    let writer = start(&queue, &path);
    let _round = RoundLines::begin(&queue);
    let mut expected = Vec::new();
    for number in 0..1000 {
        let (request, result) = (format!("op={number} BIND"), format!("op={number} RESULT"));
        queue.push("stats", FILE, &request);
        std::thread::scope(|scope| {
            scope.spawn(|| queue.push("stats", FILE, &result));
        });
        expected.extend([request, result]);
    }
    drop(writer);
    assert_eq!(read(&path), expected);
}

#[test]
fn a_round_has_one_time_and_hands_over_by_itself_when_it_is_long() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let clock = ManualClock::new(WallTime::from_unix_micros(1_000_000));
    let queue = queue(clock.clock());
    let writer = start(&queue, &path);
    let round = RoundLines::begin(&queue);
    queue.push("stats", FILE, "one");
    clock.advance(std::time::Duration::from_secs(1));
    queue.push("stats", FILE, "two");
    round.hand_over();
    queue.push("stats", FILE, "three");
    queue.flush();
    queue.push("stats", FILE, &"x".repeat(100_000));
    queue.push("stats", FILE, "last");
    drop(writer);
    let text = std::fs::read_to_string(&path).unwrap();
    let times: Vec<&str> = text.lines().map(|line| line.split('.').next().unwrap()).collect();
    assert_eq!(times, ["1", "1", "2", "2", "2"]);
}

#[test]
fn lines_before_a_panic_are_written_when_it_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let queue = queue(Clock::system());
    let _writer = start(&queue, &path);
    let _round = RoundLines::begin(&queue);
    for number in 1..=100 {
        queue.push("stats", FILE, "before");
        queue.flush();
        assert_eq!(read(&path).len(), number);
    }
}
