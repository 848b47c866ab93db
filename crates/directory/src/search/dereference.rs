//! The dereference control (draft-masarati-ldap-deref): attributes of the entries that an entry's DNs name.

use std::ops::ControlFlow;

use ironbark_ber::Writer;
use ironbark_ldap_proto::{
    Attribute, EncodeControl, List,
    controls::{ControlValue, DereferenceResponse, DereferenceResult},
};
use ironbark_model::Dn;
use ironbark_store::Location;

use super::{SearchRun, encode::DereferenceSpecification};
use crate::{
    OperationError,
    access::{self, Source, Subject, VisibleEntry},
};

/// DNs that are looked up for one entry; the rest are left out.
const LOOK_UP_LIMIT: usize = 100_000;

/// What was found for one entry, owned until it is encoded.
#[derive(Debug, Default)]
pub(super) struct Dereferenced {
    entries: Vec<DereferencedEntry>,
}

#[derive(Debug)]
struct DereferencedEntry {
    attribute: Vec<u8>,
    value: Vec<u8>,
    attributes: Vec<(Vec<u8>, Vec<Vec<u8>>)>,
}

impl EncodeControl for Dereferenced {
    fn oid(&self) -> &[u8] {
        DereferenceResponse::OID.as_bytes()
    }

    fn write_value(&self, writer: &mut Writer<'_>) {
        let values: Vec<Vec<Vec<&[u8]>>> = self
            .entries
            .iter()
            .map(|entry| {
                entry
                    .attributes
                    .iter()
                    .map(|(_, values)| values.iter().map(Vec::as_slice).collect())
                    .collect()
            })
            .collect();
        let attributes: Vec<Vec<Attribute<'_>>> = self
            .entries
            .iter()
            .zip(&values)
            .map(|(entry, values)| {
                let named = entry.attributes.iter().zip(values);
                named
                    .map(|((name, _), values)| Attribute {
                        description: name,
                        values: List::new(values),
                    })
                    .collect()
            })
            .collect();
        let results: Vec<DereferenceResult<'_>> = self
            .entries
            .iter()
            .zip(&attributes)
            .map(|(entry, attributes)| DereferenceResult {
                attribute: &entry.attribute,
                value: &entry.value,
                attributes: List::new(attributes),
            })
            .collect();
        ControlValue::write_value(&DereferenceResponse(List::new(&results)), writer);
    }
}

/// The control's value for an entry; `None` when it has none of the attributes.
pub(super) fn response(
    run: &SearchRun,
    entry: &VisibleEntry<'_>,
    specifications: &[DereferenceSpecification],
) -> Result<Option<Dereferenced>, OperationError> {
    let Source::Record(record, _) = entry.source() else {
        return Ok(None);
    };
    let mut response = Dereferenced::default();
    for specification in specifications {
        let Some(attribute) = record.values(&specification.attribute) else {
            continue;
        };
        let mut failure = None;
        let mut looked_up = 0;
        attribute.for_each(&mut |value| {
            looked_up += 1;
            if looked_up > LOOK_UP_LIMIT {
                return ControlFlow::Break(());
            }
            if !entry.may_read(&specification.attribute, Some(value)) {
                return ControlFlow::Continue(());
            }
            match dereference(run, specification, value) {
                Ok(found) => {
                    response.entries.extend(found);
                    ControlFlow::Continue(())
                }
                Err(error) => {
                    failure = Some(error);
                    ControlFlow::Break(())
                }
            }
        })?;
        if let Some(error) = failure {
            return Err(error);
        }
    }
    Ok((!response.entries.is_empty()).then_some(response))
}

fn dereference(
    run: &SearchRun,
    specification: &DereferenceSpecification,
    value: &[u8],
) -> Result<Option<DereferencedEntry>, OperationError> {
    let configuration = &run.configuration;
    let Ok(dn) = Dn::parse(&configuration.schema, value) else {
        return Ok(None);
    };
    let mut result = DereferencedEntry {
        attribute: specification.name.to_vec(),
        value: value.to_vec(),
        attributes: Vec::new(),
    };
    let Some(context) = configuration.context_of(&dn) else {
        return Ok(Some(result));
    };
    let Some(database) = context.database() else {
        return Ok(Some(result));
    };
    let snapshot = database.snapshot()?;
    let view = snapshot.view();
    let Location::Entry(id) = view.locate(&dn)? else {
        return Ok(Some(result));
    };
    let Some(record) = view.record(id)? else {
        return Ok(Some(result));
    };
    let subject = Subject::of(&run.origin, context);
    let source = Source::Record(&record, view);
    let check = access::check(configuration, context, subject, source);
    let Some(visible) = access::visible(check.as_ref(), source, dn.pretty()) else {
        return Ok(Some(result));
    };
    for attribute in record.attributes() {
        let description = attribute.description();
        if !specification.selection.selects(&configuration.schema, description) {
            continue;
        }
        let mut values = Vec::new();
        attribute.for_each(&mut |value| {
            if visible.may_read(description, Some(value)) {
                values.push(value.to_vec());
            }
            ControlFlow::Continue(())
        })?;
        if !values.is_empty() {
            result.attributes.push((attribute.name().to_vec(), values));
        }
    }
    Ok(Some(result))
}
