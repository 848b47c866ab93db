//! Modify (RFC 4511 §4.6, increment: RFC 4525).

use ironbark_ber::{BerError, ErrorKind, Reader, Writer, tags};

use crate::{DecodeLimits, Fault, List, PartialAttribute, ValueSet, list::Element};

/// A modify request.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ModifyRequest<'a> {
    /// Name of the entry.
    pub object: &'a [u8],
    /// Changes, in the order in which they are made.
    pub changes: Modifications<'a>,
}

/// The changes of a modify request (RFC 4511 §4.6).
pub type Modifications<'a> = List<'a, ModifyChange<'a>>;

/// One change of a modify request.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ModifyChange<'a> {
    /// What is done.
    pub operation: ModifyOperation,
    /// Attribute description.
    pub attribute: &'a [u8],
    /// Values; not empty for add, exactly one for increment.
    pub values: ValueSet<'a>,
}

/// What a [`ModifyChange`] does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ModifyOperation {
    /// Adds the values.
    Add,
    /// Deletes the values; without values it deletes the attribute.
    Delete,
    /// Replaces all values; without values it deletes the attribute if there is one.
    Replace,
    /// Adds a number to each value (RFC 4525).
    Increment,
}

impl<'a> ModifyRequest<'a> {
    pub(crate) fn decode(mut content: Reader<'a>, limits: &DecodeLimits) -> Result<Self, Fault> {
        let object = content.octet_string()?;
        let list = content.sequence()?;
        let mut left = list;
        while !left.is_empty() {
            check(&mut left)?;
        }
        let changes = List::decode(list, limits.attributes)?.ok_or(Fault::TOO_MANY)?;
        Ok(Self { object, changes })
    }

    pub(crate) fn write_content(&self, writer: &mut Writer<'_>) {
        writer.octet_string(self.object);
        self.changes.write(writer, tags::SEQUENCE);
    }
}

/// Checks one change, with slapd's texts.
fn check(list: &mut Reader<'_>) -> Result<(), Fault> {
    let (number, attribute) = read(list).map_err(|error| Fault {
        // slapd answers this fault and keeps the connection.
        disconnect: false,
        ..Fault::from(error).worded("decoding modlist error")
    })?;
    let operation = ModifyOperation::from_number(number).ok_or(Fault::protocol("unrecognized modify operation"))?;
    match (operation, attribute.values.len()) {
        (ModifyOperation::Add, 0) => Err(Fault::protocol("modify/add operation requires values")),
        (ModifyOperation::Increment, 0) => Err(Fault::protocol("modify/increment operation requires value")),
        (ModifyOperation::Increment, 2..) => Err(Fault::protocol("modify/increment operation requires single value")),
        _ => Ok(()),
    }
}

fn read<'a>(list: &mut Reader<'a>) -> Result<(i32, PartialAttribute<'a>), BerError> {
    let mut change = list.sequence()?;
    let number = change.enumerated()?;
    let attribute = PartialAttribute::read(&mut change)?;
    Ok((number, attribute))
}

impl<'a> Element<'a> for ModifyChange<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, BerError> {
        let before = *reader;
        let (number, attribute) = read(reader)?;
        Ok(Self {
            operation: ModifyOperation::from_number(number).ok_or(before.error(ErrorKind::BadInteger))?,
            attribute: attribute.description,
            values: attribute.values,
        })
    }

    fn write(&self, writer: &mut Writer<'_>) {
        writer.constructed(tags::SEQUENCE, |writer| {
            writer.enumerated(i64::from(self.operation.number()));
            let attribute = PartialAttribute {
                description: self.attribute,
                values: self.values,
            };
            attribute.write(writer);
        });
    }
}

impl ModifyOperation {
    /// The operation of this number on the wire.
    pub const fn from_number(number: i32) -> Option<Self> {
        Some(match number {
            0 => Self::Add,
            1 => Self::Delete,
            2 => Self::Replace,
            3 => Self::Increment,
            _ => return None,
        })
    }

    /// Its number on the wire.
    pub const fn number(self) -> u8 {
        match self {
            Self::Add => 0,
            Self::Delete => 1,
            Self::Replace => 2,
            Self::Increment => 3,
        }
    }
}
