//! A hundred thousand requests on one connection whose client does not read meanwhile.

use std::collections::HashSet;
use std::io::Write;
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use ironbark_testkit::{Server, wait};

use crate::overload::{
    big_server,
    process::memory,
    small_server,
    wire::{
        BASE, MODIFY_RESPONSE, SEARCH_DONE, SEARCH_ENTRY, ask, bind, connect, describe, everything, read_message,
        result_code, search,
    },
};

const COUNT: u32 = 100_000;
const MIB: usize = 1 << 20;

/// Sends all requests. Nothing is read until the server stops reading, or has read everything. Another client is served
/// meanwhile, and `check` is called between its answers. Then every answer is read: the last message of each must have
/// `tag` and success.
fn send_before_reading(
    server: &Server,
    mut stream: TcpStream,
    tag: u8,
    request: impl Fn(u32) -> Vec<u8> + Sync,
) -> usize {
    let sent = AtomicUsize::new(0);
    let total = AtomicUsize::new(0);
    let before = memory(server);
    let mut most = 0;
    let mut writer = stream.try_clone().unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            for first in (1..=COUNT).step_by(100) {
                let requests: Vec<u8> = (first..first + 100).flat_map(&request).collect();
                writer.write_all(&requests).unwrap();
                sent.fetch_add(100, Ordering::Relaxed);
            }
            total.store(1, Ordering::Relaxed);
        });
        let mut other = connect(server);
        // Until it has been stuck during five hundred answers to another client.
        let mut stuck = (0, 0);
        while stuck.1 < 500 && total.load(Ordering::Relaxed) == 0 {
            ask(&mut other);
            most = most.max(memory(server).saturating_sub(before));
            let now = sent.load(Ordering::Relaxed);
            stuck = if now == stuck.0 { (now, stuck.1 + 1) } else { (now, 0) };
        }
        let mut answered = HashSet::new();
        while answered.len() < COUNT as usize {
            let (id, got, content) = read_message(&mut stream).unwrap();
            if got != SEARCH_ENTRY {
                assert_eq!((got, result_code(&content)), (tag, 0));
                assert!(answered.insert(id), "{id} is answered once");
            }
            if id % 10_000 == 0 {
                ask(&mut other);
                most = most.max(memory(server).saturating_sub(before));
            }
        }
    });
    most
}

#[test]
fn a_hundred_thousand_searches_are_answered_in_order_within_bounded_memory() {
    let server = small_server("");
    let request = |id| search(id, BASE, 0, &everything());
    let most = send_before_reading(&server, connect(&server), SEARCH_DONE, request);
    assert!(most < 8 * MIB, "the server grew by {most} octets");
}

#[test]
fn a_hundred_thousand_writes_are_made_in_order_within_bounded_memory() {
    let server = small_server("");
    let mut stream = connect(&server);
    bind(&mut stream);
    let request = |id: u32| describe(id, BASE, format!("write {id}").as_bytes());
    let most = send_before_reading(&server, stream, MODIFY_RESPONSE, request);
    assert!(most < 32 * MIB, "the server grew by {most} octets");
    let entry = server.search(&["-b", BASE, "-s", "base", "description"]).unwrap();
    assert!(entry.stdout.contains("description: write 100000\n"), "{}", entry.stdout);
}

/// Where slapd would end the session, the remaining requests wait in the socket.
#[test]
fn no_more_operations_are_under_way_than_conn_max_pending_allows() {
    let server = big_server("conn_max_pending 4\nconn_max_pending_auth 7\n");
    for (limit, is_bound) in [(4, false), (7, true)] {
        let mut stream = connect(&server);
        if is_bound {
            bind(&mut stream);
        }
        // Nothing matches, so no answer is in the way: each search of 20,000 entries ends late.
        let filter = [0x87, 11].into_iter().chain(*b"description").collect::<Vec<u8>>();
        let requests: Vec<u8> = (1..=500).flat_map(|id| search(id, BASE, 2, &filter)).collect();
        stream.write_all(&requests).unwrap();
        let executing = || {
            let arguments = ["-b", "cn=Connections,cn=Monitor", "monitorConnectionOpsExecuting"];
            let answer = server.search(&arguments).unwrap().stdout;
            let numbers = answer
                .lines()
                .filter_map(|line| line.strip_prefix("monitorConnectionOpsExecuting: "));
            numbers
                .map(|number| number.parse::<usize>().unwrap())
                .max()
                .unwrap_or(0)
        };
        assert!(
            wait::until(|| (executing() == limit).then_some(())).is_some(),
            "{}",
            executing()
        );
        for _ in 0..10 {
            assert!(executing() <= limit);
        }
    }
}
