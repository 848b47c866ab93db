//! One attribute of a record.

use std::ops::ControlFlow;

use ironbark_model::{
    Attribute, AttributeDescription,
    budget::{cost, cost_of},
};

use super::View;
use crate::{
    EntryId, StoreError,
    catalog::AttributeInfo,
    external::SetKey,
    record::{
        codec::{self, Form},
        packed,
    },
};

/// Octets of a value that are normalized without counting against the budget.
const SHORT: usize = 256;

/// One attribute of a record.
#[derive(Clone, Copy)]
pub struct RecordAttribute<'t> {
    pub(super) info: &'t AttributeInfo,
    pub(super) number: u16,
    pub(super) form: Form<'t>,
    pub(super) id: EntryId,
    pub(super) view: View<'t>,
}

impl<'t> RecordAttribute<'t> {
    /// The description.
    pub fn description(&self) -> &'t AttributeDescription {
        &self.info.description
    }
    /// The description as printed (`cn;lang-en`), ready for the wire.
    pub fn name(&self) -> &'t [u8] {
        self.view.catalog.text(self.number).as_bytes()
    }
    /// The concatenated `04 len value` TLVs when the set is held in one piece (inline or shared).
    fn encoded_values(&self) -> Option<&'t [u8]> {
        match self.form {
            Form::Inline(tlvs) => Some(tlvs),
            Form::Shared(number) => self.view.sets.tlvs(number),
            Form::External(_) | Form::Packed(..) | Form::Rdn(_) => None,
        }
    }
    /// A number for the description and the values of a set that other entries share, as long as the database is open.
    pub fn shared_set(&self) -> Option<u64> {
        match self.form {
            Form::Shared(set) => Some(set.with_attribute(self.number)),
            Form::Inline(_) | Form::External(_) | Form::Packed(..) | Form::Rdn(_) => None,
        }
    }
    /// Length of the concatenated TLVs; `None` for an external set. Gives the length of an answer before it is written.
    pub fn encoded_length(&self) -> Option<usize> {
        match self.form {
            Form::Inline(tlvs) => Some(tlvs.len()),
            Form::Shared(number) => self.view.sets.tlvs(number).map(<[u8]>::len),
            Form::Packed(packing, bytes) => Some(packed::text_length(packing, bytes) + 2),
            Form::Rdn(value) => Some(codec::value_length(value)),
            Form::External(_) => None,
        }
    }
    /// The values, in the order in which they were added; fewer when the view's budget is exhausted.
    pub fn for_each(&self, visit: &mut dyn FnMut(&[u8]) -> ControlFlow<()>) -> Result<(), StoreError> {
        match self.form {
            Form::External(_) => {
                let view = self.view;
                let mut within = |value: &[u8]| {
                    if !view.spend(cost(value.len())) {
                        return ControlFlow::Break(());
                    }
                    visit(value)
                };
                self.set_key().for_each(view.txn, &view.tables().values, &mut within)
            }
            Form::Packed(packing, bytes) => {
                let mut text = [0; packed::MAX_TEXT];
                let value = packed::unpack(packing, bytes, &mut text)
                    .and_then(|length| text.get(..length))
                    .ok_or_else(|| StoreError::damaged("a packed value"))?;
                let _ = visit(value);
                Ok(())
            }
            Form::Rdn(value) => {
                let _ = visit(value);
                Ok(())
            }
            Form::Inline(_) | Form::Shared(_) => {
                let tlvs = self
                    .encoded_values()
                    .ok_or_else(|| StoreError::damaged("a shared set"))?;
                let _ = codec::values(tlvs).try_for_each(visit);
                Ok(())
            }
        }
    }
    /// Number of values.
    pub fn len(&self) -> usize {
        match self.form {
            Form::External(set) => usize::try_from(set.count).unwrap_or(usize::MAX),
            Form::Packed(..) | Form::Rdn(_) => 1,
            Form::Inline(_) | Form::Shared(_) => self.encoded_values().map_or(0, |tlvs| codec::values(tlvs).count()),
        }
    }
    /// Never: an attribute without values is not stored.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Whether the values lie outside the record (big sets).
    pub fn is_external(&self) -> bool {
        matches!(self.form, Form::External(_))
    }
    /// Whether a value with this normal form is there; does not read the others when the set is external.
    pub fn holds_normalized(&self, normalized: &[u8]) -> Result<bool, StoreError> {
        if self.is_external() {
            let view = self.view;
            let found = self.set_key().find(view.txn, view.tables(), view.catalog, normalized)?;
            return Ok(found.is_some());
        }
        let (mut scratch, mut found) = (Vec::new(), false);
        self.for_each(&mut |value| {
            if value.len() > SHORT && !self.view.spend(cost_of(value)) {
                return ControlFlow::Break(());
            }
            scratch.clear();
            self.view.catalog.normal_form(self.number, value, &mut scratch);
            found = scratch == normalized;
            if found {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })?;
        Ok(found)
    }
    /// A copy in memory.
    pub fn to_attribute(&self) -> Result<Attribute, StoreError> {
        let mut values = Vec::with_capacity(self.len());
        self.for_each(&mut |value| {
            values.push(value.to_vec());
            ControlFlow::Continue(())
        })?;
        Ok(Attribute {
            description: self.info.description.clone(),
            values,
        })
    }
    fn set_key(&self) -> SetKey {
        SetKey {
            id: self.id,
            attribute: self.number,
        }
    }
}
