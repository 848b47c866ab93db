//! From a change record to what the log says of its operations.

use ironbark_store::{
    ChangeRecord, Effect, RecordedEffect, ValueChange,
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

/// The operations of a record. Effects of overlays, and what stays in this server, are none.
pub(super) fn operations(record: &ChangeRecord) -> Vec<LoggedOperation> {
    let mut operations: Vec<LoggedOperation> = Vec::new();
    for requested in &record.requested {
        match requested {
            RequestedChange::Former { attributes, .. } => {
                if let Some(last) = operations.last_mut() {
                    add_former(last, attributes);
                }
            }
            RequestedChange::AsApplied(number) => {
                operations.extend(record.effects.get(*number).and_then(|effect| applied(record, effect)));
            }
            RequestedChange::Modify { dn, modifications } => {
                let details = vec![("reqMod".into(), modified(modifications))];
                operations.extend(of_effect(record, find(record, dn, is_modify), (dn, details, MODIFY)));
            }
            RequestedChange::ModifyDn { dn, .. } => {
                let effect = find(record, dn, is_rename);
                operations.extend(of_effect(record, effect, (dn, renamed(requested, effect), MODRDN)));
            }
            RequestedChange::Add { dn, attributes } => {
                let details = vec![("reqMod".into(), prefixed(attributes, ":+ "))];
                operations.extend(of_effect(record, find(record, dn, is_add), (dn, details, ADD)));
            }
            RequestedChange::Delete { dn } => {
                operations.extend(of_effect(record, find(record, dn, is_delete), (dn, Vec::new(), DELETE)));
            }
        }
    }
    if record.requested.is_empty() {
        let own = record
            .effects
            .iter()
            .filter(|effect| !effect.marks.internal && !effect.marks.silent);
        operations.extend(own.filter_map(|effect| applied(record, effect)));
    }
    operations
}

/// Names of an operation: which, object class, type.
type Kind = (Operations, &'static str, &'static str);

const ADD: Kind = (Operations::ADD, "auditAdd", "add");
const DELETE: Kind = (Operations::DELETE, "auditDelete", "delete");
const MODIFY: Kind = (Operations::MODIFY, "auditModify", "modify");
const MODRDN: Kind = (Operations::MODRDN, "auditModRDN", "modrdn");

fn is_add(effect: &Effect) -> bool {
    matches!(effect, Effect::Add { .. })
}

fn is_delete(effect: &Effect) -> bool {
    matches!(effect, Effect::Delete { .. })
}

fn is_modify(effect: &Effect) -> bool {
    matches!(effect, Effect::Modify { .. })
}

fn is_rename(effect: &Effect) -> bool {
    matches!(effect, Effect::Rename { .. })
}

/// The effect of a requested change of this entry.
fn find<'r>(record: &'r ChangeRecord, dn: &str, is_kind: fn(&Effect) -> bool) -> Option<&'r RecordedEffect> {
    let own = || {
        let effects = record.effects.iter();
        effects.filter(move |recorded| !recorded.marks.internal && is_kind(&recorded.effect))
    };
    own()
        .find(|recorded| recorded.effect.dn().eq_ignore_ascii_case(dn))
        .or_else(|| own().next())
}

/// An effect as its own request.
fn applied(record: &ChangeRecord, recorded: &RecordedEffect) -> Option<LoggedOperation> {
    let (details, kind) = match &recorded.effect {
        Effect::Add { attributes, .. } => (vec![("reqMod".into(), prefixed(attributes, ":+ "))], ADD),
        Effect::Delete { .. } => (Vec::new(), DELETE),
        Effect::Modify { changes, .. } => {
            let modifications: Vec<_> = changes.iter().map(modification).collect();
            (vec![("reqMod".into(), modified(&modifications))], MODIFY)
        }
        Effect::Rename { dn, new_dn, .. } => {
            let requested = as_requested(dn, new_dn);
            (renamed(&requested, Some(recorded)), MODRDN)
        }
    };
    of_effect(record, Some(recorded), (recorded.effect.dn(), details, kind))
}

/// A rename as a request that deletes the old RDN.
fn as_requested(dn: &str, new_dn: &str) -> RequestedChange {
    let (rdn, superior) = split(new_dn);
    let (_, former) = split(dn);
    RequestedChange::ModifyDn {
        dn: dn.into(),
        new_rdn: rdn.into(),
        delete_old_rdn: true,
        new_superior: (superior != former).then(|| superior.into()),
    }
}

/// The first RDN, and the rest.
fn split(dn: &str) -> (&str, &str) {
    let mut is_escaped = false;
    for (at, byte) in dn.bytes().enumerate() {
        if byte == b',' && !is_escaped {
            return (dn.get(..at).unwrap_or(dn), dn.get(at + 1..).unwrap_or_default());
        }
        is_escaped = byte == b'\\' && !is_escaped;
    }
    (dn, "")
}

fn modification(change: &ValueChange) -> RequestedModification {
    let kind = match change {
        ValueChange::Add { .. } => RequestedKind::Add,
        ValueChange::Delete { .. } => RequestedKind::Delete,
        ValueChange::Replace { .. } => RequestedKind::Replace,
    };
    RequestedModification {
        kind,
        attribute: change.attribute().into(),
        values: change.values().to_vec(),
    }
}

fn of_effect(
    record: &ChangeRecord,
    effect: Option<&RecordedEffect>,
    (dn, mut details, (operation, class, kind)): (&str, Vec<TextAttribute>, Kind),
) -> Option<LoggedOperation> {
    if effect.is_some_and(|recorded| recorded.marks.silent) {
        return None;
    }
    details.retain(|(_, values)| !values.is_empty());
    if let Some(uuid) = effect.and_then(uuid_of) {
        details.push(("reqEntryUUID".into(), vec![uuid]));
    }
    let request = record.request.as_ref();
    Some(LoggedOperation {
        operation,
        class,
        kind: kind.to_owned(),
        dn: Some(dn.into()),
        begun_micros: record.unix_micros,
        ended_micros: record.unix_micros,
        session: request.map_or(0, |request| request.connection),
        author: record.author.clone(),
        controls: request.map(controls).unwrap_or_default(),
        message: String::new(),
        result: Some(0),
        details,
    })
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

/// The attributes of a rename: what changes besides the values of RDNs, which follow from the request.
fn renamed(requested: &RequestedChange, effect: Option<&RecordedEffect>) -> Vec<TextAttribute> {
    let mut details: Vec<TextAttribute> = Vec::new();
    let effect = effect.map(|recorded| &recorded.effect);
    if let Some(Effect::Rename { changes, .. }) = effect {
        let replaced = changes
            .iter()
            .filter(|change| matches!(change, ValueChange::Replace { .. }));
        let replaced: Vec<_> = replaced.map(modification).collect();
        details.push(("reqMod".into(), modified(&replaced)));
    }
    if let RequestedChange::ModifyDn {
        new_rdn,
        delete_old_rdn,
        new_superior,
        ..
    } = requested
    {
        let truth: &[u8] = if *delete_old_rdn { b"TRUE" } else { b"FALSE" };
        details.push(("reqNewRDN".into(), vec![new_rdn.as_bytes().to_vec()]));
        details.push(("reqDeleteOldRDN".into(), vec![truth.to_vec()]));
        if let Some(superior) = new_superior {
            details.push(("reqNewSuperior".into(), vec![superior.as_bytes().to_vec()]));
        }
    }
    if let Some(Effect::Rename { new_dn, .. }) = effect {
        details.push(("reqNewDN".into(), vec![new_dn.as_bytes().to_vec()]));
    }
    details
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
