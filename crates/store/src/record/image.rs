//! An entry's record as a value that can be changed and written again.

use std::ops::DerefMut;

use ironbark_model::number_map::NumberMap;

use super::{
    codec::{self, External, Form, Header},
    packed::{self, Packing},
};
use crate::{
    EntryId, hash,
    sets::{OpenSets, SetWriter, SharedSets},
};

/// A value set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ValueSet {
    /// Concatenated TLVs.
    Inline(Vec<u8>),
    /// In `values`.
    External(External),
}

/// An attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ImageAttribute {
    pub(crate) number: u16,
    pub(crate) set: ValueSet,
}

/// An entry.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(crate) struct Image {
    pub(crate) parent: EntryId,
    pub(crate) flags: u8,
    pub(crate) rdn: String,
    pub(crate) attributes: Vec<ImageAttribute>,
}

impl ValueSet {
    /// TLVs of values.
    pub(crate) fn inline<'v>(values: impl Iterator<Item = &'v [u8]>) -> Self {
        let mut tlvs = Vec::new();
        for value in values {
            codec::put_value(value, &mut tlvs);
        }
        Self::Inline(tlvs)
    }
    /// The TLVs, if it is inline.
    pub(crate) fn tlvs(&self) -> Option<&[u8]> {
        match self {
            Self::Inline(tlvs) => Some(tlvs),
            Self::External(_) => None,
        }
    }
}

impl Image {
    /// Reads the record of an entry and verifies its checksum, if the file has checksums. `None`: damaged.
    pub(crate) fn decode(id: EntryId, sealed: bool, mut bytes: &[u8], shared: &SharedSets) -> Option<Self> {
        if !codec::is_sound(id, sealed, bytes) {
            return None;
        }
        let header = codec::take_header(&mut bytes)?;
        let mut attributes = Vec::new();
        while !bytes.is_empty() {
            let (number, form) = codec::take_block(&mut bytes, &header)?;
            let set = match form {
                Form::Inline(tlvs) => ValueSet::Inline(tlvs.to_vec()),
                Form::Shared(set) => ValueSet::Inline(shared.tlvs(set)?.to_vec()),
                Form::External(set) => ValueSet::External(set),
                Form::Rdn(value) => ValueSet::inline(std::iter::once(value)),
                Form::Packed(packing, bytes) => {
                    let mut text = [0; packed::MAX_TEXT];
                    let length = packed::unpack(packing, bytes, &mut text)?;
                    ValueSet::inline(std::iter::once(text.get(..length)?))
                }
            };
            attributes.push(ImageAttribute { number, set });
        }
        Some(Self {
            parent: header.parent,
            flags: header.flags,
            rdn: header.rdn.to_owned(),
            attributes,
        })
    }
    /// Appends the record. `old` is the entry before the change: unchanged sets do not count as repetitions of
    /// themselves.
    pub(crate) fn encode<W>(&self, old: Option<&Self>, sets: &mut OpenSets<W>, out: &mut Vec<u8>)
    where
        W: DerefMut<Target = SetWriter>,
    {
        let external = self
            .attributes
            .iter()
            .any(|attribute| matches!(attribute.set, ValueSet::External(_)));
        let flags = (self.flags & !codec::FLAG_EXTERNAL) | (u8::from(external) * codec::FLAG_EXTERNAL);
        codec::put_header(
            &Header {
                parent: self.parent,
                flags,
                rdn: &self.rdn,
            },
            out,
        );
        let of_rdn = codec::rdn_value(self.rdn.as_bytes());
        let mut before = old.map_or(&[][..], |old| &old.attributes).iter();
        let mut passed = NumberMap::default();
        for attribute in &self.attributes {
            match &attribute.set {
                ValueSet::External(set) => codec::put_block(attribute.number, Form::External(*set), out),
                ValueSet::Inline(tlvs) => {
                    let stays = counterpart(attribute.number, &mut before, &mut passed) == Some(&attribute.set);
                    put_inline(attribute.number, stays, tlvs, of_rdn, sets, out);
                }
            }
        }
    }
}

/// The former value set of an attribute. Most attributes keep their order. Attributes that are skipped during the
/// search may be asked for later.
fn counterpart<'o>(
    number: u16,
    before: &mut std::slice::Iter<'o, ImageAttribute>,
    passed: &mut NumberMap<&'o ValueSet>,
) -> Option<&'o ValueSet> {
    if let Some(found) = passed.get(&number.into()) {
        return Some(found);
    }
    for attribute in before {
        if attribute.number == number {
            return Some(&attribute.set);
        }
        passed.insert(attribute.number.into(), &attribute.set);
    }
    None
}

/// Appends a block in the smallest suitable form: that of the RDN, packed, shared, inline. `of_rdn` is
/// [`codec::rdn_value`] of the record.
pub(crate) fn put_inline<W>(
    number: u16,
    stays: bool,
    tlvs: &[u8],
    of_rdn: Option<&[u8]>,
    sets: &mut OpenSets<W>,
    out: &mut Vec<u8>,
) where
    W: DerefMut<Target = SetWriter>,
{
    if let Some(value) = of_rdn.filter(|value| is_only(value, tlvs)) {
        return codec::put_block(number, Form::Rdn(value), out);
    }
    let mut bytes = Vec::new();
    match pack(tlvs, &mut bytes) {
        Some(packing) => codec::put_block(number, Form::Packed(packing, &bytes), out),
        None if stays => {
            let known = sets.known(tlvs, hash::value_hash(tlvs));
            codec::put_block(number, known.map_or(Form::Inline(tlvs), Form::Shared), out);
        }
        None => put_set(number, tlvs, hash::value_hash(tlvs), sets, out),
    }
}

/// Whether a set has this value alone.
pub(crate) fn is_only(value: &[u8], mut tlvs: &[u8]) -> bool {
    tlvs.len() == codec::value_length(value) && codec::take_value(&mut tlvs) == Some(value)
}

/// Packs a set of one value that has a compact form; appends to `out`.
pub(crate) fn pack(mut tlvs: &[u8], out: &mut Vec<u8>) -> Option<Packing> {
    let value = codec::take_value(&mut tlvs).filter(|_| tlvs.is_empty())?;
    packed::pack(value, out)
}

/// Appends a block of a set that is not packed: shared if it recurs. `hash` is [`hash::value_hash`] of `tlvs`.
pub(crate) fn put_set<W>(number: u16, tlvs: &[u8], hash: u64, sets: &mut OpenSets<W>, out: &mut Vec<u8>)
where
    W: DerefMut<Target = SetWriter>,
{
    match sets.number(tlvs, hash) {
        Some(set) => codec::put_block(number, Form::Shared(set), out),
        None => codec::put_block(number, Form::Inline(tlvs), out),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_set_that_stays_as_it_was_does_not_recur() {
        let mut writer = SetWriter::default();
        let mut sets = OpenSets::new(&mut writer, Arc::default());
        let mut image = Image::default();
        for (number, text) in [(1, [b'x'; 300]), (2, [b'y'; 300])] {
            let set = ValueSet::inline([&text[..]].into_iter());
            image.attributes.push(ImageAttribute { number, set });
        }
        let old = image.clone();
        image.encode(None, &mut sets, &mut Vec::new());
        for _ in 0..10 {
            image.encode(Some(&old), &mut sets, &mut Vec::new());
        }
        assert_eq!(sets.sets().count(), 0);
        // Another entry repeats one of them; from then on it is shared in this record too.
        image.attributes.truncate(1);
        image.encode(None, &mut sets, &mut Vec::new());
        assert_eq!(sets.sets().count(), 1);
        let mut bytes = Vec::new();
        image.encode(Some(&old), &mut sets, &mut bytes);
        assert!(bytes.len() < 300);
        assert_eq!(Image::decode(1, false, &bytes, sets.sets()), Some(image));
    }

    #[test]
    fn an_image_comes_back_from_its_record() {
        let mut writer = SetWriter::default();
        let mut sets = OpenSets::new(&mut writer, Arc::default());
        let long = [b'x'; 300];
        let image = Image {
            parent: 3,
            flags: codec::FLAG_ALIAS | codec::FLAG_EXTERNAL,
            rdn: "cn=a".into(),
            attributes: vec![
                ImageAttribute {
                    number: 0,
                    set: ValueSet::inline([&b"person"[..], b"top"].into_iter()),
                },
                ImageAttribute {
                    number: 300,
                    set: ValueSet::inline([&b"20261121214300Z"[..]].into_iter()),
                },
                ImageAttribute {
                    number: 7,
                    set: ValueSet::inline([&long[..]].into_iter()),
                },
                ImageAttribute {
                    number: 9,
                    set: ValueSet::External(External {
                        count: 9,
                        total: 90,
                        next: 12,
                        digest: Some(u64::MAX),
                    }),
                },
            ],
        };
        let mut lengths = Vec::new();
        for _ in 0..3 {
            let mut bytes = Vec::new();
            image.encode(None, &mut sets, &mut bytes);
            assert_eq!(Image::decode(1, false, &bytes, sets.sets()), Some(image.clone()));
            lengths.push(bytes.len());
        }
        assert!(lengths[2] < 100, "the long set is shared by now: {lengths:?}");
    }
}
