//! The bytes of a change record, for the log and for other servers.
//!
//! ```text
//! byte       version, 2
//! 8 bytes    generation
//! varint     sequence
//! 16 bytes   hash of the record before it, or zeros
//! csn        CSN
//! varint     ID of the server that brought it
//! 8 bytes    microseconds since 1970, in two's complement
//! byte       kind: 1 add, 2 delete, 3 modify, 4 modify DN
//! string     author
//! string     authenticated identity
//! list       effects, each:
//!   byte     1 add, 2 modify, 3 rename, 4 delete
//!   byte     1 internal, 2 silent, 4 with the values that are gone
//!   16 bytes entryUUID, or zeros
//!   string   DN
//!            1 add:    list of attributes
//!            2 modify: list of changes
//!            3 rename: string new DN, list of changes
//!            4 delete: if marked with 4, list of attributes
//! byte       sections that follow: 1 request, 2 requested changes, 4 cookie
//! request    varint connection, varint operation, string peer name, list of controls (string OID, byte critical)
//! requested  list of: byte 1 add: string DN, list of attributes
//!                          2 modify: string DN, list of (byte 1 add, 2 delete, 3 replace, 4 increment; attribute)
//!                          3 modify DN: string DN, string new RDN, byte (1 deletes the old RDN, 2 with new superior),
//!                            string new superior if there is one
//!                          4 delete: string DN
//!                          5 as applied: varint number of the effect
//! cookie     list of csn
//! change     byte 1 add, 2 delete, 3 replace; attribute; if marked with 4, and not an add, list of values
//! attribute  string description, list of values
//! csn        8 bytes microseconds since 0000-03-01 less 400 years, 3 bytes count, 3 bytes modification, 2 bytes server ID
//! list       varint count, then the items
//! string     varint length, then the bytes (UTF-8)
//! value      varint length, then the bytes
//! ```
//!
//! Varints are the ordered ones of ARCHITECTURE.md, "Tables"; numbers of fixed length are big-endian. Nothing may
//! follow the last section. No log has ever held records of version 1.

use super::{
    Before, ChangeKind, ChangeRecord, Effect, Gone, Marks, Position, RecordedEffect, RequestFacts, RequestedChange,
    RequestedControl, RequestedKind, RequestedModification, TextAttribute, ValueChange,
};
use crate::{
    StoreError,
    csn::{Csn, OCTETS},
    varint,
};

/// The version that is written and read.
const VERSION: u8 = 2;

const INTERNAL: u8 = 1;
const SILENT: u8 = 2;
const WITH_GONE: u8 = 4;

const HAS_REQUEST: u8 = 1;
const HAS_REQUESTED: u8 = 2;
const HAS_COOKIE: u8 = 4;

const DELETES_OLD_RDN: u8 = 1;
const HAS_SUPERIOR: u8 = 2;

impl ChangeRecord {
    /// Appends the encoding.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.push(VERSION);
        out.extend_from_slice(&self.position.generation.to_be_bytes());
        varint::put(out, self.position.sequence);
        out.extend_from_slice(&self.predecessor);
        out.extend_from_slice(&self.csn.octets());
        varint::put(out, u64::from(self.via));
        out.extend_from_slice(&self.unix_micros.to_be_bytes());
        out.push(match self.kind {
            ChangeKind::Add => 1,
            ChangeKind::Delete => 2,
            ChangeKind::Modify => 3,
            ChangeKind::ModifyDn => 4,
        });
        put(self.author.as_bytes(), out);
        put(self.authenticated.as_bytes(), out);
        put_list(&self.effects, out, put_effect);
        let sections = [
            (self.request.is_some(), HAS_REQUEST),
            (!self.requested.is_empty(), HAS_REQUESTED),
            (!self.cookie.is_empty(), HAS_COOKIE),
        ];
        out.push(flags(&sections));
        if let Some(request) = &self.request {
            put_request(request, out);
        }
        if !self.requested.is_empty() {
            put_list(&self.requested, out, put_requested);
        }
        if !self.cookie.is_empty() {
            put_list(&self.cookie, out, |csn, out| out.extend_from_slice(&csn.octets()));
        }
    }

    /// Reads an encoding. Memory is taken for the bytes that are there, never for the length that they claim.
    ///
    /// # Errors
    /// [`StoreError::Format`]: another version, or damage.
    pub fn decode(bytes: &[u8]) -> Result<Self, StoreError> {
        if bytes.first().is_some_and(|&version| version > VERSION) {
            return Err(StoreError::Format("change record of a later version".into()));
        }
        Reader(bytes)
            .record()
            .ok_or_else(|| StoreError::Format("malformed change record".into()))
    }
}

fn flags(set: &[(bool, u8)]) -> u8 {
    set.iter()
        .filter(|(holds, _)| *holds)
        .fold(0, |flags, (_, flag)| flags | flag)
}

fn put(bytes: &[u8], out: &mut Vec<u8>) {
    varint::put(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn put_list<T>(items: &[T], out: &mut Vec<u8>, put_item: impl Fn(&T, &mut Vec<u8>)) {
    varint::put(out, items.len() as u64);
    for item in items {
        put_item(item, out);
    }
}

fn put_values(values: &[Vec<u8>], out: &mut Vec<u8>) {
    put_list(values, out, |value, out| put(value, out));
}

fn put_attributes(attributes: &[TextAttribute], out: &mut Vec<u8>) {
    put_list(attributes, out, |(description, values), out| {
        put(description.as_bytes(), out);
        put_values(values, out);
    });
}

fn put_changes(changes: &[ValueChange], gone: &Gone, out: &mut Vec<u8>) {
    varint::put(out, changes.len() as u64);
    for (number, change) in changes.iter().enumerate() {
        let (kind, attribute, values) = match change {
            ValueChange::Add { attribute, values } => (1, attribute, values),
            ValueChange::Delete { attribute, values } => (2, attribute, values),
            ValueChange::Replace { attribute, values } => (3, attribute, values),
        };
        out.push(kind);
        put(attribute.as_bytes(), out);
        put_values(values, out);
        if let Gone::Values(gone) = gone
            && kind != 1
        {
            put_values(gone.get(number).map_or(&[], Vec::as_slice), out);
        }
    }
}

fn put_effect(recorded: &RecordedEffect, out: &mut Vec<u8>) {
    let RecordedEffect { effect, marks, before } = recorded;
    out.push(match effect {
        Effect::Add { .. } => 1,
        Effect::Modify { .. } => 2,
        Effect::Rename { .. } => 3,
        Effect::Delete { .. } => 4,
    });
    let marks = [
        (marks.internal, INTERNAL),
        (marks.silent, SILENT),
        (before.gone.is_of(effect), WITH_GONE),
    ];
    out.push(flags(&marks));
    out.extend_from_slice(&before.entry_uuid);
    put(effect.dn().as_bytes(), out);
    match (effect, &before.gone) {
        (Effect::Add { attributes, .. }, _) | (Effect::Delete { .. }, Gone::Entry(attributes)) => {
            put_attributes(attributes, out);
        }
        (Effect::Modify { changes, .. }, gone) => put_changes(changes, gone, out),
        (Effect::Rename { new_dn, changes, .. }, gone) => {
            put(new_dn.as_bytes(), out);
            put_changes(changes, gone, out);
        }
        (Effect::Delete { .. }, _) => {}
    }
}

impl Gone {
    /// Whether it fits an effect of this kind.
    fn is_of(&self, effect: &Effect) -> bool {
        match self {
            Self::Unknown => false,
            Self::Values(_) => matches!(effect, Effect::Modify { .. } | Effect::Rename { .. }),
            Self::Entry(_) => matches!(effect, Effect::Delete { .. }),
        }
    }
}

fn put_request(request: &RequestFacts, out: &mut Vec<u8>) {
    varint::put(out, request.connection);
    varint::put(out, request.operation);
    put(request.peer_name.as_bytes(), out);
    put_list(&request.controls, out, |control, out| {
        put(control.oid.as_bytes(), out);
        out.push(u8::from(control.critical));
    });
}

fn put_requested(requested: &RequestedChange, out: &mut Vec<u8>) {
    match requested {
        RequestedChange::Add { dn, attributes } => {
            out.push(1);
            put(dn.as_bytes(), out);
            put_attributes(attributes, out);
        }
        RequestedChange::Modify { dn, modifications } => {
            out.push(2);
            put(dn.as_bytes(), out);
            put_list(modifications, out, |modification, out| {
                out.push(match modification.kind {
                    RequestedKind::Add => 1,
                    RequestedKind::Delete => 2,
                    RequestedKind::Replace => 3,
                    RequestedKind::Increment => 4,
                });
                put(modification.attribute.as_bytes(), out);
                put_values(&modification.values, out);
            });
        }
        RequestedChange::ModifyDn {
            dn,
            new_rdn,
            delete_old_rdn,
            new_superior,
        } => {
            out.push(3);
            put(dn.as_bytes(), out);
            put(new_rdn.as_bytes(), out);
            let set = [
                (*delete_old_rdn, DELETES_OLD_RDN),
                (new_superior.is_some(), HAS_SUPERIOR),
            ];
            out.push(flags(&set));
            if let Some(superior) = new_superior {
                put(superior.as_bytes(), out);
            }
        }
        RequestedChange::Delete { dn } => {
            out.push(4);
            put(dn.as_bytes(), out);
        }
        RequestedChange::AsApplied(number) => {
            out.push(5);
            varint::put(out, *number as u64);
        }
    }
}

/// The bytes that are left to read. Each item takes at least one byte, so a list cannot be longer than the bytes.
struct Reader<'b>(&'b [u8]);

impl<'b> Reader<'b> {
    fn record(mut self) -> Option<ChangeRecord> {
        let mut record = self.head()?;
        record.kind = match self.byte()? {
            1 => ChangeKind::Add,
            2 => ChangeKind::Delete,
            3 => ChangeKind::Modify,
            4 => ChangeKind::ModifyDn,
            _ => return None,
        };
        (record.author, record.authenticated) = (self.string()?, self.string()?);
        record.effects = self.list(Self::effect)?;
        let sections = self.flags(HAS_REQUEST | HAS_REQUESTED | HAS_COOKIE)?;
        if sections & HAS_REQUEST != 0 {
            record.request = Some(self.request()?);
        }
        if sections & HAS_REQUESTED != 0 {
            record.requested = self.filled_list(Self::requested)?;
        }
        if sections & HAS_COOKIE != 0 {
            record.cookie = self.filled_list(Self::csn)?;
        }
        self.0.is_empty().then_some(record)
    }

    /// Everything before the kind.
    fn head(&mut self) -> Option<ChangeRecord> {
        if self.byte()? != VERSION {
            return None;
        }
        Some(ChangeRecord {
            position: Position {
                generation: u64::from_be_bytes(self.array()?),
                sequence: varint::take(&mut self.0)?,
            },
            predecessor: self.array()?,
            csn: self.csn()?,
            via: u16::try_from(varint::take(&mut self.0)?).ok()?,
            unix_micros: i64::from_be_bytes(self.array()?),
            ..ChangeRecord::default()
        })
    }
    fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(byte)
    }
    /// A byte in which no other bits are set.
    fn flags(&mut self, known: u8) -> Option<u8> {
        self.byte().filter(|flags| flags & !known == 0)
    }
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (array, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*array)
    }
    fn csn(&mut self) -> Option<Csn> {
        self.array::<OCTETS>().map(|octets| Csn::from_octets(&octets))
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
    /// A list that is written only if it has items.
    fn filled_list<T>(&mut self, item: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        self.list(item).filter(|items| !items.is_empty())
    }
    fn values(&mut self) -> Option<Vec<Vec<u8>>> {
        self.list(|reader| reader.bytes().map(<[u8]>::to_vec))
    }
    fn attribute(&mut self) -> Option<TextAttribute> {
        Some((self.string()?, self.values()?))
    }
    /// Value changes, and the values that each has removed.
    fn changes(&mut self, with_gone: bool) -> Option<(Vec<ValueChange>, Gone)> {
        let pairs = self.list(|reader| {
            let kind = reader.byte()?;
            let (attribute, values) = reader.attribute()?;
            let change = match kind {
                1 => ValueChange::Add { attribute, values },
                2 => ValueChange::Delete { attribute, values },
                3 => ValueChange::Replace { attribute, values },
                _ => return None,
            };
            let gone = if with_gone && kind != 1 {
                reader.values()?
            } else {
                Vec::new()
            };
            Some((change, gone))
        })?;
        let (changes, gone) = pairs.into_iter().unzip();
        Some((changes, if with_gone { Gone::Values(gone) } else { Gone::Unknown }))
    }
    fn effect(&mut self) -> Option<RecordedEffect> {
        let kind = self.byte()?;
        let flags = self.flags(INTERNAL | SILENT | WITH_GONE)?;
        let with_gone = flags & WITH_GONE != 0;
        let entry_uuid = self.array()?;
        let dn = self.string()?;
        let (effect, gone) = match kind {
            1 if !with_gone => {
                let attributes = self.list(Self::attribute)?;
                (Effect::Add { dn, attributes }, Gone::Unknown)
            }
            2 => {
                let (changes, gone) = self.changes(with_gone)?;
                (Effect::Modify { dn, changes }, gone)
            }
            3 => {
                let new_dn = self.string()?;
                let (changes, gone) = self.changes(with_gone)?;
                (Effect::Rename { dn, new_dn, changes }, gone)
            }
            4 if with_gone => (Effect::Delete { dn }, Gone::Entry(self.list(Self::attribute)?)),
            4 => (Effect::Delete { dn }, Gone::Unknown),
            _ => return None,
        };
        Some(RecordedEffect {
            effect,
            marks: Marks {
                internal: flags & INTERNAL != 0,
                silent: flags & SILENT != 0,
            },
            before: Before { entry_uuid, gone },
        })
    }
    fn request(&mut self) -> Option<RequestFacts> {
        Some(RequestFacts {
            connection: varint::take(&mut self.0)?,
            operation: varint::take(&mut self.0)?,
            peer_name: self.string()?,
            controls: self.list(|reader| {
                Some(RequestedControl {
                    oid: reader.string()?,
                    critical: reader.flags(1)? == 1,
                })
            })?,
        })
    }
    fn requested(&mut self) -> Option<RequestedChange> {
        let kind = self.byte()?;
        if kind == 5 {
            let number = usize::try_from(varint::take(&mut self.0)?).ok()?;
            return Some(RequestedChange::AsApplied(number));
        }
        let dn = self.string()?;
        Some(match kind {
            1 => RequestedChange::Add {
                dn,
                attributes: self.list(Self::attribute)?,
            },
            2 => RequestedChange::Modify {
                dn,
                modifications: self.list(Self::modification)?,
            },
            3 => {
                let new_rdn = self.string()?;
                let flags = self.flags(DELETES_OLD_RDN | HAS_SUPERIOR)?;
                let new_superior = if flags & HAS_SUPERIOR == 0 {
                    None
                } else {
                    Some(self.string()?)
                };
                RequestedChange::ModifyDn {
                    dn,
                    new_rdn,
                    delete_old_rdn: flags & DELETES_OLD_RDN != 0,
                    new_superior,
                }
            }
            4 => RequestedChange::Delete { dn },
            _ => return None,
        })
    }
    fn modification(&mut self) -> Option<RequestedModification> {
        let kind = match self.byte()? {
            1 => RequestedKind::Add,
            2 => RequestedKind::Delete,
            3 => RequestedKind::Replace,
            4 => RequestedKind::Increment,
            _ => return None,
        };
        let (attribute, values) = self.attribute()?;
        Some(RequestedModification {
            kind,
            attribute,
            values,
        })
    }
}

#[cfg(test)]
mod tests;
