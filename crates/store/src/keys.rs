//! Index keys: what each kind of index makes of a value (ARCHITECTURE.md, "Index").
//!
//! ```text
//! varint     index number
//! presence   nothing
//! equality   six bytes of XXH3 of the normal form; or, in order: the normal form, cut after 200 bytes, 00 written as 00 FF, and
//!            a closing 00 00
//! substring  three bytes: a trigram of FE, normal form, FF
//! approx     six bytes of XXH3 of the phonetic code of one word
//! ```
//!
//! The entry ID (the first of a chunk) follows.

use ironbark_model::{Schema, matching::Normalize};
use smallvec::SmallVec;

use crate::{
    catalog::{Catalog, Index, IndexKind},
    hash,
};

/// Longest normal form in an ordered key.
pub(crate) const ORDERED_LIMIT: usize = 200;
/// Mark before the first byte of a value.
pub(crate) const START: u8 = 0xfe;
/// Mark behind the last.
pub(crate) const END: u8 = 0xff;

/// The first eight bytes of a key as a number, zeros behind its end.
fn leading(key: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    for (to, from) in bytes.iter_mut().zip(key) {
        *to = *from;
    }
    u64::from_be_bytes(bytes)
}

/// Keys of one entry: list keys in one buffer, without entry IDs.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeySet {
    bytes: Vec<u8>,
    ranges: Vec<(u32, u32)>,
    form: NormalForm,
}

impl KeySet {
    /// Empties it and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.ranges.clear();
    }
    /// Appends a key.
    pub(crate) fn push(&mut self, prefix: &[u8], key: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(prefix);
        self.bytes.extend_from_slice(key);
        self.close(start);
    }
    fn close(&mut self, start: usize) {
        if let (Ok(start), Ok(end)) = (u32::try_from(start), u32::try_from(self.bytes.len())) {
            self.ranges.push((start, end));
        }
    }
    fn key(&self, range: (u32, u32)) -> &[u8] {
        self.bytes.get(range.0 as usize..range.1 as usize).unwrap_or_default()
    }
    /// Sorts and removes duplicates.
    pub(crate) fn sort(&mut self) {
        let mut ranges = std::mem::take(&mut self.ranges);
        // Most keys have no more than eight bytes, so that their numbers decide.
        let mut numbered: SmallVec<[(u64, (u32, u32)); 64]> = ranges
            .drain(..)
            .map(|range| (leading(self.key(range)), range))
            .collect();
        numbered.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| self.key(a.1).cmp(self.key(b.1))));
        numbered.dedup_by(|a, b| a.0 == b.0 && self.key(a.1) == self.key(b.1));
        ranges.extend(numbered.iter().map(|numbered| numbered.1));
        self.ranges = ranges;
    }
    /// The keys.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.ranges.iter().map(|&range| self.key(range))
    }
    /// Adds the keys of one value in one index. A value that the rule does not accept has no keys, because no assertion
    /// matches it.
    pub(crate) fn add_value(&mut self, schema: &Schema, index: &Index, value: &[u8]) {
        let mut form = std::mem::take(&mut self.form);
        form.begin();
        form.each_key(schema, index, value, &mut |key| self.push(&index.prefix, key));
        self.form = form;
    }
    /// Adds the equality key of a normal form.
    pub(crate) fn add_normal(&mut self, index: &Index, normal: &[u8]) {
        if index.stored.kind == IndexKind::EqualityOrdered {
            let start = self.bytes.len();
            self.bytes.extend_from_slice(&index.prefix);
            put_ordered(normal, &mut self.bytes);
            self.close(start);
        } else {
            self.push(&index.prefix, &hash::index_hash(normal));
        }
    }
    /// Adds the keys of an attribute's values in all indexes it feeds (`only`: in those alone).
    pub(crate) fn add_values<'v>(
        &mut self,
        catalog: &Catalog,
        number: u16,
        only: Option<&[u16]>,
        values: &(impl Iterator<Item = &'v [u8]> + Clone),
    ) {
        let Some(info) = catalog.attribute(number) else { return };
        for at in info.feeds.iter().filter(|at| only.is_none_or(|only| only.contains(at))) {
            let Some(index) = catalog.indexes.get(usize::from(*at)) else {
                continue;
            };
            if index.stored.kind == IndexKind::Presence {
                self.push(&index.prefix, &[]);
                continue;
            }
            for value in values.clone() {
                self.add_value(&catalog.schema, index, value);
            }
        }
    }
}

/// Makes the keys of a value for one index after the other. Indexes whose rules normalize alike share the work.
#[derive(Clone, Debug, Default)]
pub(crate) struct NormalForm {
    /// START, the normal form, END; empty if the value has no normal form.
    framed: Vec<u8>,
    made_by: Option<Normalize>,
    version: u64,
    scratch: Vec<u8>,
}

impl NormalForm {
    /// Begins another value.
    pub(crate) fn begin(&mut self) {
        self.made_by = None;
    }
    /// Rises whenever another form is made.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }
    /// START, the normal form of the value, END. `None`: it has no normal form.
    pub(crate) fn framed(&mut self, schema: &Schema, normalize: Normalize, value: &[u8]) -> Option<&[u8]> {
        let known = self
            .made_by
            .is_some_and(|made_by| std::ptr::fn_addr_eq(made_by, normalize));
        if !known {
            self.made_by = Some(normalize);
            self.version += 1;
            self.framed.clear();
            self.framed.push(START);
            if normalize(schema, value, &mut self.framed).is_ok() {
                self.framed.push(END);
            } else {
                self.framed.clear();
            }
        }
        (!self.framed.is_empty()).then_some(&self.framed)
    }
    /// Calls `take` with each key of the value, without the index's prefix; a key may come more than once.
    fn each_key(&mut self, schema: &Schema, index: &Index, value: &[u8], take: &mut impl FnMut(&[u8])) {
        let mut scratch = std::mem::take(&mut self.scratch);
        let kind = index.stored.kind;
        match (kind, index.rule) {
            (IndexKind::Presence, _) | (IndexKind::Approximate, Some(_)) => keys_of(kind, value, &mut scratch, take),
            (_, None) => {}
            (_, Some(rule)) => {
                if let Some(framed) = self.framed(schema, rule.normalize_value, value) {
                    keys_of(kind, framed, &mut scratch, take);
                }
            }
        }
        self.scratch = scratch;
    }
}

/// Calls `take` with each key of a value, without the index's prefix. In approximate indexes `value` is the text of the
/// value, in others its framed normal form ([`NormalForm::framed`]).
pub(crate) fn keys_of(kind: IndexKind, value: &[u8], scratch: &mut Vec<u8>, take: &mut impl FnMut(&[u8])) {
    scratch.clear();
    match (kind, value) {
        (IndexKind::Presence, _) => take(&[]),
        (IndexKind::Approximate, _) => {
            ironbark_model::matching::approx::codes(value, scratch);
            for code in scratch.split(|&c| c == b' ').filter(|code| !code.is_empty()) {
                take(&hash::index_hash(code));
            }
        }
        (IndexKind::Substring, framed) => framed.windows(3).for_each(take),
        (IndexKind::EqualityOrdered, [START, normal @ .., END]) => {
            put_ordered(normal, scratch);
            take(scratch);
        }
        (IndexKind::EqualityHash, [START, normal @ .., END]) => take(&hash::index_hash(normal)),
        (IndexKind::EqualityOrdered | IndexKind::EqualityHash, _) => {}
    }
}

/// Appends the ordered key of a normal form.
pub(crate) fn put_ordered(normal: &[u8], out: &mut Vec<u8>) {
    put_ordered_open(normal, out);
    out.extend_from_slice(&[0, 0]);
}

/// As [`put_ordered`], without the closing 00 00: the prefix of all keys that begin so.
pub(crate) fn put_ordered_open(normal: &[u8], out: &mut Vec<u8>) {
    for &byte in normal.iter().take(ORDERED_LIMIT) {
        out.push(byte);
        if byte == 0 {
            out.push(0xff);
        }
    }
}

/// Length of the ordered key at the front of `bytes` (behind it: an entry ID). `None`: damaged.
pub(crate) fn ordered_length(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        if *bytes.get(at)? == 0 {
            match bytes.get(at + 1)? {
                0 => return Some(at + 2),
                0xff => at += 1,
                _ => return None,
            }
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ordered(normal: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        put_ordered(normal, &mut out);
        out
    }

    proptest! {
        #[test]
        fn key_order_is_the_order_of_normal_forms(
            a in proptest::collection::vec(prop_oneof![Just(0u8), Just(0xff), any::<u8>()], 0..20),
            b in proptest::collection::vec(prop_oneof![Just(0u8), Just(0xff), any::<u8>()], 0..20),
            id in 1u64..u64::MAX,
        ) {
            prop_assert_eq!(ordered(&a).cmp(&ordered(&b)), a.cmp(&b));
            let mut key = ordered(&a);
            let length = key.len();
            crate::varint::put(&mut key, id);
            prop_assert_eq!(ordered_length(&key), Some(length));
        }
        #[test]
        fn hostile_bytes_are_no_panic(bytes in proptest::collection::vec(any::<u8>(), 0..20)) {
            let _ = ordered_length(&bytes);
        }
    }

    #[test]
    fn keys_are_sorted_and_single() {
        let mut keys = KeySet::default();
        for key in [&b"b"[..], b"a", b"b"] {
            keys.push(&[1], key);
        }
        keys.sort();
        assert_eq!(keys.iter().collect::<Vec<_>>(), [b"\x01a", b"\x01b"]);
    }
}
