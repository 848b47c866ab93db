//! Records and their blocks come back as they were written.

use proptest::prelude::*;

use super::*;

#[test]
fn the_length_of_a_value_is_known_before_it_is_put() {
    for length in [0, 1, 127, 128, 255, 256, 65_535, 65_536, 1 << 24] {
        let (value, mut out) = (vec![b'x'; length], Vec::new());
        put_value(&value, &mut out);
        assert_eq!(value_length(&value), out.len(), "{length}");
    }
}

fn forms() -> impl Strategy<Value = (u16, u8, Vec<u8>, u64)> {
    (
        any::<u16>(),
        0u8..9,
        proptest::collection::vec(any::<u8>(), 0..40),
        0u64..1 << 24,
    )
}

fn named(rdn: &str) -> Header<'_> {
    Header {
        parent: 0,
        flags: 0,
        rdn,
    }
}

fn blocks_of(mut bytes: &[u8]) -> &[u8] {
    take_header(&mut bytes).unwrap();
    bytes
}

fn form<'f>(kind: u8, bytes: &'f [u8], number: u64, rdn: &'f str) -> Form<'f> {
    match kind {
        0 => Form::Inline(bytes),
        1 => Form::Shared(SetNumber::from_key(number).unwrap()),
        2 => Form::External(External {
            count: number,
            total: number * 3,
            next: number + 1,
            digest: number.is_multiple_of(2).then_some(number),
        }),
        3 => Form::Packed(Packing::Uuid, &[9; 16]),
        4 => Form::Packed(Packing::Csn, bytes),
        5 => Form::Packed(Packing::Time, bytes),
        6 => Form::Packed(Packing::Decimal, bytes),
        7 => rdn_value(rdn.as_bytes()).map_or(Form::Inline(bytes), Form::Rdn),
        _ => Form::Packed(Packing::Hex, bytes),
    }
}

proptest! {
    #[test]
    fn a_record_comes_back(parent in any::<u64>(), flags in 0u8..16, rdn in ".{0,20}=?.{0,20}",
        blocks in proptest::collection::vec(forms(), 0..10)) {
        let mut bytes = Vec::new();
        let header = Header { parent, flags, rdn: &rdn };
        put_header(&header, &mut bytes);
        for (number, kind, data, n) in &blocks {
            put_block(*number, form(*kind, data, *n, &rdn), &mut bytes);
        }
        let mut rest = bytes.as_slice();
        prop_assert_eq!(take_header(&mut rest), Some(header));
        for (number, kind, data, n) in &blocks {
            prop_assert_eq!(take_block(&mut rest, &header), Some((*number, form(*kind, data, *n, &rdn))));
        }
        prop_assert!(rest.is_empty());
        // The same with a checksum, behind other bytes as in a bulk build.
        let mut sealed = [&[9; 3], &bytes[..]].concat();
        seal(7, 3, &mut sealed);
        let sealed = &sealed[3..];
        prop_assert!(is_sealed(sealed) && !is_sealed(&bytes) && is_sound(7, true, sealed));
        prop_assert!(!is_sound(8, true, sealed) && !is_sound(7, false, sealed) && !is_sound(7, true, &bytes));
        let mut rest = sealed;
        prop_assert_eq!(take_header(&mut rest), Some(header));
        prop_assert_eq!(rest.len(), blocks_of(&bytes).len());
    }
    #[test]
    fn values_come_back(values_in in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..300), 0..6)) {
        let mut bytes = Vec::new();
        for value in &values_in {
            put_value(value, &mut bytes);
        }
        prop_assert_eq!(values(&bytes).map(<[u8]>::to_vec).collect::<Vec<_>>(), values_in);
    }
    #[test]
    fn hostile_bytes_are_no_panic(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
        let mut rest = bytes.as_slice();
        let _ = take_header(&mut rest);
        while take_block(&mut rest, &named("cn=a")).is_some() {}
        let _ = values(&bytes).count();
    }
}

#[test]
fn references_of_older_formats_are_read() {
    let of_format_5 = (256 + 70) * 256 + 9;
    for key in [0, 15, 16, 65_535, of_format_5] {
        let mut bytes = vec![1];
        varint::put(&mut bytes, key << 3 | u64::from(SHARED));
        bytes.push(2);
        let mut rest = bytes.as_slice();
        let number = SetNumber::from_key(key).unwrap();
        assert_eq!(take_block(&mut rest, &named("")), Some((1, Form::Shared(number))));
        assert_eq!(
            take_wanted(&mut &bytes[..], &named(""), |_| true),
            Some((1, Form::Shared(number)))
        );
        assert_eq!(rest, [2]);
    }
}

#[test]
fn a_reference_takes_two_bytes_beyond_12_sets_three_beyond_256_four() {
    let lengths = [(0, 2), (1, 2), (11, 2), (12, 3), (255, 3), (256, 4), (65_535, 4)];
    for (position, length) in lengths {
        let (number, mut out) = (SetNumber::from_key((256 + position) << 8 | 7).unwrap(), Vec::new());
        put_block(1, Form::Shared(number), &mut out);
        assert_eq!(out.len(), 1 + length);
        assert_eq!(
            take_wanted(&mut &out[..], &named(""), |_| true),
            Some((1, Form::Shared(number)))
        );
        assert_eq!(take_block(&mut &out[..], &named("")), Some((1, Form::Shared(number))));
        out.extend_from_slice(&[2, 0]);
        assert_eq!(
            take_wanted(&mut &out[..], &named(""), |attribute| attribute == 2),
            Some((2, Form::Inline(&[])))
        );
        // An attribute whose number takes two bytes.
        out.clear();
        put_block(200, Form::Shared(number), &mut out);
        assert_eq!(
            take_wanted(&mut &out[..], &named(""), |_| true),
            Some((200, Form::Shared(number)))
        );
        assert_eq!(take_wanted(&mut &out[..], &named(""), |_| false), None);
        for cut in 0..out.len() {
            assert_eq!(take_block(&mut &out[..cut], &named("")), None);
        }
    }
}

#[test]
fn the_value_of_the_name_takes_one_byte_behind_the_number_of_its_attribute() {
    for number in [1, 200] {
        let mut out = Vec::new();
        put_block(number, Form::Rdn(b"a=b"), &mut out);
        assert_eq!(out.len(), if number < 128 { 2 } else { 3 });
        out.extend_from_slice(&[2, 0]);
        let expected = Some((number, Form::Rdn(b"a=b")));
        assert_eq!(take_block(&mut &out[..], &named("cn=a=b")), expected);
        assert_eq!(
            take_wanted(&mut &out[..], &named("cn=a=b"), |wanted| wanted == number),
            expected
        );
        let next = Some((2, Form::Inline(&[])));
        assert_eq!(take_wanted(&mut &out[..], &named("cn=a=b"), |wanted| wanted == 2), next);
        // A name that has no value is damage.
        assert_eq!(take_block(&mut &out[..], &named("cn")), None);
    }
}

#[test]
fn long_values_have_long_lengths() {
    let mut out = Vec::new();
    put_value(&[7; 200], &mut out);
    assert_eq!(out[..3], [0x04, 0x81, 200]);
    out.clear();
    put_value(&vec![7; 70_000], &mut out);
    assert_eq!(out[..5], [0x04, 0x83, 1, 0x11, 0x70]);
}
