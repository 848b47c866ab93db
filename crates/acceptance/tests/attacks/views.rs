//! Virtual list views with more than anybody needs.

use std::{io::Write as _, net::TcpStream, time::Duration};

use ironbark_testkit::wait;

use crate::attacks::long::{KEPT, MEMBERS, answer, any_of, controlled, site, somebody, under_way};
use crate::attacks::process::memory;
use crate::attacks::wire::{self, BASE, connect, element, everything, read_message};

const OVERLAY: &str = "limits * size=unlimited\naccess to * by * read\noverlay sssvlv\n";

/// The sort control: by `cn`.
fn sort() -> (&'static str, Vec<u8>) {
    let key = [element(4, b"cn"), element(0x80, b"2.5.13.3")];
    ("1.2.840.113556.1.4.473", element(0x30, &element(0x30, &key.concat())))
}

fn view(parts: &[Vec<u8>]) -> (&'static str, Vec<u8>) {
    ("2.16.840.1.113730.3.4.9", element(0x30, &parts.concat()))
}

fn number(octets: &[u8]) -> Vec<u8> {
    element(2, octets)
}

fn at(offset: &[u8], count: &[u8]) -> Vec<u8> {
    element(0xa0, &[number(offset), number(count)].concat())
}

fn sorted(parts: &[Vec<u8>]) -> Vec<u8> {
    controlled(BASE, 2, &element(0x87, b"userPassword"), &[sort(), view(parts)])
}

#[test]
fn numbers_of_a_view_may_be_as_great_as_they_like() {
    const MOST: &[u8] = b"\x7f\xff\xff\xff";
    let server = site(OVERLAY);
    let before = memory(&server);
    let mut stream = somebody(&server);
    let zero = || number(b"\0");
    for (parts, expected) in [
        ([number(MOST), number(MOST), at(b"\x01", b"\0")], (0, MEMBERS)),
        ([number(MOST), number(MOST), at(MOST, MOST)], (0, MEMBERS)),
        ([number(MOST), zero(), at(b"\x3f\xff\xff\xff", MOST)], (0, MEMBERS / 2)),
        ([zero(), zero(), at(b"\0", MOST)], (0, 1)),
        ([zero(), zero(), at(MOST, b"\x01")], (76, 0)),
        ([zero(), zero(), at(MOST, b"\0")], (76, 0)),
        (
            [number(MOST), number(MOST), element(0x81, &vec![b'z'; 60_000])],
            (0, MEMBERS),
        ),
        // No counts.
        ([number(b"\xff"), zero(), at(b"\x01", b"\0")], (2, 0)),
        ([zero(), number(b"\x80\0\0\0"), at(b"\x01", b"\0")], (2, 0)),
        ([zero(), zero(), at(b"\x80\0\0\0", b"\0")], (2, 0)),
        ([zero(), zero(), at(b"\x01", b"\xff\xff\xff\xff")], (2, 0)),
        ([number(b"\0\x80\0\0\0"), zero(), at(b"\x01", b"\0")], (2, 0)),
        ([number(&[0x7f; 200]), zero(), at(b"\x01", b"\0")], (2, 0)),
        ([number(b""), zero(), at(b"\x01", b"\0")], (2, 0)),
    ] {
        assert_eq!(answer(&mut stream, &sorted(&parts)), expected, "{parts:02x?}");
    }
    wire::assert_serves(&server);
    let kept = memory(&server).saturating_sub(before);
    assert!(kept < KEPT, "{kept} octets are kept");
}

#[test]
fn a_value_of_a_view_may_be_as_long_as_a_message() {
    let server = site(OVERLAY);
    let before = memory(&server);
    let by = |value: &[u8]| sorted(&[number(b"\0"), number(b"\0"), element(0x81, value)]);
    // Of a stranger, whose steps end sooner; of somebody; of characters that stand for phrases.
    assert_eq!(
        answer(&mut connect(&server), &by("\u{fdfa}".repeat(600_000).as_bytes())),
        (11, 0)
    );
    let mut stream = somebody(&server);
    for (value, expected) in [
        (vec![b'a'; 16_000_000], (0, 1)),
        (vec![0; 16_000_000], (0, 1)),
        (vec![0xff; 16_000_000], (76, 0)),
        ("\u{fdfa}".repeat(60_000).into_bytes(), (0, 0)),
        ("\u{fdfa}".repeat(5_300_000).into_bytes(), (11, 0)),
    ] {
        let start = value.get(..3).map(<[u8]>::to_vec);
        assert_eq!(answer(&mut stream, &by(&value)), expected, "{start:?} ...");
        wire::assert_serves(&server);
    }
    let kept = memory(&server).saturating_sub(before);
    assert!(kept < KEPT, "{kept} octets are kept");
}

fn has_answer(stream: &TcpStream) -> bool {
    stream.set_nonblocking(true).unwrap();
    let there = stream.peek(&mut [0]).is_ok();
    stream.set_nonblocking(false).unwrap();
    there
}

#[test]
fn a_view_that_is_given_up_leaves_its_place() {
    let server = site(&format!("{OVERLAY}sssvlv-max 1\n"));
    let first = || view(&[number(b"\0"), number(b"\0"), at(b"\x01", b"\0")]);
    let short = controlled(BASE, 2, &everything(), &[sort(), first()]);
    let base = format!("cn=long,{BASE}");
    let long = controlled(&base, 0, &any_of("description", 30_000), &[sort(), first()]);
    let mut other = somebody(&server);
    assert_eq!(answer(&mut other, &short), (0, 1));
    // Its connection goes, or it is abandoned.
    let abandon = element(0x30, &[number(b"\x08"), element(0x50, b"\x07")].concat());
    for is_abandoned in [false, true] {
        let mut stream = connect(&server);
        wire::bind(&mut stream);
        stream.write_all(&long).unwrap();
        let begun = wait::until(|| {
            // It may have come while the other one was in its place.
            if has_answer(&stream) {
                read_message(&mut stream).unwrap();
                stream.write_all(&long).unwrap();
            }
            (answer(&mut other, &short) == (51, 0)).then_some(())
        });
        assert!(begun.is_some(), "{}", server.log());
        assert_eq!(under_way(&server), 1);
        if is_abandoned {
            stream.write_all(&abandon).unwrap();
        } else {
            stream.shutdown(std::net::Shutdown::Both).unwrap();
        }
        let ended = wait::until_deadline(Duration::from_secs(20), || (under_way(&server) == 0).then_some(()));
        assert!(ended.is_some(), "nobody waits for it any more");
        // Its place is given back a moment later.
        let answered = wait::until(|| (answer(&mut other, &short) == (0, 1)).then_some(()));
        assert!(answered.is_some(), "its place is taken for good");
    }
}
