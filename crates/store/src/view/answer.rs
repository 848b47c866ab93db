//! A record as the attributes of an answer: most value sets are stored in the same bytes that are sent.

use std::ops::ControlFlow;

use ironbark_ber::{Writer, length_length, tags};
use ironbark_model::{AttributeDescription, number_map::NumberMap};

use super::{
    Record,
    append::{append, append_headed},
};
use crate::{
    StoreError,
    catalog::answer_name::AnswerName,
    external::SetKey,
    record::{
        codec::{self, Form},
        packed::{self, Packing},
    },
    sets::SetNumber,
};

/// Kinds of attributes that an answer includes as a group (RFC 4511 §4.5.1.8, RFC 3673).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kinds {
    /// All user attributes: `*`.
    pub user: bool,
    /// All operational attributes: `+`.
    pub operational: bool,
}

/// Shared sets as whole attributes, ready to be copied: those that one thread has already sent. For one database.
#[derive(Debug, Default)]
pub struct AnswerCache {
    /// By the position of the set, for the attribute that was first sent with it.
    places: Vec<Place>,
    /// Further attributes with the same set, by [`SetNumber::with_attribute`].
    others: NumberMap<Place>,
    /// Most of `others`, by [`at_hand`].
    near: Vec<Place>,
    bytes: Vec<u8>,
}

/// Values that are copied in about one step.
const VALUES_PER_STEP: u64 = 2;

/// Where an attribute lies in [`AnswerCache::bytes`].
#[derive(Clone, Copy, Debug)]
struct Place {
    set: SetNumber,
    attribute: u16,
    /// 0: not there.
    length: u16,
    at: u32,
}

/// Length of [`AnswerCache::near`], once it has any.
const NEAR: usize = 512;

/// The only position in [`AnswerCache::near`] for a set and an attribute. The first that came has it: what is frequent
/// comes early.
#[inline]
fn at_hand(set: SetNumber, attribute: u16) -> usize {
    set.position().wrapping_mul(67).wrapping_add(attribute.into()) % NEAR
}

impl AnswerCache {
    /// Bytes of attributes that are kept.
    const LIMIT: usize = 1 << 20;

    #[inline(always)]
    #[allow(clippy::inline_always, reason = "part of the innermost loop of every answer")]
    fn find(&self, set: SetNumber, attribute: u16) -> Option<&[u8]> {
        let is_it = |place: &&Place| place.set == set && place.attribute == attribute;
        let first = self.places.get(set.position())?;
        let place = if is_it(&first) {
            first
        } else {
            let near = self.near.get(at_hand(set, attribute)).filter(is_it);
            near.or_else(|| self.others.get(&set.with_attribute(attribute)))?
        };
        let at = usize::try_from(place.at).ok()?;
        self.bytes.get(at..at + usize::from(place.length))
    }

    /// Appends an attribute with a shared set to `out`, and keeps it for the next time.
    #[cold]
    fn make(
        &mut self,
        record: &Record<'_>,
        set: SetNumber,
        attribute: u16,
        out: &mut Vec<u8>,
    ) -> Result<(), StoreError> {
        let name = record.view.catalog.answer_name(attribute);
        let tlvs = record.view.sets.tlvs(set);
        let (Some(name), Some(tlvs)) = (name, tlvs) else {
            return Err(StoreError::damaged("a shared set"));
        };
        let start = out.len();
        put_attribute(name, tlvs, out);
        self.keep(set, attribute, out.get(start..).unwrap_or_default());
        Ok(())
    }

    fn keep(&mut self, set: SetNumber, attribute: u16, made: &[u8]) {
        let (Ok(at), Ok(length)) = (u32::try_from(self.bytes.len()), u16::try_from(made.len())) else {
            return;
        };
        if self.bytes.len() + made.len() > Self::LIMIT {
            return;
        }
        let place = Place {
            set,
            attribute,
            length,
            at,
        };
        let position = set.position();
        if self.places.len() <= position {
            // The others keep this set, which is at none of their positions.
            self.places.resize(position + 1, Place { length: 0, ..place });
        }
        match self.places.get_mut(position) {
            Some(first) if first.length == 0 => *first = place,
            _ => {
                self.others.insert(set.with_attribute(attribute), place);
                // Those that are free have an attribute whose position is another one.
                self.near.resize(NEAR, Place { length: 0, ..place });
                let near = self.near.get_mut(at_hand(set, attribute));
                if let Some(free) = near.filter(|near| near.length == 0) {
                    *free = place;
                }
            }
        }
        self.bytes.extend_from_slice(made);
    }
}

impl Record<'_> {
    /// Appends the attributes of the wanted kinds, and those for which `lists` is true. Each has all its values and is
    /// encoded as a `PartialAttribute` (RFC 4511 §4.1.7).
    ///
    /// # Errors
    /// The record is damaged; `out` then has a part of it.
    #[inline]
    pub fn append_attributes(
        &self,
        out: &mut Vec<u8>,
        cache: &mut AnswerCache,
        kinds: Kinds,
        lists: impl Fn(&AttributeDescription) -> bool,
    ) -> Result<(), StoreError> {
        self.append(out, cache, kinds, lists, |_| true)
    }

    /// The same without hidden attributes. `known` decides for the number of an attribute, which is always the same in
    /// this database. Where `known` has no answer, `shows` decides.
    ///
    /// # Errors
    /// As of [`Record::append_attributes`].
    #[inline]
    pub fn append_some_attributes(
        &self,
        out: &mut Vec<u8>,
        cache: &mut AnswerCache,
        kinds: Kinds,
        lists: impl Fn(&AttributeDescription) -> bool,
        known: impl Fn(u16) -> Option<bool>,
        shows: impl Fn(u16, &AttributeDescription) -> bool,
    ) -> Result<(), StoreError> {
        let catalog = self.view.catalog;
        let is_shown = |number| {
            known(number).unwrap_or_else(|| {
                catalog
                    .attribute(number)
                    .is_some_and(|info| shows(number, &info.description))
            })
        };
        self.append(out, cache, kinds, lists, is_shown)
    }

    #[inline]
    fn append(
        &self,
        out: &mut Vec<u8>,
        cache: &mut AnswerCache,
        kinds: Kinds,
        lists: impl Fn(&AttributeDescription) -> bool,
        is_shown: impl Fn(u16) -> bool,
    ) -> Result<(), StoreError> {
        let catalog = self.view.catalog;
        let mut blocks = self.blocks;
        while let Some((number, form)) = codec::take_block(&mut blocks, &self.header) {
            let Some(name) = catalog.answer_name(number) else {
                return Err(StoreError::damaged("an attribute number of a record"));
            };
            let is_wanted = if name.is_operational {
                kinds.operational
            } else {
                kinds.user
            };
            if !is_wanted && !catalog.attribute(number).is_some_and(|info| lists(&info.description)) {
                continue;
            }
            if !is_shown(number) {
                continue;
            }
            match form {
                Form::Inline(tlvs) => put_attribute(name, tlvs, out),
                Form::Shared(set) => match cache.find(set, number) {
                    Some(attribute) => append(out, [attribute]),
                    None => cache.make(self, set, number, out)?,
                },
                Form::Packed(packing, bytes) => put_packed(name, packing, bytes, out)?,
                Form::Rdn(value) => put_one(name, value, out),
                Form::External(_) => self.put_external(&name.encoded, number, out)?,
            }
        }
        Ok(())
    }

    /// Appends an attribute whose values lie outside the record, value by value.
    #[cold]
    fn put_external(&self, encoded_name: &[u8], attribute: u16, out: &mut Vec<u8>) -> Result<(), StoreError> {
        let mut writer = Writer::new(out);
        let whole = writer.begin(tags::SEQUENCE);
        writer.raw(encoded_name);
        let values = writer.begin(tags::SET);
        let set = SetKey { id: self.id, attribute };
        let mut written = 0_u64;
        set.for_each(self.view.txn, &self.view.tables().values, &mut |value| {
            written += 1;
            if written.is_multiple_of(VALUES_PER_STEP) && !self.view.spend(1) {
                return ControlFlow::Break(());
            }
            writer.octet_string(value);
            ControlFlow::Continue(())
        })?;
        writer.end(values);
        writer.end(whole);
        Ok(())
    }
}

/// Appends an attribute with one value.
#[inline]
fn put_one(name: &AnswerName, value: &[u8], out: &mut Vec<u8>) {
    if let (Some(head), Ok(length)) = (name.short_head(2 + value.len()), u8::try_from(value.len())) {
        return append_headed(out, head, [&[tags::OCTET_STRING, length], value]);
    }
    put_long(&name.encoded, value, out);
}

#[cold]
fn put_long(encoded_name: &[u8], value: &[u8], out: &mut Vec<u8>) {
    let values = codec::value_length(value);
    let mut writer = Writer::new(out);
    let content = encoded_name.len() + 1 + usize::from(length_length(values)) + values;
    writer.header(tags::SEQUENCE, content);
    writer.raw(encoded_name);
    writer.header(tags::SET, values);
    writer.octet_string(value);
}

/// Appends an attribute with one packed value.
fn put_packed(name: &AnswerName, packing: Packing, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), StoreError> {
    let mut tlv = [0; 2 + packed::MAX_TEXT];
    let (header, text) = tlv.split_first_chunk_mut().ok_or_else(damaged_packing)?;
    let text = text.first_chunk_mut().ok_or_else(damaged_packing)?;
    let length = packed::unpack(packing, bytes, text).ok_or_else(damaged_packing)?;
    // Shorter than 128: `MAX_TEXT`.
    *header = [tags::OCTET_STRING, u8::try_from(length).map_err(|_| damaged_packing())?];
    put_attribute(name, tlv.get(..2 + length).unwrap_or_default(), out);
    Ok(())
}

#[cold]
fn damaged_packing() -> StoreError {
    StoreError::damaged("a packed value")
}

/// Appends `30 len name 31 len values`, with the values in their encoded forms.
#[inline]
fn put_attribute(name: &AnswerName, tlvs: &[u8], out: &mut Vec<u8>) {
    match name.short_head(tlvs.len()) {
        Some(head) => append_headed(out, head, [tlvs]),
        None => put_long_attribute(&name.encoded, tlvs, out),
    }
}

fn put_long_attribute(encoded_name: &[u8], tlvs: &[u8], out: &mut Vec<u8>) {
    let set = 1 + usize::from(length_length(tlvs.len())) + tlvs.len();
    let mut writer = Writer::new(out);
    writer.header(tags::SEQUENCE, encoded_name.len() + set);
    writer.raw(encoded_name);
    writer.header(tags::SET, tlvs.len());
    writer.raw(tlvs);
}
