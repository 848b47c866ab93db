//! Many connections: idle ones, and those that come and go as fast as they can.

use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use ironbark_testkit::wait;

use crate::overload::{
    launch_with_limit, loaded, logged,
    process::{descriptors, memory, resident, threads},
    small_server,
    wire::{ask, assert_serves, connect},
};

/// As many connections as the machine lets one process have, but not more than ten thousand.
fn many() -> usize {
    let limit = ironbark_runtime::process::raise_open_files_limit().unwrap().now;
    usize::try_from(limit.saturating_sub(1000).min(10_000)).unwrap()
}

#[test]
fn ten_thousand_idle_connections_take_little_and_are_closed_by_the_timeout() {
    let server = small_server("idletimeout 8\n");
    let pid = server.pid().unwrap();
    let (own, before) = (descriptors(pid), memory(&server));
    let count = many();
    let mut streams: Vec<TcpStream> = Vec::new();
    for number in 0..count {
        streams.push(connect(&server));
        // Some are used first, which must not make them more expensive.
        if number % 10 == 0 {
            ask(&mut streams[number]);
        }
    }
    assert_serves(&server);
    let (open, grown) = (descriptors(pid) - own, memory(&server).saturating_sub(before));
    let closed = || logged(&server, "closed (idletimeout)");
    // On a busy machine the first have reached their timeout before the last are there. Connections that tested whether
    // the server listens may still have been open.
    let (gone, some) = (closed(), 10);
    assert!(
        open + gone + some >= count,
        "{open} of {count} connections are open, {gone} were closed"
    );
    assert!(grown < count * 4096, "{count} connections take {grown} octets");
    assert!(
        wait::until(|| (closed() >= count).then_some(())).is_some(),
        "{}",
        closed()
    );
    assert!(wait::until(|| (descriptors(pid) <= own).then_some(())).is_some());
    assert_serves(&server);
}

#[test]
fn a_flood_of_connections_leaves_nothing_behind_and_lets_others_work() {
    const ANSWERS: usize = 300;
    const CONNECTIONS: usize = 3000;
    let server = small_server("");
    let pid = server.pid().unwrap();
    let mut other = connect(&server);
    ask(&mut other);
    let own = descriptors(pid);
    let mut after = Vec::new();
    for _ in 0..4 {
        let (made, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while !is_over.load(Ordering::Relaxed) {
                        drop(connect(&server));
                        made.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            for _ in 0..ANSWERS {
                ask(&mut other);
            }
            while made.load(Ordering::Relaxed) < CONNECTIONS {
                ask(&mut other);
            }
            is_over.store(true, Ordering::Relaxed);
        });
        // On a busy machine the clients' own threads wait for each other. A server that takes connections first gives
        // no answer at all.
        let made = made.into_inner();
        assert!(made < 5000 * ANSWERS, "one answer for {} connections", made / ANSWERS);
        assert!(wait::until(|| (descriptors(pid) <= own).then_some(())).is_some());
        after.push(memory(&server));
    }
    assert!(after[0] < 32 << 20, "{after:?}");
    assert!(
        after[3] < after[0] + (8 << 20),
        "memory grows from flood to flood: {after:?}"
    );
}

#[test]
fn one_thread_serves_when_one_is_allowed() {
    let server = small_server("threads 1\n");
    let mut streams: Vec<TcpStream> = (0..50).map(|_| connect(&server)).collect();
    for stream in &mut streams {
        ask(stream);
    }
    let names = threads(server.pid().unwrap());
    let reactors = names.iter().filter(|name| name.starts_with("reactor")).count();
    assert_eq!(reactors, 1, "{names:?}");
}

/// slapd sizes its tables from the limit and takes 740 MB at 1,048,576.
#[test]
fn a_high_limit_of_open_files_takes_no_memory() {
    let [low, high] = ["1024", "1048576"].map(|limit| {
        let server = loaded("");
        let process = launch_with_limit(&server, limit);
        assert_serves(&server);
        resident(process.id())
    });
    assert!(high < low + (4 << 20), "{high} octets instead of {low}");
}
