//! Persistent search (draft-ietf-ldapext-psearch-03): a search that goes on with each change of an entry. The request,
//! and the entry change notification that comes with an entry.

use ironbark_ber::{BerError, ErrorKind, Reader, Writer, tags};

use ironbark_ldap_proto::{
    DecodeLimits, Fault, Operation,
    controls::{ControlValue, Criticality, Descriptor, RequestControl, ValueRule, descriptor::texts},
};
use ironbark_model::ResultCode;

/// OID of the entry change notification control.
pub const CHANGE_OID: &str = "2.16.840.1.113730.3.4.7";

/// The request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PersistentSearch {
    /// The kinds of changes that the client wants to know.
    pub changes: ChangeTypes,
    /// Whether only changes are sent, and not the entries that are there already.
    pub changes_only: bool,
    /// Whether an entry change notification comes with each change.
    pub notifies: bool,
}

/// What was done to an entry. The values are those of `changeType`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChangeType {
    /// It was added.
    Add = 1,
    /// It was deleted.
    Delete = 2,
    /// It was modified.
    Modify = 4,
    /// It was renamed, or moved.
    ModDn = 8,
}

/// A set of [`ChangeType`]s.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChangeTypes(u8);

/// Entry change notification: why an entry is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EntryChange<'a> {
    /// What was done to it.
    pub change: ChangeType,
    /// Its name before it was renamed.
    pub previous_dn: Option<&'a [u8]>,
}

impl ChangeTypes {
    /// All four.
    pub const ALL: Self = Self(15);

    /// Whether it has this kind.
    pub const fn contains(self, change: ChangeType) -> bool {
        self.0 & change as u8 != 0
    }
}

impl FromIterator<ChangeType> for ChangeTypes {
    fn from_iter<T: IntoIterator<Item = ChangeType>>(changes: T) -> Self {
        Self(changes.into_iter().fold(0, |all, change| all | change as u8))
    }
}

impl<'a> EntryChange<'a> {
    /// Decodes the value's content octets.
    ///
    /// # Errors
    /// They are no such value.
    pub fn decode_value(value: &'a [u8]) -> Result<Self, Fault> {
        let mut content = Reader::new(value).sequence()?;
        let change = match content.integer_i32(tags::ENUMERATED)? {
            1 => ChangeType::Add,
            2 => ChangeType::Delete,
            4 => ChangeType::Modify,
            8 => ChangeType::ModDn,
            _ => return Err(Fault::refused(ResultCode::PROTOCOL_ERROR, "changeType is unknown")),
        };
        let previous_dn = content.optional(tags::OCTET_STRING)?;
        Ok(Self { change, previous_dn })
    }
}

impl ControlValue for PersistentSearch {
    const OID: &'static str = DESCRIPTOR.oid;

    fn write_value(&self, writer: &mut Writer<'_>) {
        writer.constructed(tags::SEQUENCE, |writer| {
            writer.integer(i64::from(self.changes.0));
            writer.boolean(self.changes_only);
            writer.boolean(self.notifies);
        });
    }
}

impl ControlValue for EntryChange<'_> {
    const OID: &'static str = CHANGE_OID;

    fn write_value(&self, writer: &mut Writer<'_>) {
        writer.constructed(tags::SEQUENCE, |writer| {
            writer.enumerated(self.change as i64);
            if let Some(name) = self.previous_dn {
                writer.octet_string(name);
            }
        });
    }
}

impl<'a> RequestControl<'a> for PersistentSearch {
    const DESCRIPTOR: &'static Descriptor = &DESCRIPTOR;

    fn decode(value: &'a [u8], _: &DecodeLimits) -> Result<Self, Fault> {
        read_request(value).map_err(|_| DESCRIPTOR.malformed())
    }
}

fn read_request(value: &[u8]) -> Result<PersistentSearch, BerError> {
    let mut content = Reader::new(value).sequence()?;
    let before = content;
    let changes = match u8::try_from(content.integer()?) {
        Ok(changes @ 1..=15) => ChangeTypes(changes),
        _ => return Err(before.error(ErrorKind::BadInteger)),
    };
    Ok(PersistentSearch {
        changes,
        changes_only: content.boolean()?,
        notifies: content.boolean()?,
    })
}

/// Its description.
pub const DESCRIPTOR: Descriptor = Descriptor {
    oid: "2.16.840.1.113730.3.4.3",
    name: "persistent search",
    operations: &[Operation::Search],
    extended_operations: &[],
    criticality: Criticality::Any,
    value: ValueRule::NotEmpty,
    advertised: true,
    texts: texts!("persistent search control"),
};

#[cfg(test)]
mod tests {
    use super::*;

    fn octets(control: &impl ControlValue) -> Vec<u8> {
        let mut out = Vec::new();
        control.write_value(&mut Writer::new(&mut out));
        out
    }

    #[test]
    fn a_request_asks_for_at_least_one_kind_of_change_and_for_none_that_is_unknown() {
        for changes in 0..=32 {
            let mut out = Vec::new();
            Writer::new(&mut out).constructed(tags::SEQUENCE, |writer| {
                writer.integer(changes);
                writer.boolean(true);
                writer.boolean(false);
            });
            let read = PersistentSearch::decode(&out, &DecodeLimits::default());
            assert_eq!(read.is_ok(), (1..=15).contains(&changes), "{changes}");
        }
        assert!(PersistentSearch::decode(&[0x30, 3, 2, 1, 1], &DecodeLimits::default()).is_err());
    }

    #[test]
    fn request_and_notification_are_read_as_they_were_written() {
        let asked = PersistentSearch {
            changes: [ChangeType::Delete, ChangeType::ModDn].into_iter().collect(),
            changes_only: true,
            notifies: true,
        };
        let value = octets(&asked);
        assert_eq!(
            PersistentSearch::decode(&value, &DecodeLimits::default()).unwrap(),
            asked
        );
        assert!(!asked.changes.contains(ChangeType::Add) && asked.changes.contains(ChangeType::ModDn));
        let told = EntryChange {
            change: ChangeType::ModDn,
            previous_dn: Some(b"cn=a,dc=b"),
        };
        assert_eq!(EntryChange::decode_value(&octets(&told)).unwrap(), told);
    }
}
