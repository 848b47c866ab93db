//! Appending short pieces to a buffer. An answer has a hundred pieces or more, most under 64 bytes. Checks of the
//! capacity and calls of `memcpy` would take most of the encoding time.

#![allow(
    unsafe_code,
    reason = "a look at the capacity for each piece takes as long as the copying"
)]

use crate::catalog::answer_name::{HEAD, ShortHead};

/// Appends pieces one after the other, and looks once whether there is room for them.
#[inline(always)]
#[allow(clippy::inline_always, reason = "pieces of a known length become single stores")]
pub(super) fn append<const N: usize>(out: &mut Vec<u8>, pieces: [&[u8]; N]) {
    let total = pieces.iter().map(|piece| piece.len()).sum();
    out.reserve(total);
    for piece in pieces {
        let length = out.len();
        // SAFETY: there is room for the sum of the lengths behind the old content, and each piece is written behind the
        // one before. Nobody else can hold a reference into the buffer, so no piece overlaps it.
        unsafe {
            copy(piece, out.as_mut_ptr().add(length));
            out.set_len(length + piece.len());
        }
    }
}

/// Appends a head with its two lengths, and pieces behind it.
#[inline(always)]
#[allow(clippy::inline_always, reason = "pieces of a known length become single stores")]
pub(super) fn append_headed<const N: usize>(out: &mut Vec<u8>, head: ShortHead<'_>, pieces: [&[u8]; N]) {
    let before = out.len();
    // The copy of the head may be longer than the head: the pieces behind it are written over the rest.
    out.reserve(HEAD + pieces.iter().map(|piece| piece.len()).sum::<usize>());
    let length = usize::from(head.length).clamp(2, HEAD);
    // SAFETY: there is room for `HEAD` octets and all pieces behind the old content. `length` is from 2 to `HEAD`, so
    // the two lengths are within the copy of the head, and what is counted was written. Nobody else can hold a
    // reference into the buffer, so no piece overlaps it.
    unsafe {
        let to = out.as_mut_ptr().add(before);
        std::ptr::copy_nonoverlapping(head.octets.as_ptr(), to, HEAD);
        to.add(1).write(head.content);
        to.add(length - 1).write(head.values);
        let mut end = length;
        for piece in pieces {
            copy(piece, to.add(end));
            end += piece.len();
        }
        out.set_len(before + end);
    }
}

/// Copies `from` to `to`.
///
/// # Safety
/// `to` is good for writes of the length of `from`, and does not overlap it.
#[inline(always)]
#[allow(clippy::inline_always, reason = "a call takes longer than the copying")]
unsafe fn copy(from: &[u8], to: *mut u8) {
    let length = from.len();
    // SAFETY: for the caller to keep. Each part covers `SIZE` bytes at both ends, and the length is at least `SIZE`.
    unsafe {
        match length {
            33..=64 => copy_ends::<32>(from, to),
            17..=32 => copy_ends::<16>(from, to),
            8..=16 => copy_ends::<8>(from, to),
            4..=7 => copy_ends::<4>(from, to),
            _ => std::ptr::copy_nonoverlapping(from.as_ptr(), to, length),
        }
    }
}

/// Copies the first and the last `SIZE` bytes, which may overlap each other: no loop, and no byte beyond either end.
///
/// # Safety
/// As [`copy`]; `from` has `SIZE` to twice as many bytes.
#[inline(always)]
#[allow(clippy::inline_always, reason = "becomes two or four moves")]
unsafe fn copy_ends<const SIZE: usize>(from: &[u8], to: *mut u8) {
    let last = from.len() - SIZE;
    // SAFETY: for the caller to keep.
    unsafe {
        std::ptr::copy_nonoverlapping(from.as_ptr(), to, SIZE);
        std::ptr::copy_nonoverlapping(from.as_ptr().add(last), to.add(last), SIZE);
    }
}

#[cfg(test)]
mod tests {
    use ironbark_ber::Writer;

    use super::{append, append_headed};
    use crate::catalog::answer_name::AnswerName;

    #[test]
    fn attributes_with_names_and_values_of_every_length_come_out_whole() {
        for name in 1..60 {
            let text = "n".repeat(name);
            let name = AnswerName::new(&text, false);
            for value in 0..130 {
                let values = vec![7; value];
                let mut expected = b"before".to_vec();
                let mut writer = Writer::new(&mut expected);
                let whole = writer.begin(0x30);
                writer.octet_string(text.as_bytes());
                let set = writer.begin(0x31);
                writer.raw(&values);
                writer.end(set);
                writer.end(whole);
                let Some(head) = name.short_head(value) else {
                    // A name of more than 42 octets is too long for the head.
                    assert!(text.len() > 42 || expected.len() >= 6 + 2 + 128, "{text}, {value}");
                    continue;
                };
                let mut out = b"before".to_vec();
                append_headed(&mut out, head, [&values]);
                assert_eq!(out, expected, "{text}, {value}");
            }
        }
    }

    #[test]
    fn pieces_of_every_length_come_out_whole() {
        let bytes: Vec<u8> = (0..=255).cycle().take(300).collect();
        for length in 0..200 {
            let mut out = b"before".to_vec();
            let (one, other) = (&bytes[1..=length], &bytes[..length]);
            append(&mut out, [one, b"|", other]);
            let expected = [b"before".as_slice(), one, b"|", other].concat();
            assert_eq!(out, expected, "{length}");
        }
    }
}
