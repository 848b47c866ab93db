//! A record as the attributes of an answer: the values of most sets lie in the very bytes that are sent.

use std::ops::ControlFlow;

use ironbark_ber::{Writer, length_length, tags};
use ironbark_model::AttributeDescription;

use super::{Record, RecordAttribute};
use crate::{
    StoreError,
    record::{
        codec::{self, Form},
        packed,
    },
};

impl Record<'_> {
    /// Appends the attributes for which `wanted` answers true, with all their values, each as a `PartialAttribute` (RFC 4511 §4.1.7).
    /// `wanted` is told the description, and whether the type is operational (RFC 4512 §3.4).
    ///
    /// # Errors
    /// The record is damaged; `out` has then got a part.
    #[inline]
    pub fn append_attributes(
        &self,
        out: &mut Vec<u8>,
        wanted: impl Fn(&AttributeDescription, bool) -> bool,
    ) -> Result<(), StoreError> {
        let (catalog, shared) = (self.view.catalog, &self.view.database.shared);
        let mut blocks = self.blocks;
        while let Some((number, form)) = codec::take_block(&mut blocks) {
            let Some(info) = catalog.attribute(number) else {
                return Err(StoreError::damaged("an attribute number of a record"));
            };
            if !wanted(&info.description, info.is_operational) {
                continue;
            }
            match form {
                Form::Inline(tlvs) => put_attribute(&info.encoded_name, tlvs, out),
                Form::Shared(set) => match shared.answer(set, number, info) {
                    Some(answer) => out.extend_from_slice(answer),
                    None => match shared.tlvs(set) {
                        Some(tlvs) => put_attribute(&info.encoded_name, tlvs, out),
                        None => return Err(StoreError::damaged("a shared set")),
                    },
                },
                Form::Packed(packing, bytes) => {
                    let mut text = [0; packed::MAX_TEXT];
                    let value = packed::unpack(packing, bytes, &mut text).and_then(|length| text.get(..length));
                    let value = value.ok_or_else(|| StoreError::damaged("a packed value"))?;
                    let mut writer = Writer::new(out);
                    // All its lengths are short.
                    writer.header(tags::SEQUENCE, info.encoded_name.len() + 4 + value.len());
                    writer.raw(&info.encoded_name);
                    writer.header(tags::SET, 2 + value.len());
                    writer.octet_string(value);
                }
                Form::External(_) => {
                    let attribute = RecordAttribute {
                        info,
                        number,
                        form,
                        id: self.id,
                        view: self.view,
                    };
                    attribute.append(out)?;
                }
            }
        }
        Ok(())
    }
}

impl RecordAttribute<'_> {
    /// Appends the attribute, value by value.
    fn append(&self, out: &mut Vec<u8>) -> Result<(), StoreError> {
        let mut writer = Writer::new(out);
        let attribute = writer.begin(tags::SEQUENCE);
        writer.raw(&self.info.encoded_name);
        let values = writer.begin(tags::SET);
        self.for_each(&mut |value| {
            writer.octet_string(value);
            ControlFlow::Continue(())
        })?;
        writer.end(values);
        writer.end(attribute);
        Ok(())
    }
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
