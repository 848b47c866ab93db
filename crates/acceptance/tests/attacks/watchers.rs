//! Persistent searches whose clients take nothing.

use std::{io::Write as _, net::TcpStream, time::Duration};

use ironbark_testkit::wait;

use crate::attacks::long::{answer, site, under_way};
use crate::attacks::process::memory;
use crate::attacks::wire::{self, BASE, connect, element};

/// Connections, and persistent searches of each.
const CLIENTS: usize = 10;
const SEARCHES: u32 = 32;
/// Octets that the server may keep for all of them together.
const MOST: usize = 48 << 20;

const CONTROL: &str = "2.16.840.1.113730.3.4.3";

#[test]
fn changes_that_nobody_takes_are_kept_once_and_the_searches_end_with_their_connections() {
    let server = site("overlay psearch\n");
    let before = memory(&server);
    // All kinds of changes, changes alone, with notifications.
    let everything = element(0x30, &[2, 1, 15, 1, 1, 0xff, 1, 1, 0xff]);
    let streams: Vec<TcpStream> = (0..CLIENTS)
        .map(|_| {
            let mut stream = connect(&server);
            wire::bind(&mut stream);
            for id in 0..SEARCHES {
                stream.write_all(&wire::staying(id + 10, CONTROL, &everything)).unwrap();
            }
            stream
        })
        .collect();
    let all = CLIENTS as u64 * u64::from(SEARCHES);
    assert!(wait::until(|| (under_way(&server) == all).then_some(())).is_some());
    let mut writer = connect(&server);
    wire::bind(&mut writer);
    let text = vec![b'x'; 64 << 10];
    for number in 0..400 {
        let name = format!("cn=p{number},{BASE}");
        writer.write_all(&wire::describe(number + 2, &name, &text)).unwrap();
        let (_, tag, content) = wire::read_message(&mut writer).unwrap();
        assert_eq!((tag, wire::result_code(&content)), (wire::MODIFY_RESPONSE, 0));
    }
    wire::assert_serves(&server);
    let kept = memory(&server).saturating_sub(before);
    assert!(kept < MOST, "{kept} octets are kept");
    assert_eq!(under_way(&server), all, "they go on");
    drop(streams);
    let ended = wait::until_deadline(Duration::from_secs(20), || (under_way(&server) == 0).then_some(()));
    assert!(ended.is_some(), "nobody waits for them any more");
}

#[test]
fn a_value_that_is_no_persistent_search_is_refused() {
    let server = site("overlay psearch\n");
    let mut stream = connect(&server);
    wire::bind(&mut stream);
    for value in [&b""[..], b"\x30\x00", b"\x30\x84\xff\xff\xff\xff", &[0x30; 100]] {
        let request = wire::staying(7, CONTROL, value);
        assert_eq!(answer(&mut stream, &request), (2, 0), "{:02x?}", value.get(..4));
    }
    wire::assert_serves(&server);
}
