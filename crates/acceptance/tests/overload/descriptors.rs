//! A server without a free descriptor for another connection.

use std::io::Write;
use std::net::TcpStream;
use std::process::Command;

use ironbark_testkit::{Server, wait};

use crate::overload::{
    launch_with_limit, loaded, logged,
    process::{acceptor_ticks, descriptors},
    small_server,
    wire::{BASE, SEARCH_DONE, SEARCH_ENTRY, ask, connect, everything, read_message, search},
};

/// More connections than the server can take, all asking for something.
fn crowd(server: &Server) -> Vec<TcpStream> {
    let mut streams: Vec<TcpStream> = (0..200).map(|_| connect(server)).collect();
    for stream in &mut streams {
        stream.write_all(&search(1, BASE, 0, &everything())).unwrap();
    }
    streams
}

/// The number of connections with an answer to read.
fn answered(streams: &[TcpStream]) -> usize {
    let has_answer = |stream: &&TcpStream| {
        stream.set_nonblocking(true).unwrap();
        let has_answer = stream.peek(&mut [0]).is_ok();
        stream.set_nonblocking(false).unwrap();
        has_answer
    };
    streams.iter().filter(has_answer).count()
}

/// The others get their answers when earlier ones leave.
fn assert_answered_in_turn(streams: Vec<TcpStream>) {
    for mut stream in streams {
        for tag in [SEARCH_ENTRY, SEARCH_DONE] {
            assert_eq!(read_message(&mut stream).map(|(id, tag, _)| (id, tag)), Some((1, tag)));
        }
    }
}

/// The server works for a connection that it serves, and does not loop for connections that it cannot accept.
fn assert_waits_quietly(pid: u32, served: &mut TcpStream) {
    for tag in [SEARCH_ENTRY, SEARCH_DONE] {
        assert_eq!(read_message(served).map(|(_, tag, _)| tag), Some(tag));
    }
    let before = acceptor_ticks(pid);
    for _ in 0..5000 {
        ask(served);
    }
    let ticks = acceptor_ticks(pid) - before;
    assert!(ticks <= 5, "the acceptor worked for {ticks} hundredths of a second");
}

#[test]
fn connections_beyond_the_limit_of_open_files_wait_until_others_close() {
    let server = loaded("");
    let process = launch_with_limit(&server, "64");
    let mut streams = crowd(&server);
    let told = "connections, no descriptor (of 64) is left";
    server.wait_for_log(told).unwrap();
    let log = server.log();
    let line = log.lines().find(|line| line.contains(told)).unwrap();
    let (before, _) = line.split_once(" connections").unwrap();
    let taken: usize = before.rsplit(' ').next().unwrap().parse().unwrap();
    assert!((16..48).contains(&taken), "{line}");
    assert!(wait::until(|| (answered(&streams) == taken).then_some(())).is_some());
    // The server itself may be reading a file just now.
    let has_room = || (descriptors(process.id()) <= 64 - 12).then_some(());
    assert!(wait::until(has_room).is_some(), "no descriptor is left for files");
    assert_waits_quietly(process.id(), &mut streams[0]);
    assert_eq!(answered(&streams), taken - 1);
    assert_answered_in_turn(streams.split_off(1));
    drop(streams);
    ask(&mut connect(&server));
    assert_eq!(
        (logged(&server, told), logged(&server, "accept(")),
        (1, 0),
        "{}",
        server.log()
    );
}

#[test]
fn a_process_that_runs_out_of_descriptors_goes_on_when_some_are_free() {
    let server = small_server("");
    let pid = server.pid().unwrap();
    let limit = descriptors(pid) + 10;
    let status = Command::new("prlimit")
        .args([format!("--pid={pid}"), format!("--nofile={limit}:{limit}")])
        .status();
    assert!(status.unwrap().success());
    let mut streams = crowd(&server);
    server.wait_for_log("accept(").unwrap();
    assert!(wait::until(|| (answered(&streams) >= 5).then_some(())).is_some());
    assert_waits_quietly(pid, &mut streams[0]);
    let taken = answered(&streams) + 1;
    assert!(taken <= 20, "{taken} of {} with {limit} descriptors", streams.len());
    assert_answered_in_turn(streams.split_off(1));
    drop(streams);
    ask(&mut connect(&server));
    assert_eq!(logged(&server, "accept("), 1, "{}", server.log());
}
