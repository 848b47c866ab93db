//! A change as LDIF change records, one for each effect. A new name and the changes of values that belong to it are two
//! records.

use ironbark_ldif::LdifWriter;
use ironbark_store::{ChangeRecord, Effect, ValueChange};

/// Appends a comment with number, CSN and author, then the records.
pub(super) fn put(record: &ChangeRecord, out: &mut Vec<u8>) {
    let writer = LdifWriter::default();
    let by = if record.author.is_empty() {
        "anonymous"
    } else {
        &*record.author
    };
    let comment = format!("change {} {} by {by}", record.position.sequence, record.csn);
    writer.comment(out, comment.as_bytes());
    for recorded in &record.effects {
        let effect = &recorded.effect;
        if recorded.marks.internal {
            writer.comment(out, b"by an overlay");
        }
        writer.dn(out, effect.dn().as_bytes());
        match effect {
            Effect::Add { attributes, .. } => {
                out.extend_from_slice(b"changetype: add\n");
                for (name, values) in attributes {
                    for value in values {
                        writer.attribute(out, name.as_bytes(), value);
                    }
                }
            }
            Effect::Delete { .. } => out.extend_from_slice(b"changetype: delete\n"),
            Effect::Modify { changes, .. } => put_modify(writer, changes, out),
            Effect::Rename { new_dn, changes, .. } => {
                put_rename(writer, new_dn, out);
                if !changes.is_empty() {
                    out.push(b'\n');
                    writer.dn(out, new_dn.as_bytes());
                    put_modify(writer, changes, out);
                }
            }
        }
        out.push(b'\n');
    }
}

fn put_modify(writer: LdifWriter, changes: &[ValueChange], out: &mut Vec<u8>) {
    out.extend_from_slice(b"changetype: modify\n");
    for change in changes {
        let kind: &[u8] = match change {
            ValueChange::Add { .. } => b"add",
            ValueChange::Delete { .. } => b"delete",
            ValueChange::Replace { .. } => b"replace",
        };
        let name = change.attribute().as_bytes();
        writer.attribute(out, kind, name);
        for value in change.values() {
            writer.attribute(out, name, value);
        }
        out.extend_from_slice(b"-\n");
    }
}

/// The first comma without escape separates the new RDN from the superior.
fn put_rename(writer: LdifWriter, new_dn: &str, out: &mut Vec<u8>) {
    let mut is_escaped = false;
    let cut = new_dn.bytes().position(|byte| {
        let is_cut = byte == b',' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        is_cut
    });
    let (rdn, superior) = match cut {
        Some(cut) => (new_dn.get(..cut), new_dn.get(cut + 1..)),
        None => (Some(new_dn), None),
    };
    out.extend_from_slice(b"changetype: modrdn\n");
    writer.attribute(out, b"newrdn", rdn.unwrap_or_default().as_bytes());
    out.extend_from_slice(b"deleteoldrdn: 0\n");
    writer.attribute(out, b"newsuperior", superior.unwrap_or_default().as_bytes());
}
