//! One operation in the form of the audit log: a comment, an LDIF change record, a comment.

use ironbark_directory::{Modification, ModificationKind, RequestedChange, overlay::AfterCommit};
use ironbark_ldif::Writer;
use ironbark_model::{Entry, Schema};

/// Appends the record of an operation.
pub(super) fn write(schema: &Schema, asked: &RequestedChange, context: &AfterCommit<'_>, out: &mut Vec<u8>) {
    let (what, dn) = match asked {
        RequestedChange::Add(entry) => ("add", entry.dn.pretty()),
        RequestedChange::Modify { dn, .. } => ("modify", dn.as_str()),
        RequestedChange::ModifyDn { dn, .. } => ("modrdn", dn.as_str()),
        RequestedChange::Delete { dn } => ("delete", dn.as_str()),
    };
    let recorded = recorded_author(schema, asked);
    let who = recorded.as_deref().unwrap_or(context.author);
    let suffix = if context.suffix.is_empty() {
        "global"
    } else {
        context.suffix
    };
    let (seconds, peer, connection) = (context.unix_seconds, context.peer_name, context.connection);
    comment(
        out,
        &format!("{what} {seconds} {suffix} {who} {peer} conn={connection}"),
    );
    if !context.authenticated.is_empty() && !context.authenticated.eq_ignore_ascii_case(who) {
        comment(out, &format!("realdn: {}", context.authenticated));
    }
    name(out, "dn", dn);
    line(out, &format!("changetype: {what}"));
    match asked {
        RequestedChange::Add(entry) => attributes(schema, entry, out),
        RequestedChange::Modify { modifications, .. } => modifications
            .iter()
            .for_each(|change| modification(schema, change, out)),
        RequestedChange::ModifyDn {
            new_rdn,
            delete_old_rdn,
            new_superior,
            ..
        } => {
            name(out, "newrdn", new_rdn);
            line(
                out,
                if *delete_old_rdn {
                    "deleteoldrdn: 1"
                } else {
                    "deleteoldrdn: 0"
                },
            );
            if let Some(superior) = new_superior {
                name(out, "newsuperior", superior);
            }
        }
        RequestedChange::Delete { .. } => {}
    }
    comment(out, &format!("end {what} {seconds}"));
    line(out, "");
}

/// The modifiersName that the operation leaves, which under relaxed rules need not be the client's name.
fn recorded_author(schema: &Schema, asked: &RequestedChange) -> Option<String> {
    let known = schema.attribute_description(b"modifiersName").ok()?;
    let values = match asked {
        RequestedChange::Add(entry) => &entry.attribute(&known)?.values,
        RequestedChange::Modify { modifications, .. } => {
            let sets = |change: &&Modification| {
                change.description == known && matches!(change.kind, ModificationKind::Add | ModificationKind::Replace)
            };
            &modifications.iter().find(sets)?.values
        }
        RequestedChange::ModifyDn { .. } | RequestedChange::Delete { .. } => return None,
    };
    Some(String::from_utf8_lossy(values.first()?).into_owned())
}

fn attributes(schema: &Schema, entry: &Entry, out: &mut Vec<u8>) {
    let writer = Writer::default();
    for attribute in &entry.attributes {
        let name = schema.description_text(&attribute.description);
        for value in &attribute.values {
            writer.attribute(out, name.as_bytes(), value);
        }
    }
}

fn modification(schema: &Schema, change: &Modification, out: &mut Vec<u8>) {
    let what = match change.kind {
        ModificationKind::Add | ModificationKind::AddIfAbsent => "add",
        ModificationKind::Delete => "delete",
        ModificationKind::Replace => "replace",
        ModificationKind::Increment => "increment",
    };
    let name = schema.description_text(&change.description);
    line(out, &format!("{what}: {name}"));
    for value in &change.values {
        Writer::default().attribute(out, name.as_bytes(), value);
    }
    line(out, "-");
}

/// A name is written as a value is: one with line ends in it would be lines of its own.
fn name(out: &mut Vec<u8>, attribute: &str, dn: &str) {
    Writer::default().attribute(out, attribute.as_bytes(), dn.as_bytes());
}

/// Names in comments are for people: what does not print is escaped as in a name (RFC 4514 §2.4).
fn comment(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(b"# ");
    for character in text.chars() {
        let is_plain = !character.is_control() && !matches!(character, '\u{2028}' | '\u{2029}');
        for byte in character.encode_utf8(&mut [0; 4]).bytes() {
            if is_plain {
                out.push(byte);
            } else {
                out.extend_from_slice(format!("\\{byte:02X}").as_bytes());
            }
        }
    }
    out.push(b'\n');
}

fn line(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
    out.push(b'\n');
}
