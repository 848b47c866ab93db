//! Dereference (draft-masarati-ldap-deref): returns attributes of the entries that an entry's DN values name, in the
//! same answer.

use ironbark_ber::{BerError, Reader, Writer, tags};

use super::{
    ControlValue, Criticality, Descriptor, RequestControl, Texts, ValueRule,
    descriptor::{self, texts},
};
use crate::{AttributeList, AttributeSelection, DecodeLimits, Fault, List, list::Element};

/// Specifications of one request. Each one is evaluated for every entry.
const MOST_SPECIFICATIONS: usize = 100;

/// What to dereference.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DereferenceRequest<'a>(pub List<'a, DereferenceSpecification<'a>>);

/// One DN-valued attribute, and what to return of the entries that it names.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DereferenceSpecification<'a> {
    /// Attribute whose values are followed.
    pub attribute: &'a [u8],
    /// Attributes of the entries found; not empty.
    pub attributes: AttributeSelection<'a>,
}

/// What was found; comes with each search result entry.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DereferenceResponse<'a>(pub List<'a, DereferenceResult<'a>>);

/// One value that was followed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DereferenceResult<'a> {
    /// Attribute whose value was followed.
    pub attribute: &'a [u8],
    /// The value: a name.
    pub value: &'a [u8],
    /// Attributes of the named entry; empty when there is no visible entry.
    pub attributes: AttributeList<'a>,
}

impl<'a> DereferenceResponse<'a> {
    /// Decodes the value's content octets.
    pub fn decode_value(value: &'a [u8]) -> Result<Self, Fault> {
        Ok(Self(List::decode_all(Reader::new(value).sequence()?)?))
    }
}

impl DereferenceResult<'_> {
    /// Appends its encoding. [`EncodedDereferences`] sends several of these, one after the other.
    pub fn append(&self, out: &mut Vec<u8>) {
        self.write(&mut Writer::new(out));
    }
}

/// A response made of encoded results.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct EncodedDereferences(pub Vec<u8>);

impl ControlValue for EncodedDereferences {
    const OID: &'static str = DESCRIPTOR.oid;

    fn write_value(&self, writer: &mut Writer<'_>) {
        writer.constructed(tags::SEQUENCE, |writer| writer.raw(&self.0));
    }
}

impl<'a> Element<'a> for DereferenceSpecification<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, BerError> {
        let mut content = reader.sequence()?;
        Ok(Self {
            attribute: content.octet_string()?,
            attributes: List::decode_all(content.sequence()?)?,
        })
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.constructed(tags::SEQUENCE, |writer| {
            writer.octet_string(self.attribute);
            self.attributes.write(writer, tags::SEQUENCE);
        });
    }
}

impl<'a> Element<'a> for DereferenceResult<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, BerError> {
        let mut content = reader.sequence()?;
        Ok(Self {
            attribute: content.octet_string()?,
            value: content.octet_string()?,
            attributes: if content.peek() == Some(ATTRIBUTES) {
                List::decode_all(content.nested(ATTRIBUTES)?)?
            } else {
                List::default()
            },
        })
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.constructed(tags::SEQUENCE, |writer| {
            writer.octet_string(self.attribute);
            writer.octet_string(self.value);
            if !self.attributes.is_empty() {
                self.attributes.write(writer, ATTRIBUTES);
            }
        });
    }
}

impl ControlValue for DereferenceRequest<'_> {
    const OID: &'static str = DESCRIPTOR.oid;

    fn write_value(&self, writer: &mut Writer<'_>) {
        self.0.write(writer, tags::SEQUENCE);
    }
}

impl ControlValue for DereferenceResponse<'_> {
    const OID: &'static str = DESCRIPTOR.oid;

    fn write_value(&self, writer: &mut Writer<'_>) {
        self.0.write(writer, tags::SEQUENCE);
    }
}

impl<'a> RequestControl<'a> for DereferenceRequest<'a> {
    const DESCRIPTOR: &'static Descriptor = &DESCRIPTOR;

    fn decode(value: &'a [u8], limits: &DecodeLimits) -> Result<Self, Fault> {
        let specifications: List<'a, DereferenceSpecification<'a>> = Reader::new(value)
            .sequence()
            .and_then(|list| List::decode(list, MOST_SPECIFICATIONS))
            .map_err(|_| DESCRIPTOR.malformed())?
            .ok_or(Fault::TOO_MANY)?;
        if specifications.iter().any(|one| one.attributes.is_empty()) {
            return Err(DESCRIPTOR.malformed());
        }
        let names: usize = specifications.iter().map(|one| one.attributes.len()).sum();
        if names > limits.selected_attributes {
            return Err(Fault::TOO_MANY);
        }
        Ok(Self(specifications))
    }
}

/// Row of the registry.
pub const DESCRIPTOR: Descriptor = Descriptor {
    oid: "1.3.6.1.4.1.4203.666.5.16",
    name: "dereference",
    operations: descriptor::SEARCH,
    extended_operations: &[],
    criticality: Criticality::Any,
    value: ValueRule::NotEmpty,
    advertised: true,
    texts: Texts {
        malformed: "Dereference control: derefSpec decoding error",
        ..texts!("Dereference control")
    },
};

const ATTRIBUTES: u8 = tags::context_constructed(0);
