//! Round trips, tolerance and hostile input of the BER codec.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "test code: clippy.toml exempts test functions, not their helpers"
)]

use ironbark_ber::{Class, ErrorKind, Header, Reader, Tlvs, Writer, integer_length, length_length, tags};
use proptest::prelude::*;

fn written(write: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
    let mut out = Vec::new();
    write(&mut Writer::new(&mut out));
    out
}

proptest! {
    #[test]
    fn integers_come_back(value: i64) {
        let bytes = written(|writer| writer.integer(value));
        prop_assert_eq!(bytes.len(), 2 + integer_length(value));
        let mut reader = Reader::new(&bytes);
        prop_assert_eq!(reader.integer_i64(tags::INTEGER), Ok(value));
        prop_assert!(reader.finish().is_ok());
        let narrow = Reader::new(&bytes).integer();
        prop_assert_eq!(narrow.ok(), i32::try_from(value).ok());
    }

    #[test]
    fn strings_come_back_at_any_length(length in 0usize..70_000, octet: u8) {
        let content = vec![octet; length];
        let bytes = written(|writer| writer.octet_string(&content));
        prop_assert_eq!(bytes.len(), 1 + usize::from(length_length(length)) + length);
        prop_assert_eq!(Reader::new(&bytes).octet_string(), Ok(&content[..]));
    }

    #[test]
    fn a_wrong_guess_of_the_length_changes_nothing(length in 0usize..70_000, expected in 0usize..100_000) {
        let content = vec![7; length];
        let guessed = written(|writer| {
            writer.raw(b"before");
            let mark = writer.begin_sized(tags::SEQUENCE, expected);
            writer.raw(&content);
            writer.end(mark);
            writer.raw(b"after");
        });
        let exact = written(|writer| {
            writer.raw(b"before");
            writer.element(tags::SEQUENCE, &content);
            writer.raw(b"after");
        });
        prop_assert_eq!(guessed, exact);
    }

    #[test]
    fn long_forms_of_the_length_are_read(content in proptest::collection::vec(any::<u8>(), 0..300), octets in 1u8..=4) {
        let length = u32::try_from(content.len()).unwrap().to_be_bytes();
        prop_assume!(length[..4 - usize::from(octets)].iter().all(|octet| *octet == 0));
        let mut bytes = vec![tags::OCTET_STRING, 0x80 | octets];
        bytes.extend_from_slice(&length[4 - usize::from(octets)..]);
        bytes.extend_from_slice(&content);
        prop_assert_eq!(Reader::new(&bytes).octet_string(), Ok(&content[..]));
    }

    #[test]
    fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
        let _ = Header::parse(&bytes);
        let mut depth = vec![Tlvs::new(&bytes)];
        while let Some(mut tlvs) = depth.pop() {
            if let Some(Ok(tlv)) = tlvs.next() {
                prop_assert!(tlv.encoded.ends_with(tlv.content));
                depth.push(tlvs);
                depth.push(tlv.children());
            }
        }
        let mut reader = Reader::new(&bytes);
        let _ = reader.integer_i64(tags::INTEGER);
        let _ = reader.boolean();
        let _ = reader.sequence().and_then(|mut content| content.octet_string().map(<[u8]>::len));
    }

    #[test]
    fn truncation_is_an_error_within_the_slice(content in proptest::collection::vec(any::<u8>(), 0..300)) {
        let bytes = written(|writer| writer.constructed(tags::SEQUENCE, |writer| writer.octet_string(&content)));
        for end in 0..bytes.len() {
            let error = Reader::new(&bytes[..end]).sequence().unwrap_err();
            prop_assert_eq!(error.kind, ErrorKind::Truncated);
            prop_assert!(error.position <= end);
        }
    }
}

#[test]
fn integers_take_the_shortest_form() {
    for (value, bytes) in [
        (0, &[2, 1, 0][..]),
        (127, &[2, 1, 127]),
        (128, &[2, 2, 0, 128]),
        (-128, &[2, 1, 0x80]),
        (-129, &[2, 2, 0xff, 0x7f]),
        (2_147_483_647, &[2, 4, 0x7f, 0xff, 0xff, 0xff]),
    ] {
        assert_eq!(written(|writer| writer.integer(value)), bytes, "{value}");
    }
}

#[test]
fn integers_with_leading_octets_are_read_and_big_ones_refused() {
    let padded = [2, 10, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0];
    assert_eq!(Reader::new(&padded).integer_i64(tags::INTEGER), Ok(256));
    let padded = [2, 9, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe];
    assert_eq!(Reader::new(&padded).integer_i64(tags::INTEGER), Ok(-2));
    let big = [2, 9, 1, 0, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(
        Reader::new(&big).integer_i64(tags::INTEGER).unwrap_err().kind,
        ErrorKind::BadInteger
    );
    let wide = [2, 5, 0, 0x80, 0, 0, 0];
    assert_eq!(Reader::new(&wide).integer().unwrap_err().kind, ErrorKind::BadInteger);
    assert_eq!(Reader::new(&[2, 0]).integer().unwrap_err().kind, ErrorKind::BadInteger);
}

#[test]
fn any_octet_but_zero_is_true() {
    assert_eq!(Reader::new(&[1, 1, 0]).boolean(), Ok(false));
    assert_eq!(Reader::new(&[1, 1, 1]).boolean(), Ok(true));
    assert_eq!(Reader::new(&[1, 1, 0xff]).boolean(), Ok(true));
    assert_eq!(
        Reader::new(&[1, 2, 0, 0]).boolean().unwrap_err().kind,
        ErrorKind::BadBoolean
    );
}

#[test]
fn indefinite_and_overlong_lengths_are_refused() {
    for (bytes, kind) in [
        (&[0x30, 0x80, 0, 0][..], ErrorKind::IndefiniteLength),
        (&[0x30, 0x85, 0, 0, 0, 0, 0], ErrorKind::LengthTooLong),
        (&[0x30, 0xff], ErrorKind::LengthTooLong),
        (&[0x30, 0x84, 0xff, 0xff, 0xff, 0xff], ErrorKind::Truncated),
        (&[0x31, 0x00], ErrorKind::UnexpectedTag),
    ] {
        assert_eq!(Reader::new(bytes).sequence().unwrap_err().kind, kind, "{bytes:x?}");
    }
}

#[test]
fn tags_of_several_octets_are_read() {
    let bytes = [0xbf, 0x81, 0x01, 0x02, 0x05, 0x00];
    let tlv = Reader::new(&bytes).read_any().unwrap();
    assert_eq!(tlv.class, Class::Context);
    assert!(tlv.constructed);
    assert_eq!(tlv.number, 129);
    assert_eq!(tlv.children().next().unwrap().unwrap().number, 5);
    for bad in [&[0x1f, 0x80, 0x01, 0][..], &[0x1f, 0xff, 0xff, 0xff, 0xff, 0x01, 0]] {
        assert_eq!(Reader::new(bad).read_any().unwrap_err().kind, ErrorKind::BadTagNumber);
    }
}

#[test]
fn positions_count_from_the_outermost_slice() {
    let bytes = [0x30, 5, 4, 1, b'a', 2, 0];
    let mut content = Reader::new(&bytes).sequence().unwrap();
    content.octet_string().unwrap();
    assert_eq!(content.position(), 5);
    assert_eq!(content.boolean().unwrap_err().position, 5);
    assert_eq!(content.integer().unwrap_err().position, 7);
}
