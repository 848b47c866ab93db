//! Matched values (RFC 3876): return only the values that match a filter.

use ironbark_ber::{Reader, Writer, tags};
use ironbark_model::Filter;

use super::{
    ControlValue, Criticality, Descriptor, RequestControl, ValueRule,
    descriptor::{self, texts},
};
use crate::{
    DecodeLimits, Fault,
    filter::{self, Budget},
};

/// A value is returned when it matches one of these; none of them is `And`, `Or` or `Not`.
#[derive(Clone, PartialEq, Debug)]
pub struct MatchedValues<'a>(pub Vec<Filter<'a>>);

impl ControlValue for MatchedValues<'_> {
    const OID: &'static str = DESCRIPTOR.oid;

    fn write_value(&self, writer: &mut Writer<'_>) {
        writer.constructed(tags::SEQUENCE, |writer| {
            for item in &self.0 {
                filter::write(item, writer);
            }
        });
    }
}

impl<'a> RequestControl<'a> for MatchedValues<'a> {
    const DESCRIPTOR: &'static Descriptor = &DESCRIPTOR;

    fn decode(value: &'a [u8], limits: &DecodeLimits) -> Result<Self, Fault> {
        let mut list = Reader::new(value)
            .sequence()
            .map_err(|error| Fault::from(error).worded("error decoding vrFilter, expect SEQUENCE tag"))?;
        let mut elements = Budget(limits.filter_elements);
        let mut items = Vec::new();
        while !list.is_empty() {
            elements.take()?;
            let (identifier, content) = list
                .nested_any()
                .map_err(|error| Fault::from(error).worded("error decoding vrFilter"))?;
            items.push(filter::leaf(identifier, content, &mut elements)?);
        }
        Ok(Self(items))
    }
}

/// Row of the registry.
pub const DESCRIPTOR: Descriptor = Descriptor {
    oid: "1.2.826.0.1.3344810.2.3",
    name: "matched values",
    operations: descriptor::SEARCH,
    extended_operations: &[],
    criticality: Criticality::Any,
    value: ValueRule::NotEmpty,
    advertised: true,
    texts: texts!("valuesReturnFilter control"),
};
