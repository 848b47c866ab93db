//! Entry points of the fuzz targets in `/fuzz`; the smoke test calls the same functions.

use crate::{
    ChangeRecord,
    posting::{
        chunk::{self, Runs},
        edit::{self, Edit},
    },
    record::{
        codec::{self, Form},
        packed,
    },
    varint,
};

/// Walks down the tree in `data`, a file of LMDB's pages after a head (see [`crate::ahead`]).
///
/// # Panics
/// When the walk leaves the file: that is the property under test.
pub fn pages(data: &[u8]) {
    crate::ahead::walk_in(data);
}

/// Reads `data` as an entry's record, walks it in both ways, and writes it again.
///
/// # Panics
/// When a record is not read back as written, or its two readers differ: that is the property under test.
pub fn record(data: &[u8]) {
    let mut input = data;
    let Some(header) = codec::take_header(&mut input) else {
        return;
    };
    assert_eq!(codec::parent(data), Some(header.parent), "two parents");
    let mut again = Vec::new();
    codec::put_header(&header, &mut again);
    let (mut blocks, mut skipping) = (Vec::new(), input);
    while let Some((number, form)) = codec::take_block(&mut input, &header) {
        codec::put_block(number, form, &mut again);
        if let Form::Packed(packing, bytes) = form {
            unpack(packing, bytes);
        }
        if let Form::Inline(tlvs) = form {
            let mut written = Vec::new();
            for value in codec::values(tlvs) {
                codec::put_value(value, &mut written);
            }
            let values = codec::values(tlvs);
            assert!(codec::values(&written).eq(values), "values came back changed");
        }
        blocks.push((number, form));
    }
    let mut input = again.as_slice();
    assert_eq!(
        codec::take_header(&mut input),
        Some(header),
        "a header came back changed"
    );
    for block in &blocks {
        assert_eq!(
            codec::take_block(&mut input, &header),
            Some(*block),
            "a block came back changed"
        );
    }
    if let Some(last) = blocks.last() {
        let found = blocks.iter().find(|(number, _)| *number == last.0);
        let wanted = codec::take_wanted(&mut skipping, &header, |number| number == last.0);
        assert_eq!(wanted.as_ref(), found, "skipping finds another block");
    }
    let mut bytes = Vec::new();
    if let Some(packing) = packed::pack(data, &mut bytes) {
        assert_eq!(
            unpack(packing, &bytes),
            Some(data.to_vec()),
            "a packed value came back changed"
        );
    }
}

fn unpack(packing: packed::Packing, bytes: &[u8]) -> Option<Vec<u8>> {
    let mut text = [0; packed::MAX_TEXT];
    let length = packed::unpack(packing, bytes, &mut text)?;
    assert_eq!(
        length,
        packed::text_length(packing, bytes),
        "two lengths of a packed value"
    );
    text.get(..length).map(<[u8]>::to_vec)
}

/// Reads `data` as a change record.
///
/// # Panics
/// When a written record is read as another one: that is the property under test.
pub fn change_record(data: &[u8]) {
    let Ok(record) = ChangeRecord::decode(data) else {
        return;
    };
    let again = ChangeRecord::decode(&record.encode());
    assert!(
        again.is_ok_and(|again| again == record),
        "a change record came back changed"
    );
}

/// Reads `data` as a chunk of a posting list: a varint of its first ID, one of an ID to go to, and the chunk.
///
/// # Panics
/// When its readers differ, or a written chunk is read as another one: that is the property under test.
pub fn posting(data: &[u8]) {
    let mut input = data;
    let (Some(first), Some(id)) = (varint::take(&mut input), varint::take(&mut input)) else {
        return;
    };
    let Some(runs) = Runs::decode(first, input) else {
        return;
    };
    // Real IDs are counted up from 1 and never get so large.
    if runs.last().is_none_or(|last| last > 1 << 60) {
        return;
    }
    let mut value = Vec::new();
    runs.encode(false, &mut value);
    assert_eq!(value.len(), runs.encoded_length(), "two lengths of a chunk");
    assert_eq!(chunk::count(&value), Some(runs.count()), "two counts of a chunk");
    assert_eq!(
        Runs::decode(first, &value).as_ref(),
        Some(&runs),
        "a chunk came back changed"
    );
    let mut made = Vec::new();
    for member in [false, true] {
        if edit::edit(first, &value, id, member, &mut made) == Some(Edit::Made) {
            let mut changed = runs.clone();
            assert!(
                if member { changed.insert(id) } else { changed.remove(id) },
                "nothing to edit"
            );
            assert_eq!(Runs::decode(first, &made), Some(changed), "an edit made something else");
        }
    }
}
