//! The entry point of the fuzz target in `/fuzz`; the smoke test calls the same function.

use std::sync::Arc;

use ironbark_model::Schema;

use crate::sock::{
    answer::{AnswerPart, AnswerReader},
    entry,
};

/// Reads `data` as a program's answer, whole and octet by octet, and its entries.
///
/// # Panics
/// When it matters in which pieces an answer comes: that is the property under test.
pub fn answer(data: &[u8], schema: &Arc<Schema>) {
    let whole = parts(std::iter::once(data));
    assert_eq!(whole, parts(data.chunks(1)), "pieces change an answer");
    for part in whole {
        if let AnswerPart::Entry(paragraph) = part {
            // What is no entry is refused.
            let _ = entry::read(schema, paragraph);
        }
    }
}

fn parts<'d>(pieces: impl Iterator<Item = &'d [u8]>) -> Vec<AnswerPart> {
    let (mut reader, mut parts) = (AnswerReader::default(), Vec::new());
    for mut octets in pieces {
        while let Ok(Some(part)) = reader.read(&mut octets) {
            let is_last = !matches!(part, AnswerPart::Entry(_));
            parts.push(part);
            if is_last {
                return parts;
            }
        }
    }
    parts.push(reader.end());
    parts
}
