//! From a change record to what the log says of its operations.

use ironbark_directory::{LOGGED_BASE_ATTRIBUTE, LOGGED_PLACE_ATTRIBUTE, LOGGED_REVISION_ATTRIBUTE};
use ironbark_store::{
    ChangeRecord, Csn, Effect, RecordedEffect,
    change::{RequestFacts, RequestedChange, RequestedKind, RequestedModification, TextAttribute},
};
use uuid::Uuid;

use super::settings::Operations;

/// One operation in the log, without what the database of the log adds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct LoggedOperation {
    /// Which operation.
    pub(super) operation: Operations,
    /// Object class of the log entry.
    pub(super) class: &'static str,
    /// `reqType`.
    pub(super) kind: String,
    /// `reqDN`; `None`: the operation has none.
    pub(super) dn: Option<Box<str>>,
    /// Its CSN; `None`: it changed nothing.
    pub(super) csn: Option<Csn>,
    /// When it began, in microseconds since 1970.
    pub(super) begun_micros: i64,
    /// When it ended.
    pub(super) ended_micros: i64,
    /// `reqSession`.
    pub(super) session: u64,
    /// `reqAuthzID`.
    pub(super) author: Box<str>,
    /// `reqControls`.
    pub(super) controls: Vec<Vec<u8>>,
    /// `reqMessage`; empty: none.
    pub(super) message: String,
    /// `reqResult`; `None`: it has no result.
    pub(super) result: Option<u32>,
    /// Attributes of the operation's own class, and `reqEntryUUID`.
    pub(super) details: Vec<TextAttribute>,
}

/// The operations of a record. Effects of overlays, and what stays in this server, are none: slapd's log has no
/// internal operations of memberof, refint or others either. But a write of the server itself may have no other effect.
pub(super) fn operations(record: &ChangeRecord) -> Vec<LoggedOperation> {
    let mut operations: Vec<LoggedOperation> = Vec::new();
    let mut burials = record.stamped_burials();
    let effects: Vec<_> = record.stamped_effects().collect();
    let of = |number: usize| {
        let (recorded, csn) = effects.get(number).copied()?;
        let is_own = number == 0 || !recorded.marks.internal;
        (is_own && !recorded.marks.silent).then_some(Source {
            record,
            recorded,
            number,
            csn,
        })
    };
    for (requested, number) in record.requests() {
        if let RequestedChange::Former { attributes, .. } = requested {
            if let Some(last) = operations.last_mut() {
                add_former(last, attributes);
            }
            continue;
        }
        if let (RequestedChange::Delete { dn }, None) = (requested, number) {
            operations.extend(burials.next().map(|(uuid, csn)| buried(record, dn, uuid, csn)));
            continue;
        }
        operations.extend(number.and_then(of).map(|source| source.logged(requested)));
    }
    if record.requested.is_empty() {
        let own = (0..record.effects.len()).filter_map(of);
        let own = own.filter(|source| !source.recorded.marks.internal);
        operations.extend(own.map(Source::applied));
    }
    operations
}

/// The names of an operation.
#[derive(Clone, Copy)]
struct OperationNames {
    operation: Operations,
    /// The object class of its entry.
    class: &'static str,
    /// `reqType`.
    kind: &'static str,
}

impl OperationNames {
    const fn new(operation: Operations, class: &'static str, kind: &'static str) -> Self {
        Self { operation, class, kind }
    }
}

const ADD: OperationNames = OperationNames::new(Operations::ADD, "auditAdd", "add");
const DELETE: OperationNames = OperationNames::new(Operations::DELETE, "auditDelete", "delete");
const MODIFY: OperationNames = OperationNames::new(Operations::MODIFY, "auditModify", "modify");
const MODRDN: OperationNames = OperationNames::new(Operations::MODRDN, "auditModRDN", "modrdn");

/// A delete of an entry that was not here, or not any more.
fn buried(record: &ChangeRecord, dn: &str, uuid: [u8; 16], csn: Csn) -> LoggedOperation {
    let uuid = Uuid::from_bytes(uuid).to_string().into_bytes();
    operation(record, csn, dn, vec![("reqEntryUUID".into(), vec![uuid])], DELETE)
}

fn operation(
    record: &ChangeRecord,
    csn: Csn,
    dn: &str,
    details: Vec<TextAttribute>,
    names: OperationNames,
) -> LoggedOperation {
    let request = record.request.as_ref();
    LoggedOperation {
        operation: names.operation,
        class: names.class,
        kind: names.kind.to_owned(),
        dn: Some(dn.into()),
        csn: Some(csn),
        begun_micros: record.unix_micros,
        ended_micros: record.unix_micros,
        session: request.map_or(0, |request| request.connection),
        author: record.author.clone(),
        controls: request.map(controls).unwrap_or_default(),
        message: String::new(),
        result: Some(0),
        details,
    }
}

/// The effect of an operation.
#[derive(Clone, Copy)]
struct Source<'r> {
    record: &'r ChangeRecord,
    recorded: &'r RecordedEffect,
    number: usize,
    csn: Csn,
}

impl Source<'_> {
    /// The operation of a request.
    fn logged(self, requested: &RequestedChange) -> LoggedOperation {
        match requested {
            RequestedChange::Modify { dn, modifications } => {
                let details = vec![("reqMod".into(), modified(modifications))];
                self.operation(dn, details, MODIFY)
            }
            RequestedChange::ModifyDn { dn, .. } => self.operation(dn, self.renamed(requested), MODRDN),
            RequestedChange::Add { dn, attributes } => {
                let details = vec![("reqMod".into(), prefixed(attributes, ":+ "))];
                self.operation(dn, details, ADD)
            }
            RequestedChange::Delete { dn } => self.operation(dn, Vec::new(), DELETE),
            RequestedChange::AsApplied(_) | RequestedChange::Former { .. } => self.applied(),
        }
    }

    /// The effect as its own request.
    fn applied(self) -> LoggedOperation {
        self.logged(&self.recorded.effect.as_request())
    }

    /// The attributes of a rename.
    fn renamed(self, requested: &RequestedChange) -> Vec<TextAttribute> {
        let RequestedChange::ModifyDn {
            new_rdn,
            delete_old_rdn,
            new_superior,
            ..
        } = requested
        else {
            return Vec::new();
        };
        let changed = self.record.changed_with_rename(self.number, !delete_old_rdn);
        let truth: &[u8] = if *delete_old_rdn { b"TRUE" } else { b"FALSE" };
        let mut details: Vec<TextAttribute> = vec![
            ("reqMod".into(), modified(&changed)),
            ("reqNewRDN".into(), vec![new_rdn.as_bytes().to_vec()]),
            ("reqDeleteOldRDN".into(), vec![truth.to_vec()]),
        ];
        if let Some(superior) = new_superior {
            details.push(("reqNewSuperior".into(), vec![superior.as_bytes().to_vec()]));
        }
        let name = match &self.recorded.effect {
            Effect::Rename { new_dn, .. } => Some(&**new_dn),
            _ => self.record.made_anew(self.number),
        };
        details.extend(name.map(|name| ("reqNewDN".into(), vec![name.as_bytes().to_vec()])));
        details
    }

    fn operation(self, dn: &str, mut details: Vec<TextAttribute>, names: OperationNames) -> LoggedOperation {
        details.retain(|(_, values)| !values.is_empty());
        if let Some(uuid) = uuid_of(self.recorded) {
            details.push(("reqEntryUUID".into(), vec![uuid]));
        }
        let is_place =
            |name: &str| [LOGGED_PLACE_ATTRIBUTE, LOGGED_REVISION_ATTRIBUTE, LOGGED_BASE_ATTRIBUTE].contains(&name);
        let kept = self.recorded.before.kept.iter();
        details.extend(kept.filter(|(name, _)| is_place(name)).cloned());
        operation(self.record, self.csn, dn, details, names)
    }
}

/// The UUID of an effect's entry, as text.
fn uuid_of(recorded: &RecordedEffect) -> Option<Vec<u8>> {
    if let Effect::Add { attributes, .. } = &recorded.effect {
        let (_, values) = attributes
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case("entryUUID"))?;
        return values.first().cloned();
    }
    let octets = recorded.before.entry_uuid;
    (octets != [0; 16]).then(|| Uuid::from_bytes(octets).to_string().into_bytes())
}

/// The controls of a request, numbered.
fn controls(request: &RequestFacts) -> Vec<Vec<u8>> {
    let controls = request.controls.iter().enumerate();
    controls
        .map(|(number, control)| {
            let critical = if control.critical { " criticality TRUE" } else { "" };
            format!("{{{number}}}{{{}{critical}}}", control.oid).into_bytes()
        })
        .collect()
}

/// Values behind the names of their attributes.
fn prefixed(attributes: &[TextAttribute], sign: &str) -> Vec<Vec<u8>> {
    let values = attributes
        .iter()
        .flat_map(|(name, values)| values.iter().map(move |value| (name, value)));
    values.map(|(name, value)| line(name, sign, value)).collect()
}

fn line(name: &str, sign: &str, value: &[u8]) -> Vec<u8> {
    [name.as_bytes(), sign.as_bytes(), value].concat()
}

/// `reqMod` of a modification. A lone colon stands between two changes of the same kind of one attribute.
fn modified(modifications: &[RequestedModification]) -> Vec<Vec<u8>> {
    let mut lines = Vec::new();
    let mut before: Option<&RequestedModification> = None;
    for change in modifications {
        if before.is_some_and(|before| before.kind == change.kind && before.attribute == change.attribute) {
            lines.push(b":".to_vec());
        }
        let (empty, sign) = match change.kind {
            RequestedKind::Add => (":+", ":+ "),
            RequestedKind::Delete => (":-", ":- "),
            RequestedKind::Replace => (":=", ":= "),
            RequestedKind::Increment => (":#", ":# "),
        };
        if change.values.is_empty() {
            lines.push(line(&change.attribute, empty, b""));
        }
        lines.extend(change.values.iter().map(|value| line(&change.attribute, sign, value)));
        before = Some(change);
    }
    lines
}

/// Adds `reqOld`, before the UUID.
fn add_former(operation: &mut LoggedOperation, attributes: &[TextAttribute]) {
    let values = prefixed(attributes, ": ");
    if !values.is_empty() {
        let end = operation.details.iter().position(|(name, _)| &**name == "reqEntryUUID");
        let at = end.unwrap_or(operation.details.len());
        operation.details.insert(at, ("reqOld".into(), values));
    }
}
