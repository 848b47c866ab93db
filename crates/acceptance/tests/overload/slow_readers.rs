//! Clients that do not read their answers, or do not finish their requests.

use std::io::Write;
use std::net::TcpStream;

use ironbark_testkit::{Server, wait};

use crate::overload::{
    big_server, logged,
    process::memory,
    small_server,
    wire::{BASE, SEARCH_DONE, SEARCH_ENTRY, ask, assert_serves, connect, element, everything, read_message, search},
};

/// Clients that ask for the whole database twenty times and read nothing.
fn deaf_clients(server: &Server, count: usize) -> Vec<TcpStream> {
    let requests: Vec<u8> = (1..=20).flat_map(|id| search(id, BASE, 2, &everything())).collect();
    let mut clients = Vec::new();
    for _ in 0..count {
        let mut stream = connect(server);
        stream.write_all(&requests).unwrap();
        clients.push(stream);
    }
    clients
}

#[test]
fn clients_that_do_not_read_cost_bounded_memory_and_hold_up_nobody() {
    let server = big_server("");
    let before = memory(&server);
    let deaf = deaf_clients(&server, 20);
    let mut other = connect(&server);
    for _ in 0..500 {
        ask(&mut other);
    }
    // Twenty times twenty answers of 20 MB each are waiting to be read.
    let grown = memory(&server).saturating_sub(before);
    assert!(grown < 20 << 20, "the server grew by {grown} octets");
    // A client that reads again gets all complete parts of the first answer.
    let mut stream = deaf.into_iter().next().unwrap();
    let mut entries = [0_u32; 21];
    let complete = std::iter::from_fn(|| read_message(&mut stream)).find_map(|(id, tag, _)| {
        let id = usize::try_from(id).unwrap();
        entries[id] += u32::from(tag == SEARCH_ENTRY);
        (tag == SEARCH_DONE).then_some(id)
    });
    assert_eq!(entries[complete.unwrap()], 20_001);
}

#[test]
fn clients_that_do_not_read_are_closed_by_the_write_timeout() {
    let server = big_server("writetimeout 1\n");
    let deaf = deaf_clients(&server, 20);
    let mut other = connect(&server);
    let closed = wait::until(|| {
        ask(&mut other);
        (logged(&server, "closed (writetimeout)") == deaf.len()).then_some(())
    });
    assert!(
        closed.is_some(),
        "{} of {}",
        logged(&server, "closed (writetimeout)"),
        deaf.len()
    );
    // The client that reads is not closed.
    ask(&mut other);
}

#[test]
fn what_all_clients_make_the_server_hold_is_bounded() {
    const MIB: usize = 1 << 20;
    const CLIENTS: usize = 150;
    // Sixty-four of the longest messages: 64 MiB.
    let server = small_server("sockbuf_max_incoming 1048576\nsockbuf_max_incoming_auth 1048576\n");
    let value = vec![b'x'; MIB - 1000];
    let filter = element(0xa3, &[element(4, b"cn"), element(4, &value)].concat());
    let request = search(7, BASE, 0, &filter);
    let (beginning, end) = request.split_at(request.len() - 10);
    let before = memory(&server);
    let mut streams = Vec::new();
    let mut most = 0;
    for _ in 0..CLIENTS {
        let mut stream = connect(&server);
        stream.write_all(beginning).unwrap();
        streams.push(stream);
        // An answer to another client shows that the sent octets have been read.
        assert_serves(&server);
        most = most.max(memory(&server).saturating_sub(before));
    }
    let closed = || logged(&server, "closed (overload)");
    assert!(
        wait::until(|| (closed() >= CLIENTS - 64).then_some(())).is_some(),
        "{}",
        closed()
    );
    assert!(most < 100 * MIB, "the server grew by {most} octets");
    assert_eq!(logged(&server, "untaken or unfinished"), 1, "it is told once");
    // The first ones had made no progress for the longest time, and the last one is served.
    assert_eq!(read_message(&mut streams[0]), None);
    let last = streams.last_mut().unwrap();
    last.write_all(end).unwrap();
    assert_eq!(read_message(last).map(|(id, tag, _)| (id, tag)), Some((7, SEARCH_DONE)));
    let kept = CLIENTS - closed();
    assert!((40..=64).contains(&kept), "{kept} connections are left");
}
