//! The bytes of a change record, for logs and for other servers.
//!
//! ```text
//! byte       version, 1
//! byte       kind: 1 add, 2 delete, 3 modify, 4 modify DN
//! string     CSN
//! string     author
//! list       effects, each:
//!   byte     1 add:    string DN, list of attributes (string description, list of values)
//!            2 modify: string DN, list of changes
//!            3 rename: string DN, string new DN, list of changes
//!            4 delete: string DN, string entryUUID
//! change     byte 1 add, 2 delete, 3 replace; string description; list of values
//! list       varint count, then the items
//! string     varint length, then the bytes (UTF-8)
//! value      varint length, then the bytes
//! ```
//!
//! Varints are the ordered ones of ARCHITECTURE.md, "Tables". Nothing may follow the last effect.

use super::{ChangeKind, ChangeRecord, Effect, ValueChange};
use crate::{StoreError, varint};

/// The version that is written; readers refuse later ones.
const VERSION: u8 = 1;

impl ChangeRecord {
    /// Appends the encoding.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.push(VERSION);
        out.push(match self.kind {
            ChangeKind::Add => 1,
            ChangeKind::Delete => 2,
            ChangeKind::Modify => 3,
            ChangeKind::ModifyDn => 4,
        });
        put(self.csn.as_bytes(), out);
        put(self.author.as_bytes(), out);
        varint::put(out, self.effects.len() as u64);
        for effect in &self.effects {
            put_effect(effect, out);
        }
    }
    /// Reads an encoding. Memory is taken for what is there, never for what a length says.
    ///
    /// # Errors
    /// [`StoreError::Format`]: a later version, or damage.
    pub fn decode(bytes: &[u8]) -> Result<Self, StoreError> {
        if bytes.first().is_some_and(|&version| version > VERSION) {
            return Err(StoreError::Format("change record of a later version".into()));
        }
        Reader(bytes)
            .record()
            .ok_or_else(|| StoreError::Format("malformed change record".into()))
    }
}

fn put(bytes: &[u8], out: &mut Vec<u8>) {
    varint::put(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn put_values(values: &[Vec<u8>], out: &mut Vec<u8>) {
    varint::put(out, values.len() as u64);
    for value in values {
        put(value, out);
    }
}

fn put_changes(changes: &[ValueChange], out: &mut Vec<u8>) {
    varint::put(out, changes.len() as u64);
    for change in changes {
        let (kind, attribute, values) = match change {
            ValueChange::Add { attribute, values } => (1, attribute, values),
            ValueChange::Delete { attribute, values } => (2, attribute, values),
            ValueChange::Replace { attribute, values } => (3, attribute, values),
        };
        out.push(kind);
        put(attribute.as_bytes(), out);
        put_values(values, out);
    }
}

fn put_effect(effect: &Effect, out: &mut Vec<u8>) {
    match effect {
        Effect::Add { dn, attributes } => {
            out.push(1);
            put(dn.as_bytes(), out);
            varint::put(out, attributes.len() as u64);
            for (description, values) in attributes {
                put(description.as_bytes(), out);
                put_values(values, out);
            }
        }
        Effect::Modify { dn, changes } => {
            out.push(2);
            put(dn.as_bytes(), out);
            put_changes(changes, out);
        }
        Effect::Rename { dn, new_dn, changes } => {
            out.push(3);
            put(dn.as_bytes(), out);
            put(new_dn.as_bytes(), out);
            put_changes(changes, out);
        }
        Effect::Delete { dn, entry_uuid } => {
            out.push(4);
            put(dn.as_bytes(), out);
            put(entry_uuid.as_bytes(), out);
        }
    }
}

/// What is left to read. Each item takes at least one byte, so that lists end with the bytes.
struct Reader<'b>(&'b [u8]);

impl<'b> Reader<'b> {
    fn record(mut self) -> Option<ChangeRecord> {
        if self.byte()? != VERSION {
            return None;
        }
        let kind = match self.byte()? {
            1 => ChangeKind::Add,
            2 => ChangeKind::Delete,
            3 => ChangeKind::Modify,
            4 => ChangeKind::ModifyDn,
            _ => return None,
        };
        let (csn, author) = (self.string()?, self.string()?);
        let effects = self.list(Self::effect)?;
        self.0.is_empty().then_some(ChangeRecord {
            csn,
            author,
            kind,
            effects,
        })
    }
    fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(byte)
    }
    fn bytes(&mut self) -> Option<&'b [u8]> {
        let length = usize::try_from(varint::take(&mut self.0)?).ok()?;
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }
    fn string(&mut self) -> Option<Box<str>> {
        std::str::from_utf8(self.bytes()?).ok().map(Into::into)
    }
    fn list<T>(&mut self, item: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = varint::take(&mut self.0)?;
        if count > self.0.len() as u64 {
            return None;
        }
        (0..count).map(|_| item(self)).collect()
    }
    fn values(&mut self) -> Option<Vec<Vec<u8>>> {
        self.list(|reader| reader.bytes().map(<[u8]>::to_vec))
    }
    fn change(&mut self) -> Option<ValueChange> {
        let kind = self.byte()?;
        let (attribute, values) = (self.string()?, self.values()?);
        match kind {
            1 => Some(ValueChange::Add { attribute, values }),
            2 => Some(ValueChange::Delete { attribute, values }),
            3 => Some(ValueChange::Replace { attribute, values }),
            _ => None,
        }
    }
    fn effect(&mut self) -> Option<Effect> {
        let kind = self.byte()?;
        let dn = self.string()?;
        match kind {
            1 => {
                let attributes = self.list(|reader| Some((reader.string()?, reader.values()?)))?;
                Some(Effect::Add { dn, attributes })
            }
            2 => Some(Effect::Modify {
                dn,
                changes: self.list(Self::change)?,
            }),
            3 => Some(Effect::Rename {
                dn,
                new_dn: self.string()?,
                changes: self.list(Self::change)?,
            }),
            4 => Some(Effect::Delete {
                dn,
                entry_uuid: self.string()?,
            }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text() -> impl Strategy<Value = Box<str>> {
        ".{0,12}".prop_map(Into::into)
    }
    fn values() -> impl Strategy<Value = Vec<Vec<u8>>> {
        proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..20), 0..4)
    }
    fn changes() -> impl Strategy<Value = Vec<ValueChange>> {
        let change = (0u8..3, text(), values()).prop_map(|(kind, attribute, values)| match kind {
            0 => ValueChange::Add { attribute, values },
            1 => ValueChange::Delete { attribute, values },
            _ => ValueChange::Replace { attribute, values },
        });
        proptest::collection::vec(change, 0..4)
    }
    fn effects() -> impl Strategy<Value = Effect> {
        prop_oneof![
            (text(), proptest::collection::vec((text(), values()), 0..4))
                .prop_map(|(dn, attributes)| Effect::Add { dn, attributes }),
            (text(), changes()).prop_map(|(dn, changes)| Effect::Modify { dn, changes }),
            (text(), text(), changes()).prop_map(|(dn, new_dn, changes)| Effect::Rename { dn, new_dn, changes }),
            (text(), text()).prop_map(|(dn, entry_uuid)| Effect::Delete { dn, entry_uuid }),
        ]
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(csn in text(), author in text(), kind in 0u8..4,
            effects in proptest::collection::vec(effects(), 0..5)) {
            let kind = [ChangeKind::Add, ChangeKind::Delete, ChangeKind::Modify, ChangeKind::ModifyDn][kind as usize];
            let record = ChangeRecord { csn, author, kind, effects };
            let mut bytes = Vec::new();
            record.encode(&mut bytes);
            prop_assert_eq!(ChangeRecord::decode(&bytes).unwrap(), record);
            for cut in 0..bytes.len() {
                prop_assert!(ChangeRecord::decode(&bytes[..cut]).is_err());
            }
            bytes.push(0);
            prop_assert!(ChangeRecord::decode(&bytes).is_err());
        }
        #[test]
        fn hostile_bytes_are_refused(mut bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            let _ = ChangeRecord::decode(&bytes);
            if let Some(first) = bytes.first_mut() { *first = VERSION; }
            let _ = ChangeRecord::decode(&bytes);
        }
    }

    #[test]
    fn the_encoding_is_as_documented() {
        let record = ChangeRecord {
            csn: "c".into(),
            author: "".into(),
            kind: ChangeKind::Modify,
            effects: vec![Effect::Modify {
                dn: "dc=a".into(),
                changes: vec![ValueChange::Replace {
                    attribute: "cn".into(),
                    values: vec![b"x".to_vec()],
                }],
            }],
        };
        let mut bytes = Vec::new();
        record.encode(&mut bytes);
        assert_eq!(bytes, b"\x01\x03\x01c\x00\x01\x02\x04dc=a\x01\x03\x02cn\x01\x01x");
    }

    #[test]
    fn a_later_version_is_told_apart() {
        assert!(
            ChangeRecord::decode(&[2, 1])
                .unwrap_err()
                .to_string()
                .contains("later version")
        );
    }
}
