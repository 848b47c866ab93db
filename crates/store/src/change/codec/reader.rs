//! Reading change records.

use super::{
    ALL_SECTIONS, DELETES_OLD_RDN, FIRST_NAME, HAS_AUTHENTICATED, HAS_BURIED, HAS_COOKIE, HAS_FORGOTTEN, HAS_NOTES,
    HAS_POSITION, HAS_PREDECESSOR, HAS_REQUEST, HAS_REQUESTED, HAS_REVISED_BY, HAS_SECTIONS, HAS_SERVER, HAS_SUPERIOR,
    HAS_WHOLE_CSN, INTERNAL, LITERAL, OWN_CSN, PACKED, PACKINGS, PLACE, SILENT, Shared, WITH_GONE, WITH_KEPT,
    WITH_TEXT, WITH_UUID,
};
use crate::{
    change::{
        Before, ChangeKind, ChangeRecord, Effect, Gone, Marks, Position, RecordedEffect, RequestFacts, RequestedChange,
        RequestedControl, RequestedKind, RequestedModification, TextAttribute, ValueChange,
    },
    csn::{Csn, OCTETS},
    record::packed::{MAX_TEXT, unpack},
    varint,
};

/// A record on its way out of a row. Each item takes at least one byte, so a list cannot be longer than the bytes that
/// are left.
pub(super) struct Reader<'r> {
    row: &'r [u8],
    /// The bytes that are left.
    left: &'r [u8],
    shared: &'r mut Shared,
    csn: Csn,
    /// Name of the first effect, once it has been read.
    first_name: Option<Box<str>>,
}

fn from_zigzag(number: u64) -> i64 {
    (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
}

impl<'r> Reader<'r> {
    /// Reads the record at `at` in the records of a row, and moves `at` behind it. `None`: damaged.
    pub(super) fn take(row: &'r [u8], at: &mut usize, shared: &'r mut Shared) -> Option<ChangeRecord> {
        let mut reader = Self {
            row,
            left: row.get(*at..)?,
            shared,
            csn: Csn::default(),
            first_name: None,
        };
        let record = reader.record()?;
        *at = row.len() - reader.left.len();
        Some(record)
    }

    fn record(&mut self) -> Option<ChangeRecord> {
        let head = self.byte()?;
        let mut record = self.facts(head)?;
        for _ in 0..self.count()? {
            let effect = self.effect()?;
            self.first_name.get_or_insert_with(|| effect.effect.dn().into());
            record.effects.push(effect);
        }
        if head & HAS_SECTIONS != 0 {
            let sections = self.flags(ALL_SECTIONS)?;
            if sections & HAS_REQUEST != 0 {
                record.request = Some(self.request()?);
            }
            if sections & HAS_REQUESTED != 0 {
                record.requested = self.filled_list(Self::requested)?;
            }
            if sections & HAS_COOKIE != 0 {
                record.cookie = self.filled_list(Self::csn)?;
            }
            if sections & HAS_BURIED != 0 {
                record.buried = self.filled_list(Self::array)?;
            }
            if sections & HAS_NOTES != 0 {
                record.notes = self.filled_list(|reader| Some((reader.string()?, reader.octets()?)))?;
            }
            if sections & HAS_FORGOTTEN != 0 {
                record.forgotten = self.filled_list(|reader| u16::try_from(reader.number()?).ok())?;
            }
            if sections & HAS_REVISED_BY != 0 {
                record.revised_by = Some(self.csn()?);
            }
        }
        Some(record)
    }

    /// Everything before the effects.
    fn facts(&mut self, head: u8) -> Option<ChangeRecord> {
        let mut record = ChangeRecord {
            position: self.shared.position.next(),
            kind: match head & 3 {
                0 => ChangeKind::Add,
                1 => ChangeKind::Delete,
                2 => ChangeKind::Modify,
                _ => ChangeKind::ModifyDn,
            },
            ..ChangeRecord::default()
        };
        if head & HAS_POSITION != 0 {
            record.position = Position {
                generation: u64::from_be_bytes(self.array()?),
                sequence: self.number()?,
            };
        }
        self.shared.position = record.position;
        if head & HAS_PREDECESSOR != 0 {
            record.predecessor = self.array()?;
        }
        self.csn = if head & HAS_WHOLE_CSN == 0 {
            self.shared.csn.after(from_zigzag(self.number()?))
        } else {
            self.csn()?
        };
        (record.csn, self.shared.csn) = (self.csn, self.csn);
        if head & HAS_SERVER != 0 {
            record.via = u16::try_from(self.number()?).ok()?;
        }
        record.unix_micros = self.csn.unix_micros().wrapping_add(from_zigzag(self.number()?));
        record.author = self.string()?;
        record.authenticated = if head & HAS_AUTHENTICATED == 0 {
            record.author.clone()
        } else {
            self.string()?
        };
        Some(record)
    }

    fn number(&mut self) -> Option<u64> {
        varint::take(&mut self.left)
    }

    fn slice(&mut self, length: u64) -> Option<&'r [u8]> {
        let (bytes, left) = self.left.split_at_checked(usize::try_from(length).ok()?)?;
        self.left = left;
        Some(bytes)
    }

    /// Reads a text or a value.
    fn item<T>(&mut self, make: impl FnOnce(&[u8]) -> Option<T>) -> Option<T> {
        let number = self.number()?;
        let argument = number >> 2;
        match number & 3 {
            LITERAL => {
                let from = self.row.len() - self.left.len();
                let text = self.slice(argument)?;
                self.shared.texts.remember(text, from);
                make(text)
            }
            PLACE => {
                let place = usize::try_from(argument).ok()?;
                make(self.shared.texts.at(place, self.row)?)
            }
            PACKED => {
                let packing = *PACKINGS.get(usize::try_from(argument & 7).ok()?)?;
                let bytes = self.slice(argument >> 3)?;
                let mut text = [0; MAX_TEXT];
                let length = unpack(packing, bytes, &mut text)?;
                make(text.get(..length)?)
            }
            OWN_CSN if argument == 0 => make(&self.csn.octets_of_text()?),
            _ => None,
        }
    }

    fn string(&mut self) -> Option<Box<str>> {
        self.item(|text| std::str::from_utf8(text).ok().map(Into::into))
    }

    fn name(&mut self) -> Option<Box<str>> {
        let number = self.number()?;
        if number == FIRST_NAME {
            return self.first_name.clone();
        }
        self.with_text(number, |rdn, parent| format!("{rdn},{parent}"))
    }

    /// Octets that no record shares, of the form and length in `number`, and the text that `join` joins to them.
    fn with_text(&mut self, number: u64, join: impl FnOnce(&str, &str) -> String) -> Option<Box<str>> {
        let own = std::str::from_utf8(self.slice(number >> 2)?).ok()?;
        match number & 3 {
            LITERAL => Some(own.into()),
            WITH_TEXT => Some(join(own, &self.string()?).into()),
            _ => None,
        }
    }

    fn count(&mut self) -> Option<u64> {
        self.number().filter(|&count| count <= self.left.len() as u64)
    }

    fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.left.split_first()?;
        self.left = rest;
        Some(byte)
    }
    /// A byte in which no other bits are set.
    fn flags(&mut self, known: u8) -> Option<u8> {
        self.byte().filter(|flags| flags & !known == 0)
    }
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (array, rest) = self.left.split_first_chunk()?;
        self.left = rest;
        Some(*array)
    }
    fn csn(&mut self) -> Option<Csn> {
        self.array::<OCTETS>().map(|octets| Csn::from_octets(&octets))
    }
    fn list<T>(&mut self, item: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        (0..self.count()?).map(|_| item(self)).collect()
    }
    /// A list that is written only if it has items.
    fn filled_list<T>(&mut self, item: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        self.list(item).filter(|items| !items.is_empty())
    }
    fn octets(&mut self) -> Option<Vec<u8>> {
        self.item(|value| Some(value.to_vec()))
    }
    fn values(&mut self) -> Option<Vec<Vec<u8>>> {
        self.list(Self::octets)
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
        let flags = self.flags(3 | INTERNAL | SILENT | WITH_GONE | WITH_UUID | WITH_KEPT)?;
        let with_gone = flags & WITH_GONE != 0;
        let entry_uuid = if flags & WITH_UUID == 0 { [0; 16] } else { self.array()? };
        let dn = self.name()?;
        let (effect, gone) = match flags & 3 {
            0 if !with_gone => {
                let attributes = self.list(Self::attribute)?;
                (Effect::Add { dn, attributes }, Gone::Unknown)
            }
            1 => {
                let (changes, gone) = self.changes(with_gone)?;
                (Effect::Modify { dn, changes }, gone)
            }
            2 => {
                let new_dn = self.name()?;
                let (changes, gone) = self.changes(with_gone)?;
                (Effect::Rename { dn, new_dn, changes }, gone)
            }
            3 if with_gone => (Effect::Delete { dn }, Gone::Entry(self.list(Self::attribute)?)),
            3 => (Effect::Delete { dn }, Gone::Unknown),
            _ => return None,
        };
        let kept = if flags & WITH_KEPT == 0 {
            Vec::new()
        } else {
            self.filled_list(Self::attribute)?
        };
        Some(RecordedEffect {
            effect,
            marks: Marks {
                internal: flags & INTERNAL != 0,
                silent: flags & SILENT != 0,
            },
            before: Before { entry_uuid, gone, kept },
        })
    }
    fn request(&mut self) -> Option<RequestFacts> {
        Some(RequestFacts {
            connection: self.number()?,
            operation: self.number()?,
            peer_name: self.peer_name()?,
            controls: self.list(|reader| {
                Some(RequestedControl {
                    oid: reader.string()?,
                    critical: reader.flags(1)? == 1,
                })
            })?,
        })
    }
    fn peer_name(&mut self) -> Option<Box<str>> {
        let number = self.number()?;
        self.with_text(number, |tail, head| format!("{head}:{tail}"))
    }
    fn requested(&mut self) -> Option<RequestedChange> {
        let kind = self.byte()?;
        if kind == 5 {
            let number = usize::try_from(self.number()?).ok()?;
            return Some(RequestedChange::AsApplied(number));
        }
        let dn = self.name()?;
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
                    Some(self.name()?)
                };
                RequestedChange::ModifyDn {
                    dn,
                    new_rdn,
                    delete_old_rdn: flags & DELETES_OLD_RDN != 0,
                    new_superior,
                }
            }
            4 => RequestedChange::Delete { dn },
            6 => RequestedChange::Former {
                dn,
                attributes: self.list(Self::attribute)?,
            },
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
