//! Writing change records.

use super::{
    DELETES_OLD_RDN, FIRST_NAME, HAS_AUTHENTICATED, HAS_BURIED, HAS_COOKIE, HAS_FORGOTTEN, HAS_NOTES, HAS_POSITION,
    HAS_PREDECESSOR, HAS_REQUEST, HAS_REQUESTED, HAS_REVISED_BY, HAS_SECTIONS, HAS_SERVER, HAS_SUPERIOR, HAS_WHOLE_CSN,
    INTERNAL, LITERAL, OWN_CSN, PACKED, PACKINGS, PLACE, SILENT, Shared, WITH_GONE, WITH_KEPT, WITH_TEXT, WITH_UUID,
};
use crate::{
    change::{
        ChangeKind, ChangeRecord, Effect, Gone, Position, RecordedEffect, RequestFacts, RequestedChange, RequestedKind,
        TextAttribute, ValueChange,
    },
    record::packed,
    varint,
};

/// A record on its way into a row.
struct Writer<'w> {
    out: &'w mut Vec<u8>,
    shared: &'w mut Shared,
    /// Text of the record's CSN.
    csn: Option<[u8; 40]>,
    /// Name of the first effect, once it has been written.
    first_name: Option<&'w str>,
}

/// Appends a record to those of a row.
pub(super) fn append(record: &ChangeRecord, out: &mut Vec<u8>, shared: &mut Shared) {
    let csn = record.csn.octets_of_text();
    let mut writer = Writer {
        out,
        shared,
        csn,
        first_name: None,
    };
    writer.record(record);
}

fn flags(set: &[(bool, u8)]) -> u8 {
    set.iter()
        .filter(|(holds, _)| *holds)
        .fold(0, |flags, (_, flag)| flags | flag)
}

/// Small for numbers near 0.
fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)).cast_unsigned()
}

impl<'w> Writer<'w> {
    fn record(&mut self, record: &'w ChangeRecord) {
        let next = self.shared.position.next();
        self.shared.position = record.position;
        let sections = flags(&[
            (record.request.is_some(), HAS_REQUEST),
            (!record.requested.is_empty(), HAS_REQUESTED),
            (!record.cookie.is_empty(), HAS_COOKIE),
            (!record.buried.is_empty(), HAS_BURIED),
            (!record.notes.is_empty(), HAS_NOTES),
            (!record.forgotten.is_empty(), HAS_FORGOTTEN),
            (record.revised_by.is_some(), HAS_REVISED_BY),
        ]);
        let kind = match record.kind {
            ChangeKind::Add => 0,
            ChangeKind::Delete => 1,
            ChangeKind::Modify => 2,
            ChangeKind::ModifyDn => 3,
        };
        let since = record.csn.micros_since(self.shared.csn);
        self.shared.csn = record.csn;
        let head = flags(&[
            (since.is_none(), HAS_WHOLE_CSN),
            (record.position != next, HAS_POSITION),
            (record.predecessor != [0; 16], HAS_PREDECESSOR),
            (record.via != 0, HAS_SERVER),
            (record.authenticated != record.author, HAS_AUTHENTICATED),
            (sections != 0, HAS_SECTIONS),
        ]);
        self.out.push(kind | head);
        if head & HAS_POSITION != 0 {
            let Position { generation, sequence } = record.position;
            self.out.extend_from_slice(&generation.to_be_bytes());
            self.number(sequence);
        }
        if head & HAS_PREDECESSOR != 0 {
            self.out.extend_from_slice(&record.predecessor);
        }
        match since {
            Some(micros) => self.number(zigzag(micros)),
            None => self.out.extend_from_slice(&record.csn.octets()),
        }
        if head & HAS_SERVER != 0 {
            self.number(u64::from(record.via));
        }
        self.number(zigzag(record.unix_micros.wrapping_sub(record.csn.unix_micros())));
        self.text(&record.author);
        if head & HAS_AUTHENTICATED != 0 {
            self.text(&record.authenticated);
        }
        self.number(record.effects.len() as u64);
        for effect in &record.effects {
            self.effect(effect);
            self.first_name.get_or_insert(effect.effect.dn());
        }
        if sections != 0 {
            self.out.push(sections);
            self.sections(record);
        }
    }

    fn sections(&mut self, record: &'w ChangeRecord) {
        if let Some(request) = &record.request {
            self.request(request);
        }
        if !record.requested.is_empty() {
            self.list(&record.requested, Self::requested);
        }
        if !record.cookie.is_empty() {
            self.list(&record.cookie, |writer, csn| {
                writer.out.extend_from_slice(&csn.octets());
            });
        }
        if !record.buried.is_empty() {
            self.list(&record.buried, |writer, uuid| writer.out.extend_from_slice(uuid));
        }
        if !record.notes.is_empty() {
            self.list(&record.notes, |writer, (name, notes)| {
                writer.text(name);
                writer.value(notes);
            });
        }
        if !record.forgotten.is_empty() {
            self.list(&record.forgotten, |writer, server| writer.number(u64::from(*server)));
        }
        if let Some(csn) = record.revised_by {
            self.out.extend_from_slice(&csn.octets());
        }
    }

    fn number(&mut self, number: u64) {
        varint::put(self.out, number);
    }

    fn list<T>(&mut self, items: &[T], put_item: impl Fn(&mut Self, &T)) {
        self.number(items.len() as u64);
        for item in items {
            put_item(self, item);
        }
    }

    fn text(&mut self, text: &str) {
        let text = text.as_bytes();
        match self.shared.texts.place_of(text, self.out) {
            Some(place) => self.number((place as u64) << 2 | PLACE),
            None => self.literal(text),
        }
    }

    fn literal(&mut self, text: &[u8]) {
        self.number((text.len() as u64) << 2 | LITERAL);
        self.shared.texts.remember(text, self.out.len());
        self.out.extend_from_slice(text);
    }

    fn value(&mut self, value: &[u8]) {
        if self.csn.as_ref().is_some_and(|csn| csn == value) {
            return self.number(OWN_CSN);
        }
        if let Some(place) = self.shared.texts.place_of(value, self.out) {
            return self.number((place as u64) << 2 | PLACE);
        }
        self.shared.packed.clear();
        let packing = packed::pack(value, &mut self.shared.packed);
        match packing.and_then(|packing| PACKINGS.iter().position(|known| *known == packing)) {
            Some(packing) => {
                self.number((self.shared.packed.len() as u64) << 5 | (packing as u64) << 2 | PACKED);
                self.out.extend_from_slice(&self.shared.packed);
            }
            None => self.literal(value),
        }
    }

    fn values(&mut self, values: &[Vec<u8>]) {
        self.list(values, |writer, value| writer.value(value));
    }

    fn attributes(&mut self, attributes: &[TextAttribute]) {
        self.list(attributes, |writer, (description, values)| {
            writer.text(description);
            writer.values(values);
        });
    }

    fn name(&mut self, dn: &str) {
        if self.first_name == Some(dn) {
            return self.number(FIRST_NAME);
        }
        match dn.split_once(',') {
            Some((rdn, parent)) => self.with_text(rdn, Some(parent)),
            None => self.with_text(dn, None),
        }
    }

    /// Octets that no record shares, and the text that may be shared.
    fn with_text(&mut self, own: &str, text: Option<&str>) {
        let form = if text.is_some() { WITH_TEXT } else { LITERAL };
        self.number((own.len() as u64) << 2 | form);
        self.out.extend_from_slice(own.as_bytes());
        if let Some(text) = text {
            self.text(text);
        }
    }

    fn effect(&mut self, recorded: &RecordedEffect) {
        let RecordedEffect { effect, marks, before } = recorded;
        let kind = match effect {
            Effect::Add { .. } => 0,
            Effect::Modify { .. } => 1,
            Effect::Rename { .. } => 2,
            Effect::Delete { .. } => 3,
        };
        let with_uuid = before.entry_uuid != [0; 16];
        let head = flags(&[
            (marks.internal, INTERNAL),
            (marks.silent, SILENT),
            (before.gone.is_of(effect), WITH_GONE),
            (with_uuid, WITH_UUID),
            (!before.kept.is_empty(), WITH_KEPT),
        ]);
        self.out.push(kind | head);
        if with_uuid {
            self.out.extend_from_slice(&before.entry_uuid);
        }
        self.name(effect.dn());
        match (effect, &before.gone) {
            (Effect::Add { attributes, .. }, _) | (Effect::Delete { .. }, Gone::Entry(attributes)) => {
                self.attributes(attributes);
            }
            (Effect::Modify { changes, .. }, gone) => self.changes(changes, gone),
            (Effect::Rename { new_dn, changes, .. }, gone) => {
                self.name(new_dn);
                self.changes(changes, gone);
            }
            (Effect::Delete { .. }, _) => {}
        }
        if !before.kept.is_empty() {
            self.attributes(&before.kept);
        }
    }

    fn changes(&mut self, changes: &[ValueChange], gone: &Gone) {
        self.number(changes.len() as u64);
        for (number, change) in changes.iter().enumerate() {
            let (kind, attribute, values) = match change {
                ValueChange::Add { attribute, values } => (1, attribute, values),
                ValueChange::Delete { attribute, values } => (2, attribute, values),
                ValueChange::Replace { attribute, values } => (3, attribute, values),
            };
            self.out.push(kind);
            self.text(attribute);
            self.values(values);
            if let Gone::Values(gone) = gone
                && kind != 1
            {
                self.values(gone.get(number).map_or(&[], Vec::as_slice));
            }
        }
    }

    fn request(&mut self, request: &RequestFacts) {
        self.number(request.connection);
        self.number(request.operation);
        self.peer_name(&request.peer_name);
        self.list(&request.controls, |writer, control| {
            writer.text(&control.oid);
            writer.out.push(u8::from(control.critical));
        });
    }

    fn peer_name(&mut self, name: &str) {
        match name.rsplit_once(':') {
            Some((head, tail)) => self.with_text(tail, Some(head)),
            None => self.with_text(name, None),
        }
    }

    fn requested(&mut self, requested: &RequestedChange) {
        match requested {
            RequestedChange::Add { dn, attributes } => {
                self.out.push(1);
                self.name(dn);
                self.attributes(attributes);
            }
            RequestedChange::Modify { dn, modifications } => {
                self.out.push(2);
                self.name(dn);
                self.list(modifications, |writer, modification| {
                    writer.out.push(match modification.kind {
                        RequestedKind::Add => 1,
                        RequestedKind::Delete => 2,
                        RequestedKind::Replace => 3,
                        RequestedKind::Increment => 4,
                    });
                    writer.text(&modification.attribute);
                    writer.values(&modification.values);
                });
            }
            RequestedChange::ModifyDn {
                dn,
                new_rdn,
                delete_old_rdn,
                new_superior,
            } => {
                self.out.push(3);
                self.name(dn);
                self.text(new_rdn);
                self.out.push(flags(&[
                    (*delete_old_rdn, DELETES_OLD_RDN),
                    (new_superior.is_some(), HAS_SUPERIOR),
                ]));
                if let Some(superior) = new_superior {
                    self.name(superior);
                }
            }
            RequestedChange::Delete { dn } => {
                self.out.push(4);
                self.name(dn);
            }
            RequestedChange::Former { dn, attributes } => {
                self.out.push(6);
                self.name(dn);
                self.attributes(attributes);
            }
            RequestedChange::AsApplied(number) => {
                self.out.push(5);
                self.number(*number as u64);
            }
        }
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
