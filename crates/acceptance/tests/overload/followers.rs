//! Consumers that follow a database (RFC 4533) and do not read.

use std::io::Write;

use ironbark_testkit::{Flavor, Server, wait};

use crate::overload::{
    process::memory,
    wire::{
        BASE, MODIFY_RESPONSE, SEARCH_ENTRY, assert_serves, bind, connect, describe, follow, read_message, result_code,
    },
};

/// An intermediate response: the end of the refresh.
const INTERMEDIATE: u8 = 0x79;

#[test]
fn consumers_that_do_not_read_cost_bounded_memory_and_hold_up_nobody() {
    const CHANGES: u32 = 1_500;
    let config = Server::people_config("sizelimit unlimited", "overlay syncprov");
    let mut server = Server::prepare(Flavor::Ironbark, &config).unwrap();
    server
        .slapadd(&format!("dn: {BASE}\nobjectClass: domain\ndc: example\n"))
        .unwrap();
    server.launch().unwrap();
    let mut writer = connect(&server);
    bind(&mut writer);
    // Once something was written, the database has a context vector.
    let mut write = |number: u32, text: &str| {
        writer.write_all(&describe(number + 2, BASE, text.as_bytes())).unwrap();
        let (_, tag, content) = read_message(&mut writer).unwrap();
        assert_eq!((tag, result_code(&content)), (MODIFY_RESPONSE, 0));
    };
    write(0, "first");
    let mut reader = connect(&server);
    reader.write_all(&follow(9)).unwrap();
    // Fifty connections with twenty consumers each.
    let requests: Vec<u8> = (1..=20).flat_map(follow).collect();
    let mut deaf: Vec<_> = (0..50).map(|_| connect(&server)).collect();
    for stream in &mut deaf {
        stream.write_all(&requests).unwrap();
    }
    assert_serves(&server);
    let before = memory(&server);
    // Fifteen megabytes of changes, a thousand times.
    for number in 1..CHANGES {
        write(number, &format!("{number} {}", "long ".repeat(2_000)));
    }
    let grown = memory(&server).saturating_sub(before);
    assert!(grown < 40 << 20, "the server grew by {grown} octets");
    // Who reads gets the last change.
    let wanted = format!("{} long", CHANGES - 1);
    let last = wait::until(|| {
        let (_, tag, content) = read_message(&mut reader)?;
        assert!(matches!(tag, SEARCH_ENTRY | INTERMEDIATE), "{tag:x} {content:x?}");
        content
            .windows(wanted.len())
            .any(|window| window == wanted.as_bytes())
            .then_some(())
    });
    assert!(last.is_some());
    assert_serves(&server);
}
