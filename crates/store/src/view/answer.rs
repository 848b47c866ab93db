//! A record as the attributes of an answer: the values of most sets lie in the very bytes that are sent.

use std::ops::ControlFlow;

use ironbark_ber::{Writer, length_length, tags};
use ironbark_model::AttributeDescription;

use super::Record;
use crate::{
    StoreError,
    external::SetKey,
    record::{
        codec::{self, Form},
        packed::{self, Packing},
    },
};

/// Kinds of attributes that an answer takes whole (RFC 4511 §4.5.1.8, RFC 3673).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kinds {
    /// All user attributes: `*`.
    pub user: bool,
    /// All operational attributes: `+`.
    pub operational: bool,
}

impl Record<'_> {
    /// Appends the attributes of the kinds that are wanted, and those that `lists` is true for, with all their values, each as a
    /// `PartialAttribute` (RFC 4511 §4.1.7).
    ///
    /// # Errors
    /// The record is damaged; `out` has then got a part.
    #[inline]
    pub fn append_attributes(
        &self,
        out: &mut Vec<u8>,
        kinds: Kinds,
        lists: impl Fn(&AttributeDescription) -> bool,
    ) -> Result<(), StoreError> {
        let (catalog, shared) = (self.view.catalog, &self.view.database.shared);
        let mut blocks = self.blocks;
        while let Some((number, form)) = codec::take_block(&mut blocks) {
            let Some(name) = catalog.answer_name(number) else {
                return Err(StoreError::damaged("an attribute number of a record"));
            };
            let is_wanted = if name.is_operational { kinds.operational } else { kinds.user };
            if !is_wanted && !catalog.attribute(number).is_some_and(|info| lists(&info.description)) {
                continue;
            }
            match form {
                Form::Inline(tlvs) => put_attribute(&name.encoded, tlvs, out),
                Form::Shared(set) => match shared.answer(set, number, name) {
                    Some(answer) => out.extend_from_slice(answer),
                    None => match shared.tlvs(set) {
                        Some(tlvs) => put_attribute(&name.encoded, tlvs, out),
                        None => return Err(StoreError::damaged("a shared set")),
                    },
                },
                Form::Packed(packing, bytes) => put_packed(&name.encoded, packing, bytes, out)?,
                Form::External(_) => self.put_external(&name.encoded, number, out)?,
            }
        }
        Ok(())
    }

    /// Appends an attribute whose values lie outside of the record, value by value.
    #[cold]
    fn put_external(
        &self,
        encoded_name: &[u8],
        attribute: u16,
        out: &mut Vec<u8>,
    ) -> Result<(), StoreError> {
        let mut writer = Writer::new(out);
        let whole = writer.begin(tags::SEQUENCE);
        writer.raw(encoded_name);
        let values = writer.begin(tags::SET);
        let set = SetKey { id: self.id, attribute };
        set.for_each(self.view.txn, &self.view.tables().values, &mut |value| {
            writer.octet_string(value);
            ControlFlow::Continue(())
        })?;
        writer.end(values);
        writer.end(whole);
        Ok(())
    }
}

/// Appends an attribute with one packed value.
fn put_packed(encoded_name: &[u8], packing: Packing, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), StoreError> {
    let mut text = [0; packed::MAX_TEXT];
    let value = packed::unpack(packing, bytes, &mut text).and_then(|length| text.get(..length));
    let value = value.ok_or_else(|| StoreError::damaged("a packed value"))?;
    let mut writer = Writer::new(out);
    // All its lengths are short.
    writer.header(tags::SEQUENCE, encoded_name.len() + 4 + value.len());
    writer.raw(encoded_name);
    writer.header(tags::SET, 2 + value.len());
    writer.octet_string(value);
    Ok(())
}

/// Appends `30 len name 31 len values`, with name and values in their encoded forms.
#[inline]
pub(crate) fn put_attribute(encoded_name: &[u8], tlvs: &[u8], out: &mut Vec<u8>) {
    let mut writer = Writer::new(out);
    let set = 1 + usize::from(length_length(tlvs.len())) + tlvs.len();
    writer.header(tags::SEQUENCE, encoded_name.len() + set);
    writer.raw(encoded_name);
    writer.header(tags::SET, tlvs.len());
    writer.raw(tlvs);
}
