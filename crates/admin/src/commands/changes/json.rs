//! A change as a JSON object.

use std::fmt::Write as _;

use ironbark_store::{
    ChangeKind, ChangeRecord, Effect, RecordedEffect, ValueChange,
    change::{Gone, TextAttribute},
};
use serde_json::{Map, Value, json};

/// Appends the object and a line end.
pub(super) fn put(record: &ChangeRecord, out: &mut Vec<u8>) {
    let kind = match record.kind {
        ChangeKind::Add => "add",
        ChangeKind::Delete => "delete",
        ChangeKind::Modify => "modify",
        ChangeKind::ModifyDn => "modrdn",
    };
    let effects: Vec<Value> = record.effects.iter().map(effect).collect();
    let mut object = json!({
        "number": record.position.sequence,
        "log": format!("{:016x}", record.position.generation),
        "csn": record.csn.text(),
        "unixMicros": record.unix_micros,
        "kind": kind,
        "author": &*record.author,
        "effects": effects,
    });
    if let (Some(request), Some(object)) = (&record.request, object.as_object_mut()) {
        object.insert("authenticated".to_owned(), json!(&*record.authenticated));
        object.insert("connection".to_owned(), json!(request.connection));
        object.insert("operation".to_owned(), json!(request.operation));
        object.insert("peer".to_owned(), json!(&*request.peer_name));
    }
    out.extend_from_slice(object.to_string().as_bytes());
    out.push(b'\n');
}

fn effect(recorded: &RecordedEffect) -> Value {
    let mut object = Map::new();
    let mut put = |name: &str, value: Value| drop(object.insert(name.to_owned(), value));
    put("dn", json!(recorded.effect.dn()));
    if recorded.before.entry_uuid != [0; 16] {
        put("entryUUID", json!(uuid(&recorded.before.entry_uuid)));
    }
    if recorded.marks.internal {
        put("internal", json!(true));
    }
    match &recorded.effect {
        Effect::Add { attributes, .. } => {
            put("type", json!("add"));
            put("attributes", entry(attributes));
        }
        Effect::Delete { .. } => {
            put("type", json!("delete"));
            if let Gone::Entry(attributes) = &recorded.before.gone {
                put("gone", entry(attributes));
            }
        }
        Effect::Modify { changes, .. } => {
            put("type", json!("modify"));
            put("changes", value_changes(changes, &recorded.before.gone));
        }
        Effect::Rename { new_dn, changes, .. } => {
            put("type", json!("modrdn"));
            put("newDn", json!(&**new_dn));
            put("changes", value_changes(changes, &recorded.before.gone));
        }
    }
    Value::Object(object)
}

/// A UUID with hyphens.
fn uuid(bytes: &[u8; 16]) -> String {
    let mut text = String::with_capacity(36);
    for (at, byte) in bytes.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

fn entry(attributes: &[TextAttribute]) -> Value {
    let attributes = attributes
        .iter()
        .map(|(name, held)| (name.to_string(), values(held)))
        .collect();
    Value::Object(attributes)
}

fn value_changes(changes: &[ValueChange], gone: &Gone) -> Value {
    let described = changes.iter().enumerate().map(|(number, change)| {
        let kind = match change {
            ValueChange::Add { .. } => "add",
            ValueChange::Delete { .. } => "delete",
            ValueChange::Replace { .. } => "replace",
        };
        let mut object = json!({
            "type": kind,
            "attribute": change.attribute(),
            "values": values(change.values()),
        });
        if let (Gone::Values(gone), Some(object)) = (gone, object.as_object_mut())
            && let Some(gone) = gone.get(number)
            && kind != "add"
        {
            object.insert("gone".to_owned(), values(gone));
        }
        object
    });
    Value::Array(described.collect())
}

/// Values. A value that is not UTF-8 becomes an object with its Base64.
fn values(held: &[Vec<u8>]) -> Value {
    let shown = held.iter().map(|value| match std::str::from_utf8(value) {
        Ok(text) => json!(text),
        Err(_) => json!({ "base64": ironbark_ldif::base64(value) }),
    });
    Value::Array(shown.collect())
}
