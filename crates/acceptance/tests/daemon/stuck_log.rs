//! A target of the log that stands still: no client waits for it, and what it missed is told.

use std::{
    io::Read,
    os::unix::net::UnixStream,
    process::{Child, Stdio},
};

use super::server::{PATIENCE, Place, SEARCH_DONE, read_message, signal, wait_until, write};

/// Octets of the value that a search asks for. Its line is as long.
const VALUE: usize = 50_000;
/// Searches whose lines are more than a pipe, the lines that wait and those that are being written.
const SEARCHES: u16 = 300;

/// A server whose stderr is a pipe that nobody reads yet.
struct Stuck {
    place: Place,
    child: Child,
}

impl Stuck {
    fn start() -> Self {
        let place = Place::new("");
        let mut command = place.slapd(&place.local_url());
        let child = command.args(["-d", "256"]).stderr(Stdio::piped()).spawn().unwrap();
        let stuck = Self { place, child };
        let mut stream = wait_until(|| UnixStream::connect(stuck.place.path("ldapi")).ok()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        for id in 1..=SEARCHES {
            write(&mut stream, &search_for(id));
            while read_message(&mut stream) != Some((id, SEARCH_DONE)) {}
        }
        stuck
    }

    fn end(&mut self) {
        signal(self.child.id(), "TERM");
        let status = wait_until(|| self.child.try_wait().unwrap()).unwrap();
        assert_eq!(status.code(), Some(0));
    }
}

impl Drop for Stuck {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An element of BER.
fn element(tag: u8, content: &[&[u8]]) -> Vec<u8> {
    let content = content.concat();
    let length = u32::try_from(content.len()).unwrap().to_be_bytes();
    [&[tag, 0x84][..], &length, &content].concat()
}

/// A search of the root DSE for a long value.
fn search_for(id: u16) -> Vec<u8> {
    let value = element(0x04, &["x".repeat(VALUE).as_bytes()]);
    let filter = element(0xa3, &[&[0x04, 2], b"cn", &value]);
    let head = [0x04, 0, 0x0a, 1, 0, 0x0a, 1, 0, 0x02, 1, 0, 0x02, 1, 0, 0x01, 1, 0];
    let request = element(0x63, &[&head, &filter, &[0x30, 0]]);
    let [high, low] = id.to_be_bytes();
    element(0x30, &[&[0x02, 2, high, low], &request])
}

#[test]
fn a_stderr_that_nobody_reads_delays_nobody_and_is_told_what_it_missed() {
    let mut stuck = Stuck::start();
    let mut stderr = stuck.child.stderr.take().unwrap();
    let reader = std::thread::scope(|scope| {
        let reader = scope.spawn(move || {
            let mut text = String::new();
            stderr.read_to_string(&mut text).unwrap();
            text
        });
        stuck.end();
        reader.join().unwrap()
    });
    let lines: Vec<&str> = reader.lines().collect();
    let lost: usize = lines
        .iter()
        .filter_map(|line| line.split_once("log: ")?.1.split_once(" lines lost, "))
        .map(|(number, _)| number.parse::<usize>().unwrap())
        .sum();
    let seen = lines.iter().filter(|line| line.contains(" conn=1000 ")).count();
    // The connection's begin and end, and two lines for each search.
    assert_eq!(seen + lost, 2 + 2 * usize::from(SEARCHES), "{lost} lost");
    assert!(lost > 0 && reader.ends_with("slapd stopped.\n"), "{lost} lost");
}

#[test]
fn a_stderr_that_nobody_reads_does_not_stop_the_end() {
    Stuck::start().end();
}
