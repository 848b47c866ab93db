//! A walk in a file of any bytes, for the fuzz target.

use smallvec::SmallVec;

use super::{LANES, pages::Mapped, walk};
use crate::check::file::Root;

/// Bytes of a page there: small, so that much of a file is more than values.
const PAGE: usize = 256;
/// The longest key that is looked up.
const KEY: usize = 16;

/// Looks up keys in a file. The first octet of `data` is the root's page, the second the depth, the third the length of
/// a key; a key of 16 octets follows, which is looked up with its beginnings, and then the file.
///
/// # Panics
/// When what was found does not lie in the file, or a row has another key.
pub(crate) fn walk_in(data: &[u8]) {
    let Some(([root, depth, length], data)) = data.split_first_chunk() else {
        return;
    };
    let Some((key, file)) = data.split_first_chunk::<KEY>() else {
        return;
    };
    let Some(pages) = Mapped::over(file, PAGE) else { return };
    let root = Root {
        flags: 0,
        depth: u16::from(*depth),
        branches: 0,
        leaves: 0,
        overflows: 0,
        entries: 0,
        page: Some(u64::from(*root)),
    };
    let longest = usize::from(*length).min(KEY);
    let keys: SmallVec<[&[u8]; LANES]> = (0..=longest)
        .filter_map(|length| key.get(..length))
        .take(LANES)
        .collect();
    let whole = file.as_ptr_range();
    // An empty one may lie at the end.
    let is_within = |found: &[u8]| {
        let found = found.as_ptr_range();
        whole.start <= found.start && found.end <= whole.end
    };
    for lane in walk::descend(pages, &root, keys.iter().copied()) {
        let Some(node) = lane.node() else { continue };
        assert!(keys.get(lane.number).is_some(), "a lane without a key");
        assert!(is_within(node.key), "a key outside the file");
        let value = pages.place(node).and_then(|place| pages.bytes(place));
        assert!(value.is_none_or(is_within), "a value outside the file");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_key_at_the_end_of_the_file_is_in_it() {
        let mut file = [0; PAGE];
        // A leaf of one node, whose head takes the last eight octets.
        file[10] = 2;
        file[12] = 18;
        file[16] = 248;
        let data = [&[0, 1, 0][..], &[0; KEY], &file].concat();
        walk_in(&data);
    }
}
