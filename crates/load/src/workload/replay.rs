//! Replay of LDIF change records, each once and in order. Also writes such records for a data set.

use std::{
    collections::HashMap,
    io::{self, BufRead, Write},
    sync::Arc,
};

use ironbark_ldap_proto::{self as proto, ModifyDnRequest, ModifyRequest, Request};
use ironbark_ldif::{LdifChange, LdifReader, LdifRecord, LdifWriter, ModSpec, ModifyKind, NoFiles, RecordKind};

use super::{EntryOrder, Next, Population, RequestClass, Requests, Workload, WorkloadError, sample::encode_add};
use crate::{
    generate::{self, GeneratedEntry},
    wire::{RequestSlot, encode},
};

/// The workload: the encoded changes of a file. Changes of one entry stay on one connection. So they keep their order,
/// if one request is in flight on each connection.
#[derive(Debug)]
pub struct Replay {
    name: String,
    kinds: [RequestClass; 4],
    changes: Arc<Vec<Encoded>>,
}

/// A change.
#[derive(Clone, Debug)]
struct Encoded {
    request: Vec<u8>,
    kind: u8,
    /// The entry: numbered in order of appearance.
    entry: usize,
}

impl Replay {
    /// Reads and encodes all changes. A record without `changetype` is an entry to add.
    ///
    /// # Errors
    /// The input is not LDIF, has controls, or has no change at all.
    pub fn new(name: &str, input: impl BufRead) -> Result<Self, WorkloadError> {
        let mut reader = LdifReader::new(input, NoFiles);
        let mut changes = Vec::new();
        let mut entries: HashMap<Vec<u8>, usize> = HashMap::new();
        while let Some(record) = reader.read().map_err(|error| WorkloadError(error.to_string()))? {
            let count = entries.len();
            let entry = *entries.entry(record.dn.to_ascii_lowercase()).or_insert(count);
            let (request, kind) = encode_record(&record)?;
            changes.push(Encoded { request, kind, entry });
        }
        if changes.is_empty() {
            return Err(WorkloadError(format!("{name}: no changes")));
        }
        Ok(Self {
            name: name.to_owned(),
            kinds: ["add", "delete", "modify", "rename"].map(RequestClass::new),
            changes: Arc::new(changes),
        })
    }

    /// The number of changes.
    pub fn len(&self) -> usize {
        self.changes.len()
    }

    /// Whether there are no changes. This is never true.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }
}

fn encode_record(record: &LdifRecord) -> Result<(Vec<u8>, u8), WorkloadError> {
    let mut out = Vec::new();
    let change = match &record.kind {
        RecordKind::Content(attributes) => LdifChange::Add(attributes.clone()),
        RecordKind::Change { controls, change } if controls.is_empty() => change.clone(),
        RecordKind::Change { .. } => {
            return Err(WorkloadError(format!(
                "line {}: controls are not replayed",
                record.line
            )));
        }
    };
    let kind = match &change {
        LdifChange::Add(attributes) => {
            encode_add(
                &GeneratedEntry::from_pairs(record.dn.clone(), attributes.clone()),
                RequestSlot::FIRST,
                &mut out,
            );
            0
        }
        LdifChange::Delete => {
            encode(&mut out, RequestSlot::FIRST, &Request::Delete(&record.dn));
            1
        }
        LdifChange::Modify(modifications) => {
            encode_modifications(&record.dn, modifications, &mut out);
            2
        }
        LdifChange::ModifyDn {
            new_rdn,
            delete_old_rdn,
            new_superior,
        } => {
            let request = ModifyDnRequest {
                entry: &record.dn,
                new_rdn,
                delete_old_rdn: *delete_old_rdn,
                new_superior: new_superior.as_deref(),
            };
            encode(&mut out, RequestSlot::FIRST, &Request::ModifyDn(request));
            3
        }
    };
    Ok((out, kind))
}

fn encode_modifications(dn: &[u8], modifications: &[ModSpec], out: &mut Vec<u8>) {
    let values: Vec<Vec<&[u8]>> = modifications
        .iter()
        .map(|modification| modification.values.iter().map(Vec::as_slice).collect())
        .collect();
    let changes: Vec<proto::ModifyChange<'_>> = modifications
        .iter()
        .zip(&values)
        .map(|(modification, values)| proto::ModifyChange {
            operation: match modification.kind {
                ModifyKind::Add => proto::ModifyOperation::Add,
                ModifyKind::Delete => proto::ModifyOperation::Delete,
                ModifyKind::Replace => proto::ModifyOperation::Replace,
                ModifyKind::Increment => proto::ModifyOperation::Increment,
            },
            attribute: &modification.attribute,
            values: values.as_slice().into(),
        })
        .collect();
    let request = ModifyRequest {
        object: dn,
        changes: changes.as_slice().into(),
    };
    encode(out, RequestSlot::FIRST, &Request::Modify(request));
}

impl Workload for Replay {
    fn name(&self) -> String {
        format!("replay {}", self.name)
    }

    fn kinds(&self) -> &[RequestClass] {
        &self.kinds
    }

    fn requests(&self, number: u32, connections: u32) -> Box<dyn Requests> {
        Box::new(Stream {
            changes: self.changes.clone(),
            next: 0,
            number: usize::try_from(number).unwrap_or(0),
            connections: usize::try_from(connections).unwrap_or(1).max(1),
        })
    }
}

struct Stream {
    changes: Arc<Vec<Encoded>>,
    next: usize,
    number: usize,
    connections: usize,
}

impl Requests for Stream {
    fn next(&mut self, slot: RequestSlot, out: &mut Vec<u8>) -> Next {
        while let Some(change) = self.changes.get(self.next) {
            self.next += 1;
            if change.entry % self.connections == self.number {
                let start = out.len();
                out.extend_from_slice(&change.request);
                slot.patch(out, start);
                return Next::Sent(change.kind);
            }
        }
        Next::End
    }
}

/// Writes `count` modifications of the entries of a population. They succeed in any order. Half of them replace a value
/// without an index and a quarter replace an indexed value; these succeed any number of times. A quarter add a value,
/// which succeeds only once.
///
/// # Errors
/// Errors of `out`.
pub fn write_changes(population: &Population, order: EntryOrder, count: u64, out: &mut impl Write) -> io::Result<()> {
    let mut random = population.random(u32::MAX);
    let (plain, indexed) = match population.set().kind() {
        generate::DataSetKind::Telco => ("servingNode", "chargingCharacteristics"),
        generate::DataSetKind::Groups => ("description", "description"),
        _ => ("telephoneNumber", "displayName"),
    };
    let writer = LdifWriter::default();
    let mut text = Vec::new();
    for number in 0..count {
        let entry = match order {
            EntryOrder::Sequential => number % population.entries(),
            EntryOrder::Random => random.below(population.entries()),
        };
        let dn = population.set().name(entry).dn;
        let digits = random.below(100_000_000);
        let (kind, attribute, value) = match random.below(4) {
            0 => (ModifyKind::Add, "description", format!("change {number} of the replay")),
            1 => (ModifyKind::Replace, indexed, format!("{digits:08}")),
            _ => (ModifyKind::Replace, plain, format!("49{digits:08}")),
        };
        let change = LdifChange::Modify(vec![ModSpec {
            line: 0,
            kind,
            attribute: attribute.into(),
            values: vec![value.into()],
        }]);
        writer.change(&mut text, dn.as_bytes(), &[], &change);
        text.push(b'\n');
        if text.len() > FLUSH {
            out.write_all(&text)?;
            text.clear();
        }
    }
    out.write_all(&text)?;
    out.flush()
}

const FLUSH: usize = 1 << 16;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{DataSet, PasswordStorage};

    const LDIF: &str = "dn: cn=a,dc=x\nchangetype: modify\nreplace: sn\nsn: 1\n-\n\n\
        dn: cn=b,dc=x\nchangetype: delete\n\n\
        dn: CN=A,dc=x\nchangetype: modrdn\nnewrdn: cn=c\ndeleteoldrdn: 1\n\n\
        dn: cn=d,dc=x\nobjectClass: person\ncn: d\nsn: d\n";

    fn all(replay: &Replay, connections: u32) -> Vec<Vec<u8>> {
        let kinds_of = |number| {
            let mut requests = replay.requests(number, connections);
            let mut kinds = Vec::new();
            let mut out = Vec::new();
            while let Next::Sent(kind) = requests.next(RequestSlot::FIRST, &mut out) {
                kinds.push(kind);
            }
            kinds
        };
        (0..connections).map(kinds_of).collect()
    }

    #[test]
    fn each_change_is_sent_once_and_those_of_an_entry_by_one_connection() {
        let replay = Replay::new("test", LDIF.as_bytes()).unwrap();
        assert_eq!(all(&replay, 1), [vec![2, 1, 3, 0]]);
        assert_eq!(all(&replay, 2), [vec![2, 3, 0], vec![1]]);
        assert_eq!(replay.len(), 4);
    }

    #[test]
    fn what_cannot_be_replayed_is_refused() {
        assert!(Replay::new("test", &b""[..]).is_err());
        assert!(Replay::new("test", &b"dn: cn=a\nchangetype: nothing\n"[..]).is_err());
        let control = b"dn: cn=a\ncontrol: 1.2.3\nchangetype: delete\n";
        assert!(Replay::new("test", &control[..]).unwrap_err().0.contains("controls"));
    }

    #[test]
    fn changes_of_a_data_set_can_be_replayed() {
        for kind in [generate::DataSetKind::Zimbra, generate::DataSetKind::Telco] {
            let set = DataSet::new(kind, 1, "dc=example,dc=com", PasswordStorage::Usual).unwrap();
            let population = Population::new(set, 100, 100, 1, 100).unwrap();
            let (mut text, mut again) = (Vec::new(), Vec::new());
            write_changes(&population, EntryOrder::Random, 280, &mut text).unwrap();
            write_changes(&population, EntryOrder::Random, 280, &mut again).unwrap();
            assert_eq!(text, again);
            let replay = Replay::new("test", &text[..]).unwrap();
            assert_eq!(all(&replay, 1), [vec![2; 280]]);
            let mut each = Vec::new();
            write_changes(&population, EntryOrder::Sequential, 100, &mut each).unwrap();
            let each = Replay::new("test", &each[..]).unwrap();
            let entries: Vec<usize> = each.changes.iter().map(|change| change.entry).collect();
            assert_eq!(entries, (0..100).collect::<Vec<usize>>());
        }
    }
}
